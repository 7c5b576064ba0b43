package builtin

import (
	"math"
	"math/big"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// aggregates are the aggregate functions ("Aggregate functions (Transact-SQL)"). COUNT(*) is COUNT
// without arguments. GROUPING and GROUPING_ID have no accumulator, because the compiler computes
// their values.
var aggregates = []*Func{
	aggregate("COUNT", 0, 1, fixed(types.IntType), newCount),
	aggregate("COUNT_BIG", 0, 1, fixed(types.BigIntType), newCount),
	aggregate("APPROX_COUNT_DISTINCT", 1, 1, fixed(types.BigIntType), newDistinct),
	aggregate("SUM", 1, 1, sumResult("sum"), newSum),
	aggregate("AVG", 1, 1, avgResult, newAvg),
	aggregate("MIN", 1, 1, extremeResult("min"), newExtreme(-1)),
	aggregate("MAX", 1, 1, extremeResult("max"), newExtreme(1)),
	aggregate("STDEV", 1, 1, varianceResult("stdev"), newVariance(true, true)),
	aggregate("STDEVP", 1, 1, varianceResult("stdevp"), newVariance(false, true)),
	aggregate("VAR", 1, 1, varianceResult("var"), newVariance(true, false)),
	aggregate("VARP", 1, 1, varianceResult("varp"), newVariance(false, false)),
	aggregate("STRING_AGG", 2, 2, stringAggResult, newStringAgg),
	aggregate("CHECKSUM_AGG", 1, 1, checksumAggResult, newChecksum),
	aggregate("GROUPING", 1, 1, fixed(types.TinyIntType), nil),
	aggregate("GROUPING_ID", 1, Variadic, fixed(types.IntType), nil),
}

// aggregate makes an entry of the list.
func aggregate(name string, minArgs, maxArgs int, result resultFunc, fresh func([]types.Type, types.Type) Accumulator) *Func {
	return &Func{Name: name, MinArgs: minArgs, MaxArgs: maxArgs, Kind: Aggregate, Result: result, New: fresh}
}

// skipper counts ignored NULLs; it is the base of the accumulators.
type skipper struct{ skipped bool }

// HasSkippedNull reports whether a NULL was ignored.
func (s *skipper) HasSkippedNull() bool { return s.skipped }

// isNull reports whether a value is NULL, and counts it.
func (s *skipper) isNull(v types.Value) bool {
	if v == nil {
		s.skipped = true
	}
	return v == nil
}

// counter implements COUNT.
type counter struct {
	skipper
	n      int64
	result types.Type
}

func newCount(_ []types.Type, result types.Type) Accumulator { return &counter{result: result} }

// Add counts a row, or a value that is not NULL.
func (c *counter) Add(args []types.Value) error {
	if len(args) == 0 || !c.isNull(args[0]) {
		c.n++
	}
	return nil
}

// Result fails if the count does not fit an int (8115).
func (c *counter) Result() (types.Value, error) {
	if !types.InRange(c.n, c.result) {
		return nil, mserr.ArithmeticOverflow("expression", c.result.Name())
	}
	return c.n, nil
}

// distinct counts distinct values.
type distinct struct {
	skipper
	t    types.Type
	seen map[string]struct{}
	held int // size of seen in bytes
}

func newDistinct(ts []types.Type, _ types.Type) Accumulator {
	return &distinct{t: ts[0], seen: map[string]struct{}{}}
}

// Add notes a value.
func (d *distinct) Add(args []types.Value) error {
	if d.isNull(args[0]) {
		return nil
	}
	k := types.Key(args[0], d.t)
	if _, ok := d.seen[k]; !ok {
		d.seen[k] = struct{}{}
		d.held += len(k) + seenBytes
	}
	return nil
}

// seenBytes is the approximate size of an entry of a map, without its text.
const seenBytes = 64

// Held returns the memory of the values, in bytes.
func (d *distinct) Held() int { return d.held }

// Result returns the number of values.
func (d *distinct) Result() (types.Value, error) { return int64(len(d.seen)), nil }

// sumType returns the type of a sum: smaller integers become int, decimals get 38 digits.
func sumType(t types.Type, name string) (types.Type, error) {
	switch {
	case t.ID == types.Bit, !t.IsNumber() && t.ID != types.Null:
		return types.Type{}, mserr.InvalidOperandType(t.Name(), name)
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

// total implements SUM and AVG: exactly for integers, money and decimals, in floats for floats.
type total struct {
	skipper
	own, result types.Type
	isAvg       bool
	n           int64
	small       int64    // the sum as long as it fits
	large       *big.Int // the part of the sum that did not fit into small
	float       float64
}

func newSum(ts []types.Type, result types.Type) Accumulator {
	return &total{own: ts[0], result: result, large: new(big.Int)}
}

func newAvg(ts []types.Type, result types.Type) Accumulator {
	return &total{own: ts[0], result: result, isAvg: true, large: new(big.Int)}
}

// Add adds a value.
func (s *total) Add(args []types.Value) error {
	if s.isNull(args[0]) {
		return nil
	}
	s.n++
	switch v := args[0].(type) {
	case float64:
		s.float += v
	case int64:
		sum := s.small + v
		if (s.small >= 0) == (v >= 0) && (sum >= 0) != (v >= 0) {
			s.large.Add(s.large, big.NewInt(s.small))
			sum = v
		}
		s.small = sum
	case string:
		u := types.DecimalUnscaled(v, s.own)
		if u == nil {
			return mserr.ConversionError("numeric", "numeric")
		}
		s.large.Add(s.large, u)
	}
	return nil
}

// Result returns NULL if there was no value. Error 8115 if the sum does not fit.
func (s *total) Result() (types.Value, error) {
	if s.n == 0 {
		return nil, nil
	}
	if s.result.IsApprox() {
		f := s.float
		if s.isAvg {
			f /= float64(s.n)
		}
		return checkFloat(f)
	}
	u := new(big.Int).Add(s.large, big.NewInt(s.small))
	if s.result.ID == types.Decimal {
		if s.isAvg {
			u.Mul(u, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(s.result.Scale-s.own.Scale)), nil))
			u.Quo(u, big.NewInt(s.n))
		}
		v, ok := types.DecimalValue(u, s.result)
		if !ok {
			return nil, mserr.ArithmeticOverflow("expression", "numeric")
		}
		return v, nil
	}
	// The sum itself must fit, even if the result is an average.
	if !u.IsInt64() || s.result.IsInteger() && !types.InRange(u.Int64(), s.result) {
		return nil, mserr.ArithmeticOverflow("expression", s.result.Name())
	}
	if s.isAvg {
		return u.Int64() / s.n, nil
	}
	return u.Int64(), nil
}

// extremeResult is the argument's type.
func extremeResult(name string) resultFunc {
	return func(args []types.Type, _ []types.Value) (types.Type, error) {
		t := args[0]
		switch {
		case t.ID == types.Null:
			return types.Type{}, mserr.InvalidOperandType("NULL", name)
		case t.ID == types.Bit, !t.Comparable():
			return types.Type{}, mserr.InvalidOperandType(t.Name(), name)
		}
		return t, nil
	}
}

// extreme implements MIN (sign -1) and MAX (1).
type extreme struct {
	skipper
	t    types.Type
	sign int
	best types.Value
}

func newExtreme(sign int) func([]types.Type, types.Type) Accumulator {
	return func(ts []types.Type, _ types.Type) Accumulator { return &extreme{t: ts[0], sign: sign} }
}

// Add compares a value with the best so far.
func (e *extreme) Add(args []types.Value) error {
	if e.isNull(args[0]) {
		return nil
	}
	if e.best == nil || e.sign*types.Compare(args[0], e.best, e.t) > 0 {
		e.best = args[0]
	}
	return nil
}

// Result returns NULL if there was no value.
func (e *extreme) Result() (types.Value, error) { return e.best, nil }

// varianceResult accepts numbers except bit.
func varianceResult(name string) resultFunc {
	return func(args []types.Type, _ []types.Value) (types.Type, error) {
		if t := args[0]; !t.IsNumber() || t.ID == types.Bit {
			return types.Type{}, mserr.InvalidOperandType(t.Name(), name)
		}
		return types.FloatType, nil
	}
}

// variance implements VAR, VARP, STDEV and STDEVP by Welford's method.
type variance struct {
	skipper
	t                types.Type
	isSample, isRoot bool
	n                int64
	mean, m2         float64
}

func newVariance(isSample, isRoot bool) func([]types.Type, types.Type) Accumulator {
	return func(ts []types.Type, _ types.Type) Accumulator {
		return &variance{t: ts[0], isSample: isSample, isRoot: isRoot}
	}
}

// Add adds a value.
func (v *variance) Add(args []types.Value) error {
	if v.isNull(args[0]) {
		return nil
	}
	x, err := float(args[0], v.t)
	if err != nil {
		return err
	}
	v.n++
	d := x - v.mean
	v.mean += d / float64(v.n)
	v.m2 += d * (x - v.mean)
	return nil
}

// Result returns NULL if there was no value, and for a sample of one.
func (v *variance) Result() (types.Value, error) {
	n := v.n
	if v.isSample {
		n--
	}
	if v.n == 0 || n == 0 {
		return nil, nil
	}
	r := v.m2 / float64(n)
	if v.isRoot {
		r = math.Sqrt(r)
	}
	return checkFloat(r)
}

// stringAggResult is (max) for a (max) text, else the longest type of its kind.
func stringAggResult(args []types.Type, _ []types.Value) (types.Type, error) {
	t, err := textArg(args[0], 1, "string_agg")
	if err != nil {
		return types.Type{}, err
	}
	if _, err := textArg(args[1], 2, "string_agg"); err != nil {
		return types.Type{}, err
	}
	if !args[0].IsString() && !args[0].IsLOB() { // numbers and dates count as nvarchar(4000)
		t = types.NVarCharOf(maxUnits)
	}
	return wideType(t), nil
}

// stringAgg joins texts in the order of the rows.
type stringAgg struct {
	skipper
	ts     []types.Type
	result types.Type
	b      strings.Builder
	units  int
	isAny  bool
}

func newStringAgg(ts []types.Type, result types.Type) Accumulator {
	return &stringAgg{ts: ts, result: result}
}

// Add appends a text; a NULL separator is empty. Error 9829 above 8000 bytes, unless the type is
// (max).
func (s *stringAgg) Add(args []types.Value) error {
	if args[0] == nil { // STRING_AGG ignores NULL without a warning
		return nil
	}
	v, err := text(args[0], s.ts[0])
	if err != nil {
		return err
	}
	if s.isAny && args[1] != nil {
		sep, err := text(args[1], s.ts[1])
		if err != nil {
			return err
		}
		v = sep + v
	}
	s.isAny = true
	s.b.WriteString(v)
	if s.units += s.result.Size(v); s.result.Length != types.Max && s.units > s.result.Length {
		return mserr.AggregateStrings("STRING_AGG")
	}
	return nil
}

// Result returns NULL if there was no text.
func (s *stringAgg) Result() (types.Value, error) {
	if !s.isAny {
		return nil, nil
	}
	return s.b.String(), nil
}

// checksumAggResult accepts int and smaller integers.
func checksumAggResult(args []types.Type, _ []types.Value) (types.Type, error) {
	if t := args[0]; !t.IsInteger() || t.ID == types.BigInt || t.ID == types.Bit {
		return types.Type{}, mserr.InvalidOperandType(t.Name(), "checksum_agg")
	}
	return types.IntType, nil
}

// checksum implements CHECKSUM_AGG: the exclusive or of the values.
type checksum struct {
	skipper
	n   int64
	any bool
}

func newChecksum([]types.Type, types.Type) Accumulator { return &checksum{} }

// Add adds a value.
func (c *checksum) Add(args []types.Value) error {
	if c.isNull(args[0]) {
		return nil
	}
	n, _ := args[0].(int64)
	c.n, c.any = c.n^n, true
	return nil
}

// Result returns NULL if there was no value.
func (c *checksum) Result() (types.Value, error) {
	if !c.any {
		return nil, nil
	}
	return c.n, nil
}
