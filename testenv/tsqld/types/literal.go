package types

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// NumberLiteral returns the type and value of a number literal, with or without a minus. Digits are
// int, or numeric if int is too small; a point makes numeric, an exponent float, a currency sign
// money.
//
// Errors: 1007 for more than 38 digits, 8115 for a float or money out of range, 102 for other
// texts.
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

// StringLiteral returns the type and value of a text constant: varchar, or nvarchar after N, of the
// text's length; (max) beyond 8000 bytes. Without N, characters outside code page 1252 are
// replaced.
func StringLiteral(s string, national bool) (Type, Value) {
	if national {
		return NVarCharOf(Units(s)), s
	}
	s = narrow(s, CI)
	return VarCharOf(Units(s)), s
}
