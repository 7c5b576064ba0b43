package controldb_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/auditlog"
	"github.com/jobagent/jobagent/controldb/caller"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/deploy"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/testenv"
)

// lastEntry returns columns of the latest entry of the audit log, separated by "|".
func (c *control) lastEntry(t *testing.T) string {
	t.Helper()
	list := c.rows(t, `SELECT TOP (1) action, object_kind, object_name, job_name, before_change, after_change
FROM jobs.audit_log
ORDER BY entry_id DESC;`)
	require.Len(t, list, 1)
	return list[0]
}

// entries returns the number of entries of the audit log.
func (c *control) entries(t *testing.T) int {
	t.Helper()
	return get[int](t, c, `SELECT COUNT(*) FROM jobs.audit_log;`)
}

// TestAuditOnlyWhatChanged: an entry has what differs, and a call that changes nothing has none.
func TestAuditOnlyWhatChanged(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", nil)
		n := c.entries(t)
		require.NoError(t, catalog.On(c.Store).UpdateJob(t.Context(), model.JobSpec{Name: "j", Description: ptr(`a "b"`)}))
		require.Equal(t, `sp_update_job|Job|j|j|{}|{"description":"a \"b\""}`, c.lastEntry(t))
		require.NoError(t, catalog.On(c.Store).UpdateJob(t.Context(), model.JobSpec{Name: "j", NewName: ptr("k"), Description: ptr("b")}))
		require.Equal(t, `sp_update_job|Job|k|k|{"description":"a \"b\"","name":"j"}|{"description":"b","name":"k"}`, c.lastEntry(t))
		require.NoError(t, catalog.On(c.Store).UpdateJob(t.Context(), model.JobSpec{Name: "k", Description: ptr("b")}))
		require.Equal(t, n+2, c.entries(t), "the same value again")
		id := uuid.New()
		for range 2 {
			_, err := executions.On(c.Store).StartJob(t.Context(), "k", id)
			require.NoError(t, err)
		}
		require.Equal(t, n+3, c.entries(t), "a repeated start")
		_, err := executions.On(c.Store).StartJob(t.Context(), "none", id)
		require.ErrorIs(t, err, dberror.ErrJobNotFound)
		require.Equal(t, n+3, c.entries(t), "a refused call")
		c.exec(t, `BEGIN TRANSACTION; EXECUTE jobs.sp_start_job N'k'; ROLLBACK TRANSACTION;`)
		require.Equal(t, n+3, c.entries(t), "a rolled back call")
	})
}

// TestAuditNamesTheCaller: only a front can name another caller than the login.
func TestAuditNamesTheCaller(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", nil)
		front := c.front(t, 1)
		who := func() string {
			t.Helper()
			return c.rows(t, `SELECT TOP (1) CONCAT(door, N' ', caller, N' ', original_login, N' ', address, N' ', correlation_id)
FROM jobs.audit_log
ORDER BY entry_id DESC;`)[0]
		}
		ada := caller.Caller{
			Role: "jobs_operator", Name: "ada@example.com", Door: caller.DoorREST, Address: "192.0.2.7", CorrelationID: uuid.New(),
		}
		ctx := caller.With(t.Context(), ada)
		id, err := executions.On(front).StartJob(ctx, "j", uuid.New())
		require.NoError(t, err)
		require.Equal(t, "REST ada@example.com front_"+c.name+" 192.0.2.7 "+upper(ada.CorrelationID), who())
		require.Equal(t, "ada@example.com", get[string](t, c, `SELECT started_by FROM jobs_internal.job_executions;`))
		require.NoError(t, executions.On(front).Stop(ctx, id))
		require.Equal(t, "ada@example.com", get[string](t, c, `SELECT stop_requested_by FROM jobs_internal.job_executions;`))

		// T-SQL sets the same keys, and takes nobody's name.
		login := "op_" + c.name
		s := c.login(t, login, `ALTER ROLE jobs_operator ADD MEMBER [`+login+`];`)
		_, err = controldb.Pool(s).ExecContext(t.Context(), `EXECUTE sp_set_session_context N'jobagent.caller', N'ada@example.com', 1;
EXECUTE sp_set_session_context N'jobagent.door', N'REST', 1;
EXECUTE sp_set_session_context N'jobagent.address', N'192.0.2.7', 1;
EXECUTE jobs.sp_start_job N'j';`)
		require.NoError(t, err)
		require.Contains(t, who(), "T-SQL "+login+" "+login+" ")
		require.NotContains(t, who(), "192.0.2.7")
		for _, user := range []string{"jobagent_operator", "jobagent_admin"} {
			_, err = controldb.Pool(s).ExecContext(t.Context(), `EXECUTE AS USER = N'`+user+`'; EXECUTE jobs.sp_start_job N'j';`)
			require.ErrorContains(t, err, "Cannot execute as the database principal")
		}
		// A correlation id that is no id does not stop the call.
		_, err = controldb.Pool(s).ExecContext(t.Context(),
			`EXECUTE sp_set_session_context N'jobagent.correlation_id', N'x'; EXECUTE sp_set_session_context N'jobagent.door', N'a long text instead of a door'; EXECUTE jobs.sp_start_job N'j';`)
		require.NoError(t, err)
		require.Contains(t, who(), "T-SQL "+login)

		cli := caller.With(context.WithoutCancel(t.Context()), caller.Caller{Door: caller.DoorCLI, CorrelationID: ada.CorrelationID})
		_, err = executions.On(s).StartJob(cli, "j", uuid.New())
		require.NoError(t, err)
		require.Contains(t, who(), "CLI "+login+" "+login+" ")
		require.Contains(t, who(), upper(ada.CorrelationID))
	})
}

// upper returns an id as SQL Server writes it.
func upper(id uuid.UUID) string { return strings.ToUpper(id.String()) }

// TestAuditOfTargetGroups: a call that replaces the members has one entry, and none if they are the
// same. The creation of the group has one of its own.
func TestAuditOfTargetGroups(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		for _, want := range []int{2, 2} {
			c.exec(t, `EXECUTE jobs.sp_set_target_group N'g', N'[{"target_type": "SqlServer", "server_name": "s"}]';`)
			require.Equal(t, want, c.entries(t))
		}
		c.exec(t, `EXECUTE jobs.sp_set_target_group N'g', N'[{"target_type": "SqlServer", "server_name": "t"}]';`)
		require.Equal(t, 3, c.entries(t))
		require.Equal(t, `sp_set_target_group|TargetGroup|g|NULL|{"members":[{"membership_type":"Include","target_type":"SqlServer","server_name":"s"}]}|`+
			`{"members":[{"membership_type":"Include","target_type":"SqlServer","server_name":"t"}]}`, c.lastEntry(t))
	})
}

// TestAuditLog: filters, order and pages.
func TestAuditLog(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", nil)
		c.job(t, "k", nil)
		before := time.Now().UTC().Add(-time.Hour)
		ids := func(f auditlog.Filter) []int64 {
			t.Helper()
			list, err := auditlog.On(c.Store).Read(t.Context(), f)
			require.NoError(t, err)
			got := []int64{}
			for _, e := range list {
				got = append(got, e.ID)
			}
			return got
		}
		all := ids(auditlog.Filter{})
		require.True(t, slices.IsSortedFunc(all, func(a, b int64) int { return cmp.Compare(b, a) }))
		require.Equal(t, all[:3], ids(auditlog.Filter{Limit: 3}))
		require.Equal(t, all[3:], ids(auditlog.Filter{Behind: all[2]}))
		require.Equal(t, all, ids(auditlog.Filter{Since: before, Until: before.Add(2 * time.Hour), Caller: "sa"}))
		require.Empty(t, ids(auditlog.Filter{Until: before}))
		require.Empty(t, ids(auditlog.Filter{Since: before.Add(2 * time.Hour)}))
		require.Empty(t, ids(auditlog.Filter{Caller: "nobody"}))
		require.Empty(t, ids(auditlog.Filter{Correlation: uuid.New()}))

		list, err := auditlog.On(c.Store).Read(t.Context(), auditlog.Filter{JobName: "k", Action: "sp_add_jobstep"})
		require.NoError(t, err)
		require.Len(t, list, 1)
		require.Equal(t, "JobStep", list[0].ObjectKind)
		require.Nil(t, list[0].Before)
		require.Equal(t, []int{0, 1}, []int{*list[0].VersionBefore, *list[0].VersionAfter})
		require.NotContains(t, string(list[0].After), "SELECT", "commands are hashes")
		require.Contains(t, string(list[0].After), `"command_sha256":"`)
		require.NotEmpty(t, ids(auditlog.Filter{JobID: list[0].JobID}))
	})
}

// TestAuditRetention: old entries are deleted from the beginning, also a large number.
func TestAuditRetention(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.exec(t, `EXECUTE jobs.sp_set_setting N'audit_retention_days', 100;`)
		c.fails(t, 50056, `EXECUTE jobs.sp_set_setting N'audit_retention_days', 29;`)
		c.exec(t, `WITH digits AS (SELECT v.n FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS v (n))
INSERT INTO jobs_internal.audit_entries (at, door, caller, original_login, action, object_kind)
SELECT DATEADD(DAY, -101, SYSUTCDATETIME()), N'T-SQL', N'x', N'x', N'x', N'x'
FROM digits AS a
CROSS JOIN digits AS b
CROSS JOIN digits AS c
CROSS JOIN (VALUES (1), (2), (3)) AS d (n);`)
		c.exec(t, `EXECUTE jobs.sp_add_target_group N'g';`)
		c.exec(t, `EXECUTE jobs_internal.purge_history;`)
		require.Equal(t, []string{"sp_set_setting", "sp_add_target_group"}, c.rows(t, `SELECT action FROM jobs.audit_log ORDER BY entry_id;`))
		c.exec(t, `DECLARE @later DATETIME2(7) = DATEADD(DAY, 101, SYSUTCDATETIME());
UPDATE jobs_internal.retention_state SET purged_at = NULL; -- no night before limits what the purge takes for the time
EXECUTE jobs_internal.purge_history @now = @later;`)
		require.Equal(t, 0, c.entries(t))
	})
}

// TestAuditOfManySessions: each call of sessions side by side has its entry.
func TestAuditOfManySessions(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		var group sync.WaitGroup
		for n := range 8 {
			group.Go(func() {
				for i := range 10 {
					if _, err := catalog.On(c.Store).AddJob(t.Context(), model.JobSpec{Name: fmt.Sprintf("j%d.%d", n, i)}); err != nil {
						t.Errorf("add job: %v", err)
					}
				}
			})
		}
		group.Wait()
		require.Equal(t, 80, get[int](t, c, `SELECT COUNT(DISTINCT job_name) FROM jobs.audit_log;`))
		require.Equal(t, 80, c.entries(t))
	})
}

// TestMigrateAudit: after the migration of release 0, with data and active runs, changes are
// recorded, old entries are deleted, and a front can make calls.
func TestMigrateAudit(t *testing.T) {
	testenv.Long(t)
	testenv.Each(t, func(t *testing.T, env *testenv.Env) {
		c := release0(t, env)
		const name = "old"
		c.exec(t, `EXECUTE jobs.sp_add_target_group N'g'; EXECUTE jobs.sp_add_job N'old';
EXECUTE jobs.sp_add_jobstep N'old', @command = N'SELECT 1', @target_group_name = N'g'; EXECUTE jobs.sp_start_job N'old';`)
		require.NoError(t, deploy.On(c.Store).Migrate(t.Context()))
		require.Equal(t, 0, c.entries(t), "the migration itself is not a change of a definition")
		require.NoError(t, catalog.On(c.Store).UpdateJob(t.Context(), model.JobSpec{Name: name, Description: ptr("migrated")}))
		require.Contains(t, c.lastEntry(t), `"description":"migrated"`)
		require.NoError(t, catalog.On(c.front(t, 1)).UpdateJob(as(t.Context(), "jobs_author", "ada"), model.JobSpec{Name: name, Description: ptr("x")}))
		require.Equal(t, 2, c.entries(t))
		c.exec(t, `DECLARE @later DATETIME2(7) = DATEADD(DAY, 366, SYSUTCDATETIME()); EXECUTE jobs_internal.delete_audit_entries @now = @later;`)
		require.Equal(t, 0, c.entries(t))
	})
}
