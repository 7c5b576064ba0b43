package types

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// NumberLiteral types a number as written, with or without a minus: digits are int, or numeric where int
// is too small; a point makes numeric, an exponent float, a currency sign money.
// Errors: 1007 more than 38 digits, 8115 a float or money out of range, 102 no number.
func NumberLiteral(text string) (Type, Value, error) {
	unsigned := strings.TrimLeft(text, "+-")
	if unsigned == "" {
		return Type{}, nil, mserr.Syntax(text)
	}
	switch {
	case strings.ContainsRune(currencySigns, firstRune(unsigned)):
		v, err := parseMoney(text, MoneyType)
		return MoneyType, v, err
	case strings.ContainsAny(unsigned, "eE"):
		// An exponent without digits counts as zero ("1e" is a float).
		if last := unsigned[len(unsigned)-1] | 0x20; last == 'e' || last == '+'|0x20 || last == '-'|0x20 {
			text += "0"
		}
		v, err := parseFloat(text, VarCharMax, FloatType)
		return FloatType, v, err
	}
	n, ok := parseNumber(text)
	if !ok {
		return Type{}, nil, mserr.Syntax(text)
	}
	if !strings.Contains(unsigned, ".") {
		if v, err := parseInteger(text, VarCharMax, IntType); err == nil {
			return IntType, v, nil
		}
	}
	p := max(len(n.digits), n.scale, 1)
	if p > maxDecimal {
		return Type{}, nil, mserr.NumberOutOfRange(text)
	}
	t := Type{ID: Decimal, Precision: uint8(p), Scale: uint8(n.scale), Numeric: true}
	u, _ := n.unscaled(t.Scale)
	v, _ := DecimalValue(u, t)
	return t, v, nil
}

// StringLiteral types a text constant: varchar, or nvarchar with N in front, of its own length; (max)
// beyond 8000 bytes. A constant without N loses what code page 1252 lacks.
func StringLiteral(s string, national bool) (Type, Value) {
	if national {
		return NVarCharOf(Units(s)), s
	}
	s = narrow(s, CI)
	return VarCharOf(Units(s)), s
}
