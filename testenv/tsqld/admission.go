package tsqld

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Limits of connections that have not logged in; see [admission].
const (
	maxPending           = 256
	maxPendingPerAddress = 192
	idleLimit            = 500 * time.Millisecond // for a client that sends nothing, before its first complete message
	loginIdleLimit       = 2 * time.Second        // for a client that sends nothing, after its first message
	pendingLimit         = 5 * time.Second        // for the whole login
	defaultMaxUsers      = 1000
	// mostConnections is SQL Server's limit (documentation: user connections).
	maxConnections = 32767
)

// errDropped ends a connection that has not logged in and makes room for another one.
var errDropped = errors.New("connection closed before its login to make room for another one")

// admission limits the number of logged-in connections, and the number of pending connections,
// those that have not logged in, in total and for each client address. If there are too many
// pending connections, idle ones are dropped in favour of new ones, first those of the address with
// the most pending connections. So a client that logs in promptly gets in, although another client
// keeps opening connections and sends nothing. An admission is safe for concurrent use.
type admission struct {
	maxUsers int // limit of loggedIn

	mu        sync.Mutex
	loggedIn  int
	pending   map[*pendingConn]struct{}
	byAddress map[string]int // number of pending connections
	roomFreed chan struct{}  // closed when a pending connection is removed; nil while no goroutine waits
}

// pendingConn is a connection that has not logged in.
type pendingConn struct {
	address string
	since   time.Time    // when it was admitted; guarded by admission.mu
	waiting atomic.Int64 // start of the running read, in nanoseconds since 1970; 0 while none runs
	begun   atomic.Bool  // its first message has arrived
	done    atomic.Bool  // it has logged in, or ended
	drop    func(error)  // ends the connection
	in      bool         // it is counted; guarded by admission.mu
}

// newAdmission makes an admission with a limit of logged-in connections; 0 is the default.
func newAdmission(users int) *admission {
	if users <= 0 {
		users = defaultMaxUsers
	}
	return &admission{maxUsers: min(users, maxConnections), pending: map[*pendingConn]struct{}{}, byAddress: map[string]int{}}
}

// admit adds a pending connection. It waits for room, and returns false if ctx or closing ends
// first.
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

// tryAdmit adds a pending connection if there is room, perhaps in place of victim, which the caller
// must drop. Without room it returns a channel that is closed when there may be room, and how long
// to wait for it at most.
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

// slowest returns the pending connection of an address that reaches its time limit first, and the
// time until then. a.mu must be held.
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
			left = min(left, idleLimit) // it may become idle now
		}
		if left < least {
			slowest, least = p, left
		}
	}
	return slowest, least
}

// removeLocked removes a pending connection. a.mu must be held.
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

// remove removes a pending connection that has logged in or ended.
func (a *admission) remove(p *pendingConn) {
	p.done.Store(true)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.removeLocked(p)
}

// addUser counts a logged-in connection. It returns false if there are too many.
func (a *admission) addUser() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.loggedIn >= a.maxUsers {
		return false
	}
	a.loggedIn++
	return true
}

// removeUser undoes addUser.
func (a *admission) removeUser() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.loggedIn--
}

// idleMeter is the reading side of a connection. Until the login has succeeded it records how long
// the client has sent nothing.
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
