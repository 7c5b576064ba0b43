package tsqld

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/strict"
	"github.com/jobagent/jobagent/testenv/tdsclient"
	"github.com/jobagent/jobagent/testenv/tsqld/tds"
)

// TestPacketsOfLargeValues reads answers packet by packet, with sizes that end inside and at the
// boundary of a packet. Every packet except the last is full and has no status, only the last one
// ends the message, and none is empty. SqlClient 6.1 on Linux with Encrypt=false hangs in such
// answers although it has received all packets (see COMPAT.md).
func TestPacketsOfLargeValues(t *testing.T) {
	t.Parallel()
	s, err := New(Config{SAPassword: "secret", Record: strict.Watch(t)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	for _, size := range []int{512, 4096, 8000, 16384, 32767} {
		c := connectRaw(t, &fixture{Server: s}, tds.Version74)
		c.send(tds.PacketLogin7, tdsclient.AppendLogin(nil, &tds.Login{Asked: tds.Version74, User: "sa", Password: "secret", PacketSize: size}))
		_, _, err := tds.ReadMessage(c.conn, 1<<20)
		require.NoError(t, err)
		length := c.packets(size, 150000)
		spare := length % (size - tds.HeaderSize)
		c.packets(size, 150000-spare/2)
		c.packets(size, 150000-spare/2+1)
	}
}

// packets selects n characters of nvarchar(max), checks the packets of the answer and returns the
// length of its payload.
func (c *rawClient) packets(size, n int) int {
	c.t.Helper()
	c.batch("SELECT REPLICATE(CAST(N'x' AS nvarchar(max)), " + strconv.Itoa(n) + ")")
	var all []byte
	for count := 1; ; count++ {
		h, payload, err := tds.ReadPacket(c.conn)
		require.NoError(c.t, err)
		require.Equal(c.t, tds.PacketReply, h.Type)
		require.NotEmpty(c.t, payload)
		require.EqualValues(c.t, count%256, h.ID)
		all = append(all, payload...)
		if h.EOM() {
			require.Equal(c.t, tds.StatusEOM, h.Status)
			require.LessOrEqual(c.t, h.Length, size)
			break
		}
		require.Zero(c.t, h.Status)
		require.Equal(c.t, size, h.Length)
	}
	require.Equal(c.t, n, bytes.Count(all, []byte("x\x00")))
	return len(all)
}

// TestMessagesArriveAtOnce checks that RAISERROR WITH NOWAIT sends all earlier output and itself at
// once, whatever its severity.
func TestMessagesArriveAtOnce(t *testing.T) {
	t.Parallel()
	for _, batch := range []string{
		"PRINT 'first'; RAISERROR('second', 0, 1) WITH NOWAIT; WHILE 1 = 1 SET NOCOUNT ON",
		"PRINT 'first'; RAISERROR('second', 16, 1) WITH NOWAIT; WAITFOR DELAY '01:00:00'",
		"SET NOCOUNT ON; EXEC('PRINT ''first''; RAISERROR(''second'', 0, 1) WITH NOWAIT'); WAITFOR DELAY '01:00:00'",
	} {
		c := newWireClient(t)
		require.NoError(t, c.conn.SetReadDeadline(time.Now().Add(20*time.Second)))
		c.batch(batch)
		var text string
		for !strings.Contains(text, "second") {
			h, payload, err := tds.ReadPacket(c.conn)
			require.NoError(t, err, batch)
			require.False(t, h.EOM(), batch)
			text += strings.ReplaceAll(string(payload), "\x00", "")
		}
		require.Contains(t, text, "first", batch)
		c.send(tds.PacketAttention, nil)
		for range 2 { // the rest of the answer, and the acknowledgment
			_, _, err := tds.ReadMessage(c.conn, 1<<20)
			require.NoError(t, err, batch)
		}
	}
}
