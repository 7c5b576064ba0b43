package aggregate

import (
	"math/big"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin/convert"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// total implements SUM and AVG: exactly for integers, money and decimals, in floats for floats.
type total struct {
	own, result types.Type
	isAvg       bool
	n           int64
	small       int64    // the sum as long as it fits
	large       *big.Int // the part of the sum that did not fit into small
	float       float64
}

// NewSum makes the state of SUM.
func NewSum(ts []types.Type, result types.Type) Accumulator {
	return &total{own: ts[0], result: result, large: new(big.Int)}
}

// NewAvg makes the state of AVG.
func NewAvg(ts []types.Type, result types.Type) Accumulator {
	return &total{own: ts[0], result: result, isAvg: true, large: new(big.Int)}
}

// Add adds a value.
func (s *total) Add(args []types.Value) error {
	if args[0] == nil {
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
		return convert.Finite(f)
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
