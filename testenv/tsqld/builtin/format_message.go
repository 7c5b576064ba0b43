package builtin

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin/convert"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// maxMessage is the longest message of RAISERROR and FORMATMESSAGE in characters.
const maxMessage = 2047

// directiveWork is the cost of a part of a message, in steps of [meter.Meter.Work].
const directiveWork = 16

// formatMessageResult requires a text. Message numbers are not supported, because sys.messages has
// no user-defined messages.
func formatMessageResult(args []types.Type, _ []types.Value) (types.Type, error) {
	if !args[0].IsString() && args[0].ID != types.Null {
		if args[0].IsInteger() {
			return types.Type{}, mserr.NotSupported("FORMATMESSAGE with a message number")
		}
		return types.Type{}, mserr.InvalidArgumentType(args[0].MessageName(), 1, "formatmessage")
	}
	for i, t := range args[1:] {
		if !CanSubstitute(t) && t.ID != types.Null {
			return types.Type{}, mserr.InvalidSubstitution(t.String(), i+1)
		}
	}
	return types.NVarCharOf(2048), nil
}

// CanSubstitute reports whether values of type t can be parameters of a message: integers, and
// character and binary strings.
func CanSubstitute(t types.Type) bool {
	return t.IsInteger() && t.ID != types.Bit || t.IsString() || t.IsBinary()
}

func evalFormatMessage(m *meter.Meter, _ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	if args[0] == nil {
		return nil, nil
	}
	format, err := convert.Text(args[0], ts[0])
	if err != nil {
		return nil, err
	}
	return FormatMessage(m, format, ts[1:], args[1:])
}

// directive is one %... of a format.
type directive struct {
	left, plus, blank, zero, alternate bool
	width                              int
	precision                          int // -1 without one
	is64                               bool
	verb                               byte
}

// FormatMessage formats a message of RAISERROR and FORMATMESSAGE. A directive is
// %[flags][width][.precision][I64]type with the types d, i, o, s, u, x and X; width and precision
// may be *. A missing argument prints as (null). The result is truncated to 2047 characters, the
// last three of which are "..." then.
//
// Errors: 2787 for an invalid format, 2786 for arguments of the wrong type.
func FormatMessage(m *meter.Meter, format string, ts []types.Type, args []types.Value) (string, error) {
	var out strings.Builder
	const enough = utf8.UTFMax * maxMessage // bytes; what follows is truncated
	next := 0
	take := func() (v types.Value, t types.Type, ok bool) {
		if next >= len(args) {
			next++
			return nil, types.NullType, false
		}
		next++
		return args[next-1], ts[next-1], true
	}
	for i := 0; i < len(format); {
		if err := m.Work(directiveWork); err != nil {
			return "", err
		}
		if format[i] != '%' {
			n := strings.IndexByte(format[i:], '%')
			if n < 0 {
				n = len(format) - i
			}
			if out.Len() < enough {
				out.WriteString(format[i : i+min(n, enough)])
			}
			i += n
			continue
		}
		if i+1 < len(format) && format[i+1] == '%' {
			if out.Len() < enough {
				out.WriteByte('%')
			}
			i += 2
			continue
		}
		d, size, err := readDirective(format[i:], func() (int, error) {
			v, t, ok := take()
			if !ok || v == nil {
				return 0, mserr.SubstitutionType(next)
			}
			if !t.IsInteger() {
				return 0, mserr.SubstitutionType(next)
			}
			n, _ := v.(int64)
			return int(min(n, maxMessage)), nil
		})
		if err != nil {
			return "", err
		}
		i += size
		v, t, _ := take()
		s, err := d.print(v, t, next)
		if err != nil {
			return "", err
		}
		if out.Len() < enough {
			out.WriteString(s[:min(len(s), enough)])
		}
	}
	s := out.String()
	if types.Units(s) > maxMessage {
		s = types.Left(s, maxMessage-3) + "..."
	}
	return s, nil
}

// readDirective reads the rest of a directive after its %; star returns the next argument as a
// number. size is the number of bytes with the %.
func readDirective(s string, star func() (int, error)) (d directive, size int, err error) {
	d.precision = -1
	bad := func() (directive, int, error) {
		return d, 0, mserr.InvalidFormat(types.Left(s, 20))
	}
	i := 1
flags:
	for ; i < len(s); i++ {
		switch s[i] {
		case '-':
			d.left = true
		case '+':
			d.plus = true
		case ' ':
			d.blank = true
		case '0':
			d.zero = true
		case '#':
			d.alternate = true
		default:
			break flags
		}
	}
	number := func() (int, error) {
		if i < len(s) && s[i] == '*' {
			i++
			return star()
		}
		n := 0
		for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
			n = min(10*n+int(s[i]-'0'), maxMessage)
		}
		return n, nil
	}
	if d.width, err = number(); err != nil {
		return d, 0, err
	}
	if d.width < 0 {
		d.left, d.width = true, -d.width
	}
	if i < len(s) && s[i] == '.' {
		i++
		if d.precision, err = number(); err != nil {
			return d, 0, err
		}
	}
	if strings.HasPrefix(s[i:], "I64") {
		d.is64 = true
		i += 3
	} else if i < len(s) && (s[i] == 'l' || s[i] == 'h') {
		i++
	}
	if i >= len(s) || strings.IndexByte("diosuxX", s[i]) < 0 {
		return bad()
	}
	d.verb = s[i]
	return d, i + 1, nil
}

// print formats an argument; n is its number, from 1.
func (d directive) print(v types.Value, t types.Type, n int) (string, error) {
	if d.verb == 's' {
		if v == nil {
			return d.pad("(null)"), nil
		}
		if !t.IsString() {
			return "", mserr.SubstitutionType(n)
		}
		s, _ := v.(string)
		if d.precision >= 0 {
			s = types.Left(s, d.precision)
		}
		return d.pad(s), nil
	}
	if v == nil {
		return d.pad("(null)"), nil
	}
	if !t.IsInteger() {
		return "", mserr.SubstitutionType(n)
	}
	x, _ := v.(int64)
	if !d.is64 && t.ID == types.BigInt {
		return "", mserr.SubstitutionType(n)
	}
	var sign, digits string
	switch d.verb {
	case 'd', 'i':
		digits = strconv.FormatInt(x, 10)
		switch {
		case x < 0:
			sign, digits = "-", digits[1:]
		case d.plus:
			sign = "+"
		case d.blank:
			sign = " "
		}
	default:
		u := uint64(x)
		if !d.is64 {
			u = uint64(uint32(x))
		}
		switch d.verb {
		case 'u':
			digits = strconv.FormatUint(u, 10)
		case 'o':
			digits = strconv.FormatUint(u, 8)
			if d.alternate && u != 0 {
				sign = "0"
			}
		default:
			digits = strconv.FormatUint(u, 16)
			if d.verb == 'X' {
				digits = strings.ToUpper(digits)
			}
			if d.alternate && u != 0 {
				sign = "0" + string(d.verb)
			}
		}
	}
	if pad := d.precision - len(digits); pad > 0 {
		digits = strings.Repeat("0", pad) + digits
	}
	if pad := d.width - len(sign) - len(digits); pad > 0 && d.zero && !d.left && d.precision < 0 {
		digits = strings.Repeat("0", pad) + digits
	}
	return d.pad(sign + digits), nil
}

// pad adds blanks up to the width.
func (d directive) pad(s string) string {
	n := d.width - types.Units(s)
	switch {
	case n <= 0:
		return s
	case d.left:
		return s + strings.Repeat(" ", n)
	}
	return strings.Repeat(" ", n) + s
}
