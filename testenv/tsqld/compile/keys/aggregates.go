package keys

import (
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin"
	"github.com/jobagent/jobagent/testenv/tsqld/builtin/aggregate"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// The keys of aggregates, with their fields.
const (
	Aggregate = "g"    // name|result|1 for DISTINCT|argument types...
	Single    = "one"  // the only value; error 512 for a second value
	Nth       = "nth"  // n: the n-th value that is not NULL, counted from the end if n is negative
	Rows      = "rows" // all arguments, encoded by EncodeRows
	Window    = "w:"   // prefix of another key: rows may be removed again
	ForJSON   = "json" // a JSONSpec in JSON
	ForXML    = "xml"  // a XMLSpec in JSON
)

// accumulatorMakers caches the results of AggregateFunc by key.
var accumulatorMakers sync.Map

// AggregateFunc returns the constructor of the accumulators of a key.
func AggregateFunc(key string) (func() store.Accumulator, error) {
	if f, ok := accumulatorMakers.Load(key); ok {
		return f.(func() store.Accumulator), nil
	}
	f, err := makeAccumulator(key)
	if err != nil {
		return nil, err
	}
	accumulatorMakers.Store(key, f)
	return f, nil
}

// makeAccumulator builds the constructor of a key.
func makeAccumulator(key string) (func() store.Accumulator, error) {
	if rest, ok := strings.CutPrefix(key, Window); ok {
		newAccumulator, err := makeAccumulator(rest)
		if err != nil {
			return nil, err
		}
		if _, ok := newAccumulator().(store.Inverter); ok {
			return newAccumulator, nil
		}
		return func() store.Accumulator { return &frameAccumulator{newAccumulator: newAccumulator} }, nil
	}
	word, rest, _ := strings.Cut(key, "|")
	switch word {
	case Aggregate:
		return builtinAccumulator(key)
	case Single:
		return func() store.Accumulator { return &singleValue{} }, nil
	case Nth:
		n, err := strconv.Atoi(rest)
		if err != nil || n == 0 {
			return nil, mserr.NotSupported("the aggregate key %s", key)
		}
		return func() store.Accumulator { return &nthValue{n: n} }, nil
	case Rows:
		return func() store.Accumulator { return &rowCollector{} }, nil
	case ForJSON:
		return newJSONDocument(rest)
	case ForXML:
		return newXMLDocument(rest)
	}
	return nil, mserr.NotSupported("the aggregate key %s", word)
}

// builtinAccumulator returns the constructor of an aggregate of package builtin.
func builtinAccumulator(key string) (func() store.Accumulator, error) {
	r := &reader{key: key, part: strings.Split(key, "|")[1:]}
	name, result, distinct := r.next(), r.typ(), r.next() == "1"
	var args []types.Type
	for len(r.part) > 0 {
		args = append(args, r.typ())
	}
	if r.err != nil {
		return nil, r.err
	}
	f, ok := builtin.Lookup(name)
	if !ok || f.New == nil {
		return nil, mserr.NotSupported("the aggregate %s", name)
	}
	return func() store.Accumulator {
		a := &builtinAggregate{acc: f.New(args, result)}
		if distinct && len(args) > 0 {
			a.typ, a.seen = args[0], map[string]bool{}
		}
		return a
	}, nil
}

// builtinAggregate is an aggregate of package builtin. It implements DISTINCT.
type builtinAggregate struct {
	acc  aggregate.Accumulator
	typ  types.Type
	seen map[string]bool // nil without DISTINCT
	held int             // size of seen in bytes
}

// entryBytes is the approximate overhead of a map entry or list element, without its text.
const entryBytes = 64

// Step implements [store.Accumulator].
func (w *builtinAggregate) Step(args []types.Value) error {
	if w.seen != nil && args[0] != nil {
		k := types.Key(args[0], w.typ)
		if w.seen[k] {
			return nil
		}
		w.seen[k] = true
		w.held += len(k) + entryBytes
	}
	return w.acc.Add(args)
}

// Held implements [store.Holder].
func (w *builtinAggregate) Held() int {
	n := w.held
	if h, ok := w.acc.(interface{ Held() int }); ok {
		n += h.Held()
	}
	return n
}

// Value implements [store.Accumulator].
func (w *builtinAggregate) Value() (types.Value, error) { return w.acc.Result() }

// frameAccumulator is an aggregate over a window frame. It is recomputed after rows have left the
// frame.
type frameAccumulator struct {
	newAccumulator func() store.Accumulator
	acc            store.Accumulator // nil: must be recomputed from rows
	rows           [][]types.Value
	held           int // size of rows in bytes
}

// rowBytes returns the approximate memory size of a row.
func rowBytes(row []types.Value) int {
	n := entryBytes
	for _, v := range row {
		n += entryBytes/2 + ValueBytes(v)
	}
	return n
}

// ValueBytes returns the length of a text or binary value in bytes, and 0 for other values.
func ValueBytes(v types.Value) int {
	switch v := v.(type) {
	case string:
		return len(v)
	case []byte:
		return len(v)
	}
	return 0
}

// Step implements [store.Accumulator].
func (m *frameAccumulator) Step(args []types.Value) error {
	row := append([]types.Value(nil), args...)
	m.rows = append(m.rows, row)
	m.held += rowBytes(row)
	if m.acc == nil {
		return m.refill()
	}
	return m.acc.Step(row)
}

// Held implements [store.Holder].
func (m *frameAccumulator) Held() int {
	n := m.held
	if h, ok := m.acc.(store.Holder); ok {
		n += h.Held()
	}
	return n
}

// Inverse implements [store.Inverter]: the oldest row leaves.
func (m *frameAccumulator) Inverse([]types.Value) error {
	m.held -= rowBytes(m.rows[0])
	m.rows, m.acc = m.rows[1:], nil
	return nil
}

// refill recomputes the aggregate from the rows in the frame.
func (m *frameAccumulator) refill() error {
	m.acc = m.newAccumulator()
	for _, r := range m.rows {
		if err := m.acc.Step(r); err != nil {
			return err
		}
	}
	return nil
}

// Value implements [store.Accumulator].
func (m *frameAccumulator) Value() (types.Value, error) {
	if m.acc == nil {
		if err := m.refill(); err != nil {
			return nil, err
		}
	}
	return m.acc.Value()
}

// singleValue is the accumulator of a scalar subquery's value.
type singleValue struct {
	v    types.Value
	seen bool
}

// Step implements [store.Accumulator]. Error 512.
func (s *singleValue) Step(args []types.Value) error {
	if s.seen {
		return mserr.SubqueryRows()
	}
	s.v, s.seen = args[0], true
	return nil
}

// Value implements [store.Accumulator].
func (s *singleValue) Value() (types.Value, error) { return s.v, nil }

// nthValue is the accumulator of the n-th value of a window frame that is not NULL, counted from
// the end if n is negative.
type nthValue struct {
	n       int
	values  []types.Value // the values that are not NULL
	rows    []int         // row number of each value, counted from the first row of all
	added   int           // number of rows added
	removed int           // number of rows that have left the frame
	held    int           // size of values in bytes
}

// Step implements [store.Accumulator].
func (a *nthValue) Step(args []types.Value) error {
	if args[0] != nil {
		a.values, a.rows = append(a.values, args[0]), append(a.rows, a.added)
		a.held += ValueBytes(args[0])
	}
	a.added++
	return nil
}

// Inverse implements [store.Inverter]: the oldest row leaves.
func (a *nthValue) Inverse([]types.Value) error {
	if len(a.rows) > 0 && a.rows[0] == a.removed {
		a.held -= ValueBytes(a.values[0])
		a.values, a.rows = a.values[1:], a.rows[1:]
	}
	a.removed++
	return nil
}

// Held implements [store.Holder].
func (a *nthValue) Held() int { return a.held + len(a.values)*entryBytes }

// Value implements [store.Accumulator].
func (a *nthValue) Value() (types.Value, error) {
	i := a.n - 1
	if a.n < 0 {
		i = len(a.values) + a.n
	}
	if i < 0 || i >= len(a.values) {
		return nil, nil
	}
	return a.values[i], nil
}

// rowCollector encodes its rows as one text.
type rowCollector struct{ e rowEncoder }

// Step implements [store.Accumulator].
func (c *rowCollector) Step(args []types.Value) error {
	c.e.add(args)
	return nil
}

// Held implements [store.Holder].
func (c *rowCollector) Held() int { return builderBytes(&c.e.b) }

// builderBytes returns the memory of a text under construction. The text is copied when it grows,
// so it counts twice.
func builderBytes(b *strings.Builder) int { return 2 * b.Cap() }

// Value implements [store.Accumulator].
func (c *rowCollector) Value() (types.Value, error) { return c.e.text(), nil }

// ceiling returns a percentage of total rows, rounded up.
func ceiling(_ *meter.Meter, args []types.Value) (types.Value, error) {
	total, _ := args[0].(int64)
	p, _ := args[1].(float64)
	return int64(math.Ceil(float64(total) * p / 100)), nil
}
