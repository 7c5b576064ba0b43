package jsontext

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin/convert"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Escape escapes a text for a JSON string, as STRING_ESCAPE and FOR JSON do: quotes, backslashes,
// slashes and control characters.
func Escape(s string) string {
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

// Quote returns a text as a JSON string of FOR JSON.
func Quote(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return `"` + Escape(s) + `"`
}

// Text returns a value as FOR JSON and JSON_MODIFY print it: numbers and bits unquoted, bytes in
// base64, dates in ISO 8601, other values as strings. With isRaw a text is returned unchanged. NULL
// is null. The only errors are those of conversions.
func Text(v types.Value, t types.Type, isRaw bool) (string, error) {
	if v == nil {
		return "null", nil
	}
	if t.ID == types.Variant {
		inner, x, err := types.VariantUnpack(v)
		if err != nil {
			return "", err
		}
		return Text(x, inner, false)
	}
	switch {
	case t.ID == types.Bit:
		if v == int64(0) {
			return "false", nil
		}
		return "true", nil
	case t.IsApprox():
		return types.FormatNumber(v, t, 2), nil
	case t.IsMoney():
		return types.FormatNumber(v, t, 2), nil
	case t.IsNumber():
		return types.FormatNumber(v, t, types.NoStyle), nil
	case t.IsTemporal():
		r, err := types.Convert(v, t, types.VarCharOf(40), isoStyle(t))
		if err != nil {
			return "", err
		}
		s, _ := r.(string)
		if i := strings.IndexByte(s, '.'); i >= 0 && strings.Trim(s[i+1:], "0") == "" {
			s = s[:i] // a fraction of zero is omitted
		}
		return Quote(s), nil
	case t.IsBinary(), t.ID == types.Image, t.ID == types.RowVersion:
		b, _ := v.([]byte)
		return `"` + base64.StdEncoding.EncodeToString(b) + `"`, nil
	}
	s, err := convert.Text(v, t)
	if err != nil {
		return "", err
	}
	if isRaw {
		return s, nil
	}
	return Quote(s), nil
}

// isoStyle is the style of ISO 8601 for a date or time type.
func isoStyle(t types.Type) int {
	switch t.ID {
	case types.Date, types.Time:
		return types.NoStyle
	}
	return 126
}
