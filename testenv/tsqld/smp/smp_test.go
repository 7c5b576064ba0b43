package smp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// peer is the client's end of a Mux.
type peer struct {
	t        *testing.T
	conn     net.Conn
	mux      *Mux
	sessions chan *Session
	ended    chan error // result of Serve
}

// newPeer connects a Mux and a client over an unbuffered pipe.
func newPeer(t *testing.T, wanted func() <-chan struct{}) *peer {
	t.Helper()
	client, server := net.Pipe()
	p := &peer{t: t, conn: client, mux: NewMux(server), sessions: make(chan *Session, MaxSessions), ended: make(chan error, 1)}
	p.mux.Wanted = wanted
	go func() {
		err := p.mux.Serve(server, func(s *Session) { p.sessions <- s })
		server.Close()
		p.mux.Close()
		p.ended <- err
	}()
	t.Cleanup(func() { client.Close() })
	return p
}

// send sends a packet.
func (p *peer) send(kind Kind, id uint16, sequence, limit uint32, data string) {
	p.t.Helper()
	b := Header{Kind: kind, Session: id, Length: len(data), Sequence: sequence, Window: limit}.Append(nil)
	_, err := p.conn.Write(append(b, data...))
	require.NoError(p.t, err)
}

// receive expects a packet.
func (p *peer) receive(want Header, data string) {
	p.t.Helper()
	h, b, err := readPacket(p.conn)
	require.NoError(p.t, err)
	want.Length = len(data)
	require.Equal(p.t, want, h)
	require.Equal(p.t, data, string(b))
}

// open opens a session.
func (p *peer) open(id uint16) *Session {
	p.t.Helper()
	p.send(Syn, id, 0, 4, "")
	s := <-p.sessions
	require.Equal(p.t, id, s.ID())
	return s
}

// TestHeaderOfTheSpecification: the packet of MC-SMP 4.2 is 53 02 05 00, 16 bytes long.
func TestHeaderOfTheSpecification(t *testing.T) {
	t.Parallel()
	raw := []byte{0x53, 2, 5, 0, 16, 0, 0, 0, 0x10, 0, 0, 0, 0x12, 0, 0, 0}
	h, err := ReadHeader(bytes.NewReader(raw))
	require.NoError(t, err)
	require.Equal(t, Header{Kind: Ack, Session: 5, Sequence: 16, Window: 18}, h)
	require.Equal(t, raw, h.Append(nil))
}

func TestDataInBothDirections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, nil)
		s := p.open(7)
		for i, text := range []string{"one", "two", "", "three"} {
			p.send(Data, 7, uint32(i+1), 4, text)
		}
		read := make(chan string, 1)
		go func() {
			b := make([]byte, 11)
			_, err := io.ReadFull(s, b)
			if err != nil {
				b = []byte(err.Error())
			}
			read <- string(b)
		}()
		// The server acknowledges every second packet that it has read.
		p.receive(Header{Kind: Ack, Session: 7, Window: 6}, "")
		p.receive(Header{Kind: Ack, Session: 7, Window: 8}, "")
		require.Equal(t, "onetwothree", <-read)
		go func() { _, _ = s.Write([]byte("answer")) }()
		p.receive(Header{Kind: Data, Session: 7, Sequence: 1, Window: 8}, "answer")
		p.send(Fin, 7, 4, 4, "")
		_, err := s.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF)
		_, err = s.Write([]byte("late"))
		require.ErrorIs(t, err, ErrClosed)
		go func() { _ = s.Close() }()
		p.receive(Header{Kind: Fin, Session: 7, Sequence: 1, Window: 8}, "")
		synctest.Wait()
		p.open(7) // the number is free again
		p.conn.Close()
		require.ErrorIs(t, <-p.ended, io.EOF)
	})
}

// TestTheServerClosesFirst: the number of a session is free after both sides have sent FIN, in
// either order.
func TestTheServerClosesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, nil)
		s := p.open(1)
		go func() { _ = s.Close() }()
		p.receive(Header{Kind: Fin, Session: 1, Window: 4}, "")
		p.send(Data, 1, 1, 4, "is ignored in the state FIN SENT")
		p.send(Fin, 1, 1, 4, "")
		p.open(1)
		p.conn.Close()
		require.ErrorIs(t, <-p.ended, io.EOF)
	})
}

// TestWindowStopsTheWriter: Write blocks when the client's window is shut, and goes on after an
// ACK.
func TestWindowStopsTheWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, nil)
		s := p.open(0)
		written := 0
		go func() {
			for range 6 {
				if _, err := s.Write([]byte("x")); err == nil {
					written++
				}
			}
		}()
		for i := range 4 {
			p.receive(Header{Kind: Data, Sequence: uint32(i + 1), Window: 4}, "x")
		}
		synctest.Wait()
		require.Equal(t, 4, written)
		p.send(Ack, 0, 0, 5, "")
		p.receive(Header{Kind: Data, Sequence: 5, Window: 4}, "x")
		synctest.Wait()
		require.Equal(t, 5, written)
		p.conn.Close()
		require.ErrorIs(t, <-p.ended, io.EOF)
		synctest.Wait()
		require.Equal(t, 5, written, "the writer ends with the connection")
	})
}

// TestSpool: a writer that is wanted elsewhere does not wait for the client, and the client gets
// all packets in order. No file stays behind.
func TestSpool(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	const packets, size = 300, 1000 // more than spoolMemory
	for _, reads := range []int{packets, 40} {
		synctest.Test(t, func(t *testing.T) {
			wanted := make(chan struct{})
			p := newPeer(t, func() <-chan struct{} { return wanted })
			s := p.open(3)
			done := make(chan error, 1)
			go func() {
				for i := range packets {
					data := bytes.Repeat([]byte{byte(i)}, size)
					if _, err := s.Write(data); err != nil {
						done <- err
						return
					}
				}
				done <- nil
			}()
			for i := range 4 {
				p.receive(Header{Kind: Data, Session: 3, Sequence: uint32(i + 1), Window: 4}, string(bytes.Repeat([]byte{byte(i)}, size)))
			}
			synctest.Wait()
			require.Empty(t, done, "the writer waits")
			close(wanted)
			require.NoError(t, <-done)
			spooled, _ := s.Spooled()
			require.True(t, spooled)
			files, err := filepath.Glob(filepath.Join(dir, "tsqld-results-*"))
			require.NoError(t, err)
			require.Len(t, files, 1)
			for i := 4; i < reads; i++ {
				p.send(Ack, 3, 0, uint32(i+1), "")
				p.receive(Header{Kind: Data, Session: 3, Sequence: uint32(i + 1), Window: 4}, string(bytes.Repeat([]byte{byte(i)}, size)))
			}
			synctest.Wait()
			spooled, _ = s.Spooled()
			require.Equal(t, reads < packets, spooled)
			if reads < packets {
				p.send(Fin, 3, 0, uint32(reads), "") // the client is not interested in the rest
			} else {
				go func() { _, _ = s.Write([]byte("direct")) }()
				p.send(Ack, 3, 0, packets+1, "")
				p.receive(Header{Kind: Data, Session: 3, Sequence: packets + 1, Window: 4}, "direct")
			}
			synctest.Wait()
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Empty(t, left)
			p.conn.Close()
			require.ErrorIs(t, <-p.ended, io.EOF)
		})
	}
}

// TestFullSpool: a writer whose spool is full waits for the client even if it is wanted elsewhere,
// until the spool is empty.
func TestFullSpool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wanted := make(chan struct{})
		close(wanted)
		p := newPeer(t, func() <-chan struct{} { return wanted })
		p.mux.limit = 10_000
		s := p.open(3)
		const size, packets = 1000, 100
		written := 0
		go func() {
			for range packets {
				if _, err := s.Write(make([]byte, size)); err != nil {
					return
				}
				written++
			}
		}()
		for i := range 4 {
			p.receive(Header{Kind: Data, Session: 3, Sequence: uint32(i + 1), Window: 4}, string(make([]byte, size)))
		}
		synctest.Wait()
		first := written
		require.Equal(t, 4+spoolMemory/size+10, first, "the window, the memory and the file")
		for i := 4; i < packets; i++ {
			p.send(Ack, 3, 0, uint32(i+1), "")
			p.receive(Header{Kind: Data, Session: 3, Sequence: uint32(i + 1), Window: 4}, string(make([]byte, size)))
			synctest.Wait()
			if i+1 < first {
				require.Equal(t, first, written)
			}
		}
		require.Equal(t, packets, written)
		p.conn.Close()
		<-p.ended
	})
}

// TestViolations: each violation of the protocol ends the connection.
func TestViolations(t *testing.T) {
	t.Parallel()
	type packet struct {
		h    Header
		data string
	}
	syn := packet{Header{Kind: Syn, Window: 4}, ""}
	data := func(sequence uint32) packet {
		return packet{Header{Kind: Data, Sequence: sequence, Window: 4}, "x"}
	}
	many := make([]packet, MaxSessions+1)
	for i := range many {
		many[i] = packet{Header{Kind: Syn, Session: uint16(i), Window: 4}, ""}
	}
	for what, packets := range map[string][]packet{
		"which is not open":       {{Header{Kind: Data, Session: 9, Sequence: 1, Window: 4}, "x"}},
		"opened twice":            {syn, syn},
		"begins with the number":  {{Header{Kind: Syn, Sequence: 1, Window: 4}, ""}},
		"more than 128 sessions":  many,
		"the number 2 after 0":    {syn, data(2)},
		"the number 1 after 1":    {syn, data(1), data(1)},
		"beyond its window":       {syn, data(1), data(2), data(3), data(4), data(5)},
		"moves its window back":   {syn, {Header{Kind: Ack, Window: 3}, ""}},
		"the number 3 after 0":    {syn, {Header{Kind: Ack, Sequence: 3, Window: 4}, ""}},
		"after its FIN":           {syn, {Header{Kind: Fin, Window: 4}, ""}, data(1)},
		"with the flags 0x06":     {{Header{Kind: Ack | Fin, Window: 4}, ""}},
		"of kind 0x01 with data":  {{Header{Kind: Syn, Window: 4}, "x"}},
		"a packet of 32784 bytes": {syn, {Header{Kind: Data, Sequence: 1, Window: 4}, string(make([]byte, MaxData+1))}},
	} {
		var b []byte
		for _, p := range packets {
			p.h.Length = len(p.data)
			b = append(p.h.Append(b), p.data...)
		}
		m := NewMux(io.Discard)
		err := m.Serve(bytes.NewReader(b), func(*Session) {})
		m.Close()
		var v *Violation
		require.ErrorAs(t, err, &v, what)
		require.ErrorContains(t, err, what)
	}
}

// TestNumbersWrapAround: sequence numbers continue with 0 after the largest one.
func TestNumbersWrapAround(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	m := NewMux(&out)
	s := newSession(m, Header{Kind: Syn, Window: 1})
	s.arrived, s.accepted, s.told, s.sent, s.allowed = 1<<32-2, 1, 1, 1<<32-1, 1
	for _, n := range []uint32{1<<32 - 1, 0, 1} {
		require.NoError(t, s.receive(Header{Kind: Data, Sequence: n, Window: 2}, []byte{1}))
	}
	require.Error(t, s.receive(Header{Kind: Data, Sequence: 2, Window: 2}, []byte{1}), "beyond the window")
	_, err := s.Write([]byte("x"))
	require.NoError(t, err)
	h, err := ReadHeader(&out)
	require.NoError(t, err)
	require.Zero(t, h.Sequence)
}

// FuzzServe: no input causes a panic, a hang, or a packet to the client that violates the protocol.
func FuzzServe(f *testing.F) {
	seed := Header{Kind: Syn, Window: 4}.Append(nil)
	seed = append(Header{Kind: Data, Sequence: 1, Window: 4, Length: 2}.Append(seed), 1, 2)
	seed = Header{Kind: Ack, Sequence: 1, Window: 9}.Append(seed)
	seed = Header{Kind: Fin, Sequence: 1, Window: 9}.Append(seed)
	f.Add(seed)
	f.Add(binary.LittleEndian.AppendUint64(nil, 0x1053))
	f.Fuzz(func(t *testing.T, input []byte) {
		var out bytes.Buffer
		m := NewMux(&out)
		always := make(chan struct{})
		close(always)
		m.Wanted = func() <-chan struct{} { return always }
		ends := 0
		echoed := make(chan struct{}, MaxSessions+len(input))
		err := m.Serve(bytes.NewReader(input), func(s *Session) {
			ends++
			go func() { // an echo, twice as long as its input
				defer func() { echoed <- struct{}{} }()
				b := make([]byte, 100)
				for {
					n, err := s.Read(b)
					if err != nil {
						if errors.Is(err, io.EOF) {
							_ = s.Close()
						}
						return
					}
					for range 2 {
						if _, err := s.Write(b[:n]); err != nil {
							return
						}
					}
				}
			}()
		})
		require.Error(t, err)
		m.Close()
		for range ends {
			<-echoed
		}
		sent := map[uint16]uint32{}
		for out.Len() > 0 {
			h, _, err := readPacket(&out)
			require.NoError(t, err)
			if h.Kind == Fin {
				delete(sent, h.Session)
				continue
			}
			if h.Kind == Data {
				sent[h.Session]++
			}
			require.Equal(t, sent[h.Session], h.Sequence)
		}
	})
}
