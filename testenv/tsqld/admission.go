package tsqld

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// How many connections there may be that have not logged in; see [admission].
const (
	mostPending      = 256
	mostOfAddress    = 192
	patience         = 500 * time.Millisecond // with a client that has sent nothing yet, or not enough, while others wait
	patienceAtLogin  = 2 * time.Second        // with one that has sent its first message and owes the next one
	patienceInAll    = 5 * time.Second        // with one that has not logged in
	defaultMostUsers = 1000
	// mostConnections is SQL Server's limit (documentation: user connections).
	mostConnections = 32767
)

// errDropped ends a connection that has not logged in, in favour of others.
var errDropped = errors.New("dropped before its login, as others wait for room")

// admission bounds connections: those that have logged in, and those that have not, the latter of each address too. When there are too many of
// the latter, those that keep the server waiting make room for new ones, first those of the address that has most of them; so a client that
// logs in at once is let in although another one keeps opening connections and says nothing. It is safe for concurrent use.
type admission struct {
	users int // how many may have logged in

	mu      sync.Mutex
	inside  int
	pending map[*visitor]struct{}
	of      map[string]int // pending ones by address
	freed   chan struct{}  // closed when one of them leaves; nil while nobody waits for that
}

// visitor is a connection that has not logged in.
type visitor struct {
	address string
	since   time.Time    // when it was let in; guarded by admission.mu
	waiting atomic.Int64 // since when the client sends nothing, in nanoseconds since 1970; 0 while it is not waited for
	begun   atomic.Bool  // its first message has come
	done    atomic.Bool  // it has logged in, or ended
	drop    func(error)  // ends the connection, to make room
	in      bool         // it is counted; guarded by admission.mu
}

// newAdmission makes an admission for a number of users; 0 is the default.
func newAdmission(users int) *admission {
	if users <= 0 {
		users = defaultMostUsers
	}
	return &admission{users: min(users, mostConnections), pending: map[*visitor]struct{}{}, of: map[string]int{}}
}

// enter counts a connection that has not logged in; it waits for room, and returns false when ctx or closing ends first.
func (a *admission) enter(ctx context.Context, closing <-chan struct{}, v *visitor) bool {
	for {
		freed, wait, victim := a.try(v)
		if victim != nil {
			victim.drop(errDropped)
		}
		if freed == nil {
			return true
		}
		timer := time.NewTimer(wait)
		select {
		case <-freed:
		case <-timer.C:
		case <-ctx.Done():
		case <-closing:
		}
		timer.Stop()
		select {
		case <-ctx.Done():
			return false
		case <-closing:
			return false
		default:
		}
	}
}

// try lets a visitor in if there is room, perhaps in place of another one, which it returns. Else it returns what to wait for, and for how long
// at most.
func (a *admission) try(v *visitor) (freed <-chan struct{}, wait time.Duration, victim *visitor) {
	a.mu.Lock()
	defer a.mu.Unlock()
	crowded := a.of[v.address] >= mostOfAddress
	if crowded || len(a.pending) >= mostPending {
		from := v.address
		if !crowded {
			for address, n := range a.of {
				if n > a.of[from] {
					from = address
				}
			}
		}
		if victim, wait = a.slowest(from); wait > 0 {
			if a.freed == nil {
				a.freed = make(chan struct{})
			}
			return a.freed, wait, nil
		}
		a.remove(victim)
	}
	v.in = true
	v.since = time.Now()
	a.pending[v] = struct{}{}
	a.of[v.address]++
	return nil, 0, victim
}

// slowest is the visitor of an address with whom patience ends first, and when. a.mu must be held.
func (a *admission) slowest(address string) (*visitor, time.Duration) {
	var slowest *visitor
	least := time.Duration(1<<63 - 1)
	now := time.Now()
	for v := range a.pending {
		if v.address != address {
			continue
		}
		left := patienceInAll - now.Sub(v.since)
		if waiting := v.waiting.Load(); waiting != 0 {
			enough := patience
			if v.begun.Load() {
				enough = patienceAtLogin
			}
			left = min(left, enough-now.Sub(time.Unix(0, waiting)))
		} else {
			left = min(left, patience) // it may begin to keep us waiting
		}
		if left < least {
			slowest, least = v, left
		}
	}
	return slowest, least
}

// remove counts a visitor no more. a.mu must be held.
func (a *admission) remove(v *visitor) {
	if v == nil || !v.in {
		return
	}
	v.in = false
	delete(a.pending, v)
	if a.of[v.address]--; a.of[v.address] == 0 {
		delete(a.of, v.address)
	}
	if a.freed != nil {
		close(a.freed)
		a.freed = nil
	}
}

// leave counts a visitor no more: it has logged in, or ended.
func (a *admission) leave(v *visitor) {
	v.done.Store(true)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.remove(v)
}

// admit counts a user; false when there are too many.
func (a *admission) admit() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.inside >= a.users {
		return false
	}
	a.inside++
	return true
}

// dismiss counts a user no more.
func (a *admission) dismiss() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.inside--
}

// metered is the reading side of a connection; it notes for how long the client has sent nothing, until the login has succeeded.
type metered struct {
	net.Conn
	v *visitor
}

// Read implements [net.Conn].
func (m metered) Read(p []byte) (int, error) {
	if m.v.done.Load() {
		return m.Conn.Read(p)
	}
	m.v.waiting.Store(time.Now().UnixNano())
	n, err := m.Conn.Read(p)
	m.v.waiting.Store(0)
	return n, err
}
