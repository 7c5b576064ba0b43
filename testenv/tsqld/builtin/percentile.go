package builtin

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin/aggregate"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// percentiles are PERCENTILE_CONT and PERCENTILE_DISC ("Analytic functions (Transact-SQL)"), and
// APPROX_PERCENTILE_CONT and APPROX_PERCENTILE_DISC ("Aggregate functions (Transact-SQL)"). The
// compiler passes three arguments: the percentile, the expression of WITHIN GROUP, and 1 if its
// order is descending, else 0.
var percentiles = []*Func{
	{Name: "PERCENTILE_CONT", MinArgs: 3, MaxArgs: 3, Kind: Window, Result: continuousResult, New: aggregate.NewPercentile(true)},
	{Name: "PERCENTILE_DISC", MinArgs: 3, MaxArgs: 3, Kind: Window, Result: discreteResult, New: aggregate.NewPercentile(false)},
	// The approximate forms are aggregates. Their results are exact here.
	{Name: "APPROX_PERCENTILE_CONT", MinArgs: 3, MaxArgs: 3, Kind: Aggregate, Result: continuousResult, New: aggregate.NewPercentile(true)},
	{Name: "APPROX_PERCENTILE_DISC", MinArgs: 3, MaxArgs: 3, Kind: Aggregate, Result: discreteResult, New: aggregate.NewPercentile(false)},
}

// IsPercentile reports whether f is one of the percentiles.
func IsPercentile(f *Func) bool { return slices.Contains(percentiles, f) }

// continuousResult is float; the values must be numbers.
func continuousResult(args []types.Type, _ []types.Value) (types.Type, error) {
	if t := args[1]; !t.IsNumber() && t.ID != types.Bit {
		return types.Type{}, mserr.IncompatibleTypes("numeric", t.MessageName(), "percentile_cont")
	}
	return types.FloatType, nil
}

// discreteResult is the type of the values.
func discreteResult(args []types.Type, _ []types.Value) (types.Type, error) {
	return types.Common(args[1])
}
