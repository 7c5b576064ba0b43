package exec

import (
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

const (
	// rowOverhead and valueOverhead are the approximate sizes of a row and of a value in it,
	// without texts and binaries, in bytes.
	rowOverhead   = 64
	valueOverhead = 24
)

// payloadSize returns the total length of the texts and binaries among values, in bytes.
func payloadSize(vals ...types.Value) int {
	n := 0
	for _, v := range vals {
		switch v := v.(type) {
		case string:
			n += len(v)
		case []byte:
			n += len(v)
		}
	}
	return n
}

// copyRow copies a row that is needed until the end of the statement. The error is 701.
func copyRow(m *meter.Meter, row []types.Value) ([]types.Value, error) {
	if err := m.Take(rowOverhead + len(row)*valueOverhead + payloadSize(row...)); err != nil {
		return nil, err
	}
	return append([]types.Value(nil), row...), nil
}

// store sets the value of a variable. The error is 701.
func (r *run) store(x *variable, v types.Value) error {
	n := payloadSize(v)
	if n <= meter.Small {
		n = 0
	}
	if n != x.size {
		if err := r.s.meter.Keep(n - x.size); err != nil {
			return err
		}
		x.size = n
	}
	x.val = v
	return nil
}

// releaseFrame releases the memory of an activation's variables and cursors.
func (s *Session) releaseFrame(f *frame) {
	for _, c := range f.cursors {
		s.dropCursor(c)
	}
	for _, x := range f.vars {
		if x.size > 0 {
			_ = s.meter.Keep(-x.size) // releasing never fails
			x.size = 0
		}
		if x.cursor != nil && !s.isShared(x.cursor, nil) {
			s.dropCursor(x.cursor)
		}
	}
}

// clearRows discards the rows of a cursor.
func (s *Session) clearRows(c *cursor) {
	s.meter.Drop(c.size)
	c.rows, c.size = nil, 0
}

// dropCursor releases the memory of a cursor that goes away. A second call has no effect.
func (s *Session) dropCursor(c *cursor) {
	s.clearRows(c)
	s.meter.Drop(c.kept)
	c.open, c.place, c.kept = false, nil, 0
}

// isShared reports whether a cursor has a name beside the one that goes away. With a nil f only the
// names of global cursors count; otherwise the cursors and cursor variables of f count, too.
func (s *Session) isShared(c *cursor, f *frame) bool {
	names := 0
	for _, o := range s.cursors {
		if o == c {
			names++
		}
	}
	if f == nil {
		return names > 0
	}
	for _, o := range f.cursors {
		if o == c {
			names++
		}
	}
	for _, x := range f.vars {
		if x.cursor == c {
			names++
		}
	}
	return names > 1
}

// size returns the size of a prepared statement in bytes.
func (p *prepared) size() int64 { return int64(len(p.text) + len(p.params)) }
