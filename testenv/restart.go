package testenv

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld"
)

// serverDialer connects to the server that runs at present, see [Env.Restart].
type serverDialer struct {
	host   string
	server atomic.Pointer[tsqld.Server]
}

// HostName implements mssqldb.HostDialer.
func (d *serverDialer) HostName() string { return d.host }

// DialContext implements mssqldb.HostDialer.
func (d *serverDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return d.server.Load().Dialer().DialContext(ctx, network, address)
}

// Dialer returns a dialer for an embedded server, which holds over [Env.Restart].
func (e *Env) Dialer() mssqldb.HostDialer { return e.dialer }

// Restart stops an embedded server with a directory ([Options]), calls while, and starts a server
// on the directory. All connections end, as at a failover. while may replace files.
func (e *Env) Restart(t testing.TB, while func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
	defer cancel()
	require.NoError(t, e.Server.Close(ctx))
	while()
	server, err := e.start()
	require.NoError(t, err)
	e.Server = server
	e.current.server.Store(server)
}
