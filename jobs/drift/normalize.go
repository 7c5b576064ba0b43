package drift

import (
	"strings"

	"github.com/jobagent/jobagent/jobs/tsql"
)

// NormalizeModule returns the text of a module in the form in which modules are compared, of which
// only that is changed what cannot change its meaning:
//   - outside of strings and quoted names, line ends become \n, and blanks at the ends of lines go;
//   - blanks before the first and behind the last character go;
//   - CREATE, ALTER and CREATE OR ALTER become CREATE, PROC becomes PROCEDURE;
//   - the name behind them becomes [schema].[name] of the catalog, since sp_rename does not change
//     the text (Microsoft Learn, "sp_rename", section "Remarks").
//
// Case, comments and blanks within lines stay. A text that does not begin like a module is only
// trimmed.
func NormalizeModule(text, schema, name string) string {
	text = trimLines(text)
	h, ok := readHeader(text)
	if !ok {
		return text
	}
	full := tsql.Name(name)
	if schema != "" {
		full = tsql.Name(schema, name)
	}
	return text[:h.create] + "CREATE " + h.kind + " " + full + text[h.end:]
}

// header is the beginning of a module.
type header struct {
	create int    // offset of CREATE or ALTER
	kind   string // PROCEDURE, VIEW, FUNCTION, TRIGGER
	end    int    // offset behind the name
}

// readHeader finds the beginning of a module: comments may be before and within it. A comment
// within the header makes it unreadable, since its place would be lost.
func readHeader(text string) (h header, ok bool) {
	h.create = skipBlank(text, 0, true)
	word, at := wordAt(text, h.create)
	switch word {
	case "ALTER":
	case "CREATE":
		if next, end := wordAt(text, skipBlank(text, at, false)); next == "OR" {
			if next, end = wordAt(text, skipBlank(text, end, false)); next != "ALTER" {
				return h, false
			}
			at = end
		}
	default:
		return h, false
	}
	h.kind, at = wordAt(text, skipBlank(text, at, false))
	switch h.kind {
	case "PROC":
		h.kind = "PROCEDURE"
	case "PROCEDURE", "VIEW", "FUNCTION", "TRIGGER":
	default:
		return h, false
	}
	h.end, ok = endOfName(text, skipBlank(text, at, false))
	return h, ok
}

// skipBlank returns the offset of the next character that is no blank; with comments also behind
// comments.
func skipBlank(text string, at int, comments bool) int {
	for at < len(text) {
		switch {
		case strings.IndexByte(" \t\n", text[at]) >= 0:
			at++
		case comments && strings.HasPrefix(text[at:], "--"):
			end := strings.IndexByte(text[at:], '\n')
			if end < 0 {
				return len(text)
			}
			at += end
		case comments && strings.HasPrefix(text[at:], "/*"):
			at, _ = tsql.EndOfBlockComment(text, at)
		default:
			return at
		}
	}
	return at
}

// wordAt returns the word of letters at an offset in capitals, and the offset behind it.
func wordAt(text string, at int) (string, int) {
	end := at
	for end < len(text) && (text[end]|0x20 >= 'a' && text[end]|0x20 <= 'z') {
		end++
	}
	return strings.ToUpper(text[at:end]), end
}

// endOfName returns the offset behind a name of one or two parts.
func endOfName(text string, at int) (end int, ok bool) {
	for parts := 1; ; parts++ {
		if at >= len(text) {
			return at, false
		}
		switch text[at] {
		case '[', '"':
			closing := text[at]
			if closing == '[' {
				closing = ']'
			}
			closed := false
			if at, closed = tsql.EndOfQuoted(text, at, closing); !closed {
				return at, false
			}
		default:
			begin := at
			for at < len(text) && strings.IndexByte(" \t\n.()[]\"'/,;-=+*", text[at]) < 0 {
				at++
			}
			if at == begin || at < len(text) && text[at] == ']' {
				return at, false
			}
		}
		next := skipBlank(text, at, false)
		if next >= len(text) || text[next] != '.' {
			return at, true
		}
		if parts == 2 {
			return at, false
		}
		at = skipBlank(text, next+1, false)
	}
}

// trimLines makes line ends \n and removes blanks at the ends of lines, outside of strings and
// quoted names.
func trimLines(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for at := 0; at < len(text); {
		end := at + 1
		switch c := text[at]; {
		case c == '\'':
			end, _ = tsql.EndOfQuoted(text, at, '\'')
		case c == '"':
			end, _ = tsql.EndOfQuoted(text, at, '"')
		case c == '[':
			end, _ = tsql.EndOfQuoted(text, at, ']')
		case strings.HasPrefix(text[at:], "--"):
			if n := strings.IndexAny(text[at:], "\r\n"); n >= 0 {
				end = at + n
			} else {
				end = len(text)
			}
			b.WriteString(strings.TrimRight(text[at:end], " \t"))
			at = end
			continue
		case strings.HasPrefix(text[at:], "/*"):
			end, _ = tsql.EndOfBlockComment(text, at)
			writeTrimmed(&b, text[at:end])
			at = end
			continue
		case strings.IndexByte(" \t\r\n", c) >= 0:
			for end < len(text) && strings.IndexByte(" \t\r\n", text[end]) >= 0 {
				end++
			}
			if at > 0 && end < len(text) {
				writeTrimmed(&b, text[at:end])
			}
			at = end
			continue
		default: // up to the next character that may begin one of the above
			if n := strings.IndexAny(text[end:], "'\"[-/ \t\r\n"); n >= 0 {
				end += n
			} else {
				end = len(text)
			}
		}
		b.WriteString(text[at:end])
		at = end
	}
	return b.String()
}

// writeTrimmed writes a text with line ends \n and without blanks before them.
func writeTrimmed(b *strings.Builder, text string) {
	for {
		line, rest, more := strings.Cut(text, "\n")
		if !more {
			b.WriteString(text)
			return
		}
		b.WriteString(strings.TrimRight(line, " \t\r"))
		b.WriteByte('\n')
		text = rest
	}
}
