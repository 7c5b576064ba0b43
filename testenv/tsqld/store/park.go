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
func (c *Conn) CanPark() bool {
	return c.record != nil && !c.record.over && !c.record.paused && c.inTransaction && len(c.rows) == 0
}

// Park puts the open transaction aside: it keeps the record and rolls the transaction back.
func (c *Conn) Park() error {
	if !c.CanPark() {
		return errNotRecorded
	}
	c.record.paused = true
	return c.Rollback()
}

// Resume begins the transaction again that Park has put aside, with its changes and savepoints. The
// recorded rowids of inserted rows may change. After an error no transaction is open.
func (c *Conn) Resume(ctx context.Context, rep Repeater) error {
	if c.record == nil || !c.record.paused {
		return errNotRecorded
	}
	err := c.Begin(ctx)
	if err == nil {
		err = c.repeat(ctx, c.record, &repetition{Repeater: rep, points: true, moved: map[rowOf]int64{}})
	}
	var broken *ConstraintError
	if errors.As(err, &broken) && broken.Kind == ForeignKey { // a later change restores the key
		if err = errors.Join(c.Rollback(), c.Begin(ctx)); err == nil {
			err = c.repeatDeferred(ctx, c.record, &repetition{Repeater: rep, points: true, moved: map[rowOf]int64{}})
		}
	}
	if err != nil {
		return errors.Join(err, c.Rollback())
	}
	c.record.paused = false
	return nil
}

// repeatDeferred is repeat with one check of foreign keys at the end.
func (c *Conn) repeatDeferred(ctx context.Context, r *Record, how *repetition) error {
	if _, err := c.Exec(ctx, "PRAGMA defer_foreign_keys=ON", nil); err != nil {
		return err
	}
	err := c.repeat(ctx, r, how)
	if err == nil && c.foreignKeysViolated() {
		err = &ConstraintError{Kind: ForeignKey}
	}
	_, perr := c.Exec(context.WithoutCancel(ctx), "PRAGMA defer_foreign_keys=OFF", nil)
	return errors.Join(err, perr)
}

// repetition is the state of repeating a record.
type repetition struct {
	Repeater
	points bool            // set the savepoints, and adapt the rowids of the record
	moved  map[rowOf]int64 // rowids of inserted rows by recorded rowid
}

// repeat makes the changes of a record again.
func (c *Conn) repeat(ctx context.Context, r *Record, how *repetition) error {
	next := 0
	for i := range r.changes {
		for ; how.points && next < len(r.points) && r.points[next].at <= i; next++ {
			if _, err := c.Exec(ctx, "SAVEPOINT "+Quote(r.points[next].name), nil); err != nil {
				return err
			}
		}
		if err := c.repeatChange(ctx, r.alias, &r.changes[i], how); err != nil {
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
func (c *Conn) repeatChange(ctx context.Context, schema string, ch *RowChange, how *repetition) error {
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
		n, err := c.Exec(ctx, sql, args)
		if err != nil {
			return err
		}
		if n != 1 {
			return fmt.Errorf("sqlite: %d rows are changed instead of one", n)
		}
		if ch.Op == RowInserted && l.Key < 0 {
			after = lib.Xsqlite3_last_insert_rowid(c.tls, c.db)
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
func (c *Conn) Try(ctx context.Context, others []*Record, rep Repeater, run func() error, check func(ch *RowChange, owner int, row int64) error) error {
	const point = "try"
	own := c.record
	if own == nil {
		return errNotRecorded
	}
	if err := c.Savepoint(ctx, point); err != nil {
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
			how := &repetition{Repeater: rep, moved: map[rowOf]int64{}}
			if err := c.repeatWithin(ctx, o, how); err != nil {
				return err
			}
			for at, now := range how.moved {
				rows[rowOf{at.table, now}] = inserted{i, at.id}
			}
		}
		var found error
		c.record = &Record{alias: own.alias, dry: true, check: func(ch *RowChange) error {
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
		c.record = own
		return found
	}()
	c.record = own
	if c.inTransaction {
		err = errors.Join(err, c.RollbackTo(point), c.ReleaseSavepoint(point))
	}
	own.paused = false
	own.release(point)
	return err
}

// repeatWithin is repeat inside an open transaction.
func (c *Conn) repeatWithin(ctx context.Context, r *Record, how *repetition) error {
	const point = "repeat"
	if err := c.Savepoint(ctx, point); err != nil {
		return err
	}
	err := c.repeat(ctx, r, how)
	var broken *ConstraintError
	if errors.As(err, &broken) && broken.Kind == ForeignKey {
		how.moved = map[rowOf]int64{}
		if err = c.RollbackTo(point); err == nil {
			err = c.repeatDeferred(ctx, r, how)
		}
	}
	return errors.Join(err, c.ReleaseSavepoint(point))
}
