package exec

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/unit"
)

// A database made from an image has the content and the options of the image, its own name,
// and a life of its own. Identities go on after the last one in the image.
func TestImage(t *testing.T) {
	t.Parallel()
	from, s := startInstance(t)
	must(t, s, "CREATE DATABASE a COLLATE Latin1_General_100_BIN2; ALTER DATABASE a SET READ_COMMITTED_SNAPSHOT OFF;")
	must(t, s, "USE a; CREATE TABLE dbo.t (id INT IDENTITY(5, 1) PRIMARY KEY, n NVARCHAR(10)); INSERT dbo.t VALUES (N'x'), (N'y'); CREATE ROLE r;")
	must(t, s, "CREATE PROCEDURE dbo.p AS SELECT COUNT(*) AS n FROM dbo.t;")
	image, err := from.Image(t.Context(), "A")
	require.NoError(t, err)
	_, err = from.Image(t.Context(), "b")
	require.EqualError(t, err, `there is no database "b"`)
	must(t, s, "INSERT dbo.t VALUES (N'later');")

	to, s := startInstance(t)
	for _, name := range []string{"b", "c"} {
		require.NoError(t, to.CreateFrom(t.Context(), name, image))
	}
	require.ErrorContains(t, to.CreateFrom(t.Context(), "B", image), "already exists")
	must(t, s, "USE b; INSERT dbo.t VALUES (N'z');")
	require.Contains(t, must(t, s, "SELECT DB_NAME() + N' ' + STRING_AGG(CONCAT(id, n), N',') WITHIN GROUP (ORDER BY id) AS x FROM dbo.t"), "b 5x,6y,7z")
	require.Contains(t, must(t, s, "EXECUTE c.dbo.p;"), "2")
	require.Contains(t, must(t, s, `SELECT STRING_AGG(CONCAT(name, SUSER_SNAME(owner_sid), is_read_committed_snapshot_on, N' ', collation_name), N',') WITHIN GROUP (ORDER BY name) AS x
FROM sys.databases WHERE database_id > 4;`), "bsa0 Latin1_General_100_BIN2,csa0 Latin1_General_100_BIN2")
	must(t, s, "USE master; DROP DATABASE b;")
}

// startInstance starts an instance until the test ends, and opens a session of sa.
func startInstance(t *testing.T) (*Instance, *Session) {
	t.Helper()
	inst, err := New(session.Config{SAPassword: "secret"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, inst.Close()) })
	s, err := inst.NewSession(t.Context(), session.Login{User: "sa", Password: "secret", Database: "master"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return inst, s
}

// Databases of several instances share the definitions of their image. They parse and compile at
// the same time, which matters under the race detector, and a change in one does not reach the
// others.
func TestInstancesShareAnImage(t *testing.T) {
	t.Parallel()
	from, s := startInstance(t)
	must(t, s, "CREATE DATABASE a;")
	for _, text := range []string{
		"USE a;",
		"CREATE TABLE dbo.t (id INT IDENTITY PRIMARY KEY, n INT NOT NULL DEFAULT 7 CHECK (n > 0), twice AS n * 2);",
		"CREATE FUNCTION dbo.inc (@n INT) RETURNS INT AS BEGIN DECLARE @m INT = @n + 1; RETURN @m; END;",
		"CREATE FUNCTION dbo.above (@n INT) RETURNS TABLE AS RETURN SELECT id, n FROM dbo.t WHERE n > @n;",
		"CREATE VIEW dbo.v AS SELECT id, twice FROM dbo.t;",
		"CREATE PROCEDURE dbo.p @n INT AS BEGIN INSERT dbo.t (n) VALUES (@n); INSERT dbo.t DEFAULT VALUES; " +
			"SELECT CONCAT(SUM(v.twice), N' ', dbo.inc(@n), N' ', (SELECT COUNT(*) FROM dbo.above(1))) AS x FROM dbo.v AS v; END;",
	} {
		must(t, s, text)
	}
	image, err := from.Image(t.Context(), "a")
	require.NoError(t, err)
	for i := range 4 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			to, s := startInstance(t)
			require.NoError(t, to.CreateFrom(t.Context(), "b", image))
			must(t, s, "USE b;")
			want := "34 3 3"
			if i == 0 {
				must(t, s, "ALTER FUNCTION dbo.inc (@n INT) RETURNS INT AS BEGIN RETURN 0; END;")
				must(t, s, "ALTER TABLE dbo.t ADD more INT; DROP VIEW dbo.v;")
				must(t, s, "CREATE VIEW dbo.v AS SELECT 1 AS twice;")
				want = "1 0 3"
			}
			must(t, s, "EXECUTE dbo.p @n = 1;")
			require.Contains(t, must(t, s, "EXECUTE dbo.p @n = 2;"), want)
		})
	}
}

// Databases of several instances that have the definitions of their image share the plans of its
// procedures. A change, even of another object, ends that.
func TestInstancesSharePlans(t *testing.T) {
	t.Parallel()
	from, s := startInstance(t)
	must(t, s, "CREATE DATABASE a;")
	for _, text := range []string{"USE a;", "CREATE TABLE dbo.t (id INT);", "CREATE PROCEDURE dbo.p AS SELECT id FROM dbo.t;"} {
		must(t, s, text)
	}
	image, err := from.Image(t.Context(), "a")
	require.NoError(t, err)
	open := func(name string) *Session {
		to, s := startInstance(t)
		require.NoError(t, to.CreateFrom(t.Context(), name, image))
		must(t, s, "USE "+name+";")
		return s
	}
	find := func(s *Session) any {
		u, err := unit.Procedure(s.DatabaseByID(s.DatabaseID).Procedure("dbo", "p"))
		require.NoError(t, err)
		return u.Find(s.Session, atTop{}, unit.PlanKey{Node: u.Body[0], Kind: unit.PlanQuery})
	}
	first, second, other := open("b"), open("b"), open("c")
	require.Nil(t, find(second))
	must(t, first, "EXECUTE dbo.p;")
	compiled := find(first)
	require.NotNil(t, compiled)
	require.Same(t, compiled, find(second))
	require.Nil(t, find(other), "the name is another one")

	must(t, second, "BEGIN TRANSACTION; CREATE TABLE dbo.u (id INT);")
	require.Nil(t, find(second))
	must(t, second, "EXECUTE dbo.p;")
	require.NotSame(t, compiled, find(second))
	must(t, second, "ROLLBACK;")
	require.Same(t, compiled, find(second))
	must(t, second, "ALTER DATABASE b SET READ_COMMITTED_SNAPSHOT OFF;")
	require.Nil(t, find(second))
	require.Same(t, compiled, find(first))
}

// atTop is the scope of a statement of a procedure that a batch of dbo calls.
type atTop struct{}

func (atTop) DefaultSchema() string            { return "dbo" }
func (atTop) FunctionDepth() int               { return 0 }
func (atTop) FiringInstead() int32             { return 0 }
func (atTop) LocalTable(string) *catalog.Table { return nil }
