package agent

import (
	"fmt"
	"sync"
)

// Budget shares a number of workers among the agents of one process. Each agent works for one
// control database (DESIGN.md, "Several control databases"). It is safe for concurrent use.
//
// Half of the budget is divided into floors: an agent always gets tasks for as many workers as its
// floor, however much work the others have. The rest is lent, in equal parts, to agents that have
// more work. A single agent has the whole budget.
type Budget struct {
	total int

	mu     sync.Mutex
	shares map[*share]struct{}
}

// NewBudget returns a budget of workers.
func NewBudget(workers int) (*Budget, error) {
	if workers < 1 || workers > 10_000 {
		return nil, fmt.Errorf("invalid number of shared workers %d: want 1 to 10000", workers)
	}
	return &Budget{total: workers, shares: map[*share]struct{}{}}, nil
}

// share is the part of one agent in a budget. A nil share is unlimited.
type share struct {
	budget *Budget
	// used counts the tasks that were asked for, wait for a worker or are carried out. used and
	// borrows are guarded by the budget's mutex.
	used int
	// borrows is true if the last claim got all the tasks that it asked for, so that there may be
	// more.
	borrows bool
}

// join adds an agent. The agent may use its floor at once, even if all workers are lent; then more
// tasks than the budget run until other agents have finished as many.
func (b *Budget) join() *share {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &share{budget: b}
	b.shares[s] = struct{}{}
	return s
}

// leave removes an agent whose tasks have all ended.
func (s *share) leave() {
	if s == nil {
		return
	}
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	delete(s.budget.shares, s)
}

// floor returns how many tasks each agent may always have. b.mu must be held.
func (b *Budget) floor() int {
	n := len(b.shares)
	if n <= 1 {
		return b.total
	}
	return max(1, b.total/(2*n))
}

// room returns how many more tasks an agent may claim now. b.mu must be held.
func (s *share) room() int {
	b := s.budget
	floor := b.floor()
	own := max(0, floor-s.used)
	if !s.borrows {
		return own
	}
	lent, borrowers := 0, 0
	for other := range b.shares {
		lent += max(0, other.used-floor)
		if other.borrows || other.used > floor {
			borrowers++
		}
	}
	rest := max(0, b.total-floor*len(b.shares)) // to lend
	loan := max(0, s.used-floor)
	fair := (rest + borrowers - 1) / borrowers
	return own + max(0, min(rest-lent, fair-loan))
}

// parts returns the number of workers that the agent always has, and the number that it has beyond
// them. Without a budget, all workers are the agent's.
func (s *share) parts(workers int) (floor, lent int) {
	if s == nil {
		return workers, 0
	}
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	floor = s.budget.floor()
	return floor, max(0, s.used-floor)
}

// reserve reserves up to want tasks for a claim and returns how many. settle must follow.
func (s *share) reserve(want int) int {
	if s == nil {
		return want
	}
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	n := min(want, s.room())
	s.used += n
	return n
}

// available returns how many of want tasks reserve would grant.
func (s *share) available(want int) int {
	if s == nil {
		return want
	}
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	return min(want, s.room())
}

// settle records how many of the reserved tasks a claim has returned. It may have returned more,
// because claims whose answer was lost are returned again.
func (s *share) settle(reserved, claimed int) {
	if s == nil {
		return
	}
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	s.used += claimed - reserved
	if reserved > 0 {
		s.borrows = claimed >= reserved
	}
}

// release records that a task has ended.
func (s *share) release() {
	if s == nil {
		return
	}
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	s.used--
}
