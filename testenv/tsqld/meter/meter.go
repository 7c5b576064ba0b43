// Package meter accounts for the memory that the sessions of a server use, and ends long
// computations of requests that have been cancelled.
//
// Code that allocates an amount of memory which a client controls calls a method of [Meter] first.
// Values smaller than [Small] need not be counted.
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
	// floor is the memory in bytes that every session gets even if the pool is exhausted, so that
	// small requests still succeed then.
	floor = 1 << 20
	// DefaultLimit is the default size of a Pool in bytes.
	DefaultLimit = 1 << 30
)

// Pool is the memory that all sessions of a server share. It is safe for concurrent use.
type Pool struct {
	limit, share int64
	used         atomic.Int64

	// OnCheck, if not nil, is called before each check of a request's context, and at its end, with
	// the steps counted since the check before. Tests set it before the first session.
	OnCheck func(steps int)
}

// NewPool returns a pool of limit bytes. One session may use half of them. A limit of 0 or less
// means
// [DefaultLimit].
func NewPool(limit int64) *Pool {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &Pool{limit: limit, share: limit / 2}
}

// Limit returns the size of the pool in bytes.
func (p *Pool) Limit() int64 { return p.limit }

// Used returns the number of bytes that all sessions use.
func (p *Pool) Used() int64 { return p.used.Load() }

// Session returns the Meter of a new session. The caller must close the Meter.
func (p *Pool) Session() *Meter { return &Meter{pool: p} }

// Meter is the account of one session. A nil Meter has no limits and never reports cancellation.
// Hold, Drop, Used and Close are safe for concurrent use; the other methods are for the goroutine
// that executes the session's request.
type Meter struct {
	pool *Pool

	ctx     context.Context // context of the request; nil between requests
	scratch int64           // bytes reserved by Take
	kept    int64           // bytes reserved by Keep
	work    int             // steps since the last check of ctx

	mu     sync.Mutex // guards the fields below
	used   int64
	peak   int64 // maximum of used since the last End
	closed bool
}

// Begin starts a request. Work and Err report the cancellation of ctx.
func (m *Meter) Begin(ctx context.Context) {
	if m != nil {
		m.ctx, m.work = ctx, 0
	}
}

// End ends the request and releases the memory of Take and Keep. It returns the session's peak use
// since the last End, in bytes.
func (m *Meter) End() (peak int64) {
	if m == nil {
		return 0
	}
	m.checked()
	m.Drop(m.scratch + m.kept)
	m.ctx, m.scratch, m.kept = nil, 0, 0
	m.mu.Lock()
	defer m.mu.Unlock()
	peak, m.peak = m.peak, m.used
	return peak
}

// Used returns the number of bytes that the session uses.
func (m *Meter) Used() int64 {
	if m == nil {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used
}

// Hold reserves n bytes until Drop releases them. The error is 701 if n bytes are not available.
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

// Drop releases n bytes that Hold reserved.
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

// Close releases all memory of the session. Hold, Take and Keep fail afterwards.
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

// Take reserves n bytes until Release or the end of the request. The error is 701 if n bytes are
// not available.
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

// Mark returns a mark for Release: the amount that Take has reserved so far.
func (m *Meter) Mark() int64 {
	if m == nil {
		return 0
	}
	return m.scratch
}

// Release releases the bytes that Take has reserved since mark.
func (m *Meter) Release(mark int64) {
	if m != nil && m.scratch > mark {
		m.Drop(m.scratch - mark)
		m.scratch = mark
	}
}

// Keep reserves n bytes until the end of the request; Release does not affect them. A negative n
// releases bytes that Keep reserved.
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

// quantum is the number of steps between two checks of the request's context. It takes less than a
// millisecond.
const quantum = 1 << 15

// Work counts n steps of a long computation; a step takes a few nanoseconds. After each quantum of
// steps it checks the request's context, and returns a [*Stopped] if the context is cancelled.
func (m *Meter) Work(n int) error {
	if m == nil {
		return nil
	}
	if m.work += n; m.work < quantum {
		return nil
	}
	return m.Err()
}

// Err returns a [*Stopped] if the request's context is cancelled, otherwise nil.
func (m *Meter) Err() error {
	if m == nil || m.ctx == nil {
		return nil
	}
	m.checked()
	if m.ctx.Err() == nil {
		return nil
	}
	return &Stopped{context.Cause(m.ctx)}
}

// checked begins to count the steps until the next check.
func (m *Meter) checked() {
	if m.pool.OnCheck != nil {
		m.pool.OnCheck(m.work)
	}
	m.work = 0
}

// Stopped is the error of a computation that ended because its request was cancelled.
type Stopped struct{ Cause error }

// Error returns the text of the cause.
func (s *Stopped) Error() string { return s.Cause.Error() }

// Unwrap returns the cause.
func (s *Stopped) Unwrap() error { return s.Cause }
