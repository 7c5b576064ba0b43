package testenv_test

import (
	"bufio"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/fault"
)

// echo starts a server that returns its input, and returns the server's address.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(c, c) // until the client closes the connection
				_ = c.Close()
			}()
		}
	}()
	t.Cleanup(func() {
		require.NoError(t, l.Close())
		<-ended
	})
	return l.Addr().String()
}

func TestProxyForwardsHoldsAndCuts(t *testing.T) {
	p, err := fault.NewProxy(echo(t), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	say := func(c net.Conn, what string) (string, error) {
		if _, err := io.WriteString(c, what+"\n"); err != nil {
			return "", err
		}
		return bufio.NewReader(c).ReadString('\n')
	}
	dial := func() net.Conn {
		c, err := net.Dial("tcp", p.Address())
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	c := dial()
	answer, err := say(c, "hello")
	require.NoError(t, err)
	require.Equal(t, "hello\n", answer)

	p.Network.Silence()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	_, err = say(c, "held")
	require.ErrorContains(t, err, "timeout")
	p.Network.Heal()
	require.NoError(t, c.SetReadDeadline(time.Time{}))
	answer, err = bufio.NewReader(c).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "held\n", answer)

	p.Network.Cut()
	_, err = say(c, "cut")
	require.Error(t, err)
	_, err = say(dial(), "refused")
	require.Error(t, err)
	p.Network.Heal()
	answer, err = say(dial(), "again")
	require.NoError(t, err)
	require.Equal(t, "again\n", answer)
}
