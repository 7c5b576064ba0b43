package tsqld

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tdsclient"
	"github.com/jobagent/jobagent/testenv/tsqld/tds"
)

// rawClient sends packets itself, for tests that the driver does not allow: old versions, malformed
// messages, unusual timing.
type rawClient struct {
	t       *testing.T
	conn    net.Conn
	version tds.Version
	out     *tds.MessageWriter
}

// rawAnswer is a decoded answer, with the tokens that the tests need.
type rawAnswer struct {
	t       *testing.T
	tokens  []byte  // kinds of all tokens
	numbers []int32 // of errors and messages
	class   []byte
	lines   []int
	env     []byte // kinds of ENVCHANGE

	descriptor uint64          // of the transaction that has begun
	collation  []byte          // the last ENVCHANGE of type 7, without its type
	features   map[byte][]byte // data of acknowledged features
	states     [][]byte        // of SESSIONSTATE tokens, from their status
	ack        tds.Version
	ints       []int32    // values of one-column rows of int
	done       []rawDone  // in order
	last       tds.Header // of the first packet
}

// rawDone is a DONE of any kind.
type rawDone struct {
	kind   byte
	status tds.DoneStatus
	rows   uint64
}

// connectRaw opens a connection without any login.
func connectRaw(t *testing.T, f *fixture, v tds.Version) *rawClient {
	t.Helper()
	conn, err := f.Dialer().DialContext(context.Background(), "", "")
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return &rawClient{t: t, conn: conn, version: v, out: tds.NewMessageWriter(conn, 512)}
}

// newRawClient logs in without PRELOGIN.
func newRawClient(t *testing.T, f *fixture, v tds.Version) *rawClient {
	t.Helper()
	c := connectRaw(t, f, v)
	c.send(tds.PacketLogin7, tdsclient.AppendLogin(nil, &tds.Login{Asked: v, User: "sa", Password: "secret", App: "raw", Features: c.features()}))
	a := c.answer()
	require.Equal(t, v, a.ack)
	require.Equal(t, []byte{1, 7, 2, 4}, a.env)
	require.Equal(t, []int32{5701, 5703}, a.numbers)
	return c
}

// features requests a feature that the server has, if the version allows it.
func (c *rawClient) features() []tds.Feature {
	if c.version != tds.Version74 {
		return nil
	}
	return []tds.Feature{{ID: tds.FeatureUTF8, Data: []byte{}}, {ID: tds.FeatureSessionRecovery, Data: []byte{}}}
}

// send sends a message.
func (c *rawClient) send(kind tds.PacketType, payload []byte) {
	c.t.Helper()
	c.out.Begin(kind)
	_, err := c.out.Write(payload)
	require.NoError(c.t, err)
	require.NoError(c.t, c.out.End())
}

// batch sends a batch.
func (c *rawClient) batch(text string) {
	c.t.Helper()
	c.send(tds.PacketBatch, tdsclient.AppendBatch(nil, &tds.Batch{Text: text}, c.version))
}

// answer reads a whole answer.
func (c *rawClient) answer() *rawAnswer {
	c.t.Helper()
	h, b, err := tds.ReadMessage(c.conn, 1<<20)
	require.NoError(c.t, err)
	require.Equal(c.t, tds.PacketReply, h.Type)
	a := &rawAnswer{t: c.t, last: h}
	wide := c.version >= tds.Version72
	for len(b) > 0 {
		token := b[0]
		b = b[1:]
		a.tokens = append(a.tokens, token)
		switch token {
		case 0xAA, 0xAB, 0xAD, 0xE3:
			n := int(binary.LittleEndian.Uint16(b))
			body := b[2 : 2+n]
			b = b[2+n:]
			switch token {
			case 0xAD:
				a.ack = tds.Version(binary.BigEndian.Uint32(body[1:]))
			case 0xE3:
				a.env = append(a.env, body[0])
				switch body[0] {
				case 7:
					a.collation = body[1:]
				case 8:
					a.descriptor = binary.LittleEndian.Uint64(body[2:])
				}
			default:
				a.numbers = append(a.numbers, int32(binary.LittleEndian.Uint32(body)))
				a.class = append(a.class, body[5])
				if wide {
					a.lines = append(a.lines, int(binary.LittleEndian.Uint32(body[n-4:])))
				} else {
					a.lines = append(a.lines, int(binary.LittleEndian.Uint16(body[n-2:])))
				}
			}
		case 0xAE:
			for a.features = map[byte][]byte{}; b[0] != 0xFF; {
				n := 5 + binary.LittleEndian.Uint32(b[1:])
				a.features[b[0]] = b[5:n]
				b = b[n:]
			}
			b = b[1:]
			if c.features() != nil && a.features[1] == nil {
				require.Equal(c.t, map[byte][]byte{tds.FeatureUTF8: {1}}, a.features)
			}
		case 0xE4:
			n := 4 + binary.LittleEndian.Uint32(b)
			a.states = append(a.states, b[8:n])
			b = b[n:]
		case 0x79:
			b = b[4:]
		case 0x81: // one column of int that is never NULL, named "n"
			size := 2 + 2 + 2 + 1 + 3
			if wide {
				size += 2
			}
			b = b[size:]
		case 0xD1:
			a.ints = append(a.ints, int32(binary.LittleEndian.Uint32(b)))
			b = b[4:]
		case 0xFD, 0xFE, 0xFF:
			d := rawDone{kind: token, status: tds.DoneStatus(binary.LittleEndian.Uint16(b)), rows: uint64(binary.LittleEndian.Uint32(b[4:]))}
			if wide {
				d.rows = binary.LittleEndian.Uint64(b[4:])
				b = b[12:]
			} else {
				b = b[8:]
			}
			a.done = append(a.done, d)
		default:
			require.FailNow(c.t, "unexpected token", "%#02x", token)
		}
	}
	for i, d := range a.done {
		require.Equal(c.t, i < len(a.done)-1, d.status&tds.DoneMore != 0, "only the last DONE is final")
	}
	return a
}

// cut reads the two messages after an attention: the answer to the request and the acknowledgment.
func (c *rawClient) cut() {
	c.t.Helper()
	a := c.answer()
	require.Equal(c.t, rawDone{0xFD, tds.DoneError, 0}, a.done[len(a.done)-1])
	require.Equal(c.t, []rawDone{{0xFD, tds.DoneAttention, 0}}, c.answer().done)
}

// closed checks that the server has closed the connection.
func (c *rawClient) closed() {
	c.t.Helper()
	_, err := io.ReadAll(c.conn)
	require.NoError(c.t, err)
}

func TestEveryVersion(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{})
	for _, v := range []tds.Version{tds.Version71, tds.Version71A, tds.Version72, tds.Version73A, tds.Version73B, tds.Version74} {
		c := newRawClient(t, f, v)
		c.batch("select 5; error 2; affect 9")
		a := c.answer()
		require.Equal(t, []int32{5}, a.ints)
		require.Equal(t, []int32{50002}, a.numbers)
		require.Equal(t, uint16(77), a.last.SPID)
		require.Equal(t, []rawDone{
			{0xFD, tds.DoneMore | tds.DoneCount, 1},
			{0xFD, tds.DoneMore | tds.DoneError, 0},
			{0xFD, tds.DoneCount, 9},
		}, a.done)
		call, err := tdsclient.AppendRPC(nil, tds.Headers{}, []tds.RPC{{Proc: "p"}, {Proc: "q"}}, v)
		require.NoError(t, err)
		c.send(tds.PacketRPC, call)
		require.Equal(t, []rawDone{{0xFE, tds.DoneMore, 0}, {0xFE, 0, 0}}, c.answer().done)
	}
}

func TestOldClientsAreTurnedAway(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{})
	c := connectRaw(t, f, tds.Version71)
	c.send(tds.PacketLogin7, tdsclient.AppendLogin(nil, &tds.Login{Asked: tds.Version70, User: "sa"}))
	a := c.answer()
	require.Equal(t, []int32{40517}, a.numbers)
	c.conn.Close()
	c = connectRaw(t, f, tds.Version71)
	c.send(tds.PacketOldLogin, make([]byte, 600))
	c.closed()
}

func TestAttentionWhenIdleAndTwice(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{})
	f.engine.started = make(chan string, 10)
	c := newRawClient(t, f, tds.Version74)
	for range 10 {
		c.send(tds.PacketAttention, nil)
		require.Equal(t, []rawDone{{0xFD, tds.DoneAttention, 0}}, c.answer().done)
		c.batch("select 4; flush; wait 1")
		<-f.engine.started
		c.send(tds.PacketAttention, nil)
		c.cut()
		// Sent together: there is one acknowledgment, whichever the server reads first.
		c.batch("wait 1")
		c.send(tds.PacketAttention, nil)
		c.cut()
		for len(f.engine.started) > 0 {
			<-f.engine.started
		}
		c.batch("select 1")
		require.Equal(t, []int32{1}, c.answer().ints)
		<-f.engine.started
	}
}

// TestAttentionAfterReturnStatus checks that the answer to a call ends with a DONEPROC if the
// attention arrives after the RETURNSTATUS.
func TestAttentionAfterReturnStatus(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{})
	f.engine.returned = make(chan struct{})
	c := newRawClient(t, f, tds.Version74)
	c.batch("return 7; wait 1")
	<-f.engine.returned
	c.send(tds.PacketAttention, nil)
	require.Equal(t, []rawDone{{0xFE, tds.DoneError, 0}}, c.answer().done)
	require.Equal(t, []rawDone{{0xFD, tds.DoneAttention, 0}}, c.answer().done)
}

func TestAttentionAgainstTheEnd(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{})
	c := newRawClient(t, f, tds.Version74)
	for range 200 {
		c.batch("select 1")
		c.send(tds.PacketAttention, nil)
		c.answer() // whole or cut short
		require.Equal(t, []rawDone{{0xFD, tds.DoneAttention, 0}}, c.answer().done)
	}
	c.batch("select 3")
	require.Equal(t, []int32{3}, c.answer().ints)
}

func TestMessageTakenBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{})
	c := newRawClient(t, f, tds.Version74)
	for _, kind := range []tds.PacketType{tds.PacketBatch, tds.PacketBulkLoad} {
		if kind == tds.PacketBulkLoad {
			c.batch("insert bulk t (a int)")
			require.Len(t, c.answer().done, 1)
		}
		c.out.Begin(kind)
		_, err := c.out.Write(make([]byte, 2000))
		require.NoError(t, err)
		require.NoError(t, c.out.EndWith(tds.StatusIgnore))
		if kind == tds.PacketBatch {
			require.Equal(t, []rawDone{{0xFD, tds.DoneError, 0}}, c.answer().done)
		}
	}
	c.closed() // what had arrived of the bulk load was malformed
}

// After a canceled bulk load, neither the rest of the load nor the end of the connection causes a
// panic.
func TestBulkLoadIsTakenBackTwice(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{})
	for _, statuses := range [][]tds.Status{{tds.StatusIgnore}, {tds.StatusIgnore, tds.StatusEOM}, {tds.StatusIgnore, tds.StatusIgnore}, {tds.StatusIgnore, 0, tds.StatusIgnore | tds.StatusEOM}} {
		c := newRawClient(t, f, tds.Version74)
		c.batch("insert bulk t (a int)")
		require.Len(t, c.answer().done, 1)
		for _, status := range statuses {
			_, err := c.conn.Write(tds.AppendPacket(nil, tds.Header{Type: tds.PacketBulkLoad, Status: status}, nil))
			require.NoError(t, err)
		}
		require.NoError(t, c.conn.Close())
	}
	c := newRawClient(t, f, tds.Version74)
	c.batch("select 3")
	require.Equal(t, []int32{3}, c.answer().ints, "the server goes on")
}

// fewDescriptors is a listener that fails to accept for a while.
type fewDescriptors struct {
	net.Listener
	failures atomic.Int64
}

// Accept fails a number of times, like accept(2) with EMFILE.
func (l *fewDescriptors) Accept() (net.Conn, error) {
	if l.failures.Add(-1) >= 0 {
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return l.Listener.Accept()
}

func TestAcceptingGoesOnAfterErrors(t *testing.T) {
	t.Parallel()
	var told atomic.Int64
	f := newFixture(t, Config{OnAcceptError: func(err error) {
		if errors.Is(err, syscall.EMFILE) {
			told.Add(1)
		}
	}})
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l := &fewDescriptors{Listener: tcp}
	l.failures.Store(3)
	served := make(chan error, 1)
	go func() { served <- f.Serve(l) }()
	db, err := sql.Open("sqlserver", "sqlserver://sa:secret@"+tcp.Addr().String()+"?encrypt=disable")
	require.NoError(t, err)
	require.NoError(t, db.PingContext(t.Context()))
	require.NoError(t, db.Close())
	require.EqualValues(t, 3, told.Load())
	require.NoError(t, tcp.Close())
	require.ErrorIs(t, <-served, net.ErrClosed)
}

func TestAttentionInsideAMessage(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{})
	c := newRawClient(t, f, tds.Version74)
	c.out.Begin(tds.PacketBatch)
	_, err := c.out.Write(make([]byte, 2000))
	require.NoError(t, err)
	c.send(tds.PacketAttention, nil)
	require.Equal(t, []rawDone{{0xFD, tds.DoneAttention, 0}}, c.answer().done)
	c.batch("select 3")
	require.Equal(t, []int32{3}, c.answer().ints)
}

// A client that sends several requests and closes the connection leaves no running request.
func TestClientThatPipelinesAndGoesAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ends := make(chan error, 1)
		f := newFixture(t, Config{OnEnd: func(_ net.Addr, err error) { ends <- err }})
		f.engine.started, f.engine.ended = make(chan string, 10), make(chan error, 10)
		c := newRawClient(t, f, tds.Version74)
		for range 3 {
			c.batch("wait 1")
		}
		require.NoError(t, c.conn.Close())
		start := time.Now()
		require.ErrorIs(t, <-f.engine.ended, ErrClientGone)
		require.LessOrEqual(t, time.Since(start), pipelineTime)
		require.ErrorContains(t, <-ends, "a third request")
	})
}

func TestMalformedRequestsEndTheConnection(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{})
	for kind, payload := range map[tds.PacketType][]byte{
		tds.PacketBatch:       {0xFF, 0xFF, 0xFF, 0x7F},
		tds.PacketRPC:         {22, 0, 0, 0},
		tds.PacketTransaction: {4, 0, 0, 0},
		tds.PacketSSPI:        {},
	} {
		c := newRawClient(t, f, tds.Version74)
		c.send(kind, payload)
		a := c.answer()
		require.Equal(t, []int32{4002}, a.numbers)
		require.Equal(t, []byte{fatalClass}, a.class)
		c.closed()
	}
}

func TestStaleTransactionDescriptor(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{})
	c := newRawClient(t, f, tds.Version74)
	c.send(tds.PacketBatch, tdsclient.AppendBatch(nil, &tds.Batch{Headers: tds.Headers{Descriptor: 9}, Text: "select 1"}, tds.Version74))
	a := c.answer()
	require.Equal(t, []int32{3989}, a.numbers)
	require.Equal(t, []rawDone{{0xFD, tds.DoneError, 0}}, a.done)
}

func TestUnsupportedRequestsAreNamed(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{})
	c := newRawClient(t, f, tds.Version74)
	for _, r := range []tds.TranRequest{tds.TranGetDTCAddress, tds.TranPropagate, tds.TranPromote} {
		c.send(tds.PacketTransaction, tdsclient.AppendTransaction(nil, &tds.Transaction{Request: r}, tds.Version74))
		require.Equal(t, []int32{40517}, c.answer().numbers)
	}
	c.send(tds.PacketTransaction, tdsclient.AppendTransaction(nil, &tds.Transaction{Request: tds.TranBegin}, tds.Version74))
	require.Equal(t, []byte{8}, c.answer().env)
	after := &tds.Transaction{Headers: tds.Headers{Descriptor: 0x100000001}, Request: tds.TranCommit, BeginAfter: true}
	c.send(tds.PacketTransaction, tdsclient.AppendTransaction(nil, after, tds.Version74))
	require.Equal(t, []byte{9, 8}, c.answer().env)
}

func TestLoginsThatAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{})
	for _, r := range []struct {
		login   tds.Login
		numbers []int32
	}{
		{tds.Login{User: "sa", Password: "wrong"}, []int32{18456}},
		{tds.Login{Flags2: 0x80, SSPI: []byte{1}}, []int32{18452}},
		{tds.Login{User: "sa", Password: "secret", Features: []tds.Feature{{ID: tds.FeatureFedAuth, Data: []byte{1}}}}, []int32{40517}},
		{tds.Login{User: "sa", Password: "secret", Database: "unknown"}, []int32{4060, 18456}},
	} {
		c := connectRaw(t, f, tds.Version74)
		r.login.Asked = tds.Version74
		c.send(tds.PacketLogin7, tdsclient.AppendLogin(nil, &r.login))
		a := c.answer()
		require.Equal(t, r.numbers, a.numbers)
		require.Equal(t, []rawDone{{0xFD, tds.DoneError, 0}}, a.done)
		c.conn.Close()
	}
}

// A client that requests session recovery does not get it, and MARS only for the versions that have
// it.
func TestFeaturesThatAreNotGranted(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{})
	c := connectRaw(t, f, tds.Version74)
	require.Equal(t, []byte{tds.FeatureUTF8}, acknowledged(tds.AppendFeatureExtAck(nil, c.features(), nil)))
	for _, asked := range []bool{false, true} {
		c = connectRaw(t, f, tds.Version71)
		c.send(tds.PacketPrelogin, tds.AppendPrelogin(nil, &tds.Prelogin{Encryption: tds.EncryptNotSupported, MARS: asked}))
		_, payload, err := tds.ReadMessage(c.conn, 4096)
		require.NoError(t, err)
		answer, err := tds.ReadPrelogin(payload)
		require.NoError(t, err)
		require.Equal(t, asked, answer.MARS)
		c.send(tds.PacketLogin7, tdsclient.AppendLogin(nil, &tds.Login{Asked: tds.Version71, User: "sa", Password: "secret"}))
		require.Equal(t, tds.Version71, c.answer().ack)
		c.batch("select 5")
		require.Equal(t, []int32{5}, c.answer().ints, "there is no session multiplex protocol in TDS 7.1")
	}
}

// acknowledged lists the features of a FEATUREEXTACK token.
func acknowledged(token []byte) []byte {
	var ids []byte
	for b := token[1:]; b[0] != 0xFF; b = b[5+binary.LittleEndian.Uint32(b[1:]):] {
		ids = append(ids, b[0])
	}
	return ids
}

func TestGarbageBeforeTheLogin(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{})
	for _, first := range [][]byte{{0x12, 1, 0, 4}, {0x16, 3, 1, 0, 1, 0}, []byte("GET / HTTP/1.1\r\n\r\n"), {0x12, 1, 0, 9, 0, 0, 0, 0, 1}} {
		c := connectRaw(t, f, tds.Version74)
		_, err := c.conn.Write(first)
		require.NoError(t, err)
		require.NoError(t, c.conn.(*pipeConn).CloseWrite())
		c.closed()
	}
}
