package script_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	mssql "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zaptest"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv"
)

const (
	errPermission       = 229 // The ... permission was denied on the object ...
	errCreatePermission = 262 // CREATE ... permission denied in database ...
)

// The objects that roles may use, beyond those of the roles that they are members of.
var (
	readerViews = []string{
		"jobs.job_execution_messages", "jobs.job_execution_outcomes", "jobs.job_execution_reruns", "jobs.job_executions", "jobs.job_versions", "jobs.jobs", "jobs.jobstep_options", "jobs.jobstep_versions", "jobs.jobsteps",
		"jobs.target_group_member_details", "jobs.target_group_members", "jobs.target_groups", "jobs.limits", "jobs.sp_explain_execution",
		"jobs.schedules", "jobs.schedule_executions", "jobs.schedule_skips", "jobs.schedule_backfills", "jobs.calendars", "jobs.live_agents",
	}
	operatorObjects = append(slices.Clone(readerViews), "jobs.sp_start_job", "jobs.sp_rerun_job_execution", "jobs.sp_stop_job", "jobs_internal.agent_status", "jobs_internal.advance_status",
		"jobs.sp_enable_schedule", "jobs.sp_pause_schedule", "jobs.sp_backfill_schedule", "jobs.sp_cancel_backfill")
	authorObjects = append(slices.Clone(operatorObjects),
		"jobs.sp_add_job", "jobs.sp_update_job", "jobs.sp_delete_job", "jobs.sp_add_jobstep", "jobs.sp_update_jobstep", "jobs.sp_delete_jobstep", "jobs.sp_set_jobstep_options",
		"jobs.sp_add_target_group", "jobs.sp_delete_target_group", "jobs.sp_add_target_group_member", "jobs.sp_delete_target_group_member",
		"jobs.sp_set_limit", "jobs.sp_add_schedule", "jobs.sp_update_schedule", "jobs.sp_delete_schedule",
		"jobs.sp_add_calendar", "jobs.sp_update_calendar", "jobs.sp_delete_calendar")
	adminObjects = append(slices.Clone(authorObjects), "jobs.sp_purge_jobhistory", "jobs.sp_set_setting")
	agentObjects = []string{
		"jobs_internal.start_term", "jobs_internal.renew_term", "jobs_internal.end_term", "jobs_internal.controller_pass",
		"jobs_internal.complete_tasks", "jobs_internal.complete_resolution", "jobs_internal.get_command", "jobs_internal.due_schedules",
		"jobs_internal.fire_schedules", "jobs_internal.record_verdicts", "jobs_internal.recheck_schedules", "jobs_internal.ensure_system_jobs", "jobs_internal.purge_history", "jobs_internal.delete_leftovers",
		"jobs_internal.schema_versions", "jobs_internal.code_objects", "jobs_internal.agent_status", "jobs_internal.advance_status", "jobs_internal.agent_protocols",
	}
)

// login makes a login with a user in a database that is a member of one role, and returns a connector with it.
func login(t *testing.T, env *testenv.Env, database, role string) *targets.Connector {
	t.Helper()
	name, password := role+"_"+rand.Text()[:8], "Pw1-"+rand.Text()
	master := env.DB(t, "master")
	_, err := master.ExecContext(t.Context(), fmt.Sprintf("CREATE LOGIN [%s] WITH PASSWORD = '%s';", name, password))
	require.NoError(t, err)
	if env.Server == nil {
		t.Cleanup(func() {
			_, err := master.ExecContext(context.WithoutCancel(t.Context()), fmt.Sprintf("DROP LOGIN [%s];", name))
			require.NoError(t, err)
		})
	}
	_, err = env.DB(t, database).ExecContext(t.Context(), fmt.Sprintf("CREATE USER [%[1]s] FOR LOGIN [%[1]s]; ALTER ROLE %[2]s ADD MEMBER [%[1]s];", name, role))
	require.NoError(t, err)
	dsn, err := targets.ParseDSN(env.DSN(database))
	require.NoError(t, err)
	dsn.Params.User, dsn.Params.Password = name, password
	var dialer mssql.HostDialer
	if env.Server != nil {
		dialer = env.Server.Dialer()
	}
	return dsn.Connector(dialer)
}

// number is the server's number of an error; 0: there is no error.
func number(t *testing.T, err error) int32 {
	t.Helper()
	if err == nil {
		return 0
	}
	var e mssql.Error
	require.True(t, errors.As(err, &e), "%v", err)
	return e.Number
}

// TestRolesGrantWhatTheyNameAndNoMore tries every object of both schemas with logins that are members of one role each.
func TestRolesGrantWhatTheyNameAndNoMore(t *testing.T) {
	testenv.Each(t, func(t *testing.T, env *testenv.Env) {
		_, database := env.Control(t)
		type object struct{ name, kind string }
		var objects []object
		rows, err := env.DB(t, database).QueryContext(t.Context(), `
SELECT CONCAT(SCHEMA_NAME(o.schema_id), N'.', o.name), RTRIM(o.type)
FROM sys.objects AS o
WHERE o.type IN ('P', 'V', 'U') AND SCHEMA_NAME(o.schema_id) IN (N'jobs', N'jobs_internal')
ORDER BY 1;`)
		require.NoError(t, err)
		defer rows.Close()
		for rows.Next() {
			var o object
			require.NoError(t, rows.Scan(&o.name, &o.kind))
			objects = append(objects, o)
		}
		require.NoError(t, rows.Err())
		require.Greater(t, len(objects), 60)

		for _, c := range []struct {
			role    string
			allowed []string
		}{
			{"jobs_reader", readerViews}, {"jobs_operator", operatorObjects}, {"jobs_author", authorObjects},
			{"jobs_admin", adminObjects}, {"jobs_agent", agentObjects},
		} {
			t.Run(c.role, func(t *testing.T) {
				db := sql.OpenDB(login(t, env, database, c.role))
				defer db.Close()
				for _, o := range objects {
					// A procedure without its arguments does nothing, once it may be called at all.
					statement := "EXEC " + o.name + ";"
					if o.kind != "P" {
						statement = "SELECT COUNT(*) FROM " + o.name + ";"
					}
					_, err := db.ExecContext(t.Context(), statement)
					if slices.Contains(c.allowed, o.name) {
						require.NotEqual(t, int32(errPermission), number(t, err), "%s must be allowed: %v", statement, err)
					} else {
						require.Equal(t, int32(errPermission), number(t, err), "%s must be refused: %v", statement, err)
					}
				}
				for _, c := range []struct {
					statement string
					number    int32
				}{
					{"UPDATE jobs.jobs SET description = N'x';", errPermission},
					{"DELETE FROM jobs.target_groups;", errPermission},
					{"INSERT INTO jobs_internal.settings (name, value) VALUES (N'a', N'b');", errPermission},
					{"DELETE FROM jobs_internal.code_objects;", errPermission},
					{"CREATE TABLE dbo.mine (i INT);", errCreatePermission},
				} {
					_, err := db.ExecContext(t.Context(), c.statement)
					require.Equal(t, c.number, number(t, err), "%s: %v", c.statement, err)
				}
			})
		}
	})
}

// TestRolesDoTheirWork lets each role do what it is for, from the author's definition to the agent's run.
func TestRolesDoTheirWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := testenv.Embedded(t, testenv.Options{})
		store, database := env.Control(t)
		target := env.CreateDatabase(t, "target")
		open := func(role string) *sql.DB {
			db := sql.OpenDB(login(t, env, database, role))
			t.Cleanup(func() { require.NoError(t, db.Close()) })
			return db
		}
		author, operator, reader, admin := open("jobs_author"), open("jobs_operator"), open("jobs_reader"), open("jobs_admin")

		_, err := author.ExecContext(t.Context(), fmt.Sprintf(`
EXEC jobs.sp_add_target_group N'g';
EXEC jobs.sp_add_target_group_member N'g', @target_type = N'SqlDatabase', @server_name = N'%s', @database_name = N'%s';
EXEC jobs.sp_add_job N'j';
EXEC jobs.sp_add_jobstep N'j', @command = N'PRINT N''hello'';', @target_group_name = N'g';`, env.ServerName, target))
		require.NoError(t, err)

		agentStore, err := controldb.New(controldb.Config{Connector: login(t, env, database, "jobs_agent"), ServerName: env.ServerName})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, agentStore.Close()) })
		hosting, err := agent.New(agent.Config{}, agentStore, env.Tools(t, agentStore), nil, zaptest.NewLogger(t))
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- hosting.Run(ctx) }()

		var id mssql.UniqueIdentifier
		_, err = operator.ExecContext(t.Context(), "jobs.sp_start_job", sql.Named("job_name", "j"), sql.Named("job_execution_id", sql.Out{Dest: &id}))
		require.NoError(t, err)
		<-time.After(10 * time.Second)

		var lifecycle, message string
		require.NoError(t, reader.QueryRowContext(t.Context(), "SELECT lifecycle FROM jobs.job_executions WHERE job_execution_id = @p1 AND step_id IS NULL;", id).Scan(&lifecycle))
		require.Equal(t, string(jobs.Succeeded), lifecycle)
		require.NoError(t, reader.QueryRowContext(t.Context(), "SELECT message FROM jobs.job_execution_messages WHERE job_execution_id = @p1 AND message_kind = N'Info';", id).Scan(&message))
		require.Equal(t, "hello", message)
		_, err = operator.ExecContext(t.Context(), "EXEC jobs.sp_stop_job @p1;", id)
		require.NoError(t, err)
		_, err = admin.ExecContext(t.Context(), "EXEC jobs.sp_purge_jobhistory N'j';")
		require.NoError(t, err)
		left, err := store.Executions(t.Context(), controldb.ExecutionFilter{ID: uuid.UUID(id)})
		require.NoError(t, err)
		require.Empty(t, left)
		_, err = author.ExecContext(t.Context(), "EXEC jobs.sp_delete_job N'j';")
		require.NoError(t, err)

		cancel()
		require.NoError(t, <-ended)
		env.CheckInvariants(t, database, false)
	})
}

// TestOnlyAgentsTakeTheLockOfPasses: whoever may connect could otherwise stop all runs with an application lock.
func TestOnlyAgentsTakeTheLockOfPasses(t *testing.T) {
	testenv.Each(t, func(t *testing.T, env *testenv.Env) {
		store, database := env.Control(t)
		db := sql.OpenDB(login(t, env, database, "jobs_author"))
		defer db.Close()
		conn, err := db.Conn(t.Context())
		require.NoError(t, err)
		defer conn.Close()
		_, err = conn.ExecContext(t.Context(), "EXECUTE sp_getapplock @Resource = N'jobagent.advance', @LockMode = N'Exclusive', @LockOwner = N'Session';")
		require.NoError(t, err, "a lock of that name for everybody is another lock")
		_, err = conn.ExecContext(t.Context(), "EXECUTE sp_getapplock @Resource = N'jobagent.advance', @LockMode = N'Exclusive', @LockOwner = N'Session', @DbPrincipal = N'jobs_agent';")
		require.EqualValues(t, 1230, number(t, err))

		_, err = env.DB(t, database).ExecContext(t.Context(), `EXEC jobs.sp_add_target_group N'g';
EXEC jobs.sp_add_job N'j';
EXEC jobs.sp_add_jobstep N'j', @command = N'SELECT 1;', @target_group_name = N'g';
EXEC jobs.sp_start_job N'j';`)
		require.NoError(t, err)
		term, err := store.StartTerm(t.Context(), controldb.Agent{ID: uuid.New(), Host: "h", Version: "test", MaxConcurrentTargets: 1}, time.Hour)
		require.NoError(t, err)
		res, err := store.Pass(t.Context(), controldb.PassRequest{Term: term.ID, MaxTasks: 1, MaxConcurrentTargets: 1})
		require.NoError(t, err)
		require.Len(t, res.Tasks, 1, "the run has advanced to its first step")
	})
}
