package compile

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog/sysviews"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser"
)

// TestSystemViews compiles a query over each system table and view, and expects SQLite to accept
// it.
func TestSystemViews(t *testing.T) {
	b := newFixture(t, "")
	for _, name := range sysviews.SystemNames() {
		if strings.HasPrefix(name, "dbo.") || strings.HasPrefix(name, "msdb.") {
			continue // exists in master or msdb only
		}
		t.Run(name, func(t *testing.T) {
			batch, err := parser.Parse("SELECT * FROM "+name, parser.DefaultOptions)
			require.NoError(t, err)
			p, err := New(b).Select(batch.Stmts[0].(*syntax.SelectStmt).Query, nil)
			require.NoError(t, err)
			require.NotEmpty(t, p.Columns)
			for _, s := range p.System {
				var cols []string
				for i := range s.Table.Columns {
					cols = append(cols, tree.ColumnName(i))
				}
				require.NoError(
					t,
					b.conn.Temps.Ensure(
						context.Background(),
						s.Temp,
						"CREATE TABLE IF NOT EXISTS "+store.LocalTable(s.Temp)+"("+strings.Join(cols, ", ")+")",
					),
				)
			}
			args := make([]any, len(p.Params))
			rows, err := b.conn.Query(context.Background(), p.SQL, args)
			require.NoError(t, err, p.SQL)
			require.NoError(t, rows.Close())
		})
	}
}
