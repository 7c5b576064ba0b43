package builtin

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin/convert"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// logicFuncs choose among their arguments. The compiler evaluates the arguments lazily if that is
// visible (a branch that would fail). These implementations get evaluated arguments.
var logicFuncs = []*Func{
	lenient("ISNULL", 2, 2, isNullResult, evalIsNull),
	lenient("COALESCE", 2, Variadic, coalesceResult, evalCoalesce),
	lenient("NULLIF", 2, 2, nullIfResult, evalNullIf),
	lenient("CHOOSE", 2, Variadic, chooseResult, evalChoose),
	collating(lenient("GREATEST", 1, Variadic, commonResult, evalExtreme(1))),
	collating(lenient("LEAST", 1, Variadic, commonResult, evalExtreme(-1))),
	collating(lenient("ISNUMERIC", 1, 1, fixed(types.IntType), evalIsNumeric)),
	lenient("IIF", 3, 3, iifResult, evalIIF),
	{Name: "NEWID", Volatility: PerRow, Result: fixed(types.GUIDType), Eval: evalNewID},
	{Name: "NEWSEQUENTIALID", Volatility: PerRow, Result: fixed(types.GUIDType), Eval: evalSequentialID},
}

// isNullResult returns the first argument's type, or the second's if the first is a bare NULL.
func isNullResult(args []types.Type, _ []types.Value) (types.Type, error) {
	if args[0].ID == types.Null {
		if args[1].ID == types.Null {
			return types.IntType, nil
		}
		return args[1], nil
	}
	if err := types.CheckImplicit(args[1], args[0]); err != nil {
		return types.Type{}, err
	}
	return args[0], nil
}

func evalIsNull(_ Env, ts []types.Type, result types.Type, args []types.Value) (types.Value, error) {
	if args[0] != nil {
		return args[0], nil
	}
	return types.Convert(args[1], ts[1], result, types.NoStyle)
}

// commonResult is the type of the highest precedence.
func commonResult(args []types.Type, _ []types.Value) (types.Type, error) {
	return types.Common(args...)
}

// coalesceResult rejects NULL constants only (4127).
func coalesceResult(args []types.Type, _ []types.Value) (types.Type, error) {
	for _, t := range args {
		if t.ID != types.Null {
			return types.Common(args...)
		}
	}
	return types.Type{}, mserr.CoalesceNulls()
}

func evalCoalesce(_ Env, ts []types.Type, result types.Type, args []types.Value) (types.Value, error) {
	for i, a := range args {
		if a != nil {
			return types.Convert(a, ts[i], result, types.NoStyle)
		}
	}
	return nil, nil
}

// nullIfResult is the first argument's type.
func nullIfResult(args []types.Type, _ []types.Value) (types.Type, error) {
	if args[0].ID == types.Null {
		return types.Type{}, mserr.NullIfNull()
	}
	_, err := types.CompareType(args[0], args[1], "equal to")
	return args[0], err
}

func evalNullIf(_ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	if args[0] == nil || args[1] == nil {
		return args[0], nil
	}
	t, err := types.CompareType(ts[0], ts[1], "equal to")
	if err != nil {
		return nil, err
	}
	a, err := types.Convert(args[0], ts[0], t, types.NoStyle)
	if err != nil {
		return nil, err
	}
	b, err := types.Convert(args[1], ts[1], t, types.NoStyle)
	if err != nil {
		return nil, err
	}
	if types.Compare(a, b, t) == 0 {
		return nil, nil
	}
	return args[0], nil
}

// chooseResult is the common type of the choices.
func chooseResult(args []types.Type, _ []types.Value) (types.Type, error) {
	if err := types.CheckImplicit(args[0], types.IntType); err != nil {
		return types.Type{}, err
	}
	return types.Common(args[1:]...)
}

// evalChoose returns NULL for an index out of range.
func evalChoose(_ Env, ts []types.Type, result types.Type, args []types.Value) (types.Value, error) {
	if args[0] == nil {
		return nil, nil
	}
	n, err := convert.Integer(args[0], ts[0])
	if err != nil || n < 1 || n >= len(args) {
		return nil, err
	}
	return types.Convert(args[n], ts[n], result, types.NoStyle)
}

// iifResult returns the common type of the branches; the condition is a bit.
func iifResult(args []types.Type, _ []types.Value) (types.Type, error) {
	if args[1].ID == types.Null && args[2].ID == types.Null {
		return types.Type{}, mserr.InvalidCaseNulls()
	}
	return types.Common(args[1:]...)
}

func evalIIF(_ Env, ts []types.Type, result types.Type, args []types.Value) (types.Value, error) {
	i := 2
	if n, ok := args[0].(int64); ok && n != 0 {
		i = 1
	}
	return types.Convert(args[i], ts[i], result, types.NoStyle)
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
