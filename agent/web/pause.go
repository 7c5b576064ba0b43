package web

import (
	"context"
	"sync"
	"time"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/identity"
)

const (
	// pauseKept is how long a page may show that a control database was paused, or was not. All
	// viewers share a read.
	pauseKept = 5 * time.Second
	// pauseTime bounds a read. A page is shown without the banner rather than late.
	pauseTime = 2 * time.Second
)

// pauseReader knows whether a control database is paused, for the banner of its pages.
type pauseReader struct {
	mu    sync.Mutex // held during a read
	at    time.Time  // of the last read; zero: none
	known identity.Identity
}

// read returns the identity of a control database, at most pauseKept old. If the read fails, it
// returns the one before: the page itself says that the control database is away.
func (p *pauseReader) read(ctx context.Context, store *controldb.Store, now time.Time) identity.Identity {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.at.IsZero() && now.Sub(p.at) < pauseKept {
		return p.known
	}
	ctx, cancel := context.WithTimeout(ctx, pauseTime)
	defer cancel()
	p.at = now
	if i, err := identity.On(store).Read(ctx); err == nil {
		p.known = i
	}
	return p.known
}
