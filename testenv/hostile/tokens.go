package hostile

import (
	"encoding/binary"
	"unicode/utf16"
)

// ucs2 encodes a text as UTF-16, little endian.
func ucs2(s string) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b
}

// join concatenates parts: byte slices, texts as UTF-16 without a length, numbers in little endian
// of their own width.
func join(parts ...any) []byte {
	var b []byte
	for _, p := range parts {
		switch p := p.(type) {
		case []byte:
			b = append(b, p...)
		case string:
			b = append(b, ucs2(p)...)
		case byte:
			b = append(b, p)
		case int: // an int is one byte
			b = append(b, byte(p))
		case uint16:
			b = binary.LittleEndian.AppendUint16(b, p)
		case uint32:
			b = binary.LittleEndian.AppendUint32(b, p)
		case uint64:
			b = binary.LittleEndian.AppendUint64(b, p)
		default:
			panic("hostile: no such part")
		}
	}
	return b
}

// Done returns a DONE token with these status bits: 1 more, 2 error, 0x10 count, 0x20 attention.
func Done(status uint16, rows uint64) []byte { return join(0xFD, status, uint16(0xC1), rows) }

// Message returns an ERROR token for severities from 11, or an INFO token.
func Message(number uint32, severity byte, text string) []byte {
	token := byte(0xAB)
	if severity > 10 {
		token = 0xAA
	}
	body := join(number, 1, severity, uint16(len(ucs2(text))/2), text, 4, "host", 0, uint32(1))
	return join(token, uint16(len(body)), body)
}

// Ints returns the COLMETADATA of n columns of INT.
func Ints(n int) []byte {
	b := join(0x81, uint16(n))
	for range n {
		b = append(b, join(uint32(0), uint16(0), 0x38, 1, "c")...)
	}
	return b
}

// IntRow returns a ROW of Ints.
func IntRow(values ...uint32) []byte {
	b := join(0xD1)
	for _, v := range values {
		b = append(b, join(v)...)
	}
	return b
}

// maxText is the COLMETADATA of one column of NVARCHAR(MAX).
var maxText = join(0x81, uint16(1), uint32(0), uint16(1), 0xE7, uint16(0xFFFF), uint32(0x409), 0x34, 1, "t")

// column returns the COLMETADATA of one column with a type and the type's properties.
func column(typ byte, extra ...any) []byte {
	return join(0x81, uint16(1), uint32(0), uint16(1), typ, join(extra...), 1, "c")
}

// env returns an ENVCHANGE token.
func env(record ...any) []byte {
	b := join(record...)
	return join(0xE3, uint16(len(b)), b)
}

// loginAck is the LOGINACK of SQL Server 2022.
var loginAck = join(0xAD, uint16(10+2*20), 1, []byte{0x74, 0, 0, 4}, 20, "Microsoft SQL Server", []byte{16, 0, 0, 0})

// prelogin is an answer to PRELOGIN with a version and without encryption.
var prelogin = []byte{0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 0xFF, 16, 0, 0, 0, 0, 0, 2}

// unknownLength is the length of a (max) value that is sent in chunks.
const unknownLength = uint64(0xFFFFFFFFFFFFFFFE)

// MaxValue returns the beginning of a result set of one NVARCHAR(MAX) column, up to the length n in
// bytes of the first value.
func MaxValue(n int) []byte { return join(maxText, 0xD1, uint64(n)) }

// Chunk returns a chunk of a (max) value. A chunk without content ends the value.
func Chunk(content []byte) []byte { return join(uint32(len(content)), content) }

// Texts returns the COLMETADATA of n columns of NVARCHAR(4000).
func Texts(n int) []byte {
	b := join(0x81, uint16(n))
	for range n {
		b = append(b, join(uint32(0), uint16(1), 0xE7, uint16(8000), uint32(0x409), 0x34, 1, "t")...)
	}
	return b
}

// TextRow returns a ROW of Texts.
func TextRow(values ...string) []byte {
	b := join(0xD1)
	for _, v := range values {
		b = append(b, join(uint16(len(ucs2(v))), v)...)
	}
	return b
}
