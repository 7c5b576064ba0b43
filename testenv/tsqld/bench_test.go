package tsqld

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"
)

// BenchmarkClient measures what a client sees over loopback TCP without TLS: a connect with its
// login, the shortest batch, an insert of one row and the read of one row by key as remote calls,
// and 200,000 rows as one result.
//
//	go test ./testenv/tsqld -run - -bench Client -count 5
func BenchmarkClient(b *testing.B) {
	s, err := New(Config{SAPassword: "secret"})
	require.NoError(b, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	dsn := fmt.Sprintf("sqlserver://sa:secret@%s?encrypt=disable", l.Addr())
	db, err := sql.Open("sqlserver", dsn)
	require.NoError(b, err)
	ctx := context.Background()
	defer func() {
		require.NoError(b, db.Close())
		require.NoError(b, s.Close(ctx))
		<-served
	}()
	c, err := db.Conn(ctx)
	require.NoError(b, err)
	defer func() { require.NoError(b, c.Close()) }()
	for _, text := range []string{
		"CREATE TABLE dbo.bench (id int IDENTITY PRIMARY KEY, state varchar(10) NOT NULL, due datetime2 NOT NULL, note nvarchar(40) NULL)",
		"CREATE TABLE dbo.added (id int IDENTITY PRIMARY KEY, state varchar(10) NOT NULL, note nvarchar(40) NULL)",
		"INSERT INTO dbo.bench (state, due, note) SELECT 'new', SYSUTCDATETIME(), N'a note' FROM GENERATE_SERIES(1, 200000)",
	} {
		_, err := c.ExecContext(ctx, text)
		require.NoError(b, err)
	}
	b.Run("Connect", func(b *testing.B) {
		connector, err := mssql.NewConnector(dsn)
		require.NoError(b, err)
		for b.Loop() {
			dc, err := connector.Connect(ctx)
			if err != nil {
				b.Fatal(err)
			}
			if err := dc.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
	scan := func(b *testing.B, text string, args ...any) {
		for b.Loop() {
			var n int
			if err := c.QueryRowContext(ctx, text, args...).Scan(&n); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("SelectOne", func(b *testing.B) { scan(b, "SELECT 1") })
	b.Run("PointRead", func(b *testing.B) { scan(b, "SELECT id FROM dbo.bench WHERE id = @p1", 777) })
	b.Run("Insert", func(b *testing.B) {
		for b.Loop() {
			if _, err := c.ExecContext(ctx, "INSERT INTO dbo.added (state, note) VALUES (@p1, @p2)", mssql.VarChar("new"), "a note"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Rows200000", func(b *testing.B) {
		for b.Loop() {
			rows, err := c.QueryContext(ctx, "SELECT id, state, due, note FROM dbo.bench")
			if err != nil {
				b.Fatal(err)
			}
			n := 0
			for rows.Next() {
				n++
			}
			if err := rows.Close(); err != nil || n != 200000 {
				b.Fatal(n, err, rows.Err())
			}
		}
	})
}
