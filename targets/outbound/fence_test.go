package outbound_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets/outbound"
)

// pipe returns a network whose only host is the other end of a pipe.
func pipe(t *testing.T) (*outbound.Network, net.Conn) {
	t.Helper()
	near, far := net.Pipe()
	t.Cleanup(func() { _, _ = near.Close(), far.Close() })
	return network(t, outbound.Config{
		Resolver: names{"h.example": {"8.8.8.8"}},
		Dialer:   func(context.Context, string, string) (net.Conn, error) { return near, nil },
	}), far
}

func TestFenceBeginsBeforeTheFirstByte(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, far := pipe(t)
		var received atomic.Int64
		done := make(chan struct{})
		go func() {
			defer close(done)
			n, _ := io.Copy(io.Discard, far)
			received.Add(n)
		}()
		begun := 0
		fence := outbound.NewFence(t.Context(), func(context.Context) (time.Time, error) {
			begun++
			require.Zero(t, received.Load(), "begin is called before the first byte")
			return time.Now().Add(time.Minute), nil
		})
		c, err := n.For(fence, nil).Dial(t.Context(), "h.example:80")
		require.NoError(t, err)
		require.Zero(t, begun, "a connection alone does not begin")
		require.False(t, fence.Sent())
		for range 2 {
			_, err = c.Write([]byte("abc"))
			require.NoError(t, err)
		}
		require.Equal(t, 1, begun)
		time.Sleep(time.Minute)
		_, err = c.Write([]byte("abc"))
		require.ErrorIs(t, err, outbound.ErrLeaseEnded, "the instant has passed")
		fence.Close()
		<-done
		require.EqualValues(t, 6, received.Load())
		require.True(t, fence.Sent())
		_, err = c.Write([]byte("abc"))
		require.ErrorIs(t, err, outbound.ErrAttemptEnded)
	})
}

func TestFenceRefuses(t *testing.T) {
	t.Parallel()
	errRefused := errors.New("the term has ended")
	for name, begin := range map[string]func(context.Context) (time.Time, error){
		"begin fails":       func(context.Context) (time.Time, error) { return time.Time{}, errRefused },
		"the lease is over": func(context.Context) (time.Time, error) { return time.Now().Add(-time.Nanosecond), nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, _ := pipe(t)
			fence := outbound.NewFence(t.Context(), begin)
			c, err := n.For(fence, nil).Dial(t.Context(), "h.example:80")
			require.NoError(t, err)
			for range 2 {
				var refused *outbound.FenceError
				_, err = c.Write([]byte("abc"))
				require.ErrorAs(t, err, &refused)
			}
			fence.Close()
			require.False(t, fence.Sent())
			_, err = n.For(fence, nil).Dial(t.Context(), "h.example:80")
			require.ErrorIs(t, err, outbound.ErrAttemptEnded)
		})
	}
}

// A write that fails before its first byte does not count as sent.
func TestFenceCountsBytesThatLeft(t *testing.T) {
	t.Parallel()
	n, far := pipe(t)
	fence := outbound.NewFence(t.Context(), nil)
	c, err := n.For(fence, nil).Dial(t.Context(), "h.example:80")
	require.NoError(t, err)
	require.NoError(t, far.Close())
	_, err = c.Write([]byte("abc"))
	require.ErrorIs(t, err, io.ErrClosedPipe)
	fence.Close()
	require.False(t, fence.Sent())
}

// Close waits for a write that is under way, so that Sent is final.
func TestFenceCloseEndsAWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, far := pipe(t)
		fence := outbound.NewFence(t.Context(), nil)
		c, err := n.For(fence, nil).Dial(t.Context(), "h.example:80")
		require.NoError(t, err)
		failed := make(chan error, 1)
		go func() {
			_, err := c.Write([]byte("abc"))
			failed <- err
		}()
		_, err = far.Read(make([]byte, 1))
		require.NoError(t, err)
		synctest.Wait() // the write waits for the other two bytes to be read
		fence.Close()
		require.ErrorIs(t, <-failed, io.ErrClosedPipe)
		require.True(t, fence.Sent())
	})
}
