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
	performDetach      = 0x16
	performEnd         = 0x17
	performClose       = 0x18

	typeError = 0x1D // a condition and its description

	stateAccepted = 0x24
	stateRejected = 0x25
	stateReleased = 0x26
	stateModified = 0x27
)

// errSecondSend means that the client library wanted to open another link after the message may
// have been sent, to send it again.
var errSecondSend = errors.New("the connection does not open a second link")

// wire is a connection that carries AMQP frames in clear: it is above TLS. It sees what the client
// library does not tell: whether a transfer of the message left, with which state the peer settled
// it, and for which reason. The library reports a lost connection with one error whether the peer
// received the message or not, takes a released message for a sent one, hides most reasons, and
// sends a second time by itself after some errors, even without retries.
type wire struct {
	net.Conn
	// permit is called before the message's first byte is written; an error prevents it.
	permit func() error

	mu    sync.Mutex
	armed bool
	sent  bool
	whole bool
	state byte // of the delivery; 0 means that none was read
	// reason is the last one that the peer gave for the end of anything.
	reason condition

	out, in frameReader
}

// condition is the reason that an AMQP peer gives for a refusal. The zero value means none.
type condition struct{ name, description string }

// newWire returns a wire over a connection. Frames before arm belong to the link's opening.
func newWire(c net.Conn, permit func() error) *wire {
	w := &wire{Conn: c, permit: permit}
	w.out.limit, w.in.limit = maxSent, maxRead
	return w
}

// arm says that the link is open: the next transfer is that of the message.
func (w *wire) arm() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed = true
}

// delivery is what is known of the message.
type delivery struct {
	// sent says whether a byte of the message may have left, and whole whether all were written.
	sent, whole bool
	// state is the state in which the peer settled it; 0 means that it has not.
	state byte
	// reason is why the peer rejected the message, or closed the link or the connection.
	reason condition
}

// delivery returns what is known of the message.
func (w *wire) delivery() delivery {
	w.mu.Lock()
	defer w.mu.Unlock()
	return delivery{sent: w.sent, whole: w.whole, state: w.state, reason: w.reason}
}

// Write implements net.Conn. The library writes one frame a call.
func (w *wire) Write(p []byte) (int, error) {
	var refused error
	w.mu.Lock()
	first, last := false, false
	w.out.feed(p, func(code byte, body []byte) {
		if !w.armed {
			return
		}
		switch code {
		case performOpen, performBegin, performAttach:
			refused = errSecondSend
		case performTransfer:
			first = first || !w.sent
			last = !hasMore(body)
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
	n, err := w.Conn.Write(p)
	if last && err == nil {
		w.mu.Lock()
		w.whole = true
		w.mu.Unlock()
	}
	return n, err
}

// Read implements net.Conn.
func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if n > 0 {
		w.mu.Lock()
		w.in.feed(p[:n], func(code byte, body []byte) {
			state, reason := settlement(code, body)
			if state != 0 && w.armed && w.sent {
				w.state = state
			}
			if reason != (condition{}) {
				w.reason = reason
			}
		})
		w.mu.Unlock()
	}
	return n, err
}

const (
	// frameHead is the size of a frame's header, and of a protocol header.
	frameHead = 8
	// maxSent and maxRead bound the part of a frame's body that is kept. What this file reads
	// stands in the first bytes.
	maxSent, maxRead = 96, 4 << 10
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

// settlement returns what a performative of the peer says about the end of a delivery, a link, a
// session or the connection: the final state of a delivery, 0 for none, and the reason.
func settlement(code byte, body []byte) (state byte, reason condition) {
	switch code {
	case performDisposition: // role, first, last, settled, state
		fields, rest := primitives(body, 4)
		if len(fields) < 4 || !isTrue(fields[0]) { // false is the role of a sender
			return 0, condition{}
		}
		kind, value, ok := described(rest)
		if !ok || kind < stateAccepted || kind > stateModified {
			return 0, condition{}
		}
		if kind == stateRejected {
			_, inner := primitives(value, 0)
			reason = readCondition(inner)
		}
		return kind, reason
	case performDetach: // handle, closed, error
		_, rest := primitives(body, 2)
		return 0, readCondition(rest)
	case performEnd, performClose: // error
		_, rest := primitives(body, 0)
		return 0, readCondition(rest)
	default:
		return 0, condition{}
	}
}

// readCondition reads an error: a described list of a symbol and a string.
func readCondition(b []byte) condition {
	code, list, ok := described(b)
	if !ok || code != typeError {
		return condition{}
	}
	_, list = primitives(list, 0)
	name, rest := readText(list, 0xA3)
	description, _ := readText(rest, 0xA1)
	return condition{name: name, description: description}
}

// readText reads a symbol (0xA3) or string (0xA1) of up to 255 bytes, or its long form. A text that
// was cut is returned as far as it is there.
func readText(b []byte, short byte) (text string, rest []byte) {
	var size uint64
	switch {
	case len(b) >= 2 && b[0] == short:
		size, b = uint64(b[1]), b[2:]
	case len(b) >= 5 && b[0] == short+0x10:
		size, b = uint64(binary.BigEndian.Uint32(b[1:5])), b[5:]
	default:
		return "", nil
	}
	n := min(size, uint64(len(b)))
	return string(b[:n]), b[n:]
}

// hasMore reports whether a transfer is followed by another one of the same message. The fields are
// handle, delivery-id, delivery-tag, message-format, settled and more. What cannot be read counts
// as followed.
func hasMore(list []byte) bool {
	const settled, more = 4, 5
	fields, _ := primitives(list, more+1)
	return len(fields) < settled || len(fields) > more && isTrue(fields[more])
}

// primitives returns the first n fields of a list, or less if there are less of the types that
// primitiveSize knows, and the rest of the list.
func primitives(list []byte, n int) (fields [][]byte, rest []byte) {
	count := 0
	switch {
	case len(list) >= 3 && list[0] == 0xC0: // list8: size, count
		count, list = int(list[2]), list[3:]
	case len(list) >= 9 && list[0] == 0xD0: // list32
		count, list = int(min(binary.BigEndian.Uint32(list[5:9]), 255)), list[9:]
	}
	for len(fields) < min(n, count) {
		size := primitiveSize(list)
		if size == 0 || size > len(list) {
			break
		}
		fields, list = append(fields, list[:size]), list[size:]
	}
	return fields, list
}

// primitiveSize returns the size of the null, boolean, unsigned integer or short binary at the
// start of b; 0 means another type.
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
	case 0xA0: // vbin8
		if len(b) > 1 {
			return 2 + int(b[1])
		}
	}
	return 0
}

// isTrue reports whether an encoded boolean is true.
func isTrue(b []byte) bool { return b[0] == 0x41 || b[0] == 0x56 && len(b) == 2 && b[1] == 1 }
