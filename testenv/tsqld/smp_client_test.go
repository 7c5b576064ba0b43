package tsqld

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tdsclient"
	"github.com/jobagent/jobagent/testenv/tsqld/tds"
)

// smpClient is the client's end of the Session Multiplex Protocol. It shares no code with the
// server, and fails the test at each violation of MC-SMP by the server.
type smpClient struct {
	t    *testing.T
	f    *fixture
	conn net.Conn

	writing sync.Mutex
	done    chan struct{} // closed when the connection has ended

	mu      sync.Mutex
	cond    sync.Cond
	streams map[uint16]*smpStream
	next    uint16
	err     error // why the connection has ended
}

// smpStream is a session. Its Read acknowledges every second packet, as SqlClient does.
type smpStream struct {
	net.Conn // of the connection, for deadlines and addresses
	c        *smpClient
	id       uint16

	received [][]byte
	arrived  uint32 // number of the newest packet of the server
	accepted uint32 // last number that the server may send
	told     uint32 // accepted as the server knows it
	sent     uint32
	allowed  uint32 // last number that the client may send
	finished bool   // the server's FIN has arrived
}

// connectMultiple logs in with MARS.
func connectMultiple(t *testing.T, f *fixture, features ...tds.Feature) *smpClient {
	t.Helper()
	raw := connectRaw(t, f, tds.Version74)
	raw.send(tds.PacketPrelogin, tds.AppendPrelogin(nil, &tds.Prelogin{Encryption: tds.EncryptNotSupported, MARS: true}))
	_, payload, err := tds.ReadMessage(raw.conn, 4096)
	require.NoError(t, err)
	answer, err := tds.ReadPrelogin(payload)
	require.NoError(t, err)
	require.True(t, answer.MARS)
	raw.send(tds.PacketLogin7, tdsclient.AppendLogin(nil, &tds.Login{Asked: tds.Version74, User: "sa", Password: "secret", Features: features}))
	require.Equal(t, tds.Version74, raw.answer().ack)
	c := &smpClient{t: t, f: f, conn: raw.conn, streams: map[uint16]*smpStream{}, done: make(chan struct{})}
	c.cond.L = &c.mu
	go c.read()
	t.Cleanup(func() {
		c.conn.Close()
		<-c.done
	})
	return c
}

// open opens a session.
func (c *smpClient) open() *rawClient {
	c.t.Helper()
	c.mu.Lock()
	s := &smpStream{Conn: c.conn, c: c, id: c.next, accepted: 4, told: 4, allowed: 4}
	c.streams[s.id] = s
	c.next++
	c.mu.Unlock()
	require.NoError(c.t, s.send(1, nil))
	return &rawClient{t: c.t, conn: s, version: tds.Version74, out: tds.NewMessageWriter(s, 4096)}
}

// stream returns the session of a client.
func stream(c *rawClient) *smpStream { return c.conn.(*smpStream) }

// read receives packets until the connection ends.
func (c *smpClient) read() {
	defer close(c.done)
	for {
		err := c.receive()
		if err == nil {
			continue
		}
		c.mu.Lock()
		c.err = err
		c.cond.Broadcast()
		c.mu.Unlock()
		if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) && !errors.Is(err, io.ErrClosedPipe) {
			c.t.Errorf("the server's packets: %v", err)
		}
		return
	}
}

// receive receives a packet.
func (c *smpClient) receive() error {
	var h [16]byte
	if _, err := io.ReadFull(c.conn, h[:]); err != nil {
		return err
	}
	flags, id := h[1], binary.LittleEndian.Uint16(h[2:])
	length, sequence, limit := binary.LittleEndian.Uint32(h[4:]), binary.LittleEndian.Uint32(h[8:]), binary.LittleEndian.Uint32(h[12:])
	if h[0] != 0x53 || length < 16 {
		return fmt.Errorf("header % x", h)
	}
	data := make([]byte, length-16)
	if _, err := io.ReadFull(c.conn, data); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.cond.Broadcast()
	s := c.streams[id]
	switch {
	case s == nil || s.finished:
		return fmt.Errorf("packet %#x for session %d, which is not open", flags, id)
	case limit < s.allowed:
		return fmt.Errorf("session %d: window moves back from %d to %d", id, s.allowed, limit)
	case flags != 8 && (len(data) > 0 || sequence != s.arrived):
		return fmt.Errorf("session %d: packet %#x with number %d after %d", id, flags, sequence, s.arrived)
	}
	s.allowed = limit
	switch flags {
	case 2:
	case 4:
		s.finished = true
	case 8:
		if sequence != s.arrived+1 || sequence > s.told {
			return fmt.Errorf("session %d: number %d after %d within %d", id, sequence, s.arrived, s.told)
		}
		s.arrived = sequence
		s.received = append(s.received, data)
	default:
		return fmt.Errorf("session %d: flags %#x", id, flags)
	}
	return nil
}

// send sends a packet with the flags.
func (s *smpStream) send(flags byte, data []byte) error {
	s.c.writing.Lock()
	defer s.c.writing.Unlock()
	s.c.mu.Lock()
	if flags == 8 {
		s.sent++
	}
	s.told = s.accepted
	b := binary.LittleEndian.AppendUint16([]byte{0x53, flags}, s.id)
	b = binary.LittleEndian.AppendUint32(b, uint32(16+len(data)))
	b = binary.LittleEndian.AppendUint32(b, s.sent)
	b = binary.LittleEndian.AppendUint32(b, s.told)
	s.c.mu.Unlock()
	_, err := s.c.conn.Write(append(b, data...))
	return err
}

// Write sends a packet of TDS. It waits until the window is open.
func (s *smpStream) Write(p []byte) (int, error) {
	s.c.mu.Lock()
	for s.sent == s.allowed && s.c.err == nil {
		s.c.cond.Wait()
	}
	s.c.mu.Unlock()
	return len(p), s.send(8, p)
}

// Read reads data of the server.
func (s *smpStream) Read(p []byte) (int, error) {
	s.c.mu.Lock()
	for len(s.received) == 0 && s.c.err == nil {
		s.c.cond.Wait()
	}
	if len(s.received) == 0 {
		defer s.c.mu.Unlock()
		return 0, s.c.err
	}
	n := copy(p, s.received[0])
	s.received[0] = s.received[0][n:]
	late := false
	if len(s.received[0]) == 0 {
		s.received = s.received[1:]
		s.accepted++
		late = s.accepted-s.told >= 2
	}
	s.c.mu.Unlock()
	if late {
		return n, s.send(2, nil)
	}
	return n, nil
}

// Close sends FIN, and waits for the server's.
func (s *smpStream) Close() error {
	if err := s.send(4, nil); err != nil {
		return err
	}
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	for !s.finished && s.c.err == nil {
		s.c.cond.Wait()
	}
	if !s.finished {
		return s.c.err
	}
	delete(s.c.streams, s.id)
	return nil
}

// pending returns the number of packets that have arrived and were not read.
func (s *smpStream) pending() int {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	return len(s.received)
}

// wait waits until a packet has arrived that was not read.
func (s *smpStream) wait() {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	for len(s.received) == 0 && s.c.err == nil {
		s.c.cond.Wait()
	}
}
