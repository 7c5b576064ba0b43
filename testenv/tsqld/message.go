package tsqld

import (
	"io"

	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/tds"
)

// message is a request as it arrives from the network.
type message struct {
	typ     tds.PacketType
	status  tds.Status  // of the first packet; and StatusIgnore of the last one
	payload []byte      // of the packets so far
	held    int64       // bytes of the session's memory that payload takes
	refused error       // why payload was discarded; the rest of the message is discarded too
	stream  chan []byte // payloads of a bulk load as they arrive; nil for other messages
	err     error       // why stream was closed before the end of the message; set before the close
	aborted bool        // stream was closed early; used by the reading goroutine only
}

// add appends a packet's payload. If the session's memory does not suffice, it sets m.refused
// instead.
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

// drop releases the payload.
func (m *message) drop(mem *meter.Meter) {
	mem.Drop(m.held)
	m.payload, m.held = nil, 0
}

// next returns the next payload of a bulk load; it is the source of a [tds.BulkReader].
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

// drain waits until the reading goroutine has received the whole message.
func (m *message) drain() {
	if m.stream != nil {
		for range m.stream {
		}
	}
}

// abort closes the stream of a bulk load with an error. It ignores other messages and nil.
func (m *message) abort(err error) {
	if m != nil && m.stream != nil && !m.aborted {
		m.err, m.aborted = err, true
		close(m.stream)
	}
}
