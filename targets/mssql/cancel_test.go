package mssql_test

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// deaf makes requests that contain the word deaf ignore attentions and the end of their connection.
func deaf(p tsqld.Point) error {
	if p.Kind == tsqld.OnAttention && strings.Contains(p.Request, "deaf") {
		return errors.New("deaf")
	}
	return nil
}

// as returns a runner with another login. prepare is T-SQL for its permissions, run in the database
// d.
func (f *fixture) as(t *testing.T, prepare string) *mssql.Runner {
	t.Helper()
	f.exec(t, "master", "CREATE LOGIN robot WITH PASSWORD = 'Only-4-tests';")
	f.exec(t, "d", prepare)
	set, err := mssql.NewCredentialSet(mssql.LoginCredential("default", "robot", "Only-4-tests", "*"))
	require.NoError(t, err)
	servers, err := mssql.NewServers(mssql.Config{Credentials: set, Encrypt: "disable", Dialer: f.server.Dialer()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, servers.Close()) })
	return mssql.NewRunner(servers, targets.Limits{})
}

// canceled runs a script on d and cancels it after a second.
func canceled(t *testing.T, runner *mssql.Runner, cause error, script string) targets.Result {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(time.Second, func() { cancel(cause) })
	return runner.Run(ctx, onD(script))
}

const endless = "/* deaf */ BEGIN TRANSACTION; INSERT INTO t VALUES (1); WAITFOR DELAY '01:00:00';"

// A script that ignores the attention and the end of its connection is ended with KILL, and Run
// waits for that.
func TestScriptThatIgnoresTheAttentionIsKilled(t *testing.T) {
	t.Parallel()
	for want, cause := range map[targets.Outcome]error{
		targets.Canceled: targets.ErrStopRequested, targets.TimedOut: targets.ErrTimeout,
		targets.Unknown: errors.New("agent stopping"),
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, tsqld.Config{Fault: deaf})
			f.exec(t, "d", "CREATE TABLE t (n int);")
			res := canceled(t, f.runner, cause, endless)
			require.Equal(t, want, res.Outcome, res.Summary)
			require.Contains(t, res.Summary, "was ended with KILL")
			require.Positive(t, res.SPID)
			require.Equal(t, []string{"0"},
				f.query(t, "d", "SELECT COUNT(*) FROM sys.dm_exec_requests WHERE session_id <> @@SPID"))
			require.Equal(t, []string{"0"}, f.query(t, "d", "SELECT COUNT(*) FROM t"))
		})
	}
}

// A script that ends with its connection needs no KILL.
func TestSessionEndsWithItsConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var killed atomic.Bool
		f := newFixture(t, tsqld.Config{Fault: func(p tsqld.Point) error {
			if p.Kind == tsqld.BeforeStatement && strings.Contains(p.Request, "N'KILL '") {
				killed.Store(true)
			}
			if p.Kind == tsqld.BeforeStatement && strings.Contains(p.Request, "marker") {
				<-time.After(7 * time.Second)
				return tsqld.ErrClose
			}
			return nil
		}})
		res := canceled(t, f.runner, targets.ErrStopRequested, "SELECT 1 AS marker")
		require.Equal(t, targets.Canceled, res.Outcome, res.Summary)
		require.Contains(t, res.Summary, "has ended.")
		require.False(t, killed.Load())
	})
}

// A session that is not found has ended only if the same witness has seen it before: a server may
// show a login nothing but its own session, or cut program_name before the token, and the second
// connection may reach another server.
func TestSessionThatWasNeverSeenProvesNothing(t *testing.T) {
	t.Parallel()
	elsewhere := func(t *testing.T, f *fixture) *mssql.Runner {
		other := newFixture(t, tsqld.Config{})
		return f.dialing(t, &alternating{dialers: []mssqldb.HostDialer{f.server.Dialer(), other.server.Dialer()}})
	}
	for name, c := range map[string]struct {
		cfg    tsqld.Config
		runner func(*testing.T, *fixture) *mssql.Runner
	}{
		"own session only":               {cfg: tsqld.Config{OwnSessionsOnly: true}},
		"program_name of 20 bytes":       {cfg: tsqld.Config{ProgramName: 20}},
		"another server behind the name": {runner: elsewhere},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c.cfg.Fault = deaf
				f := newFixture(t, c.cfg)
				f.exec(t, "d", "CREATE TABLE t (n int);")
				for cause, want := range map[error]targets.Outcome{
					targets.ErrStopRequested: targets.Unknown, targets.ErrTimeout: targets.TimedOut,
				} {
					runner := f.runner
					if c.runner != nil {
						runner = c.runner(t, f)
					}
					res := canceled(t, runner, cause, "/* deaf */ WAITFOR DELAY '00:05:00'; INSERT INTO t VALUES (1);")
					require.Equal(t, want, res.Outcome, res.Summary)
					require.Equal(t, want == targets.TimedOut, res.OutcomeUnknown)
					require.Contains(t, res.Summary, "whether session ")
					require.Contains(t, res.Summary, "did not find it, which proves nothing")
				}
				require.Equal(t, []string{"0"}, f.query(t, "d", "SELECT COUNT(*) FROM t"))
				<-time.After(5 * time.Minute)
				require.Equal(t, []string{"2"}, f.query(t, "d", "SELECT COUNT(*) FROM t"), "both scripts went on")
			})
		})
	}
}

// The token precedes the description of the attempt, so that a server that shows 63 characters of
// program_name still proves the end of a session.
func TestSessionIsFoundByACutProgramName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, tsqld.Config{Fault: deaf, ProgramName: 63})
		f.exec(t, "d", "CREATE TABLE t (n int);")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(targets.ErrStopRequested) })
		a := onD(endless)
		a.Session = sessionText + strings.Repeat("j", 100)
		res := f.runner.Run(ctx, a)
		require.Equal(t, targets.Canceled, res.Outcome, res.Summary)
		require.Contains(t, res.Summary, "was ended with KILL")
		require.False(t, res.OutcomeUnknown)
	})
}

// A second connection that does not come delays the cut of the first one by no more than 3 s,
// because a script whose term is lost must end before another agent runs it.
func TestConnectionIsCutWithoutAWitness(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, tsqld.Config{Fault: deaf})
		f.exec(t, "d", "CREATE TABLE t (n int);")
		d := &alternating{dialers: []mssqldb.HostDialer{f.server.Dialer(), never{}}}
		start := time.Now()
		res := canceled(t, f.dialing(t, d), errors.New("term lost"), endless)
		require.Equal(t, targets.Unknown, res.Outcome, res.Summary)
		require.Contains(t, res.Summary, "no answer to the login in time")
		require.LessOrEqual(t, time.Unix(0, d.closed.Load()).Sub(start), 9*time.Second+time.Millisecond) // 1 s, 5 s, 3 s
	})
}

// dialing returns a runner that dials through d.
func (f *fixture) dialing(t *testing.T, d mssqldb.HostDialer) *mssql.Runner {
	t.Helper()
	cfg := f.config(t, "disable")
	cfg.Dialer = d
	servers, err := mssql.NewServers(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, servers.Close()) })
	return mssql.NewRunner(servers, targets.Limits{})
}

// alternating uses its first dialer for the first connection and its last one for all others, as a
// balancer may do.
type alternating struct {
	dialers []mssqldb.HostDialer
	dials   atomic.Int32
	closed  atomic.Int64 // when the first connection was closed, in nanoseconds
}

func (d *alternating) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	n := d.dials.Add(1)
	c, err := d.dialers[min(int(n), len(d.dialers))-1].DialContext(ctx, network, addr)
	if err == nil && n == 1 {
		c = &closeTimed{Conn: c, at: &d.closed}
	}
	return c, err
}

func (d *alternating) HostName() string {
	return d.dialers[0].(interface{ HostName() string }).HostName()
}

// closeTimed records when it is closed first.
type closeTimed struct {
	net.Conn
	at *atomic.Int64
}

func (c *closeTimed) Close() error {
	c.at.CompareAndSwap(0, time.Now().UnixNano())
	return c.Conn.Close()
}

// never is a network without an answer.
type never struct{}

func (never) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (never) HostName() string { return "" }

// An end that cannot be verified is Unknown, and the message names the remedy.
func TestEndThatIsNotVerifiedIsUnknown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ prepare, says string }{
		"KILL refused": {"USE master; GRANT VIEW SERVER STATE TO robot; USE d; CREATE USER robot; GRANT INSERT ON t TO robot;",
			"User does not have permission to use the KILL statement"},
		"sees nothing": {"CREATE USER robot; GRANT INSERT ON t TO robot;", "grant it VIEW SERVER STATE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, tsqld.Config{Fault: deaf})
				f.exec(t, "d", "CREATE TABLE t (n int);")
				runner := f.as(t, c.prepare)
				res := canceled(t, runner, targets.ErrStopRequested, endless)
				require.Equal(t, targets.Unknown, res.Outcome, res.Summary)
				require.Contains(t, res.Summary, "the script may go on")
				require.Contains(t, res.Summary, c.says)
				require.ErrorIs(t, res.Err, targets.ErrStopRequested)
				require.Equal(t, []string{"1"},
					f.query(t, "d", "SELECT COUNT(*) FROM sys.dm_exec_requests WHERE session_id <> @@SPID"), "it does go on")

				limit := canceled(t, runner, targets.ErrTimeout, endless)
				require.Equal(t, targets.TimedOut, limit.Outcome, limit.Summary)
				require.Contains(t, limit.Summary, c.says)
			})
		})
	}
}

// A server that does not answer holds an attempt neither with the script nor with the second
// connection.
func TestFrozenServerDoesNotKeepAnAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		frozen := make(chan struct{})
		f := newFixture(t, tsqld.Config{Fault: func(p tsqld.Point) error {
			select {
			case <-frozen:
				if p.Kind == tsqld.BeforeLogin {
					<-time.After(time.Hour)
				}
			default:
			}
			return deaf(p)
		}})
		f.exec(t, "d", "CREATE TABLE t (n int);")
		time.AfterFunc(time.Second, func() { close(frozen) })
		res := canceled(t, f.runner, targets.ErrStopRequested, endless)
		require.Equal(t, targets.Unknown, res.Outcome, res.Summary)
		require.Contains(t, res.Summary, "no answer to the login in time")
		require.LessOrEqual(t, res.Elapsed, 22*time.Second)
	})
}

// A session that reuses the ID is not killed: a session is identified by its program name.
func TestOnlyTheAttemptsSessionIsKilled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, tsqld.Config{Fault: deaf})
		f.exec(t, "d", "CREATE TABLE t (n int);")
		other := make(chan targets.Result, 1)
		go func() { other <- f.run(t, "WAITFOR DELAY '00:05:00';") }()
		res := canceled(t, f.runner, targets.ErrStopRequested, endless)
		require.Equal(t, targets.Canceled, res.Outcome, res.Summary)
		left := <-other
		require.Equal(t, targets.Succeeded, left.Outcome, left.Summary)
		require.NotEqual(t, res.SPID, left.SPID)
	})
}

// The session ID is read from the packets, also under TLS.
func TestCancelUnderTLS(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{Fault: deaf})
	set, err := mssql.NewCredentialSet(mssql.LoginCredential("default", "sa", "secret", "*"))
	require.NoError(t, err)
	certificate, err := f.server.Certificate()
	require.NoError(t, err)
	for _, encrypt := range []string{"disable", "true", "strict"} {
		cfg := mssql.Config{Credentials: set, Encrypt: encrypt, Dialer: f.server.Dialer()}
		if encrypt != "disable" {
			cfg.CertificateSHA256 = []string{mssql.KeyPin(certificate)}
		}
		servers, err := mssql.NewServers(cfg)
		require.NoError(t, err)
		runner := mssql.NewRunner(servers, targets.Limits{})
		res := runner.Run(t.Context(), onD("SELECT 1"))
		require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
		require.Positive(t, res.SPID, encrypt)
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan targets.Result, 1)
		go func() {
			ended <- runner.Run(ctx, onD("WAITFOR DELAY '01:00:00'"))
		}()
		for len(f.query(t, "d", "SELECT 1 FROM sys.dm_exec_requests WHERE session_id <> @@SPID")) == 0 {
			continue
		}
		cancel(targets.ErrStopRequested)
		res = <-ended
		require.Equal(t, targets.Canceled, res.Outcome, res.Summary)
		require.Positive(t, res.SPID, encrypt)
		require.NoError(t, servers.Close())
	}
}

// An error before the connection was lost does not tell whether the rest of the script ran. An
// error with which the server ends the session does.
func TestErrorBeforeALostConnection(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{Fault: func(p tsqld.Point) error {
		if p.Kind == tsqld.MidRow && strings.Contains(p.Request, "marker") {
			return tsqld.ErrClose
		}
		return nil
	}})
	res := f.run(t, "RAISERROR('first', 16, 1) WITH NOWAIT;\nSELECT 1 AS marker;")
	require.Equal(t, targets.Unknown, res.Outcome, res.Summary)
	require.Contains(t, res.Summary, "The connection was lost after the script was sent")
	require.Contains(t, res.Summary, "Before: Msg 50000, Level 16, State 1, Line 1: first")

	res = f.run(t, "RAISERROR('fatal', 20, 1) WITH LOG;\nSELECT 1 AS never;")
	require.Equal(t, targets.Failed, res.Outcome, res.Summary)
	require.Contains(t, res.Summary, "Level 20")
}

// mute is a dialer whose connections can no longer send after Silence is set.
type mute struct {
	mssqldb.HostDialer
	silence atomic.Bool
}

func (m *mute) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := m.HostDialer.DialContext(ctx, network, addr)
	return muteConn{c, m}, err
}

type muteConn struct {
	net.Conn
	of *mute
}

func (c muteConn) Write(p []byte) (int, error) {
	if c.of.silence.Load() {
		return 0, syscall.EPIPE
	}
	return c.Conn.Write(p)
}

// When the attention cannot be sent, no goroutine of the driver stays behind with the rest of the
// answer. The bubble would not end.
func TestAttentionThatCannotBeSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, tsqld.Config{})
		dialer := &mute{HostDialer: f.server.Dialer()}
		c, err := mssql.NewConnector("sqlserver://sa:secret@x?database=d&encrypt=disable", dialer)
		require.NoError(t, err)
		db := sql.OpenDB(c)
		rows, err := db.QueryContext(t.Context(), "SELECT TOP (100000) 1 AS n FROM sys.all_columns AS a CROSS JOIN sys.all_columns AS b;")
		require.NoError(t, err)
		require.True(t, rows.Next())
		dialer.silence.Store(true)
		require.Error(t, rows.Close())
		require.NoError(t, db.Close())
	})
}
