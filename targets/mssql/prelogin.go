package mssql

import (
	"encoding/binary"
	"io"
	"slices"
)

// Types of TDS packets, and the parts of a packet's head (MS-TDS 2.2.3.1).
const (
	packetReply    = 0x04
	packetLogin    = 0x10
	packetPrelogin = 0x12

	packetHead    = 8
	packetLast    = 0x01 // status: the message ends with this packet
	packetDefault = 4096 // size of packets before the login has said another
)

// Options of PRELOGIN, and the values of its ENCRYPTION (MS-TDS 2.2.6.5). The last is go-mssqldb's for TDS 8.0, where the server passes the option over.
const (
	optionEncryption = 0x01
	optionNonce      = 0x07 // the last that is known
	optionEnd        = 0xff

	encryptOn           = 1
	encryptNotSupported = 2
	encryptRequired     = 3
	encryptStrictly     = 4
)

// maxPrelogin bounds what is read of a message before the login; what servers send is below 100 bytes.
const maxPrelogin = packetDefault

// splitMessage takes the payload out of packets of one type. It is not whole until the last packet is.
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

// readMessage reads one message, to its last byte and no further, and returns its payload.
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

// appendMessage appends a message as packets of the default size.
func appendMessage(b []byte, kind byte, payload []byte) []byte {
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

// preloginOptions is a PRELOGIN message, either side's.
type preloginOptions []preloginOption

// readPrelogin reads the payload of a PRELOGIN message. Options of later versions are left out. One that stands there twice, or whose data is not inside of the
// message, makes it malformed: nothing that two readers could understand differently is let through.
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

// set changes the data of an option, if it is there.
func (l preloginOptions) set(token byte, data ...byte) {
	if i := slices.IndexFunc(l, func(o preloginOption) bool { return o.token == token }); i >= 0 {
		l[i].data = data
	}
}

// packet is the message as it is sent. An option without data points at the first one's: the driver refuses an offset behind the message's end.
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
	return appendMessage(nil, kind, append(append(head, optionEnd), body...))
}
