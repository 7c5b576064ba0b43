package controldb_test

import (
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
	"github.com/jobagent/jobagent/controldb/caller"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/doctor"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/fleet"
	"github.com/jobagent/jobagent/controldb/installed"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/testenv"
)

// front opens a store of a login that is a member of jobs_front only. conns bounds its connections.
func (c *control) front(t *testing.T, conns int) *controldb.Store {
	t.Helper()
	name := "front_" + c.name
	s := c.login(t, name, `ALTER ROLE jobs_front ADD MEMBER [`+name+`];`)
	controldb.Pool(s).SetMaxOpenConns(conns)
	return s
}

// as returns a context for the calls of a person with a role.
func as(ctx context.Context, role, name string) context.Context {
	return caller.With(ctx, caller.Caller{Role: role, Name: name, Door: caller.DoorREST, Address: "192.0.2.7", CorrelationID: uuid.New()})
}

// TestCallersRunAsTheirRole: the database refuses what the role of the caller may not do, and the
// login of the front may do nothing itself.
func TestCallersRunAsTheirRole(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", nil)
		front := c.front(t, 1)
		calls := []struct {
			least string
			do    func(ctx context.Context) error
		}{
			{"jobs_reader", func(ctx context.Context) error { _, err := catalog.On(front).Jobs(ctx, ""); return err }},
			{"jobs_reader", func(ctx context.Context) error { _, err := fleet.On(front).Live(ctx); return err }},
			{"jobs_operator", func(ctx context.Context) error {
				_, err := executions.On(front).StartJob(ctx, "j", uuid.New())
				return err
			}},
			{"jobs_author", func(ctx context.Context) error {
				_, err := targetgroups.On(front).Add(ctx, "g"+strings.ReplaceAll(uuid.NewString(), "-", ""))
				return err
			}},
			{"jobs_admin", func(ctx context.Context) error {
				return executions.On(front).Purge(ctx, executions.PurgeRequest{JobName: "j"})
			}},
		}
		roles := []string{"jobs_reader", "jobs_operator", "jobs_author", "jobs_admin"}
		for i, role := range roles {
			for _, call := range calls {
				err := call.do(as(t.Context(), role, "ada"))
				if slices.Index(roles, call.least) <= i {
					require.NoError(t, err, "%s calls what %s may", role, call.least)
				} else {
					require.Equal(t, int32(229), dberror.NumberOf(err), "%s calls what %s may: %v", role, call.least, err)
				}
			}
		}
		// A caller without a request has no correlation ID.
		_, err := executions.On(front).StartJob(caller.With(t.Context(), caller.Caller{Role: "jobs_operator", Name: "ada"}), "j", uuid.New())
		require.NoError(t, err)
		for _, call := range calls {
			require.Equal(t, int32(229), dberror.NumberOf(call.do(t.Context())), "the front itself: %s", call.least)
		}
		require.ErrorContains(t, calls[0].do(as(t.Context(), "db_owner", "ada")), "invalid role of a caller")
		require.NoError(t, installed.On(front).CheckVersion(t.Context()), "the front knows the version of the schema")

		// The login may not take other identities, nor give the role of the users to itself.
		db := controldb.Pool(front)
		for _, statement := range []string{
			"EXECUTE AS USER = N'dbo';", "EXECUTE AS LOGIN = N'sa';", "ALTER ROLE jobs_admin ADD MEMBER [front_" + c.name + "];",
			"EXECUTE AS USER = N'jobagent_admin'; ALTER ROLE jobs_front ADD MEMBER jobagent_reader;",
			"EXECUTE AS USER = N'jobagent_author'; EXECUTE AS USER = N'jobagent_admin';",
		} {
			_, err := db.ExecContext(t.Context(), statement)
			require.Error(t, err, statement)
		}
	})
}

// TestCallersDoNotLeak: after errors, cancellations and time limits the next call on the same
// connection is neither made as the last caller nor recorded for it.
func TestCallersDoNotLeak(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", nil)
		front := c.front(t, 1) // one connection, so that each call meets what the last one left
		const who = "SELECT CONCAT(USER_NAME(), N'|', CAST(SESSION_CONTEXT(N'jobagent.caller') AS NVARCHAR(256)), N'|', @@TRANCOUNT)"
		own := "front_" + c.name + "||0"
		clean := func() {
			t.Helper()
			var is string
			require.NoError(t, controldb.Pool(front).QueryRowContext(t.Context(), who).Scan(&is))
			require.Equal(t, own, is)
		}
		admin := as(t.Context(), "jobs_admin", "ada")
		_, err := executions.On(front).StartJob(admin, "j", uuid.New())
		require.NoError(t, err)
		clean()
		_, err = executions.On(front).StartJob(admin, "no such job", uuid.New())
		require.ErrorIs(t, err, dberror.ErrJobNotFound)
		clean()
		_, err = catalog.On(front).Jobs(as(t.Context(), "jobs_reader", "bob"), "")
		require.NoError(t, err)
		clean()

		// The row of the job is locked, so the call waits until its context ends.
		conn, err := c.db.Conn(t.Context())
		require.NoError(t, err)
		defer conn.Close()
		_, err = conn.ExecContext(t.Context(), "BEGIN TRANSACTION; UPDATE jobs_internal.jobs SET description = N'x' WHERE name = N'j';")
		require.NoError(t, err)
		waiting, cancel := context.WithTimeout(admin, 100*time.Millisecond)
		defer cancel()
		_, err = executions.On(front).StartJob(waiting, "j", uuid.New())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		clean()
		err = catalog.On(front.WithCallLimit(100*time.Millisecond)).UpdateJob(admin, model.JobSpec{Name: "j", Description: ptr("y")})
		require.ErrorIs(t, err, dberror.ErrUnreachable)
		clean()
		_, err = conn.ExecContext(t.Context(), "ROLLBACK TRANSACTION;")
		require.NoError(t, err)

		// Callers of all roles on few connections.
		controldb.Pool(front).SetMaxOpenConns(3)
		var group sync.WaitGroup
		for n := range 12 {
			group.Go(func() {
				role := []string{"jobs_reader", "jobs_operator", "jobs_author", "jobs_admin"}[n%4]
				for range 10 {
					_, err := executions.On(front).StartJob(as(t.Context(), role, fmt.Sprint(n)), "j", uuid.New())
					if role == "jobs_reader" {
						if dberror.NumberOf(err) != 229 {
							t.Errorf("a reader started a job: %v", err)
						}
					} else if err != nil {
						t.Errorf("%s: %v", role, err)
					}
				}
			})
		}
		group.Wait()
	})
}

// TestCallersNeedTheRoleOfFronts: a login without jobs_front cannot make calls for callers, also if
// its own roles allow the call.
func TestCallersNeedTheRoleOfFronts(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", nil)
		name := "admin_" + c.name
		s := c.login(t, name, `ALTER ROLE jobs_admin ADD MEMBER [`+name+`];`)
		_, err := executions.On(s).StartJob(t.Context(), "j", uuid.New())
		require.NoError(t, err)
		_, err = executions.On(s).StartJob(as(t.Context(), "jobs_operator", "ada"), "j", uuid.New())
		require.ErrorIs(t, err, dberror.ErrNoRoleUser)
		_, err = catalog.On(s).Jobs(as(t.Context(), "jobs_reader", "ada"), "")
		require.ErrorIs(t, err, dberror.ErrNoRoleUser)

		// A call that was not switched to another user is refused, whatever led to it.
		require.Equal(t, 1, get[int](t, c, `SELECT COUNT(*) FROM jobs.job_executions WHERE step_id IS NULL;`))
		c.fails(t, 50190, `EXECUTE jobs_internal.begin_call @user = N'jobagent_admin', @caller = N'x';`)
		c.fails(t, 50190, `EXECUTE jobs_internal.begin_call @user = NULL, @caller = N'x';`)
	})
}

// TestExamineCallers: the examination of a front's login tells what is missing, and how to fix it.
func TestExamineCallers(t *testing.T) {
	testenv.Long(t)
	each(t, func(t *testing.T, c *control) {
		front := &control{Store: c.front(t, 2), env: c.env, name: c.name, db: c.db}
		for _, code := range []string{doctor.CodeCallers, doctor.CodeRights} {
			require.Equal(t, doctor.SeverityOK, doctor.Worst(front.findings(t, code)), code)
		}
		require.Contains(t, front.findings(t, doctor.CodeCallers)[0].Found, "may make the calls of a REST front")

		c.exec(t, `REVOKE IMPERSONATE ON USER::jobagent_author FROM jobs_front;`)
		_, err := targetgroups.On(front.Store).Add(as(t.Context(), "jobs_author", "ada"), "g")
		require.ErrorIs(t, err, dberror.ErrNoRoleUser)
		require.ErrorContains(t, err, "jobagent db grants --role jobs_front")
		found := front.findings(t, doctor.CodeCallers)
		require.Contains(t, found[0].Found, "may not impersonate jobagent_author")
		c.fix(t, found[0].SQL)
		require.Equal(t, doctor.SeverityOK, doctor.Worst(front.findings(t, doctor.CodeCallers)))

		c.exec(t, `ALTER ROLE jobs_operator DROP MEMBER jobagent_operator;`)
		found = c.findings(t, doctor.CodeCallers)
		require.Contains(t, found[0].Found, "not members of their roles: jobagent_operator")
		c.fix(t, found[0].SQL)
		require.Equal(t, doctor.SeverityOK, doctor.Worst(c.findings(t, doctor.CodeCallers)))

		c.exec(t, `ALTER ROLE jobs_admin DROP MEMBER jobagent_admin; DROP USER jobagent_admin;`)
		c.fix(t, c.findings(t, doctor.CodeCallers)[0].SQL)
		require.NoError(t, executions.On(front.Store).Purge(as(t.Context(), "jobs_admin", "ada"), executions.PurgeRequest{JobName: c.aJob(t)}))
	})
}

// aJob adds a job and returns its name.
func (c *control) aJob(t *testing.T) string {
	t.Helper()
	c.job(t, "j", nil)
	return "j"
}
