package tsqld

import (
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPipeMovesBytesBothWays(t *testing.T) {
	t.Parallel()
	a, b := newPipe("a", "b")
	require.Equal(t, "pipe", a.LocalAddr().Network())
	require.Equal(t, []string{"a", "b", "b", "a"}, []string{a.LocalAddr().String(), a.RemoteAddr().String(), b.LocalAddr().String(), b.RemoteAddr().String()})
	big := make([]byte, 5*pipeBuffer)
	for i := range big {
		big[i] = byte(i * 7)
	}
	go func() {
		n, err := a.Write(big)
		if n != len(big) || err != nil {
			t.Errorf("wrote %d: %v", n, err)
		}
		a.CloseWrite()
	}()
	got, err := io.ReadAll(b)
	require.NoError(t, err)
	require.Equal(t, big, got)
	_, err = b.Write([]byte("x")) // half closed: the other direction works
	require.NoError(t, err)
	require.NoError(t, b.Close())
	got, err = io.ReadAll(a)
	require.NoError(t, err)
	require.Equal(t, "x", string(got))
	_, err = a.Write([]byte("y"))
	require.ErrorIs(t, err, net.ErrClosed)
	_, err = b.Read(make([]byte, 1))
	require.ErrorIs(t, err, net.ErrClosed)
}

func TestPipeWriteAfterTheReaderClosed(t *testing.T) {
	t.Parallel()
	a, b := newPipe("a", "b")
	require.NoError(t, b.Close())
	_, err := a.Write([]byte("y"))
	require.ErrorIs(t, err, io.ErrClosedPipe)
	_, err = a.Read(make([]byte, 1))
	require.Equal(t, io.EOF, err)
}

func TestPipeDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newPipe("a", "b")
		defer a.Close()
		defer b.Close()
		start := time.Now()
		require.NoError(t, a.SetReadDeadline(start.Add(time.Minute)))
		_, err := a.Read(make([]byte, 1))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Equal(t, time.Minute, time.Since(start))
		var timeout net.Error
		require.ErrorAs(t, err, &timeout)
		require.True(t, timeout.Timeout())

		require.NoError(t, a.SetDeadline(start.Add(time.Hour)))
		_, err = a.Write(make([]byte, pipeBuffer+1))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Equal(t, time.Hour, time.Since(start))

		require.NoError(t, a.SetReadDeadline(time.Time{}))
		go func() {
			time.Sleep(time.Second)
			_, _ = b.Write([]byte("x"))
		}()
		n, err := a.Read(make([]byte, 8))
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.NoError(t, a.SetReadDeadline(start))
		_, err = a.Read(make([]byte, 1))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded, "a deadline in the past holds at once")
	})
}
