package tsqld

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/smp"
	"github.com/jobagent/jobagent/testenv/tsqld/tds"
)

// errEOF is the error of a connection that the client closed between two messages.
var errEOF = io.EOF

const (
	// readBuffer is the size of a connection's read buffer in bytes.
	readBuffer = 16 << 10
	// maxMessage is the largest message, in bytes, that is held in memory.
	maxMessage = 512 << 20
	// uncounted is the size, in bytes, up to which a message does not count against the session's
	// memory limit.
	uncounted = 64 << 10
	// bulkBacklog is how many packets of a bulk load are buffered for the interpreter.
	bulkBacklog = 256
	// lingerTime is how long the server waits for the client to close the connection after a final
	// error. Without the wait, a reset of the connection can destroy the error on its way.
	lingerTime = 2 * time.Second
	// pipelineTime is how long a client's third request waits for the end of the first one.
	pipelineTime = 5 * time.Second
)

// conn is one connection. A comment marks the fields that the reading goroutine uses too; all
// others belong to the goroutine that executes requests.
type conn struct {
	srv    *Server
	id     uint64
	nc     net.Conn
	ctx    context.Context // ends with the connection
	cancel context.CancelCauseFunc

	in  *bufio.Reader // plain bytes of the connection
	src io.Reader     // source of packets: in, or TLS; used by the reading goroutine after the login
	dst io.Writer     // where packets go to: nc, or TLS
	out *tds.MessageWriter

	version  tds.Version
	login    session.Login
	session  interpreter
	meter    *meter.Meter       // the session's; nil for none; used by the reading goroutine too
	replying bool               // an answer has begun and not ended
	bulk     string             // text of the last batch, which may be the INSERT BULK of the next message
	states   *tds.SessionStates // if the client can recover the session; else nil
	multiple bool               // MARS was granted: after the login, the connection has sessions
	group    *group             // of a session with MARS, which is a conn of its own; nil for others
	stream   *smp.Session       // of a session with MARS

	requests   chan *message // from the reading goroutine; holds one
	attentions attentions
	readerDone chan struct{}
	killed     chan struct{} // closed by KILL
	pending    *pendingConn  // its entry in srv.admission until the login
	admitted   bool          // counted by srv.admission as logged in
}

func newConn(ctx context.Context, s *Server, nc net.Conn) *conn {
	c := &conn{
		srv:        s,
		id:         s.ids.Add(1),
		nc:         nc,
		requests:   make(chan *message, 1),
		attentions: attentions{arrived: make(chan struct{}, 1)},
		readerDone: make(chan struct{}),
		killed:     make(chan struct{}),
	}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	c.pending = &pendingConn{address: addressKey(nc.RemoteAddr()), drop: c.cancel}
	c.in = bufio.NewReaderSize(idleMeter{nc, c.pending}, readBuffer)
	c.src, c.dst = c.in, nc
	c.out = c.newWriter(nc, tds.DefaultPacketSize)
	return c
}

// newWriter makes a writer of messages, whose packets are recorded.
func (c *conn) newWriter(w io.Writer, size int) *tds.MessageWriter {
	out := tds.NewMessageWriter(w, size)
	if record := c.srv.cfg.Record; record != nil {
		out.OnPacket = func(packet []byte) { record(c.id, false, packet) }
	}
	return out
}

// setTransport sets where packets come from and go to.
func (c *conn) setTransport(src io.Reader, dst io.Writer) {
	c.src, c.dst = src, dst
	c.out.SetWriter(dst)
}

// admit waits until there is room for one more connection without login. If the connection or the
// server ends first, admit closes the connection and returns false.
func (c *conn) admit() bool {
	if c.srv.admission.admit(c.ctx, c.srv.closing, c.pending) {
		return true
	}
	c.cancel(ErrServerClosed)
	c.nc.Close()
	return false
}

// release removes the connection from the counts of srv.admission.
func (c *conn) release() {
	c.srv.admission.remove(c.pending)
	if c.admitted {
		c.srv.admission.removeUser()
	}
}

// serve runs the connection from its first byte to its last, and returns why it ended; nil is an
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
	if err := (&handshake{c: c}).logIn(); err != nil {
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
	if c.multiple {
		err = c.serveSessions()
	} else {
		c.startReading()
		err = c.serveRequests()
	}
	if errors.Is(err, errFatal) {
		err = errors.Join(err, c.closeSession()) // Release the session's locks before the client has gone.
		c.linger()
	}
	return err
}

// startReading starts the reading goroutine.
func (c *conn) startReading() {
	go func() {
		defer close(c.readerDone)
		c.cancel(fmt.Errorf("%w: %w", ErrClientGone, c.readRecovered()))
	}()
}

// serveRequests executes requests until the connection, or the session with MARS, ends, and returns
// why it ended.
func (c *conn) serveRequests() (err error) {
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
			return session.ErrKilled // idle: there is no answer that could carry an error
		case m := <-c.requests:
			err = c.handle(m)
			m.drain()
			if s, ok := c.session.(accounted); ok && err == nil && c.group == nil {
				s.ReleaseMemory()
			}
		case <-c.attentions.arrived:
			err = c.handleIdleAttention()
		}
		if err != nil {
			return err
		}
	}
}

// kill ends the connection: an idle one at once, another one after its running request. The client
// of that request gets a short time to read the rest of the answer.
func (c *conn) kill() {
	close(c.killed)
	_ = c.nc.SetDeadline(time.Now().Add(lingerTime)) // fails only on a closed connection
}

// closeSession closes the session unless it is closed already, or belongs to a group.
func (c *conn) closeSession() (err error) {
	s := c.session
	if s == nil || c.group != nil {
		return nil
	}
	c.session = nil
	defer c.recoverTo(&err)
	if err := s.Close(); err != nil {
		return fmt.Errorf("close session: %w", err)
	}
	return nil
}

// recoverTo reports a panic and stores it in err. It must be deferred.
func (c *conn) recoverTo(err *error) {
	if v := recover(); v != nil {
		c.srv.panicked(v)
		*err = fmt.Errorf("%w: panic: %v", errFatal, v)
	}
}

// panicked reports a panic of the executing goroutine, closes the session and sends an error to the
// client. The deferred function that recovers must call it.
func (c *conn) panicked(v any) error {
	c.srv.panicked(v)
	err := errors.Join(fmt.Errorf("%w: panic: %v", errFatal, v), c.closeSession())
	if c.version != 0 {
		err = errors.Join(err, c.sendPanicError())
	}
	return err
}

// sendPanicError sends error 596 after a panic. The state of the writer is unknown, so writing may
// panic again.
func (c *conn) sendPanicError() (err error) {
	defer c.recoverTo(&err)
	if err := c.nc.SetWriteDeadline(time.Now().Add(lingerTime)); err != nil {
		return nil // the connection is closed
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

// linger waits after a final error until the client has closed the connection, for at most
// lingerTime.
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
		case m := <-c.requests: // take requests, so that the reading goroutine can reach the client's end
			stream = m.stream
		case _, ok := <-stream:
			if !ok {
				stream = nil
			}
		}
	}
}

// readRecovered calls read. A panic becomes an error and ends this connection only.
func (c *conn) readRecovered() (err error) {
	defer c.recoverTo(&err)
	return c.read()
}

// read reads packets until the connection ends, and returns why it ended. It runs in the reading
// goroutine.
func (c *conn) read() error {
	var m *message // the message being received
	for {
		h, payload, err := tds.ReadPacket(c.src)
		c.record(h, payload, err)
		if err == nil && m != nil && h.Type != m.typ && h.Type != tds.PacketAttention {
			err = &tds.FormatError{
				What: fmt.Sprintf("packet of type %#02x inside a message of type %#02x", byte(h.Type), byte(m.typ)),
			}
		}
		if err != nil {
			m.abort(err)
			return err
		}
		if h.Type == tds.PacketAttention {
			// Clients may send an attention in the middle of a message, which is void then.
			m.abort(ErrAttention)
			if m != nil {
				m.drop(c.meter)
			}
			m = nil
			c.attentions.arrive(func(r *request) bool { return c.fault(c.ctx, OnAttention, r, 0) != nil })
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
		case m.aborted: // the rest of an aborted bulk load
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

// deliver passes a message to the executing goroutine. It waits while the channel holds an earlier
// message, for at most pipelineTime: during the wait nothing reads the connection, so the end of
// the client would go unnoticed. Drivers never send a second request before they have read the
// answer to the first one.
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

// record passes a packet from the client to Config.Record.
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

// handleIdleAttention answers an attention that arrived while no request ran. A request that waits
// in c.requests is void.
func (c *conn) handleIdleAttention() error {
	if !c.attentions.isPending() {
		return nil // acknowledged with the request that it canceled; c.requests holds a later one
	}
	void := false
	select {
	case m := <-c.requests:
		m.drain()
		m.drop(c.meter)
		void = true
	default:
	}
	c.attentions.end()
	if void {
		c.beginReply()
		if err := c.sendDone(tds.DoneError, 0); err != nil {
			return err
		}
	}
	return c.acknowledge()
}

// acknowledge sends the acknowledgment of an attention, a message of its own.
func (c *conn) acknowledge() error {
	c.beginReply()
	return c.sendDone(tds.DoneAttention, tds.CommandAttention)
}

// sendDone sends a DONE token and ends the message.
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

// endReply sends the rest of the answer and ends the message.
func (c *conn) endReply() error {
	c.replying = false
	return c.out.End()
}

// sendFatal sends an error and a DONE with the fatal bit, and ends the message. The caller has
// begun it.
func (c *conn) sendFatal(m *mserr.Error) error {
	if _, err := c.out.Write(tds.AppendMessage(nil, m, pipeHost, c.version)); err != nil {
		return err
	}
	return c.sendDone(tds.DoneError|tds.DoneFatal, 0)
}
