package exec

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// loads returns a function that executes a bulk load and returns its output.
func loads(t *testing.T, s *Session) func(statement string, cols []types.Column, rows ...[]types.Value) string {
	return func(statement string, cols []types.Column, rows ...[]types.Value) string {
		t.Helper()
		var r recorder
		require.NoError(t,
			s.Bulk(context.Background(), BulkLoad{Statement: statement, Columns: cols, Next: rowIterator(rows)}, &r))
		return r.b.String()
	}
}

// intCols returns columns of type int.
func intCols(names ...string) []types.Column {
	cols := make([]types.Column, len(names))
	for i, n := range names {
		cols[i] = types.Column{Name: n, Type: types.IntType, Nullable: true}
	}
	return cols
}

func TestBulk(t *testing.T) {
	s := workSession(t, newInstance(t))
	load := loads(t, s)
	must(t, s, "CREATE TABLE t (id int IDENTITY PRIMARY KEY, name nvarchar(5), n int NOT NULL)")
	cols := []types.Column{{Name: "name", Type: types.NVarCharOf(5), Nullable: true}, {Name: "n", Type: types.IntType}}
	const statement = "INSERT BULK t (name nvarchar(5), n int)"
	require.Equal(t, "(2)\n", load(statement, cols, []types.Value{"a", int64(1)}, []types.Value{"b", int64(2)}))
	require.Contains(t, load(statement, cols, []types.Value{"c", int64(3)}, []types.Value{"d", nil}), "Msg 515")
	require.Equal(t, "[id int not null, name nvarchar(5), n int not null]\n1 | a | 1\n2 | b | 2\n(2)\n",
		must(t, s, "SELECT * FROM t ORDER BY id"))
}

// TestBulkKeepNulls: without KEEP_NULLS a NULL becomes the default of its column (documentation:
// "Keep nulls or default values during bulk import").
func TestBulkKeepNulls(t *testing.T) {
	s := workSession(t, newInstance(t))
	load := loads(t, s)
	must(t, s,
		"CREATE SEQUENCE q AS int; CREATE TABLE t (id int PRIMARY KEY DEFAULT 7, a int DEFAULT 5, b int NOT NULL DEFAULT NEXT VALUE FOR q, c int)")
	cols := intCols("id", "a", "b", "c")
	require.Equal(t, "(2)\n", load("INSERT BULK t (id int, a int, b int, c int) WITH (TABLOCK)", cols,
		[]types.Value{nil, nil, nil, nil}, []types.Value{int64(8), int64(1), int64(2), int64(3)}))
	require.Equal(t, "(1)\n", load("INSERT BULK t (id int, a int, b int, c int) WITH (KEEP_NULLS, ROWS_PER_BATCH = 10, KILOBYTES_PER_BATCH = 5, ORDER (id ASC))", cols,
		[]types.Value{int64(9), nil, int64(4), nil}))
	require.Contains(t,
		load("INSERT BULK t (id int, a int, b int, c int) WITH (KEEP_NULLS)", cols,
			[]types.Value{int64(10), nil, nil, nil}),
		"Msg 515")
	require.Equal(t,
		"[id int not null, a int, b int not null, c int]\n7 | 5 | -2147483648 | NULL\n8 | 1 | 2 | 3\n9 | NULL | 4 | NULL\n(3)\n",
		must(t, s, "SELECT * FROM t ORDER BY id"))
}

// TestBulkWithoutConstraints: without CHECK_CONSTRAINTS the constraints are not checked, and are
// not trusted afterwards (documentation of BULK INSERT).
func TestBulkWithoutConstraints(t *testing.T) {
	s := workSession(t, newInstance(t))
	load := loads(t, s)
	must(t, s, `CREATE TABLE parent (id int PRIMARY KEY); INSERT parent VALUES (1);
CREATE TABLE t (id int PRIMARY KEY, p int CONSTRAINT fk REFERENCES parent, n int CONSTRAINT ck CHECK (n > 0))`)
	cols := intCols("id", "p", "n")
	const trusted = "SELECT is_not_trusted a FROM sys.foreign_keys WHERE name = 'fk' UNION ALL SELECT is_not_trusted FROM sys.check_constraints WHERE name = 'ck'"
	require.Contains(t,
		load("INSERT BULK t (id int, p int, n int) WITH (CHECK_CONSTRAINTS)", cols,
			[]types.Value{int64(1), int64(1), int64(0)}),
		"Msg 547")
	require.Contains(t,
		load("INSERT BULK t (id int, p int, n int) WITH (CHECK_CONSTRAINTS)", cols,
			[]types.Value{int64(1), int64(2), int64(1)}),
		"Msg 547")
	require.Equal(t, "(1)\n",
		load("INSERT BULK t (id int, p int, n int) WITH (CHECK_CONSTRAINTS)", cols,
			[]types.Value{int64(1), int64(1), int64(1)}))
	require.Equal(t, "[a bit not null]\n0\n0\n(2)\n", must(t, s, trusted))
	must(t, s, "BEGIN TRAN; INSERT parent VALUES (3)")
	require.Equal(t, "(1)\n",
		load("INSERT BULK t (id int, p int, n int)", cols, []types.Value{int64(2), int64(2), int64(0)}))
	require.Contains(t, load("INSERT BULK t (id int, p int, n int)", cols, []types.Value{int64(2), int64(2), int64(0)}),
		"Msg 2627")
	require.Equal(t, "[a bit not null]\n1\n1\n(2)\n", must(t, s, "COMMIT; "+trusted))
	require.Contains(t, batchOutput(t, s, "INSERT t VALUES (3, 9, 1)"), "Msg 547")
	require.Contains(t, batchOutput(t, s, "INSERT t VALUES (3, 1, 0)"), "Msg 547")
	must(t, s, "UPDATE t SET p = 3 WHERE id = 2; INSERT t VALUES (4, 3, 1)")
	require.Equal(t, "[id int not null, p int, n int]\n1 | 1 | 1\n2 | 3 | 0\n4 | 3 | 1\n(3)\n",
		must(t, s, "SELECT * FROM t ORDER BY id"))
	must(t, s, "CREATE TABLE #t (id int, p int, n int CHECK (n > 0))")
	require.Equal(t, "(1)\n",
		load("INSERT BULK #t (id int, p int, n int)", cols, []types.Value{int64(2), int64(2), int64(0)}))
}

// TestBulkTriggers: without FIRE_TRIGGERS no trigger fires, so that a table with triggers can be
// loaded.
func TestBulkTriggers(t *testing.T) {
	s := workSession(t, newInstance(t))
	load := loads(t, s)
	must(t, s, "CREATE TABLE t (a int)")
	must(t, s, "CREATE TRIGGER tr ON t AFTER INSERT AS PRINT CONCAT('fired for ', (SELECT SUM(a) FROM inserted))")
	require.Equal(t, "(1)\n", load("INSERT BULK t (a int)", intCols("a"), []types.Value{int64(1)}))
	fire := func() string {
		return load("INSERT BULK t (a int) WITH (FIRE_TRIGGERS)", intCols("a"), []types.Value{int64(1)}, []types.Value{int64(2)})
	}
	require.Equal(t, "print: fired for 3\n(2)\n", fire())
	must(t, s, "CREATE OR ALTER TRIGGER tr ON t INSTEAD OF INSERT AS PRINT CONCAT('instead of ', (SELECT SUM(a) FROM inserted))")
	require.Equal(t, "print: instead of 3\n(2)\n", fire())
	require.Equal(t, "(1)\n", load("INSERT BULK t (a int)", intCols("a"), []types.Value{int64(1)}))
	require.Equal(t, "[n int]\n4\n(1)\n", must(t, s, "SELECT COUNT(*) AS n FROM t"))
}

func TestBulkIdentity(t *testing.T) {
	s := workSession(t, newInstance(t))
	load := loads(t, s)
	must(t, s, "CREATE TABLE t (id int IDENTITY, a int); CREATE TABLE #t (id int IDENTITY, a int)")
	for _, name := range []string{"t", "#t"} {
		require.Equal(t, "(1)\n",
			load("INSERT BULK "+name+" (id int, a int)", intCols("id", "a"), []types.Value{int64(7), int64(1)}))
		require.Equal(t, "(1)\n", load("INSERT BULK "+name+" (a int)", intCols("a"), []types.Value{int64(2)}))
		require.Equal(t, "[id int not null, a int]\n7 | 1\n8 | 2\n(2)\n",
			must(t, s, "SELECT * FROM "+name+" ORDER BY id"))
	}
}

func TestBulkOptions(t *testing.T) {
	s := workSession(t, newInstance(t))
	load := loads(t, s)
	must(t, s, "CREATE TABLE t (a int)")
	const encrypted = "INSERT BULK t (a int) WITH (ALLOW_ENCRYPTED_VALUE_MODIFICATIONS)"
	require.Contains(t, batchOutput(t, s, encrypted), "Msg 40517")
	require.Contains(t, load(encrypted, intCols("a")), "Msg 40517")
	require.Contains(t, batchOutput(t, s, "INSERT BULK nope (a int)"), "Msg 208")
}

// TestBulkPermissions: a load without constraints or triggers needs ALTER (documentation of bcp,
// "Permissions").
func TestBulkPermissions(t *testing.T) {
	s := workSession(t, newInstance(t))
	load := loads(t, s)
	must(t, s,
		"CREATE TABLE t (a int CHECK (a > 0)); CREATE USER u WITHOUT LOGIN; GRANT INSERT ON t TO u; EXECUTE AS USER = 'u'")
	require.Contains(t, load("INSERT BULK t (a int)", intCols("a"), []types.Value{int64(1)}), "Msg 1088")
	require.Equal(t, "(1)\n",
		load("INSERT BULK t (a int) WITH (CHECK_CONSTRAINTS)", intCols("a"), []types.Value{int64(1)}))
}

// TestBulkXML: SqlBulkCopy sends xml as nvarchar(max) with a byte order mark, which is not part of
// the document.
func TestBulkXML(t *testing.T) {
	s := workSession(t, newInstance(t))
	must(t, s, "CREATE TABLE t (x xml)")
	cols := []types.Column{{Name: "x", Type: types.NVarCharMax, Nullable: true}}
	require.Equal(t, "(1)\n", loads(t, s)("INSERT BULK t (x xml)", cols, []types.Value{"\uFEFF<a/>"}))
	require.Equal(t, "[(no name) bigint]\n4\n(1)\n", must(t, s, "SELECT LEN(CAST(x AS nvarchar(max))) FROM t"))
}

// rowIterator returns a function that returns the rows one by one, then io.EOF.
func rowIterator(rows [][]types.Value) func() ([]types.Value, error) {
	return func() ([]types.Value, error) {
		if len(rows) == 0 {
			return nil, io.EOF
		}
		row := rows[0]
		rows = rows[1:]
		return row, nil
	}
}
