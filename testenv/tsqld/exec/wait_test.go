package exec

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/lock"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
)

// TestLongWait: a wait for another session's transaction is reported after some seconds, with the
// blocking session and the time since which it is idle. sys.dm_exec_requests shows the wait.
func TestLongWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []session.Wait
		inst, err := New(session.Config{Dir: t.TempDir(), SAPassword: "secret", OnWait: func(w session.Wait) {
			told = append(told, w)
		}})
		require.NoError(t, err)
		defer func() { require.NoError(t, inst.Close()) }()
		open := func(app string) *Session {
			s, err := inst.NewSession(t.Context(),
				session.Login{User: "sa", Password: "secret", Database: "master", App: app, Host: "h-" + app})
			require.NoError(t, err)
			return s
		}
		run := func(s *Session, text string) string {
			var r recorder
			require.NoError(t, s.Batch(context.Background(), text, &r))
			return r.b.String()
		}
		holder, waiter, watcher := open("holder"), open("waiter"), open("watcher")
		run(holder, "CREATE DATABASE waits")
		run(holder, "USE waits CREATE TABLE dbo.t (a int) BEGIN TRAN INSERT dbo.t VALUES (1)")
		idle := time.Now()
		run(waiter, "USE waits")
		done := make(chan string)
		go func() { done <- run(waiter, "DELETE dbo.t OUTPUT deleted.a") }()
		<-time.After(lock.LongWait + time.Second) // on the clock of the bubble
		synctest.Wait()
		require.Len(t, told, 1)
		w := told[0]
		require.Equal(t, lock.LongWait, w.Waited)
		require.Equal(t, []string{"waiter", "h-waiter", "waits", "holder", "h-holder"},
			[]string{w.Program, w.Host, w.Database, w.BlockerProgram, w.BlockerHost})
		require.WithinDuration(t, idle, w.BlockerIdleSince, 0)
		shown := run(watcher,
			"SELECT status, wait_type, wait_time, IIF(blocking_session_id = "+strconv.Itoa(holder.SPID())+", 1, 0) b FROM sys.dm_exec_requests WHERE session_id = "+strconv.Itoa(waiter.SPID()))
		require.Contains(t, shown, "suspended | LCK_M_X | 6000 | 1")
		require.False(t, strings.Contains(shown, "Msg"))
		run(holder, "COMMIT")
		require.Contains(t, <-done, "(1)")
		require.Len(t, told, 1)
		for _, s := range []*Session{holder, waiter, watcher} {
			require.NoError(t, s.Close())
		}
	})
}
