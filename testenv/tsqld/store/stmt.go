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

// maxStmts is how many prepared statements a connection keeps. A statement of the control database
// needs 8 KB on average, and the calls of one agent need about 600 of them.
const maxStmts = 1024

// stmt is a prepared statement.
type stmt struct {
	conn   *Conn
	ds     driver.Stmt
	sql    string
	reads  bool // it writes nothing, so an interrupt is harmless
	multi  bool // several statements or none; the driver runs them
	busy   bool // in use, while the cache knows it
	clears bool // it is prepared to delete all rows of a table at once, which SQLite does not report

	p         uintptr // sqlite3_stmt*, 0 for several
	params    int     // the highest number of a parameter
	columns   int
	stride    uintptr   // distance of two values of a row; 0 until it is known
	allocated []uintptr // memory of the arguments
}

// stmtCache keeps prepared statements, most recently used first.
type stmtCache struct {
	bySQL map[string]*list.Element
	order list.List // of *stmt
}

// take returns the statement of a text; nil if there is none or it is in use.
func (sc *stmtCache) take(sql string) *stmt {
	el, ok := sc.bySQL[sql]
	if !ok || el.Value.(*stmt).busy {
		return nil
	}
	s := el.Value.(*stmt)
	s.busy = true
	sc.order.MoveToFront(el)
	return s
}

// put returns a statement to the cache. A second statement of the same text is closed, and so is
// the oldest of too many.
func (sc *stmtCache) put(s *stmt) error {
	if sc.bySQL == nil {
		sc.bySQL = map[string]*list.Element{}
	}
	el, ok := sc.bySQL[s.sql]
	switch {
	case ok && el.Value.(*stmt) == s:
		s.busy = false
		return nil
	case ok || s.multi:
		return s.ds.Close()
	}
	sc.bySQL[s.sql] = sc.order.PushFront(s)
	s.busy = false
	for el := sc.order.Back(); el != nil && sc.order.Len() > maxStmts; el = el.Prev() {
		if oldest := el.Value.(*stmt); !oldest.busy {
			sc.order.Remove(el)
			delete(sc.bySQL, oldest.sql)
			return oldest.ds.Close()
		}
	}
	return nil
}

// remove closes a statement that take has returned.
func (sc *stmtCache) remove(s *stmt) error {
	sc.order.Remove(sc.bySQL[s.sql])
	delete(sc.bySQL, s.sql)
	return s.ds.Close()
}

// drop returns a statement to the cache after an error. The caller reports that error, so errors of
// drop are ignored.
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

// prepare returns a statement. The caller owns it until put.
func (c *Conn) prepare(sql string) (*stmt, error) {
	if s := c.stmts.take(sql); s != nil && s.clears && c.Recorder.record != nil {
		if err := c.stmts.remove(s); err != nil {
			return nil, convert(err, sql)
		}
	} else if s != nil {
		return s, nil
	}
	s := &stmt{conn: c, sql: sql}
	s.clears = c.Recorder.record == nil && strings.HasPrefix(sql, "DELETE FROM d") && !strings.Contains(sql, " WHERE ")
	c.calls.cause = nil // SQLite calls functions of constants during the preparation
	ds, err := c.dc.Prepare(sql)
	if err != nil {
		return nil, c.calls.rethrow(c.fail(err, sql))
	}
	if s.p, err = handle(ds, "pstmt"); err != nil {
		return nil, errors.Join(err, ds.Close())
	}
	s.ds, s.multi = ds, s.p == 0
	if !s.multi {
		s.reads = lib.Xsqlite3_stmt_readonly(c.tls, s.p) != 0
		s.params = int(lib.Xsqlite3_bind_parameter_count(c.tls, s.p))
		s.columns = int(lib.Xsqlite3_column_count(c.tls, s.p))
	}
	return s, nil
}

// fail picks the error for the caller: that of a function, the cause of the canceled context, or
// SQLite's.
func (c *Conn) fail(err error, sql string) error {
	if c.inTransaction && mayRollBack(err) {
		cause := c.calls.cause
		c.checkTransaction()
		c.calls.cause = cause
	}
	if c.calls.cause != nil {
		return c.calls.cause
	}
	if c.watch.isCanceled() {
		return context.Cause(c.watch.ctx)
	}
	return convert(err, sql)
}

// script runs several statements, each with the same arguments.
func (s *stmt) script(args []types.Value) (int64, error) {
	named := make([]driver.NamedValue, len(args))
	for i, a := range args {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: a}
	}
	res, err := s.ds.(driver.StmtExecContext).ExecContext(context.Background(), named)
	if err != nil || res == nil {
		return 0, err
	}
	return res.RowsAffected()
}

// Exec runs one or several statements. It returns how many rows the last INSERT, UPDATE or DELETE
// among them changed, without those of triggers and foreign keys; for other statements the number
// has no meaning. Parameters are ?1, ?2 and so on; their values are those of package types.
func (c *Conn) Exec(ctx context.Context, sql string, args []types.Value) (int64, error) {
	if err := c.follow(ctx); err != nil {
		return 0, err
	}
	s, err := c.prepare(sql)
	if err != nil {
		return 0, err
	}
	run := s.run
	if s.multi {
		run = s.script
	}
	deferInterrupt := !s.reads && !c.interruptWrites && c.InTransaction()
	n, at := int64(0), c.Recorder.record.begin()
	if err = c.beginStep(deferInterrupt); err == nil {
		n, err = run(args)
	}
	c.endStep()
	if err != nil {
		err = c.fail(err, sql)
	}
	if err = c.Recorder.record.end(at, err); err != nil {
		c.stmts.drop(s)
		return 0, c.calls.rethrow(err)
	}
	if err := c.stmts.put(s); err != nil {
		return 0, convert(err, sql)
	}
	return n, nil
}

// Query runs one statement and returns its rows, which the caller must close. Rows are produced on
// demand; between them the connection can run other statements.
func (c *Conn) Query(ctx context.Context, sql string, args []types.Value) (*Rows, error) {
	if err := c.follow(ctx); err != nil {
		return nil, err
	}
	s, err := c.prepare(sql)
	if err != nil {
		return nil, err
	}
	if s.multi {
		c.stmts.drop(s)
		return nil, errNoQuery
	}
	r := &Rows{conn: c, stmt: s, ctx: ctx, deferInterrupt: !s.reads && !c.interruptWrites && c.InTransaction()}
	at := c.Recorder.record.begin()
	if err = c.beginStep(r.deferInterrupt); err == nil {
		err = s.bind(args)
	}
	if err == nil {
		r.ahead, err = s.step() // step now, so that most errors come before the first row, and all changes
	}
	c.endStep()
	if err != nil {
		err = c.fail(err, sql)
	}
	if err = c.Recorder.record.end(at, err); err != nil {
		_ = s.reset() // repeats the error of step
		c.stmts.drop(s)
		return nil, c.calls.rethrow(err)
	}
	r.over = !r.ahead
	r.row = make([]types.Value, s.columns)
	c.rows = append(c.rows, r)
	return r, nil
}

// Each runs one statement and calls do for each of its rows, until do fails. A row is valid until
// do returns; the values in it stay valid.
func (c *Conn) Each(ctx context.Context, sql string, args []types.Value, do func(row []types.Value) error) error {
	rows, err := c.Query(ctx, sql, args)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := do(rows.Row()); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return rows.Close()
}

// errNoQuery reports a query that is not one statement, a defect of the generated SQL.
var errNoQuery = errors.New("sqlite: a query must be one statement")

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
