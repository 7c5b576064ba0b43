package tsqld

import (
	"encoding/binary"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tdsclient"
	"github.com/jobagent/jobagent/testenv/tsqld/tds"
)

// frame makes a packet of the Session Multiplex Protocol.
func frame(flags byte, id uint16, sequence, limit uint32, data []byte) []byte {
	b := binary.LittleEndian.AppendUint16([]byte{0x53, flags}, id)
	b = binary.LittleEndian.AppendUint32(b, uint32(16+len(data)))
	b = binary.LittleEndian.AppendUint32(b, sequence)
	return append(binary.LittleEndian.AppendUint32(b, limit), data...)
}

// conversation is what a client with two sessions sends, as packets.
func conversation(t *testing.T) [][]byte {
	t.Helper()
	packet := func(kind tds.PacketType, payload []byte) []byte {
		return tds.AppendPacket(nil, tds.Header{Type: kind, Status: tds.StatusEOM}, payload)
	}
	batch := func(text string) []byte {
		return packet(tds.PacketBatch, tdsclient.AppendBatch(nil, &tds.Batch{Text: text}, tds.Version74))
	}
	call, err := tdsclient.AppendRPC(nil, tds.Headers{}, []tds.RPC{{Proc: "p"}}, tds.Version74)
	require.NoError(t, err)
	return [][]byte{
		frame(1, 0, 0, 4, nil), frame(1, 1, 0, 4, nil),
		frame(8, 0, 1, 4, batch("rows 50")), frame(8, 1, 1, 4, batch("select 1")),
		frame(8, 1, 2, 5, packet(tds.PacketAttention, nil)), frame(2, 0, 1, 9, nil),
		frame(8, 1, 3, 7, packet(tds.PacketRPC, call)), frame(8, 1, 4, 9, batch("wait 1")),
		frame(4, 0, 1, 99, nil), frame(8, 1, 5, 12, packet(tds.PacketAttention, nil)), frame(4, 1, 5, 12, nil),
	}
}

// TestHostileSessions: no sequence of packets makes a connection with MARS hang or panic. It ends
// when its client ends.
func TestHostileSessions(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{Record: func(uint64, bool, []byte) {}})
	packets := conversation(t)
	const inputs = 400
	for seed := range uint64(inputs) {
		random := rand.New(rand.NewPCG(seed, 0))
		sent := slices.Clone(packets)
		for range random.IntN(3) { // whole packets: swapped, repeated, lost
			i, k := random.IntN(len(sent)), random.IntN(len(sent))
			switch random.IntN(3) {
			case 0:
				sent[i], sent[k] = sent[k], sent[i]
			case 1:
				sent = slices.Insert(sent, i, sent[k])
			default:
				sent = slices.Delete(sent, i, i+1)
			}
		}
		input := slices.Concat(sent...)
		for range random.IntN(4) { // bytes, most of them in headers
			input[random.IntN(len(input))] = byte(random.Uint32())
		}
		if random.IntN(3) == 0 {
			input = input[:random.IntN(len(input))]
		}
		raw := connectRaw(t, f, tds.Version74)
		raw.send(tds.PacketPrelogin, tds.AppendPrelogin(nil, &tds.Prelogin{Encryption: tds.EncryptNotSupported, MARS: true}))
		_, _, err := tds.ReadMessage(raw.conn, 4096)
		require.NoError(t, err)
		raw.send(tds.PacketLogin7, tdsclient.AppendLogin(nil, &tds.Login{Asked: tds.Version74, User: "sa", Password: "secret"}))
		require.Equal(t, tds.Version74, raw.answer().ack)
		go func() {
			_, _ = raw.conn.Write(input) // the server may have closed the connection
			_ = raw.conn.(*pipeConn).CloseWrite()
		}()
		require.NoError(t, raw.conn.SetReadDeadline(time.Now().Add(time.Minute)))
		_, err = io.Copy(io.Discard, raw.conn)
		require.NoError(t, err, "seed %d", seed)
		raw.conn.Close()
	}
	require.Eventually(t, func() bool { return f.engine.opened.Load() == 0 }, time.Minute, time.Millisecond, "every session is closed")
}
