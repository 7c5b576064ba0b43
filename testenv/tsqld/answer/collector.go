package answer

import (
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// collector is a Sink that collects rows and forwards messages.
type collector struct {
	sink  Sink
	meter *meter.Meter
	sets  []ResultSet
}

// ResultSet is one collected result set.
type ResultSet struct {
	Columns []types.Column
	Rows    [][]types.Value
}

// Columns implements [Sink].
func (c *collector) Columns(cols []types.Column) error {
	c.sets = append(c.sets, ResultSet{Columns: append([]types.Column(nil), cols...)})
	return nil
}

// Row implements [Sink].
func (c *collector) Row(vals []types.Value) error {
	set := &c.sets[len(c.sets)-1]
	row, err := session.CopyRow(c.meter, vals)
	set.Rows = append(set.Rows, row)
	return err
}

// Done implements [Sink].
func (c *collector) Done(Done) error { return nil }

// Message implements [Sink].
func (c *collector) Message(m *mserr.Error) error { return c.sink.Message(m) }

// ReturnStatus implements [Sink].
func (c *collector) ReturnStatus(int32) error { return nil }

// ReturnValue implements [Sink].
func (c *collector) ReturnValue(int, string, types.Type, types.Value) error { return nil }

// EnvChange implements [Sink].
func (c *collector) EnvChange(e EnvChange) error { return c.sink.EnvChange(e) }

// FirstError is a Sink that keeps only the first error.
type FirstError struct{ Err *mserr.Error }

// Message implements [Sink].
func (f *FirstError) Message(m *mserr.Error) error {
	if m.Class > 10 && f.Err == nil {
		f.Err = m
	}
	return nil
}

// Columns implements [Sink].
func (*FirstError) Columns([]types.Column) error { return nil }

// Row implements [Sink].
func (*FirstError) Row([]types.Value) error { return nil }

// Done implements [Sink].
func (*FirstError) Done(Done) error { return nil }

// ReturnStatus implements [Sink].
func (*FirstError) ReturnStatus(int32) error { return nil }

// ReturnValue implements [Sink].
func (*FirstError) ReturnValue(int, string, types.Type, types.Value) error { return nil }

// EnvChange implements [Sink].
func (*FirstError) EnvChange(EnvChange) error { return nil }
