package store

import (
	"fmt"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// CounterFunc is a SQLite function without arguments that counts; [Conn.Count] sets its start. It
// is registered directly, as collations are, because a call costs 20 ns; a call of row_number()
// costs 1 us and a call of a driver's function 200 ns.
const CounterFunc = "counter"

// counter is the state of CounterFunc, in SQLite's memory.
type counter struct{ next, step int64 }

// addCounter registers CounterFunc.
func addCounter(c *Conn) error {
	p := lib.Xsqlite3_malloc(c.tls, int32(unsafe.Sizeof(counter{})))
	if p == 0 {
		return fmt.Errorf("sqlite: %w", ErrFull)
	}
	c.counter = *(**counter)(unsafe.Pointer(&p))
	*c.counter = counter{}
	name, err := libc.CString(CounterFunc)
	if err != nil {
		return err
	}
	defer libc.Xfree(c.tls, name)
	call, destroy := count, lib.Xsqlite3_free
	rc := lib.Xsqlite3_create_function_v2(c.tls, c.db, name, 0, lib.SQLITE_UTF8, p, *(*uintptr)(unsafe.Pointer(&call)), 0, 0, *(*uintptr)(unsafe.Pointer(&destroy)))
	if rc != lib.SQLITE_OK {
		return newStepError(c, rc)
	}
	return nil
}

// count implements CounterFunc. It has no captured variables, so the garbage collector neither
// moves nor frees it.
var count = func(tls *libc.TLS, ctx uintptr, _ int32, _ uintptr) {
	p := lib.Xsqlite3_user_data(tls, ctx)
	state := *(**counter)(unsafe.Pointer(&p))
	lib.Xsqlite3_result_int64(tls, ctx, state.next)
	state.next += state.step
}

// Count makes CounterFunc return first, first + step and so on, in the order in which rows call it.
// end restores the previous state, and returns how many values CounterFunc has returned.
func (c *Conn) Count(first, step int64) (end func() int64) {
	was := *c.counter
	*c.counter = counter{next: first, step: step}
	return func() int64 {
		given := (c.counter.next - first) / step
		*c.counter = was
		return given
	}
}
