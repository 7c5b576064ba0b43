package lock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testClient is a client with one owner.
type testClient struct {
	*Owner
	m *Manager
}

// newTestClient returns a client with one owner.
func newTestClient(m *Manager, spid int) testClient {
	return testClient{m.NewOwner(NewClient(spid), "TRANSACTION"), m}
}

// mustLock acquires a lock without a wait.
func (c testClient) mustLock(t *testing.T, r Resource, mode Mode) {
	t.Helper()
	waited, err := c.m.Lock(t.Context(), c.Owner, r, mode, 0)
	require.NoError(t, err)
	require.False(t, waited)
}

// lockAsync calls Lock in a goroutine and returns the channel of its result.
func (c testClient) lockAsync(ctx context.Context, r Resource, mode Mode, timeout time.Duration) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := c.m.Lock(ctx, c.Owner, r, mode, timeout)
		done <- err
	}()
	synctest.Wait()
	return done
}

// result returns the result of lockAsync, or errWaiting while Lock waits.
func result(done <-chan error) error {
	synctest.Wait()
	select {
	case err := <-done:
		return err
	default:
		return errWaiting
	}
}

var errWaiting = errors.New("still waiting")

// TestCompatibility checks the matrix of "Lock Compatibility" in the transaction locking guide.
func TestCompatibility(t *testing.T) {
	modes := []Mode{IntentShared, Shared, Update, IntentExclusive, SharedIntentExclusive, Exclusive}
	want := []string{
		"yyyyyn", // IS
		"yyynnn", // S
		"yynnnn", // U
		"ynnynn", // IX
		"ynnnnn", // SIX
		"nnnnnn", // X
	}
	for i, a := range modes {
		for j, b := range modes {
			require.Equal(t, want[i][j] == 'y', Compatible(a, b), "%v %v", a, b)
		}
	}
	for a := range Exclusive + 1 {
		for b := range Exclusive + 1 {
			require.Equal(t, Compatible(a, b), Compatible(b, a), "%v %v", a, b)
			j := join(a, b)
			require.Equal(t, j, join(b, a))
			for c := range Exclusive + 1 {
				if Compatible(j, c) {
					require.True(t, Compatible(a, c) && Compatible(b, c), "join(%v,%v)=%v is weaker against %v", a, b,
						j, c)
				}
			}
		}
	}
}

func TestParseMode(t *testing.T) {
	for _, m := range []Mode{IntentShared, Shared, Update, IntentExclusive, Exclusive} {
		got, ok := ParseMode(m.String())
		require.True(t, ok)
		require.Equal(t, m, got)
	}
	_, ok := ParseMode("SharedIntentExclusive")
	require.False(t, ok)
}

func TestFairness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &Manager{}
		r := Writer(5)
		a, b, c, d := newTestClient(m, 51), newTestClient(m, 52), newTestClient(m, 53), newTestClient(m, 54)
		a.mustLock(t, r, Shared)
		x := b.lockAsync(t.Context(), r, Exclusive, Forever)
		s := c.lockAsync(t.Context(), r, Shared, Forever)
		require.Equal(t, errWaiting, result(s), "a shared request must not overtake a waiting exclusive request")
		require.False(t, m.Test(d.Owner, r, Shared))
		w, ok := m.Waiting(b.client)
		require.True(t, ok)
		require.Equal(t, 51, w.Blocker)
		m.ReleaseAll(a.Owner)
		require.NoError(t, result(x))
		require.Equal(t, errWaiting, result(s))
		require.Len(t, m.Locks(), 2)
		m.ReleaseAll(b.Owner)
		require.NoError(t, result(s))
		m.ReleaseAll(c.Owner)
		require.Empty(t, m.Locks())
		require.Empty(t, m.res)
	})
}

func TestConversion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &Manager{}
		r := Resource{Database: 5, Name: "app", Kind: AppKind}
		a, b, c := newTestClient(m, 51), newTestClient(m, 52), newTestClient(m, 53)
		a.mustLock(t, r, Shared)
		b.mustLock(t, r, Shared)
		waiter := c.lockAsync(t.Context(), r, Exclusive, Forever)
		up := a.lockAsync(t.Context(), r, Exclusive, Forever)
		m.ReleaseAll(b.Owner)
		require.NoError(t, result(up), "a conversion overtakes the queue")
		require.Equal(t, Exclusive, m.Held(a.Owner, r))
		require.NoError(t, m.Unlock(a.Owner, r))
		require.Equal(t, errWaiting, result(waiter), "locked twice, unlocked once")
		require.NoError(t, m.Unlock(a.Owner, r))
		require.NoError(t, result(waiter))
		require.ErrorIs(t, m.Unlock(a.Owner, r), ErrNotHeld)
		m.Close(c.client)
		require.Empty(t, m.res)
	})
}

func TestTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &Manager{}
		r := Writer(5)
		a, b, c := newTestClient(m, 51), newTestClient(m, 52), newTestClient(m, 53)
		a.mustLock(t, r, Exclusive)
		_, err := m.Lock(t.Context(), b.Owner, r, Exclusive, 0)
		require.ErrorIs(t, err, mserr.LockTimeout())

		began := time.Now()
		_, err = m.Lock(t.Context(), b.Owner, r, Shared, 3*time.Second)
		require.ErrorIs(t, err, mserr.LockTimeout())
		require.Equal(t, 3*time.Second, time.Since(began))

		cause := errors.New("attention")
		ctx, cancel := context.WithCancelCause(t.Context())
		first := b.lockAsync(ctx, r, Exclusive, Forever)
		second := c.lockAsync(t.Context(), r, Exclusive, Forever)
		cancel(cause)
		require.ErrorIs(t, result(first), cause)
		m.ReleaseAll(a.Owner)
		require.NoError(t, result(second))
		_, err = m.Lock(ctx, b.Owner, r, Exclusive, Forever)
		require.ErrorIs(t, err, cause)
		m.ReleaseAll(c.Owner)
	})
}

func TestDeadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &Manager{}
		r1, r2, r3 := Writer(5), Writer(6), Resource{Database: 5, Name: "x", Kind: AppKind}
		a, b, c := newTestClient(m, 51), newTestClient(m, 52), newTestClient(m, 53)
		a.mustLock(t, r1, Exclusive)
		b.mustLock(t, r2, Exclusive)
		c.mustLock(t, r3, Exclusive)
		wa := a.lockAsync(t.Context(), r2, Exclusive, Forever)
		wb := b.lockAsync(t.Context(), r3, Exclusive, Forever)
		require.Equal(t, errWaiting, result(wa))
		wc := c.lockAsync(t.Context(), r1, Exclusive, Forever)
		err := result(wc)
		require.ErrorIs(t, err, mserr.Deadlock(0, ""))
		require.ErrorContains(t, err, "Process ID 53")
		m.ReleaseAll(c.Owner) // as the rollback of the victim does
		require.NoError(t, result(wb))
		m.ReleaseAll(b.Owner)
		require.NoError(t, result(wa))
		m.ReleaseAll(a.Owner)
	})
}

func TestDeadlockPriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &Manager{}
		r1, r2 := Writer(5), Writer(6)
		a, b := newTestClient(m, 51), newTestClient(m, 52)
		m.SetPriority(a.client, -5)
		a.mustLock(t, r1, Exclusive)
		b.mustLock(t, r2, Exclusive)
		wa := a.lockAsync(t.Context(), r2, Exclusive, Forever)
		wb := b.lockAsync(t.Context(), r1, Exclusive, Forever)
		require.ErrorIs(t, result(wa), mserr.Deadlock(0, ""))
		require.Equal(t, errWaiting, result(wb), "the other client waits until the victim rolls back")
		m.ReleaseAll(a.Owner)
		require.NoError(t, result(wb))
		m.ReleaseAll(b.Owner)
	})
}

// TestConversionDeadlock lets two holders of Shared both request Exclusive.
func TestConversionDeadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &Manager{}
		r := Writer(5)
		a, b := newTestClient(m, 51), newTestClient(m, 52)
		a.mustLock(t, r, Shared)
		b.mustLock(t, r, Shared)
		wa := a.lockAsync(t.Context(), r, Exclusive, Forever)
		wb := b.lockAsync(t.Context(), r, Exclusive, Forever)
		require.ErrorIs(t, result(wb), mserr.Deadlock(0, ""))
		m.ReleaseAll(b.Owner)
		require.NoError(t, result(wa))
		m.ReleaseAll(a.Owner)
	})
}

func TestOwnersOfOneClient(t *testing.T) {
	m := &Manager{}
	c := NewClient(51)
	session, transaction := m.NewOwner(c, "SESSION"), m.NewOwner(c, "TRANSACTION")
	for _, o := range []*Owner{session, transaction} {
		_, err := m.Lock(t.Context(), o, Writer(5), Exclusive, 0)
		require.NoError(t, err)
	}
	m.ReleaseAll(transaction)
	require.Equal(t, Exclusive, m.Held(session, Writer(5)))
	m.Close(c)
	require.Empty(t, m.res)
}
