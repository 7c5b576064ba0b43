package compile

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// FuzzSelect compiles any query that parses. The compiler must not panic, and SQLite must accept
// the SQL.
func FuzzSelect(f *testing.F) {
	for _, s := range []string{
		"SELECT TOP 3 WITH TIES id, name FROM #item ORDER BY kind",
		"SELECT kind, COUNT(*) FROM #item GROUP BY CUBE (kind, flag) HAVING COUNT(*) > 1 ORDER BY 2",
		"WITH c AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM c WHERE x < 5) SELECT * FROM c CROSS APPLY (SELECT " +
			"TOP (c.x) id FROM #sale WHERE item = c.x) q",
		"SELECT id FROM #item WHERE price > ALL (SELECT price FROM #item WHERE id IN (SELECT item FROM #sale)) " +
			"EXCEPT SELECT 1 FOR JSON PATH",
		"SELECT ROW_NUMBER() OVER (PARTITION BY kind ORDER BY made DESC), SUM(price) OVER (ORDER BY id ROWS 2 " +
			"PRECEDING) FROM #item",
		"SELECT @n = @n + id FROM #item WHERE name LIKE '%a[b-d]_' ESCAPE '!'",
		"SELECT * FROM OPENJSON(@s) WITH (a int, b nvarchar(max) AS JSON) j FULL JOIN #item i ON i.id = j.a",
		"SELECT * FROM sys.tables t JOIN INFORMATION_SCHEMA.COLUMNS c ON c.TABLE_NAME = t.name",
	} {
		f.Add(s)
	}
	b := newFixture(f, tables)
	b.declare("@n", "int", "2")
	b.declare("@s", "nvarchar(max)", "[]")
	f.Fuzz(func(t *testing.T, text string) {
		batch, err := parser.Parse(text, parser.DefaultOptions)
		if err != nil {
			return
		}
		for _, s := range batch.Stmts {
			q, ok := s.(*syntax.SelectStmt)
			if !ok {
				continue
			}
			p, err := New(b).Select(q.Query, q.Hints)
			if err != nil {
				var e *mserr.Error
				require.ErrorAs(t, err, &e)
				continue
			}
			if len(p.System) > 0 {
				continue
			}
			rows, err := b.conn.Query(context.Background(), "EXPLAIN "+p.SQL, make([]types.Value, len(p.Params)))
			if err != nil {
				var e *store.Error
				require.False(t, errors.As(err, &e) && e.Code == 1, "%s\n%v", p.SQL, err)
				continue
			}
			require.NoError(t, rows.Close())
		}
	})
}

func TestEncodeRows(t *testing.T) {
	rows := [][]types.Value{
		{nil, int64(-5), 1.25, "a\"b\\c\n\x01é", []byte{0, 255}},
		{"nul\x00", "bad\xff", "", []byte{}, int64(1)},
	}
	b := newFixture(t, "")
	for _, sql := range []string{
		"SELECT c1, c2, c3, c4, c5 FROM rowset('decode', ?1)",
		"SELECT fn('col|0', c1), fn('col|1', c1), fn('col|2', c1), fn('col|3', c1), fn('col|4', c1) FROM " +
			"rowset('packed|decode', ?1)",
	} {
		got, err := b.conn.Query(context.Background(), sql, []types.Value{keys.EncodeRows(rows)})
		require.NoError(t, err)
		for _, want := range rows {
			require.True(t, got.Next())
			require.Equal(t, want, append([]types.Value(nil), got.Row()...))
		}
		require.False(t, got.Next())
		require.NoError(t, got.Err())
	}
}
