package catalog

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// systemViews are the system views in T-SQL by name.
func systemViews() map[string]*SystemView {
	views := map[string]*SystemView{}
	for name, e := range registry().entries {
		if v := e.read().view; v != nil {
			views[name] = v
		}
	}
	return views
}

// Every view parses, and is called what its file is called. That it binds is tested in package compile.
func TestSystemViewsParse(t *testing.T) {
	for name, v := range systemViews() {
		b, err := syntax.Parse(v.Text, syntax.DefaultOptions)
		require.NoError(t, err, name)
		require.Len(t, b.Stmts, 1, name)
		require.Contains(t, v.Text, "CREATE VIEW "+v.Schema+"."+v.Name+" AS\n")
	}
}
