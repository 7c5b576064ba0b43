package store

import (
	"sync"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// RowOp is the kind of a [RowChange].
type RowOp uint8

// The kinds of changes of a row.
const (
	RowInserted RowOp = iota + 1
	RowUpdated
	RowDeleted
)

// RowChange is the change of one row of a table.
type RowChange struct {
	Table         string // SQLite's name
	Op            RowOp
	Before, After int64         // rowids; Before is not set for an insertion, After not for a deletion
	Old, New      []types.Value // all columns of SQLite's table; Old is nil for an insertion, New for a deletion
	nested        bool          // a foreign key's action has made the change, which repeats it
}

// Record holds the changes of the rows of one database in the open transaction, in their order. It
// does not change while its transaction is parked.
type Record struct {
	alias   string // schema name of the database
	changes []RowChange
	points  []point
	check   func(ch *RowChange) error // see Recorder.Start
	most    int                       // limit of the number of changes
	held    int64                     // bytes taken from the meter
	err     error                     // first error of check in the running statement, or of the meter
	over    bool                      // there were too many changes, or SQLite has rolled back
	paused  bool                      // the transaction is parked, or changes are being repeated
	dry     bool                      // changes are checked and not kept
}

// point is an open savepoint of a recorded transaction.
type point struct {
	name string
	at   int // number of changes before it
}

// Changes returns the recorded changes. The caller must not change them.
func (r *Record) Changes() []RowChange { return r.changes }

// Recorder records the changes of the open transaction, so that it can be parked.
type Recorder struct {
	conn   *Conn
	record *Record // of the open or parked transaction; nil if it is not recorded
}

// recording maps sqlite3* to the *Conn that records its changes.
var recording sync.Map

// rowOverhead and valueOverhead are the approximate sizes of a recorded row and of a value in it,
// without texts and binaries, in bytes.
const (
	rowOverhead   = 128
	valueOverhead = 24
)

// Start begins to record the changes of one attached database in the open transaction. Up to most
// changes are recorded; with more, the transaction cannot be parked. check, if not nil, is called
// with each change before SQLite makes it, and there is no limit then: an error of check is the
// error of the running SQLite statement, whose changes the caller must undo.
func (rec *Recorder) Start(database, most int, check func(ch *RowChange) error) {
	rec.Stop()
	rec.record = &Record{alias: alias(database), check: check, most: most}
	rec.hook()
}

// hook makes SQLite report changes of rows.
func (rec *Recorder) hook() {
	recording.Store(rec.conn.db, rec.conn)
	call := preUpdate
	lib.Xsqlite3_preupdate_hook(rec.conn.tls, rec.conn.db, *(*uintptr)(unsafe.Pointer(&call)), rec.conn.db)
}

// unhook ends hook.
func (rec *Recorder) unhook() {
	lib.Xsqlite3_preupdate_hook(rec.conn.tls, rec.conn.db, 0, 0)
	recording.Delete(rec.conn.db)
}

// Record returns the record of the open or parked transaction, or nil.
func (rec *Recorder) Record() *Record { return rec.record }

// SetCheck replaces the function of [Recorder.Start].
func (rec *Recorder) SetCheck(check func(ch *RowChange) error) { rec.record.check = check }

// Checking reports whether the changes of the open transaction are checked.
func (rec *Recorder) Checking() bool { return rec.record != nil && rec.record.check != nil }

// Stop forgets the record, if any.
func (rec *Recorder) Stop() {
	if rec.record == nil {
		return
	}
	rec.unhook()
	rec.conn.account.meter.Drop(rec.record.held)
	rec.record = nil
}

// preUpdate is SQLite's callback before a change of a row
// (https://sqlite.org/c3ref/preupdate_blobwrite.html). It has no captured variables, so the garbage
// collector neither moves nor frees it.
var preUpdate = func(_ *libc.TLS, handle, _ uintptr, op int32, schema, table uintptr, before, after int64) {
	v, ok := recording.Load(handle)
	if !ok {
		return
	}
	c := v.(*Conn)
	if r := c.Recorder.record; r != nil && !r.paused && r.err == nil && libc.GoString(schema) == r.alias {
		var err error
		func() {
			defer c.calls.catch(&err)
			err = r.add(c, op, libc.GoString(table), before, after)
		}()
		r.err = err
	}
}

// add records a change that SQLite is about to make.
func (r *Record) add(c *Conn, op int32, table string, before, after int64) error {
	if r.over && r.check == nil {
		return nil
	}
	ch := RowChange{Table: table, Before: before, After: after, nested: lib.Xsqlite3_preupdate_depth(c.tls, c.db) > 0}
	columns := int(lib.Xsqlite3_preupdate_count(c.tls, c.db))
	var err error
	switch op {
	case lib.SQLITE_INSERT:
		ch.Op = RowInserted
	case lib.SQLITE_UPDATE:
		ch.Op = RowUpdated
	default:
		ch.Op = RowDeleted
	}
	if ch.Op != RowInserted {
		if ch.Old, err = changedRow(c, columns, lib.Xsqlite3_preupdate_old); err != nil {
			return err
		}
	}
	if ch.Op != RowDeleted {
		if ch.New, err = changedRow(c, columns, lib.Xsqlite3_preupdate_new); err != nil {
			return err
		}
	}
	if r.check != nil {
		if err := r.check(&ch); err != nil {
			return err
		}
	}
	switch {
	case r.dry || r.over:
		return nil
	case len(r.changes) >= r.most && r.check == nil:
		r.over, r.changes = true, nil
		c.account.meter.Drop(r.held)
		r.held = 0
		return nil
	}
	n := int64(rowOverhead + (len(ch.Old)+len(ch.New))*valueOverhead)
	for _, row := range [][]types.Value{ch.Old, ch.New} {
		for _, v := range row {
			n += int64(size(v))
		}
	}
	if err := c.account.meter.Hold(n); err != nil {
		return err
	}
	r.held += n
	r.changes = append(r.changes, ch)
	return nil
}

// changedRow reads one side of the row that is about to be changed.
func changedRow(c *Conn, columns int, get func(*libc.TLS, uintptr, int32, uintptr) int32) ([]types.Value, error) {
	at := c.tls.Alloc(8)
	defer c.tls.Free(8)
	row := make([]types.Value, columns)
	for i := range row {
		if rc := get(c.tls, c.db, int32(i), at); rc != lib.SQLITE_OK {
			return nil, newStepError(c, rc)
		}
		row[i] = copyValue(c, **(**uintptr)(unsafe.Pointer(&at)))
	}
	return row, nil
}

// copyValue copies a value of SQLite's.
func copyValue(c *Conn, v uintptr) types.Value {
	switch kind := lib.Xsqlite3_value_type(c.tls, v); kind {
	case lib.SQLITE_INTEGER:
		return lib.Xsqlite3_value_int64(c.tls, v)
	case lib.SQLITE_FLOAT:
		return lib.Xsqlite3_value_double(c.tls, v)
	case lib.SQLITE_NULL:
		return nil
	default:
		p, n := lib.Xsqlite3_value_blob(c.tls, v), int(lib.Xsqlite3_value_bytes(c.tls, v))
		var b []byte
		if n > 0 {
			b = view(p, n)
		}
		if kind == lib.SQLITE_TEXT {
			return string(b)
		}
		return append(make([]byte, 0, n), b...)
	}
}

// begin returns the position at which a SQLite statement begins.
func (r *Record) begin() int {
	if r == nil {
		return 0
	}
	return len(r.changes)
}

// end adapts the record to the end of a SQLite statement that began at a position. It returns the
// error of the statement: that of the check comes first, because the statement may have failed for
// want of the changes of another transaction. SQLite has undone the changes of a failed statement.
func (r *Record) end(at int, err error) error {
	if r == nil || r.paused {
		return err
	}
	if err != nil && len(r.changes) > at {
		r.changes = r.changes[:at]
	}
	if r.err != nil {
		err, r.err = r.err, nil
	}
	return err
}

// save records a savepoint.
func (r *Record) save(name string) {
	if r != nil && !r.paused {
		r.points = append(r.points, point{name, len(r.changes)})
	}
}

// find returns the index of the innermost savepoint with a name, or -1.
func (r *Record) find(name string) int {
	i := len(r.points) - 1
	for i >= 0 && r.points[i].name != name {
		i--
	}
	return i
}

// release forgets a savepoint and those in it.
func (r *Record) release(name string) {
	if r == nil || r.paused {
		return
	}
	if i := r.find(name); i >= 0 {
		r.points = r.points[:i]
	}
}

// rollBackTo forgets the changes since a savepoint.
func (r *Record) rollBackTo(name string) {
	if r == nil || r.paused {
		return
	}
	if i := r.find(name); i >= 0 {
		r.changes, r.points = r.changes[:min(r.points[i].at, len(r.changes))], r.points[:i+1]
	}
}
