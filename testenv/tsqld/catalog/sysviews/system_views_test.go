package sysviews

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// systemViews returns the system views in T-SQL by name.
func systemViews() map[string]*SystemView {
	views := map[string]*SystemView{}
	for name, e := range registry().entries {
		if v := e.read().view; v != nil {
			views[name] = v
		}
	}
	return views
}

// TestSystemViewsParse: every view parses and has the name of its file. Package compile tests the
// binding.
func TestSystemViewsParse(t *testing.T) {
	for name, v := range systemViews() {
		b, err := parser.Parse(v.Text, parser.DefaultOptions)
		require.NoError(t, err, name)
		require.Len(t, b.Stmts, 1, name)
		require.Contains(t, v.Text, "CREATE VIEW "+v.Schema+"."+v.Name+" AS\n")
	}
}

// TestDocumentedColumns compares the columns of system tables with a list from the documentation.
// Each column must exist and have the documented type.
func TestDocumentedColumns(t *testing.T) {
	text, err := os.ReadFile("testdata/documented.txt")
	require.NoError(t, err)
	views := 0
	for line := range strings.Lines(string(text)) {
		full, columns, ok := strings.Cut(line, ": ")
		if strings.HasPrefix(line, "#") || !ok {
			continue
		}
		views++
		schema, name, _ := strings.Cut(full, ".")
		have := map[string]types.Type{}
		for _, c := range FindSystemTable(schema, name).Columns {
			have[c.Name] = c.Type
		}
		want := declaration{name: full, columns: strings.TrimSpace(columns)}.table(&entry{schema: schema, name: name})
		for _, c := range want.Columns {
			require.Contains(t, have, c.Name, full)
			require.Equal(t, c.Type, have[c.Name], "%s.%s", full, c.Name)
		}
	}
	require.Equal(t, 3, views)
}
