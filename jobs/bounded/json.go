package bounded

import "fmt"

// JSON bounds a JSON text. A limit of 0 means that there is none.
type JSON struct {
	// Bytes is the length of the text.
	Bytes int
	// Depth is how deep arrays and objects are in each other.
	Depth int
	// Values is the number of values and of keys in the whole text.
	Values int
}

// File are the limits of JSON files that people give to commands.
var File = JSON{Bytes: MaxFile, Depth: 200, Values: 250_000}

// Error is a limit that a text exceeds.
type Error struct {
	// Offset is the byte, from 0, at which the text exceeds the limit.
	Offset int
	text   string
}

// Error implements error. It repeats nothing of the text.
func (e *Error) Error() string { return e.text }

// Check returns an *[Error] if a text exceeds the limits, or a *[SizeError]. It allocates nothing,
// and does not check that the text is JSON: in other texts, it counts what a parser could take for
// values until it stops at the error.
func (j JSON) Check(text string) error { return check(j, text) }

// CheckBytes is Check for bytes.
func (j JSON) CheckBytes(text []byte) error { return check(j, text) }

func check[T string | []byte](j JSON, text T) error {
	if j.Bytes > 0 && len(text) > j.Bytes {
		return &SizeError{int64(j.Bytes)}
	}
	depth, values := 0, 0
	inValue := false // within a number or a word
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			depth++
			values++
			inValue = false
			if j.Depth > 0 && depth > j.Depth {
				return &Error{i, fmt.Sprintf("values are nested too deep: at most %d levels", j.Depth)}
			}
		case '}', ']':
			depth--
			inValue = false
		case ',', ':', ' ', '\t', '\r', '\n':
			inValue = false
		case '"':
			values++
			inValue = false
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		default:
			if !inValue {
				values++
			}
			inValue = true
		}
		if j.Values > 0 && values > j.Values {
			return &Error{i, fmt.Sprintf("there are too many values: at most %d", j.Values)}
		}
	}
	return nil
}
