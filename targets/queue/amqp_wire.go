package queue

import (
	"encoding/binary"
	"errors"
	"net"
	"sync"
)

// Codes of AMQP 1.0: performatives (section 2.7,
// https://docs.oasis-open.org/amqp/core/v1.0/os/amqp-core-transport-v1.0-os.html#section-performatives)
// and delivery states (section 3.4).
const (
	performOpen        = 0x10
	performBegin       = 0x11
	performAttach      = 0x12
	performTransfer    = 0x14
	performDisposition = 0x15

	stateAccepted = 0x24
	stateRejected = 0x25
	stateReleased = 0x26
	stateModified = 0x27
)

// errSecondSend means that the client library wanted to open another link after the message may
// have been sent, to send it again.
var errSecondSend = errors.New("the connection does not open a second link")

// wire is a connection that carries AMQP frames in clear: it is above TLS. It sees what the client
// library does not tell: whether a transfer of the message left, and with which state the peer
// settled it. The library reports a lost connection with one error whether the peer received the
// message or not, takes a released message for a sent one, and sends a second time by itself after
// some errors, even without retries.
type wire struct {
	net.Conn
	// permit is called before the message's first byte is written; an error prevents it.
	permit func() error

	mu    sync.Mutex
	armed bool
	sent  bool
	state byte // of the delivery; 0 means that none was read

	out, in frameReader
}

// newWire returns a wire over a connection. Frames before arm belong to the link's opening.
func newWire(c net.Conn, permit func() error) *wire {
	w := &wire{Conn: c, permit: permit}
	w.out.limit, w.in.limit = headBytes, maxDisposition
	return w
}

// arm says that the link is open: the next transfer is that of the message.
func (w *wire) arm() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed = true
}

// delivery reports whether a byte of the message's transfer may have left, and the state of the
// delivery; 0 means that the peer has not settled it.
func (w *wire) delivery() (sent bool, state byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent, w.state
}

// Write implements net.Conn. The library writes one frame a call.
func (w *wire) Write(p []byte) (int, error) {
	var refused error
	w.mu.Lock()
	first := false
	w.out.feed(p, func(code byte, _ []byte) {
		if !w.armed {
			return
		}
		switch code {
		case performOpen, performBegin, performAttach:
			refused = errSecondSend
		case performTransfer:
			first = first || !w.sent
		}
	})
	w.mu.Unlock()
	if refused == nil && first {
		refused = w.permit()
	}
	if refused != nil {
		_ = w.Conn.Close()
		return 0, refused
	}
	if first {
		w.mu.Lock()
		w.sent = true
		w.mu.Unlock()
	}
	return w.Conn.Write(p)
}

// Read implements net.Conn.
func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if n > 0 {
		w.mu.Lock()
		w.in.feed(p[:n], func(code byte, body []byte) {
			if !w.armed || !w.sent || code != performDisposition {
				return
			}
			if state := dispositionState(body); state != 0 {
				w.state = state
			}
		})
		w.mu.Unlock()
	}
	return n, err
}

const (
	// frameHead is the size of a frame's header, and of a protocol header.
	frameHead = 8
	// headBytes is how much of a frame's body its performative's code takes at most.
	headBytes = 10
	// maxDisposition bounds the part of a frame's body that is kept to read its state. A
	// disposition's state stands in its first bytes.
	maxDisposition = 64
)

// frameReader splits a stream into frames, and keeps the first bytes of each body.
type frameReader struct {
	limit int // of body

	head []byte
	skip uint64 // rest of the extended header
	rest uint64 // rest of the body
	body []byte
	amqp bool // the frame is one of AMQP, not of SASL
}

// feed reads the next part of the stream. It calls fn for each performative as soon as the kept
// part of its body is complete.
func (r *frameReader) feed(p []byte, fn func(code byte, body []byte)) {
	for len(p) > 0 {
		switch {
		case r.skip > 0:
			n := min(r.skip, uint64(len(p)))
			r.skip -= n
			p = p[n:]
		case r.rest > 0:
			n := min(r.rest, uint64(len(p)))
			missing := r.missing()
			r.body = append(r.body, p[:min(n, uint64(max(0, r.limit-len(r.body))))]...)
			r.rest -= n
			p = p[n:]
			if missing && !r.missing() {
				r.report(fn)
			}
		default:
			n := min(frameHead-len(r.head), len(p))
			r.head = append(r.head, p[:n]...)
			p = p[n:]
			if len(r.head) == frameHead {
				r.begin()
			}
		}
	}
}

// missing reports whether more of the current body is to be kept.
func (r *frameReader) missing() bool { return r.rest > 0 && len(r.body) < r.limit }

// begin starts a frame whose header is complete.
func (r *frameReader) begin() {
	head := [frameHead]byte(r.head)
	r.head, r.body = r.head[:0], r.body[:0]
	if string(head[:4]) == "AMQP" {
		return // a protocol header
	}
	size, data := uint64(binary.BigEndian.Uint32(head[:4])), uint64(head[4])*4
	if size < frameHead || data < frameHead || data > size {
		return // malformed; the library ends the connection
	}
	r.amqp = head[5] == 0
	r.skip, r.rest = data-frameHead, size-data
}

// report calls fn for the performative of the current frame.
func (r *frameReader) report(fn func(code byte, body []byte)) {
	if !r.amqp {
		return
	}
	if code, body, ok := described(r.body); ok {
		fn(code, body)
	}
}

// described splits a described value into the code of its descriptor and the value. Codes above 255
// belong to nothing that this file reads.
func described(b []byte) (code byte, value []byte, ok bool) {
	switch {
	case len(b) >= 3 && b[0] == 0 && b[1] == 0x53: // smallulong
		return b[2], b[3:], true
	case len(b) >= 10 && b[0] == 0 && b[1] == 0x80: // ulong
		if n := binary.BigEndian.Uint64(b[2:10]); n <= 0xFF {
			return byte(n), b[10:], true
		}
	}
	return 0, nil, false
}

// dispositionState returns the final state that a disposition of the receiver names; 0 means none.
// The fields are role, first, last, settled and state.
func dispositionState(list []byte) byte {
	switch {
	case len(list) >= 3 && list[0] == 0xC0: // list8: size, count
		list = list[3:]
	case len(list) >= 9 && list[0] == 0xD0: // list32
		list = list[9:]
	default:
		return 0
	}
	for field := range 4 {
		size := primitiveSize(list)
		if size == 0 || size > len(list) {
			return 0
		}
		if field == 0 && !isTrue(list[:size]) { // the role of a sender
			return 0
		}
		list = list[size:]
	}
	code, _, ok := described(list)
	if !ok || code < stateAccepted || code > stateModified {
		return 0
	}
	return code
}

// primitiveSize returns the size of the null, boolean or unsigned integer at the start of b; 0
// means another type.
func primitiveSize(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	switch b[0] {
	case 0x40, 0x41, 0x42, 0x43: // null, true, false, uint 0
		return 1
	case 0x52, 0x56: // smalluint, boolean
		return 2
	case 0x70: // uint
		return 5
	default:
		return 0
	}
}

// isTrue reports whether an encoded boolean is true.
func isTrue(b []byte) bool { return b[0] == 0x41 || b[0] == 0x56 && len(b) == 2 && b[1] == 1 }
