package controldb_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/account"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/deploy"
	"github.com/jobagent/jobagent/controldb/doctor"
	"github.com/jobagent/jobagent/controldb/executions"
)

// holdLock takes an application lock with a user's session until the returned function is called.
func (c *control) holdLock(t *testing.T, user, resource, principal string) (release func()) {
	t.Helper()
	conn, err := c.env.DBAs(t, c.name, user, "Only-4-tests").Conn(t.Context())
	require.NoError(t, err)
	var status int
	require.NoError(t, conn.QueryRowContext(t.Context(), `DECLARE @status INT;
EXECUTE @status = sp_getapplock @Resource = @p1, @LockMode = N'Exclusive', @LockOwner = N'Session', @LockTimeout = 0, @DbPrincipal = @p2;
SELECT @status;`, resource, principal).Scan(&status))
	require.Zero(t, status)
	released := false
	release = func() {
		if !released {
			released = true
			_, err := conn.ExecContext(context.WithoutCancel(t.Context()), `EXECUTE sp_releaseapplock @Resource = @p1, @LockOwner = N'Session', @DbPrincipal = @p2;`, resource, principal)
			require.NoError(t, err)
			require.NoError(t, conn.Close())
		}
	}
	t.Cleanup(release)
	return release
}

// TestSkippedPasses: while a session that is not a pass holds the lock of passes, views and
// messages report since when executions have not advanced. Logins with the permission also see the
// session.
func TestSkippedPasses(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.login(t, "holder_"+c.name, `ALTER ROLE jobs_agent ADD MEMBER [holder_`+c.name+`];`)
		operator := c.login(t, "operator_"+c.name, `ALTER ROLE jobs_operator ADD MEMBER [operator_`+c.name+`];`)
		c.job(t, "j", nil)
		term := c.term(t)
		c.pass(t, term)
		status, err := c.AdvanceStatus(t.Context())
		require.NoError(t, err)
		require.Zero(t, status.SkippedSince, "nothing waits")

		release := c.holdLock(t, "holder_"+c.name, "jobagent.advance", "jobs_agent")
		id := c.start(t, "j")
		res := c.pass(t, term)
		require.True(t, res.AdvanceSkipped)
		require.Greater(t, res.AdvancedAgo, 24*time.Hour, "there has never been anything to advance")
		status, err = c.AdvanceStatus(t.Context())
		require.NoError(t, err)
		require.Zero(t, status.SkippedSince, "not for long")
		require.Equal(t, doctor.SeverityOK, doctor.Worst(c.findings(t, doctor.CodeAdvance)))

		// Twenty seconds later.
		c.exec(t, `UPDATE e SET e.create_time = DATEADD(SECOND, -20, e.create_time) FROM jobs_internal.job_executions AS e;
UPDATE t SET t.started_at = DATEADD(SECOND, -30, t.started_at) FROM jobs_internal.terms AS t;`)
		status, err = operator.AdvanceStatus(t.Context())
		require.NoError(t, err)
		require.NotZero(t, status.SkippedSince)
		holders, visible, err := c.AdvanceLockHolders(t.Context())
		require.NoError(t, err)
		require.True(t, visible)
		require.Len(t, holders, 1)
		require.Equal(t, "holder_"+c.name, holders[0].Login)
		require.NotEmpty(t, holders[0].Program)
		require.Contains(t, operator.DescribeAdvanceLock(t.Context()), "VIEW SERVER STATE", "others' sessions are not for operators")
		e, err := executions.On(operator).Explain(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, status.SkippedSince, e.AdvanceSkippedSince)
		require.Contains(t, e.Text, "No pass of an agent has advanced executions since")
		require.Contains(t, e.Waits[0].Text, "jobagent agent status shows the session that blocks passes")
		found := c.findings(t, doctor.CodeAdvance)
		require.Len(t, found, 1)
		require.Equal(t, doctor.SeverityError, found[0].Severity)
		require.Contains(t, found[0].Found, "of login holder_"+c.name)
		require.Regexp(t, `^KILL \d+;$`, found[0].SQL)

		release()
		require.False(t, c.pass(t, term).AdvanceSkipped)
		status, err = c.AdvanceStatus(t.Context())
		require.NoError(t, err)
		require.Zero(t, status.SkippedSince)
		require.WithinDuration(t, c.pass(t, term).Now, status.LastAdvancedAt, time.Minute)
		require.Equal(t, "no session at the moment", c.DescribeAdvanceLock(t.Context()))
	})
}

// TestLocksNeedMembership: without it, any user could keep agents from deleting rows and owners
// from deploying. A lock of the same name for another principal is another lock
// (https://learn.microsoft.com/sql/relational-databases/system-stored-procedures/sp-getapplock-transact-sql).
func TestLocksNeedMembership(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		author := c.login(t, "author_"+c.name, `ALTER ROLE jobs_author ADD MEMBER [author_`+c.name+`];`, `ALTER ROLE jobs_admin ADD MEMBER [author_`+c.name+`];`)
		c.job(t, "j", nil)
		term := c.term(t)
		c.start(t, "j")
		c.resolve(t, term, "a")
		c.complete(t, term, "Succeeded", "", c.pass(t, term).Tasks...)
		c.pass(t, term)

		db := c.env.DBAs(t, c.name, "author_"+c.name, "Only-4-tests")
		for resource, principal := range map[string]string{"jobagent.advance": "jobs_agent", "jobagent.cleanup": "jobs_agent", "jobagent.deploy": "db_owner"} {
			_, err := db.ExecContext(t.Context(), `EXECUTE sp_getapplock @Resource = @p1, @LockMode = N'Exclusive', @LockOwner = N'Session', @LockTimeout = 0, @DbPrincipal = @p2;`, resource, principal)
			require.ErrorContains(t, err, "(1202)", resource)
			release := c.holdLock(t, "author_"+c.name, resource, "public")
			defer release()
		}
		require.NoError(t, deploy.On(c.Store).Migrate(t.Context()))

		require.NoError(t, catalog.On(author).DeleteJob(t.Context(), "j", false))
		require.Equal(t, []string{"0|1"}, c.rows(t, `SELECT (SELECT COUNT(*) FROM jobs.jobs), (SELECT COUNT(*) FROM jobs_internal.job_executions)`), "it is gone, and agents delete its rows")
		require.True(t, c.pass(t, term).CleanupDue)
		deleted, _, err := c.DeleteLeftovers(t.Context())
		require.NoError(t, err)
		require.Positive(t, deleted)
		require.Equal(t, []string{"0|0"}, c.rows(t, `SELECT (SELECT COUNT(*) FROM jobs_internal.jobs), (SELECT COUNT(*) FROM jobs_internal.job_executions)`))
	})
}

// TestUnfiredSchedules: schedules that have been due for a minute although an agent is live are
// reported, unless the job agent is disabled.
func TestUnfiredSchedules(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.makeAgent(t)
		c.job(t, "j", nil)
		c.term(t)
		c.exec(t, `EXECUTE jobs.sp_add_schedule N'j', N's', N'cron5', N'0 0 1 1 *';
UPDATE s SET s.next_due_at = x.at, s.next_fire_at = x.at, s.awaits_verdict = 0
FROM jobs_internal.schedules AS s CROSS JOIN (SELECT DATEADD(SECOND, -30, SYSUTCDATETIME()) AS at) AS x WHERE s.name = N's';`)
		unfired := func() time.Time {
			status, err := c.AdvanceStatus(t.Context())
			require.NoError(t, err)
			return status.UnfiredSince
		}
		require.Zero(t, unfired(), "not for long")
		c.exec(t, `UPDATE s SET s.next_fire_at = DATEADD(MINUTE, -1, s.next_fire_at) FROM jobs_internal.schedules AS s WHERE s.next_fire_at IS NOT NULL;`)
		require.Zero(t, unfired(), "the agent began just now")
		c.exec(t, `UPDATE t SET t.started_at = DATEADD(SECOND, -61, t.started_at) FROM jobs_internal.terms AS t;`)
		require.NotZero(t, unfired())
		found := c.findings(t, doctor.CodeAdvance)
		require.Len(t, found, 1)
		require.Equal(t, doctor.SeverityError, found[0].Severity)
		require.Contains(t, found[0].Found, "do not fire")
		c.exec(t, found[0].SQL)
		require.NoError(t, account.On(c.Store).Disable(t.Context(), "repairs"))
		require.Zero(t, unfired(), "nothing fires")
		require.Equal(t, doctor.SeverityOK, doctor.Worst(c.findings(t, doctor.CodeAdvance)))
	})
}
