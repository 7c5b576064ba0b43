package mssql

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime/metrics"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-sql/sqlexp"
	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql/internal/tdsguard"
	"github.com/jobagent/jobagent/testenv/hostile"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

var (
	hostileInputs = flag.Int("hostile.inputs", 1500, "how many mutated answers TestMutatedAnswers reads")
	hostileSeed   = flag.Uint64("hostile.seed", 1, "seed of TestMutatedAnswers")
)

// recorder records the data of a server.
type recorder struct {
	mssqldb.HostDialer
	mu   sync.Mutex
	sent []byte
}

type recordedConn struct {
	net.Conn
	r *recorder
}

func (r *recorder) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := r.HostDialer.DialContext(ctx, network, addr)
	return &recordedConn{c, r}, err
}

func (c *recordedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	c.r.sent = append(c.r.sent, p[:n]...)
	return n, err
}

// recordedScripts are the scripts whose answers are the seeds.
var recordedScripts = []string{
	"SELECT 1 AS a, CONVERT(BIGINT, 2) AS b, CONVERT(NVARCHAR(20), N'é') AS c, CONVERT(VARCHAR(10), 'x') AS d, NULL AS e;",
	"SELECT CONVERT(DECIMAL(38, 4), 1.5) AS a, CONVERT(DATETIME2(7), '2026-01-02') AS b, CONVERT(DATETIMEOFFSET(3), '2026-01-02') AS c, CONVERT(TIME(0), '1:02') AS d, CONVERT(DATE, '2026-01-02') AS e, CONVERT(DATETIME, '2026-01-02') AS f;",
	"SELECT CONVERT(MONEY, 1.5) AS a, CONVERT(FLOAT, 2.5) AS b, CONVERT(REAL, 2.5) AS c, CONVERT(BIT, 1) AS d, CONVERT(UNIQUEIDENTIFIER, '6F9619FF-8B86-D011-B42D-00C04FC964FF') AS e, CONVERT(VARBINARY(8), 0x0102) AS f;",
	"SELECT CONVERT(NVARCHAR(MAX), REPLICATE(N'ab', 100)) AS a, CONVERT(VARBINARY(MAX), 0x0102) AS b, CONVERT(VARCHAR(MAX), NULL) AS c;",
	"SELECT CONVERT(SQL_VARIANT, 1) AS a, CONVERT(SQL_VARIANT, N'x') AS b, CONVERT(SQL_VARIANT, CONVERT(DECIMAL(9, 2), 1.5)) AS c, CONVERT(SQL_VARIANT, CONVERT(DATETIME2, '2026-01-02')) AS d;",
	"PRINT 'said'; RAISERROR('warned', 5, 1); SELECT value AS v FROM GENERATE_SERIES(1, 50); THROW 50000, 'failed', 1;",
	"SELECT NULL AS a, 1 AS b, NULL AS c, NULL AS d, NULL AS e, NULL AS f, NULL AS g, NULL AS h, NULL AS i; SELECT 2 AS z; DECLARE @t TABLE (i INT); INSERT INTO @t VALUES (1), (2);",
	"BEGIN TRANSACTION; SELECT 1 AS a; COMMIT TRANSACTION; USE master;",
}

// answersOf returns the whole streams of sessions that ran the recorded scripts, and streams that
// no server sends.
func answersOf(t testing.TB) [][]byte {
	server, err := tsqld.New(tsqld.Config{SAPassword: "secret"})
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Close(context.Background())) }()
	var all [][]byte
	for _, script := range recordedScripts {
		r := &recorder{HostDialer: server.Dialer()}
		res := fuzzRunner(t, r).Run(t.Context(),
			Attempt{Attempt: targets.Attempt{Target: targets.NewTarget("s", "master", ""), Command: script}})
		require.True(t, res.Sent, res.Summary)
		r.mu.Lock()
		all = append(all, r.sent)
		r.mu.Unlock()
	}
	login := all[0][:loginEnd(all[0])]
	for _, s := range hostile.Streams() {
		if !s.Login && len(s.Answer) < 32000 {
			all = append(all, append(append([]byte{}, login...), packet(s.Answer)...))
		}
	}
	// An error that ends a transaction, with ENVCHANGE before its DONE and behind it.
	said, ended := hostile.Message(8134, 16, "zero"), []byte{0xE3, 11, 0, 10, 0, 8, 1, 0, 0, 0, 0, 0, 0, 0}
	for _, tokens := range [][][]byte{{said, ended, hostile.Done(2, 0)}, {said, hostile.Done(1|2, 0), ended, hostile.Done(0, 0)}} {
		all = append(all, append(append([]byte{}, login...), packet(bytes.Join(tokens, nil))...))
	}
	return all
}

// loginEnd returns the offset of the end of the second message.
func loginEnd(stream []byte) int {
	at := 0
	for ends := 0; ends < 2; {
		if stream[at+1]&1 != 0 {
			ends++
		}
		at += int(binary.BigEndian.Uint16(stream[at+2:]))
	}
	return at
}

// packet returns a message of one packet.
func packet(payload []byte) []byte {
	n := 8 + len(payload)
	return append([]byte{4, 1, byte(n >> 8), byte(n), 0, 60, 1, 0}, payload...)
}

// fuzzRunner returns a runner with a dialer and small limits.
func fuzzRunner(t testing.TB, dialer mssqldb.HostDialer) *Runner {
	set, err := NewCredentialSet(LoginCredential("default", "sa", "secret", "*"))
	require.NoError(t, err)
	servers, err := NewServers(Config{Credentials: set, Encrypt: "disable", Dialer: dialer,
		Limits: AnswerLimits{ValueBytes: 64 << 10, RowBytes: 64 << 10}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, servers.Close()) })
	return NewRunner(servers, targets.Limits{})
}

// replay is a server that sends a fixed stream, whatever it receives, and closes the connection.
type replay struct{ stream []byte }

func (replay) HostName() string { return "" }

func (r replay) DialContext(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	go func() { // ends when the client closes the connection
		_, _ = io.Copy(io.Discard, server)
	}()
	go func() {
		_, _ = server.Write(r.stream)
		_ = server.Close()
	}()
	return client, nil
}

// readAnswer reads a stream twice: as a script without output, and with all rows.
func readAnswer(t *testing.T, stream []byte) {
	const most = 512 << 20
	before := allocatedBytes()
	synctest.Test(t, func(t *testing.T) {
		runner := fuzzRunner(t, replay{stream})
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, targets.ErrTimeout)
		defer cancel()
		start := time.Now()
		res := runner.Run(ctx, Attempt{Attempt: targets.Attempt{Target: targets.NewTarget("s", "d", ""),
			Command: "EXEC script"}, Once: nil})
		require.NotEmpty(t, res.Outcome)
		require.LessOrEqual(t, time.Since(start), time.Minute+22*time.Second)
		readRows(ctx, runner.servers)
	})
	require.Less(t, allocatedBytes()-before, uint64(most), "%d bytes make the agent allocate", len(stream))
}

// readRows reads the rows of a stream like those of a step with output, without writing them.
func readRows(ctx context.Context, servers *Servers) {
	s, err := servers.open(ctx, "s", "d", "")
	if err != nil {
		return
	}
	defer s.close()
	if _, err := s.number(ctx, "SELECT @@SPID"); err != nil && !errors.Is(err, io.EOF) {
		return
	}
	s.wire.setRows(tdsguard.KeptRows)
	var queue sqlexp.ReturnMessage
	answer, err := s.query(ctx, " SELECT", &queue)
	if err != nil {
		return
	}
	p := startPump(&queue, &collector{limits: targets.Limits{Messages: 10, MessageBytes: 1000, TextBytes: 100}}, 1)
	if set, err := newResultSet(answer, s.wire); err == nil && set != nil {
		_, _ = outputColumns(set.columns)
		for set.next() {
			_ = fmt.Sprint(set.row)
		}
	}
	for err == nil {
		err = answer.Next(nil)
	}
	s.finish(answer)
	p.stop()
}

// allocatedBytes returns how many bytes this process has allocated so far.
func allocatedBytes() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// FuzzAnswer reads arbitrary data of a server. Guard, driver and session together must neither
// panic nor hang nor allocate without bounds.
func FuzzAnswer(f *testing.F) {
	for _, stream := range answersOf(f) {
		f.Add(stream)
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		if len(stream) > 64<<10 {
			t.Skip("longer than 64 KB: short inputs find more in the same time, and TestHostileModes has unbounded answers")
		}
		readAnswer(t, stream)
	})
}

// TestMutatedAnswers is FuzzAnswer with a number of inputs and a seed: recorded answers in which
// some bytes are changed, within packets or across them.
func TestMutatedAnswers(t *testing.T) {
	seeds := answersOf(t)
	random := rand.New(rand.NewPCG(*hostileSeed, 0))
	for i := range *hostileInputs {
		stream := mutate(random, seeds[random.IntN(len(seeds))])
		if !t.Run("", func(t *testing.T) { readAnswer(t, stream) }) {
			t.Fatalf("input %d of seed %d: %x", i, *hostileSeed, stream)
		}
	}
}

// mutate changes some bytes of a copy of a stream after its login, most often without the packets'
// headers.
func mutate(random *rand.Rand, seed []byte) []byte {
	from := loginEnd(seed)
	if random.IntN(10) == 0 {
		from = 0
	}
	head, rest := seed[:from], seed[from:]
	framed := random.IntN(8) > 0
	var payload []byte
	if framed {
		for at := 0; at < len(rest); {
			n := int(binary.BigEndian.Uint16(rest[at+2:]))
			payload = append(payload, rest[at+8:at+n]...)
			at += n
		}
	} else {
		payload = append(payload, rest...)
	}
	for range 1 + random.IntN(4) {
		if len(payload) == 0 {
			break
		}
		at := random.IntN(len(payload))
		switch random.IntN(7) {
		case 0:
			payload[at] ^= 1 << random.IntN(8)
		case 1:
			payload[at] = byte(random.Uint32())
		case 2: // the first byte of a token
			tokens := []byte{0x79, 0x81, 0xA4, 0xA5, 0xA9, 0xAA, 0xAB, 0xAC, 0xAD, 0xAE, 0xD1, 0xD2, 0xE3, 0xED, 0xEE, 0xFD,
				0xFE, 0xFF}
			payload[at] = tokens[random.IntN(len(tokens))]
		case 3: // a wrong number
			numbers := []uint64{0, 1<<64 - 1, 1<<64 - 2, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 60, 0xFFFF, 0x8000, 8000, 4096}
			var b [8]byte
			binary.LittleEndian.PutUint64(b[:], numbers[random.IntN(len(numbers))])
			copy(payload[at:], b[:1<<random.IntN(4)])
		case 4: // a missing part
			n := min(1+random.IntN(12), len(payload)-at)
			payload = append(payload[:at:at], payload[at+n:]...)
		case 5: // a repeated part
			n := min(1+random.IntN(60), len(payload)-at)
			payload = append(payload[:at+n:at+n], payload[at:]...)
		default: // a part from another place
			other := random.IntN(len(payload))
			n := min(1+random.IntN(30), len(payload)-other)
			payload = append(payload[:at:at], append(append([]byte{}, payload[other:other+n]...), payload[at:]...)...)
		}
	}
	stream := append([]byte{}, head...)
	if !framed {
		return append(stream, payload...)
	}
	for len(payload) > 0 {
		n := min(len(payload), 1+random.IntN(4088))
		b := packet(payload[:n])
		if n < len(payload) {
			b[1] = 0
		}
		stream, payload = append(stream, b...), payload[n:]
	}
	return stream
}
