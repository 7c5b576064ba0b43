package aggregate

import (
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// extreme implements MIN (sign -1) and MAX (1).
type extreme struct {
	t    types.Type
	sign int
	best types.Value
}

// NewExtreme returns the maker of MIN, whose sign is -1, or MAX, whose sign is 1.
func NewExtreme(sign int) Maker {
	return func(ts []types.Type, _ types.Type) Accumulator { return &extreme{t: ts[0], sign: sign} }
}

// Add compares a value with the best so far.
func (e *extreme) Add(args []types.Value) error {
	if args[0] == nil {
		return nil
	}
	if e.best == nil || e.sign*types.Compare(args[0], e.best, e.t) > 0 {
		e.best = args[0]
	}
	return nil
}

// Result returns NULL if there was no value.
func (e *extreme) Result() (types.Value, error) { return e.best, nil }
