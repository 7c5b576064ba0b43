package exec

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A database made from an image has the content and the options of the image, its own name,
// and a life of its own. Identities go on after the last one in the image.
func TestImage(t *testing.T) {
	t.Parallel()
	start := func() (*Instance, *Session) {
		inst, err := New(Config{SAPassword: "secret"})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, inst.Close()) })
		s, err := inst.NewSession(t.Context(), Login{User: "sa", Password: "secret", Database: "master"})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		return inst, s
	}
	from, s := start()
	must(t, s, "CREATE DATABASE a COLLATE Latin1_General_100_BIN2; ALTER DATABASE a SET READ_COMMITTED_SNAPSHOT OFF;")
	must(t, s, "USE a; CREATE TABLE dbo.t (id INT IDENTITY(5, 1) PRIMARY KEY, n NVARCHAR(10)); INSERT dbo.t VALUES (N'x'), (N'y'); CREATE ROLE r;")
	must(t, s, "CREATE PROCEDURE dbo.p AS SELECT COUNT(*) AS n FROM dbo.t;")
	image, err := from.Image(t.Context(), "A")
	require.NoError(t, err)
	_, err = from.Image(t.Context(), "b")
	require.EqualError(t, err, `there is no database "b"`)
	must(t, s, "INSERT dbo.t VALUES (N'later');")

	to, s := start()
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
