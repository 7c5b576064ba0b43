package store

import (
	"bytes"
	"database/sql/driver"
	"errors"
	"strings"
	"sync"

	"modernc.org/sqlite"

	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// slot is a SQLite driver whose functions know their connection. The driver library keeps the
// functions that are registered on a driver for the lifetime of the process, and does not tell a
// function which connection calls it. So each open connection has a slot of its own, and slots are
// reused.
type slot struct {
	driver sqlite.Driver
	conn   *Conn // the connection that uses the slot
}

// slots is the list of free slots. It is global because the registration of a slot is.
var slots struct {
	mu   sync.Mutex
	free []*slot
}

// takeSlot returns a free slot or a new one.
func takeSlot(c *Conn) (*slot, error) {
	slots.mu.Lock()
	defer slots.mu.Unlock()
	if n := len(slots.free); n > 0 {
		s := slots.free[n-1]
		slots.free = slots.free[:n-1]
		s.conn = c
		return s, nil
	}
	s := &slot{conn: c}
	return s, s.register()
}

// free returns a slot to the list. Its connection must be closed.
func (s *slot) free() {
	slots.mu.Lock()
	defer slots.mu.Unlock()
	s.conn = nil
	slots.free = append(slots.free, s)
}

// register registers the functions of this package with the driver.
func (s *slot) register() error {
	errs := []error{
		s.driver.RegisterFunction("fn", &sqlite.FunctionImpl{
			NArgs: -1, Deterministic: true, VolatileArgs: true,
			Scalar: func(_ *sqlite.FunctionContext, args []driver.Value) (v driver.Value, err error) {
				defer s.conn.calls.catch(&err)
				return s.conn.calls.call(args, false)
			},
		}),
		s.driver.RegisterFunction("fnv", &sqlite.FunctionImpl{
			NArgs: -1, VolatileArgs: true,
			Scalar: func(_ *sqlite.FunctionContext, args []driver.Value) (v driver.Value, err error) {
				defer s.conn.calls.catch(&err)
				return s.conn.calls.call(args, true)
			},
		}),
		s.driver.RegisterFunction("agg", &sqlite.FunctionImpl{
			NArgs: -1, Deterministic: true, VolatileArgs: true,
			MakeAggregate: func(sqlite.FunctionContext) (sqlite.AggregateFunction, error) {
				return guardedAggregate{&aggregate{conn: s.conn}}, nil
			},
		}),
	}
	errs = append(errs, s.driver.RegisterModule("rowset", rowsetModule{s}))
	return errors.Join(errs...)
}

// errStopped ends a statement whose context is done. The caller gets the context's cause instead.
var errStopped = errors.New("interrupted")

// calls are the calls of functions by SQLite on a connection.
type calls struct {
	conn     *Conn
	funcs    map[string]Func                // functions that the connection has used, by key
	local    func(key string) (Func, error) // see [Conn.SetLocal]
	args     []types.Value                  // stack of arguments of running functions
	cause    error                          // first error of a function during the running step
	panicked *Panic                         // panic of a function in the running statement
	unusable bool                           // a function has panicked: the connection must not be reused
}

// call runs the function whose key is args[0]. With local, the session's own functions come first.
func (cs *calls) call(args []driver.Value, local bool) (driver.Value, error) {
	if cs.conn.watch.isCanceled() {
		return nil, errStopped
	}
	key, ok := keyOf(args)
	if !ok {
		return nil, cs.remember(errNoKey)
	}
	fn, err := cs.resolve(key, local)
	if err != nil {
		return nil, cs.remember(err)
	}
	base, mark := len(cs.args), cs.conn.account.meter.Mark()
	vals, err := cs.push(args[1:])
	var v types.Value
	if err == nil {
		v, err = fn(cs.conn.account.meter, vals)
	}
	if n := size(v); n > meter.Small && err == nil {
		err = cs.conn.account.meter.Take(n)
	}
	cs.args = cs.args[:base]
	cs.conn.account.meter.Release(mark)
	if err != nil {
		return nil, cs.remember(err)
	}
	return v, nil
}

// size returns the length of a text or binary value.
func size(v driver.Value) int {
	switch x := v.(type) {
	case string:
		return len(x)
	case []byte:
		return len(x)
	}
	return 0
}

// errNoKey reports SQL without a key, a defect of the generated SQL.
var errNoKey = errors.New("function called without a key")

// keyOf returns the first argument, as a view of SQLite's memory.
func keyOf(args []driver.Value) (string, bool) {
	if len(args) == 0 {
		return "", false
	}
	key, ok := args[0].(string)
	return key, ok
}

// resolve finds the function of a key. It searches the connection's own table first, which needs no
// lock.
func (cs *calls) resolve(key string, local bool) (Func, error) {
	if local && cs.local != nil {
		fn, err := cs.local(strings.Clone(key))
		if fn != nil || err != nil {
			return fn, err
		}
	}
	if fn, ok := cs.funcs[key]; ok {
		return fn, nil
	}
	fn, err := cs.conn.store.functions.scalar(key)
	if err != nil {
		return nil, err
	}
	cs.funcs[strings.Clone(key)] = fn
	return fn, nil
}

// push copies arguments out of SQLite's memory to the stack of arguments. The stack grows while a
// function runs SQL itself.
func (cs *calls) push(args []driver.Value) ([]types.Value, error) {
	base := len(cs.args)
	for _, a := range args {
		if n := size(a); n > meter.Small {
			if err := cs.conn.account.meter.Take(n); err != nil {
				return nil, err
			}
		}
		cs.args = append(cs.args, copied(a))
	}
	return cs.args[base:len(cs.args):len(cs.args)], nil
}

// copied returns a copy of a value that is in SQLite's memory.
func copied(v driver.Value) types.Value {
	switch x := v.(type) {
	case string:
		return strings.Clone(x)
	case []byte:
		return bytes.Clone(x)
	}
	return v
}

// remember keeps the first error of a statement, because SQLite passes on only its text.
func (cs *calls) remember(err error) error {
	if cs.cause == nil {
		cs.cause = err
	}
	return err
}

// aggregate is one evaluation of agg. Its Accumulator is made at the first row, which passes the
// key.
type aggregate struct {
	conn *Conn
	acc  Accumulator
	held int // bytes of acc, taken from the meter
}

// prepare makes the accumulator and copies the arguments.
func (a *aggregate) prepare(args []driver.Value) ([]types.Value, error) {
	if a.conn.watch.isCanceled() {
		return nil, errStopped
	}
	if a.acc == nil {
		key, ok := keyOf(args)
		if !ok {
			return nil, a.conn.calls.remember(errNoKey)
		}
		newAccumulator, err := a.conn.store.functions.aggregate(key)
		if err != nil {
			return nil, a.conn.calls.remember(err)
		}
		a.acc = newAccumulator()
	}
	return a.conn.calls.push(args[1:])
}

// heldStep is how many bytes an accumulator grows between two updates of the meter.
const heldStep = 64 << 10

// account takes the growth of the accumulator from the meter.
func (a *aggregate) account() error {
	h, ok := a.acc.(Holder)
	if !ok {
		return nil
	}
	now := h.Held()
	if now < a.held+heldStep {
		return nil
	}
	if err := a.conn.account.meter.Take(now - a.held); err != nil {
		return err
	}
	a.held = now
	return nil
}

// Step adds a row.
func (a *aggregate) Step(_ *sqlite.FunctionContext, args []driver.Value) error {
	err := a.change(args, func(vals []types.Value) error { return a.acc.Step(vals) })
	if err == nil {
		if err = a.account(); err != nil {
			return a.conn.calls.remember(err)
		}
	}
	return err
}

// WindowInverse removes the oldest row.
func (a *aggregate) WindowInverse(_ *sqlite.FunctionContext, args []driver.Value) error {
	inv, ok := a.acc.(Inverter)
	if !ok {
		key, _ := keyOf(args)
		name, _, _ := strings.Cut(key, "|")
		return a.conn.calls.remember(mserr.NotSupported("the aggregate %s over a moving window frame", name))
	}
	return a.change(args, inv.Inverse)
}

// change calls f with copies of the arguments of a row.
func (a *aggregate) change(args []driver.Value, f func(vals []types.Value) error) error {
	c := a.conn
	base, mark := len(c.calls.args), c.account.meter.Mark()
	vals, err := a.prepare(args)
	if err == nil {
		err = f(vals)
	}
	c.calls.args = c.calls.args[:base]
	c.account.meter.Release(mark)
	if err != nil && !errors.Is(err, errStopped) {
		return c.calls.remember(err)
	}
	return err
}

// WindowValue returns the result so far, NULL before the first row.
func (a *aggregate) WindowValue(*sqlite.FunctionContext) (driver.Value, error) {
	if a.acc == nil {
		return nil, nil
	}
	v, err := a.acc.Value()
	if err != nil {
		return nil, a.conn.calls.remember(err)
	}
	return v, nil
}

// Final ends the evaluation.
func (a *aggregate) Final(*sqlite.FunctionContext) {
	_ = a.conn.account.meter.Take(-a.held) // returning memory cannot fail
	a.acc, a.held = nil, 0
}
