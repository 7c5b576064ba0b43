// Package meter keeps account of the memory that sessions use, of all of them together, and tells long computations that
// their request is to end. Whoever is about to allocate what a client decides the size of takes it from a [Meter] first.
//
// What small values take is not counted: it is bounded by what is.
package meter

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

const (
	// Small is the size in bytes below which a single value, row or message need not be counted.
	Small = 4 << 10
	// floor is what a session is always given, in bytes, so that those who need little are not refused when others have taken all.
	floor = 1 << 20
	// DefaultLimit is the memory of all sessions of a server unless something else is asked for, in bytes.
	DefaultLimit = 1 << 30
)

// Pool is the memory of all sessions of a server. It is safe for concurrent use.
type Pool struct {
	limit, share int64
	used         atomic.Int64
}

// NewPool returns a pool of limit bytes, of which one session may have half; 0 or less means [DefaultLimit].
func NewPool(limit int64) *Pool {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &Pool{limit: limit, share: limit / 2}
}

// Limit is the size of the pool in bytes.
func (p *Pool) Limit() int64 { return p.limit }

// Used is how many bytes the sessions have.
func (p *Pool) Used() int64 { return p.used.Load() }

// Session returns the account of a new session, which must be closed.
func (p *Pool) Session() *Meter { return &Meter{pool: p} }

// Meter is the account of one session. Nil bounds and ends nothing. Hold, Drop, Used and Close may be called by any
// goroutine, the other methods by the one that executes the session's request.
type Meter struct {
	pool *Pool

	ctx     context.Context // of the request; nil between requests
	scratch int64           // taken by Take
	kept    int64           // taken by Keep
	work    int             // since ctx was looked at last

	mu     sync.Mutex // guards what follows
	used   int64
	peak   int64 // of used since the last request began
	closed bool
}

// Begin starts a request, which ends as ctx does.
func (m *Meter) Begin(ctx context.Context) {
	if m != nil {
		m.ctx = ctx
	}
}

// End ends the request and gives back what it has taken. It returns the most that the session had at once since the last End, in
// bytes.
func (m *Meter) End() (peak int64) {
	if m == nil {
		return 0
	}
	m.Drop(m.scratch + m.kept)
	m.ctx, m.scratch, m.kept = nil, 0, 0
	m.mu.Lock()
	defer m.mu.Unlock()
	peak, m.peak = m.peak, m.used
	return peak
}

// Used is how many bytes the session has.
func (m *Meter) Used() int64 {
	if m == nil {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used
}

// Hold takes n bytes until Drop gives them back. Error 701 where there are not so many.
func (m *Meter) Hold(n int64) error {
	if m == nil || n == 0 {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return mserr.OutOfMemory()
	}
	own, all := m.used+n, m.pool.used.Add(n)
	if n > 0 && own > floor && (own > m.pool.share || all > m.pool.limit) {
		m.pool.used.Add(-n)
		return mserr.OutOfMemory()
	}
	m.used, m.peak = own, max(m.peak, own)
	return nil
}

// Drop gives back n bytes of Hold.
func (m *Meter) Drop(n int64) {
	if m == nil || n == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closed {
		m.used -= n
		m.pool.used.Add(-n)
	}
}

// Close gives everything back; nothing can be held any more.
func (m *Meter) Close() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closed {
		m.pool.used.Add(-m.used)
		m.closed, m.used = true, 0
	}
}

// Take takes n bytes until Release or the end of the request. Error 701 where there are not so many.
func (m *Meter) Take(n int) error {
	if m == nil {
		return nil
	}
	if err := m.Hold(int64(n)); err != nil {
		return err
	}
	m.scratch += int64(n)
	return nil
}

// Mark is what Release needs to give back what is taken from here on.
func (m *Meter) Mark() int64 {
	if m == nil {
		return 0
	}
	return m.scratch
}

// Release gives back what was taken since mark.
func (m *Meter) Release(mark int64) {
	if m != nil && m.scratch > mark {
		m.Drop(m.scratch - mark)
		m.scratch = mark
	}
}

// Keep takes n bytes, or gives them back when n is negative, until the end of the request and whatever is released before.
func (m *Meter) Keep(n int) error {
	if m == nil || n == 0 {
		return nil
	}
	if err := m.Hold(int64(n)); err != nil {
		return err
	}
	m.kept += int64(n)
	return nil
}

// quantum is how much work is done between two looks at the request's context: some tenths of a millisecond at most.
const quantum = 1 << 15

// Work takes note of n steps of a long computation, each of a few nanoseconds, and answers a [*Stopped] when the request is to end.
func (m *Meter) Work(n int) error {
	if m == nil {
		return nil
	}
	if m.work += n; m.work < quantum {
		return nil
	}
	m.work = 0
	return m.Err()
}

// Err is a [*Stopped] when the request is to end, nil otherwise.
func (m *Meter) Err() error {
	if m == nil || m.ctx == nil || m.ctx.Err() == nil {
		return nil
	}
	return &Stopped{context.Cause(m.ctx)}
}

// Stopped says that a computation has ended because its request is to end.
type Stopped struct{ Cause error }

// Error returns the text of the cause.
func (s *Stopped) Error() string { return s.Cause.Error() }

// Unwrap returns the cause.
func (s *Stopped) Unwrap() error { return s.Cause }
