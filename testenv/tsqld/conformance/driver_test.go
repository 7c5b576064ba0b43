package conformance

import (
	"context"
	"database/sql"
	"testing"

	"github.com/golang-sql/sqlexp"
	mssql "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/strict"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// An output parameter is returned with the client's declared type, not with the procedure's.
func TestOutputTypeIsTheClients(t *testing.T) {
	conn := open(t)
	ctx := t.Context()
	_, err := conn.ExecContext(ctx, "CREATE PROCEDURE p @b bit OUTPUT, @s nvarchar(50) OUTPUT AS SELECT @b = 1, @s = @s + N'!'")
	require.NoError(t, err)
	n, s := int64(5), "hello"
	_, err = conn.ExecContext(ctx, "p", sql.Named("b", sql.Out{Dest: &n}), sql.Named("s", sql.Out{Dest: &s, In: true}))
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	require.Equal(t, "hello!", s)
}

// A client may leave the values of identity and default columns of a table-valued parameter to the
// server.
func TestTableParameterWithIdentity(t *testing.T) {
	conn := open(t)
	ctx := t.Context()
	_, err := conn.ExecContext(ctx, "CREATE TYPE dbo.items AS TABLE (id int IDENTITY(10, 5) NOT NULL, name nvarchar(20) NOT NULL)")
	require.NoError(t, err)
	type item struct {
		ID   int64 `tvp:"@identity"`
		Name string
	}
	rows, err := conn.QueryContext(ctx, "SELECT id, name FROM @items ORDER BY id",
		sql.Named("items", mssql.TVP{TypeName: "dbo.items", Value: []item{{Name: "a"}, {Name: "b"}}}))
	require.NoError(t, err)
	defer rows.Close()
	var got []item
	for rows.Next() {
		var i item
		require.NoError(t, rows.Scan(&i.ID, &i.Name))
		got = append(got, i)
	}
	require.NoError(t, rows.Err())
	require.Equal(t, []item{{10, "a"}, {15, "b"}}, got)
}

// Every statement except DECLARE without a value ends with a DONE (MS-TDS 2.2.7.6), which is
// visible in the driver's message queue. Inside procedures, SET NOCOUNT ON suppresses those of
// statements without rows.
func TestEveryStatementEnds(t *testing.T) {
	conn := open(t)
	for _, c := range []struct {
		batch string
		want  int
	}{
		{"DECLARE @i int", 1}, // the final one
		{"PRINT 'a'; PRINT 'b'", 2},
		{"DECLARE @i int = 0; WHILE @i < 2 SET @i += 1", 6}, // three conditions, three assignments
		{"EXEC ('SET NOCOUNT ON; DECLARE @i int = 0; WHILE @i < 2 SET @i += 1')", 1},
	} {
		require.Equal(t, c.want, ends(t.Context(), t, conn, c.batch), c.batch)
	}
}

// A client can change its password during the login (LOGIN7, fChangePassword).
func TestPasswordChangeAtLogin(t *testing.T) {
	ctx := t.Context()
	srv, err := tsqld.New(tsqld.Config{SAPassword: "secret", Record: strict.Watch(t)})
	require.NoError(t, err)
	defer func() { require.NoError(t, srv.Close(context.WithoutCancel(ctx))) }()
	login := func(query string) error {
		connector, err := mssql.NewConnector("sqlserver://sa:" + query + "&encrypt=disable")
		require.NoError(t, err)
		connector.Dialer = pipe{srv}
		db := sql.OpenDB(connector)
		defer func() { require.NoError(t, db.Close()) }()
		return db.PingContext(ctx)
	}
	require.NoError(t, login("secret@tsqld?change password=other"))
	require.ErrorContains(t, login("secret@tsqld?x=1"), "Login failed for user 'sa'.")
	require.NoError(t, login("other@tsqld?x=1"))
}

// A password that must be changed is refused with 18488 until the login has changed it.
func TestMustChangeAtLogin(t *testing.T) {
	ctx := t.Context()
	srv, err := tsqld.New(tsqld.Config{SAPassword: "secret"})
	require.NoError(t, err)
	defer func() { require.NoError(t, srv.Close(context.WithoutCancel(ctx))) }()
	login := func(query, batch string) error {
		connector, err := mssql.NewConnector("sqlserver://" + query + "&encrypt=disable")
		require.NoError(t, err)
		connector.Dialer = pipe{srv}
		db := sql.OpenDB(connector)
		defer func() { require.NoError(t, db.Close()) }()
		_, err = db.ExecContext(ctx, batch)
		return err
	}
	require.NoError(t, login("sa:secret@tsqld?x=1", "CREATE LOGIN dora WITH PASSWORD = 'first' MUST_CHANGE, CHECK_EXPIRATION = ON"))
	must := login("dora:first@tsqld?x=1", "SELECT 1")
	require.ErrorContains(t, must, "Login failed for user 'dora'.  Reason: The password of the account must be changed.")
	require.ErrorContains(t, login("dora:wrong@tsqld?change password=second", "SELECT 1"), "Login failed for user 'dora'.")
	require.NoError(t, login("dora:first@tsqld?change password=second", "SELECT 1"))
	require.NoError(t, login("dora:second@tsqld?x=1", "SELECT 1"))
	require.NoError(t, login("sa:secret@tsqld?x=1", "ALTER LOGIN dora WITH PASSWORD = 'third' MUST_CHANGE"))
	require.ErrorContains(t, login("dora:third@tsqld?x=1", "SELECT 1"), "must be changed")
}

// Messages of severity 10 arrive with severity 0 (documentation of error severities).
func TestSeverityTenBecomesZero(t *testing.T) {
	conn := open(t)
	var messages sqlexp.ReturnMessage
	rows, err := conn.QueryContext(t.Context(), "RAISERROR ('low', 10, 1)", &messages)
	require.NoError(t, err)
	defer rows.Close()
	n, ok := messages.Message(t.Context()).(sqlexp.MsgNotice)
	require.True(t, ok)
	e, ok := n.Message.(mssql.Error)
	require.True(t, ok)
	require.Equal(t, []any{int32(50000), uint8(0), "low"}, []any{e.Number, e.Class, e.Message})
}
