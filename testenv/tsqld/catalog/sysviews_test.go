package catalog

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
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

var (
	aliasOf  = regexp.MustCompile(`(?:FROM|JOIN) ((?:sys|INFORMATION_SCHEMA)\.\w+)(?: AS (\w+))?`)
	columnOf = regexp.MustCompile(`\b([a-z]+)\.(\w+)`)
)

// The columns that views name exist in what they read, as far as that is a system table.
func TestSystemViewsNameColumns(t *testing.T) {
	for name, v := range registry().views {
		// Names of one query do not reach into the next.
		for part := range strings.SplitSeq(v.Text, "UNION ALL") {
			_, part, _ = strings.Cut(part, "SELECT")
			read := map[string]string{}
			for _, m := range aliasOf.FindAllStringSubmatch(part, -1) {
				require.NotZero(t, SystemObjectID(strings.Split(m[1], ".")[0], strings.Split(m[1], ".")[1]), "%s reads %s", name, m[1])
				read[m[2]] = m[1]
			}
			for _, m := range columnOf.FindAllStringSubmatch(part, -1) {
				if m[1] == "sys" {
					continue
				}
				source, ok := read[m[1]]
				require.True(t, ok, "%s: no alias %s", name, m[1])
				st := registry().tables[Fold(strings.NewReplacer("sys.columns", "sys.all_columns", "sys.objects", "sys.all_objects").Replace(source))]
				require.NotNil(t, st, "%s: %s", name, source)
				require.True(t, slices.ContainsFunc(st.Columns, func(c types.Column) bool { return c.Name == m[2] }), "%s: %s has no column %s", name, source, m[2])
			}
		}
	}
}
