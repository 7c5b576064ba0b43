package aggregate

import (
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// distinct counts distinct values.
type distinct struct {
	t    types.Type
	seen map[string]struct{}
	held int // size of seen in bytes
}

// NewDistinct makes the state of APPROX_COUNT_DISTINCT.
func NewDistinct(ts []types.Type, _ types.Type) Accumulator {
	return &distinct{t: ts[0], seen: map[string]struct{}{}}
}

// Add notes a value.
func (d *distinct) Add(args []types.Value) error {
	if args[0] == nil {
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

// checksum implements CHECKSUM_AGG: the exclusive or of the values.
type checksum struct {
	n     int64
	isAny bool
}

// NewChecksum makes the state of CHECKSUM_AGG.
func NewChecksum([]types.Type, types.Type) Accumulator { return &checksum{} }

// Add adds a value.
func (c *checksum) Add(args []types.Value) error {
	if args[0] == nil {
		return nil
	}
	n, _ := args[0].(int64)
	c.n, c.isAny = c.n^n, true
	return nil
}

// Result returns NULL if there was no value.
func (c *checksum) Result() (types.Value, error) {
	if !c.isAny {
		return nil, nil
	}
	return c.n, nil
}
