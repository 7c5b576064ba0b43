package tdsguard

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// costFactor is what a byte of a large value costs while the driver reads it: a buffer that is doubled and copied, the text's code points, and
// the text itself. Measured: see the package's tests.
const costFactor = 7

// evictAfter is how long an account waits for memory before the one that has held the most, or the longest, loses it.
const evictAfter = 15 * time.Second

// Budget bounds the memory that rows of targets take in all connections together. Rows above some kilobytes are accounted for from their
// first byte in the driver until their reader is done with them. Safe for concurrent use.
//
// Half of it is for one account at a time, which has waited for memory while it held some: it can always finish its row, so that
// accounts never wait for each other in a circle.
type Budget struct {
	mu      sync.Mutex
	most    int64 // for rows
	used    int64
	columns int64 // used for descriptions of result sets
	favored *Account
	members map[*Account]struct{}
	changed chan struct{} // closed when something was given back
}

// maxDescriptions bounds the descriptions of result sets of all accounts together. One has some kilobytes.
const maxDescriptions = 24 << 20

// NewBudget makes a budget of so many bytes.
func NewBudget(size int64) *Budget {
	return &Budget{most: size, members: map[*Account]struct{}{}, changed: make(chan struct{})}
}

// MinBudget is the smallest budget for rows of rowBytes: one row that is read, and another.
func MinBudget(rowBytes int64) int64 { return 2 * costFactor * rowBytes }

// errCut is what a wait for memory ends with when the connection was cut.
var errCut = errors.New("the connection was cut")

// Account is what one connection holds of a budget. A nil Account has no bounds. Safe for concurrent use.
type Account struct {
	budget *Budget
	evict  func(error)

	// All below belongs to budget.mu.
	current int64 // reserved for the row that is being read
	since   time.Time
	queue   []reservation // of rows that were read, the oldest first
	rows    int64         // read so far
	taken   int64         // done with
	columns int64
	err     error
	cut     chan struct{}
}

// reservation is what a row has reserved.
type reservation struct {
	row   int64 // its number
	bytes int64
	since time.Time
}

// Account opens an account. evict is called, in a goroutine of somebody else, when it must give back what it holds because others have waited for
// long: the connection has to be cut.
func (b *Budget) Account(evict func(error)) *Account {
	a := &Account{budget: b, evict: evict, cut: make(chan struct{})}
	b.mu.Lock()
	b.members[a] = struct{}{}
	b.mu.Unlock()
	return a
}

// Close gives back what is held, and ends a wait.
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

// Taken says that the reader is done with one more row.
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

// row says that the row that was being read is whole.
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

// held is what rows have reserved. The lock is held.
func (a *Account) held() int64 {
	n := a.current
	for _, p := range a.queue {
		n += p.bytes
	}
	return n
}

// given wakes who waits. The lock is held.
func (b *Budget) notify(a *Account) {
	if b.favored == a && a.held() == 0 {
		b.favored = nil
	}
	close(b.changed)
	b.changed = make(chan struct{})
}

// reserve takes memory for n bytes of the current row, and waits for it.
func (a *Account) reserve(n int64) error {
	if a == nil {
		return nil
	}
	b, cost := a.budget, n*costFactor
	return b.wait(a, func() bool {
		others := b.used // but for the favored's
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
	}, func(m *Account) int64 { // the one that has held for the longest
		var held time.Duration
		switch {
		case len(m.queue) > 0:
			held = time.Since(m.queue[0].since)
		case m.current > 0:
			held = time.Since(m.since)
		}
		if held < evictAfter {
			return 0 // memory moves; there is only much to do
		}
		return int64(held)
	})
}

// describe makes the description of the current result set cost total bytes, and waits for them.
func (a *Account) describe(total int64) error {
	if a == nil {
		return nil
	}
	b := a.budget
	if total > maxDescriptions {
		return &Exceeded{Limit: "buffer_bytes", Max: b.most, What: fmt.Sprintf("the columns of a result set take more than %d bytes", maxDescriptions)}
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

// wait asks until there is room. Whoever has waited for long has the account evicted that weighs most.
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
			b.evictHeaviest(weight)
			timer.Reset(evictAfter)
		}
	}
}

// evictHeaviest takes from the account that weighs most what it holds, as soon as its connection is cut.
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
		worst.err = &Exceeded{Limit: "buffer_bytes", Max: b.most, What: "rows of other targets waited for memory that this one held"}
	}
	b.mu.Unlock()
	if worst != nil {
		worst.evict(worst.err)
	}
}
