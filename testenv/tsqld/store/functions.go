package store

import (
	"strings"
	"sync"

	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Func computes a function from its arguments, the key excluded. args belong to the caller and are
// overwritten after the call; the values in them may be kept. m is the account of the session: what takes long asks it
// whether to go on, and what may become larger than its arguments is taken from it; nil for none.
type Func func(m *meter.Meter, args []types.Value) (types.Value, error)

// Accumulator collects the rows of one group or window. Values may be kept, the slice may not.
type Accumulator interface {
	// Step adds a row; args are those after the key.
	Step(args []types.Value) error
	// Value is the result so far. It may be called again after further steps.
	Value() (types.Value, error)
}

// Holder is an Accumulator that keeps what it is given.
type Holder interface {
	Accumulator
	// Held is about how many bytes it keeps.
	Held() int
}

// Inverter is an Accumulator that can take a row back, which window frames with a moving start need.
type Inverter interface {
	Accumulator
	Inverse(args []types.Value) error
}

// Functions resolves the keys of fn, fnv, agg and rowset. Keys are self-describing texts that the compiler makes, so
// that SQL kept in a file still works after a restart. The fields may be nil; results are cached for as
// long as the Functions live. The fields must not be changed after the first use.
type Functions struct {
	Scalar    func(key string) (Func, error)
	Aggregate func(key string) (func() Accumulator, error)
	Rows      func(key string) (RowsFunc, error)

	mu         sync.RWMutex
	scalars    map[string]Func
	aggregates map[string]func() Accumulator
	rowsets    map[string]RowsFunc
}

// unknownKey is the error for a key that nobody resolves.
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

// resolve looks a key up in a cache, and asks find on a miss.
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
