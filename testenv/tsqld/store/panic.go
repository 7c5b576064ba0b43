package store

import (
	"database/sql/driver"
	"fmt"
	"runtime/debug"

	"modernc.org/sqlite"
	"modernc.org/sqlite/vtab"
)

// Panic is a panic in a function that SQLite called. It must not unwind SQLite, which would keep its mutexes and be left in the middle of
// a statement: the function answers an error instead, the statement ends, and the panic goes on with a *Panic as its value.
type Panic struct {
	Value any    // of the panic
	Stack []byte // of the function
}

// Error tells the value.
func (p *Panic) Error() string { return fmt.Sprintf("panic in a function of sqlite: %v", p.Value) }

// catch turns a panic into an error. It must be deferred by what SQLite calls.
func (c *Conn) catch(err *error) {
	v := recover()
	if v == nil {
		return
	}
	if c.panicked == nil {
		p, ok := v.(*Panic) // a function of the session ran SQL itself
		if !ok {
			p = &Panic{Value: v, Stack: debug.Stack()}
		}
		c.panicked = p
	}
	*err = c.panicked
}

// rethrow lets a panic go on that catch has caught, now that the statement has ended, and else returns err.
func (c *Conn) rethrow(err error) error {
	if p := c.panicked; p != nil {
		c.panicked = nil
		c.unusable = true
		panic(p)
	}
	return err
}

// guardedAggregate is an aggregate that SQLite may call.
type guardedAggregate struct{ a *aggregate }

// Step implements [sqlite.AggregateFunction].
func (g guardedAggregate) Step(ctx *sqlite.FunctionContext, args []driver.Value) (err error) {
	defer g.a.conn.catch(&err)
	return g.a.Step(ctx, args)
}

// WindowInverse implements [sqlite.AggregateFunction].
func (g guardedAggregate) WindowInverse(ctx *sqlite.FunctionContext, args []driver.Value) (err error) {
	defer g.a.conn.catch(&err)
	return g.a.WindowInverse(ctx, args)
}

// WindowValue implements [sqlite.AggregateFunction].
func (g guardedAggregate) WindowValue(ctx *sqlite.FunctionContext) (v driver.Value, err error) {
	defer g.a.conn.catch(&err)
	return g.a.WindowValue(ctx)
}

// Final implements [sqlite.AggregateFunction].
func (g guardedAggregate) Final(ctx *sqlite.FunctionContext) {
	var err error // nobody is there to take it, but rethrow
	defer g.a.conn.catch(&err)
	g.a.Final(ctx)
}

// guardedCursor is a cursor that SQLite may call.
type guardedCursor struct{ *rowsetCursor }

// Filter implements [vtab.Cursor].
func (g guardedCursor) Filter(n int, s string, vals []vtab.Value) (err error) {
	defer g.slot.conn.catch(&err)
	return g.rowsetCursor.Filter(n, s, vals)
}

// Next implements [vtab.Cursor].
func (g guardedCursor) Next() (err error) {
	defer g.slot.conn.catch(&err)
	return g.rowsetCursor.Next()
}

// Close implements [vtab.Cursor].
func (g guardedCursor) Close() (err error) {
	defer g.slot.conn.catch(&err)
	return g.rowsetCursor.Close()
}
