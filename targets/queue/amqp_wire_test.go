package queue

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// frame returns an AMQP frame (type 0) or SASL frame (type 1) with a body.
func frame(kind byte, body ...byte) []byte {
	head := binary.BigEndian.AppendUint32(nil, uint32(frameHead+len(body)))
	return append(append(head, 2, kind, 0, 0), body...)
}

// performative returns the body of a frame: a descriptor and its fields.
func performative(code byte, fields ...byte) []byte { return append([]byte{0, 0x53, code}, fields...) }

// A disposition of the receiver, by the forms of its encoding.
var dispositions = map[string][]byte{
	"list8":            performative(performDisposition, 0xC0, 9, 5, 0x41, 0x43, 0x40, 0x41, 0, 0x53, stateAccepted, 0x45),
	"list32":           performative(performDisposition, 0xD0, 0, 0, 0, 12, 0, 0, 0, 5, 0x41, 0x52, 1, 0x52, 1, 0x41, 0, 0x53, stateAccepted, 0x45),
	"wide integers":    performative(performDisposition, 0xC0, 17, 5, 0x56, 1, 0x70, 0, 0, 1, 0, 0x70, 0, 0, 1, 0, 0x56, 1, 0, 0x53, stateAccepted, 0x45),
	"wide descriptors": {0, 0x80, 0, 0, 0, 0, 0, 0, 0, performDisposition, 0xC0, 15, 5, 0x41, 0x43, 0x43, 0x41, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, stateAccepted, 0x45},
}

func TestSettlement(t *testing.T) {
	for name, body := range dispositions {
		code, list, ok := described(body)
		require.True(t, ok, name)
		require.EqualValues(t, performDisposition, code, name)
		state, reason := settlement(code, list)
		require.EqualValues(t, stateAccepted, state, name)
		require.Zero(t, reason)
	}
	for name, list := range map[string][]byte{
		"the sender's":        {0xC0, 8, 5, 0x42, 0x43, 0x40, 0x41, 0, 0x53, stateAccepted, 0x45},
		"state received":      {0xC0, 8, 5, 0x41, 0x43, 0x40, 0x41, 0, 0x53, 0x23, 0x45},
		"no state":            {0xC0, 5, 4, 0x41, 0x43, 0x40, 0x41},
		"state null":          {0xC0, 6, 5, 0x41, 0x43, 0x40, 0x41, 0x40},
		"an empty list":       {0x45},
		"cut":                 {0xC0, 8, 5, 0x41, 0x70, 0},
		"a string for a role": {0xC0, 8, 5, 0xA1, 1, 'x'},
	} {
		state, _ := settlement(performDisposition, list)
		require.Zero(t, state, name)
	}
}

// The reason is read from wherever the peer gives it.
func TestSettlementReasons(t *testing.T) {
	const name, text = "amqp:not-found", "no such\r\nqueue"
	short := append([]byte{0, 0x53, typeError, 0xC0, 99, 2, 0xA3, byte(len(name))}, name...)
	short = append(append(short, 0xA1, byte(len(text))), text...)
	long := append([]byte{0, 0x53, typeError, 0xD0, 0, 0, 0, 99, 0, 0, 0, 2, 0xB3, 0, 0, 0, byte(len(name))}, name...)
	long = append(append(long, 0xB1, 0, 0, 0, byte(len(text))), text...)
	want := condition{name, text}
	for _, reason := range [][]byte{short, long} {
		for code, fields := range map[byte][]byte{
			performDetach: {0xC0, 99, 3, 0x43, 0x41}, performEnd: {0xC0, 99, 1}, performClose: {0xD0, 0, 0, 0, 99, 0, 0, 0, 1},
		} {
			state, got := settlement(code, append(fields, reason...))
			require.Zero(t, state)
			require.Equal(t, want, got)
		}
		state, got := settlement(performDisposition, append([]byte{0xC0, 99, 5, 0x41, 0x43, 0x40, 0x41, 0, 0x53, stateRejected, 0xC0, 99, 1}, reason...))
		require.EqualValues(t, stateRejected, state)
		require.Equal(t, want, got)
		// A reason that is cut is read as far as it is there.
		_, got = settlement(performEnd, append([]byte{0xC0, 99, 1}, reason[:len(reason)-5]...))
		require.Equal(t, condition{name, text[:len(text)-5]}, got)
	}
	_, got := settlement(performDetach, []byte{0xC0, 4, 2, 0x43, 0x41})
	require.Zero(t, got, "a link that is closed without a reason")
}

// pipeWire returns a wire over a pipe, and a function that returns what the peer has read.
func pipeWire(t *testing.T, permit func() error) (*wire, net.Conn, func() string) {
	ours, peer := net.Pipe()
	read := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(peer) // ends when the wire is closed
		read <- string(text)
	}()
	w := newWire(ours, permit)
	t.Cleanup(func() { _ = ours.Close() })
	return w, peer, func() string { _ = ours.Close(); return <-read }
}

// Transfers before arm belong to the exchange of tokens. Only the first transfer after it asks for
// permission.
func TestWireAsksOnceBeforeTheMessage(t *testing.T) {
	asked, written := 0, 0
	w, _, received := pipeWire(t, func() error { asked++; return nil })
	write := func(p []byte) {
		n, err := w.Write(p)
		require.NoError(t, err)
		require.Equal(t, len(p), n)
		written += n
	}
	write([]byte("AMQP\x03\x01\x00\x00"))
	write(frame(1, performative(0x41, 0x45)...)) // sasl-init has a code of its own
	write([]byte("AMQP\x00\x01\x00\x00"))
	write(frame(0, performative(performOpen, 0x45)...))
	write(frame(0, performative(performAttach, 0x45)...))
	write(frame(0, performative(performTransfer, 0x45, 'x', 'x', 'x', 'x', 'x', 'x', 'x')...))
	require.False(t, w.delivery().sent)
	w.arm()
	write(frame(0)) // keeps the connection alive
	write(frame(0, performative(0x13, 0x45)...))
	require.False(t, w.delivery().sent)
	require.Zero(t, asked)
	write(frame(0, performative(performTransfer, 0x45)...))
	write(frame(0, performative(performTransfer, 0x45)...))
	require.True(t, w.delivery().sent)
	require.Equal(t, 1, asked)
	require.Len(t, received(), written)
}

// Without permission, no byte of the message leaves, and the connection ends.
func TestWireRefusesTheMessage(t *testing.T) {
	refused := errors.New("the lease has ended")
	w, _, received := pipeWire(t, func() error { return refused })
	w.arm()
	_, err := w.Write(frame(0, performative(performTransfer, 0x45)...))
	require.ErrorIs(t, err, refused)
	require.False(t, w.delivery().sent)
	require.Empty(t, received())
}

// The client library opens a second link to send again. The wire ends that.
func TestWireRefusesASecondLink(t *testing.T) {
	for _, code := range []byte{performOpen, performBegin, performAttach} {
		w, _, received := pipeWire(t, func() error { return nil })
		w.arm()
		_, err := w.Write(frame(0, performative(code, 0x45)...))
		require.ErrorIs(t, err, errSecondSend)
		require.Empty(t, received())
	}
}

// The state is read from a stream that is cut anywhere.
func TestWireReadsTheStateFromParts(t *testing.T) {
	for name, body := range dispositions {
		for size := 1; size <= 20; size += 3 {
			ours, peer := net.Pipe()
			w := newWire(ours, func() error { return nil })
			w.arm()
			w.sent = true
			stream := append([]byte("AMQP\x00\x01\x00\x00"), frame(0)...)
			stream = append(stream, frame(0, performative(0x13, 0x45)...)...)
			extended := frame(0, append([]byte{9, 9, 9, 9}, body...)...)
			extended[4] = 3 // the header has four bytes more
			stream = append(stream, extended...)
			go func() {
				for len(stream) > 0 {
					n := min(size, len(stream))
					_, _ = peer.Write(stream[:n])
					stream = stream[n:]
				}
				_ = peer.Close()
			}()
			_, err := io.Copy(io.Discard, w)
			require.NoError(t, err)
			require.EqualValues(t, stateAccepted, w.delivery().state, name)
			require.NoError(t, ours.Close())
		}
	}
}

// A message is written as a whole when its last transfer is.
func TestWireKnowsTheLastTransfer(t *testing.T) {
	tag := []byte{0x52, 2, 0x43, 0xA0, 8, 0, 0, 0, 0, 0, 0, 0, 1, 0x43} // handle, delivery-id, delivery-tag, message-format
	transfer := func(rest ...byte) []byte {
		fields := append(append([]byte{}, tag...), rest...)
		list := append([]byte{0xC0, byte(len(fields) + 1), byte(4 + len(rest))}, fields...)
		return frame(0, performative(performTransfer, append(list, "the payload"...)...)...)
	}
	for _, test := range []struct {
		frame []byte
		whole bool
	}{
		{transfer(), true}, {transfer(0x42, 0x42), true}, {transfer(0x42), true}, {transfer(0x40, 0x40), true},
		{transfer(0x42, 0x41), false}, {frame(0, performative(performTransfer, 0x45)...), false},
	} {
		w, _, _ := pipeWire(t, func() error { return nil })
		w.arm()
		_, err := w.Write(test.frame)
		require.NoError(t, err)
		require.Equal(t, delivery{sent: true, whole: test.whole}, w.delivery())
	}
}
