package store

import (
	"database/sql/driver"
	"fmt"
	"runtime/debug"

	"modernc.org/sqlite"
	"modernc.org/sqlite/vtab"
)

// Panic is a panic in a function that SQLite called. A panic must not unwind SQLite, which would
// keep its mutexes and stay in the middle of a statement. So the function returns an error instead,
// and after the end of the statement the panic continues with a *Panic as its value.
type Panic struct {
	Value any    // value of the panic
	Stack []byte // stack of the function
}

// Error returns the value of the panic as a text.
func (p *Panic) Error() string { return fmt.Sprintf("panic in a function of sqlite: %v", p.Value) }

// catch turns a panic into an error. The functions that SQLite calls must defer it.
func (cs *calls) catch(err *error) {
	v := recover()
	if v == nil {
		return
	}
	if cs.panicked == nil {
		p, ok := v.(*Panic) // a function of the session ran SQL itself
		if !ok {
			p = &Panic{Value: v, Stack: debug.Stack()}
		}
		cs.panicked = p
	}
	*err = cs.panicked
}

// rethrow continues the panic that catch has caught, after the end of the statement. Without one it
// returns err.
func (cs *calls) rethrow(err error) error {
	if p := cs.panicked; p != nil {
		cs.panicked = nil
		cs.unusable = true
		panic(p)
	}
	return err
}

// guardedAggregate is an aggregate whose panics do not reach SQLite.
type guardedAggregate struct{ a *aggregate }

// Step implements [sqlite.AggregateFunction].
func (g guardedAggregate) Step(ctx *sqlite.FunctionContext, args []driver.Value) (err error) {
	defer g.a.conn.calls.catch(&err)
	return g.a.Step(ctx, args)
}

// WindowInverse implements [sqlite.AggregateFunction].
func (g guardedAggregate) WindowInverse(ctx *sqlite.FunctionContext, args []driver.Value) (err error) {
	defer g.a.conn.calls.catch(&err)
	return g.a.WindowInverse(ctx, args)
}

// WindowValue implements [sqlite.AggregateFunction].
func (g guardedAggregate) WindowValue(ctx *sqlite.FunctionContext) (v driver.Value, err error) {
	defer g.a.conn.calls.catch(&err)
	return g.a.WindowValue(ctx)
}

// Final implements [sqlite.AggregateFunction].
func (g guardedAggregate) Final(ctx *sqlite.FunctionContext) {
	var err error // Final cannot return an error; rethrow reports it
	defer g.a.conn.calls.catch(&err)
	g.a.Final(ctx)
}

// guardedCursor is a cursor whose panics do not reach SQLite.
type guardedCursor struct{ *rowsetCursor }

// Filter implements [vtab.Cursor].
func (g guardedCursor) Filter(n int, s string, vals []vtab.Value) (err error) {
	defer g.slot.conn.calls.catch(&err)
	return g.rowsetCursor.Filter(n, s, vals)
}

// Next implements [vtab.Cursor].
func (g guardedCursor) Next() (err error) {
	defer g.slot.conn.calls.catch(&err)
	return g.rowsetCursor.Next()
}

// Close implements [vtab.Cursor].
func (g guardedCursor) Close() (err error) {
	defer g.slot.conn.calls.catch(&err)
	return g.rowsetCursor.Close()
}
