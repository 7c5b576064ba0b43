package tsqld

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// pipeBuffer is how many bytes one direction of a pipe holds before its writer blocks, about as
// many as a socket's buffers.
const pipeBuffer = 64 << 10

// pipeAddr is the address of an end of a pipe.
type pipeAddr string

// Network returns "pipe".
func (pipeAddr) Network() string { return "pipe" }

// String returns the name of the end.
func (a pipeAddr) String() string { return string(a) }

// pipeHalf is one direction of a pipe. It blocks on a condition variable only, which is durably
// blocking in a synctest bubble.
type pipeHalf struct {
	mu   sync.Mutex
	cond sync.Cond
	buf  []byte
	// ended: the writer has closed its end. gone: the reader has closed its end.
	ended, gone    bool
	reader, writer deadline
}

// deadline is the time limit of one side of a pipeHalf. The mutex of the pipeHalf guards it.
type deadline struct {
	expired bool
	timer   *time.Timer // nil without a limit
	serial  int         // number of changes; a timer that fires late has an older number
}

func newPipeHalf() *pipeHalf {
	h := &pipeHalf{}
	h.cond.L = &h.mu
	return h
}

// set sets a time limit; the zero time removes it.
func (h *pipeHalf) set(d *deadline, t time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	d.serial++
	d.expired = false
	if !t.IsZero() {
		wait := time.Until(t)
		if wait <= 0 {
			d.expired = true
		} else {
			serial := d.serial
			d.timer = time.AfterFunc(wait, func() {
				h.mu.Lock()
				defer h.mu.Unlock()
				if d.serial == serial {
					d.expired = true
					h.cond.Broadcast()
				}
			})
		}
	}
	h.cond.Broadcast()
}

// read reads the available bytes, and blocks while there are none.
func (h *pipeHalf) read(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		switch {
		case h.gone:
			return 0, net.ErrClosed
		case h.reader.expired:
			return 0, os.ErrDeadlineExceeded
		case len(p) == 0:
			return 0, nil
		case len(h.buf) > 0:
			n := copy(p, h.buf)
			h.buf = h.buf[:copy(h.buf, h.buf[n:])]
			h.cond.Broadcast()
			return n, nil
		case h.ended:
			return 0, io.EOF
		}
		h.cond.Wait()
	}
}

// write writes all of p, and blocks while the buffer is full.
func (h *pipeHalf) write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	total := 0
	for {
		switch {
		case h.ended:
			return total, net.ErrClosed
		case h.gone:
			return total, io.ErrClosedPipe
		case h.writer.expired:
			return total, os.ErrDeadlineExceeded
		case len(p) == 0:
			return total, nil
		case len(h.buf) < pipeBuffer:
			n := min(len(p), pipeBuffer-len(h.buf))
			h.buf = append(h.buf, p[:n]...)
			p, total = p[n:], total+n
			h.cond.Broadcast()
			continue
		}
		h.cond.Wait()
	}
}

// end marks the end of the data.
func (h *pipeHalf) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = true
	h.cond.Broadcast()
}

// abandon discards the buffer; later writes fail.
func (h *pipeHalf) abandon() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gone, h.buf = true, nil
	h.cond.Broadcast()
}

// pipeConn is one end of a buffered in-memory connection. As with a socket, the other end can still
// read the bytes that were written before a close.
type pipeConn struct {
	in, out       *pipeHalf
	local, remote pipeAddr
}

// newPipe returns the two ends of a connection.
func newPipe(client, server string) (*pipeConn, *pipeConn) {
	up, down := newPipeHalf(), newPipeHalf()
	c := &pipeConn{in: down, out: up, local: pipeAddr(client), remote: pipeAddr(server)}
	s := &pipeConn{in: up, out: down, local: pipeAddr(server), remote: pipeAddr(client)}
	return c, s
}

// Read implements [net.Conn].
func (c *pipeConn) Read(p []byte) (int, error) { return c.in.read(p) }

// Write implements [net.Conn].
func (c *pipeConn) Write(p []byte) (int, error) { return c.out.write(p) }

// Close ends both directions and stops the timers of this end's deadlines.
func (c *pipeConn) Close() error {
	c.in.set(&c.in.reader, time.Time{})
	c.out.set(&c.out.writer, time.Time{})
	c.out.end()
	c.in.abandon()
	return nil
}

// CloseWrite ends the direction from this end to the other; the other end reads the remaining bytes
// and then io.EOF.
func (c *pipeConn) CloseWrite() error {
	c.out.end()
	return nil
}

// LocalAddr implements [net.Conn].
func (c *pipeConn) LocalAddr() net.Addr { return c.local }

// RemoteAddr implements [net.Conn].
func (c *pipeConn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline implements [net.Conn].
func (c *pipeConn) SetDeadline(t time.Time) error {
	c.in.set(&c.in.reader, t)
	c.out.set(&c.out.writer, t)
	return nil
}

// SetReadDeadline implements [net.Conn].
func (c *pipeConn) SetReadDeadline(t time.Time) error {
	c.in.set(&c.in.reader, t)
	return nil
}

// SetWriteDeadline implements [net.Conn].
func (c *pipeConn) SetWriteDeadline(t time.Time) error {
	c.out.set(&c.out.writer, t)
	return nil
}
