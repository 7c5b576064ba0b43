package catalog

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// Every view parses, is called what its file is called, and names no system table that does not exist.
func TestSystemViewsParse(t *testing.T) {
	require.NotEmpty(t, registry().views)
	for name, v := range registry().views {
		b, err := syntax.Parse(v.Text, syntax.DefaultOptions)
		require.NoError(t, err, name)
		require.Len(t, b.Stmts, 1, name)
		require.Contains(t, v.Text, "CREATE VIEW "+v.Schema+"."+v.Name+" AS\n")
		require.Nil(t, registry().tables[name], "%s is a table, too", name)
	}
}
