package aggregate

import (
	"math"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin/convert"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// variance implements VAR, VARP, STDEV and STDEVP by Welford's method.
type variance struct {
	t                types.Type
	isSample, isRoot bool
	n                int64
	mean, m2         float64
}

// NewVariance returns the maker of VAR, VARP, STDEV or STDEVP: isSample is set for VAR and STDEV,
// isRoot for STDEV and STDEVP.
func NewVariance(isSample, isRoot bool) Maker {
	return func(ts []types.Type, _ types.Type) Accumulator {
		return &variance{t: ts[0], isSample: isSample, isRoot: isRoot}
	}
}

// Add adds a value.
func (v *variance) Add(args []types.Value) error {
	if args[0] == nil {
		return nil
	}
	x, err := convert.Float(args[0], v.t)
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
	return convert.Finite(r)
}
