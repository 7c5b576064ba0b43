package types

import (
	"math"
	"math/big"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// Arith computes "a op b". ta and tb are the types of a and b, and result must be their
// [ArithType]. If an operand is NULL, the result is NULL. Arith converts the operands to their
// [OperandTypes].
//
// Errors: those of the conversions, 8115 for an overflow, 8134 for a division by zero.
func Arith(op Op, a Value, ta Type, b Value, tb Type, result Type) (Value, error) {
	if a == nil || b == nil {
		return nil, nil
	}
	wa, wb := OperandTypes(op, ta, tb, result)
	if ta != wa {
		var err error
		if a, err = Convert(a, ta, wa, NoStyle); err != nil {
			return nil, err
		}
	}
	if tb != wb {
		var err error
		if b, err = Convert(b, tb, wb, NoStyle); err != nil {
			return nil, err
		}
	}
	switch {
	case result.IsString():
		x, _ := a.(string)
		y, _ := b.(string)
		return fitText(x+y, result), nil
	case result.IsBinary():
		x, _ := a.([]byte)
		y, _ := b.([]byte)
		return fitBytes(append(append(make([]byte, 0, len(x)+len(y)), x...), y...), result), nil
	case result.ID == Decimal:
		return decimalArith(op, a, wa, b, wb, result)
	case result.IsApprox():
		x, _ := a.(float64)
		y, _ := b.(float64)
		return floatArith(op, x, y, result)
	case result.IsLegacyTemporal():
		x, _ := a.(int64)
		y, _ := b.(int64)
		return dateArith(op, x, y, result)
	}
	x, okA := a.(int64)
	y, okB := b.(int64)
	if !okA || !okB { // the binary operand of a bitwise operation
		return bitArith(op, a, wa, b, wb, result)
	}
	if result.IsMoney() {
		return moneyArith(op, x, y, result)
	}
	return intArith(op, x, y, result)
}

// expressionOverflow is the error of arithmetic whose result does not fit.
func expressionOverflow(t Type) error { return mserr.ArithmeticOverflow("expression", t.Name()) }

// intArith computes with integers. The value must be in the range of result.
func intArith(op Op, x, y int64, result Type) (Value, error) {
	var n int64
	ok := true
	switch op {
	case Add:
		n, ok = add64(x, y)
	case Sub:
		n, ok = sub64(x, y)
	case Mul:
		n, ok = mul64(x, y)
	case Div, Mod:
		if y == 0 {
			return nil, mserr.DivideByZero()
		}
		if x == math.MinInt64 && y == -1 {
			n, ok = 0, op == Mod
		} else if op == Div {
			n = x / y
		} else {
			n = x % y
		}
	case BitAnd:
		n = x & y
	case BitOr:
		n = x | y
	case BitXor:
		n = x ^ y
	}
	if !ok || !InRange(n, result) {
		return nil, expressionOverflow(result)
	}
	return n, nil
}

// add64 adds; ok is false on overflow.
func add64(a, b int64) (int64, bool) {
	s := a + b
	return s, !((a >= 0) == (b >= 0) && (s >= 0) != (a >= 0))
}

// sub64 subtracts; ok is false on overflow.
func sub64(a, b int64) (int64, bool) {
	s := a - b
	return s, !((a >= 0) != (b >= 0) && (s >= 0) != (a >= 0))
}

// bitArith computes a bitwise operation with one binary operand, which is converted to an integer.
func bitArith(op Op, a Value, ta Type, b Value, tb Type, result Type) (Value, error) {
	x, err := Convert(a, ta, result, NoStyle)
	if err != nil {
		return nil, err
	}
	y, err := Convert(b, tb, result, NoStyle)
	if err != nil {
		return nil, err
	}
	nx, _ := x.(int64)
	ny, _ := y.(int64)
	return intArith(op, nx, ny, result)
}

// floatArith computes with floats. Infinity and NaN are overflows.
func floatArith(op Op, x, y float64, result Type) (Value, error) {
	var f float64
	switch op {
	case Add:
		f = x + y
	case Sub:
		f = x - y
	case Mul:
		f = x * y
	case Div:
		if y == 0 {
			return nil, mserr.DivideByZero()
		}
		f = x / y
	default:
		return nil, mserr.InvalidOperandType(result.MessageName(), op.String())
	}
	if result.ID == Real {
		f = float64(float32(f))
	}
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return nil, expressionOverflow(result)
	}
	return f, nil
}

// moneyArith computes with units of 10^-4. It rounds a product and truncates a quotient.
func moneyArith(op Op, x, y int64, result Type) (Value, error) {
	lo, hi := moneyRange(result.ID)
	var n int64
	ok := true
	switch op {
	case Add:
		n, ok = add64(x, y)
	case Sub:
		n, ok = sub64(x, y)
	case Mul:
		u := new(big.Int).Mul(big.NewInt(x), big.NewInt(y))
		u = divRound(u, bigPow10[4])
		n, ok = u.Int64(), u.IsInt64()
	case Div:
		if y == 0 {
			return nil, mserr.DivideByZero()
		}
		u := new(big.Int).Mul(big.NewInt(x), bigPow10[4])
		u.Quo(u, big.NewInt(y))
		n, ok = u.Int64(), u.IsInt64()
	case Mod:
		if y == 0 {
			return nil, mserr.DivideByZero()
		}
		if y != -1 {
			n = x % y
		}
	default:
		return nil, mserr.InvalidOperandType(result.MessageName(), op.String())
	}
	if !ok || n < lo || n > hi {
		return nil, expressionOverflow(result)
	}
	return n, nil
}

// dateArith adds or subtracts two datetimes, as days and fractions of a day since 1900-01-01.
func dateArith(op Op, x, y int64, result Type) (Value, error) {
	y -= days1900 * TicksPerDay
	if op == Sub {
		y = -y
	}
	ticks := x + y
	if r, ok := FitTemporal(ticks, result); ok {
		return r, nil
	}
	return nil, mserr.ArithmeticOverflow("expression", result.Name())
}

// decimalArith computes exactly and then reduces the value to the digits of result: it truncates a
// quotient and rounds every other value.
func decimalArith(op Op, a Value, ta Type, b Value, tb Type, result Type) (Value, error) {
	overflow := func() error { return mserr.ArithmeticOverflow("numeric", "numeric").WithState(8) }
	if v, ok := decimalFast(op, a, ta, b, tb, result); ok {
		return v, nil
	}
	x, y := DecimalUnscaled(a, ta), DecimalUnscaled(b, tb)
	if x == nil || y == nil {
		return nil, overflow()
	}
	top := max(ta.Scale, tb.Scale)
	var u *big.Int
	switch op {
	case Add:
		u = new(big.Int).Add(rescale(x, ta.Scale, top), rescale(y, tb.Scale, top))
		u = rescale(u, top, result.Scale)
	case Sub:
		u = new(big.Int).Sub(rescale(x, ta.Scale, top), rescale(y, tb.Scale, top))
		u = rescale(u, top, result.Scale)
	case Mul:
		u = rescale(new(big.Int).Mul(x, y), ta.Scale+tb.Scale, result.Scale)
	case Div:
		if y.Sign() == 0 {
			return nil, mserr.DivideByZero()
		}
		n := new(big.Int).Mul(x, bigPow10[int(result.Scale)+int(tb.Scale)])
		u = n.Quo(n, new(big.Int).Mul(y, bigPow10[ta.Scale]))
	case Mod:
		if y.Sign() == 0 {
			return nil, mserr.DivideByZero()
		}
		u = new(big.Int).Rem(rescale(x, ta.Scale, top), rescale(y, tb.Scale, top))
		u = rescale(u, top, result.Scale)
	default:
		return nil, mserr.InvalidOperandType("numeric", op.String())
	}
	v, ok := DecimalValue(u, result)
	if !ok {
		return nil, overflow()
	}
	return v, nil
}

// decimalFast is decimalArith for sums and products within int64; ok is false for others.
func decimalFast(op Op, a Value, ta Type, b Value, tb Type, result Type) (Value, bool) {
	x, okA := a.(int64)
	y, okB := b.(int64)
	if !okA || !okB || result.Precision > intDecimal {
		return nil, false
	}
	var n int64
	var ok bool
	switch op {
	case Add, Sub:
		if result.Scale != max(ta.Scale, tb.Scale) {
			return nil, false
		}
		if x, ok = mul64(x, pow10[result.Scale-ta.Scale]); !ok {
			return nil, false
		}
		if y, ok = mul64(y, pow10[result.Scale-tb.Scale]); !ok {
			return nil, false
		}
		if op == Sub {
			y = -y
		}
		n, ok = add64(x, y)
	case Mul:
		if result.Scale != ta.Scale+tb.Scale {
			return nil, false
		}
		n, ok = mul64(x, y)
	}
	if limit := pow10[result.Precision]; !ok || n >= limit || n <= -limit {
		return nil, false
	}
	return n, true
}

// Negate computes "-v"; result must be the [NegateType] of t.
func Negate(v Value, t, result Type) (Value, error) {
	switch x := v.(type) {
	case int64:
		if x == math.MinInt64 || result.IsInteger() && !InRange(-x, result) ||
			result.ID == SmallMoney && x == math.MinInt32 {
			return nil, expressionOverflow(result)
		}
		return -x, nil
	case float64:
		return -x, nil
	case string:
		u := DecimalUnscaled(x, t)
		if u == nil {
			return nil, mserr.ConversionError("numeric", "numeric")
		}
		return decimalText(u.Neg(u), t.Scale), nil
	}
	return nil, nil
}

// BitNot computes "~v" of an integer type.
func BitNot(v Value, t Type) Value {
	n, ok := v.(int64)
	if !ok {
		return nil
	}
	switch t.ID {
	case Bit:
		return 1 - n
	case TinyInt:
		return 255 - n
	}
	return ^n
}
