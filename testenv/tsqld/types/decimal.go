package types

import (
	"math/big"
	"math/bits"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// pow10 holds the powers of ten within int64.
var pow10 = func() (p [19]int64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = 10 * p[i-1]
	}
	return p
}()

// bigPow10 holds 10^0 to 10^77, enough for the rescaled product of two decimals. It must not be
// modified.
var bigPow10 = func() (p [78]*big.Int) {
	p[0] = big.NewInt(1)
	for i := 1; i < len(p); i++ {
		p[i] = new(big.Int).Mul(p[i-1], big.NewInt(10))
	}
	return p
}()

// DecimalUnscaled returns a decimal value times 10^t.Scale. v is an int64 for precisions up to 18
// and a canonical text above; for other values the result is nil.
func DecimalUnscaled(v Value, t Type) *big.Int {
	switch v := v.(type) {
	case int64:
		return big.NewInt(v)
	case string:
		digits := v
		if i := strings.IndexByte(v, '.'); i >= 0 {
			digits = v[:i] + v[i+1:]
		}
		u, ok := new(big.Int).SetString(digits, 10)
		if !ok {
			return nil
		}
		return u
	}
	return nil
}

// DecimalValue is the inverse of DecimalUnscaled. ok is false if u has more digits than
// t.Precision.
func DecimalValue(u *big.Int, t Type) (v Value, ok bool) {
	if u.CmpAbs(bigPow10[t.Precision]) >= 0 {
		return nil, false
	}
	if t.Precision <= intDecimal {
		return u.Int64(), true
	}
	return decimalText(u, t.Scale), true
}

// decimalText prints u times 10^-scale in the canonical form.
func decimalText(u *big.Int, scale uint8) string {
	if u.IsInt64() {
		return scaledText(u.Int64(), scale)
	}
	s := u.String()
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	if scale == 0 {
		return sign + s
	}
	if pad := int(scale) + 1 - len(s); pad > 0 {
		s = strings.Repeat("0", pad) + s
	}
	point := len(s) - int(scale)
	return sign + s[:point] + "." + s[point:]
}

// scaledText prints n times 10^-scale with exactly scale digits after the point.
func scaledText(n int64, scale uint8) string {
	var buf [64]byte
	i := len(buf)
	u := uint64(n)
	if n < 0 {
		u = -u
	}
	for digits := 0; u > 0 || digits <= int(scale); digits++ {
		if digits == int(scale) && scale > 0 {
			i--
			buf[i] = '.'
		}
		i--
		buf[i] = byte('0' + u%10)
		u /= 10
	}
	if n < 0 {
		i--
		buf[i] = '-'
	}
	return string(buf[i:])
}

// FormatDecimal prints a decimal value with all its digits after the point.
func FormatDecimal(v Value, t Type) string {
	switch v := v.(type) {
	case int64:
		return scaledText(v, t.Scale)
	case string:
		return v
	}
	return ""
}

// rescale changes u from one scale to another, rounding half away from zero.
func rescale(u *big.Int, from, to uint8) *big.Int {
	switch {
	case to > from:
		return new(big.Int).Mul(u, bigPow10[to-from])
	case to < from:
		return divRound(u, bigPow10[from-to])
	}
	return u
}

// divRound computes u/d, rounding half away from zero; d is positive.
func divRound(u, d *big.Int) *big.Int {
	q, r := new(big.Int).QuoRem(u, d, new(big.Int))
	if r.Lsh(r, 1).CmpAbs(d) >= 0 {
		q.Add(q, big.NewInt(int64(u.Sign())))
	}
	return q
}

// divRound64 computes n/d, rounding half away from zero; d is positive.
func divRound64(n, d int64) int64 {
	q, r := n/d, n%d
	switch {
	case r >= d-r && r > 0:
		q++
	case -r >= d+r && r < 0:
		q--
	}
	return q
}

// convertDecimal changes precision and scale, with rounding; error 8115 if the digits do not fit.
func convertDecimal(v Value, from, to Type) (Value, error) {
	if n, ok := v.(int64); ok && to.Precision <= intDecimal {
		switch {
		case from.Scale == to.Scale:
			if from.Precision <= to.Precision {
				return n, nil
			}
		case from.Scale > to.Scale:
			n = divRound64(n, pow10[from.Scale-to.Scale])
		default:
			m, ok := mul64(n, pow10[to.Scale-from.Scale])
			if !ok {
				return nil, mserr.ArithmeticOverflow("numeric", "numeric").WithState(8)
			}
			n = m
		}
		if limit := pow10[to.Precision]; n >= limit || n <= -limit {
			return nil, mserr.ArithmeticOverflow("numeric", "numeric").WithState(8)
		}
		return n, nil
	}
	u := DecimalUnscaled(v, from)
	if u == nil {
		return nil, mserr.ConversionError("numeric", "numeric")
	}
	r, ok := DecimalValue(rescale(u, from.Scale, to.Scale), to)
	if !ok {
		return nil, mserr.ArithmeticOverflow("numeric", "numeric").WithState(8)
	}
	return r, nil
}

// mul64 multiplies; ok is false on overflow.
func mul64(a, b int64) (int64, bool) {
	if a == 0 || b == 0 {
		return 0, true
	}
	ua, ub := uint64(a), uint64(b)
	neg := false
	if a < 0 {
		ua, neg = -ua, !neg
	}
	if b < 0 {
		ub, neg = -ub, !neg
	}
	hi, lo := bits.Mul64(ua, ub)
	switch {
	case hi != 0, lo > 1<<63, lo == 1<<63 && !neg:
		return 0, false
	case neg:
		return int64(-lo), true
	}
	return int64(lo), true
}

// parsedNumber is an exact number split into its parts.
type parsedNumber struct {
	neg    bool
	digits string // digits of the integral part and the fraction without leading zeros; "" is zero
	scale  int    // how many of the digits are after the point (including removed zeros)
}

// parseNumber reads blanks, a sign, digits with at most one point, blanks. There must be a digit.
func parseNumber(s string) (parsedNumber, bool) {
	s = strings.Trim(s, " \t\r\n")
	var n parsedNumber
	if s != "" && (s[0] == '+' || s[0] == '-') {
		n.neg = s[0] == '-'
		s = strings.TrimLeft(s[1:], " ")
	}
	whole, frac, _ := strings.Cut(s, ".")
	if whole == "" && frac == "" {
		return n, false
	}
	for _, part := range [...]string{whole, frac} {
		for i := range len(part) {
			if part[i] < '0' || part[i] > '9' {
				return n, false
			}
		}
	}
	n.digits = strings.TrimLeft(whole+frac, "0")
	n.scale = len(frac)
	return n, true
}

// unscaled returns the number times 10^scale, rounded half away from zero. ok is false if it has
// far more digits than any decimal.
func (n parsedNumber) unscaled(scale uint8) (*big.Int, bool) {
	digits := n.digits
	if digits == "" {
		return new(big.Int), true
	}
	integral := len(digits) - n.scale
	if integral > maxDecimal {
		return nil, false
	}
	// After the first digit behind the scale, further digits cannot change the rounding.
	drop := n.scale - int(scale)
	switch {
	case drop > 0:
		roundUp := false
		if drop <= len(digits) {
			roundUp = digits[len(digits)-drop] >= '5'
			digits = digits[:len(digits)-drop]
		} else {
			digits = ""
		}
		u := new(big.Int)
		if digits != "" {
			u.SetString(digits, 10)
		}
		if roundUp {
			u.Add(u, bigPow10[0])
		}
		if n.neg {
			u.Neg(u)
		}
		return u, true
	case drop < 0:
		digits += strings.Repeat("0", -drop)
	}
	u, _ := new(big.Int).SetString(digits, 10)
	if n.neg {
		u.Neg(u)
	}
	return u, true
}

// ParseDecimal reads a text such as " -12.50 " as a decimal of type t; from is the source type for
// errors. Errors: 8114 for a syntax error, 8115 for too many digits before the point.
func ParseDecimal(s string, t Type, from string) (Value, error) {
	n, ok := parseNumber(s)
	if !ok {
		return nil, mserr.ConversionError(from, "numeric")
	}
	u, ok := n.unscaled(t.Scale)
	if !ok {
		return nil, mserr.ArithmeticOverflow(from, "numeric").WithState(6)
	}
	v, ok := DecimalValue(u, t)
	if !ok {
		return nil, mserr.ArithmeticOverflow(from, "numeric").WithState(8)
	}
	return v, nil
}

// CompareDecimalText orders two canonical decimal texts (precision over 18) of any scales. It is
// the SQLite collation "decimal".
func CompareDecimalText(a, b string) int {
	negA, negB := strings.HasPrefix(a, "-"), strings.HasPrefix(b, "-")
	if negA {
		a = a[1:]
	}
	if negB {
		b = b[1:]
	}
	c := compareDigits(a, b)
	switch {
	case !negA && !negB:
		return c
	case negA && negB:
		return -c
	case isZeroText(a) && isZeroText(b):
		return 0
	case negA:
		return -1
	}
	return 1
}

// compareDigits orders two unsigned decimal texts.
func compareDigits(a, b string) int {
	wa, fa, _ := strings.Cut(a, ".")
	wb, fb, _ := strings.Cut(b, ".")
	wa, wb = strings.TrimLeft(wa, "0"), strings.TrimLeft(wb, "0")
	if len(wa) != len(wb) {
		if len(wa) < len(wb) {
			return -1
		}
		return 1
	}
	if c := strings.Compare(wa, wb); c != 0 {
		return c
	}
	return strings.Compare(strings.TrimRight(fa, "0"), strings.TrimRight(fb, "0"))
}

// isZeroText reports whether an unsigned decimal text has no digit but 0.
func isZeroText(s string) bool { return strings.Trim(s, "0.") == "" }
