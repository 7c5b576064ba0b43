package types

import (
	"encoding/hex"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// guidOrder[i] is the index in the wire form of the i-th byte of the stored form. Bytewise order of
// the stored form is SQL Server's order of uniqueidentifier.
var guidOrder = [16]int{10, 11, 12, 13, 14, 15, 8, 9, 6, 7, 4, 5, 0, 1, 2, 3}

// guidText[i] is the index in the wire form (first three groups little-endian, MS-TDS 2.2.5.5.1.4)
// of the i-th pair of hexadecimal digits in the text.
var guidText = [16]int{3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15}

// GUIDToWire converts a stored uniqueidentifier to the 16 bytes of the wire (and of CAST AS
// binary(16)). It returns nil unless v has 16 bytes.
func GUIDToWire(v []byte) []byte {
	if len(v) != 16 {
		return nil
	}
	w := make([]byte, 16)
	for i, j := range guidOrder {
		w[j] = v[i]
	}
	return w
}

// GUIDFromWire is the inverse of GUIDToWire.
func GUIDFromWire(w []byte) []byte {
	if len(w) != 16 {
		return nil
	}
	v := make([]byte, 16)
	for i, j := range guidOrder {
		v[i] = w[j]
	}
	return v
}

// GUIDFromRFC converts the big-endian bytes of RFC 9562 (google/uuid's form) to the stored form.
func GUIDFromRFC(u [16]byte) []byte {
	w := make([]byte, 16)
	for i, j := range guidText {
		w[j] = u[i]
	}
	return GUIDFromWire(w)
}

// FormatGUID prints a stored uniqueidentifier in upper case, as SQL Server does; "" unless v has 16
// bytes.
func FormatGUID(v []byte) string {
	w := GUIDToWire(v)
	if w == nil {
		return ""
	}
	var raw [16]byte
	for i, j := range guidText {
		raw[i] = w[j]
	}
	var out [36]byte
	hex.Encode(out[0:8], raw[0:4])
	hex.Encode(out[9:13], raw[4:6])
	hex.Encode(out[14:18], raw[6:8])
	hex.Encode(out[19:23], raw[8:10])
	hex.Encode(out[24:36], raw[10:16])
	out[8], out[13], out[18], out[23] = '-', '-', '-', '-'
	return strings.ToUpper(string(out[:]))
}

// ParseGUID reads xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx, also in braces. It ignores text after the
// 36th character, as SQL Server does. Error 8169 for other texts.
func ParseGUID(s string) ([]byte, error) {
	s = strings.TrimLeft(s, " ")
	if strings.HasPrefix(s, "{") {
		if len(s) < 38 || s[37] != '}' {
			return nil, mserr.GUIDConversion()
		}
		s = s[1:37]
	}
	if len(s) < 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return nil, mserr.GUIDConversion()
	}
	var raw [16]byte
	digits := s[0:8] + s[9:13] + s[14:18] + s[19:23] + s[24:36]
	if _, err := hex.Decode(raw[:], []byte(digits)); err != nil {
		return nil, mserr.GUIDConversion()
	}
	return GUIDFromRFC(raw), nil
}
