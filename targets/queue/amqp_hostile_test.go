package queue

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/outbound"
)

// listenTLS starts a server that handles each connection with fn.
func listenTLS(t *testing.T, fn func(c net.Conn)) (*outbound.Network, string) {
	t.Helper()
	pair, root := certificate(t)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{*pair}})
	require.NoError(t, err)
	var open sync.WaitGroup
	open.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() {
				defer c.Close()
				fn(c)
			})
		}
	})
	t.Cleanup(func() { _ = l.Close(); open.Wait() })
	return newNetwork(t, root, nil), l.Addr().String()
}

// What a peer says before the link is open decides nothing about the message: it did not leave.
func TestAMQPHostilePeers(t *testing.T) {
	header := []byte("AMQP\x03\x01\x00\x00")
	for name, stream := range map[string][]byte{
		"closes":                      nil,
		"speaks HTTP":                 []byte("HTTP/1.1 400 Bad Request\r\n\r\n"),
		"closes after the header":     header,
		"a frame without a body":      append(bytes.Clone(header), 0, 0, 0, 8, 2, 1, 0, 0),
		"a frame of 4 GiB":            append(bytes.Clone(header), 0xFF, 0xFF, 0xFF, 0xFF, 2, 1, 0, 0),
		"a frame shorter than itself": append(bytes.Clone(header), 0, 0, 0, 1, 2, 1, 0, 0),
		"zeros":                       make([]byte, 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			network, host := listenTLS(t, func(c net.Conn) {
				_, _ = io.ReadFull(c, make([]byte, 8))
				_, _ = c.Write(stream)
			})
			d := busTo(host)
			d.ServiceBus.AMQP = true
			res := run(t, network, d, func(a *targets.ActionAttempt) {
				a.Begin = func(context.Context) (time.Time, error) { t.Error("Begin was called"); return time.Time{}, nil }
			})
			require.Equal(t, targets.Failed, res.Outcome, texts(res))
			require.Equal(t, targets.ClassLostConnection, res.Error.Class)
			require.False(t, res.Sent)
			require.False(t, res.NoRetry)
		})
	}
}

// A peer that says nothing holds an attempt no longer than its context and the time for an answer.
func TestAMQPSilentPeer(t *testing.T) {
	t.Parallel()
	network, host := listenTLS(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	d := busTo(host)
	d.ServiceBus.AMQP = true
	a := theAttempt()
	a.Action = d
	res := NewRunner(Config{Network: network, AnswerTimeout: 100 * time.Millisecond}).Run(t.Context(), a)
	require.Equal(t, targets.Failed, res.Outcome, texts(res))
	require.Equal(t, targets.ClassTimeout, res.Error.Class)
	require.False(t, res.Sent)
	// The step's time limit is a deadline, which a connection could notice before the context ends.
	for range 20 {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, targets.ErrTimeout)
		res = NewRunner(Config{Network: network}).Run(ctx, a)
		cancel()
		require.Equal(t, targets.TimedOut, res.Outcome, texts(res))
	}
	for cause, want := range map[error]targets.Outcome{
		targets.ErrStopRequested: targets.Canceled, targets.ErrTimeout: targets.TimedOut, errors.New("the agent stops"): targets.NotSent,
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		network, host := listenTLS(t, func(c net.Conn) {
			_, _ = io.ReadFull(c, make([]byte, 8)) // the attempt waits for the answer to these
			cancel(cause)
			_, _ = io.Copy(io.Discard, c)
		})
		a.Action.ServiceBus.Namespace = host
		res := NewRunner(Config{Network: network}).Run(ctx, a)
		require.Equal(t, want, res.Outcome, texts(res))
		require.False(t, res.Sent)
	}
}
