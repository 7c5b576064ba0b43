package builtin

import (
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// windows are the functions that require OVER. They have no implementation: the compiler lowers
// them to SQLite's window functions of the same names. [NeedsOrder] reports whether ORDER BY is
// required.
var windows = []*Func{
	window("ROW_NUMBER", 0, 0, fixed(types.BigIntType)),
	window("RANK", 0, 0, fixed(types.BigIntType)),
	window("DENSE_RANK", 0, 0, fixed(types.BigIntType)),
	window("NTILE", 1, 1, ntileResult),
	window("PERCENT_RANK", 0, 0, fixed(types.FloatType)),
	window("CUME_DIST", 0, 0, fixed(types.FloatType)),
	window("LAG", 1, 3, offsetRowResult("lag")),
	window("LEAD", 1, 3, offsetRowResult("lead")),
	window("FIRST_VALUE", 1, 1, firstArgument),
	window("LAST_VALUE", 1, 1, firstArgument),
}

// window makes an entry of the list.
func window(name string, minArgs, maxArgs int, result resultFunc) *Func {
	return &Func{Name: name, MinArgs: minArgs, MaxArgs: maxArgs, Kind: Window, Result: result}
}

// NeedsOrder reports whether OVER must have ORDER BY for f, which is true for all functions of kind
// Window but PERCENTILE_CONT and PERCENTILE_DISC.
func NeedsOrder(f *Func) bool { return f.Kind == Window && f.New == nil }

// firstArgument is the type of the first argument, int for a bare NULL.
func firstArgument(args []types.Type, _ []types.Value) (types.Type, error) {
	return types.Common(args[0])
}

// ntileResult is bigint; the number of groups must be an integer.
func ntileResult(args []types.Type, _ []types.Value) (types.Type, error) {
	if !args[0].IsInteger() && args[0].ID != types.Null {
		return types.Type{}, mserr.InvalidArgumentType(args[0].MessageName(), 1, "ntile")
	}
	return types.BigIntType, nil
}

// offsetRowResult is the first argument's type, to which the default must convert.
func offsetRowResult(name string) resultFunc {
	return func(args []types.Type, _ []types.Value) (types.Type, error) {
		if len(args) > 1 && !args[1].IsNumber() && args[1].ID != types.Null {
			return types.Type{}, mserr.InvalidArgumentType(args[1].MessageName(), 2, name)
		}
		if len(args) > 2 && args[0].ID != types.Null {
			if err := types.CheckImplicit(args[2], args[0]); err != nil {
				return types.Type{}, err
			}
		}
		return types.Common(args[0])
	}
}
