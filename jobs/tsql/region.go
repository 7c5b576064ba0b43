package tsql

import "strings"

// EndOfQuoted returns the end of the string or quoted name that begins at pos. A doubled closing
// delimiter is part of it. One that is not closed extends to the end of the text, as on the server.
func EndOfQuoted(text string, pos int, closing byte) (end int, closed bool) {
	for i := pos + 1; ; {
		n := strings.IndexByte(text[i:], closing)
		if n < 0 {
			return len(text), false
		}
		i += n + 1
		if i >= len(text) || text[i] != closing {
			return i, true
		}
		i++
	}
}

// EndOfBlockComment returns the end of the comment that begins at pos, nested comments included.
// One that is not closed extends to the end of the text.
func EndOfBlockComment(text string, pos int) (end int, closed bool) {
	depth := 0
	for i := pos; i+1 < len(text); {
		switch {
		case text[i] == '/' && text[i+1] == '*':
			depth++
			i += 2
		case text[i] == '*' && text[i+1] == '/':
			depth--
			i += 2
			if depth == 0 {
				return i, true
			}
		default:
			i++
		}
	}
	return len(text), false
}
