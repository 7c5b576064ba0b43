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
	maxPending           = 256
	maxPendingPerAddress = 192
	idleLimit            = 500 * time.Millisecond // with a client that has sent nothing yet, or not enough, while others wait
	loginIdleLimit       = 2 * time.Second        // with one that has sent its first message and owes the next one
	pendingLimit         = 5 * time.Second        // with one that has not logged in
	defaultMaxUsers      = 1000
	// mostConnections is SQL Server's limit (documentation: user connections).
	maxConnections = 32767
)

// errDropped ends a connection that has not logged in, in favour of others.
var errDropped = errors.New("dropped before its login, as others wait for room")

// admission bounds connections: those that have logged in, and those that have not, the latter of each address too. When there are too many of
// the latter, those that keep the server waiting make room for new ones, first those of the address that has most of them; so a client that
// logs in at once is let in although another one keeps opening connections and says nothing. It is safe for concurrent use.
type admission struct {
	maxUsers int // how many may have logged in

	mu        sync.Mutex
	loggedIn  int
	pending   map[*pendingConn]struct{}
	byAddress map[string]int // pending ones by address
	roomFreed chan struct{}  // closed when one of them leaves; nil while nobody waits for that
}

// visitor is a connection that has not logged in.
type pendingConn struct {
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
		users = defaultMaxUsers
	}
	return &admission{maxUsers: min(users, maxConnections), pending: map[*pendingConn]struct{}{}, byAddress: map[string]int{}}
}

// enter counts a connection that has not logged in; it waits for room, and returns false when ctx or closing ends first.
func (a *admission) admit(ctx context.Context, closing <-chan struct{}, p *pendingConn) bool {
	for {
		freed, wait, victim := a.tryAdmit(p)
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
func (a *admission) tryAdmit(p *pendingConn) (freed <-chan struct{}, wait time.Duration, victim *pendingConn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	crowded := a.byAddress[p.address] >= maxPendingPerAddress
	if crowded || len(a.pending) >= maxPending {
		from := p.address
		if !crowded {
			for address, n := range a.byAddress {
				if n > a.byAddress[from] {
					from = address
				}
			}
		}
		if victim, wait = a.slowest(from); wait > 0 {
			if a.roomFreed == nil {
				a.roomFreed = make(chan struct{})
			}
			return a.roomFreed, wait, nil
		}
		a.removeLocked(victim)
	}
	p.in = true
	p.since = time.Now()
	a.pending[p] = struct{}{}
	a.byAddress[p.address]++
	return nil, 0, victim
}

// slowest is the visitor of an address with whom patience ends first, and when. a.mu must be held.
func (a *admission) slowest(address string) (*pendingConn, time.Duration) {
	var slowest *pendingConn
	least := time.Duration(1<<63 - 1)
	now := time.Now()
	for p := range a.pending {
		if p.address != address {
			continue
		}
		left := pendingLimit - now.Sub(p.since)
		if waiting := p.waiting.Load(); waiting != 0 {
			enough := idleLimit
			if p.begun.Load() {
				enough = loginIdleLimit
			}
			left = min(left, enough-now.Sub(time.Unix(0, waiting)))
		} else {
			left = min(left, idleLimit) // it may begin to keep us waiting
		}
		if left < least {
			slowest, least = p, left
		}
	}
	return slowest, least
}

// remove counts a visitor no more. a.mu must be held.
func (a *admission) removeLocked(p *pendingConn) {
	if p == nil || !p.in {
		return
	}
	p.in = false
	delete(a.pending, p)
	if a.byAddress[p.address]--; a.byAddress[p.address] == 0 {
		delete(a.byAddress, p.address)
	}
	if a.roomFreed != nil {
		close(a.roomFreed)
		a.roomFreed = nil
	}
}

// leave counts a visitor no more: it has logged in, or ended.
func (a *admission) remove(p *pendingConn) {
	p.done.Store(true)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.removeLocked(p)
}

// admit counts a user; false when there are too many.
func (a *admission) addUser() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.loggedIn >= a.maxUsers {
		return false
	}
	a.loggedIn++
	return true
}

// dismiss counts a user no more.
func (a *admission) removeUser() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.loggedIn--
}

// metered is the reading side of a connection; it notes for how long the client has sent nothing, until the login has succeeded.
type idleMeter struct {
	net.Conn
	pending *pendingConn
}

// Read implements [net.Conn].
func (m idleMeter) Read(p []byte) (int, error) {
	if m.pending.done.Load() {
		return m.Conn.Read(p)
	}
	m.pending.waiting.Store(time.Now().UnixNano())
	n, err := m.Conn.Read(p)
	m.pending.waiting.Store(0)
	return n, err
}
