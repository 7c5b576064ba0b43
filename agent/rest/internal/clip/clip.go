// Package clip shortens texts.
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
