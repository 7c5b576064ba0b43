package aggregate

import "github.com/jobagent/jobagent/testenv/tsqld/types"

// Accumulator computes an aggregate over one group. The caller handles DISTINCT ([types.Key]). An
// Accumulator whose memory grows with its rows has the method Held() int, which returns the size in
// bytes.
type Accumulator interface {
	// Add adds one row's arguments, NULLs included; most aggregates ignore them.
	Add(args []types.Value) error
	// Result returns the aggregate of the rows so far. It may be called more than once.
	Result() (types.Value, error)
}

// Maker makes the state of one group. There are several argument types only if the function has
// several arguments. result is the type of the function's result.
type Maker = func(argTypes []types.Type, result types.Type) Accumulator
