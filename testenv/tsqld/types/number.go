package types

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// intRange returns the range of an integer type; bit is 0 to 1.
func intRange(id ID) (lo, hi int64) {
	switch id {
	case Bit:
		return 0, 1
	case TinyInt:
		return 0, math.MaxUint8
	case SmallInt:
		return math.MinInt16, math.MaxInt16
	case Int:
		return math.MinInt32, math.MaxInt32
	}
	return math.MinInt64, math.MaxInt64
}

// InRange reports whether n is in the range of an integer type.
func InRange(n int64, t Type) bool {
	lo, hi := intRange(t.ID)
	return n >= lo && n <= hi
}

// moneyRange returns the range of money (or smallmoney) in units of 10^-4.
func moneyRange(id ID) (lo, hi int64) {
	if id == SmallMoney {
		return math.MinInt32, math.MaxInt32
	}
	return math.MinInt64, math.MaxInt64
}

// runtimeName returns a type's name in the run-time errors of conversion, where decimal is always
// numeric.
func runtimeName(t Type) string {
	if t.ID == Decimal {
		return "numeric"
	}
	return t.Name()
}

// convertNumber converts between two number types.
func convertNumber(v Value, from, to Type) (Value, error) {
	switch {
	case to.IsInteger():
		return toInteger(v, from, to)
	case to.ID == Decimal:
		return toDecimal(v, from, to)
	case to.IsMoney():
		return toMoney(v, from, to)
	}
	f := toFloat(v, from)
	if to.ID == Real {
		return toReal(f, from)
	}
	return f, nil
}

// toReal rounds to single precision.
func toReal(f float64, from Type) (Value, error) {
	r := float32(f)
	if math.IsInf(float64(r), 0) {
		return nil, mserr.ArithmeticOverflow(runtimeName(from), "real")
	}
	return float64(r), nil
}

// toFloat returns the nearest float of a number.
func toFloat(v Value, from Type) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case int64:
		switch {
		case from.ID == Decimal:
			return scaledFloat(v, from.Scale)
		case from.IsMoney():
			return scaledFloat(v, 4)
		}
		return float64(v)
	case string:
		f, err := strconv.ParseFloat(v, 64)
		if err != nil {
			return 0
		}
		return f
	}
	return 0
}

// scaledFloat returns n times 10^-scale, correctly rounded if n has at most 53 bits.
func scaledFloat(n int64, scale uint8) float64 {
	if n > -1<<53 && n < 1<<53 {
		return float64(n) / float64(pow10[scale])
	}
	f, _ := new(big.Rat).SetFrac(big.NewInt(n), bigPow10[scale]).Float64()
	return f
}

// integerOverflow returns the error of a number that does not fit an integer type: 220 from a
// larger integer to tinyint and smallint, 232 from float except to bigint, 8115 otherwise.
func integerOverflow(v Value, from, to Type) error {
	switch {
	case from.IsApprox() && to.ID == BigInt:
		return mserr.ArithmeticOverflow("expression", to.Name())
	case from.IsApprox():
		return mserr.Overflow232(to.Name(), v.(float64))
	case (to.ID == TinyInt || to.ID == SmallInt) && (from.ID == SmallInt || from.ID == Int):
		return mserr.Overflow220(to.Name(), v.(int64))
	case from.ID == Money && to.ID == Int:
		return mserr.MoneySpaceIn("int", 1)
	case from.ID == Money && to.ID == SmallInt: // the value is in units of 10^-4
		return mserr.Overflow220("smallint", v.(int64)).WithState(7)
	case from.ID == Money && to.ID == TinyInt:
		return mserr.Overflow232("tinyint", float64(v.(int64))/1e4).WithState(11)
	}
	return mserr.ArithmeticOverflow(runtimeName(from), to.Name())
}

// toInteger truncates toward zero; money is rounded instead. Every bit except zero is 1.
func toInteger(v Value, from, to Type) (Value, error) {
	var n int64
	switch x := v.(type) {
	case int64:
		switch {
		case from.ID == Decimal:
			n = x / pow10[from.Scale]
		case from.IsMoney():
			n = divRound64(x, pow10[4])
		default:
			n = x
		}
		if to.ID == Bit {
			return BitOf(x != 0), nil
		}
	case float64:
		if to.ID == Bit {
			return BitOf(x != 0), nil
		}
		f := math.Trunc(x)
		if !(f >= -1<<63 && f < 1<<63) {
			return nil, integerOverflow(v, from, to)
		}
		n = int64(f)
	case string:
		u := DecimalUnscaled(x, from)
		if u == nil {
			return nil, mserr.ConversionError("numeric", to.Name())
		}
		if to.ID == Bit {
			return BitOf(u.Sign() != 0), nil
		}
		q := new(big.Int).Quo(u, bigPow10[from.Scale])
		if !q.IsInt64() {
			return nil, integerOverflow(v, from, to)
		}
		n = q.Int64()
	}
	if !InRange(n, to) {
		return nil, integerOverflow(v, from, to)
	}
	return n, nil
}

// toDecimal rounds to the scale of to.
func toDecimal(v Value, from, to Type) (Value, error) {
	if d, ok := asDecimal(from); ok {
		r, err := convertDecimal(v, d, to)
		if err != nil {
			return nil, mserr.ArithmeticOverflow(runtimeName(from), "numeric").WithState(8)
		}
		return r, nil
	}
	f, _ := v.(float64)
	if math.IsNaN(f) || math.Abs(f) >= 1e38 {
		return nil, mserr.ArithmeticOverflow(runtimeName(from), "numeric").WithState(6)
	}
	// A real is converted as the float that it is: its shortest text would be another number. A
	// float has seventeen significant digits; SQL Server does not show the rest of its binary value
	// either.
	n, ok := parseNumber(strconv.FormatFloat(f, 'f', -1, 64))
	if !ok {
		return nil, mserr.ConversionError(runtimeName(from), "numeric")
	}
	u, ok := n.unscaled(to.Scale)
	if ok {
		if r, ok := DecimalValue(u, to); ok {
			return r, nil
		}
	}
	return nil, mserr.ArithmeticOverflow(runtimeName(from), "numeric").WithState(6)
}

// toMoney rounds to four digits.
func toMoney(v Value, from, to Type) (Value, error) {
	lo, hi := moneyRange(to.ID)
	overflow := func() error { return mserr.ArithmeticOverflow(runtimeName(from), to.Name()) }
	if f, ok := v.(float64); ok {
		r := math.Round(f * 1e4)
		if !(r >= float64(lo) && r <= float64(hi)) || r >= 1<<63 {
			return nil, overflow()
		}
		return int64(r), nil
	}
	d, ok := asDecimal(from)
	if !ok {
		return nil, overflow()
	}
	u := DecimalUnscaled(v, d)
	if u == nil {
		return nil, overflow()
	}
	u = rescale(u, d.Scale, 4)
	if !u.IsInt64() || u.Int64() < lo || u.Int64() > hi {
		return nil, overflow()
	}
	return u.Int64(), nil
}

// formatFloat prints a float in a style of CONVERT ("float and real styles"): six digits in style 0
// and without a style, eight in style 1 and sixteen in style 2, both in scientific notation, and
// seventeen in style 3, which read back exactly. Exponents have three digits.
func formatFloat(f float64, id ID, style int) string {
	if f == 0 && style <= 0 {
		return "0"
	}
	switch style {
	case 1:
		return threeDigitExponent(strconv.FormatFloat(f, 'e', 7, 64))
	case 2:
		return threeDigitExponent(strconv.FormatFloat(f, 'e', 15, 64))
	case 3:
		if id == Real {
			return threeDigitExponent(strconv.FormatFloat(f, 'e', 8, 64))
		}
		return threeDigitExponent(strconv.FormatFloat(f, 'e', 16, 64))
	}
	s := strconv.FormatFloat(f, 'e', 5, 64)
	mantissa, exp, _ := strings.Cut(s, "e")
	e, _ := strconv.Atoi(exp)
	if e < -4 || e >= 6 { // as C's %g
		if strings.IndexByte(mantissa, '.') >= 0 {
			mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
		}
		return threeDigitExponent(mantissa + "e" + exp)
	}
	s = strconv.FormatFloat(f, 'f', max(5-e, 0), 64)
	if strings.IndexByte(s, '.') >= 0 {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// threeDigitExponent pads the exponent of Go's form to three digits.
func threeDigitExponent(s string) string {
	mantissa, exp, ok := strings.Cut(s, "e")
	if !ok {
		return s
	}
	sign := exp[:1]
	digits := strings.TrimLeft(exp[1:], "0")
	for len(digits) < 3 {
		digits = "0" + digits
	}
	return mantissa + "e" + sign + digits
}

// formatMoney prints money in a style of CONVERT: two digits in style 0, two digits with commas in
// style 1, four digits in styles 2 and 126.
func formatMoney(n int64, style int) string {
	switch style {
	case 1:
		s := scaledText(divRound64(n, 100), 2)
		sign := ""
		if s[0] == '-' {
			sign, s = "-", s[1:]
		}
		whole, frac, _ := strings.Cut(s, ".")
		return sign + GroupDigits(whole) + "." + frac
	case 2, 126:
		return scaledText(n, 4)
	}
	return scaledText(divRound64(n, 100), 2)
}

// GroupDigits puts a comma before every third digit from the right.
func GroupDigits(whole string) string {
	var b strings.Builder
	for i := range len(whole) {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteByte(whole[i])
	}
	return b.String()
}

// FormatNumber prints a number as CAST AS varchar does, in a CONVERT style (NoStyle for CAST).
func FormatNumber(v Value, t Type, style int) string {
	switch {
	case t.IsInteger():
		n, _ := v.(int64)
		return strconv.FormatInt(n, 10)
	case t.IsMoney():
		n, _ := v.(int64)
		return formatMoney(n, style)
	case t.IsApprox():
		f, _ := v.(float64)
		return formatFloat(f, t.ID, style)
	}
	return FormatDecimal(v, t)
}

// parseInteger reads a text as an integer type. Errors: 245, 248, 244, 8114, 8115; the type decides
// which, as in SQL Server.
func parseInteger(s string, from, to Type) (Value, error) {
	text := strings.Trim(s, " \t\r\n")
	if to.ID == Bit {
		return parseBit(s, text, from)
	}
	digits := text
	neg := false
	if digits != "" && (digits[0] == '-' || digits[0] == '+') {
		neg = digits[0] == '-'
		digits = strings.TrimLeft(digits[1:], " ")
	}
	for i := range len(digits) {
		if !isDigit(digits[i]) {
			if to.ID == BigInt {
				return nil, mserr.ConversionError(from.Name(), to.Name())
			}
			return nil, mserr.ConversionFailed(from.Name(), s, to.Name())
		}
	}
	digits = strings.TrimLeft(digits, "0")
	if digits == "" {
		return int64(0), nil
	}
	if neg {
		digits = "-" + digits
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err == nil && InRange(n, to) {
		return n, nil
	}
	switch to.ID {
	case TinyInt:
		return nil, mserr.CharOverflow(from.Name(), s, "INT1")
	case SmallInt:
		return nil, mserr.CharOverflow(from.Name(), s, "INT2")
	case Int:
		return nil, mserr.IntOverflow(from.Name(), s)
	}
	return nil, mserr.ArithmeticOverflow(from.Name(), to.Name())
}

// parseBit reads true, false and digits; an empty text is 0.
func parseBit(s, text string, from Type) (Value, error) {
	switch {
	case strings.EqualFold(text, "true"):
		return int64(1), nil
	case strings.EqualFold(text, "false"), text == "":
		return int64(0), nil
	}
	digits := strings.TrimLeft(text, "+-")
	if digits == "" || len(text)-len(digits) > 1 || strings.Trim(digits, "0123456789") != "" {
		return nil, mserr.ConversionFailed(from.Name(), s, "bit")
	}
	return BitOf(strings.Trim(digits, "0") != ""), nil
}

// parseFloat reads a text as float or real; an empty text is 0.
func parseFloat(s string, from, to Type) (Value, error) {
	text := strings.Trim(s, " \t\r\n")
	if text == "" {
		return float64(0), nil
	}
	for i := range len(text) {
		if c := text[i]; !isDigit(c) && c != '+' && c != '-' && c != '.' && c|0x20 != 'e' && c|0x20 != 'd' {
			return nil, mserr.ConversionError(from.Name(), to.Name())
		}
	}
	// An exponent may also begin with d.
	f, err := strconv.ParseFloat(strings.NewReplacer("d", "e", "D", "e").Replace(text), 64)
	switch {
	case err == nil:
	case math.IsInf(f, 0):
		return nil, mserr.ArithmeticOverflow(from.Name(), to.Name())
	default:
		return nil, mserr.ConversionError(from.Name(), to.Name())
	}
	if to.ID == Real {
		return toReal(f, from)
	}
	return f, nil
}

// currencySigns may precede or follow the sign of a money text ("money and smallmoney").
const currencySigns = "$¢£¤¥€₡₢₣₤₥₦₧₨₩₪₫₭₮₱"

// parseMoney reads a text such as "-$1,234.5"; an empty text is 0. Errors: 235 and 236, for
// smallmoney 293 and 294.
func parseMoney(s string, to Type) (Value, error) {
	text := strings.Trim(s, " \t\r\n")
	if text == "" {
		return int64(0), nil
	}
	neg := false
	for text != "" {
		r := firstRune(text)
		if r == '-' && neg || !strings.ContainsRune("+- "+currencySigns, r) {
			break
		}
		neg = neg || r == '-'
		text = text[len(string(r)):]
	}
	whole, frac, hasPoint := strings.Cut(text, ".")
	text = strings.ReplaceAll(whole, ",", "")
	if hasPoint {
		text += "." + frac
	}
	if text == "" && strings.Trim(whole, ",") == "" {
		return int64(0), nil
	}
	n, ok := parseNumber(text)
	if !ok || text[0] == '-' || text[0] == '+' {
		return nil, mserr.MoneySyntax(to.Name())
	}
	n.neg = neg
	u, ok := n.unscaled(4)
	lo, hi := moneyRange(to.ID)
	if !ok || !u.IsInt64() || u.Int64() < lo || u.Int64() > hi {
		return nil, mserr.MoneyOverflow(to.Name())
	}
	return u.Int64(), nil
}

// firstRune returns the first rune of a text, 0 for an empty text.
func firstRune(s string) rune {
	for _, r := range s {
		return r
	}
	return 0
}
