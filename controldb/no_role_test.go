package controldb_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/installed"
)

// A login without a role sees no object of the schema. That does not read as "not installed".
func TestLoginWithoutRole(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		name := "none_" + strings.ToLower(c.name)
		store := c.login(t, name)
		_, err := installed.On(store).CheckAgent(t.Context())
		require.ErrorIs(t, err, dberror.ErrNoRole)
		require.NotErrorIs(t, err, dberror.ErrNotInstalled)
		require.EqualError(t, err, "the login "+name+" has no role in the control database: "+
			"have a member of db_owner run ALTER ROLE jobs_reader ADD MEMBER ["+name+"]; in it (or jobs_operator, jobs_author, jobs_admin)")
		require.NoError(t, installed.On(c.Store).CheckVersion(t.Context()), "the owner")
		c.exec(t, `ALTER ROLE jobs_reader ADD MEMBER [`+name+`];`)
		_, err = installed.On(store).CheckAgent(t.Context())
		require.ErrorIs(t, err, dberror.ErrVersionHidden)
	})
}
