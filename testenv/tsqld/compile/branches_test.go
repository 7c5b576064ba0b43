package compile

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// history has a view of runs and their steps, and a table with a copy of the view's rows.
const history = `
CREATE TABLE run (id int NOT NULL PRIMARY KEY, name nvarchar(20) NOT NULL, started date NULL, INDEX ix_started (started))
CREATE TABLE step (id int NOT NULL PRIMARY KEY, run int NOT NULL, no int NOT NULL, target varchar(10) COLLATE Latin1_General_BIN2 NULL, INDEX ix_run (run))
CREATE TABLE #picked (id int NOT NULL PRIMARY KEY)
INSERT INTO run (id, name, started) VALUES (1, N'One', '2024-01-01'), (2, N'two', NULL), (3, N'Three', '2024-01-03')
INSERT INTO step (id, run, no, target) VALUES (1, 1, 1, 'a'), (2, 1, 2, NULL), (3, 3, 1, 'A')
INSERT INTO #picked (id) VALUES (1), (3)
GO
CREATE VIEW history AS
SELECT r.id AS run, r.name, CAST(NULL AS int) AS no, r.started, N'Run' AS kind, CAST(NULL AS varchar(10)) COLLATE Latin1_General_BIN2 AS target FROM run r
UNION ALL
SELECT r.id, r.name, s.no, r.started, N'Step', s.target FROM step s JOIN run r ON r.id = s.run
UNION ALL
SELECT r.id, r.name, s.no, NULL, NULL, N'none' COLLATE Latin1_General_BIN2 FROM run r LEFT JOIN step s ON s.run = r.id AND s.no = 2
GO
CREATE TABLE #copy (run int, name nvarchar(20), no int, started date, kind nvarchar(4), target varchar(10) COLLATE Latin1_General_BIN2)
INSERT INTO #copy SELECT run, name, no, started, kind, target FROM history
`

// plan returns SQLite's plan of a query or change, followed by its SQL.
func (b *fixture) plan(text string) string {
	batch, err := parser.Parse(text, parser.DefaultOptions)
	require.NoError(b.t, err)
	var st plan.Statement
	switch s := batch.Stmts[0].(type) {
	case *syntax.SelectStmt:
		p, err := New(b).Select(s.Query, nil)
		require.NoError(b.t, err)
		st = p.Statement
	case *syntax.UpdateStmt:
		d, err := New(b).Update(s, false)
		require.NoError(b.t, err)
		st = d.Apply[0]
	case *syntax.DeleteStmt:
		d, err := New(b).Delete(s, false)
		require.NoError(b.t, err)
		st = d.Apply[0]
	}
	rows, err := b.conn.Query(context.Background(), "EXPLAIN QUERY PLAN "+st.SQL, make([]types.Value, len(st.Params)))
	require.NoError(b.t, err, st.SQL)
	plan := ""
	for rows.Next() {
		plan += rows.Row()[3].(string) + "\n"
	}
	require.NoError(b.t, rows.Err())
	return plan + st.SQL
}

// TestPruneBranches compares queries on a view with pruned branches and the same queries on a copy
// of its rows.
func TestPruneBranches(t *testing.T) {
	b := newFixture(t, history)
	b.declare("@one", "int", "1")
	b.declare("@null", "int", "NULL")
	b.declare("@kind", "nvarchar(10)", "step")
	for _, c := range []struct {
		where    string
		branches int // number of branches left
	}{
		{"no IS NULL", 2},
		{"no IS NOT NULL", 2},
		{"NOT (no IS NULL)", 2},
		{"no = 1", 2},
		{"no <> 1", 2},
		{"NOT no = 1", 2},
		{"no IN (1, 2)", 2},
		{"no NOT IN (1, 2)", 2},
		{"no = @null", 2},
		{"no IS NULL AND kind = 'RUN'", 1},
		{"kind = N'run '", 1},
		{"kind <> 'Run'", 1},
		{"NOT (kind = 'Run')", 1},
		{"kind IS NULL", 1},
		{"kind IS NULL OR no = 1", 2},
		{"kind = 'Run' OR kind = 'Step' AND no = 2", 2},
		{"kind = @kind", 2},
		{"kind LIKE 'S%'", 1},
		{"kind IS DISTINCT FROM 'Run'", 2},
		{"kind IS NOT DISTINCT FROM 'Run'", 1},
		{"target = 'A'", 1},
		{"target = 'None'", 1},
		{"target IS NULL", 2},
		{"ISNULL(target, 'x') = 'x'", 2},
		{"started IS NULL", 3},
		{"CASE WHEN no IS NULL THEN 1 ELSE 0 END = 1", 3},
		{"name IS NULL", 1},
		{"run = @one", 3},
		{"1 = 0 AND no IS NULL", 2},
		{"kind = 'no such kind'", 1},
		{"no IS NULL AND EXISTS (SELECT 1 FROM run x WHERE x.id = h.run AND x.id > 1)", 2},
	} {
		t.Run(c.where, func(t *testing.T) {
			b.t = t
			const columns = "SELECT h.run, h.name, h.no, h.started, h.kind, h.target FROM "
			rest := " AS h WHERE " + c.where + " ORDER BY 1, 2, 3, 4, 5, 6"
			want := b.run(columns + "#copy" + rest)
			require.Equal(t, want, b.run(columns+"history"+rest))
			require.Equal(t, want, b.run(columns+"(SELECT v.* FROM history v WHERE v.run > 0)"+rest))
			require.Equal(t, c.branches, strings.Count(b.plan(columns+"history"+rest), " UNION ALL ")+1)
		})
	}
	checkQueries(t, b, []struct{ sql, want string }{
		// An outer join's row without a match has no values; the branches with values must stay.
		{
			"SELECT p.id, h.no FROM #picked p LEFT JOIN history h ON h.run = p.id AND h.kind = 'Step' WHERE h.no IS NULL",
			"",
		},
		{
			"SELECT p.id, h.no FROM #picked p LEFT JOIN history h ON h.run = p.id AND h.no = 2 AND h.kind = 'Step' " +
				"WHERE h.no IS NULL",
			"3|NULL",
		},
		{
			"SELECT p.id, h.target FROM history h JOIN #picked p ON p.id = h.run AND h.kind = 'Step' ORDER BY 1, 2",
			"1|NULL; 1|a; 3|A",
		},
		{"SELECT TOP 1 no FROM (SELECT TOP 3 no FROM history ORDER BY no) x WHERE no = 2", ""},
		{
			"WITH h AS (SELECT run, no FROM history) SELECT x.run, y.no FROM h x JOIN h y ON y.run = x.run WHERE " +
				"x.no IS NULL AND y.no = 1 ORDER BY 1",
			"1|1; 3|1; 3|1",
		},
	})
}

// TestPrunedBranchKeepsIndexOrder expects that the only branch left is read in the order of an
// index.
func TestPrunedBranchKeepsIndexOrder(t *testing.T) {
	b := newFixture(t, history)
	plan := b.plan("SELECT TOP (5) run, name, started FROM history WHERE no IS NULL AND kind = 'Run' ORDER BY started DESC")
	require.NotContains(t, plan, "TEMP B-TREE")
	require.NotContains(t, plan, "step")
	plan = b.plan("SELECT * FROM history WHERE run = 1")
	require.NotRegexp(t, `SCAN t`, plan, "conditions reach every branch")
}

// TestSmallTablesDriveJoins expects that SQLite reads small tables first and finds rows of other
// tables by index.
func TestSmallTablesDriveJoins(t *testing.T) {
	b := newFixture(t, history)
	for _, text := range []string{
		"SELECT r.name FROM #picked p JOIN run r ON r.id = p.id",
		"SELECT r.name FROM run r JOIN #picked p ON r.id = p.id",
		"SELECT r.name FROM run r, #picked p WHERE p.id = r.id",
		"UPDATE r SET r.name = N'x' FROM #picked p JOIN run r ON r.id = p.id",
		"UPDATE s SET s.target = r.name FROM #picked p JOIN step s ON s.run = p.id JOIN run r ON r.id = s.run",
		"UPDATE r SET r.name = x.n FROM (SELECT p.id, COUNT(*) AS n FROM #picked p JOIN step s ON s.run = p.id " +
			"GROUP BY p.id) x JOIN run r ON r.id = x.id",
		"UPDATE r SET r.name = x.n FROM (SELECT p.id, CASE WHEN p.id > 1 THEN 'a' ELSE 'b' END AS n FROM #picked " +
			"p WHERE p.id > 0) x JOIN run r ON r.id = x.id",
		"DELETE s FROM step s JOIN #picked p ON p.id = s.run",
	} {
		t.Run(text, func(t *testing.T) {
			b.t = t
			for line := range strings.Lines(b.plan(text)) {
				if strings.HasPrefix(line, "SCAN ") {
					require.NotRegexp(t, `SCAN (r|s|u|step|run)\b`, line)
				}
			}
		})
	}
	for _, text := range []string{
		"SELECT r.name FROM #picked p JOIN run r ON r.id = p.id ORDER BY r.id",
		"SELECT r.id, r.name FROM run r, #picked p WHERE p.id = r.id AND r.name > 'a' ORDER BY r.id DESC",
	} {
		require.NotContains(t, b.plan(text), "TEMP B-TREE", "the order in which the small table is read is that of the other's key")
	}
	// One small table drives the join; the other is searched by index, not scanned for each row.
	twice := "UPDATE s SET s.target = N'x' FROM #picked f JOIN step s ON s.id = f.id JOIN #picked p ON p.id = s.run"
	require.Equal(t, 1, strings.Count(b.plan(twice), "SCAN "), b.plan(twice))
	checkQueries(t, b, []struct{ sql, want string }{
		{"SELECT r.name FROM #picked p JOIN run r ON r.id = p.id ORDER BY 1", "One; Three"},
		{"SELECT r.id, r.name FROM #picked p JOIN run r ON r.id = p.id ORDER BY r.id DESC", "3|Three; 1|One"},
		{"SELECT DISTINCT r.id FROM #picked p JOIN run r ON r.id = p.id ORDER BY r.id DESC", "3; 1"},
		{
			"SELECT r.id, COUNT(*) FROM #picked p JOIN run r ON r.id = p.id GROUP BY r.id ORDER BY r.id DESC",
			"3|1; 1|1",
		},
		{"SELECT r.id FROM #picked p LEFT JOIN run r ON r.id = p.id AND r.id = 3 ORDER BY r.id", "NULL; 3"},
		{
			"SELECT p.id, r.name FROM #picked p LEFT JOIN run r ON r.id = p.id AND r.id = 3 ORDER BY 1",
			"1|NULL; 3|Three",
		},
		{
			"UPDATE s SET s.target = r.name FROM #picked p JOIN step s ON s.run = p.id JOIN run r ON r.id = s.run; " +
				"SELECT target FROM step ORDER BY id",
			"One; One; Three",
		},
		{"DELETE s FROM step s JOIN #picked p ON p.id = s.run AND p.id > 1; SELECT COUNT(*) FROM step", "2"},
	})
}

// TestApplyTopUsesIndex expects that CROSS APPLY (SELECT TOP ...) finds the rows of each left row
// by index and reads nothing else from the table.
func TestApplyTopUsesIndex(t *testing.T) {
	b := newFixture(
		t,
		"CREATE TABLE dbo.child (id int NOT NULL PRIMARY KEY, parent int NOT NULL, at int NOT NULL, INDEX ix "+
			"(parent, at)); CREATE TABLE #parent (id int NOT NULL PRIMARY KEY)",
	)
	plan := b.plan(
		"SELECT p.id, c.id FROM #parent AS p CROSS APPLY (SELECT TOP (3) k.id, k.at FROM dbo.child AS k WHERE " +
			"k.parent = p.id ORDER BY k.at, k.id) AS c WHERE c.at > 0",
	)
	require.Regexp(
		t,
		`(?s)^SCAN t1.*SEARCH \w+ USING INTEGER PRIMARY KEY \(rowid=\?\).*SEARCH \w+ USING COVERING INDEX \w+ \(c2=\?\)`,
		plan,
	)
	require.NotContains(t, plan, "TEMP B-TREE")
	require.NotContains(t, plan, "rowset")
}
