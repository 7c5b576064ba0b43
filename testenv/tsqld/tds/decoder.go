package tds

import (
	"encoding/binary"
	"errors"
	"io"
)

// decoder reads the fields of a message. The first error is kept: after it every method returns
// zeroes. So a structure is read without a check for each field, and err is checked only where a
// decision depends on a value. A length is compared with the available bytes before any allocation.
type decoder struct {
	buf  []byte // received bytes
	pos  int    // next byte in buf
	err  error
	what string // current structure, for errors

	// more returns the next piece of a streamed message, and io.EOF at its end; nil if buf is the
	// whole message.
	more func() ([]byte, error)
}

// newDecoder makes a decoder of b, a whole message; what is its name in errors.
func newDecoder(what string, b []byte) *decoder { return &decoder{buf: b, what: what} }

// fail records the first error.
func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

// failf records a [*FormatError] about the current structure.
func (d *decoder) failf(format string, args ...any) {
	if d.err == nil {
		d.err = formatErrorf(d.what+": "+format, args...)
	}
}

// locate adds the place of the last value to an error about that value.
func (d *decoder) locate(length func(*LengthError) error, value func(*ValueError) error) {
	if d.err == nil {
		return
	}
	var l *LengthError
	var v *ValueError
	switch {
	case errors.As(d.err, &l):
		d.err = length(l)
	case errors.As(d.err, &v):
		d.err = value(v)
	}
}

// left returns how many bytes have been received and not read.
func (d *decoder) left() int {
	if d.err != nil {
		return 0
	}
	return len(d.buf) - d.pos
}

// has waits until n bytes are available. It returns false at the end of the message, which is not
// an error here.
func (d *decoder) has(n int) bool {
	if d.err != nil {
		return false
	}
	for len(d.buf)-d.pos < n {
		if d.more == nil {
			return false
		}
		piece, err := d.more()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				d.fail(err)
			}
			return false
		}
		if d.pos > 0 {
			d.buf = append(d.buf[:0], d.buf[d.pos:]...)
			d.pos = 0
		}
		d.buf = append(d.buf, piece...)
	}
	return true
}

// take returns the next n bytes, valid until the next call; nil after an error.
func (d *decoder) take(n int) []byte {
	if n < 0 || !d.has(n) {
		d.failf("want %d bytes at offset %d, have %d", n, d.pos, len(d.buf)-d.pos)
		return nil
	}
	b := d.buf[d.pos : d.pos+n]
	d.pos += n
	return b
}

// bytes returns a copy of the next n bytes. It returns nil only after an error.
func (d *decoder) bytes(n int) []byte {
	b := d.take(n)
	if b == nil {
		return nil
	}
	return append(make([]byte, 0, n), b...)
}

func (d *decoder) u8() uint8 {
	if b := d.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) u16() uint16 {
	if b := d.take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (d *decoder) u32() uint32 {
	if b := d.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (d *decoder) u64() uint64 {
	if b := d.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// peek returns the next byte without consuming it; 0 at the end.
func (d *decoder) peek() uint8 {
	if !d.has(1) {
		return 0
	}
	return d.buf[d.pos]
}

// ucs2 reads a string of n UTF-16 units.
func (d *decoder) ucs2(n int) string { return decodeUTF16(d.take(2 * n)) }

// bVarchar reads a B_VARCHAR, whose length in characters has one byte.
func (d *decoder) bVarchar() string { return d.ucs2(int(d.u8())) }

// usVarchar reads a US_VARCHAR, whose length in characters has two bytes.
func (d *decoder) usVarchar() string { return d.ucs2(int(d.u16())) }
