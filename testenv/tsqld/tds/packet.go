package tds

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// PacketType is the first byte of a packet (MS-TDS 2.2.3.1.1).
type PacketType uint8

// Packet types.
const (
	PacketBatch       PacketType = 0x01
	PacketOldLogin    PacketType = 0x02 // before TDS 7.0
	PacketRPC         PacketType = 0x03
	PacketReply       PacketType = 0x04 // server to client
	PacketAttention   PacketType = 0x06
	PacketBulkLoad    PacketType = 0x07
	PacketFedAuth     PacketType = 0x08
	PacketTransaction PacketType = 0x0E
	PacketLogin7      PacketType = 0x10
	PacketSSPI        PacketType = 0x11
	PacketPrelogin    PacketType = 0x12

	// TLSHandshake is the first byte of a TLS record, not a packet type. A stream that begins with
	// it is TDS 8.0.
	TLSHandshake PacketType = 0x16
)

// Status is the second byte of a packet, a set of bits (MS-TDS 2.2.3.1.2).
type Status uint8

// Status bits.
const (
	StatusEOM              Status = 0x01 // last packet of the message
	StatusIgnore           Status = 0x02 // with StatusEOM: the client cancels the message
	StatusReset            Status = 0x08 // first packet: reset the session first
	StatusResetKeepingTran Status = 0x10 // as StatusReset, but keeps the transaction
)

// Sizes of packets in bytes, header included.
const (
	HeaderSize        = 8
	MinPacketSize     = 512
	MaxPacketSize     = 32767
	DefaultPacketSize = 4096

	// MaxEncryptedPacketSize keeps a packet within one TLS record, as SQL Server does.
	MaxEncryptedPacketSize = 16383
)

// Header is the header of a packet. The window byte is always 0 and is not kept.
type Header struct {
	Type   PacketType
	Status Status
	Length int    // of the whole packet, header included
	SPID   uint16 // session that sent it; only servers set it
	ID     uint8  // packet number modulo 256; not checked, as in SQL Server
}

// EOM reports whether the packet is the last of its message.
func (h Header) EOM() bool { return h.Status&StatusEOM != 0 }

// ClampPacketSize returns the packet size that the server grants to a client that requests n; 0
// requests the default (MS-TDS 2.2.6.4, PacketSize). encrypted is set for a session inside TLS.
func ClampPacketSize(n int, encrypted bool) int {
	if n <= 0 {
		n = DefaultPacketSize
	}
	if encrypted {
		return min(max(n, MinPacketSize), MaxEncryptedPacketSize)
	}
	return min(max(n, MinPacketSize), MaxPacketSize)
}

// ReadPacket reads one packet. The payload is a new slice. An error at the very first byte is
// returned unchanged (io.EOF if the peer closed between packets); later ones become
// io.ErrUnexpectedEOF.
func ReadPacket(r io.Reader) (Header, []byte, error) {
	var raw [HeaderSize]byte
	if _, err := io.ReadFull(r, raw[:]); err != nil {
		return Header{}, nil, err
	}
	h := Header{
		Type:   PacketType(raw[0]),
		Status: Status(raw[1]),
		Length: int(binary.BigEndian.Uint16(raw[2:])),
		SPID:   binary.BigEndian.Uint16(raw[4:]),
		ID:     raw[6],
	}
	if h.Length < HeaderSize || h.Length > MaxPacketSize {
		return h, nil, formatErrorf("packet of type %#02x with a length of %d bytes", raw[0], h.Length)
	}
	payload := make([]byte, h.Length-HeaderSize)
	if _, err := io.ReadFull(r, payload); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return h, nil, err
	}
	return h, payload, nil
}

// appendHeader appends h in the form of the wire.
func appendHeader(b []byte, h Header) []byte {
	b = append(b, byte(h.Type), byte(h.Status))
	b = binary.BigEndian.AppendUint16(b, uint16(h.Length))
	b = binary.BigEndian.AppendUint16(b, h.SPID)
	return append(b, h.ID, 0)
}

// ReadMessage reads the packets of a message of at most limit bytes. It returns the first packet's
// header with the status bits of all packets, and the joined payload. All packets must have one
// type.
func ReadMessage(r io.Reader, limit int) (Header, []byte, error) {
	first, payload, err := ReadPacket(r)
	if err != nil {
		return first, nil, err
	}
	for h := first; !h.EOM(); {
		var more []byte
		if h, more, err = ReadPacket(r); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return first, nil, err
		}
		if h.Type != first.Type {
			return first, nil, formatErrorf("packet of type %#02x inside a message of type %#02x", byte(h.Type), byte(first.Type))
		}
		if len(payload)+len(more) > limit {
			return first, nil, formatErrorf("message of type %#02x is longer than %d bytes", byte(first.Type), limit)
		}
		payload = append(payload, more...)
		first.Status |= h.Status & (StatusEOM | StatusIgnore)
	}
	return first, payload, nil
}

// MessageWriter splits messages into packets and writes each packet with one call of Write. It is
// not safe for concurrent use. After an error of the writer, every method returns that error.
type MessageWriter struct {
	w    io.Writer
	size int
	spid uint16
	typ  PacketType
	id   uint8
	buf  []byte // space for the header, then payload
	err  error
	// OnPacket is called with each packet before it is written, if it is set. It must not keep the
	// slice.
	OnPacket func(packet []byte)
}

// NewMessageWriter returns a writer with packets of at most size bytes.
func NewMessageWriter(w io.Writer, size int) *MessageWriter {
	return &MessageWriter{w: w, size: size, typ: PacketReply, id: 1, buf: make([]byte, HeaderSize, size)}
}

// SetSPID sets the session id of the following packets.
func (m *MessageWriter) SetSPID(spid uint16) { m.spid = spid }

// SetWriter sets the destination of packets. It must be called between messages.
func (m *MessageWriter) SetWriter(w io.Writer) { m.w = w }

// SetPacketSize sets the size of packets. It must be called between messages.
func (m *MessageWriter) SetPacketSize(size int) { m.size = size }

// Begin starts a message. It discards the unsent part of an unfinished one.
func (m *MessageWriter) Begin(t PacketType) {
	m.typ, m.id, m.buf = t, 1, m.buf[:HeaderSize]
}

// Write adds to the message, and sends every full packet except the last.
func (m *MessageWriter) Write(p []byte) (int, error) {
	n := len(p)
	for m.err == nil && len(p) > 0 {
		if len(m.buf) >= m.size {
			m.send(0)
		}
		k := min(len(p), m.size-len(m.buf))
		m.buf = append(m.buf, p[:k]...)
		p = p[k:]
	}
	return n - len(p), m.err
}

// Flush sends the bytes written so far, without ending the message.
func (m *MessageWriter) Flush() error {
	if m.err == nil && len(m.buf) > HeaderSize {
		m.send(0)
	}
	return m.err
}

// End sends the rest of the message and marks its end.
func (m *MessageWriter) End() error { return m.EndWith(0) }

// EndWith is End with further status bits in the last packet.
func (m *MessageWriter) EndWith(s Status) error {
	if m.err == nil {
		m.send(StatusEOM | s)
	}
	m.id = 1
	return m.err
}

// send writes the buffer as one packet.
func (m *MessageWriter) send(s Status) {
	appendHeader(m.buf[:0], Header{Type: m.typ, Status: s, Length: len(m.buf), SPID: m.spid, ID: m.id})
	if m.OnPacket != nil {
		m.OnPacket(m.buf)
	}
	if _, err := m.w.Write(m.buf); err != nil {
		m.err = fmt.Errorf("write packet: %w", err)
	}
	m.id++
	m.buf = m.buf[:HeaderSize]
}

// AppendPacket appends a packet in the form of the wire; it sets h.Length from the payload.
func AppendPacket(b []byte, h Header, payload []byte) []byte {
	h.Length = HeaderSize + len(payload)
	return append(appendHeader(b, h), payload...)
}
