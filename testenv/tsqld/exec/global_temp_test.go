package exec

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

const globalTables = "SELECT name FROM tempdb.sys.tables WHERE name LIKE '##%' ORDER BY name"

// TestGlobalTablesEndWithTheirCreator: a global temporary table is dropped when the session that
// created it ends, and not before a transaction that uses it ends.
func TestGlobalTablesEndWithTheirCreator(t *testing.T) {
	inst := newInstance(t)
	s, other := workSession(t, inst), workSession(t, inst)
	creator := openSession(t, inst, session.Login{User: "sa", Password: "secret"})
	must(t, creator, "CREATE TABLE ##a (id int); CREATE TABLE ##b (id int)")
	must(t, s, "CREATE TABLE ##kept (id int); BEGIN TRAN; INSERT INTO ##a VALUES (1)")
	require.NoError(t, creator.Close())
	require.Equal(t, []string{"1"}, lines(must(t, s, "SELECT id FROM ##a")))
	require.Equal(t, []string{"##a", "##b", "##kept"}, lines(must(t, other, globalTables)))
	must(t, s, "COMMIT")
	require.Equal(t, []string{"##kept"}, lines(must(t, other, globalTables)))
	// A new session may have the ID of the old one.
	next := openSession(t, inst, session.Login{User: "sa", Password: "secret"})
	must(t, next, "CREATE TABLE ##a (id int)")
	require.Equal(t, []string{"##a", "##kept"}, lines(must(t, other, globalTables)))
	require.NoError(t, next.Reset(t.Context(), &recorder{}, false))
	require.Equal(t, []string{"##kept"}, lines(must(t, other, globalTables)))
	must(t, next, "BEGIN TRAN; CREATE TABLE ##c (id int)")
	require.NoError(t, next.Close())
	require.Equal(t, []string{"##kept"}, lines(must(t, other, globalTables)))
}

// TestGlobalTablesAreForAll: sessions without any permission use global temporary tables, load
// rows into them, and drop them.
func TestGlobalTablesAreForAll(t *testing.T) {
	inst := newInstance(t)
	s := workSession(t, inst)
	must(t, s, "CREATE LOGIN l WITH PASSWORD = 'Secret-1'; CREATE USER l; CREATE TABLE ##g (id int, n int)")
	l := openSession(t, inst, session.Login{User: "l", Password: "Secret-1", Database: "work"})
	load := loads(t, l)
	require.Equal(t, "(1)\n", load("INSERT BULK ##g (id int, n int)", intCols("id", "n"), []types.Value{int64(1), int64(2)}))
	require.Equal(t, []string{"1 | 2"}, lines(must(t, l, "SELECT * FROM ##g")))
	must(t, l, "CREATE TABLE ##own (id int); ALTER TABLE ##g ADD c int; UPDATE ##g SET c = 3; SELECT 1 AS a INTO ##into")
	must(t, s, "INSERT INTO ##own VALUES (1); INSERT INTO ##into VALUES (1)")
	must(t, l, "DROP TABLE ##g")
	require.Equal(t, []string{"##into", "##own"}, lines(must(t, l, globalTables)))
	require.NoError(t, l.Close())
	require.Empty(t, lines(must(t, s, globalTables)))
}
