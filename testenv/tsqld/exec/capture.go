package exec

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// capture holds the rows that one statement has changed, as far as tables with AFTER triggers are
// concerned.
type capture struct {
	changes []*changes
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

// changes are the changed rows of one table and one event.
type changes struct {
	table             int32
	event             string
	deleted, inserted [][]types.Value // the columns of [catalog.Table.Captured]
}

// of returns the changes of a table and event, which are added if they are missing.
func (c *capture) of(table int32, event string) *changes {
	i := slices.IndexFunc(c.changes, func(x *changes) bool { return x.table == table && x.event == event })
	if i >= 0 {
		return c.changes[i]
	}
	x := &changes{table: table, event: event}
	c.changes = append(c.changes, x)
	return x
}

// take removes the changes of a table and event.
func (c *capture) take(table int32, event string) *changes {
	x := c.of(table, event)
	c.changes = slices.DeleteFunc(c.changes, func(y *changes) bool { return x == y })
	return x
}

// captureFunc returns the function that SQLite triggers call with the columns of a row.
func (r triggers) captureFunc(key string) (store.Func, error) {
	k, err := catalog.ParseCapture(key)
	if err != nil {
		return nil, mserr.NotSupported("the function key %s", key)
	}
	return func(m *meter.Meter, args []types.Value) (types.Value, error) {
		if r.capture == nil || r.capture.sides == captureDeleted && k.Inserted ||
			r.capture.sides == captureInserted && !k.Inserted {
			return nil, nil
		}
		row, err := session.CopyRow(m, args)
		if err != nil {
			return nil, err
		}
		x := r.capture.of(k.Table, k.Event)
		rows := &x.deleted
		if k.Inserted {
			rows = &x.inserted
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
