// Package textfile decodes the text files that people write: scripts, definitions, configurations.
//
// A file is UTF-8, with or without a byte order mark, or UTF-16 with one. Everything else is
// refused: an encoding is never guessed, because a wrong guess changes the text.
package textfile

import (
	"bytes"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// Byte order marks.
var (
	utf8Mark    = []byte{0xEF, 0xBB, 0xBF}
	utf16LEMark = []byte{0xFF, 0xFE}
	utf16BEMark = []byte{0xFE, 0xFF}
)

// want names the encodings that are read.
const want = "want UTF-8, or UTF-16 with a byte order mark"

// Error says where a file is no text. It does not repeat the file's bytes, which may be a secret.
type Error struct {
	Offset int // of the first wrong byte, from 0
	reason string
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s at byte %d: %s", e.reason, e.Offset, want) }

// Decode returns the text of a file as UTF-8, without its byte order mark. The error is an
// *[Error].
func Decode(data []byte) ([]byte, error) {
	switch {
	case bytes.HasPrefix(data, utf16LEMark):
		return decodeUTF16(data, func(b []byte) uint16 { return uint16(b[0]) | uint16(b[1])<<8 })
	case bytes.HasPrefix(data, utf16BEMark):
		return decodeUTF16(data, func(b []byte) uint16 { return uint16(b[1]) | uint16(b[0])<<8 })
	}
	text, hasMark := bytes.CutPrefix(data, utf8Mark)
	skipped := len(data) - len(text)
	wrong := bytes.IndexByte(text, 0)
	if wrong < 0 && utf8.Valid(text) {
		return text, nil
	}
	for i := 0; i < len(text) && i != wrong; {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return nil, &Error{skipped + i, "the text is not valid UTF-8"}
		}
		i += size
	}
	if !hasMark && wrong < 2 { // U+0000 to U+00FF in UTF-16 have a zero byte
		return nil, &Error{wrong, "a zero byte, as in UTF-16 without a byte order mark"}
	}
	return nil, &Error{skipped + wrong, "a zero byte (NUL)"}
}

// decodeUTF16 decodes UTF-16 with a byte order mark.
func decodeUTF16(data []byte, unit func([]byte) uint16) ([]byte, error) {
	text := make([]byte, 0, len(data)/2)
	for i := 2; i < len(data); i += 2 {
		if i+1 == len(data) {
			return nil, &Error{i, "the UTF-16 text ends in the middle of a character"}
		}
		r := rune(unit(data[i:]))
		switch {
		case r == 0:
			return nil, &Error{i, "a zero character (NUL)"}
		case utf16.IsSurrogate(r):
			second := rune(0)
			if i+3 < len(data) {
				second = rune(unit(data[i+2:]))
			}
			if r = utf16.DecodeRune(r, second); r == utf8.RuneError {
				return nil, &Error{i, "the text is not valid UTF-16"}
			}
			i += 2
		}
		text = utf8.AppendRune(text, r)
	}
	return text, nil
}
