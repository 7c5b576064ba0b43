package misses

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/jobagent/jobagent/agent/rest/internal/listen"
)

// Gate bounds work that unauthenticated callers can cause, such as the hash of a password. It
// refuses no request, but makes requests wait. Networks with many misses in this window and in the
// last one, and networks with much work under way, share a few of the slots; all others have the
// remaining slots. A free slot goes to the request that came last: many networks at once can delay
// a later request only by the work that is under way. A Gate is safe for concurrent use.
type Gate struct {
	few   chan struct{} // one value for each piece of work that shares the few slots
	share int           // work of one network that is admitted without the few slots
	limit int           // misses of a network in two windows beyond which it shares the few slots

	mu        sync.Mutex
	free      int             // slots
	waiting   []chan struct{} // closed when the slot is the waiter's; the last one is the next
	since     time.Time       // when the current window began
	now, last map[netip.Prefix]int
	under     map[netip.Prefix]int // work under way or waiting; its size is that of the requests
}

// NewGate returns a Gate with slots for work. Of these, few are shared by networks that have missed
// limit times, or have more than share pieces of work under way or waiting.
func NewGate(slots, few, share, limit int) *Gate {
	return &Gate{
		free: slots, few: make(chan struct{}, few), share: share, limit: limit,
		now: map[netip.Prefix]int{}, last: map[netip.Prefix]int{}, under: map[netip.Prefix]int{},
	}
}

// Enter waits for a slot. remote is the sender's host:port. The caller calls leave when the work
// has ended, with true if it was a miss. The error is the context's; then there is nothing to
// leave.
func (g *Gate) Enter(ctx context.Context, remote string) (leave func(missed bool), err error) {
	from := listen.Network(remote)
	suspect := g.begin(from)
	if suspect {
		select {
		case g.few <- struct{}{}:
		case <-ctx.Done():
			g.end(from, false)
			return nil, context.Cause(ctx)
		}
	}
	release := func(missed bool) {
		g.end(from, missed)
		if suspect {
			<-g.few
		}
	}
	if !g.take(ctx) {
		release(false)
		return nil, context.Cause(ctx)
	}
	return func(missed bool) {
		g.give()
		release(missed)
	}, nil
}

// take waits for a slot. It returns false, without a slot, if ctx is done first.
func (g *Gate) take(ctx context.Context) bool {
	g.mu.Lock()
	if g.free > 0 {
		g.free--
		g.mu.Unlock()
		return true
	}
	turn := make(chan struct{})
	g.waiting = append(g.waiting, turn)
	g.mu.Unlock()
	select {
	case <-turn:
		return true
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	at := slices.Index(g.waiting, turn)
	if at < 0 {
		return true // the slot came at the same time
	}
	g.waiting = slices.Delete(g.waiting, at, at+1)
	return false
}

// give gives a slot to the last one who waits.
func (g *Gate) give() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n := len(g.waiting); n > 0 {
		close(g.waiting[n-1])
		g.waiting = g.waiting[:n-1]
		return
	}
	g.free++
}

// begin counts a request of a network, and reports whether the request needs one of the few slots.
func (g *Gate) begin(from netip.Prefix) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.turn()
	g.under[from]++
	return g.under[from] > g.share || g.now[from]+g.last[from] >= g.limit
}

// end ends a request of a network.
func (g *Gate) end(from netip.Prefix, missed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.under[from]--; g.under[from] == 0 {
		delete(g.under, from)
	}
	g.turn()
	if missed && (g.now[from] > 0 || len(g.now) < maxEntries) {
		g.now[from]++
	}
}

// turn begins a new window when the current one has passed. g.mu must be held.
func (g *Gate) turn() {
	now := time.Now()
	switch passed := now.Sub(g.since); {
	case passed < Window:
		return
	case passed < 2*Window:
		g.last = g.now
	default:
		g.last = map[netip.Prefix]int{}
	}
	g.since, g.now = now, map[netip.Prefix]int{}
}
