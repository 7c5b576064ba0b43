package tsqld

import (
	"context"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A panic in any goroutine of a session ends that session and no other. It is reported with its
// stack, the client's connection ends, and the session's locks are released.
func TestPanicsEndOneSession(t *testing.T) {
	for _, c := range []struct {
		kind  PointKind
		batch string // "" for the login itself
		where string // in the stack
	}{
		{BeforeLogin, "", "(*handshake).logIn"},
		{BeforeStatement, "SELECT 1 -- marked", "(*conn).handle"},
		{MidRow, "SELECT 1 -- marked", "(*sink).Row"},
		{AfterCommitBeforeReply, "COMMIT -- marked", "(*conn).handle"},
		{BeforeCommit, "COMMIT -- marked", "(*Conn).Commit"},
		{OnAttention, "WAITFOR DELAY '01:00' -- marked", "(*conn).read"},
	} {
		t.Run(c.kind.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var armed atomic.Bool
				stacks := make(chan string, 10)
				f := newRealServer(t, Config{
					OnPanic: func(_ any, stack []byte) { stacks <- string(stack) },
					Fault: func(p Point) error {
						if armed.Load() && p.Kind == c.kind && (strings.Contains(p.Request, "marked") || p.Kind == BeforeCommit || p.Kind == BeforeLogin) {
							armed.Store(false)
							panic("injected")
						}
						return nil
					},
				})
				ctx := t.Context()
				other := f.oneConn(t)
				_, err := other.ExecContext(ctx, "CREATE TABLE tempdb.dbo.t (a int)")
				require.NoError(t, err)
				if c.kind == BeforeLogin {
					armed.Store(true)
					require.Error(t, f.dial(t, "encrypt=disable").PingContext(ctx))
				} else {
					victim := f.oneConn(t)
					_, err := victim.ExecContext(ctx, "BEGIN TRAN; INSERT tempdb.dbo.t VALUES (1); EXEC sp_getapplock 'l', 'Exclusive', 'Session'")
					require.NoError(t, err)
					armed.Store(true)
					canceled, cancel := context.WithCancel(ctx)
					if c.kind == OnAttention {
						time.AfterFunc(time.Minute, cancel)
					}
					_, err = victim.ExecContext(canceled, c.batch)
					require.Error(t, err)
					cancel()
				}
				synctest.Wait()
				require.Len(t, stacks, 1)
				require.Contains(t, <-stacks, c.where)
				// Both locks are free, the row is gone unless it was committed, and so is the
				// session.
				want := 0
				if c.kind == AfterCommitBeforeReply {
					want = 1
				}
				require.Equal(t, 0, selectInt(t, other, "DECLARE @r int; EXEC @r = sp_getapplock 'l', 'Exclusive', 'Session', 0; SELECT @r"))
				_, err = other.ExecContext(ctx, "SET LOCK_TIMEOUT 0; UPDATE tempdb.dbo.t SET a = 2")
				require.NoError(t, err)
				require.Equal(t, want, selectInt(t, other, "SELECT COUNT(*) FROM tempdb.dbo.t"))
				require.Equal(t, 1, selectInt(t, other, "SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE is_user_process = 1"))
				require.Equal(t, 5, selectInt(t, f.dial(t, "encrypt=disable"), "SELECT 5"), "others get in")
			})
		})
	}
}

// The same holds for panics at the end of a session and in the functions of Config.
func TestPanicsAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var told []any
		ends := 0
		f := newFixture(t, Config{
			OnPanic: func(v any, _ []byte) {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, v)
				panic("in OnPanic")
			},
			OnLoginFailed: func(LoginFailure) { panic("in OnLoginFailed") },
			OnEnd: func(net.Addr, error) {
				mu.Lock()
				defer mu.Unlock()
				if ends++; ends == 3 {
					panic("in OnEnd")
				}
			},
		})
		for _, batch := range []string{"fragile 1", "fragile 1; panic 1", "select 1"} {
			db := f.dial(t, "encrypt=disable")
			_, _ = db.ExecContext(t.Context(), batch)
			require.NoError(t, db.Close())
			db = f.dial(t, "encrypt=disable")
			require.Equal(t, 5, selectInt(t, db, "select 5"))
			require.NoError(t, db.Close())
			synctest.Wait()
		}
		for range reportBurst + 1 { // the last one is reported by a timer
			require.EqualValues(t, 18456, logInFrom(t, f, "192.0.2.1", "sa", "wrong"))
			f.lockout = newLockout()
		}
		time.Sleep(2 * reportRest)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		require.Contains(t, told, "in OnLoginFailed")
		require.Subset(t, told, []any{"scripted", "scripted end"})
		require.Contains(t, told, "in OnEnd")
		require.Zero(t, f.engine.opened.Load())
		require.Empty(t, f.conns)
		require.Zero(t, f.admission.loggedIn)
	})
}
