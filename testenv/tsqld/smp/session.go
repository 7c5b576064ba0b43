package smp

import (
	"errors"
	"fmt"
	"io"
	"sync"
)

const (
	// window is how many packets the server accepts before it has read them (MC-SMP 3.1.3.1).
	window = 4
	// ackAfter is how many packets are read before an ACK tells the client. It is the number of
	// Microsoft's implementations (MC-SMP, product behavior 3).
	ackAfter = 2
)

// Session is a session of a [Mux]. Read is for one goroutine, and so are Write and Close.
type Session struct {
	mux *Mux
	id  uint16

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced at each change that Read, Write or drain waits for
	received [][]byte      // data that Read has not returned
	arrived  uint32        // number of the newest DATA packet of the client (SeqNumForRecv)
	accepted uint32        // last number that the server accepts (HighWaterForRecv)
	told     uint32        // accepted as the client knows it (LastHighWaterForRecv)
	sent     uint32        // number of the newest DATA packet of the server (SeqNumForSend)
	allowed  uint32        // last number that the client accepts (HighWaterForSend)
	gone     bool          // the client has sent FIN
	finished bool          // the server has sent FIN
	err      error         // why the session has ended; nil while it is open
	spool    spool
	draining bool // a goroutine sends packets from spool
}

func newSession(m *Mux, syn Header) *Session {
	return &Session{mux: m, id: syn.Session, changed: make(chan struct{}), accepted: window, told: window, allowed: syn.Window}
}

// ID returns the number of the session (SID).
func (s *Session) ID() uint16 { return s.id }

// notify wakes the goroutines that wait for a change. s.mu must be locked.
func (s *Session) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// receive handles a packet of the client after SYN.
func (s *Session) receive(h Header, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.gone:
		return violationf("a packet for session %d after its FIN", s.id)
	case after(s.allowed, h.Window):
		return violationf("session %d moves its window back from %d to %d", s.id, s.allowed, h.Window)
	case h.Kind == Data && h.Sequence != s.arrived+1, h.Kind == Ack && h.Sequence != s.arrived:
		return violationf("session %d sends the number %d after %d", s.id, h.Sequence, s.arrived)
	case h.Kind == Data && after(h.Sequence, s.accepted):
		return violationf("session %d sends the number %d beyond its window, which ends at %d", s.id, h.Sequence, s.accepted)
	}
	s.allowed = h.Window
	switch h.Kind {
	case Data:
		s.arrived = h.Sequence
		if s.err == nil {
			s.received = append(s.received, data)
		}
	case Fin:
		s.gone = true
		if s.finished {
			s.mux.remove(s)
		}
	}
	s.notify()
	return nil
}

// Read reads data of the client. It returns io.EOF after the client's FIN.
func (s *Session) Read(p []byte) (int, error) {
	for {
		s.mu.Lock()
		switch {
		case s.err != nil:
			defer s.mu.Unlock()
			return 0, s.err
		case len(s.received) > 0:
			n := copy(p, s.received[0])
			if s.received[0] = s.received[0][n:]; len(s.received[0]) > 0 {
				s.mu.Unlock()
				return n, nil
			}
			s.received = s.received[1:]
			s.accepted++
			late := s.accepted-s.told >= ackAfter
			s.mu.Unlock()
			if late {
				if err := s.acknowledge(); err != nil {
					return n, err
				}
			}
			if n > 0 || len(p) == 0 {
				return n, nil
			}
			continue // a packet without data
		case s.gone:
			s.mu.Unlock()
			return 0, io.EOF
		}
		changed := s.changed
		s.mu.Unlock()
		<-changed
	}
}

// acknowledge sends an ACK.
func (s *Session) acknowledge() error {
	return s.mux.send(s, func() (Header, []byte, error) {
		s.told = s.accepted
		return Header{Kind: Ack, Sequence: s.sent, Window: s.accepted}, nil, nil
	})
}

// next numbers the next DATA packet. s.mu must be locked, and the window open.
func (s *Session) next() Header {
	s.sent++
	s.told = s.accepted
	return Header{Kind: Data, Sequence: s.sent, Window: s.accepted}
}

// errShut says that the window is shut.
var errShut = errors.New("the window is shut")

// Write sends a packet of at most MaxData bytes, or puts it into the spool.
func (s *Session) Write(p []byte) (int, error) {
	for {
		err := s.mux.send(s, func() (Header, []byte, error) {
			switch {
			case s.ended() != nil:
				return Header{}, nil, s.ended()
			case s.draining || s.sent == s.allowed:
				return Header{}, nil, errShut
			}
			return s.next(), p, nil
		})
		if err == nil {
			return len(p), nil
		}
		if !errors.Is(err, errShut) {
			return 0, err
		}
		if done, err := s.wait(p); done || err != nil {
			return len(p), err
		}
	}
}

// wait waits until the window may have opened. If the writer is wanted first, or packets are in the
// spool already, wait puts the packet there and returns true, unless the spool is full.
func (s *Session) wait(p []byte) (done bool, err error) {
	var wanted <-chan struct{}
	if s.mux.Wanted != nil {
		wanted = s.mux.Wanted()
	}
	s.mu.Lock()
	if !s.draining && s.sent != s.allowed || s.ended() != nil {
		s.mu.Unlock()
		return false, nil
	}
	if full := s.spool.full(s.mux.limit); full || !s.draining {
		if full {
			wanted = nil // the client must read before anything else goes on
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
			return false, nil
		case <-wanted:
		}
		s.mu.Lock()
	}
	defer s.mu.Unlock()
	if s.ended() != nil {
		return false, nil
	}
	if err := s.spool.push(p); err != nil {
		return false, fmt.Errorf("spool a result: %w", err)
	}
	if !s.draining {
		s.draining = true
		s.mux.drains.Go(s.drain)
	}
	return true, nil
}

// ended returns why nothing can be sent any more, or nil. s.mu must be locked.
func (s *Session) ended() error {
	if s.err == nil && s.gone {
		return ErrClosed
	}
	return s.err
}

// drain sends the packets of the spool as the window opens, and ends when the spool is empty.
func (s *Session) drain() {
	for {
		s.mu.Lock()
		switch {
		case s.ended() != nil || s.spool.empty():
			if err := s.spool.close(); err != nil && s.err == nil {
				s.err = err
			}
			s.draining = false
			s.notify()
			s.mu.Unlock()
			return
		case s.sent == s.allowed:
			changed := s.changed
			s.mu.Unlock()
			<-changed
			continue
		}
		s.mu.Unlock()
		err := s.mux.send(s, func() (Header, []byte, error) {
			if s.ended() != nil { // the next round discards the spool
				return Header{}, nil, s.ended()
			}
			p, err := s.spool.pop()
			if err != nil {
				return Header{}, nil, fmt.Errorf("read a spooled result: %w", err)
			}
			return s.next(), p, nil
		})
		if err != nil {
			s.abort(err)
		}
	}
}

// Spooled reports whether packets wait in the spool. The channel is closed at the next change of
// the session.
func (s *Session) Spooled() (spooled bool, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.draining, s.changed
}

// Abort ends the session without a FIN. Its connection must end, too.
func (s *Session) Abort() { s.abort(ErrClosed) }

// abort ends the session with an error.
func (s *Session) abort(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
		s.received = nil
	}
	s.notify()
}

// Close sends the server's FIN. The number of the session is free again if the client's FIN has
// arrived.
func (s *Session) Close() error {
	s.abort(ErrClosed)
	return s.mux.send(s, func() (Header, []byte, error) {
		// Before the packet is sent: the client may use the number again as soon as it has the FIN.
		if s.finished = true; s.gone {
			s.mux.remove(s)
		}
		return Header{Kind: Fin, Sequence: s.sent, Window: s.accepted}, nil, nil
	})
}
