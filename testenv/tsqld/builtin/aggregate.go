package builtin

import (
	"github.com/jobagent/jobagent/testenv/tsqld/builtin/aggregate"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// aggregates are the aggregate functions ("Aggregate functions (Transact-SQL)"). COUNT(*) is COUNT
// without arguments. COUNT, which is SQLite's, and GROUPING and GROUPING_ID, whose values the
// compiler computes, have no accumulator.
var aggregates = []*Func{
	aggregateFunc("COUNT", 0, 1, fixed(types.IntType), nil),
	aggregateFunc("COUNT_BIG", 0, 1, fixed(types.BigIntType), nil),
	aggregateFunc("APPROX_COUNT_DISTINCT", 1, 1, fixed(types.BigIntType), aggregate.NewDistinct),
	aggregateFunc("SUM", 1, 1, sumResult("sum"), aggregate.NewSum),
	aggregateFunc("AVG", 1, 1, avgResult, aggregate.NewAvg),
	aggregateFunc("MIN", 1, 1, extremeResult("min"), aggregate.NewExtreme(-1)),
	aggregateFunc("MAX", 1, 1, extremeResult("max"), aggregate.NewExtreme(1)),
	aggregateFunc("STDEV", 1, 1, varianceResult("stdev"), aggregate.NewVariance(true, true)),
	aggregateFunc("STDEVP", 1, 1, varianceResult("stdevp"), aggregate.NewVariance(false, true)),
	aggregateFunc("VAR", 1, 1, varianceResult("var"), aggregate.NewVariance(true, false)),
	aggregateFunc("VARP", 1, 1, varianceResult("varp"), aggregate.NewVariance(false, false)),
	aggregateFunc("STRING_AGG", 2, 2, stringAggResult, aggregate.NewStringAgg),
	aggregateFunc("CHECKSUM_AGG", 1, 1, checksumAggResult, aggregate.NewChecksum),
	aggregateFunc("GROUPING", 1, 1, fixed(types.TinyIntType), nil),
	aggregateFunc("GROUPING_ID", 1, Variadic, fixed(types.IntType), nil),
}

// aggregateFunc makes an entry of the list.
func aggregateFunc(name string, minArgs, maxArgs int, result resultFunc, fresh aggregate.Maker) *Func {
	return &Func{Name: name, MinArgs: minArgs, MaxArgs: maxArgs, Kind: Aggregate, Result: result, New: fresh}
}

// sumType returns the type of a sum: smaller integers become int, decimals get 38 digits.
func sumType(t types.Type, name string) (types.Type, error) {
	switch {
	case t.ID == types.Bit, !t.IsNumber() && t.ID != types.Null:
		return types.Type{}, mserr.InvalidOperandType(t.MessageName(), name)
	case t.ID == types.Null:
		return types.Type{}, mserr.InvalidOperandType("NULL", name)
	case t.ID == types.BigInt:
		return t, nil
	case t.IsInteger():
		return types.IntType, nil
	case t.IsMoney():
		return types.MoneyType, nil
	case t.IsApprox():
		return types.FloatType, nil
	}
	t.Precision = 38
	return t, nil
}

func sumResult(name string) resultFunc {
	return func(args []types.Type, _ []types.Value) (types.Type, error) { return sumType(args[0], name) }
}

// avgResult gives decimals a scale of at least 6.
func avgResult(args []types.Type, _ []types.Value) (types.Type, error) {
	t, err := sumType(args[0], "avg")
	if err == nil && t.ID == types.Decimal {
		t.Scale = max(t.Scale, 6)
	}
	return t, err
}

// extremeResult is the argument's type.
func extremeResult(name string) resultFunc {
	return func(args []types.Type, _ []types.Value) (types.Type, error) {
		t := args[0]
		switch {
		case t.ID == types.Null:
			return types.Type{}, mserr.InvalidOperandType("NULL", name)
		case t.ID == types.Bit, !t.Comparable():
			return types.Type{}, mserr.InvalidOperandType(t.MessageName(), name)
		}
		return t, nil
	}
}

// varianceResult accepts numbers except bit.
func varianceResult(name string) resultFunc {
	return func(args []types.Type, _ []types.Value) (types.Type, error) {
		if t := args[0]; !t.IsNumber() || t.ID == types.Bit {
			return types.Type{}, mserr.InvalidOperandType(t.MessageName(), name)
		}
		return types.FloatType, nil
	}
}

// stringAggResult accepts a separator that is text, and not Unicode for varchar (SQL Server 2022,
// recorded). The result is (max) for a (max) text, else the longest type of its kind.
func stringAggResult(args []types.Type, _ []types.Value) (types.Type, error) {
	t, err := textArg(args[0], 1, "string_agg")
	if err != nil {
		return types.Type{}, err
	}
	if args[0].IsBinary() || args[0].ID == types.RowVersion {
		return types.Type{}, mserr.InvalidArgumentType(args[0].MessageName(), 1, "string_agg")
	}
	if sep := args[1]; !sep.IsCharacter() && sep.ID != types.Null || args[0].ID == types.VarChar && sep.IsUnicode() {
		return types.Type{}, mserr.InvalidArgumentType(sep.MessageName(), 2, "string_agg")
	}
	if !args[0].IsString() && !args[0].IsLOB() { // numbers and dates count as nvarchar(4000)
		t = types.NVarCharOf(maxUnits)
	}
	return wideType(t), nil
}

// checksumAggResult accepts int and smaller integers.
func checksumAggResult(args []types.Type, _ []types.Value) (types.Type, error) {
	if t := args[0]; !t.IsInteger() || t.ID == types.BigInt || t.ID == types.Bit {
		return types.Type{}, mserr.InvalidOperandType(t.MessageName(), "checksum_agg")
	}
	return types.IntType, nil
}
