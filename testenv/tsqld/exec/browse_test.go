package exec

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// origins is a Sink that records the origins of columns.
type origins struct {
	recorder
	list []string
}

func (o *origins) Columns(cols []types.Column) error {
	for _, c := range cols {
		s := c.Name
		if c.Origin != nil {
			s += "<" + strings.Join(append(c.Origin.Table, c.Origin.Column), ".")
			if c.Origin.Key {
				s += " key"
			}
			if c.Origin.Hidden {
				s += " hidden"
			}
			s += ">"
		}
		if c.Computed {
			s += " computed"
		}
		o.list = append(o.list, s)
	}
	return o.recorder.Columns(cols)
}

// TestBrowse checks the metadata that SqlDataAdapter and SqlCommandBuilder need
// (CommandBehavior.KeyInfo): the table and column of each result column, and hidden columns for
// keys.
func TestBrowse(t *testing.T) {
	s := workSession(t, newInstance(t))
	must(t, s, "CREATE TABLE t (id int IDENTITY PRIMARY KEY, a int, b AS a + 1); INSERT t (a) VALUES (5)")
	must(t, s,
		"CREATE TABLE u (k int NOT NULL, l int NOT NULL, txt ntext, a int, UNIQUE (l, k)); INSERT u VALUES (1, 1, N'x', 1)")
	must(t, s, "CREATE TABLE plain (a int)")
	must(t, s, "CREATE VIEW v AS SELECT id AS number, a + 1 AS next FROM t")
	for _, c := range []struct {
		query, browse, plain string
		rows                 string
	}{
		{"SELECT a, id FROM dbo.t", "a<dbo.t.a>|id<dbo.t.id key>", "a|id", "5 | 1"},
		{"SELECT x.a AS alias FROM t x", "alias<t.a>|id<t.id key hidden>", "alias", "5 | 1"},
		{
			"SELECT a + 1 AS e, b FROM t ORDER BY 1", "e<> computed|b<t.b> computed|id<t.id key hidden>",
			"e computed|b computed", "6 | 6 | 1",
		},
		{
			"SELECT txt, k FROM work..u", "txt<work..u.txt>|k<work..u.k key>|l<work..u.l key hidden>",
			"txt<work..u.txt>|k", "x | 1 | 1",
		},
		{
			"SELECT t.a, u.a FROM t LEFT JOIN u ON u.k = t.id",
			"a<t.a>|a<u.a>|id<t.id key hidden>|k<u.k key hidden>|l<u.l key hidden>", "a|a", "5 | 1 | 1 | 1 | 1",
		},
		{"SELECT * FROM v", "number<work.dbo.t.id key>|next<> computed", "number|next computed", "1 | 6"},
		{"SELECT q.n FROM (SELECT txt AS n FROM u) q", "n<u.txt>", "n<u.txt>", "x"},
		{"SELECT a FROM plain", "a<plain.a>", "a", ""},
		{"SELECT DISTINCT a FROM t", "a<t.a>", "a", "5"},
		{"SELECT a FROM t GROUP BY a", "a<t.a>", "a", "5"},
		{"SELECT COUNT(*) FROM t", "<> computed", " computed", "1"},
		{"SELECT a FROM t UNION SELECT a FROM u", "a<>", "a", "1\n5"},
		{"SELECT TOP 1 a FROM t ORDER BY a", "a<t.a>|id<t.id key hidden>", "a", "5 | 1"},
	} {
		var plain, browse origins
		require.NoError(t, s.Batch(context.Background(), c.query, &plain))
		require.Equal(t, c.plain, strings.Join(plain.list, "|"), c.query)
		require.NoError(t,
			s.Batch(context.Background(), "SET NO_BROWSETABLE ON; "+c.query+"; SET NO_BROWSETABLE OFF", &browse))
		require.Equal(t, c.browse, strings.Join(browse.list, "|"), c.query)
		_, rows, _ := strings.Cut(browse.b.String(), "\n")
		rows, _, _ = strings.Cut(rows, "(")
		require.Equal(t, c.rows, strings.TrimSpace(rows), c.query)
	}
	// Results that do not go to the client have no hidden columns.
	must(t, s, "SET NO_BROWSETABLE ON")
	require.Equal(t, "(1)\n", must(t, s, "SELECT a INTO w FROM t"))
	require.Equal(t, "(1)\n", must(t, s, "INSERT w EXEC ('SELECT a FROM t')"))
	require.Equal(t, "[(no name) int]\n5\n(1)\n", must(t, s, "DECLARE @a int; SELECT @a = a FROM t; SELECT @a"))
	require.Contains(t, must(t, s, "SELECT a FROM t FOR JSON PATH"), `[{"a":5}]`)
	var empty origins
	require.NoError(t, s.Batch(context.Background(), "SET FMTONLY ON SELECT a FROM t SET FMTONLY OFF", &empty))
	require.Equal(t, []string{"a<t.a>", "id<t.id key hidden>"}, empty.list)
}
