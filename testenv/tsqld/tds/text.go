package tds

import (
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// decodeUTF16 converts UTF-16LE to UTF-8. An unpaired surrogate becomes U+FFFD; an odd last byte is
// ignored.
func decodeUTF16(b []byte) string {
	if isASCII16(b) {
		var s strings.Builder
		s.Grow(len(b) / 2)
		for i := 0; i+1 < len(b); i += 2 {
			s.WriteByte(b[i])
		}
		return s.String()
	}
	s := make([]byte, 0, len(b))
	for i := 0; i+1 < len(b); i += 2 {
		r := rune(binary.LittleEndian.Uint16(b[i:]))
		if utf16.IsSurrogate(r) {
			low := rune(0)
			if i+3 < len(b) {
				low = rune(binary.LittleEndian.Uint16(b[i+2:]))
			}
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				i += 2
			}
		}
		s = utf8.AppendRune(s, r)
	}
	return string(s)
}

// isASCII16 reports whether UTF-16LE is ASCII only. It checks four characters at a time.
func isASCII16(b []byte) bool {
	for ; len(b) >= 8; b = b[8:] {
		if binary.LittleEndian.Uint64(b)&0xFF80_FF80_FF80_FF80 != 0 {
			return false
		}
	}
	for ; len(b) >= 2; b = b[2:] {
		if binary.LittleEndian.Uint16(b) >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// appendUTF16 appends s as UTF-16LE.
func appendUTF16(b []byte, s string) []byte {
	for _, r := range s {
		switch {
		case r < 0x10000:
			b = append(b, byte(r), byte(r>>8))
		default:
			hi, lo := utf16.EncodeRune(r)
			b = append(b, byte(hi), byte(hi>>8), byte(lo), byte(lo>>8))
		}
	}
	return b
}

// utf16Len returns the length of s in UTF-16 units.
func utf16Len(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r >= 0x10000 {
			n++
		}
	}
	return n
}

// cutUTF16 returns the longest prefix of s with at most n UTF-16 units.
func cutUTF16(s string, n int) string {
	for i, r := range s {
		if n--; r >= 0x10000 {
			n--
		}
		if n < 0 {
			return s[:i]
		}
	}
	return s
}

// appendBVarchar appends a B_VARCHAR. It truncates a name of more than 255 units (identifiers have
// at most 128).
func appendBVarchar(b []byte, s string) []byte {
	s = cutUTF16(s, 255)
	return appendUTF16(append(b, byte(utf16Len(s))), s)
}

// appendUSVarchar appends a US_VARCHAR; a text longer than limit units is cut.
func appendUSVarchar(b []byte, s string, limit int) []byte {
	s = cutUTF16(s, limit)
	return appendUTF16(binary.LittleEndian.AppendUint16(b, uint16(utf16Len(s))), s)
}

// decode1252 converts code page 1252 to UTF-8. The five undefined bytes of the code page become the
// control characters with the same number, as in Windows.
func decode1252(b []byte) string {
	ascii := true
	for _, c := range b {
		if c >= utf8.RuneSelf {
			ascii = false
			break
		}
	}
	if ascii {
		return string(b)
	}
	s := make([]byte, 0, len(b)+len(b)/4)
	for _, c := range b {
		r := charmap.Windows1252.DecodeByte(c)
		if r == utf8.RuneError {
			r = rune(c)
		}
		s = utf8.AppendRune(s, r)
	}
	return string(s)
}

// append1252 appends s in code page 1252. A character outside the code page becomes '?', or '??' if
// it has two UTF-16 units, as in SQL Server.
func append1252(b []byte, s string) []byte {
	for _, r := range s {
		if r < utf8.RuneSelf {
			b = append(b, byte(r))
			continue
		}
		c, ok := charmap.Windows1252.EncodeRune(r)
		switch {
		case ok:
			b = append(b, c)
		case r == 0x81 || r == 0x8D || r == 0x8F || r == 0x90 || r == 0x9D:
			b = append(b, byte(r))
		case r >= 0x10000:
			b = append(b, '?', '?')
		default:
			b = append(b, '?')
		}
	}
	return b
}

// appendCollation appends the five bytes of a collation (MS-TDS 2.2.5.1.2).
func appendCollation(b []byte, c types.Collation) []byte {
	return append(binary.LittleEndian.AppendUint32(b, c.Wire()), c.SortID())
}

// readCollation reads a collation of five bytes. Five zeroes, which clients send for parameters,
// are the server's default. utf8 reports whether varchar data is UTF-8 instead of code page 1252.
func readCollation(d *decoder) (c types.Collation, utf8 bool) {
	info, sortID := d.u32(), d.u8()
	c = types.CollationFromWire(info, sortID)
	return c, c.IsUTF8()
}
