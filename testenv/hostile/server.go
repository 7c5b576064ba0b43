package hostile

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"time"
	"unicode/utf16"
)

// Packet types of a client.
const (
	// PacketAttention is the type of a cancel request.
	PacketAttention = 0x06

	packetRPC      = 0x03
	packetLogin    = 0x10
	packetPrelogin = 0x12
)

// Server serves every connection in one mode. Create it with New. It is safe for concurrent use.
type Server struct {
	// Pace is the pause of endless modes after each part of about 64 KB. With 0 they send without
	// pauses, which does not let virtual time advance. Set Pace before the first connection.
	Pace time.Duration

	mode Mode

	mu      sync.Mutex
	closed  bool
	conns   map[net.Conn]struct{}
	running sync.WaitGroup
}

// New returns a server. The caller must close it.
func New(mode Mode) *Server { return &Server{mode: mode, conns: map[net.Conn]struct{}{}} }

// Close closes all connections and waits for their goroutines.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	for c := range s.conns {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.running.Wait()
}

// Serve accepts connections until the listener is closed.
func (s *Server) Serve(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		s.start(c)
	}
}

// DialContext connects in memory, and ignores its arguments. With HostName it makes the server a
// mssqldb.HostDialer.
func (s *Server) DialContext(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	s.start(server)
	return client, nil
}

// HostName implements mssqldb.HostDialer.
func (s *Server) HostName() string { return "" }

// start serves a connection.
func (s *Server) start(raw net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = raw.Close()
		return
	}
	s.conns[raw] = struct{}{}
	s.running.Go(func() {
		defer func() {
			_ = raw.Close()
			s.mu.Lock()
			delete(s.conns, raw)
			s.mu.Unlock()
		}()
		c := &Conn{Conn: raw, size: 4096, pace: s.Pace, requests: make(chan Request, 64), gone: make(chan struct{})}
		var reader sync.WaitGroup
		reader.Go(c.read)
		_ = s.mode.Serve(c)
		_ = raw.Close()
		reader.Wait()
	})
}

// Request is a message of a client.
type Request struct {
	// Type is the packet type.
	Type byte
	// Text is the text of a batch.
	Text string
}

// Own reports whether the request is a query of the agent itself, not a script.
func (r Request) Own() bool {
	return strings.Contains(r.Text, "@@SPID") || strings.Contains(r.Text, "@@TRANCOUNT") || strings.Contains(r.Text, "sys.")
}

// Identity reports whether the request is the identity query, which precedes the script.
func (r Request) Identity() bool { return strings.Contains(r.Text, "may_enter_control") }

// Conn is a connection with a client. A goroutine reads the client's requests all the time.
type Conn struct {
	net.Conn
	size     int // of packets
	spid     uint16
	id       byte // number of the next packet
	pace     time.Duration
	out      []byte // the last packet sent
	requests chan Request
	gone     chan struct{} // closed when the client has closed the connection
}

// read reads requests until the client closes the connection.
func (c *Conn) read() {
	defer close(c.gone)
	var payload []byte
	for {
		var head [8]byte
		if _, err := io.ReadFull(c.Conn, head[:]); err != nil {
			return
		}
		n := int(binary.BigEndian.Uint16(head[2:])) - len(head)
		if n < 0 {
			return
		}
		body := make([]byte, n)
		if _, err := io.ReadFull(c.Conn, body); err != nil {
			return
		}
		if len(payload) < 1<<20 {
			payload = append(payload, body...)
		}
		if head[1]&1 == 0 {
			continue
		}
		r := Request{Type: head[0]}
		if r.Type == 0x01 && len(payload) > 4 {
			if skip := int(binary.LittleEndian.Uint32(payload)); skip <= len(payload) {
				r.Text = fromUCS2(payload[skip:])
			}
		}
		payload = nil
		select {
		case c.requests <- r:
		default: // the mode does not read requests
		}
	}
}

func fromUCS2(b []byte) string {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	return string(utf16.Decode(units))
}

var errGone = errors.New("the client is gone")

// Next returns the next request.
func (c *Conn) Next() (Request, error) {
	select {
	case r := <-c.requests:
		return r, nil
	case <-c.gone:
		select {
		case r := <-c.requests:
			return r, nil
		default:
			return Request{}, errGone
		}
	}
}

// Attention reports whether the client has sent an attention. It drops other pending requests.
func (c *Conn) Attention() bool {
	for {
		select {
		case r := <-c.requests:
			if r.Type == PacketAttention {
				return true
			}
		default:
			return false
		}
	}
}

// Wait sends nothing until the client closes the connection.
func (c *Conn) Wait() error {
	<-c.gone
	return errGone
}

// Sleep sends nothing for a duration.
func (c *Conn) Sleep(d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-c.gone:
		return errGone
	}
}

// rest pauses between two parts of an endless answer.
func (c *Conn) rest() error {
	if c.pace == 0 {
		return nil
	}
	return c.Sleep(c.pace)
}

// Packet sends one packet of the answer.
func (c *Conn) Packet(status byte, payload []byte) error {
	c.id++
	n := 8 + len(payload)
	c.out = append(c.out[:0], 0x04, status, byte(n>>8), byte(n), byte(c.spid>>8), byte(c.spid), c.id, 0)
	c.out = append(c.out, payload...)
	_, err := c.Conn.Write(c.out)
	return err
}

// Begin sends a part of an answer, in packets without the end-of-message bit.
func (c *Conn) Begin(payload []byte) error {
	for len(payload) > 0 {
		n := min(len(payload), c.size-8)
		if err := c.Packet(0, payload[:n]); err != nil {
			return err
		}
		payload = payload[n:]
	}
	return nil
}

// Answer sends a whole answer, or the end of one.
func (c *Conn) Answer(payload ...[]byte) error {
	all := join(anys(payload)...)
	for len(all) > c.size-8 {
		if err := c.Packet(0, all[:c.size-8]); err != nil {
			return err
		}
		all = all[c.size-8:]
	}
	return c.Packet(1, all)
}

func anys(parts [][]byte) []any {
	all := make([]any, len(parts))
	for i, p := range parts {
		all[i] = p
	}
	return all
}

// Login accepts the client's login.
func (c *Conn) Login() error {
	for {
		r, err := c.Next()
		if err != nil {
			return err
		}
		switch r.Type {
		case packetPrelogin:
			err = c.Answer(prelogin)
		case packetLogin:
			c.spid = 77
			return c.Answer(env(1, 1, "d", 1, "d"), loginAck, env(4, 4, "4096", 4, "4096"), Done(0, 0))
		}
		if err != nil {
			return err
		}
	}
}

// Script accepts the login, answers the client's own queries, and returns when the client has sent
// a script.
func (c *Conn) Script() error {
	if err := c.Login(); err != nil {
		return err
	}
	for {
		r, err := c.Next()
		if err != nil {
			return err
		}
		if r.Type == 0x01 && !r.Own() {
			return nil
		}
		if err := c.Own(r); err != nil {
			return err
		}
	}
}

// Identity is the answer to the identity query of a server with an engine edition.
func Identity(edition uint32) []byte {
	number, name := join(uint32(0), uint16(0), 0x38, 1, "c"), join(uint32(0), uint16(1), 0xE7, uint16(512), uint32(0x409), 0x34, 1, "c")
	row := join(0xD1, uint32(77), uint16(8), "host", uint16(2), "d", uint32(0), uint32(0), edition)
	return join(0x81, uint16(6), number, name, name, number, number, number, row, Done(0x10, 1))
}

// Own answers a query of the agent as a healthy server without other sessions does.
func (c *Conn) Own(r Request) error {
	switch {
	case r.Type == PacketAttention:
		return c.Answer(Done(0x20, 0))
	case strings.Contains(r.Text, "dm_exec_sessions"):
		null := join(0x81, uint16(2), uint32(0), uint16(1), 0x26, 4, 0, uint32(0), uint16(1), 0x26, 4, 0, 0xD1, 0, 4, uint32(1))
		return c.Answer(null, Done(0x10, 1))
	case r.Identity(): // session, server, database, whether it has a control schema, whether the login may enter one, edition
		return c.Answer(Identity(3))
	case r.Own():
		return c.Answer(Ints(1), IntRow(77), Done(0x10, 1))
	case r.Type == packetRPC: // whether the output table exists and the login may write to it
		return c.Answer(Ints(2), IntRow(1, 1), Done(0x10, 1))
	default:
		return c.Answer(Done(0, 0))
	}
}
