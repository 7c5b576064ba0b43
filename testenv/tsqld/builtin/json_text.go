package builtin

import (
	"strings"
	"unicode/utf8"
)

// escapeJSON escapes a text for a JSON string, as STRING_ESCAPE and FOR JSON do: quotes,
// backslashes, slashes and control characters.
func escapeJSON(s string) string {
	const hexDigits = "0123456789abcdef"
	var b strings.Builder
	b.Grow(len(s))
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\', '/':
			b.WriteByte('\\')
			b.WriteByte(c)
		case '\b':
			b.WriteString(`\b`)
		case '\f':
			b.WriteString(`\f`)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\t':
			b.WriteString(`\t`)
		default:
			if c < 0x20 {
				b.WriteString(`\u00`)
				b.WriteByte(hexDigits[c>>4])
				b.WriteByte(hexDigits[c&15])
				continue
			}
			b.WriteByte(c)
		}
	}
	return b.String()
}

// QuoteJSON returns a text as a JSON string of FOR JSON.
func QuoteJSON(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return `"` + escapeJSON(s) + `"`
}
