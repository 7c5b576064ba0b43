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

// slot is a SQLite driver whose functions know the connection that they run on. The driver library keeps
// what is registered on a driver for as long as the process lives, and gives a function no way to tell its
// connection; so each open connection has a slot to itself, and slots are used again and again.
type slot struct {
	driver sqlite.Driver
	conn   *Conn // who has it
}

// slots are those in nobody's hands. The list is global because what a slot registers is.
var slots struct {
	mu   sync.Mutex
	free []*slot
}

// takeSlot returns a free slot, or makes one.
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

// free gives a slot back; its connection must be closed.
func (s *slot) free() {
	slots.mu.Lock()
	defer slots.mu.Unlock()
	s.conn = nil
	slots.free = append(slots.free, s)
}

// register tells the driver about the functions of this package.
func (s *slot) register() error {
	errs := []error{
		s.driver.RegisterFunction("fn", &sqlite.FunctionImpl{
			NArgs: -1, Deterministic: true, VolatileArgs: true,
			Scalar: func(_ *sqlite.FunctionContext, args []driver.Value) (v driver.Value, err error) {
				defer s.conn.catch(&err)
				return s.conn.call(args, false)
			},
		}),
		s.driver.RegisterFunction("fnv", &sqlite.FunctionImpl{
			NArgs: -1, VolatileArgs: true,
			Scalar: func(_ *sqlite.FunctionContext, args []driver.Value) (v driver.Value, err error) {
				defer s.conn.catch(&err)
				return s.conn.call(args, true)
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

// errStopped ends a statement whose context is done; the caller sees the context's cause instead.
var errStopped = errors.New("interrupted")

// call runs the closure that args[0] names. local says that the session's own functions come first.
func (c *Conn) call(args []driver.Value, local bool) (driver.Value, error) {
	if c.watch != nil && c.watch.canceled.Load() {
		return nil, errStopped
	}
	key, ok := keyOf(args)
	if !ok {
		return nil, c.remember(errNoKey)
	}
	fn, err := c.resolve(key, local)
	if err != nil {
		return nil, c.remember(err)
	}
	base, mark := len(c.args), c.meter.Mark()
	vals, err := c.push(args[1:])
	var v types.Value
	if err == nil {
		v, err = fn(c.meter, vals)
	}
	if n := size(v); n > meter.Small && err == nil {
		err = c.meter.Take(n)
	}
	c.args = c.args[:base]
	c.meter.Release(mark)
	if err != nil {
		return nil, c.remember(err)
	}
	return v, nil
}

// size is how long a text or binary value is.
func size(v driver.Value) int {
	switch x := v.(type) {
	case string:
		return len(x)
	case []byte:
		return len(x)
	}
	return 0
}

// errNoKey means that SQL was made without a key, which is a mistake of its maker.
var errNoKey = errors.New("function is called without a key")

// keyOf is the first argument, as a view of SQLite's memory.
func keyOf(args []driver.Value) (string, bool) {
	if len(args) == 0 {
		return "", false
	}
	key, ok := args[0].(string)
	return key, ok
}

// resolve finds the closure of a key, in the connection's own table first, which needs no lock.
func (c *Conn) resolve(key string, local bool) (Func, error) {
	if local && c.local != nil {
		fn, err := c.local(strings.Clone(key))
		if fn != nil || err != nil {
			return fn, err
		}
	}
	if fn, ok := c.funcs[key]; ok {
		return fn, nil
	}
	fn, err := c.store.functions.scalar(key)
	if err != nil {
		return nil, err
	}
	c.funcs[strings.Clone(key)] = fn
	return fn, nil
}

// push copies arguments out of SQLite's memory onto the stack of arguments, which grows while a closure runs SQL itself.
func (c *Conn) push(args []driver.Value) ([]types.Value, error) {
	base := len(c.args)
	for _, a := range args {
		if n := size(a); n > meter.Small {
			if err := c.meter.Take(n); err != nil {
				return nil, err
			}
		}
		c.args = append(c.args, copied(a))
	}
	return c.args[base:len(c.args):len(c.args)], nil
}

// own copies what refers to SQLite's memory.
func copied(v driver.Value) types.Value {
	switch x := v.(type) {
	case string:
		return strings.Clone(x)
	case []byte:
		return bytes.Clone(x)
	}
	return v
}

// remember keeps the first error of a statement, because SQLite passes on nothing but its text.
func (c *Conn) remember(err error) error {
	if c.cause == nil {
		c.cause = err
	}
	return err
}

// aggregate is one evaluation of agg; its Accumulator is made when the first row tells the key.
type aggregate struct {
	conn *Conn
	acc  Accumulator
	held int // of acc, taken from the meter
}

// prepare makes the accumulator and copies the arguments.
func (a *aggregate) prepare(args []driver.Value) ([]types.Value, error) {
	if a.conn.watch != nil && a.conn.watch.canceled.Load() {
		return nil, errStopped
	}
	if a.acc == nil {
		key, ok := keyOf(args)
		if !ok {
			return nil, a.conn.remember(errNoKey)
		}
		newAccumulator, err := a.conn.store.functions.aggregate(key)
		if err != nil {
			return nil, a.conn.remember(err)
		}
		a.acc = newAccumulator()
	}
	return a.conn.push(args[1:])
}

// heldStep is by how much an accumulator may grow before the meter is told.
const heldStep = 64 << 10

// account tells the meter what the accumulator keeps.
func (a *aggregate) account() error {
	h, ok := a.acc.(Holder)
	if !ok {
		return nil
	}
	now := h.Held()
	if now < a.held+heldStep {
		return nil
	}
	if err := a.conn.meter.Take(now - a.held); err != nil {
		return err
	}
	a.held = now
	return nil
}

// Step adds a row.
func (a *aggregate) Step(_ *sqlite.FunctionContext, args []driver.Value) error {
	c := a.conn
	base, mark := len(c.args), c.meter.Mark()
	vals, err := a.prepare(args)
	if err == nil {
		err = a.acc.Step(vals)
	}
	c.args = c.args[:base]
	c.meter.Release(mark)
	if err == nil {
		err = a.account()
	}
	if err != nil && err != errStopped {
		return c.remember(err)
	}
	return err
}

// WindowInverse takes the oldest row back.
func (a *aggregate) WindowInverse(_ *sqlite.FunctionContext, args []driver.Value) error {
	inv, ok := a.acc.(Inverter)
	if !ok {
		key, _ := keyOf(args)
		name, _, _ := strings.Cut(key, "|")
		return a.conn.remember(mserr.NotSupported("the aggregate %s over a moving window frame", name))
	}
	c := a.conn
	base, mark := len(c.args), c.meter.Mark()
	vals, err := a.prepare(args)
	if err == nil {
		err = inv.Inverse(vals)
	}
	c.args = c.args[:base]
	c.meter.Release(mark)
	if err != nil && err != errStopped {
		return c.remember(err)
	}
	return err
}

// WindowValue is the result so far, NULL before the first row.
func (a *aggregate) WindowValue(*sqlite.FunctionContext) (driver.Value, error) {
	if a.acc == nil {
		return nil, nil
	}
	v, err := a.acc.Value()
	if err != nil {
		return nil, a.conn.remember(err)
	}
	return v, nil
}

// Final ends the evaluation.
func (a *aggregate) Final(*sqlite.FunctionContext) {
	_ = a.conn.meter.Take(-a.held) // to give back cannot fail
	a.acc, a.held = nil, 0
}
