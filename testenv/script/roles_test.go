package script_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zaptest"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
	jobsql "github.com/jobagent/jobagent/sql"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/agents"
)

const (
	errPermission       = 229 // The ... permission was denied on the object ...
	errCreatePermission = 262 // CREATE ... permission denied in database ...
)

// matrixRoles are the roles, those of people first. The last one is a user without a role.
var matrixRoles = []string{"jobs_reader", "jobs_operator", "jobs_author", "jobs_admin", "jobs_agent", "jobs_front", ""}

// login creates a login with a user in a database, as a member of role if role is not empty, and
// returns a connector with it.
func login(t *testing.T, env *testenv.Env, database, role string) *mssql.Connector {
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
	member := ""
	if role != "" {
		member = fmt.Sprintf("ALTER ROLE %s ADD MEMBER [%s];", role, name)
	}
	_, err = env.DB(t, database).ExecContext(t.Context(), fmt.Sprintf("CREATE USER [%[1]s] FOR LOGIN [%[1]s]; %[2]s", name, member))
	require.NoError(t, err)
	dsn, err := mssql.ParseDSN(env.DSN(database))
	require.NoError(t, err)
	dsn.Params.User, dsn.Params.Password = name, password
	var dialer mssqldb.HostDialer
	if env.Server != nil {
		dialer = env.Server.Dialer()
	}
	return dsn.Connector(dialer)
}

// number returns the server's number of an error, or 0 for nil.
func number(t *testing.T, err error) int32 {
	t.Helper()
	if err == nil {
		return 0
	}
	var e mssqldb.Error
	require.True(t, errors.As(err, &e), "%v", err)
	return e.Number
}

// right is a permission on an object, such as EXECUTE on jobs.sp_start_job.
type right struct {
	verb, object string
	may          []bool // one for each of matrixRoles
}

// rights returns the permissions on all objects. A person's role has what the roles before it have.
func rights(t *testing.T) (matrix []right, objects map[string]bool) {
	t.Helper()
	all, err := jobsql.Objects()
	require.NoError(t, err)
	grants, err := jobsql.Grants()
	require.NoError(t, err)
	people := slices.Index(matrixRoles, "jobs_admin") + 1
	objects = map[string]bool{}
	for _, o := range all {
		var verbs []string
		switch o.Kind {
		case jobsql.KindProcedure:
			verbs = []string{"EXECUTE"}
		case jobsql.KindView, jobsql.KindTable:
			verbs = []string{"SELECT", "INSERT", "UPDATE", "DELETE"}
		case jobsql.KindSchema, jobsql.KindUser, jobsql.KindRole, jobsql.KindTrigger:
			continue
		}
		objects[o.Name] = true
		schema, _, _ := strings.Cut(o.Name, ".")
		for _, verb := range verbs {
			r := right{verb: verb, object: o.Name}
			for i, role := range matrixRoles {
				has := matrixRoles[i : i+1]
				if i < people {
					has = matrixRoles[:i+1]
				}
				r.may = append(r.may, slices.ContainsFunc(grants, func(g jobsql.Grant) bool {
					on := g.Class == "OBJECT" && g.Name == o.Name || g.Class == "SCHEMA" && g.Name == schema
					return on && g.Permission == verb && role != "" && slices.Contains(has, g.Role)
				}))
			}
			matrix = append(matrix, r)
		}
	}
	return matrix, objects
}

// TestRoleMatrix compares the permissions that sql/roles and the headers of procedures give with
// the rights of logins that are members of one role each. It asks the server for each right, and it
// tries each right.
func TestRoleMatrix(t *testing.T) {
	matrix, objects := rights(t)
	testenv.Each(t, func(t *testing.T, env *testenv.Env) {
		_, database := env.Control(t)
		owner := env.DB(t, database)
		there := map[string]bool{}
		columns := map[string]string{} // an updatable column of each table
		rows, err := owner.QueryContext(t.Context(), `
SELECT CONCAT(SCHEMA_NAME(o.schema_id), N'.', o.name), (SELECT MIN(c.name) FROM sys.columns AS c WHERE c.object_id = o.object_id AND o.type = 'U' AND c.is_identity = 0)
FROM sys.objects AS o
WHERE o.type IN ('P', 'V', 'U') AND SCHEMA_NAME(o.schema_id) IN (N'jobs', N'jobs_internal', N'jobs_rest');`)
		require.NoError(t, err)
		defer rows.Close()
		for rows.Next() {
			var name string
			var column sql.NullString
			require.NoError(t, rows.Scan(&name, &column))
			there[name] = true
			if column.Valid {
				columns[name] = column.String
			}
		}
		require.NoError(t, rows.Err())
		require.Equal(t, objects, there)

		for i, role := range matrixRoles {
			t.Run(cmp.Or(role, "none"), func(t *testing.T) {
				db := sql.OpenDB(login(t, env, database, role))
				defer db.Close()
				for _, r := range matrix {
					var has sql.NullInt64 // NULL if the login cannot see the object
					require.NoError(t, db.QueryRowContext(t.Context(), "SELECT HAS_PERMS_BY_NAME(@p1, N'OBJECT', @p2);", r.object, r.verb).Scan(&has))
					require.Equal(t, r.may[i], has.Int64 == 1, "%s %s", r.verb, r.object)
					statement := ""
					switch r.verb {
					case "EXECUTE":
						statement = "EXECUTE " + r.object + ";" // fails without arguments, but only after the check of the permission
					case "SELECT":
						statement = "SELECT COUNT(*) FROM " + r.object + ";"
					case "INSERT":
						statement = "INSERT INTO " + r.object + " DEFAULT VALUES;"
					case "UPDATE":
						if c := columns[r.object]; c != "" {
							statement = fmt.Sprintf("UPDATE %s SET [%s] = [%s];", r.object, c, c)
						}
					case "DELETE":
						statement = "DELETE FROM " + r.object + ";"
					}
					if statement == "" || columns[r.object] == "" && (r.verb == "INSERT" || r.verb == "DELETE") {
						continue // most views cannot be changed
					}
					_, err := db.ExecContext(t.Context(), statement)
					if r.may[i] {
						require.NotEqual(t, int32(errPermission), number(t, err), "%s must be allowed: %v", statement, err)
					} else {
						require.Equal(t, int32(errPermission), number(t, err), "%s must be refused: %v", statement, err)
					}
				}
				for _, c := range []struct {
					statement string
					number    int32
				}{
					{"CREATE TABLE dbo.mine (i INT);", errCreatePermission},
					{"CREATE TABLE jobs_internal.mine (i INT);", errCreatePermission},
				} {
					_, err := db.ExecContext(t.Context(), c.statement)
					require.Equal(t, c.number, number(t, err), "%s: %v", c.statement, err)
				}
			})
		}
	})
}

// TestRolesDoTheirWork performs the tasks of each role, from an author's definition to an agent's
// run.
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
		hosting, err := agent.New(agent.Config{}, agentStore, agents.Tools(t, env, agentStore), nil, zaptest.NewLogger(t))
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- hosting.Run(ctx) }()

		var id mssqldb.UniqueIdentifier
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
		left, err := executions.On(store).Rows(t.Context(), uuid.UUID(id))
		require.NoError(t, err)
		require.Empty(t, left)
		_, err = author.ExecContext(t.Context(), "EXEC jobs.sp_delete_job N'j';")
		require.NoError(t, err)

		cancel()
		require.NoError(t, <-ended)
		env.CheckInvariants(t, database, false)
	})
}

// TestOnlyAgentsTakeTheLockOfPasses: without this permission, every login could stop all runs with
// an application lock.
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
		require.EqualValues(t, 1202, number(t, err))

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
