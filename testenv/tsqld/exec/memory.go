package exec

import (
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

const (
	// rowOverhead and valueOverhead are about what a row and a value in it take beside texts and binaries, in bytes.
	rowOverhead   = 64
	valueOverhead = 24
)

// weight is the length of the texts and binaries among values, in bytes.
func weight(vals ...types.Value) int {
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

// copyRow copies a row that is kept until the end of the statement. Error 701.
func copyRow(m *meter.Meter, row []types.Value) ([]types.Value, error) {
	if err := m.Take(rowOverhead + len(row)*valueOverhead + weight(row...)); err != nil {
		return nil, err
	}
	return append([]types.Value(nil), row...), nil
}

// store gives a variable a value. Error 701.
func (r *run) store(x *variable, v types.Value) error {
	n := weight(v)
	if n <= meter.Small {
		n = 0
	}
	if n != x.kept {
		if err := r.s.meter.Keep(n - x.kept); err != nil {
			return err
		}
		x.kept = n
	}
	x.val = v
	return nil
}

// emptyFrame gives back what the variables and cursors of an activation have taken.
func (s *Session) emptyFrame(f *frame) {
	for _, c := range f.cursors {
		s.empty(c)
	}
	for _, x := range f.vars {
		if x.kept > 0 {
			_ = s.meter.Keep(-x.kept) // to give back cannot fail
			x.kept = 0
		}
		if x.cursor != nil && !s.shared(x.cursor, nil) {
			s.empty(x.cursor)
		}
	}
}

// empty forgets the rows of a cursor.
func (s *Session) empty(c *cursor) {
	s.meter.Drop(c.held)
	c.rows, c.held = nil, 0
}

// shared reports whether a cursor has another name beside the one that is going: it is a global one, or one of an activation's.
func (s *Session) shared(c *cursor, f *frame) bool {
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

// size is what a prepared statement takes, in bytes.
func (p *prepared) size() int64 { return int64(len(p.text) + len(p.params)) }
