package types

import (
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// Units is the length of a text in UTF-16 units, in which SQL Server counts characters (collations
// without _SC): a character outside the basic plane counts twice.
func Units(s string) int {
	n := len(s)
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		n -= size - 1
		if r > 0xFFFF {
			n++
		}
		i += size
	}
	return n
}

// unitOffset is the byte offset of UTF-16 unit n of s, len(s) when s is shorter. A unit in the middle of
// a surrogate pair reports split, with the offset behind the pair.
func unitOffset(s string, n int) (offset int, split bool) {
	for i := 0; i < len(s); {
		if n <= 0 {
			return i, false
		}
		if s[i] < utf8.RuneSelf {
			i++
			n--
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		n--
		if r > 0xFFFF {
			if n == 0 {
				return i, true
			}
			n--
		}
	}
	return len(s), false
}

// Left is the first n UTF-16 units of s. Half a surrogate pair, which UTF-8 cannot hold, becomes U+FFFD.
func Left(s string, n int) string {
	if n >= len(s) {
		return s
	}
	if n <= 0 {
		return ""
	}
	offset, split := unitOffset(s, n)
	if split {
		_, size := utf8.DecodeLastRuneInString(s[:offset])
		return s[:offset-size] + string(utf8.RuneError)
	}
	return s[:offset]
}

// Slice is n UTF-16 units of s from unit start (0-based). Both are cut to the text; negative values
// count as 0.
func Slice(s string, start, n int) string {
	if start > 0 {
		offset, split := unitOffset(s, start)
		s = s[offset:]
		if split && n > 0 {
			return string(utf8.RuneError) + Left(s, n-1)
		}
	}
	return Left(s, n)
}

// Pad fits a text into n UTF-16 units, cutting it or adding blanks.
func Pad(s string, n int) string {
	switch u := Units(s); {
	case u < n:
		return s + strings.Repeat(" ", n-u)
	case u > n:
		return Left(s, n)
	}
	return s
}

// TrimBlanks removes trailing blanks (U+0020 only).
func TrimBlanks(s string) string { return strings.TrimRight(s, " ") }

// isASCII reports a text of single bytes.
func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// ToCodePage is the text as the bytes of char and varchar under a collation: UTF-8, or Windows code page
// 1252, where characters outside it become '?'.
func ToCodePage(s string, c Collation) []byte {
	if c.IsUTF8() || isASCII(s) {
		return []byte(s)
	}
	out := make([]byte, 0, len(s))
	for _, r := range s {
		b, ok := charmap.Windows1252.EncodeRune(r)
		if !ok {
			b = '?'
			if r > 0xFFFF { // each half of the pair
				out = append(out, '?')
			}
		}
		out = append(out, b)
	}
	return out
}

// FromCodePage is the inverse of ToCodePage. Bytes that are no UTF-8 become U+FFFD.
func FromCodePage(b []byte, c Collation) string {
	if c.IsUTF8() {
		return strings.ToValidUTF8(string(b), string(utf8.RuneError))
	}
	var out strings.Builder
	out.Grow(len(b))
	for _, c := range b {
		out.WriteRune(charmap.Windows1252.DecodeByte(c))
	}
	return out.String()
}

// narrow replaces what the code page of a collation lacks by '?', as a conversion to varchar does.
func narrow(s string, c Collation) string {
	if isASCII(s) || c.IsUTF8() {
		return s
	}
	return FromCodePage(ToCodePage(s, c), c)
}

// isUTF8 reports char, varchar and text whose bytes are UTF-8.
func (t Type) isUTF8() bool {
	return (t.ID == Char || t.ID == VarChar || t.ID == Text) && t.Collation.IsUTF8()
}

// Size is the length of a text in what the length of t counts: bytes of char and varchar, UTF-16 units of
// nchar and nvarchar.
func (t Type) Size(s string) int {
	if t.isUTF8() {
		return len(s)
	}
	return Units(s)
}

// Cut is the beginning of a text that fits into n of what the length of t counts. No character of UTF-8 is
// cut in two.
func (t Type) Cut(s string, n int) string {
	if !t.isUTF8() {
		return Left(s, n)
	}
	if n >= len(s) {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:max(n, 0)]
}

// CharSize is the most that one character, as functions count them, takes of the length of t.
func (t Type) CharSize() int {
	switch {
	case t.isUTF8():
		return utf8.UTFMax
	case t.IsUnicode() && t.Collation.Supplementary():
		return 2
	}
	return 1
}

// Chars is the number of characters as functions count them: UTF-16 units, or code points where the
// collation knows supplementary characters.
func (c Collation) Chars(s string) int {
	if c.Supplementary() {
		return utf8.RuneCountInString(s)
	}
	return Units(s)
}

// Left is the first n characters of s as Chars counts them.
func (c Collation) Left(s string, n int) string {
	if !c.Supplementary() {
		return Left(s, n)
	}
	for i := range s {
		if n <= 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// Slice is n characters of s from character start (0-based); see [Slice].
func (c Collation) Slice(s string, start, n int) string {
	if !c.Supplementary() {
		return Slice(s, start, n)
	}
	return c.Left(s[len(c.Left(s, start)):], n)
}

// ToUTF16 is the text as little-endian UTF-16, the bytes of nvarchar.
func ToUTF16(s string) []byte {
	out := make([]byte, 0, 2*len(s))
	for _, r := range s {
		if r > 0xFFFF {
			a, b := utf16.EncodeRune(r)
			out = binary.LittleEndian.AppendUint16(out, uint16(a))
			out = binary.LittleEndian.AppendUint16(out, uint16(b))
			continue
		}
		out = binary.LittleEndian.AppendUint16(out, uint16(r))
	}
	return out
}

// FromUTF16 is the inverse of ToUTF16; an odd byte at the end counts as a unit with a zero high byte, a
// lone surrogate becomes U+FFFD.
func FromUTF16(b []byte) string {
	units := make([]uint16, 0, (len(b)+1)/2)
	for len(b) >= 2 {
		units = append(units, binary.LittleEndian.Uint16(b))
		b = b[2:]
	}
	if len(b) == 1 {
		units = append(units, uint16(b[0]))
	}
	return string(utf16.Decode(units))
}

// DataLength is DATALENGTH of a value: its bytes as SQL Server stores them; 0 of NULL.
func DataLength(v Value, t Type) int {
	switch v := v.(type) {
	case nil:
		return 0
	case string:
		switch {
		case t.ID == Decimal:
			return int(t.MaxLength())
		case t.IsUnicode():
			return 2 * Units(v)
		case t.ID == XML:
			return 2 * Units(v)
		}
		return t.Size(v)
	case []byte:
		switch t.ID {
		case DateTimeOffset:
			return int(t.MaxLength())
		case Variant:
			inner, x, err := VariantUnpack(v)
			if err != nil {
				return 0
			}
			return DataLength(x, inner)
		}
		return len(v)
	}
	return int(t.MaxLength())
}
