package mssql

import (
	"context"
	"database/sql"
	"net"
	"testing"

	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/hostile"
)

// tcpOnly dials one listener, whatever the name.
type tcpOnly struct{ addr string }

func (tcpOnly) HostName() string { return "" }

func (d tcpOnly) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "tcp", d.addr)
}

// BenchmarkRows reads a result set of 200,000 rows over TCP, with the driver alone and with the
// guard.
func BenchmarkRows(b *testing.B) {
	const rows = 200_000
	one := hostile.IntRow(1, 2, 3, 4, 5, 6, 7, 8)
	part := make([]byte, 0, 1000*len(one))
	for range 1000 {
		part = append(part, one...)
	}
	server := hostile.New(hostile.Mode{Name: "rows", Serve: func(c *hostile.Conn) error {
		if err := c.Login(); err != nil {
			return err
		}
		for {
			if _, err := c.Next(); err != nil {
				return err
			}
			if err := c.Begin(hostile.Ints(8)); err != nil {
				return err
			}
			for range rows / 1000 {
				if err := c.Begin(part); err != nil {
					return err
				}
			}
			if err := c.Answer(hostile.Done(0x10, rows)); err != nil {
				return err
			}
		}
	}})
	b.Cleanup(server.Close)
	listener, err := net.Listen("tcp", "127.0.0.1:0") // the kernel chooses the port
	require.NoError(b, err)
	go server.Serve(listener)
	b.Cleanup(func() { _ = listener.Close() })

	params, err := msdsn.Parse("sqlserver://sa:x@host?encrypt=disable")
	require.NoError(b, err)
	bare := mssqldb.NewConnectorConfig(params)
	bare.Dialer = tcpOnly{listener.Addr().String()}
	inner := mssqldb.NewConnectorConfig(params)
	read := func(db *sql.DB) func(*testing.B) {
		return func(b *testing.B) {
			b.SetBytes(rows * int64(len(one)))
			for b.Loop() {
				set, err := db.QueryContext(b.Context(), "SELECT 1 AS rows_of_a_benchmark;")
				require.NoError(b, err)
				n := 0
				for set.Next() {
					n++
				}
				require.NoError(b, set.Err())
				require.Equal(b, rows, n)
				require.NoError(b, set.Close())
			}
		}
	}
	for name, db := range map[string]*sql.DB{
		"driver alone":     sql.OpenDB(bare),
		"behind the guard": sql.OpenDB(wrapConnector(inner, nil, tcpOnly{listener.Addr().String()})),
	} {
		b.Run(name, read(db))
		require.NoError(b, db.Close())
	}
}
