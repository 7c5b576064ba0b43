package controldb_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/deploy"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/installed"
	"github.com/jobagent/jobagent/testenv"
)

// everything lists all objects, schemas, principals, memberships, permissions and properties of the
// database.
func (c *control) everything(t *testing.T) []string {
	t.Helper()
	return c.rows(t, `SELECT e.line
FROM (
    SELECT CONCAT(N'object ', SCHEMA_NAME(o.schema_id), N'.', o.name, N' ', o.type_desc) AS line FROM sys.objects AS o WHERE o.is_ms_shipped = 0
    UNION ALL
    SELECT CONCAT(N'schema ', s.name) FROM sys.schemas AS s
    UNION ALL
    SELECT CONCAT(N'principal ', p.name, N' ', p.type_desc) FROM sys.database_principals AS p
    UNION ALL
    SELECT CONCAT(N'member ', USER_NAME(m.member_principal_id), N' of ', USER_NAME(m.role_principal_id)) FROM sys.database_role_members AS m
    UNION ALL
    SELECT CONCAT(N'permission ', p.class, N' ', p.major_id, N' ', USER_NAME(p.grantee_principal_id), N' ', p.permission_name)
    FROM sys.database_permissions AS p
    WHERE p.major_id >= 0
    UNION ALL
    SELECT CONCAT(N'property ', x.name) FROM sys.extended_properties AS x
) AS e
ORDER BY e.line;`)
}

// TestUninstall: the database is as before the installation, with what belongs to others.
func TestUninstall(t *testing.T) {
	testenv.Each(t, func(t *testing.T, env *testenv.Env) {
		ctx := t.Context()
		name := env.CreateDatabase(t, "control")
		c := &control{Store: env.OpenControl(t, name), env: env, name: name, db: env.DB(t, name)}
		c.exec(t, `CREATE TABLE dbo.mine (a INT NOT NULL PRIMARY KEY); CREATE USER reporter WITHOUT LOGIN; GRANT SELECT ON OBJECT::dbo.mine TO reporter;`)
		before := c.everything(t)
		_, err := deploy.On(c.Store).Uninstall(ctx)
		require.ErrorIs(t, err, dberror.ErrNotInstalled)

		require.NoError(t, deploy.On(c.Store).Install(ctx))
		c.exec(t, `ALTER ROLE jobs_reader ADD MEMBER reporter; GRANT SELECT ON OBJECT::jobs_internal.terms TO reporter;`)
		c.job(t, "j", nil)
		run := c.start(t, "j")
		term, err := c.StartTerm(ctx, controldb.Agent{ID: uuid.New(), Host: "h", Version: "v"}, time.Hour)
		require.NoError(t, err)
		_, err = deploy.On(c.Store).Uninstall(ctx)
		require.ErrorIs(t, err, deploy.ErrInUse)
		require.ErrorContains(t, err, "1 run active, 1 agent at work")
		require.NoError(t, executions.On(c.Store).Stop(ctx, run))
		c.pass(t, term.ID)
		_, err = deploy.On(c.Store).Uninstall(ctx)
		require.ErrorContains(t, err, "0 runs active, 1 agent at work")
		require.NoError(t, installed.On(c.Store).Verify(ctx), "nothing was dropped")
		require.NoError(t, c.EndTerm(ctx, term.ID))

		plan, err := deploy.On(c.Store).PlanUninstall(ctx)
		require.NoError(t, err)
		require.Equal(t, []any{1, 0, 0}, []any{plan.Runs, plan.ActiveRuns, plan.Agents})
		require.Equal(t, []string{"reporter of jobs_reader"}, plan.Members)
		require.Empty(t, plan.Kept)
		dropped, err := deploy.On(c.Store).Uninstall(ctx)
		require.NoError(t, err)
		require.Equal(t, plan, dropped)
		require.Equal(t, before, c.everything(t))
		require.NoError(t, deploy.On(c.Store).Install(ctx), "it can be installed again")
		require.NoError(t, installed.On(c.Store).Verify(ctx))
	})
}

// TestUninstallKeepsForeignObjects: an object of somebody else in a schema of jobagent stays, with
// its schema. A table of another schema that refers to a table of jobagent makes it fail as a
// whole.
func TestUninstallKeepsForeignObjects(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		c.exec(t, `CREATE TABLE jobs.mine (a INT); CREATE TYPE jobs_rest.list AS TABLE (a INT);`)
		c.exec(t, `CREATE TRIGGER jobs_internal.watch ON jobs_internal.jobs AFTER INSERT AS SET NOCOUNT ON;`)
		c.exec(t, `CREATE ROLE jobs_mine; CREATE TABLE dbo.refers (agent_id UNIQUEIDENTIFIER REFERENCES jobs_internal.agents (agent_id));`)
		_, err := deploy.On(c.Store).Uninstall(ctx)
		require.ErrorContains(t, err, "drop the control schema")
		require.NoError(t, installed.On(c.Store).Verify(ctx))
		c.exec(t, `DROP TABLE dbo.refers;`)
		u, err := deploy.On(c.Store).Uninstall(ctx)
		require.NoError(t, err)
		require.Equal(t, []string{"jobs.mine", "jobs_rest.list"}, u.Kept)
		require.Contains(t, u.Objects, "trigger jobs_internal.watch, of somebody else")
		require.Equal(t, []string{"jobs.mine"}, c.rows(t, `SELECT CONCAT(SCHEMA_NAME(o.schema_id), N'.', o.name) FROM sys.objects AS o WHERE o.is_ms_shipped = 0`))
		require.Equal(t, []string{"jobs", "jobs_rest"}, c.rows(t, `SELECT s.name FROM sys.schemas AS s WHERE s.name LIKE N'jobs%' ORDER BY s.name`))
		require.Equal(t, []string{"jobs_mine"}, c.rows(t, `SELECT p.name FROM sys.database_principals AS p WHERE p.name LIKE N'job%'`))
		c.exec(t, `DROP TABLE jobs.mine; DROP TYPE jobs_rest.list; DROP SCHEMA jobs; DROP SCHEMA jobs_rest; DROP ROLE jobs_mine;`)
		require.NoError(t, deploy.On(c.Store).Install(ctx)) // for the check of the invariants
	})
}
