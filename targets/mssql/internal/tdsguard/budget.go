package tdsguard

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// costFactor is the memory cost of a byte of a large value while the driver reads it: a buffer that
// is doubled and copied, the text's code points, and the text itself. The package's tests measure
// it.
const costFactor = 7

// evictAfter is how long an account waits for memory before the account with the heaviest load is
// evicted.
const evictAfter = 15 * time.Second

// Budget bounds the memory for rows of targets in all connections together. A row above freeRow is
// accounted for from its first byte in the driver until its reader has finished it. Safe for
// concurrent use.
//
// Half of the budget is reserved for one favored account at a time: one that had to wait for memory
// while it held some. That account can always finish its row, so that accounts never wait for each
// other in a circle.
type Budget struct {
	mu      sync.Mutex
	most    int64 // size, for rows
	used    int64
	columns int64 // bytes for descriptions of result sets
	favored *Account
	members map[*Account]struct{}
	changed chan struct{} // closed when memory was released
	patient bool          // no account is evicted
}

// maxDescriptions bounds the descriptions of result sets of all accounts together. One description
// takes a few kilobytes.
const maxDescriptions = 24 << 20

// NewBudget returns a budget of size bytes.
func NewBudget(size int64) *Budget {
	return &Budget{most: size, members: map[*Account]struct{}{}, changed: make(chan struct{})}
}

// NewPatientBudget returns a budget that evicts no account: all rows have the same reader, which
// may take its time.
func NewPatientBudget(size int64) *Budget {
	b := NewBudget(size)
	b.patient = true
	return b
}

// MinBudget returns the smallest budget for rows of rowBytes: one row that is being read, and
// another.
func MinBudget(rowBytes int64) int64 { return 2 * costFactor * rowBytes }

// errCut ends a wait for memory when the connection was cut.
var errCut = errors.New("the connection was cut")

// Account is the memory that one connection holds of a budget. A nil Account has no bounds. Safe
// for concurrent use.
type Account struct {
	budget *Budget
	evict  func(error)

	// budget.mu guards the fields below.
	current int64 // reserved for the row being read
	since   time.Time
	queue   []reservation // rows that were read, oldest first
	rows    int64         // rows read
	taken   int64         // rows finished by their reader
	columns int64
	err     error
	cut     chan struct{}
}

// reservation is the memory of one row.
type reservation struct {
	row   int64 // number of the row
	bytes int64
	since time.Time
}

// Account opens an account. evict is called, in another goroutine, when the account must release
// its memory because other accounts have waited for evictAfter. It must cut the connection.
func (b *Budget) Account(evict func(error)) *Account {
	a := &Account{budget: b, evict: evict, cut: make(chan struct{})}
	b.mu.Lock()
	b.members[a] = struct{}{}
	b.mu.Unlock()
	return a
}

// Close releases all memory and ends a wait.
func (a *Account) Close() {
	if a == nil {
		return
	}
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, open := b.members[a]; !open {
		return
	}
	delete(b.members, a)
	b.columns -= a.columns
	b.used -= a.held()
	a.columns, a.current, a.queue = 0, 0, nil
	if a.err == nil {
		a.err = errCut
	}
	close(a.cut)
	b.notify(a)
}

// RowDone reports that the reader has finished one more row.
func (a *Account) RowDone() {
	if a == nil {
		return
	}
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	a.taken++
	for len(a.queue) > 0 && a.queue[0].row <= a.taken {
		b.used -= a.queue[0].bytes
		a.queue = a.queue[1:]
		b.notify(a)
	}
}

// row reports that the current row is complete.
func (a *Account) row() {
	if a == nil {
		return
	}
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	a.rows++
	if a.current > 0 {
		a.queue = append(a.queue, reservation{a.rows, a.current, a.since})
		a.current = 0
	}
}

// held returns the memory of the account's rows; budget.mu must be held.
func (a *Account) held() int64 {
	n := a.current
	for _, p := range a.queue {
		n += p.bytes
	}
	return n
}

// notify wakes the waiting accounts after a has released memory; b.mu must be held.
func (b *Budget) notify(a *Account) {
	if b.favored == a && a.held() == 0 {
		b.favored = nil
	}
	close(b.changed)
	b.changed = make(chan struct{})
}

// reserve reserves memory for n bytes of the current row, and waits for it.
func (a *Account) reserve(n int64) error {
	if a == nil {
		return nil
	}
	b, cost := a.budget, n*costFactor
	return b.wait(a, func() bool {
		others := b.used // used by accounts other than the favored one
		if b.favored != nil {
			others -= b.favored.held()
		}
		switch {
		case b.favored != a && others+cost <= b.most/2:
		case b.favored == nil || b.favored == a:
			b.favored = a
			if b.used+cost > b.most {
				return false
			}
		default:
			return false
		}
		if a.current == 0 {
			a.since = time.Now()
		}
		b.used += cost
		a.current += cost
		return true
	}, func(m *Account) int64 { // weight: how long the memory has been held
		var held time.Duration
		switch {
		case len(m.queue) > 0:
			held = time.Since(m.queue[0].since)
		case m.current > 0:
			held = time.Since(m.since)
		}
		if held < evictAfter {
			return 0 // memory is released; the load is only high
		}
		return int64(held)
	})
}

// describe reserves total bytes for the description of the current result set, and waits for them.
func (a *Account) describe(total int64) error {
	if a == nil {
		return nil
	}
	b := a.budget
	if total > maxDescriptions {
		what := fmt.Sprintf("the columns of a result set take more than %d bytes", maxDescriptions)
		return &Exceeded{Limit: "buffer_bytes", Max: b.most, What: what}
	}
	return b.wait(a, func() bool {
		more := total - a.columns
		if more > 0 && b.columns+more > maxDescriptions {
			return false
		}
		a.columns += more
		b.columns += more
		if more < 0 {
			b.notify(a)
		}
		return true
	}, func(m *Account) int64 { return m.columns })
}

// wait calls ask until it returns true. After each evictAfter, the account with the greatest weight
// is evicted.
func (b *Budget) wait(a *Account, ask func() bool, weight func(*Account) int64) error {
	var timer *time.Timer
	for {
		b.mu.Lock()
		if a.err != nil {
			b.mu.Unlock()
			return a.err
		}
		if ask() {
			b.mu.Unlock()
			return nil
		}
		changed := b.changed
		b.mu.Unlock()
		if timer == nil {
			timer = time.NewTimer(evictAfter)
			defer timer.Stop()
		}
		select {
		case <-changed:
		case <-a.cut:
		case <-timer.C:
			if !b.patient {
				b.evictHeaviest(weight)
			}
			timer.Reset(evictAfter)
		}
	}
}

// evictHeaviest evicts the account with the greatest weight. Its memory is released when its
// connection has been cut.
func (b *Budget) evictHeaviest(weight func(*Account) int64) {
	b.mu.Lock()
	var worst *Account
	most := int64(0)
	for m := range b.members {
		if w := weight(m); w > most && m.err == nil {
			worst, most = m, w
		}
	}
	if worst != nil {
		what := "rows of other targets waited for memory that this one held"
		worst.err = &Exceeded{Limit: "buffer_bytes", Max: b.most, What: what}
	}
	b.mu.Unlock()
	if worst != nil {
		worst.evict(worst.err)
	}
}
