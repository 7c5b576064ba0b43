package targets

import "cmp"

// Limits bound the messages that are kept of an attempt. The zero value of each field means its
// default.
type Limits struct {
	// Messages is the number of messages that are kept; default 1,000. A runner keeps a few errors
	// beyond it.
	Messages int
	// MessageBytes bounds the texts of all kept messages together; default 256 KiB.
	MessageBytes int
	// TextBytes bounds one text; default 8,000 bytes.
	TextBytes int
}

// WithDefaults returns l with every unset field at its default.
func (l Limits) WithDefaults() Limits {
	l.Messages = cmp.Or(l.Messages, 1000)
	l.MessageBytes = cmp.Or(l.MessageBytes, 256<<10)
	l.TextBytes = cmp.Or(l.TextBytes, 8000)
	return l
}
