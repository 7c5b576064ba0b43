package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	lib "modernc.org/sqlite/lib"

	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// TableLayout describes a table whose recorded changes are repeated.
type TableLayout struct {
	Columns []string // all columns of SQLite's table
	Key     int      // index of the column that is the rowid, or -1
}

// Repeater is what repeating recorded changes needs to know of the database.
type Repeater struct {
	// Layout returns the layout of a table; ok is false for the tables of Other.
	Layout func(table string) (l TableLayout, ok bool)
	// Other repeats a change of another table.
	Other func(ctx context.Context, ch *RowChange) error
}

// rowOf identifies a row of a table.
type rowOf struct {
	table string
	id    int64
}

// errNotRecorded is the error of Park without a usable record.
var errNotRecorded = errors.New("sqlite: the transaction is not recorded")

// CanPark reports whether Park is possible: the transaction is recorded and no result is open.
func (rec *Recorder) CanPark() bool {
	return rec.record != nil && !rec.record.over && !rec.record.paused && rec.conn.inTransaction && len(rec.conn.rows) == 0
}

// Park puts the open transaction aside: it keeps the record and rolls the transaction back.
func (rec *Recorder) Park() error {
	if !rec.CanPark() {
		return errNotRecorded
	}
	rec.record.paused = true
	return rec.conn.Rollback()
}

// Resume begins the transaction again that Park has put aside, with its changes and savepoints. The
// recorded rowids of inserted rows may change. After an error no transaction is open.
func (rec *Recorder) Resume(ctx context.Context, rep Repeater) error {
	if rec.record == nil || !rec.record.paused {
		return errNotRecorded
	}
	again := func() *repetition {
		return &repetition{conn: rec.conn, Repeater: rep, points: true, moved: map[rowOf]int64{}}
	}
	err := rec.conn.Begin(ctx)
	if err == nil {
		err = again().repeat(ctx, rec.record)
	}
	if violatesForeignKey(err) { // a later change restores the key
		if err = errors.Join(rec.conn.Rollback(), rec.conn.Begin(ctx)); err == nil {
			err = again().repeatDeferred(ctx, rec.record)
		}
	}
	if err != nil {
		return errors.Join(err, rec.conn.Rollback())
	}
	rec.record.paused = false
	return nil
}

// repeatDeferred is repeat with one check of foreign keys at the end.
func (how *repetition) repeatDeferred(ctx context.Context, r *Record) error {
	return deferForeignKeys(ctx, how.conn, func() error {
		err := how.repeat(ctx, r)
		if err == nil && foreignKeysViolated(how.conn) {
			err = &ConstraintError{Kind: ForeignKey}
		}
		return err
	})
}

// repetition is the state of repeating a record.
type repetition struct {
	conn *Conn
	Repeater
	points bool            // set the savepoints, and adapt the rowids of the record
	moved  map[rowOf]int64 // rowids of inserted rows by recorded rowid
}

// repeat makes the changes of a record again.
func (how *repetition) repeat(ctx context.Context, r *Record) error {
	c := how.conn
	next := 0
	for i := range r.changes {
		for ; how.points && next < len(r.points) && r.points[next].at <= i; next++ {
			if _, err := c.Exec(ctx, "SAVEPOINT "+Quote(r.points[next].name), nil); err != nil {
				return err
			}
		}
		if err := how.repeatChange(ctx, r.alias, &r.changes[i]); err != nil {
			return fmt.Errorf("repeat a change of %s: %w", r.changes[i].Table, err)
		}
	}
	for ; how.points && next < len(r.points); next++ {
		if _, err := c.Exec(ctx, "SAVEPOINT "+Quote(r.points[next].name), nil); err != nil {
			return err
		}
	}
	return nil
}

// repeatChange makes one change again.
func (how *repetition) repeatChange(ctx context.Context, schema string, ch *RowChange) error {
	l, ok := how.Layout(ch.Table)
	if !ok {
		if ch.nested {
			return nil
		}
		return how.Other(ctx, ch)
	}
	before := ch.Before
	if id, ok := how.moved[rowOf{ch.Table, before}]; ok && ch.Op != RowInserted {
		before = id
	}
	var sql string
	var args []types.Value
	switch ch.Op {
	case RowInserted:
		sql, args = insertSQL(schema, ch, l)
	case RowUpdated:
		sql, args = updateSQL(schema, ch, l, before)
	default:
		sql, args = "DELETE FROM "+schema+"."+ch.Table+" WHERE rowid = ?1", []types.Value{before}
	}
	after := before
	if l.Key >= 0 {
		after = ch.After
	}
	if !ch.nested && sql != "" {
		n, err := how.conn.Exec(ctx, sql, args)
		if err != nil {
			return err
		}
		if n != 1 {
			return fmt.Errorf("sqlite: %d rows are changed instead of one", n)
		}
		if ch.Op == RowInserted && l.Key < 0 {
			after = lib.Xsqlite3_last_insert_rowid(how.conn.tls, how.conn.db)
			how.moved[rowOf{ch.Table, ch.After}] = after
		}
	}
	if ch.Op == RowDeleted {
		delete(how.moved, rowOf{ch.Table, ch.Before})
	}
	if !how.points {
		return nil
	}
	if ch.Op != RowInserted {
		ch.Before = before
	}
	if ch.Op != RowDeleted {
		ch.After = after
	}
	return nil
}

// insertSQL returns the statement that inserts a recorded row.
func insertSQL(schema string, ch *RowChange, l TableLayout) (string, []types.Value) {
	var b strings.Builder
	b.WriteString("INSERT INTO " + schema + "." + ch.Table + "(" + strings.Join(l.Columns, ", ") + ") VALUES (")
	for i := range l.Columns {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "?%d", i+1)
	}
	b.WriteString(")")
	return b.String(), ch.New
}

// updateSQL returns the statement that changes a row as recorded, or "" if nothing changes.
func updateSQL(schema string, ch *RowChange, l TableLayout, rowid int64) (string, []types.Value) {
	var sets []string
	var args []types.Value
	for i, col := range l.Columns {
		if !same(ch.Old[i], ch.New[i]) {
			args = append(args, ch.New[i])
			sets = append(sets, fmt.Sprintf("%s = ?%d", col, len(args)))
		}
	}
	if len(sets) == 0 {
		return "", nil
	}
	args = append(args, rowid)
	return fmt.Sprintf("UPDATE %s.%s SET %s WHERE rowid = ?%d", schema, ch.Table, strings.Join(sets, ", "), len(args)), args
}

// same reports whether two values are represented alike.
func same(a, b types.Value) bool {
	x, ok := a.([]byte)
	if !ok {
		if _, ok := b.([]byte); ok {
			return false
		}
		return a == b
	}
	y, ok := b.([]byte)
	return ok && string(x) == string(y)
}

// Try calls run in the state that the database would have with the changes of parked transactions,
// and undoes all of it. A transaction must be open and recorded. check gets each change that run
// makes; owner is the index in others of the transaction that has inserted the row, and row its
// recorded rowid, or owner is -1. Try returns the first error of check. An error of run is no error
// of Try.
func (rec *Recorder) Try(ctx context.Context, others []*Record, rep Repeater, run func() error, check func(ch *RowChange, owner int, row int64) error) error {
	const point = "try"
	own := rec.record
	if own == nil {
		return errNotRecorded
	}
	if err := rec.conn.Savepoint(ctx, point); err != nil {
		return err
	}
	own.paused = true
	type inserted struct {
		owner int
		row   int64
	}
	rows := map[rowOf]inserted{}
	err := func() error {
		for i, o := range others {
			how := &repetition{conn: rec.conn, Repeater: rep, moved: map[rowOf]int64{}}
			if err := how.repeatWithin(ctx, o); err != nil {
				return err
			}
			for at, now := range how.moved {
				rows[rowOf{at.table, now}] = inserted{i, at.id}
			}
		}
		var found error
		rec.record = &Record{alias: own.alias, dry: true, check: func(ch *RowChange) error {
			owner, row := -1, int64(0)
			if in, ok := rows[rowOf{ch.Table, ch.Before}]; ok && ch.Op != RowInserted {
				owner, row = in.owner, in.row
			}
			if err := check(ch, owner, row); err != nil && found == nil {
				found = err
			}
			return found
		}}
		_ = run() // the statement's own errors come from its execution
		rec.record = own
		return found
	}()
	rec.record = own
	if rec.conn.inTransaction {
		err = errors.Join(err, rec.conn.RollbackTo(point), rec.conn.ReleaseSavepoint(point))
	}
	own.paused = false
	own.release(point)
	return err
}

// repeatWithin is repeat inside an open transaction.
func (how *repetition) repeatWithin(ctx context.Context, r *Record) error {
	c := how.conn
	const point = "repeat"
	if err := c.Savepoint(ctx, point); err != nil {
		return err
	}
	err := how.repeat(ctx, r)
	if violatesForeignKey(err) {
		how.moved = map[rowOf]int64{}
		if err = c.RollbackTo(point); err == nil {
			err = how.repeatDeferred(ctx, r)
		}
	}
	return errors.Join(err, c.ReleaseSavepoint(point))
}

// violatesForeignKey reports whether an error is that of a foreign key.
func violatesForeignKey(err error) bool {
	var broken *ConstraintError
	return errors.As(err, &broken) && broken.Kind == ForeignKey
}
