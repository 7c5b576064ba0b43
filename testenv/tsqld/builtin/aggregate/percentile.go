package aggregate

import (
	"math"
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// percentile collects the values of a partition. It ignores NULL without a warning.
type percentile struct {
	continuous bool
	typ        types.Type // of the values
	values     []types.Value
	held       int // size of values in bytes
	sorted     bool
	fraction   float64
	descending bool
}

// NewPercentile returns the maker of PERCENTILE_CONT, if continuous is set, or PERCENTILE_DISC.
func NewPercentile(continuous bool) Maker {
	return func(ts []types.Type, _ types.Type) Accumulator {
		return &percentile{continuous: continuous, typ: ts[1]}
	}
}

// Add notes a value. Error 8727 for a percentile outside 0 to 1.
func (p *percentile) Add(args []types.Value) error {
	fraction, ok := args[0].(float64)
	if !ok || !(fraction >= 0 && fraction <= 1) {
		return mserr.Of(8727)
	}
	p.fraction, p.descending = fraction, args[2] == int64(1)
	if v := args[1]; v != nil {
		p.values, p.sorted = append(p.values, v), false
		p.held += 2 * seenBytes
		switch v := v.(type) {
		case string:
			p.held += len(v)
		case []byte:
			p.held += len(v)
		}
	}
	return nil
}

// Held returns the memory of the values, in bytes.
func (p *percentile) Held() int { return p.held }

// Result returns NULL if there was no value.
func (p *percentile) Result() (types.Value, error) {
	n := len(p.values)
	if n == 0 {
		return nil, nil
	}
	if !p.sorted {
		slices.SortStableFunc(p.values, func(a, b types.Value) int {
			if p.descending {
				a, b = b, a
			}
			return types.Compare(a, b, p.typ)
		})
		p.sorted = true
	}
	if !p.continuous {
		// The first value whose CUME_DIST is at least the percentile. The product may be off by one
		// because of the fraction's last digit.
		i := max(int(math.Ceil(p.fraction*float64(n)))-1, 1)
		for ; i < n && float64(i)/float64(n) < p.fraction; i++ {
		}
		return p.values[i-1], nil
	}
	rank := p.fraction * float64(n-1)
	below := int(math.Floor(rank))
	low, _ := p.values[below].(float64)
	high, _ := p.values[min(below+1, n-1)].(float64)
	return low + (rank-float64(below))*(high-low), nil
}
