package types

import (
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Units returns the length of a text in UTF-16 units, SQL Server's count of characters in
// collations without _SC: a character outside the basic plane counts twice.
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

// unitOffset returns the byte offset of UTF-16 unit n of s, len(s) if s is shorter. For a unit in
// the middle of a surrogate pair it returns split, and the offset after the pair.
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

// Left returns the first n UTF-16 units of s. Half a surrogate pair, which UTF-8 cannot hold,
// becomes U+FFFD.
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

// Slice returns n UTF-16 units of s from unit start (0-based). Both are limited to the text;
// negative values count as 0.
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

// Pad truncates a text to n UTF-16 units, or adds blanks.
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

// isASCII reports whether a text is ASCII only.
func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// ToCodePage returns the bytes of a char or varchar text under a collation: UTF-8, or the Windows
// code page of the collation, where other characters become '?'.
func ToCodePage(s string, c Collation) []byte {
	if c.IsUTF8() || isASCII(s) {
		return []byte(s)
	}
	out, page := make([]byte, 0, len(s)), c.codePage()
	for _, r := range s {
		b, ok := page.EncodeRune(r)
		if !ok {
			b = '?'
			if r > 0xFFFF { // once for each half of the pair
				out = append(out, '?')
			}
		}
		out = append(out, b)
	}
	return out
}

// FromCodePage is the inverse of ToCodePage. Invalid UTF-8 becomes U+FFFD.
func FromCodePage(b []byte, c Collation) string {
	if c.IsUTF8() {
		return strings.ToValidUTF8(string(b), string(utf8.RuneError))
	}
	var out strings.Builder
	out.Grow(len(b))
	page := c.codePage()
	for _, x := range b {
		out.WriteRune(page.DecodeByte(x))
	}
	return out.String()
}

// narrow replaces characters outside the code page of a collation by '?', as a conversion to
// varchar does.
func narrow(s string, c Collation) string {
	if isASCII(s) || c.IsUTF8() {
		return s
	}
	return FromCodePage(ToCodePage(s, c), c)
}

// isUTF8 reports whether t is a char, varchar or text type with UTF-8 data.
func (t Type) isUTF8() bool {
	return (t.ID == Char || t.ID == VarChar || t.ID == Text) && t.Collation.IsUTF8()
}

// Size returns the length of a text in the unit of t's length: bytes for char and varchar, UTF-16
// units for nchar and nvarchar.
func (t Type) Size(s string) int {
	if t.isUTF8() {
		return len(s)
	}
	return Units(s)
}

// Cut returns the longest beginning of a text that fits into n units of t's length. It never splits
// a UTF-8 character.
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

// CharSize returns the maximum size of one character in units of t's length.
func (t Type) CharSize() int {
	switch {
	case t.isUTF8():
		return utf8.UTFMax
	case t.IsUnicode() && t.Collation.Supplementary():
		return 2
	}
	return 1
}

// Chars returns the number of characters that functions count: UTF-16 units, or code points if the
// collation supports supplementary characters.
func (c Collation) Chars(s string) int {
	if c.Supplementary() {
		return utf8.RuneCountInString(s)
	}
	return Units(s)
}

// Left returns the first n characters of s, as Chars counts them.
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

// Slice returns n characters of s from character start (0-based); see [Slice].
func (c Collation) Slice(s string, start, n int) string {
	if !c.Supplementary() {
		return Slice(s, start, n)
	}
	return c.Left(s[len(c.Left(s, start)):], n)
}

// ToUTF16 returns the text as little-endian UTF-16, the bytes of nvarchar.
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

// FromUTF16 is the inverse of ToUTF16. An odd byte at the end is a unit with a zero high byte; a
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

// DataLength returns DATALENGTH of a value: its size in SQL Server in bytes; 0 for NULL.
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
