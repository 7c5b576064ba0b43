package smp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Kind is the kind of a packet: the field FLAGS, of which exactly one bit is set (MC-SMP 2.2.1.1).
type Kind uint8

// Kinds of packets.
const (
	Syn  Kind = 0x01 // opens a session
	Ack  Kind = 0x02 // moves the window
	Fin  Kind = 0x04 // closes a session
	Data Kind = 0x08
)

const (
	// HeaderSize is the size of a packet's header in bytes.
	HeaderSize = 16
	// MaxData is the longest data of a packet, in bytes: the longest packet of TDS.
	MaxData = 32767
	// signature is SMID, the first byte of each packet.
	signature = 0x53
)

// Header is the header of a packet (MC-SMP 2.2.1).
type Header struct {
	Kind     Kind
	Session  uint16 // SID
	Length   int    // of the data in bytes; the packet has the length of the header too
	Sequence uint32 // number of the newest DATA packet of the sender in the session
	Window   uint32 // number of the last DATA packet that the sender accepts
}

// Violation is the error of a packet that violates the protocol.
type Violation struct{ What string }

// Error returns what is wrong.
func (v *Violation) Error() string { return "session multiplex protocol: " + v.What }

// violationf makes a Violation.
func violationf(format string, args ...any) error { return &Violation{fmt.Sprintf(format, args...)} }

// Append appends the header in the form of the wire.
func (h Header) Append(b []byte) []byte {
	b = append(b, signature, byte(h.Kind))
	b = binary.LittleEndian.AppendUint16(b, h.Session)
	b = binary.LittleEndian.AppendUint32(b, uint32(HeaderSize+h.Length))
	b = binary.LittleEndian.AppendUint32(b, h.Sequence)
	return binary.LittleEndian.AppendUint32(b, h.Window)
}

// ReadHeader reads a header. The error at the first byte is that of r; later ones become
// io.ErrUnexpectedEOF. A header that no packet may have is a [*Violation].
func ReadHeader(r io.Reader) (Header, error) {
	var raw [HeaderSize]byte
	if _, err := io.ReadFull(r, raw[:]); err != nil {
		return Header{}, err
	}
	length := binary.LittleEndian.Uint32(raw[4:])
	h := Header{
		Kind:     Kind(raw[1]),
		Session:  binary.LittleEndian.Uint16(raw[2:]),
		Sequence: binary.LittleEndian.Uint32(raw[8:]),
		Window:   binary.LittleEndian.Uint32(raw[12:]),
	}
	switch {
	case raw[0] != signature:
		return h, violationf("a packet begins with %#02x", raw[0])
	case length < HeaderSize || length > HeaderSize+MaxData:
		return h, violationf("a packet of %d bytes", length)
	}
	h.Length = int(length - HeaderSize)
	switch h.Kind {
	case Syn, Ack, Fin:
		if h.Length > 0 {
			return h, violationf("a packet of kind %#02x with data", raw[1])
		}
	case Data:
	default:
		return h, violationf("a packet with the flags %#02x", raw[1])
	}
	return h, nil
}

// readPacket reads a packet.
func readPacket(r io.Reader) (Header, []byte, error) {
	h, err := ReadHeader(r)
	if err != nil || h.Length == 0 {
		return h, nil, err
	}
	data := make([]byte, h.Length)
	if _, err := io.ReadFull(r, data); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return h, nil, err
	}
	return h, data, nil
}

// after reports whether a is after b in the order of sequence numbers, which wrap around.
func after(a, b uint32) bool { return int32(a-b) > 0 }
