package tsqld

import (
	"bytes"
	"context"
	"crypto/tls"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tdsclient"
	"github.com/jobagent/jobagent/testenv/tsqld/tds"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

var (
	hostileInputs  = flag.Int("hostile.inputs", 1000, "how many hostile inputs TestHostileBytes sends before the login, and how many after it")
	hostileSeed    = flag.Uint64("hostile.seed", 1, "seed of the inputs of TestHostileBytes")
	hostileWorkers = flag.Int("hostile.workers", 2, "how many connections TestHostileBytes uses at once")
)

// hostileTime is the time limit of one input.
const hostileTime = 50 * time.Second

// Kinds of introduction before an input that is sent before the login.
const (
	introNone     = iota // no introduction
	introPrelogin        // PRELOGIN without encryption
	introOn              // PRELOGIN and TLS for the whole connection
	introOff             // PRELOGIN and TLS for the login
	introStrict          // TLS 1.3 of TDS 8.0
	intros               // how many there are
)

// Forms of an input that is sent after the login.
const (
	asStream  = iota // unchanged
	asMessage        // as the payload of one message, whose type is the first byte
	asBulk           // as the payload of an announced bulk load
	forms            // how many there are
)

// hostileServer is a server that gets hostile inputs.
type hostileServer struct {
	*Server
	panics  atomic.Int64
	mu      sync.Mutex
	last    string // the last panic
	healthy *sql.DB
}

// newHostileServer starts a server with a user and a table for bulk loads. It has no lockout, which
// would delay the inputs.
func newHostileServer(tb testing.TB) *hostileServer {
	s := &hostileServer{}
	server, err := New(Config{SAPassword: "secret", OnPanic: func(v any, stack []byte) {
		s.panics.Add(1)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.last = fmt.Sprintf("%v\n%s", v, stack)
	}})
	require.NoError(tb, err)
	server.lockout = nil
	s.Server = server
	connector, err := mssql.NewConnector("sqlserver://sa:secret@tsqld?encrypt=disable")
	require.NoError(tb, err)
	connector.Dialer = server.Dialer()
	s.healthy = sql.OpenDB(connector)
	for _, batch := range []string{
		"CREATE DATABASE fort",
		"USE fort; CREATE TABLE t (a int NULL, b nvarchar(50) NULL, c decimal(18, 4) NULL, d datetime2 NULL, e varbinary(max) NULL); GRANT SELECT, INSERT, UPDATE, DELETE ON t TO public; CREATE TYPE list AS TABLE (id int NOT NULL, name nvarchar(20) NULL)",
		"CREATE LOGIN intruder WITH PASSWORD = 'secret', DEFAULT_DATABASE = fort; CREATE LOGIN changer WITH PASSWORD = 'secret'; USE fort; CREATE USER intruder; GRANT EXECUTE ON TYPE::list TO intruder",
	} {
		_, err := s.healthy.ExecContext(context.Background(), batch)
		require.NoError(tb, err)
	}
	tb.Cleanup(func() {
		require.NoError(tb, s.healthy.Close())
		require.NoError(tb, server.Close(context.Background()))
	})
	return s
}

// check fails if the server has panicked or does not answer another client. It resets the passwords
// of the logins, which a mutated login can change.
func (s *hostileServer) check() error {
	if n := s.panics.Load(); n > 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
		return fmt.Errorf("%d panics, the last: %s", n, s.last)
	}
	ctx, cancel := context.WithTimeout(context.Background(), hostileTime)
	defer cancel()
	if _, err := s.healthy.ExecContext(ctx, "ALTER LOGIN intruder WITH PASSWORD = 'secret'; ALTER LOGIN changer WITH PASSWORD = 'secret'"); err != nil {
		return fmt.Errorf("another client gets no answer: %w", err)
	}
	return nil
}

// handshakeConn carries the client's side of a TLS handshake in PRELOGIN packets while it is
// wrapped.
type handshakeConn struct {
	net.Conn
	wrapped bool
	rest    []byte
}

// Write implements [net.Conn].
func (c *handshakeConn) Write(p []byte) (int, error) {
	if !c.wrapped {
		return c.Conn.Write(p)
	}
	_, err := c.Conn.Write(tds.AppendPacket(nil, tds.Header{Type: tds.PacketPrelogin, Status: tds.StatusEOM}, p))
	return len(p), err
}

// Read implements [net.Conn].
func (c *handshakeConn) Read(p []byte) (int, error) {
	if !c.wrapped {
		return c.Conn.Read(p)
	}
	for len(c.rest) == 0 {
		_, payload, err := tds.ReadPacket(c.Conn)
		if err != nil {
			return 0, err
		}
		c.rest = payload
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// before sends an input before the login.
func (s *hostileServer) before(intro uint8, data []byte) error {
	conn, err := s.Dialer().DialContext(context.Background(), "", "")
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(hostileTime)); err != nil {
		return err
	}
	encryption, strict := tds.EncryptNotSupported, false
	switch intro % intros {
	case introNone:
		return send(conn, conn, data)
	case introOn:
		encryption = tds.EncryptOn
	case introOff:
		encryption = tds.EncryptOff
	case introStrict:
		strict = true
	}
	if !strict {
		packet := tds.AppendPacket(nil, tds.Header{Type: tds.PacketPrelogin, Status: tds.StatusEOM}, tds.AppendPrelogin(nil, &tds.Prelogin{Encryption: encryption}))
		if _, err := conn.Write(packet); err != nil {
			return err
		}
		if _, _, err := tds.ReadMessage(conn, 4096); err != nil {
			return err
		}
		if encryption == tds.EncryptNotSupported {
			return send(conn, conn, data)
		}
	}
	under := &handshakeConn{Conn: conn, wrapped: !strict}
	cfg := &tls.Config{InsecureSkipVerify: true}
	if strict {
		cfg.NextProtos = []string{alpnTDS8}
	}
	client := tls.Client(under, cfg)
	if err := client.Handshake(); err != nil {
		return fmt.Errorf("handshake: %w", err)
	}
	under.wrapped = false
	return send(conn, client, data)
}

// after logs in and sends an input.
func (s *hostileServer) after(form uint8, data []byte) error {
	conn, err := s.Dialer().DialContext(context.Background(), "", "")
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(hostileTime)); err != nil {
		return err
	}
	login := tdsclient.AppendLogin(nil, &tds.Login{Asked: tds.Version74, User: "intruder", Password: "secret", PacketSize: tds.DefaultPacketSize})
	if err := exchange(conn, tds.PacketLogin7, login); err != nil {
		return fmt.Errorf("log in: %w", err)
	}
	var message bytes.Buffer
	out := tds.NewMessageWriter(&message, tds.DefaultPacketSize)
	switch form % forms {
	case asStream:
		return send(conn, conn, data)
	case asMessage:
		if len(data) > 0 {
			out.Begin(tds.PacketType(data[0]))
			data = data[1:]
		}
	case asBulk:
		announce := tdsclient.AppendBatch(nil, &tds.Batch{Text: "INSERT BULK t (a int, b nvarchar(50), c decimal(18, 4), d datetime2, e varbinary(max))"}, tds.Version74)
		if err := exchange(conn, tds.PacketBatch, announce); err != nil {
			return fmt.Errorf("announce a bulk load: %w", err)
		}
		out.Begin(tds.PacketBulkLoad)
	}
	if _, err := out.Write(data); err != nil {
		return err
	}
	if err := out.End(); err != nil {
		return err
	}
	return send(conn, conn, message.Bytes())
}

// exchange sends a message and reads its answer, which must not be an error.
func exchange(conn net.Conn, kind tds.PacketType, payload []byte) error {
	out := tds.NewMessageWriter(conn, tds.DefaultPacketSize)
	out.Begin(kind)
	if _, err := out.Write(payload); err != nil {
		return err
	}
	if err := out.End(); err != nil {
		return err
	}
	_, b, err := tds.ReadMessage(conn, 1<<20)
	if err == nil && (len(b) < 13 || tds.DoneStatus(b[len(b)-12])&tds.DoneError != 0) {
		return errRefused
	}
	return err
}

// errRefused is an answer that ends with an error.
var errRefused = errors.New("refused")

// send writes bytes, closes its side, and reads until the server closes. The server may close at
// any time.
func send(under net.Conn, conn io.ReadWriter, data []byte) error {
	done := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, conn)
		done <- err
	}()
	_, _ = conn.Write(data) // the server may have closed
	if err := under.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		return err
	}
	if err := <-done; errors.Is(err, os.ErrDeadlineExceeded) {
		stacks := make([]byte, 1<<20)
		return fmt.Errorf("the server has not closed the connection: %w\n%s", err, stacks[:runtime.Stack(stacks, true)])
	}
	return nil
}

// tap is a connection that records the client's bytes.
type tap struct {
	net.Conn
	mu   *sync.Mutex
	sent *[]byte
}

// Write implements [net.Conn].
func (t tap) Write(p []byte) (int, error) {
	t.mu.Lock()
	*t.sent = append(*t.sent, p...)
	t.mu.Unlock()
	return t.Conn.Write(p)
}

// tapDialer records the bytes of each connection.
type tapDialer struct {
	Dialer
	mu    sync.Mutex
	conns []*[]byte
}

// DialContext implements [mssql.Dialer].
func (d *tapDialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := d.Dialer.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	sent := &[]byte{}
	d.conns = append(d.conns, sent)
	return tap{c, &d.mu, sent}, nil
}

// dialTapped opens a pool whose connections record the client's bytes.
func (s *hostileServer) dialTapped(tb testing.TB, options string) (*sql.DB, *tapDialer) {
	connector, err := mssql.NewConnector("sqlserver://intruder:secret@tsqld?" + options)
	require.NoError(tb, err)
	d := &tapDialer{Dialer: s.Dialer()}
	connector.Dialer = d
	return sql.OpenDB(connector), d
}

// driverUses are uses of the driver, whose requests [recorded] records.
var driverUses = []func(ctx context.Context, db *sql.DB) error{
	func(ctx context.Context, db *sql.DB) error {
		return db.QueryRowContext(ctx, "SELECT 1 a, N'x' b, NULL c").Scan(new(int), new(string), new(any))
	},
	func(ctx context.Context, db *sql.DB) error {
		_, err := db.ExecContext(ctx, "SELECT @p1, @p2, @p3, @p4, @p5, @p6", 1, "text", 1.5, []byte{1, 2}, time.Unix(0, 0), true)
		return err
	},
	func(ctx context.Context, db *sql.DB) error {
		var out string
		_, err := db.ExecContext(ctx, "SET @o = N'x'", sql.Named("o", sql.Out{Dest: &out}))
		return err
	},
	func(ctx context.Context, db *sql.DB) error {
		_, err := db.ExecContext(ctx, "SELECT COUNT(*) FROM @l", sql.Named("l", mssql.TVP{TypeName: "list", Value: []struct {
			ID   int
			Name string
		}{{1, "a"}, {2, "b"}}}))
		return err
	},
	func(ctx context.Context, db *sql.DB) error {
		tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelSerializable})
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "INSERT t (a) VALUES (1)")
		return errors.Join(err, tx.Rollback())
	},
	func(ctx context.Context, db *sql.DB) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		statement, err := tx.PrepareContext(ctx, mssql.CopyIn("t", mssql.BulkOptions{}, "a", "b", "c", "d", "e"))
		if err != nil {
			return err
		}
		for i := range 3 {
			if _, err := statement.ExecContext(ctx, i, "bulk", "1.5", time.Unix(0, 0), []byte{1}); err != nil {
				return err
			}
		}
		_, err = statement.ExecContext(ctx)
		return errors.Join(err, statement.Close(), tx.Rollback())
	},
	func(ctx context.Context, db *sql.DB) error {
		canceled, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		defer cancel()
		if _, err := db.ExecContext(canceled, "WAITFOR DELAY '00:01'"); err == nil {
			return errors.New("the wait has ended")
		}
		return nil
	},
	func(ctx context.Context, db *sql.DB) error {
		statement, err := db.PrepareContext(ctx, "SELECT a FROM t WHERE a = @p1")
		if err != nil {
			return err
		}
		_, err = statement.ExecContext(ctx, 1)
		return errors.Join(err, statement.Close())
	},
	func(ctx context.Context, db *sql.DB) error { // two requests on one connection: the second resets it
		_, err := db.ExecContext(ctx, "DECLARE @x xml = N'<a b=\"1\"/>'; SELECT @x, CAST(1 AS sql_variant), GETDATE(), NEWID()")
		if err != nil {
			return err
		}
		_, err = db.ExecContext(ctx, "BEGIN TRY SELECT 1/0 END TRY BEGIN CATCH SELECT ERROR_MESSAGE(); THROW END CATCH")
		if err == nil {
			return errors.New("no division by zero")
		}
		return nil
	},
}

// recorded returns the driver's bytes, one stream for each connection: logins of all kinds, and
// requests after a login.
func recorded(tb testing.TB, s *hostileServer) (logins, streams [][]byte) {
	for _, options := range []string{
		"encrypt=disable",
		"encrypt=false&TrustServerCertificate=true",
		"encrypt=true&TrustServerCertificate=true",
		"encrypt=disable&packet+size=512",
		"encrypt=disable&database=none",
	} {
		db, d := s.dialTapped(tb, options)
		_ = db.PingContext(context.Background()) // the last one fails
		require.NoError(tb, db.Close())
		for _, sent := range d.conns {
			logins = append(logins, *sent)
		}
	}
	for _, use := range driverUses {
		db, d := s.dialTapped(tb, "encrypt=disable")
		db.SetMaxOpenConns(1)
		require.NoError(tb, use(context.Background(), db))
		require.NoError(tb, db.Close())
		for _, sent := range d.conns {
			if rest := afterLogin(*sent); len(rest) > 0 {
				streams = append(streams, rest)
			}
		}
	}
	moreLogins, moreStreams := composed(tb)
	logins, streams = append(logins, moreLogins...), append(streams, moreStreams...)
	// Bytes that the driver does not send: inputs that once killed the server, a canceled message,
	// a lone attention.
	for _, text := range []string{"0702000800000100", "07020008000001000701000800000100", "0601000800000100", "0103000800000100", "0e0100080000010003010008000001000701000800000100"} {
		b, err := hex.DecodeString(text)
		require.NoError(tb, err)
		streams = append(streams, b)
	}
	return logins, streams
}

// composed returns logins and requests that the driver does not send, with all types.
func composed(tb testing.TB) (logins, streams [][]byte) {
	prelogin := tds.AppendPacket(nil, tds.Header{Type: tds.PacketPrelogin, Status: tds.StatusEOM}, tds.AppendPrelogin(nil, &tds.Prelogin{Encryption: tds.EncryptNotSupported, MARS: true, ThreadID: 7, Instance: "x"}))
	for _, l := range []tds.Login{
		{User: "intruder", Password: "secret", Features: []tds.Feature{{ID: tds.FeatureUTF8, Data: []byte{}}, {ID: tds.FeatureSessionRecovery, Data: []byte{1}}}, TypeFlags: 0x20},
		{User: "changer", Password: "secret", NewPassword: "secret", Language: "us_english", Library: "lib"},
		{User: "intruder", Password: "secret", Features: []tds.Feature{{ID: tds.FeatureFedAuth, Data: make([]byte, 40)}}},
		{Flags2: 0x80, SSPI: make([]byte, 100)},
		{User: "intruder", Password: "secret", AttachFile: "f.mdf", Database: "fort"},
	} {
		for _, v := range []tds.Version{tds.Version71, tds.Version72, tds.Version74} {
			l.Asked = v
			logins = append(logins, tds.AppendPacket(slices.Clone(prelogin), tds.Header{Type: tds.PacketLogin7, Status: tds.StatusEOM}, tdsclient.AppendLogin(nil, &l)))
		}
	}
	add := func(kind tds.PacketType, status tds.Status, payload []byte) {
		for len(payload) > 4000 {
			streams = append(streams, tds.AppendPacket(nil, tds.Header{Type: kind, Status: status}, payload[:4000]))
			payload = payload[4000:]
		}
		streams = append(streams, tds.AppendPacket(nil, tds.Header{Type: kind, Status: status | tds.StatusEOM}, payload))
	}
	columns, row := sampleColumns()
	for i, c := range columns {
		name := fmt.Sprintf("@p%d", i)
		b, err := tdsclient.AppendRPC(nil, tds.Headers{}, []tds.RPC{{Proc: "sp_executesql", Params: []tds.Param{
			{Type: types.NVarCharMax, Value: "SELECT " + name},
			{Type: types.NVarCharMax, Value: name + " " + c.Type.String()},
			{Name: name, Type: c.Type, Value: row[i], Output: i%2 == 0},
		}}, {Proc: "sp_unprepare", Options: 2}}, tds.Version74)
		require.NoError(tb, err)
		add(tds.PacketRPC, 0, b)
		switch c.Type.ID {
		case types.Text, types.NText, types.Image:
			continue
		}
		b, err = tdsclient.AppendBulk(nil, []types.Column{c}, [][]types.Value{{row[i]}, {nil}, {row[i]}}, tds.Version74)
		require.NoError(tb, err)
		load := tdsclient.AppendBatch(nil, &tds.Batch{Text: "INSERT BULK t (a " + c.Type.String() + ") WITH (KEEP_NULLS)"}, tds.Version74)
		streams = append(streams, tds.AppendPacket(tds.AppendPacket(nil, tds.Header{Type: tds.PacketBatch, Status: tds.StatusEOM}, load),
			tds.Header{Type: tds.PacketBulkLoad, Status: tds.StatusEOM}, b[:min(len(b), 32000)]))
	}
	for _, r := range []tds.TranRequest{tds.TranGetDTCAddress, tds.TranPropagate, tds.TranBegin, tds.TranPromote, tds.TranCommit, tds.TranRollback, tds.TranSave} {
		b := tdsclient.AppendTransaction(nil, &tds.Transaction{Request: r, Isolation: 4, Name: "name", BeginAfter: true, NewIsolation: 2, NewName: "next"}, tds.Version74)
		add(tds.PacketTransaction, tds.StatusReset, b)
	}
	add(tds.PacketSSPI, 0, make([]byte, 30))
	add(tds.PacketFedAuth, 0, make([]byte, 30))
	add(tds.PacketBatch, tds.StatusResetKeepingTran, tdsclient.AppendBatch(nil, &tds.Batch{Text: "BEGIN TRAN; INSERT t (a) VALUES (1); SAVE TRAN x; ROLLBACK TRAN x; SELECT * FROM t FOR JSON AUTO; ROLLBACK"}, tds.Version74))
	return logins, streams
}

// afterLogin removes PRELOGIN and LOGIN7 from a client's bytes.
func afterLogin(sent []byte) []byte {
	for _, p := range packets(sent) {
		if t := tds.PacketType(p[0]); t != tds.PacketPrelogin && t != tds.PacketLogin7 {
			return sent
		}
		sent = sent[len(p):]
	}
	return nil
}

// packets splits a stream into packets. The rest that is not a packet comes last.
func packets(b []byte) [][]byte {
	var out [][]byte
	for len(b) > 0 {
		n := len(b)
		if n >= tds.HeaderSize {
			if length := int(binary.BigEndian.Uint16(b[2:])); length >= tds.HeaderSize && length < n {
				n = length
			}
		}
		out = append(out, b[:n])
		b = b[n:]
	}
	return out
}

// mutate makes small or large changes of an input. In half of the cases it corrects the packets'
// lengths, so that the changes get past the packet layer.
func mutate(r *rand.Rand, seeds [][]byte) []byte {
	pick := func() []byte { return slices.Clone(seeds[r.IntN(len(seeds))]) }
	b := pick()
	if r.IntN(20) == 0 { // swap whole packets
		all := append(packets(b), packets(pick())...)
		r.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
		b = bytes.Join(all[:1+r.IntN(len(all))], nil)
	}
	lengths := r.IntN(2) == 0
	if lengths {
		all := packets(b)
		i := r.IntN(len(all))
		p := all[i]
		if len(p) >= tds.HeaderSize {
			head := slices.Clone(p[:tds.HeaderSize])
			payload := change(r, slices.Clone(p[tds.HeaderSize:]), pick)
			if len(payload) > tds.MaxPacketSize-tds.HeaderSize {
				payload = payload[:tds.MaxPacketSize-tds.HeaderSize]
			}
			binary.BigEndian.PutUint16(head[2:], uint16(tds.HeaderSize+len(payload)))
			if r.IntN(8) == 0 {
				head[r.IntN(2)] = byte(r.Uint32())
			}
			all[i] = append(head, payload...)
			return bytes.Join(all, nil)
		}
	}
	return change(r, b, pick)
}

// interesting are values at common limits.
var interesting = []uint64{0, 1, 2, 7, 8, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFE, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF, 1 << 63, 1<<64 - 1}

// change makes one to eight changes.
func change(r *rand.Rand, b []byte, pick func() []byte) []byte {
	for range 1 + r.IntN(8) {
		if len(b) == 0 {
			b = append(b, byte(r.Uint32()))
		}
		at := r.IntN(len(b))
		switch r.IntN(9) {
		case 0:
			b[at] ^= 1 << r.IntN(8)
		case 1:
			b[at] = byte(r.Uint32())
		case 2: // a number of one, two, four or eight bytes, in either order
			var n [8]byte
			width := 1 << r.IntN(4)
			if v := interesting[r.IntN(len(interesting))]; r.IntN(2) == 0 {
				binary.LittleEndian.PutUint64(n[:], v)
				copy(b[at:], n[:width])
			} else {
				binary.BigEndian.PutUint64(n[:], v)
				copy(b[at:], n[8-width:])
			}
		case 3:
			b = b[:at]
		case 4:
			b = slices.Delete(b, at, min(len(b), at+1+r.IntN(16)))
		case 5:
			b = slices.Insert(b, at, b[at:min(len(b), at+1+r.IntN(64))]...)
		case 6:
			extra := make([]byte, 1+r.IntN(32))
			for i := range extra {
				extra[i] = byte(r.Uint32())
			}
			b = slices.Insert(b, at, extra...)
		case 7: // a piece of another input
			other := pick()
			if len(other) > 0 {
				from := r.IntN(len(other))
				b = slices.Insert(b, at, other[from:min(len(other), from+1+r.IntN(128))]...)
			}
		case 8:
			b[at] += byte(r.IntN(33)) - 16
		}
	}
	return b
}

// usage is what the process uses.
type usage struct {
	goroutines, descriptors int
	heap, rss               uint64 // in KiB; rss is 0 if the system does not report it
}

// measure collects garbage and measures the rest.
func measure() usage {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u := usage{goroutines: runtime.NumGoroutine(), heap: m.HeapAlloc >> 10}
	if entries, err := os.ReadDir("/proc/self/fd"); err == nil {
		u.descriptors = len(entries)
	}
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		if fields := strings.Fields(string(text)); len(fields) > 1 {
			pages, _ := strconv.ParseUint(fields[1], 10, 64)
			u.rss = pages * uint64(os.Getpagesize()) >> 10
		}
	}
	return u
}

// settled waits until the connections of the inputs have ended, and measures.
func (s *hostileServer) settled(tb testing.TB) usage {
	s.healthy.SetMaxIdleConns(0)
	defer s.healthy.SetMaxIdleConns(2)
	require.Eventually(tb, func() bool {
		s.Server.mu.Lock()
		defer s.Server.mu.Unlock()
		return len(s.conns) == 0
	}, hostileTime, 10*time.Millisecond)
	return measure()
}

// TestHostileBytes sends mutated logins and requests. The server must survive all of them without a
// panic, serve other clients, and use as many resources as before. A failure names the input: the
// seed and its number reproduce the bytes.
func TestHostileBytes(t *testing.T) {
	s := newHostileServer(t)
	logins, streams := recorded(t, s)
	t.Run("before login", func(t *testing.T) {
		s.sendAll(t, func(r *rand.Rand) (uint8, []byte) {
			intro := uint8(introNone)
			switch n := r.IntN(20); {
			case n == 0:
				intro = uint8(introOn + r.IntN(3))
			case n < 8:
				intro = introPrelogin
			}
			b := mutate(r, logins)
			if intro != introNone {
				// The login alone, as the PRELOGIN has been sent.
				if all := packets(b); len(all) > 1 {
					b = bytes.Join(all[1:], nil)
				}
			}
			return intro, b
		}, s.before)
	})
	t.Run("after login", func(t *testing.T) {
		s.sendAll(t, func(r *rand.Rand) (uint8, []byte) {
			b := mutate(r, streams)
			form := uint8(asStream)
			if n := r.IntN(10); n < 4 && len(b) > tds.HeaderSize {
				form = asMessage
				if n == 0 {
					form = asBulk
				}
				kind := b[0]
				if b = b[tds.HeaderSize:]; form == asMessage {
					b = append([]byte{kind}, b...)
				}
			}
			return form, b
		}, s.after)
	})
}

// sendAll sends the inputs of one kind.
func (s *hostileServer) sendAll(t *testing.T, input func(*rand.Rand) (uint8, []byte), play func(uint8, []byte) error) {
	for i := range 100 { // initialize caches before the first measurement
		form, data := input(rand.New(rand.NewPCG(*hostileSeed, uint64(1)<<63+uint64(i))))
		_ = play(form, data)
		require.NoError(t, s.check(), "input %d before the first, form %d: %x", i, form, data[:min(len(data), 4000)])
	}
	before := s.settled(t)
	start := time.Now()
	var next atomic.Int64
	var wg sync.WaitGroup
	failed := make(chan string, *hostileWorkers)
	for range *hostileWorkers {
		wg.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= int64(*hostileInputs) || len(failed) > 0 {
					return
				}
				form, data := input(rand.New(rand.NewPCG(*hostileSeed, uint64(i))))
				err := play(form, data)
				if err == nil && i%500 == 0 || s.panics.Load() > 0 {
					err = s.check()
				}
				if err != nil && (s.panics.Load() > 0 || errors.Is(err, errRefused) || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded)) {
					failed <- fmt.Sprintf("input %d of seed %d, form %d: %v\n%s", i, *hostileSeed, form, err, hex.EncodeToString(data[:min(len(data), 4000)]))
					return
				}
			}
		})
	}
	wg.Wait()
	close(failed)
	for f := range failed {
		t.Error(f)
	}
	require.NoError(t, s.check())
	after := s.settled(t)
	t.Logf("%d inputs in %v; before %+v, after %+v", *hostileInputs, time.Since(start).Round(time.Millisecond), before, after)
	require.LessOrEqual(t, after.goroutines, before.goroutines+2)
	// At most eight connections to SQLite are kept for reuse, each with the files of its databases.
	require.LessOrEqual(t, after.descriptors, before.descriptors+64)
	require.LessOrEqual(t, after.heap, before.heap+32<<10, "KiB of heap")
}

func FuzzBeforeLogin(f *testing.F) {
	s := newHostileServer(f)
	logins, _ := recorded(f, s)
	for _, b := range logins {
		f.Add(uint8(introNone), b)
		for intro := range uint8(intros) {
			if all := packets(b); len(all) > 1 {
				f.Add(intro, bytes.Join(all[1:], nil))
			}
		}
	}
	f.Fuzz(func(t *testing.T, intro uint8, data []byte) {
		_ = s.before(intro, data) // the server may reject the input
		require.NoError(t, s.check())
	})
}

func FuzzAfterLogin(f *testing.F) {
	s := newHostileServer(f)
	_, streams := recorded(f, s)
	for _, b := range streams {
		f.Add(uint8(asStream), b)
		for _, p := range packets(b) {
			if len(p) < tds.HeaderSize {
				continue
			}
			f.Add(uint8(asMessage), append([]byte{p[0]}, p[tds.HeaderSize:]...))
			if tds.PacketType(p[0]) == tds.PacketBulkLoad {
				f.Add(uint8(asBulk), p[tds.HeaderSize:])
			}
		}
	}
	f.Fuzz(func(t *testing.T, form uint8, data []byte) {
		if err := s.after(form, data); err != nil {
			t.Error(err)
		}
		require.NoError(t, s.check())
	})
}
