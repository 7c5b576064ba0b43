package store

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// collations are those that SQL texts may name; SQLite's own RTRIM is the binary one.
var collations = map[string]func(a, b string) int{
	types.CollationCI:      compareCI,
	types.CollationCS:      compareCS,
	types.CollationDecimal: types.CompareDecimalText,
}

// compareCI compares without regard to case and trailing blanks.
func compareCI(a, b string) int {
	a, b = strings.TrimRight(a, " "), strings.TrimRight(b, " ")
	for len(a) > 0 && len(b) > 0 {
		x, n := utf8.DecodeRuneInString(a)
		y, m := utf8.DecodeRuneInString(b)
		a, b = a[n:], b[m:]
		if x == y {
			continue
		}
		if x, y = unicode.ToLower(x), unicode.ToLower(y); x != y {
			return int(x - y)
		}
	}
	return len(a) - len(b)
}

// compareCS compares with regard to case, trailing blanks ignored.
func compareCS(a, b string) int {
	if r := compareCI(a, b); r != 0 {
		return r
	}
	return -strings.Compare(strings.TrimRight(a, " "), strings.TrimRight(b, " "))
}
