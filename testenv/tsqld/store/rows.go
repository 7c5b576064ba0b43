package store

import (
	"context"
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Rows is the result of a query, read row by row:
//
//	for rows.Next() {
//		use(rows.Row())
//	}
//	err := rows.Err()
type Rows struct {
	conn           *Conn
	stmt           *stmt
	ctx            context.Context
	deferInterrupt bool // see [Conn.beginStep]
	ahead          bool // the statement is on a row that Next has not returned
	over           bool // there are no more rows
	row            []types.Value
	held           int // bytes of row, taken from the meter
	err            error
	closed         bool
}

// Next moves to the next row. At the end and after an error it closes the rows and returns false;
// Err tells the two apart.
func (r *Rows) Next() bool {
	if r.closed {
		return false
	}
	if err := r.conn.follow(r.ctx); err != nil {
		r.end(err)
		return false
	}
	c := r.conn
	more, err := r.ahead, error(nil)
	if !more && !r.over {
		if err = c.beginStep(r.deferInterrupt); err == nil {
			more, err = r.stmt.step()
		}
		c.endStep()
	}
	if more {
		r.ahead = false
		r.forget()
		err = r.stmt.read(r.row, &r.held)
	}
	switch {
	case err != nil:
		r.end(c.fail(err, r.stmt.sql))
		r.err = c.calls.rethrow(r.err)
		return false
	case !more:
		r.end(nil)
		return false
	}
	return true
}

// forget returns the memory of the previous row to the meter. A caller that keeps its values must
// take memory for them.
func (r *Rows) forget() {
	if r.held > 0 {
		_ = r.conn.account.meter.Take(-r.held) // returning memory cannot fail
		r.held = 0
	}
}

// end closes the rows, with an error or nil.
func (r *Rows) end(err error) {
	r.err = err
	if cerr := r.Close(); r.err == nil {
		r.err = cerr
	}
}

// Row returns the current row. Next overwrites the slice; the values in it stay valid.
func (r *Rows) Row() []types.Value { return r.row }

// Err returns the error that ended Next, nil after the last row.
func (r *Rows) Err() error { return r.err }

// Close ends the query early. Closing twice does nothing.
func (r *Rows) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	c := r.conn
	r.forget()
	c.rows = slices.DeleteFunc(c.rows, func(o *Rows) bool { return o == r })
	err := r.stmt.reset()
	if r.err != nil {
		err = nil // reset repeats an error that Next has returned
	}
	if perr := c.stmts.put(r.stmt); err == nil {
		err = perr
	}
	if err != nil {
		return convert(err, r.stmt.sql)
	}
	return nil
}
