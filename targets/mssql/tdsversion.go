package mssql

import (
	"bytes"
	"encoding/binary"
	"io"
)

// tdsVersion is what TDS 8.0 changes in a login but encryption: its number. The driver below which a channel does strict encryption asks for 7.4, which is what 8.0
// is inside of TLS; the server must see 8.0 (MS-TDS 2.2.6.4, TDSVersion). Its answer, again, must say 7.4: go-mssqldb takes 8.0, whose number is the smallest of all, for a
// version before 7.2, and then sends dates and bulk loads in the forms of SQL Server 2000.
type tdsVersion struct {
	login, reply bool // whether the login, or its answer, is still to come
}

// The numbers as LOGIN7 (little-endian) and LOGINACK (big-endian) have them.
var (
	loginVersion8 = []byte{0x00, 0x00, 0x00, 0x08}
	ackVersion8   = []byte{0x08, 0x00, 0x00, 0x00}
	ackVersion74  = []byte{0x74, 0x00, 0x00, 0x04}
)

// maxLoginAnswer bounds what is looked at for LOGINACK.
const maxLoginAnswer = 64 << 10

// request returns the packet to be sent in place of p.
func (v *tdsVersion) request(p []byte) []byte {
	v.login = false
	const at = packetHead + 4 // behind LOGIN7's length
	if len(p) < at+len(loginVersion8) || p[0] != packetLogin {
		return p
	}
	p = bytes.Clone(p)
	copy(p[at:], loginVersion8)
	return p
}

// message reads a whole message of the server's, and changes the version in its LOGINACK. A login with several answers has that in the last.
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
	if ack >= 0 && ack+interfaceSize+len(ackVersion8) <= len(payload) && bytes.Equal(payload[ack+interfaceSize:][:len(ackVersion8)], ackVersion8) {
		copy(payload[ack+interfaceSize:], ackVersion74)
	}
	for at := 0; at < len(packets); { // put the payload back into its packets
		size := int(binary.BigEndian.Uint16(packets[at+2:]))
		payload = payload[copy(packets[at+packetHead:at+size], payload):]
		at += size
	}
	return packets, nil
}

// Tokens that a server may send in answer to a login (MS-TDS 2.2.7).
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

// findLoginAck returns where the data of LOGINACK begin, -1: it is not there. last says that no further message has to be looked at.
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
