package agent

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// claim claims as an agent with so much waiting work, and returns how many tasks it got.
func claim(s *share, waiting int) int {
	n := s.reserve(1000)
	got := min(n, waiting)
	s.settle(n, got)
	return got
}

// fill claims until nothing more is granted.
func fill(s *share, waiting int) (total int) {
	for {
		n := claim(s, waiting)
		if n == 0 {
			return total
		}
		total, waiting = total+n, waiting-n
	}
}

func newTestBudget(t *testing.T, workers int) *Budget {
	t.Helper()
	b, err := NewBudget(workers)
	require.NoError(t, err)
	return b
}

func TestBudgetOfOneAgentIsWhole(t *testing.T) {
	t.Parallel()
	s := newTestBudget(t, 100).join()
	require.Equal(t, 100, fill(s, 10_000))
	s.release()
	require.Equal(t, 1, fill(s, 10_000))
	var none *share
	require.Equal(t, 7, none.reserve(7))
}

// An agent with much work borrows all that the others leave above their floors, and gives it back
// to a second borrower as its tasks end.
func TestBudgetIsLentFairly(t *testing.T) {
	t.Parallel()
	b := newTestBudget(t, 100)
	big, small, idle := b.join(), b.join(), b.join()
	require.Equal(t, 16+52, fill(big, 10_000), "its floor and the whole rest")
	require.Equal(t, 1, fill(small, 1), "a short job starts at once")
	require.Equal(t, 15, fill(small, 10_000), "the floor")
	for range 26 {
		big.release()
		require.Zero(t, claim(big, 10_000), "it has more than its part")
		require.Equal(t, 1, claim(small, 10_000))
	}
	big.release()
	require.Equal(t, 1, claim(big, 10_000))
	require.Zero(t, claim(small, 10_000))
	require.Equal(t, 16, fill(idle, 10_000), "the floor of an agent is never lent")
}

// A new agent has its floor at once, also when everything is lent, and more agents than workers
// have one worker each.
func TestBudgetGuaranteesFloors(t *testing.T) {
	t.Parallel()
	b := newTestBudget(t, 4)
	require.Equal(t, 4, fill(b.join(), 10_000))
	for range 10 {
		require.Equal(t, 1, fill(b.join(), 1))
	}
}

// No floor is denied, and no more than the budget is used, unless agents have joined.
func TestBudgetInvariants(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		b := newTestBudget(t, 1+rng.IntN(50))
		shares := make([]*share, 1+rng.IntN(6))
		for i := range shares {
			shares[i] = b.join()
		}
		for range 300 {
			s := shares[rng.IntN(len(shares))]
			floor := b.floor()
			if rng.IntN(3) == 0 && s.used > 0 {
				s.release()
				continue
			}
			want, before := rng.IntN(20), s.used
			n := s.reserve(want)
			require.GreaterOrEqual(t, n, min(want, floor-before))
			s.settle(n, rng.IntN(n+1))
			total := 0
			for _, one := range shares {
				require.GreaterOrEqual(t, one.used, 0)
				total += one.used
			}
			require.LessOrEqual(t, total, max(b.total, len(shares)))
		}
	}
	for _, workers := range []int{0, 10_001} {
		_, err := NewBudget(workers)
		require.ErrorContains(t, err, "want 1 to 10000")
	}
	newTestBudget(t, 10_000)
}

// An agent that has borrowed counts as a borrower until it has given everything back, so that
// another one does not take its part. An agent that asks for nothing says nothing of its work.
func TestBudgetCountsBorrowers(t *testing.T) {
	t.Parallel()
	b := newTestBudget(t, 100)
	first, second := b.join(), b.join()
	require.Equal(t, 75, fill(first, 75))
	first.release()
	require.Zero(t, claim(first, 0))
	require.False(t, first.borrows)
	for range 44 {
		first.release()
	}
	require.Equal(t, 25+25, fill(second, 10_000), "its floor, and half of what is lent")

	idle := newTestBudget(t, 10).join()
	idle.settle(idle.reserve(3), 1)
	require.False(t, idle.borrows)
	idle.settle(0, 0)
	require.False(t, idle.borrows)
}
