package exec

import (
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// store sets the value of a variable. The error is 701.
func (r declarations) store(x *variable, v types.Value) error {
	n := session.PayloadSize(v)
	if n <= meter.Small {
		n = 0
	}
	if n != x.size {
		if err := r.s.Meter().Keep(n - x.size); err != nil {
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
			_ = s.Meter().Keep(-x.size) // releasing never fails
			x.size = 0
		}
		if x.cursor != nil && !s.isShared(x.cursor, nil) {
			s.dropCursor(x.cursor)
		}
	}
}

// isShared reports whether a cursor has a name beside the one that goes away. With a nil f only the
// names of global cursors count; otherwise the cursors and cursor variables of f count, too.
func (s *Session) isShared(c *boundCursor, f *frame) bool {
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
