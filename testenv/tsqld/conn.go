package tsqld

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/jobagent/jobagent/testenv/tsqld/exec"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/tds"
)

// errEOF is the orderly end of a connection: the client closed it between two messages.
var errEOF = io.EOF

const (
	// readBuffer is the size of a connection's read buffer in bytes.
	readBuffer = 16 << 10
	// maxMessage bounds a message that is held in memory, in bytes.
	maxMessage = 512 << 20
	// uncounted is the size in bytes up to which a message is no part of what the session's memory is bounded by.
	uncounted = 64 << 10
	// bulkBacklog is how many packets of a bulk load wait for the interpreter.
	bulkBacklog = 256
	// lingerTime bounds the wait for the client to close after the server's last word, so that the word
	// is not lost by a reset of the connection.
	lingerTime = 2 * time.Second
	// pipelineTime bounds how long a client's third request waits for the first one to end.
	pipelineTime = 5 * time.Second
)

// conn is one connection. Except where noted, fields belong to the goroutine that executes.
type conn struct {
	srv    *Server
	id     uint64
	nc     net.Conn
	ctx    context.Context // ends with the connection
	cancel context.CancelCauseFunc

	in  *bufio.Reader // plain bytes of the connection
	src io.Reader     // where packets come from: in, or TLS; the reader's after login
	out *tds.MessageWriter

	version  tds.Version
	login    login
	session  interpreter
	meter    *meter.Meter // of session; nil for none. The reader uses it, too
	replying bool         // an answer was begun and not ended
	bulk     string       // text of the last batch, for the bulk load that it may announce

	requests   chan *message // from the reader; room for one
	attentions chan struct{} // from the reader: look at attention; room for one
	readerDone chan struct{}
	killed     chan struct{} // closed by KILL
	pending    *pendingConn  // as what it waits for its login; set before it is served
	admitted   bool          // it is counted as one that has logged in

	mu            sync.Mutex              // guards what follows
	attention     bool                    // one waits for its acknowledgment
	cancelRequest context.CancelCauseFunc // nil while no request runs
	running       *request                // nil while none runs, and before it was understood
	unresponsive  bool                    // the running request ends with KILL only: a fault
}

// message is a request as it arrives.
type message struct {
	typ     tds.PacketType
	status  tds.Status  // of the first packet, and StatusIgnore of the last
	payload []byte      // of the packets that have come
	held    int64       // of the session's memory, for payload
	refused error       // why payload was thrown away, and what else comes
	stream  chan []byte // payloads of a bulk load as they arrive; nil for other messages
	err     error       // why stream was closed before the end of the message; set before that
	aborted bool        // the stream was closed so; used by the reader's goroutine only
}

// add appends a packet's payload, or notes that the session must not have so much memory.
func (m *message) add(packet []byte, mem *meter.Meter) {
	if m.refused != nil {
		return
	}
	if m.payload == nil {
		m.payload = packet
		return
	}
	need := len(m.payload) + len(packet)
	if need > cap(m.payload) {
		size := need + need/4
		if size > uncounted {
			if m.refused = mem.Hold(int64(size)); m.refused != nil {
				m.drop(mem)
				return
			}
		}
		larger := append(make([]byte, 0, size), m.payload...)
		mem.Drop(m.held)
		if m.held = 0; size > uncounted {
			m.held = int64(size)
		}
		m.payload = larger
	}
	m.payload = append(m.payload, packet...)
}

// drop forgets the payload.
func (m *message) drop(mem *meter.Meter) {
	mem.Drop(m.held)
	m.payload, m.held = nil, 0
}

// next is the stream of a bulk load for package tds.
func (m *message) next() ([]byte, error) {
	piece, ok := <-m.stream
	if ok {
		return piece, nil
	}
	if m.err != nil {
		return nil, m.err
	}
	return nil, io.EOF
}

// drain waits until the reader has seen the end of the message.
func (m *message) drain() {
	if m.stream != nil {
		for range m.stream { // only the end is of interest
		}
	}
}

func newConn(ctx context.Context, s *Server, nc net.Conn) *conn {
	c := &conn{
		srv:        s,
		id:         s.ids.Add(1),
		nc:         nc,
		requests:   make(chan *message, 1),
		attentions: make(chan struct{}, 1),
		readerDone: make(chan struct{}),
		killed:     make(chan struct{}),
	}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	c.pending = &pendingConn{address: addressKey(nc.RemoteAddr()), drop: c.cancel}
	c.in = bufio.NewReaderSize(idleMeter{nc, c.pending}, readBuffer)
	c.src = c.in
	c.out = tds.NewMessageWriter(nc, tds.DefaultPacketSize)
	if record := s.cfg.Record; record != nil {
		c.out.OnPacket = func(packet []byte) { record(c.id, false, packet) }
	}
	return c
}

// enter waits until there is room for a connection that has not logged in. If that does not happen, the connection is closed.
func (c *conn) admit() bool {
	if c.srv.admission.admit(c.ctx, c.srv.closing, c.pending) {
		return true
	}
	c.cancel(ErrServerClosed)
	c.nc.Close()
	return false
}

// leave gives the connection's place to others.
func (c *conn) release() {
	c.srv.admission.remove(c.pending)
	if c.admitted {
		c.srv.admission.removeUser()
	}
}

// serve runs the connection from its first byte to its last and returns why it ended, nil for an
// orderly end.
func (c *conn) serve() (err error) {
	unblock := context.AfterFunc(c.ctx, func() { c.nc.Close() })
	defer unblock()
	reading := false
	defer func() {
		if v := recover(); v != nil {
			err = c.panicked(v)
		}
		c.cancel(err)
		c.nc.Close()
		if reading {
			<-c.readerDone
		}
		err = ignoreOrderlyEnd(errors.Join(err, c.closeSession()))
	}()
	if err := c.logIn(); err != nil {
		if cause := context.Cause(c.ctx); cause != nil {
			return cause
		}
		return err
	}
	if s, ok := c.session.(killable); ok {
		s.OnKill(c.kill)
	}
	if s, ok := c.session.(accounted); ok {
		c.meter = s.Meter()
	}
	reading = true
	go func() {
		defer close(c.readerDone)
		c.cancel(fmt.Errorf("%w: %w", ErrClientGone, c.readRecovered()))
	}()
	for {
		select {
		case <-c.srv.closing:
			return ErrServerClosed
		default:
		}
		select {
		case <-c.ctx.Done():
			return context.Cause(c.ctx)
		case <-c.srv.closing:
			return ErrServerClosed
		case <-c.killed:
			return exec.ErrKilled // while idle: nothing can be said, the socket is closed
		case m := <-c.requests:
			err = c.handle(m)
			m.drain()
		case <-c.attentions:
			err = c.handleIdleAttention()
		}
		if errors.Is(err, errFatal) {
			err = errors.Join(err, c.closeSession()) // what it holds is free before the client has gone
			c.linger()
		}
		if err != nil {
			return err
		}
	}
}

// kill ends the connection: at once when it is idle, else after the running request, whose client gets a short time to
// take the rest of its answer.
func (c *conn) kill() {
	close(c.killed)
	_ = c.nc.SetDeadline(time.Now().Add(lingerTime)) // fails when it is closed, which is what is wanted
}

// closeSession closes the session unless that was done.
func (c *conn) closeSession() (err error) {
	s := c.session
	if s == nil {
		return nil
	}
	c.session = nil
	defer c.recoverTo(&err)
	if err := s.Close(); err != nil {
		return fmt.Errorf("close session: %w", err)
	}
	return nil
}

// rescue turns a panic into an error, and tells the server's owner. It must be deferred.
func (c *conn) recoverTo(err *error) {
	if v := recover(); v != nil {
		c.srv.panicked(v)
		*err = fmt.Errorf("%w: panic: %v", errFatal, v)
	}
}

// panicked tells the server's owner of a panic of the executing goroutine, frees what the session holds, and tells the
// client. It must be called by the deferred function that recovers.
func (c *conn) panicked(v any) error {
	c.srv.panicked(v)
	err := errors.Join(fmt.Errorf("%w: panic: %v", errFatal, v), c.closeSession())
	if c.version != 0 {
		err = errors.Join(err, c.sendPanicError())
	}
	return err
}

// lastWord tells the client that a panic has ended the session. What was being sent may be in disorder, and writing may
// panic once more.
func (c *conn) sendPanicError() (err error) {
	defer c.recoverTo(&err)
	if err := c.nc.SetWriteDeadline(time.Now().Add(lingerTime)); err != nil {
		return nil // it is closed
	}
	if !c.replying {
		c.beginReply()
	}
	m := mserr.SessionKilled()
	if c.sendFatal(m) == nil {
		c.linger()
	}
	return nil
}

// linger waits until the client has closed, or a short time, after the last word was sent.
func (c *conn) linger() {
	if half, ok := c.nc.(interface{ CloseWrite() error }); ok {
		if half.CloseWrite() != nil {
			return
		}
	}
	timer := time.NewTimer(lingerTime)
	defer timer.Stop()
	var stream chan []byte
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-timer.C:
			return
		case <-c.srv.closing:
			return
		case m := <-c.requests: // the reader must get to the end of what the client has sent
			stream = m.stream
		case _, ok := <-stream:
			if !ok {
				stream = nil
			}
		}
	}
}

// readSafely is read; a panic ends this connection and no other.
func (c *conn) readRecovered() (err error) {
	defer c.recoverTo(&err)
	return c.read()
}

// read takes packets off the connection until it ends, and returns why. It runs in the reader's goroutine.
func (c *conn) read() error {
	var m *message // being received
	for {
		h, payload, err := tds.ReadPacket(c.src)
		c.record(h, payload, err)
		if err == nil && m != nil && h.Type != m.typ && h.Type != tds.PacketAttention {
			err = &tds.FormatError{What: fmt.Sprintf("packet of type %#02x inside a message of type %#02x", byte(h.Type), byte(m.typ))}
		}
		if err != nil {
			m.abort(err)
			return err
		}
		if h.Type == tds.PacketAttention {
			// Clients may send it in the middle of a message, which is then void.
			m.abort(ErrAttention)
			if m != nil {
				m.drop(c.meter)
			}
			m = nil
			c.handleAttention()
			continue
		}
		if m == nil {
			m = &message{typ: h.Type, status: h.Status}
			if h.Type == tds.PacketBulkLoad {
				m.stream = make(chan []byte, bulkBacklog)
				if err := c.deliver(m); err != nil {
					m.abort(err)
					return err
				}
			}
		}
		ignored := h.Status&tds.StatusIgnore != 0
		switch {
		case m.aborted: // the rest of what was broken off
		case m.stream != nil && ignored:
			m.abort(errIgnored)
		case m.stream != nil:
			select {
			case m.stream <- payload:
			case <-c.ctx.Done():
			}
			if h.EOM() {
				close(m.stream)
			}
		case len(m.payload)+len(payload) > maxMessage:
			return &tds.FormatError{What: fmt.Sprintf("message of more than %d bytes", maxMessage)}
		default:
			m.add(payload, c.meter)
			m.status |= h.Status & tds.StatusIgnore
			if h.EOM() {
				if err := c.deliver(m); err != nil {
					return err
				}
			}
		}
		if h.EOM() {
			m = nil
		}
	}
}

// breakOff ends the stream of a bulk load with an error; it does nothing to other messages and to nil.
func (m *message) abort(err error) {
	if m != nil && m.stream != nil && !m.aborted {
		m.err, m.aborted = err, true
		close(m.stream)
	}
}

// deliver hands a message over, once the one before it was taken. A client may send one request before it has read the answer to
// another one, which none does. While a third one waits, nobody would see that the client is gone; so it must not wait for long.
func (c *conn) deliver(m *message) error {
	select {
	case c.requests <- m:
		return nil
	default:
	}
	timer := time.NewTimer(pipelineTime)
	defer timer.Stop()
	select {
	case c.requests <- m:
		return nil
	case <-c.ctx.Done():
		return context.Cause(c.ctx)
	case <-timer.C:
		return &tds.FormatError{What: "a third request before the answer to the first"}
	}
}

// record shows a packet of the client to Config.Record.
func (c *conn) record(h tds.Header, payload []byte, err error) {
	f := c.srv.cfg.Record
	if f == nil || err != nil {
		return
	}
	if h.Type == tds.PacketLogin7 {
		payload = make([]byte, len(payload))
	}
	f(c.id, true, tds.AppendPacket(nil, h, payload))
}

// attend notes an attention, cancels the running request and wakes the executing goroutine.
func (c *conn) handleAttention() {
	c.mu.Lock()
	r := c.running
	c.mu.Unlock()
	unresponsive := r != nil && c.fault(c.ctx, OnAttention, r, 0) != nil
	c.mu.Lock()
	if unresponsive && c.running == r {
		c.unresponsive = true
		c.mu.Unlock()
		return
	}
	c.attention = true
	if c.cancelRequest != nil {
		c.cancelRequest(ErrAttention)
	}
	c.mu.Unlock()
	select {
	case c.attentions <- struct{}{}:
	default:
	}
}

// attended tells whether an attention waits.
func (c *conn) attentionPending() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.attention
}

// begin makes the context of a request, which is canceled already when an attention waits.
func (c *conn) beginRequest() (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(c.ctx)
	if c.srv.cfg.Fault != nil {
		ctx, cancel = c.detachedContext()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancelRequest = cancel
	if c.attention {
		cancel(ErrAttention)
	}
	return ctx, cancel
}

// deafenable makes the context of a request that outlives the client when [OnAttention] says so.
func (c *conn) detachedContext() (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(c.ctx))
	stop := context.AfterFunc(c.ctx, func() {
		c.mu.Lock()
		unresponsive := c.unresponsive
		c.mu.Unlock()
		if cause := context.Cause(c.ctx); !unresponsive || !errors.Is(cause, ErrClientGone) {
			cancel(cause)
		}
	})
	return ctx, func(cause error) {
		stop()
		cancel(cause)
	}
}

// end closes the request for attentions and takes the one that waits, to be acknowledged by the caller.
func (c *conn) endRequest() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancelRequest, c.running, c.unresponsive = nil, nil, false
	waiting := c.attention
	c.attention = false
	return waiting
}

// attendIdle answers an attention that came when no request ran; a request that waits is void.
func (c *conn) handleIdleAttention() error {
	if !c.attentionPending() {
		return nil // acknowledged together with the request that it ended; what waits now came after it
	}
	void := false
	select {
	case m := <-c.requests:
		m.drain()
		m.drop(c.meter)
		void = true
	default:
	}
	c.endRequest()
	if void {
		c.beginReply()
		if err := c.sendDone(tds.DoneError, 0); err != nil {
			return err
		}
	}
	return c.acknowledge()
}

// acknowledge sends the message that acknowledges an attention.
func (c *conn) acknowledge() error {
	c.beginReply()
	return c.sendDone(tds.DoneAttention, tds.CommandAttention)
}

// sendDone sends a lone DONE and ends the message.
func (c *conn) sendDone(status tds.DoneStatus, command uint16) error {
	if _, err := c.out.Write(tds.AppendDone(nil, tds.DoneBatch, status, command, 0, c.version)); err != nil {
		return err
	}
	return c.endReply()
}

// beginReply starts the answer to a message.
func (c *conn) beginReply() {
	c.replying = true
	c.out.Begin(tds.PacketReply)
}

// endReply sends the rest of the answer.
func (c *conn) endReply() error {
	c.replying = false
	return c.out.End()
}

// sendFatal sends an error and a DONE that ends the connection. It does not begin the message.
func (c *conn) sendFatal(m *mserr.Error) error {
	if _, err := c.out.Write(tds.AppendMessage(nil, m, pipeHost, c.version)); err != nil {
		return err
	}
	return c.sendDone(tds.DoneError|tds.DoneFatal, 0)
}
