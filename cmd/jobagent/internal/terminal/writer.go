package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Writer is the only way of text to a terminal, and of messages to stderr. Names, messages, bodies
// and paths come from other people: a control character among them could hide lines, change the
// title of the window or write to the clipboard, and a mark of direction could show another text.
// Writer shows such characters by number, as \u202e; in JSON, this form means the character itself.
// It passes on line feeds, tabs, and the styles of [Painter]. See [Guard].
type Writer struct {
	mu   sync.Mutex
	out  io.Writer
	rest []byte // the beginning of a character or of a style, whose end was not written yet
}

// Guard returns a [Writer] before w. It returns w as it is if w is not a terminal, unless always is
// set: a program that reads a pipe gets the value, not its picture.
func Guard(w io.Writer, always bool) io.Writer {
	if _, ok := w.(*Writer); ok || !always && !Is(w) {
		return w
	}
	return &Writer{out: w}
}

// Raw returns what is behind a [Writer]. It is for programs that draw a screen, whose lines went
// through [CleanScreen].
func Raw(w io.Writer) io.Writer {
	if guard, ok := w.(*Writer); ok {
		return guard.out
	}
	return w
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := append(w.rest, p...)
	whole := len(text) - unfinished(text)
	shown := clean(string(text[:whole]), true, "\n\t")
	w.rest = append([]byte(nil), text[whole:]...)
	if shown == "" {
		return len(p), nil
	}
	if _, err := io.WriteString(w.out, shown); err != nil {
		return 0, fmt.Errorf("write: %w", err)
	}
	return len(p), nil
}

// Flush writes the beginning of a character or of a style whose end has not come.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	shown := clean(string(w.rest), false, "\n\t")
	w.rest = nil
	if shown == "" {
		return nil
	}
	if _, err := io.WriteString(w.out, shown); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

// unfinished returns the number of bytes at the end of text that may be the beginning of a
// character, of a style, or of CR LF.
func unfinished(text []byte) int {
	const longest = 24 // bytes; a longer sequence is not a style
	for n := 1; n <= min(len(text), longest); n++ {
		tail := text[len(text)-n:]
		switch {
		case n == 1 && tail[0] == '\r':
			return n
		case n < utf8.UTFMax && utf8.RuneStart(tail[0]) && !utf8.FullRune(tail):
			return n
		case tail[0] == '\x1b':
			if strings.Trim(strings.TrimPrefix(string(tail[1:]), "["), "0123456789;") == "" {
				return n
			}
			return 0
		}
	}
	return 0
}

// Clean returns a text of other people for one line: line breaks and tabs become blanks, and every
// other control character, mark of direction or invisible character becomes its number.
func Clean(text string) string {
	if strings.IndexFunc(text, Hostile) < 0 && utf8.ValidString(text) {
		return text
	}
	return strings.NewReplacer("\n", " ", "\t", " ", "\r", " ").Replace(clean(text, false, "\n\t\r"))
}

// CleanText is [Clean] for a text of several lines: line feeds and tabs stay.
func CleanText(text string) string { return clean(text, false, "\n\t") }

// CleanScreen is [CleanText] for the lines of a screen: the styles of [Painter] stay, too.
func CleanScreen(text string) string { return clean(text, true, "\n\t") }

// clean shows the hostile characters of a text by number, but those in kept, and styles if they are
// allowed. The carriage return of CR LF goes.
func clean(text string, styles bool, kept string) string {
	if strings.IndexFunc(text, Hostile) < 0 && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteRune(utf8.RuneError)
		case r == '\x1b' && styles && styleLen(text[i:]) > 0:
			size = styleLen(text[i:])
			b.WriteString(text[i : i+size])
		case strings.ContainsRune(kept, r) || !Hostile(r):
			b.WriteRune(r)
		case r == '\r' && strings.HasPrefix(text[i+1:], "\n"):
		default:
			b.WriteString(number(r))
		}
		i += size
	}
	return b.String()
}

// number shows a character in the form of a JSON string.
func number(r rune) string {
	if high, low := utf16.EncodeRune(r); high != unicode.ReplacementChar {
		return fmt.Sprintf(`\u%04x\u%04x`, high, low)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// styleLen returns the length of the style that text begins with, 0 if it begins with none. Styles
// are those that this program makes; none of them hides text or moves the cursor.
func styleLen(text string) int {
	parameters, found := strings.CutPrefix(text, "\x1b[")
	end := strings.IndexFunc(parameters, func(r rune) bool { return r != ';' && (r < '0' || r > '9') })
	if !found || end < 0 || parameters[end] != 'm' {
		return 0
	}
	for parameter := range strings.SplitSeq(parameters[:end], ";") {
		switch parameter {
		case "", "0", "1", "2", "7", "22", "27", "39": // none, bold, faint, reverse, and their ends
		case "31", "32", "33", "34", "35", "36", "91", "92", "93", "94", "95", "96": // colours but black and white
		default:
			return 0
		}
	}
	return len("\x1b[") + end + len("m")
}

// Hostile reports whether a character is not text that a person sees as what it is: a control
// character, a mark of direction, another line break, or an invisible one. The joiners stay,
// because some scripts and emoji need them.
func Hostile(r rune) bool {
	switch {
	case r < 0x7F:
		return r < ' '
	case r == '\u200c' || r == '\u200d':
		return false
	case unicode.Is(unicode.Prepended_Concatenation_Mark, r): // visible, although they are in Cf
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point)
}

// file returns the file of a stream, also behind a [Writer]; nil if the stream is not a file.
func file(stream any) *os.File {
	if guard, ok := stream.(*Writer); ok {
		stream = guard.out
	}
	f, _ := stream.(*os.File)
	return f
}
