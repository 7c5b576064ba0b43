package change

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Capture holds the rows that one statement has changed, as far as tables with AFTER triggers are
// concerned, and the rows that it would change in objects with INSTEAD OF triggers.
type Capture struct {
	changed []*Rows
	sides   captureSides
}

// captureSides tells which sides of a changed row are captured. A statement that changes keys in
// two steps captures the old rows of the first step, and the new rows of the second.
type captureSides uint8

const (
	captureBoth captureSides = iota
	captureDeleted
	captureInserted
)

// Rows are the changed rows of one table or view, and one event: INSERT, UPDATE or DELETE.
type Rows struct {
	Table             int32
	Event             string
	Deleted, Inserted [][]types.Value // the columns of [catalog.Table.Captured]
}

// of returns the rows of a table and event, which are added if they are missing.
func (c *Capture) of(table int32, event string) *Rows {
	i := slices.IndexFunc(c.changed, func(x *Rows) bool { return x.Table == table && x.Event == event })
	if i >= 0 {
		return c.changed[i]
	}
	x := &Rows{Table: table, Event: event}
	c.changed = append(c.changed, x)
	return x
}

// Take removes the rows of a table and event, and returns them.
func (c *Capture) Take(table int32, event string) *Rows {
	x := c.of(table, event)
	c.changed = slices.DeleteFunc(c.changed, func(y *Rows) bool { return x == y })
	return x
}

// Rest returns the rows that Take has not removed, in the order of the changes.
func (c *Capture) Rest() []*Rows { return c.changed }

// captureFunc returns the function that SQLite triggers call with the columns of a row.
func (x *Executor) captureFunc(key string) (store.Func, error) {
	k, err := catalog.ParseCapture(key)
	if err != nil {
		return nil, mserr.NotSupported("the function key %s", key)
	}
	return func(m *meter.Meter, args []types.Value) (types.Value, error) {
		if x.capture == nil || x.capture.sides == captureDeleted && k.Inserted ||
			x.capture.sides == captureInserted && !k.Inserted {
			return nil, nil
		}
		row, err := session.CopyRow(m, args)
		if err != nil {
			return nil, err
		}
		changed := x.capture.of(k.Table, k.Event)
		rows := &changed.Deleted
		if k.Inserted {
			rows = &changed.Inserted
		}
		if k.First {
			*rows = append(*rows, row)
			return nil, nil
		}
		last := len(*rows) - 1
		(*rows)[last] = append((*rows)[last], row...)
		return nil, nil
	}, nil
}

// transitionRows reads the rows of inserted and deleted for an INSTEAD OF trigger, and returns
// their number.
func (x *Executor) transitionRows(in *plan.Instead, rt *tree.Run) (n int64, err error) {
	changed := x.capture.of(in.Object.Head().ObjectID, in.Event)
	width := len(in.Shape.Captured())
	for _, side := range []struct {
		query *plan.Statement
		rows  *[][]types.Value
	}{{&in.Deleted, &changed.Deleted}, {&in.Inserted, &changed.Inserted}} {
		if side.query.SQL == "" {
			continue
		}
		rows, err := x.collect(side.query, rt)
		if err != nil {
			return 0, err
		}
		for i := range rows {
			rows[i] = rows[i][:width] // a table of computed columns only has a column for the syntax
		}
		*side.rows = append(*side.rows, rows...)
		n = int64(len(rows))
	}
	return n, nil
}
