package fault

import (
	"encoding/binary"
	"strings"
	"unicode/utf16"
)

// Packet types of MS-TDS 2.2.3.1.1 that a client sends.
const (
	typeBatch       = 0x01
	typeRPC         = 0x03
	typeAttention   = 0x06
	typeTransaction = 0x0E
	typeLogin       = 0x10
	typePrelogin    = 0x12

	typeAnswer = 0x04 // what the server sends
)

const (
	headerSize = 8    // MS-TDS 2.2.3.1
	statusEnd  = 0x01 // the packet ends its message
)

// isPacketType reports whether a message can be unencrypted TDS. The first byte of a TLS record is
// none of these types.
func isPacketType(b byte) bool {
	return isRequest(b) || b == typeAttention || b == typePrelogin
}

// isRequest reports whether messages of a type count as requests.
func isRequest(b byte) bool {
	return b == typeBatch || b == typeRPC || b == typeTransaction || b == typeLogin
}

// firstPacket returns the first packet of b, or nil if the packet is incomplete.
func firstPacket(b []byte) []byte {
	if len(b) < headerSize {
		return nil
	}
	size := max(headerSize, int(binary.BigEndian.Uint16(b[2:])))
	if len(b) < size {
		return nil
	}
	return b[:size]
}

// nameLength is the number of characters of a batch that Call.Name has.
const nameLength = 60

// loginName is the name of a login.
const loginName = "login"

// callName returns the name of the request that begins with packet.
func callName(packet []byte) string {
	body := packet[headerSize:]
	switch packet[0] {
	case typeLogin:
		return loginName
	case typeTransaction:
		return "transaction"
	}
	if len(body) < 4 { // ALL_HEADERS (MS-TDS 2.2.5.3) begins with its length
		return "unreadable"
	}
	headers := binary.LittleEndian.Uint32(body)
	if uint64(headers) > uint64(len(body)) {
		return "unreadable"
	}
	body = body[headers:]
	if packet[0] == typeBatch {
		return strings.TrimSpace(text(body[:min(len(body), 2*nameLength)]))
	}
	// RPCReqBatch (MS-TDS 2.2.6.6) begins with the name's length, or 0xFFFF before the number of a
	// built-in procedure.
	if len(body) < 2 {
		return "unreadable"
	}
	size := int(binary.LittleEndian.Uint16(body))
	if size == 0xFFFF {
		return "built-in procedure"
	}
	return text(body[2:min(len(body), 2+2*size)])
}

// text decodes UTF-16, little endian.
func text(b []byte) string {
	units := make([]uint16, 0, len(b)/2)
	for ; len(b) >= 2; b = b[2:] {
		units = append(units, binary.LittleEndian.Uint16(b))
	}
	return string(utf16.Decode(units))
}

// transient is the error of [Transient].
var transient = Failing[0]

// answer returns an answer of one packet: an ERROR token (MS-TDS 2.2.7.10) and a DONE token
// (2.2.7.6).
func (r Refusal) answer() []byte {
	const server = "fault"
	var token []byte
	token = binary.LittleEndian.AppendUint32(token, uint32(r.Number))
	token = append(token, r.State, r.Class)
	token = binary.LittleEndian.AppendUint16(token, uint16(len(utf16.Encode([]rune(r.Text)))))
	token = appendText(token, r.Text)
	token = append(token, byte(len(server)))
	token = appendText(token, server)
	token = append(token, 0)                           // no procedure
	token = binary.LittleEndian.AppendUint32(token, 1) // line

	body := []byte{0xAA}
	body = binary.LittleEndian.AppendUint16(body, uint16(len(token)))
	body = append(body, token...)
	body = append(body, 0xFD, 0x02, 0, 0, 0) // DONE, with the bit DONE_ERROR
	body = append(body, make([]byte, 8)...)  // row count

	packet := []byte{typeAnswer, statusEnd}
	packet = binary.BigEndian.AppendUint16(packet, uint16(headerSize+len(body)))
	packet = append(packet, 0, 0, 1, 0)
	return append(packet, body...)
}

// appendText appends UTF-16, little endian.
func appendText(b []byte, s string) []byte {
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b
}
