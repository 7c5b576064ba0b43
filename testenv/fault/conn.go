package fault

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// conn is the product's end of a connection.
//
// The driver never reads and writes at the same time, except for an attention. mu guards the fields
// that reads and writes share. It is not held while the inner connection blocks.
type conn struct {
	net.Conn
	network *Network
	closed  chan struct{} // closed by Close and reset
	once    sync.Once
	lost    atomic.Bool // silent for ever

	mu       sync.Mutex
	outgoing []byte // an incomplete packet
	inside   bool   // a request has begun, and its last packet has not been sent
	opaque   bool   // not unencrypted TDS; supports only Cut and Silence
	kind     Kind   // the fault of the current request
	broken   bool
	answer   []byte // returned by Read before anything else
	last     bool   // the connection breaks after answer
	deadline deadline
}

func newConn(n *Network, inner net.Conn) *conn {
	return &conn{Conn: inner, network: n, closed: make(chan struct{}), deadline: deadline{changed: make(chan struct{})}}
}

// deadline is the time limit of the waits in this package. The inner connection has deadlines of
// its own.
type deadline struct {
	at      time.Time     // zero: none
	changed chan struct{} // closed when at changes
}

// errReset is the error at both ends of a broken connection.
func errReset(op string) error { return &net.OpError{Op: op, Net: "fault", Err: syscall.ECONNRESET} }

// reset breaks the connection.
func (c *conn) reset() {
	c.mu.Lock()
	c.broken = true
	c.mu.Unlock()
	_ = c.Close()
}

// Close also closes the inner connection.
func (c *conn) Close() error {
	err := net.ErrClosed
	c.once.Do(func() {
		c.network.forget(c)
		close(c.closed)
		err = c.Conn.Close()
	})
	return err
}

// wait blocks while the network is silent, or for ever if the connection is lost. It ends when the
// network is healed, the connection is closed, or the deadline passes.
func (c *conn) wait(op string) error {
	for {
		held, lost := c.network.silent(), c.lost.Load()
		if held == nil && !lost {
			return nil
		}
		if lost {
			held = nil
		}
		c.mu.Lock()
		at, changed := c.deadline.at, c.deadline.changed
		c.mu.Unlock()
		var expired <-chan time.Time
		if !at.IsZero() {
			timer := time.NewTimer(time.Until(at))
			defer timer.Stop()
			expired = timer.C
		}
		select {
		case <-held:
		case <-changed:
		case <-expired:
			return &net.OpError{Op: op, Net: "fault", Err: os.ErrDeadlineExceeded}
		case <-c.closed:
			return c.closedError(op)
		}
	}
}

// closedError returns the error of a broken or closed connection.
func (c *conn) closedError(op string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken {
		return errReset(op)
	}
	return &net.OpError{Op: op, Net: "fault", Err: net.ErrClosed}
}

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	c.setDeadline(t)
	return c.Conn.SetDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.setDeadline(t)
	return c.Conn.SetReadDeadline(t)
}

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.setDeadline(t)
	return c.Conn.SetWriteDeadline(t)
}

func (c *conn) setDeadline(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline.at = t
	close(c.deadline.changed)
	c.deadline.changed = make(chan struct{})
}

// Write sends p packet by packet.
func (c *conn) Write(p []byte) (int, error) {
	if c.lost.Load() {
		return len(p), nil // TCP buffers what nobody acknowledges
	}
	if err := c.wait("write"); err != nil {
		return 0, err
	}
	c.mu.Lock()
	if c.opaque || (len(c.outgoing) == 0 && len(p) > 0 && !isPacketType(p[0])) {
		c.opaque = true
		c.mu.Unlock()
		return c.Conn.Write(p)
	}
	c.outgoing = append(c.outgoing, p...)
	var send []byte
	broken := c.broken
	for !broken {
		packet := firstPacket(c.outgoing)
		if packet == nil {
			break
		}
		c.outgoing = c.outgoing[len(packet):]
		var forward bool
		if forward, broken = c.pass(packet); forward {
			send = append(send, packet...)
		}
	}
	c.mu.Unlock()
	if broken {
		c.reset()
		return 0, errReset("write")
	}
	if len(send) > 0 {
		if _, err := c.Conn.Write(send); err != nil {
			select {
			case <-c.closed:
				return 0, c.closedError("write")
			default:
				return 0, err
			}
		}
	}
	return len(p), nil
}

// pass decides whether a packet is forwarded, or the connection breaks instead. c.mu must be held.
func (c *conn) pass(packet []byte) (forward, breaks bool) {
	if packet[0] == typeAttention {
		return c.kind != Transient && c.kind != refused, false
	}
	if !isRequest(packet[0]) {
		return true, false
	}
	if !c.inside {
		c.kind = c.network.decide(callName(packet))
	}
	c.inside = packet[1]&statusEnd == 0
	switch c.kind {
	case BeforeSending:
		return false, true
	case Transient, refused:
		if !c.inside {
			r := transient
			if c.kind == refused {
				r = c.network.refusal()
			}
			c.answer, c.last, c.kind = r.answer(), r.Ends, None
			_ = c.Conn.SetReadDeadline(time.Unix(1, 0)) // a proxy reads already; Read undoes it
		}
		return false, false
	default:
		return true, false
	}
}

// Read returns the answers of the server, unless the current request fails.
func (c *conn) Read(p []byte) (int, error) {
	c.mu.Lock()
	if n := copy(p, c.answer); n > 0 {
		c.answer = c.answer[n:]
		_ = c.Conn.SetReadDeadline(c.deadline.at)
		breaks := c.last && len(c.answer) == 0
		c.mu.Unlock()
		if breaks {
			c.reset()
		}
		return n, nil
	}
	kind, last, broken := c.kind, c.last, c.broken
	c.mu.Unlock()
	switch {
	case broken:
		return 0, errReset("read")
	case last:
		c.reset()
		return 0, errReset("read")
	}
	switch kind {
	case AfterSending:
		if _, err := readMessage(c.Conn); err != nil {
			return 0, err
		}
		c.reset()
		return 0, errReset("read")
	case Cut:
		whole, err := readMessage(c.Conn)
		if err != nil {
			return 0, err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		n := copy(p, whole[:len(whole)/2])
		c.answer, c.last = whole[n:len(whole)/2], true
		return n, nil
	case Stall:
		_, err := io.Copy(io.Discard, readerOnly{c.Conn})
		if err == nil {
			err = io.EOF
		}
		return 0, err
	}
	n, err := c.Conn.Read(p)
	if err != nil {
		select {
		case <-c.closed:
			return 0, c.closedError("read")
		default:
		}
		if n == 0 && errors.Is(err, os.ErrDeadlineExceeded) && c.answered() {
			return c.Read(p)
		}
		return n, err
	}
	if err := c.wait("read"); err != nil {
		return 0, err
	}
	return n, nil
}

// answered reports whether there is an answer in place of the server's.
func (c *conn) answered() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.answer) > 0
}

// readerOnly hides all methods except Read, so io.Copy uses no other method.
type readerOnly struct{ io.Reader }

// readMessage reads packets up to and including the one that ends a message.
func readMessage(r io.Reader) ([]byte, error) {
	var whole []byte
	for {
		head := make([]byte, headerSize)
		if _, err := io.ReadFull(r, head); err != nil {
			return nil, err
		}
		size := int(binary.BigEndian.Uint16(head[2:]))
		if size < headerSize {
			return nil, io.ErrUnexpectedEOF
		}
		body := make([]byte, size-headerSize)
		if _, err := io.ReadFull(r, body); err != nil {
			return nil, err
		}
		whole = append(append(whole, head...), body...)
		if head[1]&statusEnd != 0 {
			return whole, nil
		}
	}
}
