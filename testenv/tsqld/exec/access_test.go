package exec

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/session"
)

// TestRollbackOfOthers executes ALTER DATABASE ... SET with each termination clause beside another
// session: idle in a transaction, executing a statement in a transaction, idle without a
// transaction, or absent ("ALTER DATABASE SET options", WITH <termination>).
func TestRollbackOfOthers(t *testing.T) {
	for _, state := range []string{"SINGLE_USER", "RESTRICTED_USER", "OFFLINE"} {
		for _, other := range []struct{ name, text string }{
			{"in a transaction", "BEGIN TRAN INSERT dbo.t VALUES (1)"},
			{"running", "BEGIN TRAN INSERT dbo.t VALUES (1) WAITFOR DELAY '01:00:00'"},
			{"idle", "SELECT 1"},
			{"none", ""},
		} {
			for _, end := range []struct {
				with  string
				after time.Duration
			}{{"ROLLBACK IMMEDIATE", 0}, {"ROLLBACK AFTER 7 SECONDS", 7 * time.Second}, {"NO_WAIT", 0}} {
				t.Run(state+" "+end.with+" "+other.name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { rollbackOthers(t, state, other.text, end.with, end.after) })
				})
			}
		}
	}
}

// rollbackOthers is one case of TestRollbackOfOthers. other is the batch of the other session, ""
// for none.
func rollbackOthers(t *testing.T, state, other, with string, after time.Duration) {
	inst, err := New(session.Config{Dir: t.TempDir(), SAPassword: "secret"})
	require.NoError(t, err)
	defer func() { require.NoError(t, inst.Close()) }()
	open := func() *Session {
		s, err := inst.NewSession(t.Context(), session.Login{User: "sa", Password: "secret", Database: "master"})
		require.NoError(t, err)
		return s
	}
	run := func(s *Session, text string) string {
		var r recorder
		if err := s.Batch(context.Background(), text, &r); err != nil {
			return "error: " + err.Error()
		}
		return r.b.String()
	}
	s := open()
	defer func() { require.NoError(t, s.Close()) }()
	run(s, "CREATE DATABASE k")
	run(s, "CREATE TABLE k.dbo.t (a int)")
	done, closed := make(chan struct{}), make(chan struct{})
	if other != "" {
		o := open()
		killed := make(chan struct{})
		o.OnKill(func() { close(killed) })
		run(o, "USE k")
		go func() {
			defer close(done)
			run(o, other)
		}()
		go func() { // as the connection does
			defer close(closed)
			<-killed
			<-done
			_ = o.Close()
		}()
		synctest.Wait()
		defer func() {
			o.Kill()
			<-closed
		}()
	}
	began := time.Now()
	out := run(s, "ALTER DATABASE k SET "+state+" WITH "+with)
	elapsed := time.Since(began)
	shown := run(s, "SELECT CONCAT(user_access_desc, ' ', state_desc) FROM sys.databases WHERE name = 'k'")
	changed := map[string]string{
		"SINGLE_USER": "SINGLE_USER ONLINE", "RESTRICTED_USER": "RESTRICTED_USER ONLINE",
		"OFFLINE": "MULTI_USER OFFLINE",
	}[state]
	if other != "" && with == "NO_WAIT" {
		require.Contains(t, out, "Msg 5070")
		require.Zero(t, elapsed)
		require.Contains(t, shown, "MULTI_USER ONLINE")
		return
	}
	require.NotContains(t, out, "Msg")
	require.Contains(t, shown, changed)
	require.Contains(t, run(s, "SELECT COUNT(*) FROM sys.dm_exec_sessions"), "\n1\n")
	if other == "" {
		after = 0
	}
	require.Equal(t, after, elapsed)
	if state != "OFFLINE" {
		require.Contains(t, run(s, "SELECT COUNT(*) FROM k.dbo.t"), "\n0\n")
	}
}
