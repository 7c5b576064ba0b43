package mssql

import (
	"bytes"
	"encoding/binary"
	"io"
)

// tdsVersion changes the version number in a login over TDS 8.0. The driver requests 7.4, because a
// channel encrypts under it; 7.4 equals 8.0 inside of TLS. The server must see 8.0 (MS-TDS 2.2.6.4,
// TDSVersion), and the driver must see 7.4 in the server's answer: go-mssqldb compares versions as
// numbers and takes 8.0 (0x08000000) for a version before 7.2, and would send dates and bulk loads
// in the forms of SQL Server 2000.
type tdsVersion struct {
	login, reply bool // the login or its answer has not passed yet
}

// The numbers in LOGIN7 (little-endian) and LOGINACK (big-endian).
var (
	loginVersion8 = []byte{0x00, 0x00, 0x00, 0x08}
	ackVersion8   = []byte{0x08, 0x00, 0x00, 0x00}
	ackVersion74  = []byte{0x74, 0x00, 0x00, 0x04}
)

// maxLoginAnswer bounds the data that are searched for LOGINACK.
const maxLoginAnswer = 64 << 10

// request returns p with the version 8.0 if p is LOGIN7.
func (v *tdsVersion) request(p []byte) []byte {
	v.login = false
	const at = packetHead + 4 // after the length in LOGIN7
	if len(p) < at+len(loginVersion8) || p[0] != packetLogin {
		return p
	}
	p = bytes.Clone(p)
	copy(p[at:], loginVersion8)
	return p
}

// loginTexts are the places in LOGIN7 of the offset and the length of a user, a password, a server
// and a database, and of the offset of what the driver writes behind it (MS-TDS 2.2.6.4).
var loginTexts = [...]struct{ offset, length, next int }{
	{40, 42, 44}, {44, 46, 48}, {52, 54, 60}, {68, 70, 78},
}

// withLoginLengths returns p, the first packet of LOGIN7, with the lengths of its texts in UTF-16
// code units. The driver counts characters, so that a server would cut off a password or the name
// of a database with characters beyond the Basic Multilingual Plane. Other packets are returned as
// they are. The name of the application keeps its length, which may be 128 at most.
func withLoginLengths(p []byte) []byte {
	const header, first = 94, 1
	if len(p) < packetHead+header || p[0] != packetLogin || p[6] != first {
		return p
	}
	var changed []byte
	for _, t := range loginTexts {
		at := func(place int) int { return int(binary.LittleEndian.Uint16(p[packetHead+place:])) }
		units := (at(t.next) - at(t.offset)) / 2
		if units == at(t.length) {
			continue
		}
		if changed == nil {
			changed = bytes.Clone(p)
		}
		binary.LittleEndian.PutUint16(changed[packetHead+t.length:], uint16(units))
	}
	if changed == nil {
		return p
	}
	return changed
}

// message reads one message of the server and changes the version in its LOGINACK. If a login has
// several answers, LOGINACK is in the last one.
func (v *tdsVersion) message(r io.Reader) ([]byte, error) {
	var packets, payload []byte
	for {
		at := len(packets)
		packets = append(packets, make([]byte, packetHead)...)
		if _, err := io.ReadFull(r, packets[at:]); err != nil {
			return nil, err
		}
		size := int(binary.BigEndian.Uint16(packets[at+2:]))
		if size < packetHead {
			v.reply = false
			return packets, nil // the driver refuses it
		}
		packets = append(packets, make([]byte, size-packetHead)...)
		if _, err := io.ReadFull(r, packets[at+packetHead:]); err != nil {
			return nil, err
		}
		payload = append(payload, packets[at+packetHead:]...)
		if packets[at+1]&packetLast != 0 || len(packets) > maxLoginAnswer {
			break
		}
	}
	const interfaceSize = 1
	ack, last := findLoginAck(payload)
	v.reply = !last
	if ack >= 0 && bytes.HasPrefix(payload[min(ack+interfaceSize, len(payload)):], ackVersion8) {
		copy(payload[ack+interfaceSize:], ackVersion74)
	}
	for at := 0; at < len(packets); { // return the payload to its packets
		size := int(binary.BigEndian.Uint16(packets[at+2:]))
		payload = payload[copy(packets[at+packetHead:at+size], payload):]
		at += size
	}
	return packets, nil
}

// Tokens in an answer to a login (MS-TDS 2.2.7).
const (
	tokenReturnStatus = 0x79
	tokenError        = 0xaa
	tokenInfo         = 0xab
	tokenLoginAck     = 0xad
	tokenEnvChange    = 0xe3
	tokenSSPI         = 0xed
	tokenFedAuthInfo  = 0xee
	tokenDone         = 0xfd
)

// findLoginAck returns the offset of the data of LOGINACK; -1 if it is not there. last means that
// no further message needs to be searched.
func findLoginAck(b []byte) (at int, last bool) {
	for i := 0; i < len(b); {
		token := b[i]
		i++
		switch token {
		case tokenError, tokenInfo, tokenLoginAck, tokenEnvChange, tokenSSPI:
			if i+2 > len(b) {
				return -1, true
			}
			if token == tokenLoginAck {
				return i + 2, true
			}
			i += 2 + int(binary.LittleEndian.Uint16(b[i:]))
		case tokenFedAuthInfo:
			if i+4 > len(b) {
				return -1, true
			}
			size := binary.LittleEndian.Uint32(b[i:])
			if size > maxLoginAnswer {
				return -1, true
			}
			i += 4 + int(size)
		case tokenReturnStatus:
			i += 4
		case tokenDone:
			i += 12
		default:
			return -1, true
		}
	}
	return -1, false
}
