package builtin

import (
	"math"
	"math/big"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin/convert"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// mathFuncs are the mathematical functions. "Mathematical functions (Transact-SQL)".
var mathFuncs = []*Func{
	pure("ABS", 1, 1, sameResult("abs"), evalAbs),
	pure("SIGN", 1, 1, numberResult("sign"), evalSign),
	pure("CEILING", 1, 1, wholeResult("ceiling"), evalWhole(true)),
	pure("FLOOR", 1, 1, wholeResult("floor"), evalWhole(false)),
	pure("ROUND", 2, 3, numberResult("round"), evalRound),
	pure("POWER", 2, 2, powerResult, evalPower),
	pure("SQUARE", 1, 1, fixed(types.FloatType), float1(func(x float64) float64 { return x * x })),
	pure("SQRT", 1, 1, fixed(types.FloatType), float1(math.Sqrt)),
	pure("EXP", 1, 1, fixed(types.FloatType), float1(math.Exp)),
	pure("LOG", 1, 2, fixed(types.FloatType), float2(math.E, logarithm)),
	pure("LOG10", 1, 1, fixed(types.FloatType), float1(math.Log10)),
	pure("PI", 0, 0, fixed(types.FloatType), func(Env, []types.Type, types.Type, []types.Value) (types.Value, error) { return math.Pi, nil }),
	pure("SIN", 1, 1, fixed(types.FloatType), float1(math.Sin)),
	pure("COS", 1, 1, fixed(types.FloatType), float1(math.Cos)),
	pure("TAN", 1, 1, fixed(types.FloatType), float1(math.Tan)),
	pure("COT", 1, 1, fixed(types.FloatType), float1(func(x float64) float64 { return 1 / math.Tan(x) })),
	pure("ASIN", 1, 1, fixed(types.FloatType), float1(math.Asin)),
	pure("ACOS", 1, 1, fixed(types.FloatType), float1(math.Acos)),
	pure("ATAN", 1, 1, fixed(types.FloatType), float1(math.Atan)),
	pure("ATN2", 2, 2, fixed(types.FloatType), float2(0, func(y, x float64) (types.Value, error) { return convert.Finite(math.Atan2(y, x)) })),
	pure("DEGREES", 1, 1, angleResult("degrees"), scaled(180/math.Pi)),
	pure("RADIANS", 1, 1, angleResult("radians"), scaled(math.Pi/180)),
	{Name: "RAND", MaxArgs: 1, Volatility: Place, Result: fixed(types.FloatType), Eval: given(ofClock, evalRand)},
}

// numberType returns the type in which functions that keep their argument's type compute: int for
// the smaller integers, float for real and texts; decimal and money stay, but smallmoney does not.
func numberType(t types.Type, name string) (types.Type, error) {
	switch {
	case t.ID == types.BigInt, t.ID == types.Decimal, t.ID == types.Money:
		return t, nil
	case t.IsInteger(), t.ID == types.Null:
		return types.IntType, nil
	case t.ID == types.SmallMoney:
		return types.MoneyType, nil
	case t.IsApprox(), t.IsString():
		return types.FloatType, nil
	}
	return types.Type{}, mserr.InvalidArgumentType(t.MessageName(), 1, name)
}

// numberResult is the result rule of numberType.
func numberResult(name string) resultFunc {
	return func(args []types.Type, _ []types.Value) (types.Type, error) {
		if args[0].ID == types.Bit {
			return types.FloatType, nil // bit converts to float ("ABS", return types)
		}
		return numberType(args[0], name)
	}
}

// sameResult is numberResult for functions that also keep real: ABS, CEILING, FLOOR, DEGREES and
// RADIANS ("Returns the same type as numeric_expression"). SIGN, ROUND and POWER convert it to
// float.
func sameResult(name string) resultFunc {
	result := numberResult(name)
	return func(args []types.Type, consts []types.Value) (types.Type, error) {
		if args[0].ID == types.Real {
			return args[0], nil
		}
		return result(args, consts)
	}
}

// powerResult is numberType with decimal(38, s) for decimals and float for bit ("POWER").
func powerResult(args []types.Type, consts []types.Value) (types.Type, error) {
	t, err := numberResult("power")(args, consts)
	if err == nil && t.ID == types.Decimal {
		t.Precision = 38
	}
	return t, err
}

// wholeResult is sameResult without a decimal's fraction.
func wholeResult(name string) resultFunc {
	return func(args []types.Type, _ []types.Value) (types.Type, error) {
		t, err := sameResult(name)(args, nil)
		if err == nil && t.ID == types.Decimal {
			t.Scale = 0
		}
		return t, err
	}
}

// angleResult is sameResult with more digits for decimals: decimal(38, 18 or more).
func angleResult(name string) resultFunc {
	return func(args []types.Type, _ []types.Value) (types.Type, error) {
		t, err := sameResult(name)(args, nil)
		if err == nil && t.ID == types.Decimal {
			t.Precision, t.Scale = 38, max(t.Scale, 18)
		}
		return t, err
	}
}

// evalAbs fails for the smallest integer (8115).
func evalAbs(_ Env, ts []types.Type, result types.Type, args []types.Value) (types.Value, error) {
	v, err := types.Convert(args[0], ts[0], result, types.NoStyle)
	if err != nil {
		return nil, err
	}
	if f, ok := v.(float64); ok {
		return math.Abs(f), nil
	}
	if types.Compare(v, zeroOf(result), result) >= 0 {
		return v, nil
	}
	return types.Negate(v, result, result)
}

// zeroOf returns 0 as a value of a number type.
func zeroOf(t types.Type) types.Value {
	v, err := types.Convert(int64(0), types.IntType, t, types.NoStyle)
	if err != nil {
		return nil
	}
	return v
}

func evalSign(_ Env, ts []types.Type, result types.Type, args []types.Value) (types.Value, error) {
	v, err := types.Convert(args[0], ts[0], result, types.NoStyle)
	if err != nil {
		return nil, err
	}
	return types.Convert(int64(types.Compare(v, zeroOf(result), result)), types.IntType, result, types.NoStyle)
}

// evalWhole rounds up or down to a whole number.
func evalWhole(up bool) evalFunc {
	return func(_ Env, ts []types.Type, result types.Type, args []types.Value) (types.Value, error) {
		if result.IsApprox() {
			f, err := convert.Float(args[0], ts[0])
			if err != nil {
				return nil, err
			}
			if up {
				return math.Ceil(f), nil
			}
			return math.Floor(f), nil
		}
		own, err := numberType(ts[0], "ceiling")
		if err != nil {
			return nil, err
		}
		v, err := types.Convert(args[0], ts[0], own, types.NoStyle)
		if err != nil || own.IsInteger() {
			return v, err
		}
		scale := own.Scale
		if own.IsMoney() {
			scale = 4
		}
		u := types.DecimalUnscaled(v, own)
		unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)
		q, r := new(big.Int).QuoRem(u, unit, new(big.Int))
		switch {
		case up && r.Sign() > 0:
			q.Add(q, big.NewInt(1))
		case !up && r.Sign() < 0:
			q.Sub(q, big.NewInt(1))
		}
		if own.IsMoney() {
			q.Mul(q, unit)
			if !q.IsInt64() {
				return nil, mserr.ArithmeticOverflow("expression", "money")
			}
			return q.Int64(), nil
		}
		out, ok := types.DecimalValue(q, result)
		if !ok {
			return nil, mserr.ArithmeticOverflow("expression", "numeric")
		}
		return out, nil
	}
}

// evalRound rounds to a number of digits after the point, or before it if negative. A third
// argument other than 0 truncates instead.
func evalRound(_ Env, ts []types.Type, result types.Type, args []types.Value) (types.Value, error) {
	digits, err := convert.Integer(args[1], ts[1])
	if err != nil {
		return nil, err
	}
	isCut := false
	if len(args) > 2 {
		n, err := convert.Integer(args[2], ts[2])
		if err != nil {
			return nil, err
		}
		isCut = n != 0
	}
	v, err := types.Convert(args[0], ts[0], result, types.NoStyle)
	if err != nil {
		return nil, err
	}
	if f, ok := v.(float64); ok {
		return roundFloat(f, digits, isCut), nil
	}
	scale := int(result.Scale)
	if result.IsMoney() {
		scale = 4
	}
	drop := scale - digits
	if drop <= 0 {
		return v, nil
	}
	u := types.DecimalUnscaled(v, result)
	if u == nil {
		return nil, mserr.ArithmeticOverflow("expression", result.Name())
	}
	if drop > 39 {
		u = new(big.Int)
	} else {
		unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(drop)), nil)
		q, r := new(big.Int).QuoRem(u, unit, new(big.Int))
		if !isCut && r.Lsh(r, 1).CmpAbs(unit) >= 0 {
			q.Add(q, big.NewInt(int64(u.Sign())))
		}
		u = q.Mul(q, unit)
	}
	if result.ID == types.Decimal {
		out, ok := types.DecimalValue(u, result)
		if !ok {
			return nil, mserr.ArithmeticOverflow("expression", "numeric")
		}
		return out, nil
	}
	if !u.IsInt64() || result.IsInteger() && !types.InRange(u.Int64(), result) {
		return nil, mserr.ArithmeticOverflow("expression", result.Name())
	}
	return u.Int64(), nil
}

// roundFloat rounds or truncates a float.
func roundFloat(f float64, digits int, isCut bool) float64 {
	switch {
	case digits > 15:
		return f
	case digits < -308:
		return 0
	}
	if digits >= 0 {
		if isCut {
			scale := math.Pow10(digits)
			return math.Trunc(f*scale) / scale
		}
		return roundHalfAway(f, digits)
	}
	unit := math.Pow10(-digits)
	if isCut {
		return math.Trunc(f/unit) * unit
	}
	return math.Round(f/unit) * unit
}

// evalPower computes in float and converts the result to the type of the base; error 232 or 8115 if
// it does not fit.
func evalPower(_ Env, ts []types.Type, result types.Type, args []types.Value) (types.Value, error) {
	x, y, err := floats(ts, args, 0)
	if err != nil {
		return nil, err
	}
	if x == 0 && y < 0 {
		return nil, mserr.DivideByZero()
	}
	if result.IsInteger() && ts[1].IsInteger() && y >= 0 {
		if n, ok := intPower(int64(x), int64(y)); ok && types.InRange(n, result) {
			return n, nil
		}
		return nil, powerOverflow(math.Pow(x, y), result)
	}
	f := math.Pow(x, y)
	if math.IsNaN(f) {
		return nil, mserr.InvalidFloatOperation()
	}
	if math.IsInf(f, 0) {
		return nil, mserr.ArithmeticOverflow("expression", result.Name())
	}
	v, err := types.Convert(f, types.FloatType, result, types.NoStyle)
	if err != nil {
		return nil, powerOverflow(f, result)
	}
	return v, nil
}

// powerOverflow is error 232 for int and 8115 for the other types.
func powerOverflow(f float64, result types.Type) error {
	if result.ID == types.Int {
		return mserr.Overflow232("int", f)
	}
	return mserr.ArithmeticOverflow("expression", result.Name())
}

// intPower computes x^y exactly; ok is false on overflow.
func intPower(x, y int64) (int64, bool) {
	if x == 0 || x == 1 {
		if y == 0 {
			return 1, true
		}
		return x, true
	}
	if x == -1 {
		return 1 - 2*(y%2), true
	}
	if y > 63 {
		return 0, false
	}
	u := new(big.Int).Exp(big.NewInt(x), big.NewInt(y), nil)
	return u.Int64(), u.IsInt64()
}

// float1 makes a function of one float. A NaN is error 3623, an infinity error 8115.
func float1(f func(float64) float64) evalFunc {
	return func(_ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
		x, err := convert.Float(args[0], ts[0])
		if err != nil {
			return nil, err
		}
		return convert.Finite(f(x))
	}
}

// logarithm computes LOG; base is e, or the second argument.
func logarithm(x, base float64) (types.Value, error) {
	switch {
	case base <= 0 || base == 1:
		return nil, mserr.InvalidFloatOperation()
	case base == math.E:
		return convert.Finite(math.Log(x))
	case base == 2:
		return convert.Finite(math.Log2(x))
	case base == 10:
		return convert.Finite(math.Log10(x))
	}
	return convert.Finite(math.Log(x) / math.Log(base))
}

// floats reads two floats; the second one is absent if there is one argument.
func floats(ts []types.Type, args []types.Value, absent float64) (x, y float64, err error) {
	if x, err = convert.Float(args[0], ts[0]); err != nil || len(args) == 1 {
		return x, absent, err
	}
	y, err = convert.Float(args[1], ts[1])
	return x, y, err
}

// float2 makes a function of two floats; the second one is absent if there is one argument.
func float2(absent float64, f func(x, y float64) (types.Value, error)) evalFunc {
	return func(_ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
		x, y, err := floats(ts, args, absent)
		if err != nil {
			return nil, err
		}
		return f(x, y)
	}
}

// scaled multiplies by a constant and keeps the argument's type.
func scaled(factor float64) evalFunc {
	return func(_ Env, ts []types.Type, result types.Type, args []types.Value) (types.Value, error) {
		x, err := convert.Float(args[0], ts[0])
		if err != nil {
			return nil, err
		}
		return types.Convert(x*factor, types.FloatType, result, types.NoStyle)
	}
}

// evalRand returns a number from the session's generator; a seed restarts the generator.
func evalRand(clock Clock, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	if len(args) == 0 || args[0] == nil {
		return clock.Random(nil), nil
	}
	n, err := convert.Integer(args[0], ts[0])
	if err != nil {
		return nil, err
	}
	seed := int64(n)
	return clock.Random(&seed), nil
}
