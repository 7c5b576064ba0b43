package tdsclient

import (
	"encoding/binary"
	"unicode/utf16"

	"github.com/jobagent/jobagent/testenv/tsqld/tds"
)

// appendUTF16 appends a text in UTF-16.
func appendUTF16(b []byte, s string) []byte {
	for _, unit := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, unit)
	}
	return b
}

// appendBVarchar appends a B_VARCHAR: a text of at most 255 units after their number.
func appendBVarchar(b []byte, s string) []byte {
	return appendUTF16(append(b, byte(len(utf16.Encode([]rune(s))))), s)
}

// appendPassword appends a password in the form of LOGIN7 (MS-TDS 2.2.6.4).
func appendPassword(b []byte, s tds.Secret) []byte {
	at := len(b)
	b = appendUTF16(b, string(s))
	for i, c := range b[at:] {
		b[at+i] = (c<<4 | c>>4) ^ 0xA5
	}
	return b
}

// Bits of the third byte of flags, and the end of the features (MS-TDS 2.2.6.4).
const (
	changePassword = 0x01
	extended       = 0x10
	featureEnd     = 0xFF
)

// AppendLogin appends the payload of a LOGIN7 message. It sends the flags unchanged, except those
// for features and for a new password, which it sets itself. All texts together must fit 64 KiB.
func AppendLogin(b []byte, l *tds.Login) []byte {
	size := 94
	if !l.Asked.Multiple() { // before TDS 7.2
		size = 86
	}
	flags3 := l.Flags3
	if l.NewPassword != "" {
		flags3 |= changePassword
	}
	var extension []byte
	if len(l.Features) > 0 {
		flags3 |= extended
		extension = make([]byte, 4)
	}
	var head, body []byte
	for _, n := range []uint32{uint32(l.Asked), uint32(l.PacketSize), l.ProgVer, l.PID, 0} {
		head = binary.LittleEndian.AppendUint32(head, n)
	}
	head = append(head, l.Flags1, l.Flags2, l.TypeFlags, flags3)
	head = binary.LittleEndian.AppendUint32(head, uint32(l.TimeZone))
	head = binary.LittleEndian.AppendUint32(head, l.LCID)
	add := func(data []byte, unit int) {
		head = binary.LittleEndian.AppendUint16(head, uint16(size+len(body)))
		head = binary.LittleEndian.AppendUint16(head, uint16(len(data)/unit))
		body = append(body, data...)
	}
	add(appendUTF16(nil, l.Host), 2)
	add(appendUTF16(nil, l.User), 2)
	add(appendPassword(nil, l.Password), 2)
	add(appendUTF16(nil, l.App), 2)
	add(appendUTF16(nil, l.Server), 2)
	extensionAt := len(body)
	add(extension, 1)
	add(appendUTF16(nil, l.Library), 2)
	add(appendUTF16(nil, l.Language), 2)
	add(appendUTF16(nil, l.Database), 2)
	head = append(head, l.ClientID[:]...)
	add(l.SSPI, 1)
	add(appendUTF16(nil, l.AttachFile), 2)
	if l.Asked.Multiple() {
		add(appendPassword(nil, l.NewPassword), 2)
		head = binary.LittleEndian.AppendUint32(head, 0) // long SSPI
	}
	if extension != nil {
		binary.LittleEndian.PutUint32(body[extensionAt:], uint32(size+len(body)))
		for _, f := range l.Features {
			body = binary.LittleEndian.AppendUint32(append(body, f.ID), uint32(len(f.Data)))
			body = append(body, f.Data...)
		}
		body = append(body, featureEnd)
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(size+len(body)))
	return append(append(b, head...), body...)
}

// AppendRecovery appends the data of the feature SESSIONRECOVERY in a login; nothing for nil.
func AppendRecovery(b []byte, r *tds.Recovery) []byte {
	if r == nil {
		return b
	}
	for _, p := range []tds.RecoveryPart{r.Initial, r.Current} {
		part := appendBVarchar(nil, p.Database)
		part = append(append(part, byte(len(p.Collation))), p.Collation...)
		part = tds.AppendStates(appendBVarchar(part, p.Language), p.States)
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(part))), part...)
	}
	return b
}
