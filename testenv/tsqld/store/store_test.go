package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sum is an accumulator for tests.
type sum struct{ n int64 }

func (s *sum) Step(args []types.Value) error {
	v, ok := args[0].(int64)
	if !ok {
		return mserr.ArithmeticOverflow("expression", "int")
	}
	s.n += v
	return nil
}
func (s *sum) Value() (types.Value, error)      { return s.n, nil }
func (s *sum) Inverse(args []types.Value) error { s.n -= args[0].(int64); return nil }

// functions returns the functions of the tests.
func functions() *Functions {
	return &Functions{
		Scalar: func(key string) (Func, error) {
			switch key {
			case "upper":
				return func(_ *meter.Meter, a []types.Value) (types.Value, error) { return strings.ToUpper(a[0].(string)), nil }, nil
			case "fail":
				return func(*meter.Meter, []types.Value) (types.Value, error) { return nil, mserr.DivideByZero() }, nil
			case "same":
				return func(_ *meter.Meter, a []types.Value) (types.Value, error) { return a[0], nil }, nil
			case "slow":
				return func(_ *meter.Meter, a []types.Value) (types.Value, error) {
					time.Sleep(time.Millisecond)
					return a[0], nil
				}, nil
			case "slower":
				return func(_ *meter.Meter, a []types.Value) (types.Value, error) { time.Sleep(time.Second); return a[0], nil }, nil
			}
			return nil, unknownKey(key)
		},
		Aggregate: func(key string) (func() Accumulator, error) {
			if key != "sum" {
				return nil, unknownKey(key)
			}
			return func() Accumulator { return &sum{} }, nil
		},
	}
}

// open returns a temporary store that is closed with the test.
func open(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.Context(), Config{Functions: functions()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// acquire returns a connection with attached databases, which it creates if they are missing.
func acquire(t *testing.T, s *Store, ids ...int) *Conn {
	t.Helper()
	for _, id := range ids {
		if err := s.Create(id); err != nil {
			require.ErrorIs(t, err, os.ErrExist)
		}
	}
	c, err := s.Acquire(t.Context())
	require.NoError(t, err)
	require.NoError(t, c.Databases.Attach(t.Context(), ids...))
	return c
}

// run executes SQL that must succeed.
func run(t *testing.T, c *Conn, sql string, args ...types.Value) int64 {
	t.Helper()
	n, err := c.Exec(t.Context(), sql, args)
	require.NoError(t, err, sql)
	return n
}

// value returns the only column of the first row.
func value(t *testing.T, c *Conn, sql string, args ...types.Value) types.Value {
	t.Helper()
	row, err := c.QueryRow(t.Context(), sql, args)
	require.NoError(t, err, sql)
	require.NotEmpty(t, row, sql)
	return row[0]
}

func TestValuesRoundTrip(t *testing.T) {
	s := open(t)
	c := acquire(t, s, 5)
	defer s.Release(c)
	for _, v := range []types.Value{nil, int64(-7), 1.5, "", "naïve\x00text", []byte{0, 1, 2}, []byte{}, strings.Repeat("x", 1<<20)} {
		require.Equal(t, v, value(t, c, "SELECT ?1", v))
		require.Equal(t, v, value(t, c, "SELECT fn('same', ?1)", v))
	}
}

func TestFunctionErrorsComeOutIntact(t *testing.T) {
	s := open(t)
	c := acquire(t, s, 5)
	defer s.Release(c)
	run(t, c, "CREATE TABLE d5.t(a INTEGER CHECK (fn('same', a) > 0), b TEXT GENERATED ALWAYS AS (fn('upper', 'x' || a)) STORED) STRICT")
	require.EqualValues(t, 1, run(t, c, "INSERT INTO d5.t(a) VALUES (1)"))
	require.Equal(t, "X1", value(t, c, "SELECT b FROM d5.t"))

	for _, sql := range []string{
		"SELECT fn('fail')", "SELECT fnv('fail', a) FROM d5.t", "SELECT agg('sum', b) FROM d5.t",
		"UPDATE d5.t SET a = fn('fail')",
	} {
		_, err := c.Exec(t.Context(), sql, nil)
		require.IsType(t, &mserr.Error{}, err, sql)
	}
	// Next returns the error of a later row.
	run(t, c, "INSERT INTO d5.t(a) VALUES (2)")
	rows, err := c.Query(t.Context(), "SELECT CASE WHEN a = 2 THEN fnv('fail') ELSE a END FROM d5.t", nil)
	require.NoError(t, err)
	require.True(t, rows.Next())
	require.False(t, rows.Next())
	require.IsType(t, &mserr.Error{}, rows.Err())

	_, err = c.Exec(t.Context(), "SELECT fn('nope|int', 1)", nil)
	require.ErrorIs(t, err, mserr.NotSupported(""))
	require.ErrorContains(t, err, "the function nope")
}

func TestAggregates(t *testing.T) {
	s := open(t)
	c := acquire(t, s, 5)
	defer s.Release(c)
	const data = "WITH v(x) AS (VALUES (1), (2), (3)) "
	require.EqualValues(t, 6, value(t, c, data+"SELECT agg('sum', x) FROM v"))
	require.Nil(t, value(t, c, data+"SELECT agg('sum', x) FROM v WHERE x > 9"))
	rows, err := c.Query(t.Context(), data+"SELECT agg('sum', x) OVER (ORDER BY x ROWS 1 PRECEDING) FROM v", nil)
	require.NoError(t, err)
	var got []types.Value
	for rows.Next() {
		got = append(got, rows.Row()[0])
	}
	require.NoError(t, rows.Err())
	require.Equal(t, []types.Value{int64(1), int64(3), int64(5)}, got)
}

func TestLocalFunctionsRunSQL(t *testing.T) {
	s := open(t)
	c := acquire(t, s, 5)
	run(t, c, "CREATE TABLE d5.t(a); INSERT INTO d5.t VALUES (1), (2)")
	c.SetLocal(func(key string) (Func, error) {
		if key != "count" {
			return nil, nil
		}
		return func(_ *meter.Meter, args []types.Value) (types.Value, error) {
			row, err := c.QueryRow(t.Context(), "SELECT fn('same', count(*) + ?1) FROM d5.t", args)
			if err != nil {
				return nil, err
			}
			return row[0], nil
		}, nil
	})
	require.EqualValues(t, 12, value(t, c, "SELECT fnv('count', fnv('same', 10))"))
	s.Release(c)
	c = acquire(t, s, 5)
	defer s.Release(c)
	_, err := c.Exec(t.Context(), "SELECT fnv('count', 1)", nil)
	require.ErrorIs(t, err, mserr.NotSupported(""))
}

func TestConstraintErrors(t *testing.T) {
	s := open(t)
	c := acquire(t, s, 5)
	defer s.Release(c)
	run(t, c, `CREATE TABLE d5.t1(c1 INTEGER PRIMARY KEY, c2 TEXT COLLATE ci NOT NULL, c3 INTEGER, c4 INTEGER REFERENCES t1(c1), CONSTRAINT k9 CHECK (c3 > 0)) STRICT`)
	run(t, c, `CREATE UNIQUE INDEX d5.i1_2 ON t1(c2, c3)`)
	run(t, c, `CREATE UNIQUE INDEX d5.i1_3_n ON t1((c4 IS NULL)) WHERE c4 IS NULL`)
	run(t, c, `INSERT INTO d5.t1 VALUES (1, 'a', 1, NULL)`)
	for sql, want := range map[string]ConstraintError{
		"(1, 'b', 1, 1)":    {Kind: Unique, Table: "t1", Columns: []string{"c1"}},
		"(2, 'A ', 1, 1)":   {Kind: Unique, Table: "t1", Columns: []string{"c2", "c3"}},
		"(2, 'b', 1, 7)":    {Kind: ForeignKey},
		"(2, 'b', -1, 1)":   {Kind: Check, Constraint: "k9"},
		"(2, NULL, 1, 1)":   {Kind: NotNull, Table: "t1", Columns: []string{"c2"}},
		"(2, 'b', 1, NULL)": {Kind: Unique, Constraint: "i1_3_n"},
		"(2, 'b', 'x', 1)":  {Kind: Datatype, Constraint: "cannot store TEXT value in INTEGER column t1.c3"},
	} {
		_, err := c.Exec(t.Context(), "INSERT INTO d5.t1 VALUES "+sql, nil)
		var ce *ConstraintError
		require.ErrorAs(t, err, &ce, sql)
		require.Equal(t, want, *ce, sql)
	}
}

func TestAttachLimit(t *testing.T) {
	s := open(t)
	var ids []int
	for id := 5; id < 5+MaxAttached+3; id++ {
		ids = append(ids, id)
		require.NoError(t, s.Create(id))
	}
	c := acquire(t, s)
	defer s.Release(c)
	for range 2 {
		for _, id := range ids {
			require.NoError(t, c.Databases.Attach(t.Context(), id))
			run(t, c, fmt.Sprintf("CREATE TABLE IF NOT EXISTS d%d.t(a)", id))
			run(t, c, fmt.Sprintf("INSERT INTO d%d.t VALUES (%d)", id, id))
		}
	}
	// Within a transaction only databases that it has not touched can be detached.
	require.NoError(t, c.Begin(t.Context()))
	for i, id := range ids {
		err := c.Databases.Attach(t.Context(), id)
		if i >= MaxAttached {
			require.ErrorContains(t, err, "more than 10 databases")
			continue
		}
		require.NoError(t, err)
		run(t, c, fmt.Sprintf("INSERT INTO d%d.t VALUES (0)", id))
	}
	require.NoError(t, c.Rollback())
	require.NoError(t, c.Databases.Attach(t.Context(), ids[len(ids)-1]))
	require.ErrorIs(t, c.Databases.Attach(t.Context(), 99), os.ErrNotExist)
}

func TestDropAndCreateAnew(t *testing.T) {
	s := open(t)
	a, b := acquire(t, s, 5), acquire(t, s, 5)
	run(t, a, "CREATE TABLE d5.t(x)")
	require.EqualValues(t, 0, value(t, b, "SELECT count(*) FROM d5.t"))
	s.Release(b) // stays attached in the pool
	require.NoError(t, s.Drop(5))
	require.NoError(t, s.Create(5))
	require.NoError(t, a.Databases.Attach(t.Context(), 5))
	_, err := a.Exec(t.Context(), "SELECT * FROM d5.t", nil)
	require.ErrorContains(t, err, "no such table")
	s.Release(a)
}

// Only the owner may read a file, including files of an earlier version.
func TestFilesAreTheOwners(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("files have no permission bits on Windows")
	}
	dir := t.TempDir()
	modes := func() map[string]os.FileMode {
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		found := map[string]os.FileMode{}
		for _, e := range entries {
			info, err := e.Info()
			require.NoError(t, err)
			found[e.Name()] = info.Mode().Perm()
		}
		delete(found, "instance.lock-journal") // belongs to a held lock; not data
		return found
	}
	st, err := Open(t.Context(), Config{Dir: dir})
	require.NoError(t, err)
	require.NoError(t, st.Create(7))
	c, err := st.Acquire(t.Context())
	require.NoError(t, err)
	require.NoError(t, c.Databases.Attach(t.Context(), 7))
	_, err = c.Exec(t.Context(), "CREATE TABLE d7.t (a)", nil)
	require.NoError(t, err)
	st.Release(c)
	c, err = st.Acquire(t.Context())
	require.NoError(t, err)
	for id := 20; id < 20+MaxAttached; id++ { // the copy always fits
		require.NoError(t, st.Create(id))
		require.NoError(t, c.Databases.Attach(t.Context(), id))
	}
	require.NoError(t, st.CreateCopy(t.Context(), c, 7, 8))
	for id := 20; id < 20+MaxAttached; id++ {
		require.NoError(t, st.Drop(id))
	}
	require.Equal(t, map[string]os.FileMode{"instance.lock": 0o600, "d7.sqlite": 0o600, "d7.sqlite-wal": 0o600, "d7.sqlite-shm": 0o600, "d8.sqlite": 0o600}, modes())
	st.Release(c)
	require.NoError(t, st.Close())

	for name := range modes() {
		require.NoError(t, os.Chmod(filepath.Join(dir, name), 0o644))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o640))
	st, err = Open(t.Context(), Config{Dir: dir})
	require.NoError(t, err)
	require.Equal(t, map[string]os.FileMode{"instance.lock": 0o600, "d7.sqlite": 0o600, "d8.sqlite": 0o600, "notes.txt": 0o640}, modes())
	require.NoError(t, st.Close())
}

func TestReleaseCleans(t *testing.T) {
	s := open(t)
	c := acquire(t, s, 5)
	run(t, c, "CREATE TABLE d5.t(a)")
	run(t, c, "CREATE TABLE main.x(a)")
	require.NoError(t, c.Temps.Ensure(t.Context(), "spool1", "CREATE TABLE IF NOT EXISTS main.spool1(a)"))
	require.NoError(t, c.Begin(t.Context()))
	require.NoError(t, c.Temps.Ensure(t.Context(), "spool2", "CREATE TABLE IF NOT EXISTS main.spool2(a)"))
	run(t, c, "INSERT INTO d5.t VALUES (1), (2)")
	run(t, c, "INSERT INTO spool1 VALUES (1)")
	c.Temps.Remember("k", 1)
	rows, err := c.Query(t.Context(), "SELECT * FROM d5.t", nil)
	require.NoError(t, err)
	require.True(t, rows.Next())
	s.Release(c)

	again := acquire(t, s, 5)
	defer s.Release(again)
	require.Same(t, c, again)
	require.False(t, c.InTransaction())
	require.Nil(t, c.Temps.Recall("k"))
	require.EqualValues(t, 0, value(t, c, "SELECT count(*) FROM d5.t"))
	require.EqualValues(t, 0, value(t, c, "SELECT count(*) FROM spool1"))
	_, err = c.Exec(t.Context(), "SELECT * FROM x", nil)
	require.ErrorContains(t, err, "no such table")
	require.NoError(t, c.Temps.Ensure(t.Context(), "spool2", "CREATE TABLE IF NOT EXISTS main.spool2(a)"))
	require.EqualValues(t, 0, value(t, c, "SELECT count(*) FROM spool2"))
}

// A rollback takes no table of Temps.Ensure away, and ends only values that were kept in its
// transaction.
func TestRollbackKeepsTemporaryTables(t *testing.T) {
	s := open(t)
	c := acquire(t, s, 5)
	defer s.Release(c)
	const ddl = "CREATE TABLE IF NOT EXISTS main.spool(a)"
	ctx := t.Context()
	c.Temps.Remember("before", 1)
	require.NoError(t, c.Begin(ctx))
	c.Temps.Remember("within", 1)
	require.NoError(t, c.Temps.Ensure(ctx, "spool", ddl))
	run(t, c, "INSERT INTO spool VALUES (1)")
	require.NoError(t, c.Rollback())
	require.Equal(t, 1, c.Temps.Recall("before"))
	require.Nil(t, c.Temps.Recall("within"))
	require.True(t, c.Temps.Has("spool"))
	require.EqualValues(t, 0, value(t, c, "SELECT count(*) FROM spool"))

	require.NoError(t, c.Begin(ctx)) // the table is there before the transaction
	require.NoError(t, c.Temps.Ensure(ctx, "spool", ddl))
	require.NoError(t, c.rollback())
	require.True(t, c.Temps.Has("spool"))

	require.NoError(t, c.Begin(ctx))
	c.Temps.Remember("within", 2)
	require.NoError(t, c.Commit())
	require.NoError(t, c.Begin(ctx))
	require.NoError(t, c.Savepoint(ctx, "p"))
	c.Temps.Remember("before", 2)
	require.NoError(t, c.RollbackTo("p"))
	require.Nil(t, c.Temps.Recall("before"))
	require.NoError(t, c.Rollback())
	require.Equal(t, 2, c.Temps.Recall("within"), "committed")
}

func TestFindForeignKey(t *testing.T) {
	s := open(t)
	c := acquire(t, s, 5)
	defer s.Release(c)
	run(t, c, `CREATE TABLE d5.p1(a INTEGER PRIMARY KEY); CREATE TABLE d5.p2(a INTEGER PRIMARY KEY);
		CREATE TABLE d5.c(a INTEGER REFERENCES p1(a), b INTEGER REFERENCES p2(a)); INSERT INTO d5.p1 VALUES (1); INSERT INTO d5.p2 VALUES (1);
		INSERT INTO d5.c VALUES (1, 1)`)
	require.NoError(t, c.Begin(t.Context()))
	for sql, want := range map[string]string{
		"INSERT INTO d5.c VALUES (1, 2)": "c p2",
		"INSERT INTO d5.c VALUES (2, 1)": "c p1",
		"DELETE FROM d5.p2":              "c p2",
	} {
		_, err := c.Exec(t.Context(), sql, nil)
		var ce *ConstraintError
		require.ErrorAs(t, err, &ce)
		child, parent, _, err := FindForeignKey(t.Context(), c, 5, []string{"p1", "c"}, func() error {
			_, err := c.Exec(t.Context(), sql, nil)
			return err
		})
		require.NoError(t, err)
		require.Equal(t, want, child+" "+parent, sql)
		_, err = c.Exec(t.Context(), sql, nil)
		require.ErrorAs(t, err, &ce, "checked at once again")
	}
	require.NoError(t, c.Commit())
}

const endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "

func TestCancel(t *testing.T) {
	s := open(t)
	c := acquire(t, s, 5)
	defer s.Release(c)
	run(t, c, "CREATE TABLE d5.t(a)")
	cause := errors.New("the user had enough")
	canceled := func() context.Context {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(20*time.Millisecond, func() { cancel(cause) })
		return ctx
	}
	_, err := c.Exec(canceled(), endless+"SELECT count(*) FROM n", nil)
	require.ErrorIs(t, err, cause)

	// The first row comes at once, the second never.
	rows, err := c.Query(canceled(), endless+"SELECT i FROM n WHERE i = 1 OR i < 0", nil)
	require.NoError(t, err)
	require.True(t, rows.Next())
	require.False(t, rows.Next())
	require.ErrorIs(t, rows.Err(), cause)

	// A canceled write inside a transaction leaves the transaction open.
	require.NoError(t, c.Begin(t.Context()))
	run(t, c, "INSERT INTO d5.t VALUES (1)")
	_, err = c.Exec(canceled(), endless+"INSERT INTO d5.t SELECT fnv('slow', i) FROM n", nil)
	require.ErrorIs(t, err, cause)
	require.True(t, c.InTransaction())
	require.EqualValues(t, 1, value(t, c, "SELECT count(*) FROM d5.t"))
	c.SetInterruptWrites(true)
	_, err = c.Exec(canceled(), endless+"INSERT INTO d5.t SELECT i FROM n", nil)
	require.ErrorIs(t, err, cause)
	require.False(t, c.InTransaction())
	require.NoError(t, c.Rollback())

	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	_, err = c.Exec(ctx, "SELECT 1", nil)
	require.ErrorIs(t, err, cause)
	require.EqualValues(t, 1, value(t, c, "SELECT 1"))
}

func TestReadersSeeCommittedDataOnly(t *testing.T) {
	s := open(t)
	a, b := acquire(t, s, 5), acquire(t, s, 5)
	defer s.Release(a)
	defer s.Release(b)
	run(t, a, "CREATE TABLE d5.t(a)")
	require.NoError(t, a.Begin(t.Context()))
	run(t, a, "INSERT INTO d5.t VALUES (1)")
	require.NoError(t, a.Savepoint(t.Context(), "s"))
	run(t, a, "INSERT INTO d5.t VALUES (2)")
	require.NoError(t, a.RollbackTo("s"))
	require.NoError(t, a.ReleaseSavepoint("s"))
	require.EqualValues(t, 0, value(t, b, "SELECT count(*) FROM d5.t"))
	require.NoError(t, a.Commit())
	require.EqualValues(t, 1, value(t, b, "SELECT count(*) FROM d5.t"))
}

// A killed process leaves the files in the state of a copy at any moment.
func TestSurvivesKill(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), Config{Dir: dir})
	require.NoError(t, err)
	c := acquire(t, s, 5)
	run(t, c, "CREATE TABLE d5.t(a)")
	run(t, c, "INSERT INTO d5.t VALUES (1)")
	require.NoError(t, c.Begin(t.Context()))
	run(t, c, "INSERT INTO d5.t VALUES (2)")

	copied := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(copied, "x"), os.DirFS(dir)))
	_, err = Open(t.Context(), Config{Dir: dir})
	require.ErrorIs(t, err, ErrInUse)
	s.Release(c)
	require.NoError(t, s.Close())

	s, err = Open(t.Context(), Config{Dir: filepath.Join(copied, "x")})
	require.NoError(t, err)
	require.Equal(t, []int{5}, s.IDs())
	c = acquire(t, s, 5)
	require.EqualValues(t, 1, value(t, c, "SELECT count(*) FROM d5.t"))
	s.Release(c)
	require.NoError(t, s.Close())
}

// TestRowsFollowEachOther reads rows whose values equal those of the previous row, differ, or are
// of another kind.
func TestRowsFollowEachOther(t *testing.T) {
	s := open(t)
	c := acquire(t, s, 5)
	defer s.Release(c)
	want := [][]types.Value{
		{int64(300), "a", []byte("a"), 1.5},
		{int64(300), "a", []byte("a"), 1.5},
		{int64(301), "b\x00c", []byte("b\x00c"), nil},
		{"300", []byte("a"), "a", int64(1)},
		{int64(300), "", []byte{}, -1.5},
		{nil, "", []byte{}, -1.5},
		{300.0, []byte{}, "", "x"},
	}
	var sql strings.Builder
	var args []types.Value
	for i, row := range want {
		fmt.Fprintf(&sql, "%s SELECT ?%d, ?%d, ?%d, ?%d", map[bool]string{true: " UNION ALL"}[i > 0], len(args)+1, len(args)+2, len(args)+3, len(args)+4)
		args = append(args, row...)
	}
	for range 2 { // the second time with the cached statement
		rows, err := c.Query(t.Context(), sql.String(), args)
		require.NoError(t, err)
		var got [][]types.Value
		for rows.Next() {
			got = append(got, append([]types.Value(nil), rows.Row()...))
		}
		require.NoError(t, rows.Err())
		require.Equal(t, want, got)
	}
}

// TestStepErrors runs statements that fail at their arguments, at the first row or at a later one,
// and then without an error.
func TestStepErrors(t *testing.T) {
	s := open(t)
	c := acquire(t, s, 5)
	defer s.Release(c)
	const sql = "SELECT abs(?1) UNION ALL SELECT abs(?2)" // the least integer has no absolute value
	_, err := c.Query(t.Context(), sql, []types.Value{int64(1)})
	require.ErrorContains(t, err, "missing argument with index 2")
	_, err = c.Exec(t.Context(), sql, []types.Value{int64(1), struct{}{}})
	require.ErrorContains(t, err, "argument 2 is of type struct {}")
	_, err = c.Query(t.Context(), sql, []types.Value{int64(math.MinInt64), int64(1)})
	require.ErrorContains(t, err, "integer overflow")
	_, err = c.Exec(t.Context(), sql, []types.Value{int64(1), int64(math.MinInt64)})
	require.ErrorContains(t, err, "integer overflow")
	rows, err := c.Query(t.Context(), sql, []types.Value{int64(1), int64(math.MinInt64)})
	require.NoError(t, err)
	require.True(t, rows.Next())
	require.False(t, rows.Next())
	require.ErrorContains(t, rows.Err(), "integer overflow")
	require.NoError(t, rows.Close())
	require.EqualValues(t, 7, value(t, c, sql, int64(-7), int64(1)))
	_, err = c.Query(t.Context(), "SELECT 1; SELECT 2", nil)
	require.ErrorIs(t, err, errNoQuery)
}

func TestStatementCacheIsBounded(t *testing.T) {
	s := open(t)
	c := acquire(t, s, 5)
	defer s.Release(c)
	for i := range 3 * maxStmts {
		value(t, c, fmt.Sprintf("SELECT %d", i))
	}
	require.Equal(t, maxStmts, c.stmts.order.Len())
	// The same text twice at the same time.
	rows, err := c.Query(t.Context(), "SELECT 1 UNION SELECT 2", nil)
	require.NoError(t, err)
	require.EqualValues(t, 1, value(t, c, "SELECT 1 UNION SELECT 2"))
	require.NoError(t, rows.Close())
	// A statement in use is never closed by the cache.
	rows, err = c.Query(t.Context(), "SELECT 1 UNION SELECT 2", nil)
	require.NoError(t, err)
	for i := range 2 * maxStmts {
		value(t, c, fmt.Sprintf("SELECT %d", -i))
	}
	require.True(t, rows.Next())
	require.True(t, rows.Next())
	require.False(t, rows.Next())
	require.NoError(t, rows.Err())
}

func TestCollations(t *testing.T) {
	s := open(t)
	c := acquire(t, s, 5)
	defer s.Release(c)
	for expr, want := range map[string]int64{
		"'abc' = 'ABC  ' COLLATE ci":       1,
		"'abc' = 'ABC' COLLATE cs":         0,
		"'abc' = 'abc ' COLLATE cs":        1,
		"'a' < 'B' COLLATE ci":             1,
		"'é' = 'e' COLLATE ci":             0,
		"'10.5' > '9.75' COLLATE decimal":  1,
		"'-10.5' < '9.75' COLLATE decimal": 1,
	} {
		require.Equal(t, want, value(t, c, "SELECT "+expr), expr)
	}
}

// Connections work in a bubble of virtual time, where any wait that is not durably blocking would
// hang.
func TestInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := Open(t.Context(), Config{Functions: functions()})
		require.NoError(t, err)
		c := acquire(t, s, 5)
		run(t, c, "CREATE TABLE d5.t(a)")
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		began := time.Now()
		_, err = c.Exec(ctx, endless+"INSERT INTO d5.t SELECT fnv('slower', i) FROM n LIMIT 5000", nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.GreaterOrEqual(t, time.Since(began), time.Hour)
		s.Release(c)
		require.NoError(t, s.Close())
	})
}

func TestCounter(t *testing.T) {
	s := open(t)
	c, d := acquire(t, s, 5), acquire(t, s, 5)
	defer s.Release(c)
	defer s.Release(d)
	numbers := func(c *Conn) (got []types.Value) {
		rows, err := c.Query(t.Context(), "SELECT counter() FROM (VALUES (1), (2), (3))", nil)
		require.NoError(t, err)
		for rows.Next() {
			got = append(got, rows.Row()[0])
		}
		require.NoError(t, rows.Err())
		return got
	}
	outer := c.Count(5, 10)
	require.Equal(t, []types.Value{int64(5), int64(15), int64(25)}, numbers(c))
	inner := c.Count(-1, -1)
	d.Count(100, 1)
	require.Equal(t, []types.Value{int64(-1), int64(-2), int64(-3)}, numbers(c))
	require.Equal(t, []types.Value{int64(100), int64(101), int64(102)}, numbers(d))
	inner()
	require.EqualValues(t, 35, value(t, c, "SELECT counter()"))
	outer()
}
