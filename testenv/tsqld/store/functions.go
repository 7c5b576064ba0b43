package store

import (
	"strings"
	"sync"

	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Func computes a function from its arguments, without the key. The caller overwrites args after
// the call; the values in args may be kept. m is the account of the session, nil for none: long
// computations ask it whether to continue, and results larger than the arguments are taken from it.
type Func func(m *meter.Meter, args []types.Value) (types.Value, error)

// Accumulator collects the rows of one group or window. It may keep values but not the slice.
type Accumulator interface {
	// Step adds a row; args are those after the key.
	Step(args []types.Value) error
	// Value returns the result so far. It may be called again after further steps.
	Value() (types.Value, error)
}

// Holder is an Accumulator that keeps its arguments.
type Holder interface {
	Accumulator
	// Held returns about how many bytes the Accumulator keeps.
	Held() int
}

// Inverter is an Accumulator that can remove a row, as window frames with a moving start require.
type Inverter interface {
	Accumulator
	Inverse(args []types.Value) error
}

// Functions resolves the keys of fn, fnv, agg and rowset. Keys are self-describing texts made by
// the compiler, so that SQL in a file still works after a restart. The fields may be nil, and must
// not change after the first use. Results are cached for the lifetime of the Functions.
type Functions struct {
	Scalar    func(key string) (Func, error)
	Aggregate func(key string) (func() Accumulator, error)
	Rows      func(key string) (RowsFunc, error)

	mu         sync.RWMutex
	scalars    map[string]Func
	aggregates map[string]func() Accumulator
	rowsets    map[string]RowsFunc
}

// unknownKey is the error for a key that cannot be resolved.
func unknownKey(key string) error {
	name, _, _ := strings.Cut(key, "|")
	return mserr.NotSupported("the function %s", name)
}

// scalar resolves a key of fn or fnv. key may be a view of SQLite's memory.
func (f *Functions) scalar(key string) (Func, error) {
	return resolve(f, &f.scalars, f.Scalar, key)
}

// aggregate resolves a key of agg.
func (f *Functions) aggregate(key string) (func() Accumulator, error) {
	return resolve(f, &f.aggregates, f.Aggregate, key)
}

// rowset resolves a key of rowset.
func (f *Functions) rowset(key string) (RowsFunc, error) {
	return resolve(f, &f.rowsets, f.Rows, key)
}

// resolve looks a key up in a cache, and calls find on a miss.
func resolve[T any](f *Functions, cache *map[string]T, find func(string) (T, error), key string) (T, error) {
	f.mu.RLock()
	fn, ok := (*cache)[key]
	f.mu.RUnlock()
	if ok {
		return fn, nil
	}
	key = strings.Clone(key)
	if find == nil {
		return fn, unknownKey(key)
	}
	fn, err := find(key)
	if err != nil {
		return fn, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if *cache == nil {
		*cache = map[string]T{}
	}
	(*cache)[key] = fn
	return fn, nil
}
