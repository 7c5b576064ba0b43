package controldb_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/deploy"
	"github.com/jobagent/jobagent/controldb/installed"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/earlier"
)

// TestEarlierSchema: an agent or front of this release refuses the schema of an earlier release,
// and says what to do. Commands may use the schema if it supports the protocol of this release.
func TestEarlierSchema(t *testing.T) {
	testenv.Long(t)
	for of, commands := range map[int]bool{earlier.Release0: false, earlier.Version28: true} {
		testenv.Each(t, func(t *testing.T, env *testenv.Env) {
			c := version(t, env, of)
			_, err := installed.On(c.Store).CheckAgent(t.Context())
			var other *dberror.SchemaVersionError
			require.ErrorAs(t, err, &other)
			require.Equal(t, dberror.SchemaVersionError{Have: of, Want: installed.SchemaVersion()}, *other)
			require.ErrorContains(t, err, `run "jobagent db migrate"`)
			other, err = installed.On(c.Store).CheckProtocol(t.Context())
			if commands {
				require.NoError(t, err)
				require.Equal(t, of, other.Have)
			} else {
				require.ErrorIs(t, err, dberror.ErrSchemaVersion)
			}
			require.NoError(t, deploy.On(c.Store).Migrate(t.Context()))
			other, err = installed.On(c.Store).CheckAgent(t.Context())
			require.NoError(t, err)
			require.Nil(t, other)
		})
	}
}

// TestLaterSchema: a later release may have more migrations, other texts and no procedure that only
// other procedures call. Agents of this release go on with it, as long as it has what they call.
func TestLaterSchema(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		const changed = `UPDATE c SET c.sha256 = REPLICATE('0', 64) FROM jobs_internal.code_objects AS c;`
		c.exec(t, changed)
		other, err := installed.On(c.Store).CheckAgent(t.Context())
		require.NoError(t, err, "nothing is missing")
		require.NotEmpty(t, other.Changed)

		c.exec(t, `DELETE c FROM jobs_internal.code_objects AS c WHERE c.name = N'jobs_internal.advance_rollout';`)
		_, err = installed.On(c.Store).CheckAgent(t.Context())
		require.NoError(t, err, "only other procedures call it")

		c.exec(t, `INSERT jobs_internal.schema_versions (version, name, sha256, applied_at) VALUES (9999, N'later', REPLICATE('0', 64), SYSUTCDATETIME());`)
		other, err = installed.On(c.Store).CheckAgent(t.Context())
		require.NoError(t, err)
		require.Equal(t, 9999, other.Have)
	})
}

// TestSchemaLacksCalls: a release may add procedures and parameters without a migration, so the
// schema of the release before has the same version.
func TestSchemaLacksCalls(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.exec(t, `CREATE OR ALTER PROCEDURE jobs_internal.confirm_term @term_id BIGINT, @now DATETIME2(7) = NULL AS RETURN 0;`)
		c.exec(t, `UPDATE c SET c.sha256 = REPLICATE('0', 64) FROM jobs_internal.code_objects AS c WHERE c.name = N'jobs_internal.confirm_term';`)
		_, err := installed.On(c.Store).CheckAgent(t.Context())
		require.ErrorIs(t, err, dberror.ErrSchemaVersion)
		require.ErrorContains(t, err, `1 object missing (jobs_internal.confirm_term @term_guid): run "jobagent db migrate"`)
		_, err = c.ConfirmTerm(t.Context(), c.term(t))
		require.ErrorIs(t, err, dberror.ErrSchemaVersion, "what has not asked before learns the same by a call")
		require.ErrorContains(t, err, `run "jobagent db migrate"`)

		c.exec(t, `DROP PROCEDURE jobs_internal.confirm_term;`)
		c.exec(t, `DELETE c FROM jobs_internal.code_objects AS c WHERE c.name = N'jobs_internal.confirm_term';`)
		_, err = installed.On(c.Store).CheckAgent(t.Context())
		require.ErrorIs(t, err, dberror.ErrSchemaVersion)
		require.ErrorContains(t, err, `1 object missing (jobs_internal.confirm_term): run "jobagent db migrate"`)
		_, err = c.ConfirmTerm(t.Context(), c.term(t))
		require.ErrorIs(t, err, dberror.ErrNotInstalled)
		require.ErrorContains(t, err, `or "jobagent db migrate" if it is of an earlier release`)

		require.NoError(t, deploy.On(c.Store).Migrate(t.Context()))
		other, err := installed.On(c.Store).CheckAgent(t.Context())
		require.NoError(t, err)
		require.Nil(t, other)
	})
}
