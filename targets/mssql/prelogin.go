package mssql

import (
	"encoding/binary"
	"io"
	"slices"
)

// Types of TDS packets and parts of a packet's header (MS-TDS 2.2.3.1).
const (
	packetReply    = 0x04
	packetLogin    = 0x10
	packetPrelogin = 0x12

	packetHead    = 8
	packetLast    = 0x01 // status: last packet of a message
	packetDefault = 4096 // size of packets before the login changes it
)

// Options of PRELOGIN, and the values of its option ENCRYPTION (MS-TDS 2.2.6.5). encryptStrictly is
// go-mssqldb's value for TDS 8.0, where the server ignores the option.
const (
	optionEncryption = 0x01
	optionNonce      = 0x07 // the last known option
	optionEnd        = 0xff

	encryptOn           = 1
	encryptNotSupported = 2
	encryptRequired     = 3
	encryptStrictly     = 4
)

// maxPrelogin bounds a message before the login. Servers send fewer than 100 bytes.
const maxPrelogin = packetDefault

// splitMessage returns the payload of a message's packets. whole is false until the last packet is
// complete.
func splitMessage(b []byte, kind byte) (payload []byte, whole bool, err error) {
	for len(b) >= packetHead {
		size := int(binary.BigEndian.Uint16(b[2:]))
		if b[0] != kind || size < packetHead || len(payload)+size > maxPrelogin {
			return nil, false, errPreloginAnswer
		}
		if len(b) < size {
			return nil, false, nil
		}
		payload = append(payload, b[packetHead:size]...)
		if b[1]&packetLast != 0 {
			return payload, true, nil
		}
		b = b[size:]
	}
	if len(b) > 0 && b[0] != kind {
		return nil, false, errPreloginAnswer
	}
	return nil, false, nil
}

// readMessage reads exactly one message and returns its payload.
func readMessage(r io.Reader, kind byte) ([]byte, error) {
	var packets []byte
	for {
		at := len(packets)
		packets = append(packets, make([]byte, packetHead)...)
		if _, err := io.ReadFull(r, packets[at:]); err != nil {
			return nil, err
		}
		size := int(binary.BigEndian.Uint16(packets[at+2:]))
		if packets[at] != kind || size < packetHead || at+size > maxPrelogin {
			return nil, errPreloginAnswer
		}
		packets = append(packets, make([]byte, size-packetHead)...)
		if _, err := io.ReadFull(r, packets[at+packetHead:]); err != nil {
			return nil, err
		}
		if payload, whole, err := splitMessage(packets, kind); whole || err != nil {
			return payload, err
		}
	}
}

// message returns a message in packets of the default size.
func message(kind byte, payload []byte) []byte {
	var b []byte
	for id := byte(1); ; id++ {
		part := payload[:min(len(payload), packetDefault-packetHead)]
		payload = payload[len(part):]
		status := byte(0)
		if len(payload) == 0 {
			status = packetLast
		}
		b = append(b, kind, status)
		b = binary.BigEndian.AppendUint16(b, uint16(packetHead+len(part)))
		b = append(b, 0, 0, id, 0) // session id, packet id, window
		b = append(b, part...)
		if len(payload) == 0 {
			return b
		}
	}
}

// preloginOption is one option of a PRELOGIN message.
type preloginOption struct {
	token byte
	data  []byte
}

// preloginOptions is a PRELOGIN message of the client or the server.
type preloginOptions []preloginOption

// readPrelogin parses the payload of a PRELOGIN message. It ignores options of later versions. A
// repeated option, or one whose data is outside of the message, makes the message malformed: a
// message that two readers could understand differently is refused.
func readPrelogin(b []byte) (preloginOptions, error) {
	var list preloginOptions
	for at := 0; at < len(b); at += 5 {
		token := b[at]
		if token == optionEnd {
			return list, nil
		}
		if at+5 > len(b) {
			break
		}
		from, size := int(binary.BigEndian.Uint16(b[at+1:])), int(binary.BigEndian.Uint16(b[at+3:]))
		if from+size > len(b) {
			break
		}
		if _, twice := list.get(token); twice {
			break
		}
		if token <= optionNonce {
			list = append(list, preloginOption{token, b[from : from+size]})
		}
	}
	return nil, errPreloginAnswer
}

// get returns the data of an option.
func (l preloginOptions) get(token byte) (data []byte, ok bool) {
	i := slices.IndexFunc(l, func(o preloginOption) bool { return o.token == token })
	if i < 0 {
		return nil, false
	}
	return l[i].data, true
}

// set changes the data of an option that is present.
func (l preloginOptions) set(token byte, data ...byte) {
	if i := slices.IndexFunc(l, func(o preloginOption) bool { return o.token == token }); i >= 0 {
		l[i].data = data
	}
}

// packet returns the message as packets. An option without data has the offset of the first data,
// because the driver refuses an offset at the message's end.
func (l preloginOptions) packet(kind byte) []byte {
	var head, body []byte
	at := 5*len(l) + 1
	for _, o := range l {
		from := at
		if len(o.data) > 0 {
			from += len(body)
		}
		head = append(head, o.token)
		head = binary.BigEndian.AppendUint16(head, uint16(from))
		head = binary.BigEndian.AppendUint16(head, uint16(len(o.data)))
		body = append(body, o.data...)
	}
	return message(kind, append(append(head, optionEnd), body...))
}
