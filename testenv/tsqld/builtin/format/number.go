package format

import (
	"math"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// plainNumber prints a number as digits with an optional minus and point, without an exponent.
func plainNumber(v types.Value, t types.Type) string {
	if t.IsApprox() {
		f, _ := v.(float64)
		s := types.FormatNumber(f, t, 3) // d.ddde+ddd
		return expandExponent(s)
	}
	if t.IsMoney() {
		return types.FormatNumber(v, t, 2)
	}
	return types.FormatNumber(v, t, types.NoStyle)
}

// expandExponent prints 1.5e+003 as 1500. It rounds seventeen digits to fifteen, which every float
// represents exactly.
func expandExponent(s string) string {
	if !strings.Contains(s, "e") {
		return s
	}
	digits, isNegative := strings.CutPrefix(expand(s), "-")
	whole, _, _ := strings.Cut(digits, ".")
	digits = roundDigits(digits, max(15-len(strings.TrimLeft(whole, "0")), 0))
	if isNegative {
		return "-" + digits
	}
	return digits
}

// expand prints 1.5e+003 as 1500.
func expand(s string) string {
	mantissa, exp, ok := strings.Cut(s, "e")
	if !ok {
		return s
	}
	sign := ""
	if strings.HasPrefix(mantissa, "-") {
		sign, mantissa = "-", mantissa[1:]
	}
	whole, frac, _ := strings.Cut(mantissa, ".")
	n := 0
	for _, c := range exp[1:] {
		n = 10*n + int(c-'0')
	}
	if exp[0] == '-' {
		n = -n
	}
	digits := whole + frac
	point := len(whole) + n
	switch {
	case point <= 0:
		digits = "0." + strings.Repeat("0", -point) + digits
	case point >= len(digits):
		digits += strings.Repeat("0", point-len(digits))
	default:
		digits = digits[:point] + "." + digits[point:]
	}
	return sign + digits
}

// roundDigits rounds an unsigned plain number to at most n digits after the point, half away from
// zero.
func roundDigits(s string, n int) string {
	whole, frac, _ := strings.Cut(s, ".")
	if len(frac) <= n {
		return s
	}
	digits := []byte(whole + frac[:n])
	if frac[n] >= '5' {
		i := len(digits) - 1
		for ; i >= 0; i-- {
			if digits[i] != '9' {
				digits[i]++
				break
			}
			digits[i] = '0'
		}
		if i < 0 {
			digits = append([]byte{'1'}, digits...)
		}
	}
	point := len(digits) - n
	if n == 0 {
		return string(digits)
	}
	return string(digits[:point]) + "." + string(digits[point:])
}

// fixedDigits rounds to exactly n digits after the point.
func fixedDigits(s string, n int) string {
	s = roundDigits(s, n)
	whole, frac, _ := strings.Cut(s, ".")
	if n == 0 {
		return whole
	}
	return whole + "." + frac + strings.Repeat("0", n-len(frac))
}

// isZeroDigits reports whether a number has no digit but 0.
func isZeroDigits(s string) bool { return strings.Trim(s, "0.,") == "" }

// anyNumber prints a number by a standard (one letter and digits) or custom format.
func (c *Culture) anyNumber(m *meter.Meter, v types.Value, t types.Type, format string) (_ string, ok bool, err error) {
	plain := plainNumber(v, t)
	sign := ""
	if strings.HasPrefix(plain, "-") {
		sign, plain = "-", plain[1:]
	}
	if format == "" {
		format = "G"
	}
	letter, digits, ok := standardFormat(format)
	if !ok {
		return customNumber(m, c, sign, plain, format)
	}
	s, ok := c.standardNumber(v, t, letter, digits, sign, plain)
	return s, ok, nil
}

// standardNumber prints a number by a standard format: a letter and digits.
func (c *Culture) standardNumber(v types.Value, t types.Type, letter byte, digits int, sign, plain string) (string, bool) {
	precision := func(def int) int {
		if digits >= 0 {
			return digits
		}
		return def
	}
	withSign := func(s string) string {
		if isZeroDigits(s) {
			return s
		}
		return sign + s
	}
	grouped := func(s string) string {
		whole, frac, hasPoint := strings.Cut(s, ".")
		if s = types.GroupDigits(whole); hasPoint {
			s += "." + frac
		}
		return s
	}
	switch letter {
	case 'F', 'f':
		return c.number(withSign(fixedDigits(plain, precision(2)))), true
	case 'N', 'n':
		return c.number(withSign(grouped(fixedDigits(plain, precision(2))))), true
	case 'C', 'c':
		s := grouped(fixedDigits(plain, precision(c.Cents)))
		return c.amount(s, sign != "" && !isZeroDigits(s)), true
	case 'P', 'p':
		s := grouped(fixedDigits(shift(plain, 2), precision(2)))
		isNegative := sign != "" && !isZeroDigits(s)
		if s = strings.Replace(c.Percent, "n", c.number(s), 1); isNegative {
			s = sign + s
		}
		return s, true
	case 'D', 'd':
		if !t.IsInteger() {
			return "", false
		}
		if pad := precision(0) - len(plain); pad > 0 {
			plain = strings.Repeat("0", pad) + plain
		}
		return sign + plain, true
	case 'X', 'x':
		if !t.IsInteger() {
			return "", false
		}
		n, _ := v.(int64)
		return hexNumber(n, t, letter, precision(0)), true
	case 'E', 'e':
		return c.number(withSign(scientific(plain, precision(6), letter))), true
	case 'R', 'r': // of floats only
		return c.number(sign + general(roundTrip(v, t), 17, letter)), t.IsApprox()
	case 'G', 'g':
		if t.ID == types.Real {
			return c.number(sign + general(plain, precision(7), letter)), true
		}
		if t.IsApprox() || digits > 0 {
			return c.number(sign + general(plain, precision(15), letter)), true
		}
		return c.number(sign + plain), true
	}
	return "", false
}

// roundTrip returns the unsigned digits of a float or real that read as the same number: 15 or 17,
// 7 or 9 for a real.
func roundTrip(v types.Value, t types.Type) string {
	f, _ := v.(float64)
	digits, bits := 15, 64
	if t.ID == types.Real {
		digits, bits = 7, 32
	}
	s := strconv.FormatFloat(math.Abs(f), 'e', digits-1, 64)
	if same, err := strconv.ParseFloat(s, bits); err != nil || same != math.Abs(f) {
		s = strconv.FormatFloat(math.Abs(f), 'e', digits+1, 64)
	}
	return expand(s)
}

// standardFormat reads a letter and up to two digits; digits is -1 without them.
func standardFormat(format string) (letter byte, digits int, ok bool) {
	c := format[0]
	if c|0x20 < 'a' || c|0x20 > 'z' || len(format) > 3 {
		return 0, 0, false
	}
	digits = -1
	for i := 1; i < len(format); i++ {
		if format[i] < '0' || format[i] > '9' {
			return 0, 0, false
		}
		digits = max(digits, 0)*10 + int(format[i]-'0')
	}
	return c, digits, true
}

// shift moves the point n digits to the right.
func shift(s string, n int) string {
	whole, frac, _ := strings.Cut(s, ".")
	if len(frac) < n {
		frac += strings.Repeat("0", n-len(frac))
	}
	whole = strings.TrimLeft(whole+frac[:n], "0")
	if whole == "" {
		whole = "0"
	}
	if frac = frac[n:]; frac == "" {
		return whole
	}
	return whole + "." + frac
}

// hexNumber prints an integer in two's complement of its own size.
func hexNumber(n int64, t types.Type, letter byte, precision int) string {
	u := uint64(n)
	if n < 0 {
		u &= 1<<(8*uint(t.MaxLength())) - 1
		if t.ID == types.BigInt {
			u = uint64(n)
		}
	}
	const digits = "0123456789ABCDEF"
	var buf [16]byte
	i := len(buf)
	for ok := true; ok; ok = u > 0 {
		i--
		buf[i] = digits[u&15]
		u >>= 4
	}
	s := string(buf[i:])
	if pad := precision - len(s); pad > 0 {
		s = strings.Repeat("0", pad) + s
	}
	if letter == 'x' {
		s = strings.ToLower(s)
	}
	return s
}

// exponentOf returns the power of ten of an unsigned plain number's first digit, and the digits
// without leading zeros.
func exponentOf(s string) (exp int, digits string) {
	whole, frac, _ := strings.Cut(s, ".")
	digits = strings.TrimLeft(whole+frac, "0")
	if digits == "" {
		return 0, "0"
	}
	return len(digits) - 1 - len(frac), digits
}

// scientific prints d.ddddddE+ddd.
func scientific(s string, precision int, letter byte) string {
	exp, digits := exponentOf(s)
	m := fixedDigits(digits[:1]+"."+digits[1:], precision)
	if strings.HasPrefix(m, "10") {
		exp++
		m = fixedDigits("1.0", precision)
	}
	sign := "+"
	if exp < 0 {
		sign, exp = "-", -exp
	}
	e := string(rune('0'+exp/100)) + string(rune('0'+exp/10%10)) + string(rune('0'+exp%10))
	return m + string(letter) + sign + e
}

// general implements G: the shorter one of plain and scientific with at most precision significant
// digits.
func general(s string, precision int, letter byte) string {
	if precision == 0 {
		precision = 15
	}
	exp, _ := exponentOf(s)
	s = roundDigits(s, max(precision-1-exp, 0))
	if strings.IndexByte(s, '.') >= 0 {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	if exp >= precision || exp < -4 {
		m := scientific(s, precision-1, 'E')
		mantissa, e, _ := strings.Cut(m, "E")
		if strings.IndexByte(mantissa, '.') >= 0 {
			mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
		}
		e = e[:1] + strings.TrimLeft(e[1:], "0")
		if len(e) == 2 {
			e = e[:1] + "0" + e[1:]
		}
		mark := "E"
		if letter == 'g' || letter == 'r' {
			mark = "e"
		}
		return mantissa + mark + e
	}
	return s
}
