package store

import (
	"testing"

	"github.com/stretchr/testify/require"
	lib "modernc.org/sqlite/lib"
)

// A statement is compiled once, although the values of its parameters decide whether a partial
// index would help.
func TestValuesDoNotChangePlans(t *testing.T) {
	t.Parallel()
	s := open(t)
	c := acquire(t, s, 5)
	defer s.Release(c)
	run(t, c, "CREATE TABLE d5.t (a INTEGER, active INTEGER)")
	run(t, c, "CREATE INDEX d5.i ON t (a) WHERE active = 1")
	const query = "SELECT COUNT(*) FROM d5.t WHERE a = ?1 AND active = ?2"
	for n := range int64(10) {
		require.Equal(t, int64(0), value(t, c, query, n, n%2))
	}
	one := c.stmts.take(query)
	require.NotNil(t, one)
	defer func() { require.NoError(t, c.stmts.put(one)) }()
	require.EqualValues(t, 10, lib.Xsqlite3_stmt_status(c.tls, one.p, lib.SQLITE_STMTSTATUS_RUN, 0))
	require.Zero(t, lib.Xsqlite3_stmt_status(c.tls, one.p, lib.SQLITE_STMTSTATUS_REPREPARE, 0))
}

// A new temporary table makes SQLite prepare again only statements that use temporary tables.
func TestTemporaryTablesKeepPlans(t *testing.T) {
	t.Parallel()
	s := open(t)
	c := acquire(t, s, 5)
	defer s.Release(c)
	run(t, c, "CREATE TABLE d5.t (a INTEGER)")
	const query = "SELECT COUNT(*) FROM d5.t"
	for _, name := range []string{"one", "two"} {
		require.NoError(t, c.Temps.Ensure(t.Context(), name, "CREATE TABLE "+LocalTable(name)+"(a)"))
		require.Equal(t, int64(0), value(t, c, query))
	}
	run(t, c, "DROP TABLE "+LocalTable("one"))
	require.Equal(t, int64(0), value(t, c, query))
	kept := c.stmts.take(query)
	require.NotNil(t, kept)
	defer func() { require.NoError(t, c.stmts.put(kept)) }()
	require.EqualValues(t, 3, lib.Xsqlite3_stmt_status(c.tls, kept.p, lib.SQLITE_STMTSTATUS_RUN, 0))
	require.Zero(t, lib.Xsqlite3_stmt_status(c.tls, kept.p, lib.SQLITE_STMTSTATUS_REPREPARE, 0))
}
