package smp

import (
	"errors"
	"io"
	"sync"
)

// MaxSessions is how many sessions a connection can have at once.
const MaxSessions = 128

// ErrClosed is the error of a session whose connection has ended or whose client has closed it.
var ErrClosed = errors.New("session multiplex protocol: session closed")

// Mux is the server's end of a connection with several sessions.
type Mux struct {
	// Wanted, if it is set, returns a channel that is closed while somebody waits for the writer of
	// a session. It must be set before Serve.
	Wanted func() <-chan struct{}

	// sending serializes packets. A session's mutex may be locked inside it, not the reverse.
	sending sync.Mutex
	w       io.Writer
	buf     []byte
	failed  error // first error of w

	limit  int64          // of a spool's file in bytes
	drains sync.WaitGroup // goroutines that send from spools

	// mu guards what follows. It may be locked inside a session's mutex, and none inside it.
	mu       sync.Mutex
	sessions map[uint16]*Session
	closed   bool
}

// NewMux makes a Mux that sends to w, one packet with each call of Write.
func NewMux(w io.Writer) *Mux { return &Mux{w: w, limit: spoolFile, sessions: map[uint16]*Session{}} }

// Serve reads packets until r ends or the client violates the protocol, and returns why it ended.
// It calls accept for each new session, which must not block. After Close it discards the packets
// of all sessions.
func (m *Mux) Serve(r io.Reader, accept func(*Session)) error {
	for {
		h, data, err := readPacket(r)
		if err != nil {
			return err
		}
		if err := m.receive(h, data, accept); err != nil {
			return err
		}
	}
}

// receive handles a packet (MC-SMP 3.1.5.1, 3.2.4.1).
func (m *Mux) receive(h Header, data []byte, accept func(*Session)) error {
	m.mu.Lock()
	s, closed, count := m.sessions[h.Session], m.closed, len(m.sessions)
	m.mu.Unlock()
	switch {
	case closed:
		return nil
	case h.Kind != Syn && s == nil:
		return violationf("a packet for session %d, which is not open", h.Session)
	case h.Kind != Syn:
		return s.receive(h, data)
	case s != nil:
		return violationf("session %d is opened twice", h.Session)
	case count >= MaxSessions:
		return violationf("more than %d sessions", MaxSessions)
	case h.Sequence != 0:
		return violationf("session %d begins with the number %d", h.Session, h.Sequence)
	}
	s = newSession(m, h)
	m.mu.Lock()
	m.sessions[h.Session] = s
	m.mu.Unlock()
	accept(s)
	return nil
}

// send sends a packet of a session. numbered is called with the session's mutex locked, and returns
// the header and the data.
func (m *Mux) send(s *Session, numbered func() (Header, []byte, error)) error {
	m.sending.Lock()
	defer m.sending.Unlock()
	s.mu.Lock()
	h, data, err := numbered()
	s.mu.Unlock()
	if err != nil {
		return err
	}
	if m.failed != nil {
		return m.failed
	}
	h.Session, h.Length = s.id, len(data)
	m.buf = append(h.Append(m.buf[:0]), data...)
	_, m.failed = m.w.Write(m.buf)
	return m.failed
}

// remove forgets a session whose two sides have sent FIN.
func (m *Mux) remove(s *Session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.sessions, s.id)
}

// Close ends all sessions without a FIN, and waits for the goroutines of the Mux. A write to the
// connection must not block any more, or not for long.
func (m *Mux) Close() {
	m.mu.Lock()
	m.closed = true
	all := make([]*Session, 0, len(m.sessions))
	for _, s := range m.sessions {
		all = append(all, s)
	}
	m.mu.Unlock()
	for _, s := range all {
		s.abort(ErrClosed)
	}
	m.drains.Wait()
}
