package answer

import (
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// declaredSets is a [Sink] that gives result sets their declared columns.
type declaredSets struct {
	Sink
	sets [][]types.Column
	sent int            // result sets so far; the current one is the last of them
	from []types.Column // columns of the current result set as the statement sends it
	row  []types.Value
}

// refusal is an error of T-SQL that a [Sink] returns, while all its other errors mean that the
// client has gone. The error ends the procedure or text that has sent the result set.
type refusal struct{ err error }

// Error implements error.
func (e *refusal) Error() string { return e.err.Error() }

// Columns implements [Sink]. Errors 11535, 11537 and 11538 for a result set that was not declared
// like this.
func (d *declaredSets) Columns(cols []types.Column) error {
	if d.sent == len(d.sets) {
		return &refusal{mserr.Of(11535, len(d.sets))}
	}
	declared := d.sets[d.sent]
	d.sent++
	if len(cols) != len(declared) {
		return &refusal{mserr.Of(11537, len(declared), d.sent, len(cols))}
	}
	for i, c := range cols {
		if types.CheckImplicit(c.Type, declared[i].Type) != nil {
			return &refusal{mserr.Of(11538, declared[i].Type, i+1, d.sent, c.Type)}
		}
	}
	d.from = append(d.from[:0], cols...)
	return d.Sink.Columns(declared)
}

// Row implements [Sink]. Error 11553 for NULL in a column that was declared NOT NULL, and those of
// conversions.
func (d *declaredSets) Row(vals []types.Value) error {
	declared := d.sets[d.sent-1]
	d.row = append(d.row[:0], vals...)
	for i, c := range declared {
		switch v, err := types.Convert(vals[i], d.from[i].Type, c.Type, 0); {
		case err != nil:
			return &refusal{err}
		case v == nil && !c.Nullable:
			return &refusal{mserr.Of(11553, i+1, d.sent)}
		default:
			d.row[i] = v
		}
	}
	return d.Sink.Row(d.row)
}

// Flush implements flusher.
func (d *declaredSets) Flush() error {
	if f, ok := d.Sink.(flusher); ok {
		return f.Flush()
	}
	return nil
}

// Declared calls do, whose result sets must be the declared ones. Error 11536 if do sends fewer.
func (a *Answer) Declared(sets [][]types.Column, do func() error) error {
	d := &declaredSets{Sink: a.sink, sets: sets}
	a.sink = d
	err := do()
	a.sink = d.Sink
	if err == nil && d.sent < len(d.sets) {
		return mserr.Of(11536, len(d.sets), d.sent)
	}
	return err
}
