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

const shop = `
CREATE TABLE person (id int PRIMARY KEY, name nvarchar(20) NOT NULL, boss int, born datetime2(3), code varchar(10) COLLATE Latin1_General_BIN2,
	INDEX ix_name (name), INDEX ix_boss (boss) WHERE boss IS NOT NULL, INDEX ix_born (born), INDEX ix_code (code));
CREATE TABLE task (id int PRIMARY KEY, state varchar(10) NOT NULL, due datetime2(3), done bit, INDEX ix_due (due) WHERE state IN ('new', 'old'), INDEX ix_done (due) WHERE done = 0);
INSERT INTO person VALUES (1, N'Ann', NULL, '1980-01-01', 'a'), (2, N'Bob', 1, '1990-01-01', 'B'), (3, N'Cid', 1, NULL, 'b'), (4, N'Dan', 2, '2000-01-01', NULL)
GO
CREATE VIEW boss AS SELECT DISTINCT b.id, b.name FROM dbo.person AS b JOIN person AS p ON p.boss = b.id
GO
CREATE VIEW young (id, n) AS SELECT id, name FROM person WHERE born >= '1990-01-01'
GO
CREATE FUNCTION under (@id int, @top int = 10) RETURNS TABLE AS RETURN (SELECT TOP (@top) p.id, p.name FROM person p WHERE p.boss = @id ORDER BY p.id DESC)
GO
CREATE FUNCTION twice (@x int) RETURNS TABLE AS RETURN (SELECT @x * 2 AS y)
`

func TestModules(t *testing.T) {
	b := newFixture(t, shop)
	b.declare("@id", "int", "1")
	checkQueries(t, b, []struct{ sql, want string }{
		{"SELECT * FROM boss ORDER BY id", "1|Ann; 2|Bob"},
		{"SELECT b.name, y.n FROM db.dbo.boss b LEFT JOIN young y ON y.id = b.id ORDER BY 1", "Ann|NULL; Bob|Bob"},
		{"SELECT dbo.boss.name FROM dbo.boss WHERE dbo.boss.id = 2", "Bob"},
		{"SELECT name FROM dbo.under(@id, DEFAULT) ORDER BY name", "Bob; Cid"},
		{"SELECT name FROM dbo.under(1, 1)", "Cid"},
		{"SELECT p.name, u.name FROM person p CROSS APPLY dbo.under(p.id, 1) u ORDER BY p.id", "Ann|Cid; Bob|Dan"},
		{"SELECT p.id, t.y FROM person p CROSS APPLY dbo.twice(p.id) AS t WHERE t.y > 6", "4|8"},
		{
			"SELECT * FROM dbo.under(1)",
			"error 313: An insufficient number of arguments were supplied for the procedure or function dbo.under.",
		},
		{"SELECT * FROM nosuch.person", "error 208: Invalid object name 'nosuch.person'."},
		{"SELECT * FROM nodb.dbo.person", "error 208: Invalid object name 'nodb.dbo.person'."},
		{
			"SELECT dbo.nosuch(1)",
			"error 4121: Cannot find either column \"dbo\" or the user-defined function or aggregate \"dbo.nosuch\", " +
				"or the name is ambiguous.",
		},
		{"UPDATE young SET n = N'Rob' WHERE id = 2; SELECT name FROM person WHERE id = 2", "Rob"},
		{"DELETE FROM young WHERE n = 'Dan'; SELECT COUNT(*) FROM person", "3"},
		{
			"DELETE FROM boss",
			"error 4403: Cannot update the view or function 'boss' because it contains aggregates, or a DISTINCT or " +
				"GROUP BY clause, or PIVOT or UNPIVOT operator.",
		},
		{"SELECT id FROM person WHERE code = 'B'", "2"},
		{
			"SELECT id FROM person WHERE code = name",
			"error 468: Cannot resolve the collation conflict between \"SQL_Latin1_General_CP1_CI_AS\" and " +
				"\"Latin1_General_BIN2\" in the equal to operation.",
		},
		{"SELECT id FROM person WHERE code = 'b' COLLATE SQL_Latin1_General_CP1_CI_AS ORDER BY id", "2; 3"},
	})
}

// TestIndexUse expects that SQLite seeks the indexes that SQL Server would seek.
func TestIndexUse(t *testing.T) {
	b := newFixture(t, shop)
	b.declare("@id", "int", "1")
	b.declare("@small", "smallint", "1")
	b.declare("@name", "nvarchar(4000)", "Bob")
	b.declare("@vname", "varchar(20)", "Bob")
	b.declare("@at", "datetime2(7)", "1990-01-01")
	b.declare("@date", "date", "1990-01-01")
	for _, c := range []struct{ sql, want string }{
		{"SELECT name FROM person WHERE id = @id", "INTEGER PRIMARY KEY"},
		{"SELECT name FROM person WHERE id = @small + 1", "INTEGER PRIMARY KEY"},
		{"SELECT name FROM person WHERE id IN (1, 2)", "INTEGER PRIMARY KEY"},
		{"SELECT name FROM person WHERE id IN (SELECT boss FROM person WHERE id = 4)", "INTEGER PRIMARY KEY"},
		{"SELECT id FROM person WHERE name = @name", "_name"},
		{"SELECT id FROM person WHERE name = CAST(@name AS nvarchar(4000))", "_name"},
		{"SELECT id FROM person WHERE name = @vname", "_name"},
		{"SELECT id FROM person WHERE name = 'Bob'", "_name"},
		{"SELECT id FROM person WHERE name >= N'B' AND name < N'C'", "_name"},
		{"SELECT id FROM person WHERE boss = @id", "_boss"},
		{"SELECT id FROM person WHERE boss = 2", "_boss"},
		{"SELECT id FROM person WHERE born >= @at", "_born"},
		{"SELECT id FROM person WHERE born BETWEEN @date AND DATEADD(day, 1, @at)", "_born"},
		{"SELECT id FROM person WHERE code = @vname", "_code"},
		{"SELECT n FROM young WHERE id = @id", "INTEGER PRIMARY KEY"},
		{"SELECT p.id FROM person p JOIN person b ON b.id = p.boss WHERE p.name = @name", "INTEGER PRIMARY KEY"},
		{"SELECT id FROM task WHERE state IN ('new', 'old') AND due <= @at", "_due"},
		{"SELECT id FROM task WHERE due <= @at AND done = 0", "_done"},
		{"SELECT u.name FROM dbo.under(@id, 1) u", "_boss"},
		{"SELECT p.id, u.name FROM person p CROSS APPLY (SELECT TOP 1 name FROM person c WHERE c.boss = p.id ORDER BY c.id) u", "_boss"},
	} {
		t.Run(c.sql, func(t *testing.T) {
			batch, err := parser.Parse(c.sql, parser.DefaultOptions)
			require.NoError(t, err)
			p, err := New(b).Select(batch.Stmts[0].(*syntax.SelectStmt).Query, nil)
			require.NoError(t, err)
			args, err := p.Args(frame{b}, nil)
			require.NoError(t, err)
			rows, err := b.conn.Query(context.Background(), "EXPLAIN QUERY PLAN "+p.SQL, args)
			require.NoError(t, err, p.SQL)
			plan := ""
			for rows.Next() {
				plan += rows.Row()[3].(string) + "\n"
			}
			require.NoError(t, rows.Err())
			for _, table := range b.db.Tables() {
				for _, ix := range table.Indexes {
					if name := table.SQLIndex(ix); name != "" {
						plan = strings.ReplaceAll(plan, name+" ", strings.TrimPrefix(ix.Name, "ix")+" ")
					}
				}
			}
			found := false
			for line := range strings.Lines(plan) {
				found = found || strings.Contains(line, "SEARCH") && strings.Contains(line, c.want)
			}
			require.True(t, found, "%s\n%s", p.SQL, plan)
		})
	}
}

// TestConstraintsBuildNoLists expects that a constraint has no IN list, which SQLite would build in
// a temporary table for each row.
func TestConstraintsBuildNoLists(t *testing.T) {
	b := newFixture(t, `CREATE TABLE room (id int, state varchar(10), CHECK (state IN ('new', 'old', 'gone') OR id NOT IN (1, 2, 3)));`)
	table := b.db.Tables()[0].SQLName
	rows, err := b.conn.Query(context.Background(), "EXPLAIN INSERT INTO "+table+" SELECT 1, 'new'", nil)
	require.NoError(t, err)
	checked := false
	for rows.Next() {
		op := rows.Row()[1].(string)
		checked = checked || op == "Halt" && rows.Row()[5] != nil
		require.NotEqual(t, "OpenEphemeral", op)
	}
	require.NoError(t, rows.Err())
	require.True(t, checked)
	for values, fails := range map[string]bool{
		"1, 'new'": false, "1, 'GONE '": false, "1, NULL": false, "4, 'other'": false, "NULL, 'other'": false, "1, 'other'": true,
	} {
		_, err := b.conn.Exec(context.Background(), "INSERT INTO "+table+" VALUES ("+values+")", nil)
		require.Equal(t, fails, err != nil, values)
	}
}

// TestFetchOfJoin expects that FETCH of a dynamic cursor reads joined tables in the order of FROM,
// and builds no index and no sorted list of the whole join.
func TestFetchOfJoin(t *testing.T) {
	b := newFixture(t, shop)
	for sql, want := range map[string]string{
		"SELECT p.id FROM task t JOIN person p ON p.id = t.done":             "SEARCH t1; SEARCH t2",
		"SELECT p.id FROM task t, person p WHERE p.name = t.state":           "SEARCH t1; SEARCH t2",
		"SELECT p.id FROM person p JOIN task t ON p.name = t.state":          "SEARCH t1; SCAN t2",
		"SELECT p.id FROM person p LEFT JOIN task t ON p.name = t.state":     "SEARCH t1; SCAN t2",
		"SELECT p.id FROM task t JOIN person p ON p.id = t.id ORDER BY t.id": "SEARCH t1; SEARCH t2",
	} {
		t.Run(sql, func(t *testing.T) {
			batch, err := parser.Parse(sql, parser.DefaultOptions)
			require.NoError(t, err)
			use := plan.CursorUse{Kind: plan.CursorDynamic, Step: plan.CursorNext}
			p, err := New(b).Cursor(batch.Stmts[0].(*syntax.SelectStmt).Query, nil, use)
			require.NoError(t, err)
			require.Equal(t, plan.CursorDynamic, p.Kind)
			rows, err := b.conn.Query(context.Background(), "EXPLAIN QUERY PLAN "+p.SQL, make([]types.Value, len(p.Params)))
			require.NoError(t, err, p.SQL)
			var steps []string
			for rows.Next() {
				steps = append(steps, strings.Join(strings.Fields(rows.Row()[3].(string))[:2], " "))
			}
			require.NoError(t, rows.Err())
			require.Equal(t, want, strings.Join(steps, "; "), p.SQL)
		})
	}
}
