package mssql_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

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

// An end that cannot be verified is Unknown, and the message names the remedy.
func TestEndThatIsNotVerifiedIsUnknown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ prepare, says string }{
		"KILL refused": {"ALTER AUTHORIZATION ON DATABASE::d TO robot;",
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
