package mssql_test

import (
	"bytes"
	"context"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv/hostile"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// hostileRunner returns a runner whose servers are all in one mode.
func hostileRunner(t *testing.T, mode hostile.Mode) *mssql.Runner {
	t.Helper()
	return mssql.NewRunner(hostileServers(t, mode), targets.Limits{})
}

// hostileServers returns servers that are all in one mode.
func hostileServers(t *testing.T, mode hostile.Mode) *mssql.Servers {
	t.Helper()
	server := hostile.New(mode)
	server.Pace = 500 * time.Millisecond
	t.Cleanup(server.Close)
	set, err := mssql.NewCredentialSet(mssql.LoginCredential("default", "sa", "secret", "*"))
	require.NoError(t, err)
	servers, err := mssql.NewServers(mssql.Config{Credentials: set, Encrypt: "disable", Dialer: server,
		LoginTimeout: 6 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, servers.Close()) })
	return servers
}

// Counts and lengths that would make the driver allocate, index or loop are refused before the
// driver reads them, and the message names them. The outcome of the script is unknown then (I8).
func TestHostileStreams(t *testing.T) {
	for _, stream := range hostile.Streams() {
		t.Run(stream.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				runner := hostileRunner(t, hostile.Of(stream))
				for _, output := range []*mssql.Output{nil, {Server: "out", Database: "d", Table: "t"}} {
					start := time.Now()
					res := runner.Run(t.Context(),
						mssql.Attempt{Attempt: targets.Attempt{Target: targets.NewTarget("s", "d", ""), Command: "EXEC script"},
							Output: output})
					require.Less(t, time.Since(start), time.Second, "it is refused long before any limit") // of virtual time
					require.Contains(t, res.Summary, "the server violates the protocol: ")
					require.NotContains(t, res.Summary, "\n")
					require.Equal(t, targets.ClassLostConnection, res.Error.Class)
					want := targets.Unknown
					if stream.Login {
						want = targets.Failed
					}
					require.Equal(t, want, res.Outcome, res.Summary)
				}
			})
		})
	}
}

// hostileEnds are the outcomes and summaries of attempts with a time limit of 15 s on the modes of
// package hostile. The modes that are not listed send nothing, or data without an end, and are
// TimedOut.
var hostileEnds = map[string]struct {
	outcome targets.Outcome
	says    string
}{
	"silent":                         {targets.Failed, "no answer to the login in time"},
	"trickle":                        {targets.Failed, "no answer to the login in time"},
	"login unanswered":               {targets.Failed, "no answer to the login in time"},
	"login without an end":           {targets.Failed, "no answer to the login in time"},
	"empty packets":                  {targets.Failed, "the server's answer to PRELOGIN is malformed"},
	"garbage":                        {targets.Failed, "the server's answer to PRELOGIN is malformed"},
	"HTTP":                           {targets.Failed, "the server's answer to PRELOGIN is malformed"},
	"reset":                          {targets.Failed, "connect to s/d"},
	"endless PRELOGIN":               {targets.Failed, "the server's answer to PRELOGIN is malformed"},
	"PRELOGIN without an encryption": {targets.Failed, "the server's answer to PRELOGIN is malformed"},
	"PRELOGIN outside of itself":     {targets.Failed, "the server's answer to PRELOGIN is malformed"},
	"PRELOGIN without options":       {targets.Failed, "the server's answer to PRELOGIN is malformed"},
	"login refused":                  {targets.Failed, "Msg 18456"},
	"redirect in a circle":           {targets.Failed, "the server redirects in a circle"},
	"closes after the script":        {targets.Unknown, "its outcome on the target is unknown"},
	"messages of 60 KB": {targets.Unknown, // the server never says that the script has ended
		"limits.message_bytes (32KB) is exceeded: a message of 60000 bytes"},
	"closes in a result set":                        {targets.Unknown, "unexpected EOF"},
	"packet numbers and session ids at random":      {targets.Succeeded, ""},
	"one byte at a time":                            {targets.Succeeded, ""},
	"an answer behind the answer":                   {targets.Succeeded, ""},
	"packets of the wrong type":                     {targets.Unknown, "a packet of type 0x01"},
	"packets larger than agreed":                    {targets.Unknown, "a packet of 65021 bytes, want at most 32767"},
	"names of 255 characters, numbers out of range": {targets.Failed, "Msg -2147483648, Level 255"},
	"a session that never ends":                     {targets.TimedOut, "it is still there after KILL"},
	"more columns than asked for": {targets.TimedOut,
		"the answer to a query of the agent has 9 columns"},
	"other types than asked for": {targets.TimedOut,
		"the answer to a query of the agent is a string, want an integer"},
	"more rows than asked for": {targets.TimedOut,
		"the answer to a query of the agent has more than one row"},
	"more sets than asked for": {targets.TimedOut,
		"the answer to a query of the agent has more than one result set"},
	"no rows": {targets.TimedOut, "the answer to a query of the agent has no row"},
	"no result set": {targets.TimedOut,
		"the answer to a query of the agent has 0 columns"},
	"identity of fewer columns": {targets.Failed,
		"ask s/d for its identity: the answer to a query of the agent has 1 columns, want 6"},
	"identity of other types": {targets.Failed,
		"ask s/d for its identity: the answer has other types"},
	"identity refused": {targets.Failed, "Msg 229"},
	"a huge answer": {targets.TimedOut,
		"a row of 4194304 bytes in the answer to a query of the agent"},
}

// Whatever a target does, the attempt ends within its limit plus 22 s, and the summary has the
// reason.
func TestHostileModes(t *testing.T) {
	const limit = 15 * time.Second
	for _, mode := range hostile.Modes() {
		t.Run(mode.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				runner := hostileRunner(t, mode)
				ctx, cancel := context.WithTimeoutCause(t.Context(), limit, targets.ErrTimeout)
				defer cancel()
				start := time.Now()
				res := runner.Run(ctx, onD("EXEC script"))
				require.LessOrEqual(t, time.Since(start), limit+22*time.Second)
				want, listed := hostileEnds[mode.Name]
				if !listed {
					want.outcome, want.says = targets.TimedOut, "The step's time limit passed"
				}
				require.Equal(t, want.outcome, res.Outcome, res.Summary)
				require.Contains(t, res.Summary, want.says)
			})
		})
	}
}

// A statement may fail without an ERROR: the only sign is a bit of its DONE. The attempt has
// failed, and the rest of the script is not sent.
func TestFailureWithoutAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const failed, more = 0x02, 0x01
		var scripts atomic.Int32
		runner := hostileRunner(t, hostile.Mode{Name: "failure without an error", Serve: func(c *hostile.Conn) error {
			if err := c.Script(); err != nil {
				return err
			}
			scripts.Add(1)
			if err := c.Answer(hostile.Done(failed|more, 0), hostile.Done(0, 0)); err != nil {
				return err
			}
			if r, err := c.Next(); err == nil && r.Type == 0x01 {
				scripts.Add(1)
			}
			return c.Wait()
		}})
		res := runner.Run(t.Context(), onD("CREATE DATABASE x;\nGO\nUSE x;"))
		require.Equal(t, targets.Failed, res.Outcome, res.Summary)
		require.Contains(t, res.Summary, "the server says that a statement has failed, and sent no error message")
		require.True(t, res.Sent)
		require.Equal(t, targets.ClassPermanent, res.Error.Class)
		require.EqualValues(t, 1, scripts.Load())
	})
}

// The server whose databases are listed may be hostile.
func TestHostileLists(t *testing.T) {
	t.Parallel()
	names := func(name string) func(c *hostile.Conn) error {
		rows := bytes.Repeat(hostile.TextRow(name, "", ""), 100)
		return func(c *hostile.Conn) error {
			for range 400 {
				if err := c.Begin(rows); err != nil {
					return err
				}
			}
			return nil
		}
	}
	for name, tc := range map[string]struct {
		list func(c *hostile.Conn) error
		says string
	}{
		"no answer":         {func(*hostile.Conn) error { return nil }, "step time limit passed"},
		"too many":          {names("d"), "more than 32767 databases"},
		"too long together": {names(strings.Repeat("é", 128)), "names of more than 4194304 bytes"},
		"no name":           {names(strings.Repeat("x", 129)), "a name of 129 characters, want at most 128"},
		"a value of 2 GB": {func(c *hostile.Conn) error { return c.Begin(hostile.MaxValue(2<<30 - 2)) },
			"the server violates the protocol: a row of 2147483646 bytes in the answer to a query of the agent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servers := hostileServers(t, hostile.Mode{Name: name, Serve: func(c *hostile.Conn) error {
				if err := c.Login(); err != nil {
					return err
				}
				for n := 1; ; n++ {
					r, err := c.Next()
					switch {
					case err != nil:
					case r.Type == hostile.PacketAttention:
						err = c.Answer(hostile.Done(0x20, 0))
					case n == 1:
						err = c.Answer(hostile.Texts(2), hostile.TextRow("3", "self"), hostile.Done(0x10, 1))
					case name == "a value of 2 GB":
						err = tc.list(c)
					default:
						if err = c.Begin(hostile.Texts(3)); err == nil {
							err = tc.list(c)
						}
					}
					if err != nil {
						return err
					}
				}
			}})
			limit := time.Minute
			if name == "no answer" {
				limit = time.Second
			}
			ctx, cancel := context.WithTimeoutCause(t.Context(), limit, targets.ErrTimeout)
			defer cancel()
			r := mssql.NewResolver(servers, mssql.Instance{Server: "control", Database: "control"})
			_, err := r.Resolve(ctx, []targets.Member{{Kind: targets.SQLServer, Server: "s"}})
			require.ErrorContains(t, err, tc.says)
		})
	}
}

// stuckDialer dials a server that stops reading when rows are loaded.
type stuckDialer struct{ mssqldb.HostDialer }

func (d stuckDialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := d.HostDialer.DialContext(ctx, network, addr)
	return &stuckConn{Conn: c, cut: make(chan struct{})}, err
}

type stuckConn struct {
	net.Conn
	cut  chan struct{}
	once sync.Once
}

func (c *stuckConn) SetDeadline(t time.Time) error {
	if !t.IsZero() && t.Before(time.Now()) {
		c.once.Do(func() { close(c.cut) })
	}
	return c.Conn.SetDeadline(t)
}

func (c *stuckConn) Write(p []byte) (int, error) {
	if p[0] == 0x07 { // bulk load
		<-c.cut
		return 0, os.ErrDeadlineExceeded
	}
	return c.Conn.Write(p)
}

// The server of an output table that stops reading does not hold a worker beyond the limit.
func TestStuckOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, tsqld.Config{})
		set, err := mssql.NewCredentialSet(mssql.LoginCredential("default", "sa", "secret", "*"))
		require.NoError(t, err)
		servers, err := mssql.NewServers(mssql.Config{Credentials: set, Encrypt: "disable",
			Dialer: stuckDialer{f.server.Dialer()}})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, servers.Close()) })
		ctx, cancel := context.WithTimeoutCause(t.Context(), 15*time.Second, targets.ErrTimeout)
		defer cancel()
		start := time.Now()
		res := mssql.NewRunner(servers, targets.Limits{}).Run(ctx,
			mssql.Attempt{Attempt: targets.Attempt{Target: targets.NewTarget("s", "d", ""),
				Command: "SELECT REPLICATE('x', 8000) AS v FROM GENERATE_SERIES(1, 100)"}, Output: &mssql.Output{Server: "s", Database: "out", Table: "t"}})
		require.Equal(t, targets.TimedOut, res.Outcome, res.Summary)
		require.LessOrEqual(t, time.Since(start), 37*time.Second)
	})
}

// When the driver stops reading an answer at its first error, the next user of the pooled session
// does not wait for the rest.
func TestPooledSessionAfterAnError(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	db := f.open(t, "d")
	db.SetMaxOpenConns(1)
	_, err := db.QueryContext(t.Context(),
		"RAISERROR('first', 16, 1); DECLARE @t TABLE (i INT); "+strings.Repeat("INSERT INTO @t VALUES (1); ", 40))
	require.ErrorContains(t, err, "first")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var n int
	require.NoError(t, db.QueryRowContext(ctx, "SELECT 1").Scan(&n))
	require.Equal(t, 1, n)
}
