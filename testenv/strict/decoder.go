package strict

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf16"
)

// errShort reports a token that has not been received completely.
var errShort = errors.New("incomplete token")

// decoder reads the payload of a message.
type decoder struct {
	b     []byte
	at    int
	base  int  // bytes of the message before b
	token byte // token being read
}

// fail panics with a deviation.
func (d *decoder) fail(format string, args ...any) {
	panic(&Deviation{Token: d.token, Offset: d.base + d.at, What: fmt.Sprintf(format, args...)})
}

// left returns the number of bytes that are left.
func (d *decoder) left() int { return len(d.b) - d.at }

// take returns the next n bytes.
func (d *decoder) take(n int) []byte {
	if n > d.left() {
		panic(errShort)
	}
	p := d.b[d.at : d.at+n]
	d.at += n
	return p
}

func (d *decoder) u8() byte    { return d.take(1)[0] }
func (d *decoder) u16() uint16 { return binary.LittleEndian.Uint16(d.take(2)) }
func (d *decoder) u32() uint32 { return binary.LittleEndian.Uint32(d.take(4)) }
func (d *decoder) u64() uint64 { return binary.LittleEndian.Uint64(d.take(8)) }

// bVarchar reads a B_VARCHAR.
func (d *decoder) bVarchar() string { return d.unicode(2 * int(d.u8())) }

// usVarchar reads a US_VARCHAR.
func (d *decoder) usVarchar() string { return d.unicode(2 * int(d.u16())) }

// unicode reads n bytes of UTF-16.
func (d *decoder) unicode(n int) string { return fromUTF16(d.take(n)) }

// fromUTF16 decodes UTF-16, little-endian.
func fromUTF16(raw []byte) string {
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(raw[2*i:])
	}
	return string(utf16.Decode(units))
}

// inner returns the decoder of a part of n bytes. The caller must read it to its end.
func (d *decoder) inner(n int) *decoder {
	return &decoder{base: d.base + d.at, b: d.take(n), token: d.token}
}

// within calls f with the decoder of a part of n bytes. If the part is too short for its content,
// that is a deviation.
func (d *decoder) within(n int, f func(*decoder)) {
	e := d.inner(n)
	defer func() {
		if v := recover(); v != nil {
			if err, ok := v.(error); ok && errors.Is(err, errShort) {
				e.fail("the length of %d bytes is too short for what it covers", n)
			}
			panic(v)
		}
		if e.left() > 0 {
			e.fail("the length of %d bytes covers %d more than there is", n, e.left())
		}
	}()
	f(e)
}

// prelogin checks the answer to a PRELOGIN (MS-TDS 2.2.6.5): options in order, VERSION first, each
// within the message.
func (d *decoder) prelogin() {
	end := len(d.b)
	for n := 0; ; n++ {
		if d.at >= end {
			d.fail("a PRELOGIN without its terminator")
		}
		option := d.b[d.at]
		if option == 0xFF {
			if n == 0 {
				d.fail("a PRELOGIN without options")
			}
			break
		}
		if d.left() < 5 {
			d.fail("a PRELOGIN that is cut off")
		}
		at, size := int(binary.BigEndian.Uint16(d.b[d.at+1:])), int(binary.BigEndian.Uint16(d.b[d.at+3:]))
		switch {
		case at+size > end:
			d.fail("option %d of a PRELOGIN lies outside of it", option)
		case n == 0 && (option != 0 || size != 6):
			d.fail("a PRELOGIN that begins with option %d of %d bytes, not with its version", option, size)
		case option == 1 && (size != 1 || d.b[at] > 3):
			d.fail("a PRELOGIN with encryption % x", d.b[at:at+size])
		case option == 4 && (size != 1 || d.b[at] > 1):
			d.fail("a PRELOGIN with MARS % x", d.b[at:at+size])
		}
		d.at += 5
	}
	d.at = end
}
