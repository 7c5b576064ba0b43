package store

import (
	"container/list"
	"context"
	"database/sql/driver"
	"errors"
	"strings"

	lib "modernc.org/sqlite/lib"

	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// maxStmts bounds the prepared statements that a connection keeps.
const maxStmts = 256

// stmt is a prepared statement.
type stmt struct {
	ds    driver.Stmt
	sql   string
	reads bool // it writes nothing, so that interrupting it harms nothing
	multi bool // several statements, or none
	// rowset says that it reads rowset(...)
	rowset bool
}

// stmtCache keeps prepared statements that nobody is executing, most recently used first.
type stmtCache struct {
	bySQL map[string]*list.Element
	order list.List // of *stmt
}

// take removes a statement from the cache; nil if it has none for this text.
func (sc *stmtCache) take(sql string) *stmt {
	el, ok := sc.bySQL[sql]
	if !ok {
		return nil
	}
	delete(sc.bySQL, sql)
	return sc.order.Remove(el).(*stmt)
}

// put takes a statement back. A second one of the same text, and the oldest of too many, are closed.
func (sc *stmtCache) put(s *stmt) error {
	if sc.bySQL == nil {
		sc.bySQL = map[string]*list.Element{}
	}
	if _, ok := sc.bySQL[s.sql]; ok || s.multi {
		return s.ds.Close()
	}
	sc.bySQL[s.sql] = sc.order.PushFront(s)
	if sc.order.Len() <= maxStmts {
		return nil
	}
	oldest := sc.order.Remove(sc.order.Back()).(*stmt)
	delete(sc.bySQL, oldest.sql)
	return oldest.ds.Close()
}

// drop takes a statement back after an error, which is reported instead of whatever happens here.
func (sc *stmtCache) drop(s *stmt) { _ = sc.put(s) }

// closeAll empties the cache.
func (sc *stmtCache) closeAll() error {
	var errs []error
	for el := sc.order.Front(); el != nil; el = el.Next() {
		errs = append(errs, el.Value.(*stmt).ds.Close())
	}
	sc.order.Init()
	clear(sc.bySQL)
	return errors.Join(errs...)
}

// prepare returns a statement, which the caller owns until it puts it back.
func (c *Conn) prepare(sql string) (*stmt, error) {
	if s := c.stmts.take(sql); s != nil {
		if err := c.ensureRowset(s); err != nil {
			c.stmts.drop(s)
			return nil, err
		}
		return s, nil
	}
	s := &stmt{sql: sql, rowset: strings.Contains(sql, "rowset(")}
	if err := c.ensureRowset(s); err != nil {
		return nil, err
	}
	c.cause = nil // constant calls of functions run while SQLite prepares
	ds, err := c.dc.Prepare(sql)
	if err != nil {
		return nil, c.fail(err, sql)
	}
	p, err := handle(ds, "pstmt")
	if err != nil {
		return nil, errors.Join(err, ds.Close())
	}
	s.ds, s.multi, s.reads = ds, p == 0, p != 0 && lib.Xsqlite3_stmt_readonly(nil, p) != 0
	return s, nil
}

// fail picks the error that a caller should see: that of a function, the cause of the canceled
// context, or SQLite's.
func (c *Conn) fail(err error, sql string) error {
	if c.inTransaction && mayRollBack(err) {
		cause := c.cause
		c.checkTransaction()
		c.cause = cause
	}
	if c.cause != nil {
		return c.cause
	}
	if c.watch != nil && c.watch.canceled.Load() {
		return context.Cause(c.watch.ctx)
	}
	return convert(err, sql)
}

// bind numbers the arguments; the slice is reused by the next call.
func (c *Conn) bind(args []types.Value) []driver.NamedValue {
	c.named = c.named[:0]
	for i, a := range args {
		c.named = append(c.named, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return c.named
}

// Exec runs one or several statements and answers how many rows the last INSERT, UPDATE or DELETE among them
// changed, those of triggers and foreign keys excluded; for other statements the number means nothing.
// Parameters are ?1, ?2 and so on; their values are those of package types.
func (c *Conn) Exec(ctx context.Context, sql string, args []types.Value) (int64, error) {
	if err := c.follow(ctx); err != nil {
		return 0, err
	}
	s, err := c.prepare(sql)
	if err != nil {
		return 0, err
	}
	leave := c.enter(s.reads || c.interruptWrites || !c.InTransaction())
	res, err := s.ds.(driver.StmtExecContext).ExecContext(context.Background(), c.bind(args))
	leave()
	if err != nil {
		err = c.fail(err, sql)
		c.stmts.drop(s)
		return 0, err
	}
	if err := c.stmts.put(s); err != nil {
		return 0, convert(err, sql)
	}
	if res == nil {
		return 0, nil
	}
	return res.RowsAffected()
}

// Query runs one statement and returns its rows, which must be closed. Rows come as they are asked for;
// the connection can be used for other things in between.
func (c *Conn) Query(ctx context.Context, sql string, args []types.Value) (*Rows, error) {
	if err := c.follow(ctx); err != nil {
		return nil, err
	}
	s, err := c.prepare(sql)
	if err != nil {
		return nil, err
	}
	interruptible := s.reads || c.interruptWrites || !c.InTransaction()
	leave := c.enter(interruptible)
	dr, err := s.ds.(driver.StmtQueryContext).QueryContext(context.Background(), c.bind(args))
	leave()
	if err != nil {
		err = c.fail(err, sql)
		c.stmts.drop(s)
		return nil, err
	}
	n := len(dr.Columns())
	r := &Rows{conn: c, stmt: s, rows: dr, ctx: ctx, interruptible: interruptible, buf: make([]driver.Value, n), row: make([]types.Value, n)}
	c.rows = append(c.rows, r)
	return r, nil
}

// QueryRow runs a statement and returns its first row, or nil if there is none.
func (c *Conn) QueryRow(ctx context.Context, sql string, args []types.Value) ([]types.Value, error) {
	rows, err := c.Query(ctx, sql, args)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	if !rows.Next() {
		return nil, rows.Err()
	}
	return rows.Row(), rows.Close()
}
