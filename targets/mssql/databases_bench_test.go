package mssql_test

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"

	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// countingDialer counts the bytes that are sent.
type countingDialer struct {
	mssqldb.HostDialer
	sent *atomic.Int64
}

func (d countingDialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := d.HostDialer.DialContext(ctx, network, addr)
	return countingConn{c, d.sent}, err
}

type countingConn struct {
	net.Conn
	sent *atomic.Int64
}

func (c countingConn) Write(p []byte) (int, error) {
	c.sent.Add(int64(len(p)))
	return c.Conn.Write(p)
}

// BenchmarkDatabases measures attempts of a short script on the databases of one server, one after
// the other. Each round begins with nothing remembered, so that the server is asked about each
// database. The plans of the agent's statements are not shared by databases, as on SQL Server.
func BenchmarkDatabases(b *testing.B) {
	const databases = 20
	var requests, sent atomic.Int64
	server, err := tsqld.New(tsqld.Config{SAPassword: "secret", Fault: func(p tsqld.Point) error {
		if p.Kind == tsqld.BeforeStatement {
			requests.Add(1)
		}
		return nil
	}})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, server.Close(b.Context())) })
	set, err := mssql.NewCredentialSet(mssql.LoginCredential("default", "sa", "secret", "*"))
	require.NoError(b, err)
	round := func(b *testing.B, count int, text string) {
		servers, err := mssql.NewServers(mssql.Config{Credentials: set, Encrypt: "disable", Dialer: countingDialer{server.Dialer(), &sent},
			Control: mssql.Instance{Server: "elsewhere", Database: "control"}})
		require.NoError(b, err)
		defer servers.Close()
		runner := mssql.NewRunner(servers, targets.Limits{})
		for i := range count {
			res := runner.Run(b.Context(), mssql.Attempt{Attempt: targets.Attempt{
				Target: targets.NewTarget("s", fmt.Sprint("d", i), ""), Command: "SELECT COUNT(*) AS objects FROM sys.objects;", Session: text,
			}})
			require.Equal(b, targets.Succeeded, res.Outcome, res.Summary)
		}
	}
	master, err := mssql.NewServers(mssql.Config{Credentials: set, Encrypt: "disable", Dialer: server.Dialer()})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, master.Close()) })
	for i := range databases {
		res := mssql.NewRunner(master, targets.Limits{}).Run(b.Context(), mssql.Attempt{Attempt: targets.Attempt{
			Target: targets.NewTarget("s", "master", ""), Command: fmt.Sprintf("CREATE DATABASE d%d;", i)}})
		require.Equal(b, targets.Succeeded, res.Outcome, res.Summary)
	}
	for name, text := range map[string]string{"anonymous": "", "announced": sessionText + "j"} {
		b.Run(name, func(b *testing.B) {
			requests.Store(0)
			sent.Store(0)
			for b.Loop() {
				round(b, databases, text)
			}
			attempts := float64(b.N * databases)
			b.ReportMetric(float64(requests.Load())/attempts, "requests/attempt")
			b.ReportMetric(float64(sent.Load())/attempts, "bytes/attempt")
			b.ReportMetric(float64(b.Elapsed().Microseconds())/attempts, "µs/attempt")
		})
	}
}
