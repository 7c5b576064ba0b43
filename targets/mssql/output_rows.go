package mssql

import (
	"bytes"
	"fmt"
)

// keptOutputBytes bounds the memory for the rows that an attempt keeps to copy them again. It is
// small because each running attempt may use it, and buffer_bytes does not include these rows.
const keptOutputBytes = 64 << 10

// outputRows reads the rows of a result set for the bulk copy. A row can be read from the script's
// session only once. outputRows keeps the rows while they fit into keptOutputBytes, so that another
// session can copy them again.
type outputRows struct {
	set     *resultSet
	columns []outputColumn
	values  []any // the current row, converted; valid until the next call of next
	number  int   // of the current row, from 1
	err     error // reason if rows are missing at the end

	kept     [][]any
	size     int  // size of kept, in bytes, roughly
	replayed int  // rows of kept that were returned since the last rewind
	lost     bool // a row was returned that is not kept
}

// next reads the next row. After false, err is set if the rows are not complete.
func (r *outputRows) next() bool {
	if r.replayed < len(r.kept) {
		r.values = r.kept[r.replayed]
		r.replayed++
		r.number = r.replayed
		return true
	}
	if r.err != nil || !r.set.next() {
		if r.err == nil && r.set.err != nil {
			r.err = fmt.Errorf("read the result set: %w", r.set.err)
		}
		return false
	}
	r.number++
	if r.lost {
		clear(r.values)
	} else {
		r.values = make([]any, len(r.columns))
	}
	for i, c := range r.columns {
		v := r.set.row[i]
		if v != nil && c.convert != nil {
			var err error
			if v, err = c.convert(v); err != nil {
				r.err = fmt.Errorf("row %d, column %q: %w", r.number, c.name, err)
				return false
			}
		}
		r.values[i] = v
	}
	r.keep()
	return true
}

// keep keeps the current row if it fits.
func (r *outputRows) keep() {
	if r.lost {
		return
	}
	const word = 48 // an interface and its value: a time.Time, the header of a string
	cost := word
	for _, v := range r.values {
		cost += word
		switch v := v.(type) {
		case []byte:
			cost += len(v)
		case string:
			cost += len(v)
		}
	}
	if r.size += cost; r.size > keptOutputBytes {
		r.kept, r.replayed, r.lost = nil, 0, true
		return
	}
	for i, v := range r.values {
		if b, ok := v.([]byte); ok {
			r.values[i] = bytes.Clone(b) // the driver may reuse its buffer
		}
	}
	r.kept = append(r.kept, r.values)
	r.replayed++
}

// rewind makes next return the rows from the first one on. It reports whether that is possible.
func (r *outputRows) rewind() bool {
	if r.lost || r.err != nil {
		return false
	}
	r.replayed, r.number = 0, 0
	return true
}
