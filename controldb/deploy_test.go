package controldb_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/deploy"
	"github.com/jobagent/jobagent/controldb/installed"
	"github.com/jobagent/jobagent/testenv"
)

func TestDeployment(t *testing.T) {
	testenv.Each(t, func(t *testing.T, env *testenv.Env) {
		ctx := t.Context()
		name := env.CreateDatabase(t, "control.b") // HAS_PERMS_BY_NAME takes such a name for two parts
		store := env.OpenControl(t, name)
		require.ErrorIs(t, installed.On(store).CheckVersion(ctx), dberror.ErrNotInstalled)
		require.ErrorIs(t, installed.On(store).Verify(ctx), dberror.ErrNotInstalled)
		require.ErrorIs(t, deploy.On(store).Migrate(ctx), dberror.ErrNotInstalled)
		_, err := catalog.On(store).Jobs(ctx, "")
		require.ErrorIs(t, err, dberror.ErrNotInstalled)

		require.NoError(t, deploy.On(store).Install(ctx))
		require.NoError(t, installed.On(store).CheckVersion(ctx))
		require.NoError(t, installed.On(store).Verify(ctx))
		require.NoError(t, deploy.On(store).Install(ctx), "installing twice is the same as once")

		c := &control{Store: store, env: env, name: name, db: env.DB(t, name)}
		total, names, err := deploy.On(store).OtherTables(ctx)
		require.NoError(t, err)
		require.Zero(t, total)
		require.Empty(t, names)
		c.exec(t, `CREATE TABLE dbo.mine (a INT); CREATE TABLE dbo.b1 (a INT); CREATE TABLE dbo.b2 (a INT); CREATE TABLE dbo.b3 (a INT);
CREATE TABLE dbo.b4 (a INT); CREATE TABLE dbo.b5 (a INT);`)
		total, names, err = deploy.On(store).OtherTables(ctx)
		require.NoError(t, err)
		require.Equal(t, 6, total)
		require.Equal(t, []string{"dbo.b1", "dbo.b2", "dbo.b3", "dbo.b4", "dbo.b5"}, names)
		c.exec(t, `ALTER PROCEDURE jobs_internal.get_command @command_id BIGINT AS RETURN 0;`)
		c.exec(t, `DROP VIEW jobs.job_versions;`)
		c.exec(t, `CREATE VIEW jobs_internal.mine AS SELECT 1 AS one;`)
		got, err := installed.On(store).Compare(ctx)
		require.NoError(t, err)
		require.Equal(t, installed.Comparison{
			Version: installed.SchemaVersion(), Want: installed.SchemaVersion(),
			Missing: []string{"jobs.job_versions"}, Changed: []string{"jobs_internal.get_command"}, Extra: []string{"jobs_internal.mine"},
		}, got)
		err = installed.On(store).Verify(ctx)
		require.ErrorIs(t, err, dberror.ErrSchemaVersion)
		require.ErrorContains(t, err, "jobs.job_versions")

		require.NoError(t, deploy.On(store).Migrate(ctx))
		require.NoError(t, installed.On(store).Verify(ctx))
		c.fails(t, 50099, `DELETE FROM jobs.job_versions;`)
		c.exec(t, `DROP TRIGGER jobs.jobs_read_only;`)
		require.ErrorContains(t, installed.On(store).Verify(ctx), "jobs.jobs_read_only")
		require.NoError(t, deploy.On(store).Migrate(ctx))
		c.fails(t, 50099, `DELETE FROM jobs.jobs;`)
		require.Equal(t, 1, get[int](t, c, `SELECT COUNT(*) FROM sys.views WHERE name = N'mine'`), "what is not ours stays")

		c.exec(t, `UPDATE jobs_internal.code_objects SET sha256 = REPLICATE('0', 64) WHERE name = N'jobs.sp_add_job';`)
		require.ErrorIs(t, installed.On(store).CheckVersion(ctx), dberror.ErrSchemaVersion)
		require.NoError(t, deploy.On(store).Migrate(ctx))
		require.NoError(t, installed.On(store).CheckVersion(ctx))

		c.exec(t, `CREATE PROCEDURE jobs_internal.old AS RETURN 0;`)
		c.exec(t, `INSERT INTO jobs_internal.code_objects (name, kind, sha256, deployed_at) VALUES (N'jobs_internal.old', N'PROCEDURE', REPLICATE('0', 64), SYSUTCDATETIME());`)
		require.NoError(t, deploy.On(store).Migrate(ctx))
		require.Equal(t, 0, get[int](t, c, `SELECT COUNT(*) FROM sys.procedures WHERE name = N'old'`), "what was ours and is gone goes")

		c.exec(t, `INSERT INTO jobs_internal.schema_versions (version, name, sha256, applied_at) VALUES (9999, N'future', REPLICATE('0', 64), SYSUTCDATETIME());`)
		var version *dberror.SchemaVersionError
		require.ErrorAs(t, deploy.On(store).Install(ctx), &version)
		require.Equal(t, 9999, version.Have)
		require.ErrorIs(t, deploy.On(store).Migrate(ctx), dberror.ErrSchemaVersion)
	})
}

// TestMigrateChecksTheDeployedProtocol: only a missing view means that no newer program has
// deployed.
func TestMigrateChecksTheDeployedProtocol(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		c.exec(t, `DROP VIEW jobs_internal.agent_protocols;`)
		require.NoError(t, deploy.On(c.Store).Migrate(ctx), "a missing view is restored")
		require.NoError(t, installed.On(c.Store).Verify(ctx))

		c.exec(t, `ALTER VIEW jobs_internal.agent_protocols AS SELECT 1 AS oldest, CAST(N'x' AS INT) AS newest;`)
		require.Equal(t, int32(245), dberror.NumberOf(deploy.On(c.Store).Migrate(ctx)), "an unreadable view is an error")
		c.exec(t, `ALTER VIEW jobs_internal.agent_protocols AS SELECT 1 AS oldest, 99 AS newest;`)
		require.ErrorIs(t, deploy.On(c.Store).Migrate(ctx), dberror.ErrSchemaVersion)
		require.Equal(t, 99, get[int](t, c, `SELECT newest FROM jobs_internal.agent_protocols`), "nothing was deployed")
	})
}

// TestEarlierProgramDeploys: the program of an earlier release does not take the procedures of a
// later one back, unless it is told to.
func TestEarlierProgramDeploys(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		as := func(program string) *controldb.Store {
			store, err := controldb.New(controldb.Config{Connector: c.env.Connector(t, c.name), ServerName: c.env.ServerName, Program: program})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, store.Close()) })
			return store
		}
		older := deploy.MigrateOptions{AllowOlder: true}
		deployed := func() string {
			return strings.Join(c.rows(t, `SELECT CAST(p.value AS NVARCHAR(100)) FROM sys.extended_properties AS p WHERE p.name = N'jobagent_program';`), ",")
		}
		require.Empty(t, deployed(), "a program without a version installed it")
		for _, next := range []string{"v0.1.0", "v0.2.0-rc.1", "v0.2.0", "devel", "v0.1.0", "v0.10.0", "v0.10.0"} {
			require.NoError(t, deploy.On(as(next)).Migrate(t.Context()), next)
			require.Equal(t, next, deployed())
		}
		const changed = `ALTER PROCEDURE jobs_internal.check_place AS RETURN 7;`
		c.exec(t, changed)
		err := deploy.On(as("v0.9.9")).Migrate(t.Context())
		require.ErrorIs(t, err, dberror.ErrSchemaVersion)
		require.ErrorContains(t, err, "jobagent v0.10.0 has deployed its procedures, and this is v0.9.9: use the newer program")
		_, err = deploy.On(as("v0.9.9")).Plan(t.Context(), deploy.MigrateOptions{})
		require.ErrorIs(t, err, dberror.ErrSchemaVersion)
		p, err := deploy.On(as("v0.9.9")).Plan(t.Context(), older)
		require.NoError(t, err)
		require.Equal(t, 1, p.Code, "nothing was deployed")
		require.NoError(t, deploy.On(as("v0.9.9")).MigrateWith(t.Context(), older))
		require.NoError(t, installed.On(c.Store).Verify(t.Context()))
		require.Equal(t, "v0.9.9", deployed())
		require.NoError(t, deploy.On(as("")).Migrate(t.Context()))
		require.Equal(t, "v0.9.9", deployed(), "a program without a version leaves the record")

		// A later contract with agents is refused whatever is allowed.
		c.exec(t, `ALTER VIEW jobs_internal.agent_protocols AS SELECT 1 AS oldest, 99 AS newest;`)
		require.ErrorIs(t, deploy.On(as("v0.9.9")).MigrateWith(t.Context(), older), dberror.ErrSchemaVersion)
	})
}

func TestInstallTwiceAtOnce(t *testing.T) {
	testenv.Each(t, func(t *testing.T, env *testenv.Env) {
		store := env.OpenControl(t, env.CreateDatabase(t, "control"))
		var wg sync.WaitGroup
		errs := make([]error, 3)
		for i := range errs {
			wg.Go(func() { errs[i] = deploy.On(store).Install(context.WithoutCancel(t.Context())) })
		}
		wg.Wait()
		for _, err := range errs {
			require.NoError(t, err)
		}
		require.NoError(t, installed.On(store).Verify(t.Context()))
	})
}
