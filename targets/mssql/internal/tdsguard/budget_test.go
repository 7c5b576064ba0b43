package tdsguard

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

const row = 1 << 20 // of the tests' largest rows

// Accounts that each hold a part of their row and need more get it one after the other. They do not
// wait in a circle, and none is evicted.
func TestBudgetHasNoCircles(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(MinBudget(row))
		var all sync.WaitGroup
		for range 20 {
			a := b.Account(func(err error) { t.Errorf("evicted: %v", err) })
			all.Go(func() {
				defer a.Close()
				for range 5 {
					for range 8 {
						if err := a.reserve(row / 8); err != nil {
							t.Error(err)
						}
						time.Sleep(10 * time.Millisecond)
					}
					a.row()
					time.Sleep(10 * time.Millisecond)
					a.RowDone()
				}
			})
		}
		all.Wait()
		require.Zero(t, b.used)
		require.Nil(t, b.favored)
	})
}

// An account that holds memory without an end is evicted when another account waits, and not
// before.
func TestBudgetEvictsWhoHoldsForLongest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(MinBudget(row))
		evicted := make(chan error, 1)
		var hog *Account
		hog = b.Account(func(err error) {
			evicted <- err
			hog.Close() // as a cut connection does
		})
		require.NoError(t, hog.reserve(row))
		other := b.Account(func(err error) { t.Errorf("evicted: %v", err) })
		time.Sleep(time.Hour)
		require.Empty(t, evicted)
		require.NoError(t, other.reserve(row))
		other.row()
		start := time.Now()
		third := b.Account(func(err error) { t.Errorf("evicted: %v", err) })
		require.NoError(t, third.reserve(row))
		require.Equal(t, evictAfter, time.Since(start))
		var exceeded *Exceeded
		require.ErrorAs(t, <-evicted, &exceeded)
		require.Equal(t, "buffer_bytes", exceeded.Limit)
		require.ErrorAs(t, hog.reserve(1), &exceeded)
	})
}

// A cut connection stops waiting and releases its memory.
func TestBudgetOfCutConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(MinBudget(row))
		one, two := b.Account(nil), b.Account(nil)
		require.NoError(t, one.reserve(row))
		require.NoError(t, two.reserve(row))
		waits := b.Account(nil)
		time.AfterFunc(time.Second, waits.Close)
		start := time.Now()
		require.ErrorIs(t, waits.reserve(1), errCut)
		require.Equal(t, time.Second, time.Since(start))
		one.Close()
		two.Close()
		two.Close()
		require.Zero(t, b.used)
		require.Empty(t, b.members)
		require.True(t, errors.Is(one.reserve(1), errCut))
	})
}

// Descriptions of result sets have a bound of their own, over all connections.
func TestBudgetOfDescriptions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(MinBudget(row))
		var evicted error
		var hog *Account
		hog = b.Account(func(err error) {
			evicted = err
			hog.Close()
		})
		require.NoError(t, hog.describe(maxDescriptions-100))
		small := b.Account(nil)
		require.NoError(t, small.describe(100))
		require.NoError(t, small.describe(50), "the next result set is smaller")
		require.NoError(t, small.describe(80))
		require.NoError(t, evicted)
		require.NoError(t, small.describe(200), "the largest gives way")
		require.Error(t, evicted)
		require.ErrorContains(t, small.describe(maxDescriptions+1), "the columns of a result set take more than")
		small.Close()
		require.Zero(t, b.columns)
	})
}
