package builtin

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin/convert"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// logicFuncs choose among their arguments, or make identifiers. The compiler binds those without
// rules of their own here, because they do not evaluate all arguments.
var logicFuncs = []*Func{
	{Name: "ISNULL", MinArgs: 2, MaxArgs: 2},
	{Name: "COALESCE", MinArgs: 2, MaxArgs: Variadic},
	{Name: "NULLIF", MinArgs: 2, MaxArgs: 2},
	{Name: "CHOOSE", MinArgs: 2, MaxArgs: Variadic},
	collating(lenient("GREATEST", 1, Variadic, commonResult, evalExtreme(1))),
	collating(lenient("LEAST", 1, Variadic, commonResult, evalExtreme(-1))),
	collating(lenient("ISNUMERIC", 1, 1, fixed(types.IntType), evalIsNumeric)),
	{Name: "NEWID", Volatility: PerRow, Result: fixed(types.GUIDType), Eval: evalNewID},
	{Name: "NEWSEQUENTIALID", Volatility: PerRow, Result: fixed(types.GUIDType), Eval: evalSequentialID},
}

// commonResult is the type of the highest precedence.
func commonResult(args []types.Type, _ []types.Value) (types.Type, error) {
	return types.Common(args...)
}

// evalExtreme returns the greatest (sign 1) or least (-1) argument, and ignores NULLs.
func evalExtreme(sign int) evalFunc {
	return func(_ Env, ts []types.Type, result types.Type, args []types.Value) (types.Value, error) {
		var best types.Value
		for i, a := range args {
			if a == nil {
				continue
			}
			v, err := types.Convert(a, ts[i], result, types.NoStyle)
			if err != nil {
				return nil, err
			}
			if best == nil || sign*types.Compare(v, best, result) > 0 {
				best = v
			}
		}
		return best, nil
	}
}

// evalIsNumeric returns 1 for numbers and for texts that convert to int, decimal, float or money.
func evalIsNumeric(_ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	if args[0] == nil {
		return int64(0), nil
	}
	if ts[0].IsNumber() {
		return int64(1), nil
	}
	if !ts[0].IsCharacter() {
		return int64(0), nil
	}
	s, err := convert.Text(args[0], ts[0])
	if err != nil || strings.TrimSpace(s) == "" {
		return int64(0), err
	}
	if strings.TrimSpace(s) == "." {
		return int64(1), nil // a period is valid in money
	}
	for _, t := range [...]types.Type{types.FloatType, types.MoneyType, types.DecimalOf(38, 0)} {
		if _, err := types.Convert(s, types.NVarCharMax, t, types.NoStyle); err == nil {
			return int64(1), nil
		}
	}
	return int64(0), nil
}
