package web

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/web/page"
)

// What failed may be tried again; what succeeded is not done again; and what is under way is waited
// for.
func TestOperations(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var o operations
		var calls atomic.Int32
		act := func(err error) func() (*page.Done, error) {
			return func() (*page.Done, error) {
				n := calls.Add(1)
				time.Sleep(time.Second)
				return &page.Done{Notice: fmt.Sprint(n)}, err
			}
		}
		_, err := o.do(t.Context(), "a", act(errors.New("refused")))
		require.EqualError(t, err, "refused")
		go func() { _, _ = o.do(t.Context(), "a", act(nil)) }()
		synctest.Wait()
		done, err := o.do(t.Context(), "a", act(nil))
		require.NoError(t, err)
		require.Equal(t, "2", done.Notice)
		require.EqualValues(t, 2, calls.Load())
		_, err = o.do(t.Context(), "b", act(nil))
		require.NoError(t, err)
		require.EqualValues(t, 3, calls.Load())

		go func() { _, _ = o.do(t.Context(), "c", act(nil)) }()
		synctest.Wait()
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = o.do(gone, "c", act(nil))
		require.ErrorIs(t, err, context.Canceled)

		require.Panics(t, func() { _, _ = o.do(t.Context(), "p", func() (*page.Done, error) { panic("x") }) })
		_, err = o.do(t.Context(), "p", act(nil))
		require.NoError(t, err, "a panic leaves nothing behind")
	})
}

func TestOperationsAreBounded(t *testing.T) {
	t.Parallel()
	var o operations
	for i := range 3 * maxOperations {
		_, err := o.do(t.Context(), fmt.Sprint(i), func() (*page.Done, error) { return &page.Done{}, nil })
		require.NoError(t, err)
	}
	require.LessOrEqual(t, len(o.known), maxOperations)
}
