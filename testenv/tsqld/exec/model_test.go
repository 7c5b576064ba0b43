package exec

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/session"
)

// TestDatabasesAreCopiesOfModel: "If you modify the model database, all databases created afterward
// will inherit those changes. For example, you could set permissions or database options, or add
// objects such as tables, functions, or stored procedures"
// (https://learn.microsoft.com/sql/relational-databases/databases/model-database, "model Usage"),
// and tempdb is a copy of model at each start.
func TestDatabasesAreCopiesOfModel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start := func() (*Instance, *Session) {
		inst, err := New(session.Config{Dir: dir, SAPassword: "secret"})
		require.NoError(t, err)
		s, err := inst.NewSession(t.Context(), session.Login{User: "sa", Password: "secret", Database: "master"})
		require.NoError(t, err)
		return inst, s
	}
	stop := func(inst *Instance, s *Session) {
		require.NoError(t, s.Close())
		require.NoError(t, inst.Close())
	}
	inst, s := start()
	must(t, s, "CREATE DATABASE before; CREATE LOGIN lina WITH PASSWORD = 'Pa55word!';")
	must(t, s,
		"USE model; CREATE USER lina FOR LOGIN lina; ALTER ROLE db_owner ADD MEMBER lina; CREATE ROLE r; GRANT VIEW DEFINITION TO r;")
	must(t, s,
		"CREATE TABLE dbo.stock (id INT IDENTITY(5, 1) PRIMARY KEY, n NVARCHAR(10) NOT NULL CHECK (n <> N'')); INSERT dbo.stock VALUES (N'a'), (N'b');")
	must(t, s, "CREATE VIEW dbo.v AS SELECT n FROM dbo.stock;")
	must(t, s, "USE master; CREATE DATABASE after COLLATE Latin1_General_100_CS_AS;")
	require.Contains(t,
		must(t, s, "SELECT CONCAT(N'users ', COUNT(*)) AS x FROM before.sys.database_principals WHERE name = N'lina'"),
		"users 0")

	check := func(s *Session) {
		t.Helper()
		must(t, s, "USE after; INSERT dbo.stock VALUES (N'c');")
		require.Contains(t,
			must(t, s,
				"SELECT DB_NAME() + N' ' + STRING_AGG(CONCAT(id, n), N',') WITHIN GROUP (ORDER BY id) AS x FROM dbo.stock"),
			"after 5a,6b,7c")
		require.Contains(t, batchOutput(t, s, "INSERT dbo.stock VALUES (N'');"), "Msg 547")
		must(t, s, "DELETE dbo.stock WHERE id > 6; DBCC CHECKIDENT ('dbo.stock', RESEED, 6);")
		must(t, s, "EXECUTE AS USER = N'lina'; CREATE TABLE dbo.own (a INT); DROP TABLE dbo.own; REVERT; USE master;")
		require.Contains(t,
			must(t, s,
				"SELECT CONCAT(SUSER_SNAME(owner_sid), N' ', collation_name) AS x FROM sys.databases WHERE name = N'after'"),
			"sa Latin1_General_100_CS_AS")
	}
	check(s)
	lina, err := inst.NewSession(t.Context(), session.Login{User: "lina", Password: "Pa55word!", Database: "after"})
	require.NoError(t, err)
	must(t, lina, "CREATE TABLE dbo.own (a INT); DROP TABLE dbo.own;")
	require.NoError(t, lina.Close())
	_, err = inst.NewSession(t.Context(), session.Login{User: "lina", Password: "Pa55word!", Database: "before"})
	require.ErrorContains(t, err, "before")
	// Changes of a copy do not affect model.
	must(t, s, "USE after; DROP VIEW dbo.v; USE model;")
	require.Contains(t, must(t, s, "SELECT COUNT(*) AS x FROM dbo.v"), "2")
	stop(inst, s)

	// The end of the process during CREATE DATABASE leaves a file without a database.
	model, err := os.ReadFile(filepath.Join(dir, "d3.sqlite"))
	require.NoError(t, err)
	left := filepath.Join(dir, "d99.sqlite")
	require.NoError(t, os.WriteFile(left, model, 0o600))
	inst, s = start()
	require.NoFileExists(t, left)
	check(s)
	require.Contains(t, must(t, s, "SELECT CONCAT(N'rows ', COUNT(*)) AS x FROM tempdb.dbo.stock"), "rows 2")
	must(t, s,
		"CREATE TABLE #x (a INT); DROP TABLE #x; DROP DATABASE after; CREATE DATABASE after COLLATE Latin1_General_100_CS_AS;")
	check(s)
	stop(inst, s)
}
