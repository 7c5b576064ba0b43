package store

import (
	"errors"
	"strconv"
	"strings"

	"modernc.org/sqlite/vtab"

	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// RowsFunc makes the rows of a rowset. The caller overwrites args after the call; the values in
// args may be kept. m is the account of the session, nil for none; the rows may use it too.
type RowsFunc func(m *meter.Meter, args []types.Value) (RowSource, error)

// RowSource produces the rows of a rowset one by one.
type RowSource interface {
	// Next returns the next row, and nil after the last one. The row is valid until the next call.
	Next() ([]types.Value, error)
	// Rewind returns to the position before the first row.
	Rewind()
}

// ListedRows returns a source of rows that are in memory.
func ListedRows(rows [][]types.Value) RowSource { return &listedRows{all: rows, rest: rows} }

// listedRows is a list of rows and the rest after the last row that was read.
type listedRows struct{ all, rest [][]types.Value }

// Next implements [RowSource].
func (l *listedRows) Next() ([]types.Value, error) {
	if len(l.rest) == 0 {
		return nil, nil
	}
	row := l.rest[0]
	l.rest = l.rest[1:]
	return row, nil
}

// Rewind implements [RowSource].
func (l *listedRows) Rewind() { l.rest = l.all }

const (
	// RowsetColumns is the number of columns of rowset(...): c1, c2 and so on.
	RowsetColumns = 64
	// RowsetArgs is how many arguments can follow the key.
	RowsetArgs = 4
)

// rowsetName is the name of the table-valued function rowset(key, ...) of a connection; its rows
// come from the [RowsFunc] of the key. The driver has no table-valued functions, but SQLite treats
// each virtual table with hidden columns as one.
const rowsetName = "rowset"

// createRowset creates rowset(...). It must be the connection's first table: SQLite prepares all
// statements again after the creation of a virtual table.
const createRowset = "CREATE VIRTUAL TABLE " + LocalSchema + "." + rowsetName + " USING rowset"

// rowsetSchema declares the columns. They have no type, so SQLite converts nothing.
var rowsetSchema = func() string {
	var b strings.Builder
	b.WriteString("CREATE TABLE x(")
	for i := range RowsetColumns {
		b.WriteString("c" + strconv.Itoa(i+1) + ", ")
	}
	b.WriteString("k HIDDEN")
	for i := range RowsetArgs {
		b.WriteString(", a" + strconv.Itoa(i+1) + " HIDDEN")
	}
	b.WriteString(")")
	return b.String()
}()

// rowsetModule is the virtual table for the connections of a slot.
type rowsetModule struct{ slot *slot }

// Create implements [vtab.Module].
func (m rowsetModule) Create(ctx vtab.Context, _ []string) (vtab.Table, error) {
	return rowsetTable(m), ctx.Declare(rowsetSchema)
}

// Connect implements [vtab.Module].
func (m rowsetModule) Connect(ctx vtab.Context, args []string) (vtab.Table, error) {
	return m.Create(ctx, args)
}

// VolatileArgs implements [vtab.VolatileArgsOpter]: arguments are views of SQLite's memory.
func (rowsetModule) VolatileArgs() bool { return true }

// rowsetTable is the virtual table on a connection.
type rowsetTable struct{ slot *slot }

// BestIndex implements [vtab.Table]. The key and the arguments must be known: a join order without
// them gets such a high cost that SQLite chooses another one.
func (t rowsetTable) BestIndex(info *vtab.IndexInfo) error {
	usable := true
	args := 0
	for i := range info.Constraints {
		c := &info.Constraints[i]
		if c.Column < RowsetColumns || c.Op != vtab.OpEQ {
			continue
		}
		if !c.Usable {
			usable = false
			break
		}
		c.ArgIndex, c.Omit = c.Column-RowsetColumns, true
		args++
	}
	if !usable || args == 0 {
		for i := range info.Constraints {
			info.Constraints[i].ArgIndex, info.Constraints[i].Omit = -1, false
		}
		info.EstimatedCost = 1e99
		return nil
	}
	info.IdxNum = int64(args)
	info.EstimatedCost = 1
	return nil
}

// Open implements [vtab.Table].
func (t rowsetTable) Open() (vtab.Cursor, error) {
	return guardedCursor{&rowsetCursor{slot: t.slot}}, nil
}

// Disconnect implements [vtab.Table].
func (rowsetTable) Disconnect() error { return nil }

// Destroy implements [vtab.Table].
func (rowsetTable) Destroy() error { return nil }

// rowsetCursor reads rows once.
type rowsetCursor struct {
	slot *slot
	args []types.Value // arguments of the rows, the key included
	rows RowSource     // nil before the first read
	row  []types.Value // nil after the last row
	at   int64
	held int // bytes of args, taken from the meter
}

// errRowset reports SQL without a key, or a plan that reads the rows before their arguments.
var errRowset = errors.New("rowset read without its arguments")

// Filter implements [vtab.Cursor]. The inner side of a join is read for each row of the outer side,
// usually with the same arguments.
func (r *rowsetCursor) Filter(n int, _ string, vals []vtab.Value) error {
	c := r.slot.conn
	if c.watch.isCanceled() {
		return errStopped
	}
	if n == 0 || n != len(vals) {
		return c.calls.remember(errRowset)
	}
	if r.isSame(vals) {
		r.rows.Rewind()
		return r.first()
	}
	key, ok := vals[0].(string)
	if !ok {
		return c.calls.remember(errRowset)
	}
	fn, err := c.store.functions.rowset(key)
	if err != nil {
		return c.calls.remember(err)
	}
	_ = c.account.meter.Take(-r.held) // returning memory cannot fail
	r.args, r.rows, r.held = nil, nil, 0
	args := make([]types.Value, len(vals))
	for i, v := range vals {
		if n := size(v); n > meter.Small {
			if err := c.account.meter.Take(n); err != nil {
				return c.calls.remember(err)
			}
			r.held += n
		}
		args[i] = copied(v)
	}
	before := c.account.meter.Mark()
	r.rows, err = fn(c.account.meter, args[1:])
	r.held += int(c.account.meter.Mark() - before)
	if err != nil {
		return c.calls.remember(err)
	}
	r.args = args
	return r.first()
}

// first reads the first row.
func (r *rowsetCursor) first() error {
	r.at = 0
	return r.read()
}

// read reads the next row.
func (r *rowsetCursor) read() error {
	var err error
	if r.row, err = r.rows.Next(); err != nil {
		r.args = nil
		return r.slot.conn.calls.remember(err)
	}
	return nil
}

// isSame reports whether the current rows are those of the arguments.
func (r *rowsetCursor) isSame(vals []vtab.Value) bool {
	if len(r.args) != len(vals) {
		return false
	}
	for i, v := range vals {
		if _, ok := v.([]byte); ok || r.args[i] != v {
			return false
		}
	}
	return true
}

// Next implements [vtab.Cursor].
func (r *rowsetCursor) Next() error {
	if c := r.slot.conn; c.watch.isCanceled() {
		return errStopped
	}
	r.at++
	return r.read()
}

// Eof implements [vtab.Cursor].
func (r *rowsetCursor) Eof() bool { return r.row == nil }

// Column implements [vtab.Cursor].
func (r *rowsetCursor) Column(i int) (vtab.Value, error) {
	if i < len(r.row) {
		return r.row[i], nil
	}
	return nil, nil
}

// Rowid implements [vtab.Cursor].
func (r *rowsetCursor) Rowid() (int64, error) { return r.at, nil }

// Close implements [vtab.Cursor].
func (r *rowsetCursor) Close() error {
	_ = r.slot.conn.account.meter.Take(-r.held) // returning memory cannot fail
	r.args, r.rows, r.held = nil, nil, 0
	return nil
}
