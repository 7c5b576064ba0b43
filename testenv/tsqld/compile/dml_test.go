package compile

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/dml"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// change is a script with its expected output: rows of queries, and errors.
type change struct{ script, want string }

// checkChanges runs each script on new tables and compares its output.
func checkChanges(t *testing.T, schema string, cases []change) {
	for _, c := range cases {
		t.Run(c.script, func(t *testing.T) {
			b := newFixture(t, schema)
			b.declare("@a", "int", "1")
			b.declare("@s", "nvarchar(50)", "")
			require.Equal(t, c.want, b.run(c.script))
		})
	}
}

const queue = `
CREATE TABLE #q (id int IDENTITY PRIMARY KEY, name nvarchar(5) NOT NULL, state varchar(10) NOT NULL DEFAULT 'new', n int NULL DEFAULT (1 + 1),
	twice AS n * 2, ver rowversion, CHECK (n < 100));
INSERT INTO #q (name) VALUES (N'a'), (N'b'), (N'c');
CREATE TABLE #log (what varchar(20) NOT NULL DEFAULT 'x', id int, old int, new int);
CREATE TABLE #src (id int, name nvarchar(5), n int);
INSERT INTO #src VALUES (1, N'A', 10), (2, NULL, 20), (2, N'B2', 21), (9, N'z', 90);
`

func TestInsert(t *testing.T) {
	checkChanges(t, queue, []change{
		{"SELECT id, name, state, n, twice, ver FROM #q WHERE id = 2", "2|b|new|2|4|0x0000000000000007\n"},
		{
			"INSERT INTO #q (name, n) SELECT name, n FROM #src WHERE name IS NOT NULL ORDER BY n DESC; SELECT id, " +
				"name, n FROM #q WHERE id > 3 ORDER BY id",
			"4|z|90\n5|B2|21\n6|A|10\n",
		},
		{
			"INSERT INTO #q (name) OUTPUT inserted.id, inserted.name, inserted.twice, INSERTED.state VALUES (N'x'), (N'y')",
			"4|x|4|new\n5|y|4|new\n",
		},
		{
			"INSERT INTO #q (name, n) OUTPUT inserted.id, inserted.n INTO #log (id, new) SELECT name, n FROM #src " +
				"WHERE id = 1; SELECT * FROM #log",
			"x|4|NULL|10\n",
		},
		{
			"INSERT INTO #q (name) VALUES (N'toolong')",
			"error 2628: String or binary data would be truncated in table 'tempdb.dbo.#q', column 'name'. Truncated " +
				"value: 'toolo'.\n",
		},
		{
			"INSERT INTO #q (id, name) VALUES (1, N'x')",
			"error 544: Cannot insert explicit value for identity column in table '#q' when IDENTITY_INSERT is set to OFF.\n",
		},
		{
			"INSERT INTO #q (name, name) VALUES (1, 2)",
			"error 264: The column name 'name' is specified more than once in the SET clause or column list of an " +
				"INSERT. A column cannot be assigned more than one value in the same clause. Modify the clause to make " +
				"sure that a column is updated only once. If this statement updates or inserts columns into a view, " +
				"column aliasing can conceal the duplication in your code.\n",
		},
		{
			"INSERT INTO #q (name, n) VALUES (1)",
			"error 109: There are more columns in the INSERT statement than values specified in the VALUES clause. " +
				"The number of values in the VALUES clause must match the number of columns specified in the INSERT " +
				"statement.\n",
		},
		{
			"INSERT INTO #q (name) VALUES (1, 2)",
			"error 110: There are fewer columns in the INSERT statement than values specified in the VALUES clause. " +
				"The number of values in the VALUES clause must match the number of columns specified in the INSERT " +
				"statement.\n",
		},
		{
			"INSERT INTO #log VALUES (1)",
			"error 213: Column name or number of supplied values does not match table definition.\n",
		},
		{
			"INSERT INTO #q (name) SELECT 1, 2",
			"error 121: The select list for the INSERT statement contains more items than the insert list. The " +
				"number of SELECT values must match the number of INSERT columns.\n",
		},
		{"INSERT INTO #q (nosuch) VALUES (1)", "error 207: Invalid column name 'nosuch'.\n"},
		{
			"INSERT INTO #q (twice, name) VALUES (1, 'x')",
			"error 271: The column \"twice\" cannot be modified because it is either a computed column or is the " +
				"result of a UNION operator.\n",
		},
		{
			"INSERT INTO #log DEFAULT VALUES; INSERT INTO #log (what, id) VALUES (DEFAULT, @a + 1); SELECT what, id FROM #log",
			"x|NULL\nx|2\n",
		},
		{
			"INSERT INTO #src (id) VALUES ('12'), (3.7), (NULL); SELECT id FROM #src WHERE name IS NULL AND n IS NULL",
			"12\n3\nNULL\n",
		},
		{
			"INSERT TOP (1) INTO #src (id) SELECT id FROM #q ORDER BY id DESC; SELECT id FROM #src WHERE n IS NULL",
			"3\n",
		},
	})
}

func TestUpdate(t *testing.T) {
	checkChanges(t, queue, []change{
		{
			"UPDATE #q SET n = n + 1, name = UPPER(name) WHERE id > 1; SELECT id, name, n, twice FROM #q",
			"1|a|2|4\n2|B|3|6\n3|C|3|6\n",
		},
		{
			"UPDATE q SET n = s.n FROM #q q JOIN #src s ON s.id = q.id WHERE s.name IS NOT NULL; SELECT id, n FROM #q",
			"1|10\n2|21\n3|2\n",
		},
		{"UPDATE #q SET n += 5 FROM #src s WHERE s.id = #q.id AND s.n = 10; SELECT id, n FROM #q", "1|7\n2|2\n3|2\n"},
		{
			"UPDATE TOP (1) #q SET state = 'run' OUTPUT inserted.id, deleted.state, inserted.state, inserted.n WHERE " +
				"state = 'new'",
			"1|new|run|2\n",
		},
		{
			"WITH c AS (SELECT TOP (2) * FROM #q WHERE state = 'new' ORDER BY id DESC) UPDATE c SET state = 'run' " +
				"OUTPUT inserted.id; SELECT id, state FROM #q",
			"3\n2\n1|new\n2|run\n3|run\n",
		},
		{
			"UPDATE q SET n = 50 OUTPUT deleted.n, inserted.n, s.name INTO #log (old, new, what) FROM #q q JOIN #src " +
				"s ON s.id = q.id AND s.n < 20; SELECT old, new, what FROM #log",
			"2|50|A\n",
		},
		{"UPDATE #q SET @a = n = 33 WHERE id = 2; SELECT @a, n FROM #q WHERE id = 2", "33|33\n"},
		{"UPDATE #q SET @s = @s + name, n = 4; SELECT @s", "abc\n"},
		{"UPDATE #q SET id = 5", "error 8102: Cannot update identity column 'id'.\n"},
		{
			"UPDATE #q SET n = 1, n = 2",
			"error 264: The column name 'n' is specified more than once in the SET clause or column list of an " +
				"INSERT. A column cannot be assigned more than one value in the same clause. Modify the clause to make " +
				"sure that a column is updated only once. If this statement updates or inserts columns into a view, " +
				"column aliasing can conceal the duplication in your code.\n",
		},
		{
			"UPDATE #q SET n = COUNT(*)",
			"error 157: An aggregate may not appear in the set list of an UPDATE statement.\n",
		},
		{
			"UPDATE #q SET state = DEFAULT, n = (SELECT MAX(n) FROM #src) WHERE id = 1; SELECT state, n FROM #q WHERE id = 1",
			"new|90\n",
		},
		{"UPDATE #q SET n = NULL WHERE 1 = 0; SELECT COUNT(*) FROM #q WHERE n IS NULL", "0\n"},
		{
			"CREATE TABLE #k (id int PRIMARY KEY, pos int UNIQUE, s varchar(5) UNIQUE); INSERT INTO #k VALUES (1, 1, " +
				"'a'), (2, 2, 'b'), (3, 3, 'c'); UPDATE #k SET id = id + 1, pos = 4 - pos, s = CASE s WHEN 'a' THEN 'b' " +
				"WHEN 'b' THEN 'a' ELSE s END WHERE pos > 0; SELECT * FROM #k",
			"2|3|b\n3|2|a\n4|1|c\n",
		},
		{"UPDATE #src SET n = n / 0 WHERE 1 = 0", ""},
		{
			"UPDATE x SET n = 7 FROM (SELECT id, n FROM #q WHERE id < 3) AS x WHERE x.id = 2; SELECT id, n FROM #q",
			"1|2\n2|7\n3|2\n",
		},
	})
}

func TestDelete(t *testing.T) {
	checkChanges(t, queue, []change{
		{"DELETE FROM #q WHERE id = 2; SELECT id FROM #q", "1\n3\n"},
		{"DELETE q FROM #q q WHERE EXISTS (SELECT * FROM #src s WHERE s.id = q.id); SELECT id FROM #q", "3\n"},
		{"DELETE #q OUTPUT deleted.id, deleted.twice FROM #src s WHERE s.id = #q.id", "1|4\n2|4\n"},
		{"DELETE TOP (2) FROM #q; SELECT COUNT(*) FROM #q", "1\n"},
		{
			"WITH c AS (SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY n) AS r FROM #src) DELETE FROM c WHERE " +
				"r > 1; SELECT id, n FROM #src",
			"1|10\n2|20\n9|90\n",
		},
		{"DELETE FROM #q OUTPUT deleted.id INTO #log (id); SELECT id FROM #log", "1\n2\n3\n"},
	})
}

func TestMerge(t *testing.T) {
	checkChanges(t, queue, []change{
		{`MERGE #q AS t USING (SELECT id, MAX(n) AS n FROM #src GROUP BY id) AS s ON t.id = s.id
			WHEN MATCHED AND s.n > 20 THEN UPDATE SET n = s.n
			WHEN NOT MATCHED THEN INSERT (name, n) VALUES (N'new', s.n)
			WHEN NOT MATCHED BY SOURCE THEN DELETE
			OUTPUT $action, inserted.id, deleted.id, inserted.n, deleted.n, s.n;
			SELECT id, name, n FROM #q ORDER BY id`,
			"INSERT|4|NULL|90|NULL|90\nUPDATE|2|2|21|2|21\nDELETE|NULL|3|NULL|2|NULL\n1|a|2\n2|b|21\n4|new|90\n"},
		{
			"MERGE INTO #q USING #src s ON #q.id = s.id WHEN MATCHED THEN UPDATE SET n = s.n;",
			"error 8672: The MERGE statement attempted to UPDATE or DELETE the same row more than once. This happens " +
				"when a target row matches more than one source row. A MERGE statement cannot UPDATE/DELETE the same row " +
				"of the target table multiple times. Refine the ON clause to ensure a target row matches at most one " +
				"source row, or use the GROUP BY clause to group the source rows.\n",
		},
		{
			"MERGE #q WITH (HOLDLOCK) AS t USING (VALUES (1, N'one'), (7, N'seven')) AS s (id, name) ON s.id = t.id " +
				"WHEN NOT MATCHED THEN INSERT (name) VALUES (s.name) WHEN MATCHED THEN UPDATE SET name = s.name; SELECT " +
				"id, name FROM #q",
			"1|one\n2|b\n3|c\n4|seven\n",
		},
	})
}

func TestInsertRows(t *testing.T) {
	b := newFixture(t, queue)
	d, err := New(
		b,
	).InsertRows(
		parseTarget("#src"),
		dml.Rows{
			Names:   []string{"n", "name"},
			Columns: []types.Column{{Type: types.VarCharOf(5)}, {Type: types.NVarCharOf(3)}},
		},
	)
	require.NoError(t, err)
	_, err = b.apply(d, []types.Value{"77", "abc"})
	require.NoError(t, err)
	require.Equal(t, "NULL|abc|77\n", b.run("SELECT * FROM #src WHERE n = 77"))
}

func TestDuplicateKey(t *testing.T) {
	b := newFixture(t, "CREATE TABLE #k (id int PRIMARY KEY, pos int UNIQUE); INSERT INTO #k VALUES (1, 1), (2, 2)")
	batch, err := parser.Parse("UPDATE #k SET pos = pos / pos", parser.DefaultOptions)
	require.NoError(t, err)
	_, err = b.exec(batch.Stmts[0])
	var ce *store.ConstraintError
	require.ErrorAs(t, err, &ce)
	require.Equal(t, store.Unique, ce.Kind)
}

// TestOutputIntoFirst checks which statements fill the target of OUTPUT INTO before the change, and
// which use a spool.
func TestOutputIntoFirst(t *testing.T) {
	b := newFixture(t, `CREATE TABLE #t (id int PRIMARY KEY, grp int, code varchar(5), n int, CHECK (n < 100));
CREATE TABLE #k (id int PRIMARY KEY, a int, b int, code varchar(5) UNIQUE, f int, INDEX ab UNIQUE (a, b), INDEX f UNIQUE (f) WHERE f > 0);
CREATE TABLE #log (id int, n int);
CREATE TABLE #count (no int IDENTITY, id int);
CREATE TABLE dbo.log (id int);`)
	for _, c := range []struct {
		sql   string
		first bool
	}{
		{"DELETE FROM #t OUTPUT deleted.id INTO #log (id)", true},
		{"UPDATE #t SET n += 1 OUTPUT inserted.n INTO #log (n) WHERE grp = 1", true},
		{"UPDATE t SET n = k.a OUTPUT k.b INTO #log (n) FROM #t t JOIN #k k ON k.id = t.grp", true},
		{"UPDATE t SET n = k.a OUTPUT k.b INTO #log (n) FROM #t t JOIN #k k ON k.a = t.grp AND k.b = 3", true},
		{"UPDATE t SET n = k.a OUTPUT k.b INTO #log (n) FROM #t t JOIN #k l ON l.id = t.n JOIN #k k ON k.a = l.b AND t.id = k.b", true},
		{"DELETE t OUTPUT k.b INTO #log (n) FROM #t t, #k k WHERE k.id = t.grp + 1", true},
		{"UPDATE t SET n = k.a OUTPUT k.b INTO #log (n) FROM #t t JOIN #k k ON k.a = t.grp", false},
		{"UPDATE t SET n = k.a OUTPUT k.b INTO #log (n) FROM #t t JOIN #k k ON k.f = t.grp", false},
		{"UPDATE t SET n = k.a OUTPUT k.b INTO #log (n) FROM #t t JOIN #k k ON k.id > t.grp", false},
		{"UPDATE t SET n = k.a OUTPUT k.b INTO #log (n) FROM #t t JOIN #k k ON k.code = t.code", false},
		{"UPDATE t SET n = k.a OUTPUT k.b INTO #log (n) FROM #t t JOIN #k k ON k.id = t.grp OR k.id = 1", false},
		{"UPDATE t SET n = k.a OUTPUT k.b INTO #log (n) FROM #t t LEFT JOIN #k k ON k.id = t.grp", false},
		{"UPDATE t SET n = l.n OUTPUT l.n INTO #log (n) FROM #t t JOIN (SELECT TOP 1 n FROM #log) l ON l.n = t.id", false},
		{"UPDATE #t SET n = 1 OUTPUT inserted.id INTO #log (id) OUTPUT inserted.id", false},
		{"UPDATE TOP (1) #t SET n = 1 OUTPUT inserted.id INTO #log (id)", false},
		{"UPDATE #t SET n = (SELECT MAX(a) FROM #k) OUTPUT inserted.n INTO #log (n)", false},
		{"UPDATE #t SET n = CHECKSUM(NEWID()) % 5 OUTPUT inserted.n INTO #log (n)", false},
		{"UPDATE #k SET id = id + 1 OUTPUT inserted.id INTO #log (id)", false},
		{"DELETE FROM #t OUTPUT deleted.id INTO #log (id) WHERE id IN (SELECT id FROM #log)", false},
		{"DELETE FROM #t OUTPUT deleted.id INTO #count (id)", false},
		{"DELETE FROM #t OUTPUT deleted.id INTO dbo.log (id)", false},
		{"DELETE FROM #log OUTPUT deleted.id INTO #log (id)", false},
	} {
		batch, err := parser.Parse(c.sql, parser.DefaultOptions)
		require.NoError(t, err)
		var d *plan.DML
		switch s := batch.Stmts[0].(type) {
		case *syntax.UpdateStmt:
			d, err = New(b).Update(s, false)
		case *syntax.DeleteStmt:
			d, err = New(b).Delete(s, false)
		}
		require.NoError(t, err, c.sql)
		require.Equal(t, c.first, d.IntoFirst, c.sql)
		require.Equal(t, c.first, d.Spool == nil, c.sql)
	}
}

// TestInsertSelectIdentityOrder expects that INSERT ... SELECT numbers the rows in the order of the
// query, whatever order SQLite reads them in.
func TestInsertSelectIdentityOrder(t *testing.T) {
	const tables = `
CREATE TABLE #v (id int PRIMARY KEY, grp int, name nvarchar(5));
INSERT INTO #v VALUES (1, 2, N'd'), (2, 1, N'c'), (3, 2, N'b'), (4, 1, N'a');
CREATE TABLE dbo.big (id int NOT NULL PRIMARY KEY, grp int NOT NULL, INDEX ix (grp));
INSERT INTO dbo.big VALUES (4, 40), (3, 30), (2, 20), (1, 10);
CREATE TABLE #t (no int IDENTITY PRIMARY KEY, x nvarchar(5));
CREATE TABLE #d (no decimal(20, 0) IDENTITY, x nvarchar(5));
`
	const all = "; SELECT no, x FROM #t ORDER BY no"
	checkChanges(t, tables, []change{
		{"INSERT INTO #t SELECT name FROM #v ORDER BY name" + all, "1|a\n2|b\n3|c\n4|d\n"},
		{"INSERT INTO #t SELECT name FROM #v ORDER BY grp DESC, name" + all, "1|b\n2|d\n3|a\n4|c\n"},
		{"INSERT INTO #t SELECT name FROM #v ORDER BY @a * id DESC" + all, "1|a\n2|b\n3|c\n4|d\n"},
		{"INSERT INTO #t SELECT TOP (3) name FROM #v ORDER BY name DESC" + all, "1|d\n2|c\n3|b\n"},
		{
			"INSERT INTO #t SELECT TOP (1) WITH TIES name FROM #v ORDER BY grp" + all[:len(all)-len(" ORDER BY no")] + " ORDER BY x",
			"2|a\n1|c\n",
		},
		{"INSERT INTO #t SELECT TOP (50) PERCENT name FROM #v ORDER BY name DESC" + all, "1|d\n2|c\n"},
		{"INSERT INTO #t SELECT name FROM #v ORDER BY name OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY" + all, "1|b\n2|c\n"},
		{"INSERT INTO #t SELECT name FROM #v ORDER BY name OFFSET 2 ROWS" + all, "1|c\n2|d\n"},
		{"INSERT INTO #t SELECT DISTINCT CAST(grp AS nvarchar(5)) AS g FROM #v ORDER BY g DESC" + all, "1|2\n2|1\n"},
		{"INSERT INTO #t SELECT MAX(name) FROM #v GROUP BY grp ORDER BY grp DESC" + all, "1|d\n2|c\n"},
		{
			"INSERT INTO #t SELECT name FROM #v WHERE id > 2 UNION ALL SELECT name FROM #v WHERE id = 1 ORDER BY name DESC" + all,
			"1|d\n2|b\n3|a\n",
		},
		{
			"INSERT INTO #t SELECT CAST(ROW_NUMBER() OVER (ORDER BY name) AS nvarchar(5)) FROM #v ORDER BY id" + all,
			"1|4\n2|3\n3|2\n4|1\n",
		},
		{
			"INSERT INTO #t SELECT CAST(b.grp AS nvarchar(5)) FROM #v v JOIN dbo.big b ON b.id = v.id ORDER BY b.id DESC" + all,
			"1|40\n2|30\n3|20\n4|10\n",
		},
		{
			"INSERT INTO #t SELECT CAST(b.grp AS nvarchar(5)) FROM #v v JOIN dbo.big b ON b.id = v.id ORDER BY b.grp" + all,
			"1|10\n2|20\n3|30\n4|40\n",
		},
		{
			"INSERT INTO #t SELECT x FROM #t; INSERT INTO #t VALUES (N'q'); INSERT INTO #t SELECT x FROM #t; INSERT INTO #t SELECT x FROM #t" + all,
			"1|q\n2|q\n3|q\n4|q\n",
		},
		{"INSERT INTO #d SELECT name FROM #v ORDER BY name; SELECT no, x FROM #d ORDER BY no", "1|a\n2|b\n3|c\n4|d\n"},
		{"INSERT TOP (2) INTO #t SELECT name FROM #v WHERE name < 'c'; SELECT no FROM #t ORDER BY no", "1\n2\n"},
	})
}
