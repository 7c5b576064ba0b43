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

// client is a session with one owner.
type client struct {
	*Owner
	m *Manager
}

// newClient registers a session.
func newClient(m *Manager, spid int) client {
	return client{m.NewOwner(NewSession(spid), "TRANSACTION"), m}
}

// now takes a lock that must be free.
func (c client) now(t *testing.T, r Resource, mode Mode) {
	t.Helper()
	waited, err := c.m.Lock(t.Context(), c.Owner, r, mode, 0)
	require.NoError(t, err)
	require.False(t, waited)
}

// start takes a lock in the background.
func (c client) start(ctx context.Context, r Resource, mode Mode, timeout time.Duration) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := c.m.Lock(ctx, c.Owner, r, mode, timeout)
		done <- err
	}()
	synctest.Wait()
	return done
}

// decided returns what a background call answered, or a marker while it waits.
func decided(done <-chan error) error {
	synctest.Wait()
	select {
	case err := <-done:
		return err
	default:
		return errWaiting
	}
}

var errWaiting = errors.New("still waiting")

// The matrix of "Lock compatibility" in the transaction locking guide.
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
					require.True(t, Compatible(a, c) && Compatible(b, c), "join(%v,%v)=%v is weaker against %v", a, b, j, c)
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
		a, b, c, d := newClient(m, 51), newClient(m, 52), newClient(m, 53), newClient(m, 54)
		a.now(t, r, Shared)
		x := b.start(t.Context(), r, Exclusive, Forever)
		s := c.start(t.Context(), r, Shared, Forever)
		require.Equal(t, errWaiting, decided(s), "a reader does not pass a waiting writer")
		require.False(t, m.Test(d.Owner, r, Shared))
		w, ok := m.Waiting(b.session)
		require.True(t, ok)
		require.Equal(t, 51, w.Blocker)
		m.ReleaseAll(a.Owner)
		require.NoError(t, decided(x))
		require.Equal(t, errWaiting, decided(s))
		require.Len(t, m.Locks(), 2)
		m.ReleaseAll(b.Owner)
		require.NoError(t, decided(s))
		m.ReleaseAll(c.Owner)
		require.Empty(t, m.Locks())
		require.Empty(t, m.res)
	})
}

func TestStrengthening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &Manager{}
		r := Resource{Database: 5, Name: "app", App: true}
		a, b, c := newClient(m, 51), newClient(m, 52), newClient(m, 53)
		a.now(t, r, Shared)
		b.now(t, r, Shared)
		waiter := c.start(t.Context(), r, Exclusive, Forever)
		up := a.start(t.Context(), r, Exclusive, Forever)
		m.ReleaseAll(b.Owner)
		require.NoError(t, decided(up), "who holds it already goes first")
		require.Equal(t, Exclusive, m.Held(a.Owner, r))
		require.NoError(t, m.Unlock(a.Owner, r))
		require.Equal(t, errWaiting, decided(waiter), "taken twice, given back once")
		require.NoError(t, m.Unlock(a.Owner, r))
		require.NoError(t, decided(waiter))
		require.ErrorIs(t, m.Unlock(a.Owner, r), ErrNotHeld)
		m.Close(c.session)
		require.Empty(t, m.res)
	})
}

func TestTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &Manager{}
		r := Writer(5)
		a, b, c := newClient(m, 51), newClient(m, 52), newClient(m, 53)
		a.now(t, r, Exclusive)
		_, err := m.Lock(t.Context(), b.Owner, r, Exclusive, 0)
		require.ErrorIs(t, err, mserr.LockTimeout())

		began := time.Now()
		_, err = m.Lock(t.Context(), b.Owner, r, Shared, 3*time.Second)
		require.ErrorIs(t, err, mserr.LockTimeout())
		require.Equal(t, 3*time.Second, time.Since(began))

		cause := errors.New("attention")
		ctx, cancel := context.WithCancelCause(t.Context())
		first := b.start(ctx, r, Exclusive, Forever)
		second := c.start(t.Context(), r, Exclusive, Forever)
		cancel(cause)
		require.ErrorIs(t, decided(first), cause)
		m.ReleaseAll(a.Owner)
		require.NoError(t, decided(second))
		_, err = m.Lock(ctx, b.Owner, r, Exclusive, Forever)
		require.ErrorIs(t, err, cause)
		m.ReleaseAll(c.Owner)
	})
}

func TestDeadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &Manager{}
		r1, r2, r3 := Writer(5), Writer(6), Resource{Database: 5, Name: "x", App: true}
		a, b, c := newClient(m, 51), newClient(m, 52), newClient(m, 53)
		a.now(t, r1, Exclusive)
		b.now(t, r2, Exclusive)
		c.now(t, r3, Exclusive)
		wa := a.start(t.Context(), r2, Exclusive, Forever)
		wb := b.start(t.Context(), r3, Exclusive, Forever)
		require.Equal(t, errWaiting, decided(wa))
		wc := c.start(t.Context(), r1, Exclusive, Forever)
		err := decided(wc)
		require.ErrorIs(t, err, mserr.Deadlock(0, ""))
		require.ErrorContains(t, err, "Process ID 53")
		m.ReleaseAll(c.Owner) // as its rollback does
		require.NoError(t, decided(wb))
		m.ReleaseAll(b.Owner)
		require.NoError(t, decided(wa))
		m.ReleaseAll(a.Owner)
	})
}

func TestDeadlockPriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &Manager{}
		r1, r2 := Writer(5), Writer(6)
		a, b := newClient(m, 51), newClient(m, 52)
		m.SetPriority(a.session, -5)
		a.now(t, r1, Exclusive)
		b.now(t, r2, Exclusive)
		wa := a.start(t.Context(), r2, Exclusive, Forever)
		wb := b.start(t.Context(), r1, Exclusive, Forever)
		require.ErrorIs(t, decided(wa), mserr.Deadlock(0, ""))
		require.Equal(t, errWaiting, decided(wb), "until the victim rolls back")
		m.ReleaseAll(a.Owner)
		require.NoError(t, decided(wb))
		m.ReleaseAll(b.Owner)
	})
}

// Two that hold Shared and both want Exclusive.
func TestConversionDeadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &Manager{}
		r := Writer(5)
		a, b := newClient(m, 51), newClient(m, 52)
		a.now(t, r, Shared)
		b.now(t, r, Shared)
		wa := a.start(t.Context(), r, Exclusive, Forever)
		wb := b.start(t.Context(), r, Exclusive, Forever)
		require.ErrorIs(t, decided(wb), mserr.Deadlock(0, ""))
		m.ReleaseAll(b.Owner)
		require.NoError(t, decided(wa))
		m.ReleaseAll(a.Owner)
	})
}

func TestOwnersOfOneSession(t *testing.T) {
	m := &Manager{}
	s := NewSession(51)
	session, transaction := m.NewOwner(s, "SESSION"), m.NewOwner(s, "TRANSACTION")
	for _, o := range []*Owner{session, transaction} {
		_, err := m.Lock(t.Context(), o, Writer(5), Exclusive, 0)
		require.NoError(t, err)
	}
	m.ReleaseAll(transaction)
	require.Equal(t, Exclusive, m.Held(session, Writer(5)))
	m.Close(s)
	require.Empty(t, m.res)
}
