// Package clip measures and shortens texts.
package clip

import "unicode/utf8"

// Text cuts a text to at most limit characters, the last of which is then "…". limit is at least
// 1.
func Text(text string, limit int) string {
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	n := 0
	for i := range text {
		if n++; n == limit {
			return text[:i] + "…"
		}
	}
	return text
}

// Units returns the length of a text as the control database counts it: in UTF-16 units.
func Units(text string) (n int) {
	for _, c := range text {
		n++
		if c > 0xffff {
			n++
		}
	}
	return n
}
