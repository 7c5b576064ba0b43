package targets

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// The session id is found wherever the network cuts the stream, and what is no TDS is left alone.
func TestPacketHeads(t *testing.T) {
	t.Parallel()
	packet := func(kind byte, spid, body int) []byte {
		length := 8 + body
		return append([]byte{kind, 1, byte(length >> 8), byte(length), byte(spid >> 8), byte(spid), 1, 0}, make([]byte, body)...)
	}
	stream := append(append(packet(4, 0, 20), packet(4, 0x0134, 0)...), packet(4, 0x0134, 600)...)
	for size := 1; size <= len(stream); size++ {
		var h packetHeads
		last := 0
		for rest := stream; len(rest) > 0; {
			n := min(size, len(rest))
			if id := h.see(rest[:n]); id != 0 {
				last = id
			}
			rest = rest[n:]
		}
		require.Equal(t, 0x0134, last, size)
		require.False(t, h.lost)
	}
	var h packetHeads
	require.Zero(t, h.see(append(packet(0x12, 0, 100), 0x17, 3, 3, 0, 40, 1, 2, 3)))
	require.True(t, h.lost)
	require.Zero(t, h.see(packet(4, 77, 0)), "inside of TLS anything may come")
}

func TestProgramName(t *testing.T) {
	t.Parallel()
	token := newToken()
	require.Len(t, token, 16)
	require.NotEqual(t, token, newToken())
	require.Equal(t, "jobagent "+token, programName("jobagent", token))
	long := make([]rune, 200)
	for i := range long {
		long[i] = 'ö'
	}
	name := []rune(programName(string(long), token))
	require.Len(t, name, 128)
	require.Equal(t, " "+token, string(name[128-17:]))
}

// Who is stopped between two batches leaves nothing behind on the server.
func TestStoppedBetweenTwoBatches(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ErrStopRequested)
	a := &attempt{sent: true, messages: &collector{}}
	res := a.result(ctx, a.batch(ctx, &session{}, "SELECT 2", 1))
	require.Equal(t, Canceled, res.Outcome)
	require.Equal(t, "The run was stopped; it had come between two batches, and the rest was not sent.", res.Summary)
}
