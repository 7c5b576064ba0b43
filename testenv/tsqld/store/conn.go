package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"github.com/jobagent/jobagent/testenv/tsqld/meter"
)

// Conn is a connection to SQLite. It belongs to one goroutine at a time.
type Conn struct {
	store *Store
	slot  *slot
	dc    driver.Conn
	db    uintptr   // sqlite3*
	tls   *libc.TLS // SQLite's thread handle, which the driver uses too

	stmts   stmtCache
	rows    []*Rows // open results
	account account
	calls   calls
	counter *counter

	watch           *watch
	interruptWrites bool
	inTransaction   bool

	Databases Databases
	Temps     Temps
	Recorder  Recorder
}

const (
	// tempCacheKiB limits the memory per connection for temporary tables, and for the sorts and
	// lists that SQLite builds. Beyond it, they go to a file.
	tempCacheKiB = 8192
)

// openConn opens a connection without attached databases.
func openConn(s *Store) (*Conn, error) {
	c := &Conn{store: s}
	c.Databases.conn, c.Recorder.conn = c, c
	c.calls = calls{conn: c, funcs: map[string]Func{}}
	c.Temps = Temps{conn: c, tables: map[string]spool{}, values: map[string]any{}, recent: map[string]struct{}{}}
	slot, err := takeSlot(c)
	if err != nil {
		return nil, err
	}
	c.slot = slot
	c.dc, err = slot.driver.Open("file:?_dqs=0") // without a path, the schema main is a temporary file
	if err != nil {
		slot.free()
		return nil, fmt.Errorf("open sqlite: %w", err)
	}
	if c.db, err = handle(c.dc, "db"); err != nil {
		return nil, errors.Join(err, c.close())
	}
	if c.tls, err = tlsOf(c.dc); err != nil {
		return nil, errors.Join(err, c.close())
	}
	setOwner(c, true)
	if err := c.Without(0); err != nil {
		return nil, errors.Join(err, c.close())
	}
	if err := keepPlans(c); err != nil {
		return nil, errors.Join(err, c.close())
	}
	if err := addCollations(c); err != nil {
		return nil, errors.Join(err, c.close())
	}
	if err := addCounter(c); err != nil {
		return nil, errors.Join(err, c.close())
	}
	for _, sql := range []string{
		"PRAGMA temp_store=FILE", "PRAGMA foreign_keys=ON", "PRAGMA busy_timeout=10000",
		fmt.Sprintf("PRAGMA %s.cache_size=-%d", LocalSchema, tempCacheKiB), createRowset,
	} {
		if _, err := c.Exec(context.Background(), sql, nil); err != nil {
			return nil, errors.Join(err, c.close())
		}
	}
	return c, nil
}

// keepPlans makes SQLite choose plans without regard to the values of parameters, as SQL Server
// does. Otherwise it compiles a statement again for each new value that is compared with the
// condition of a partial index, which costs more than the statement itself.
func keepPlans(c *Conn) error { return configure(c, lib.SQLITE_DBCONFIG_ENABLE_QPSG, true) }

// configure sets an option of sqlite3_db_config.
func configure(c *Conn, option int32, on bool) error {
	args := libc.NewVaList(libc.Bool32(on), uintptr(0))
	if args == 0 {
		return errNoMemory
	}
	defer libc.Xfree(c.tls, args)
	if rc := lib.Xsqlite3_db_config(c.tls, c.db, option, args); rc != lib.SQLITE_OK {
		return fmt.Errorf("sqlite: set option %d: result %d", option, rc)
	}
	return nil
}

// handle reads a C pointer from an unexported field of one of the driver's objects. The driver has
// no other way to interrupt a statement without a goroutine for each, to ask whether a statement
// writes, or to step it as cheaply as [stmt.read] does.
func handle(obj any, field string) (uintptr, error) {
	v := reflect.ValueOf(obj)
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() == reflect.Struct {
		if f := v.FieldByName(field); f.Kind() == reflect.Uintptr {
			return uintptr(f.Uint()), nil
		}
	}
	return 0, fmt.Errorf("unsupported version of the sqlite driver: %T has no field %q", obj, field)
}

// tlsOf reads the thread handle of the driver's calls of SQLite, which identifies the connection to
// SQLite's mutexes.
func tlsOf(dc driver.Conn) (*libc.TLS, error) {
	v := reflect.ValueOf(dc)
	if v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.Struct {
		if f := v.Elem().FieldByName("tls"); f.IsValid() && f.Type() == reflect.TypeFor[*libc.TLS]() {
			return (*libc.TLS)(f.UnsafePointer()), nil
		}
	}
	return nil, fmt.Errorf("unsupported version of the sqlite driver: %T has no field \"tls\"", dc)
}

// SetLocal sets the session's own functions of fnv. find is called before the store's [Functions],
// and returns nil for keys that it does not know. Nil removes them, as Release does.
func (c *Conn) SetLocal(find func(key string) (Func, error)) { c.calls.local = find }

// SetMeter sets the account that pays for the functions and values of the session. Nil removes it,
// as Release does.
func (c *Conn) SetMeter(m *meter.Meter) {
	c.account.meter.Drop(c.account.blocks)
	m.Drop(-c.account.blocks) // the blocks exist already
	c.account.meter = m
}

// SetInterruptWrites decides whether canceling interrupts a writing statement at once, which rolls
// back the whole transaction. Otherwise the statement gets a short time to end first. Set it for
// transactions that end with their statement. Release sets it to false.
func (c *Conn) SetInterruptWrites(on bool) { c.interruptWrites = on }

// InTransaction reports whether a transaction is open. After an error that made SQLite roll back by
// itself (disk full, an interrupted write) it returns false.
func (c *Conn) InTransaction() bool { return c.inTransaction }

// Begin starts a transaction. It takes no lock before its first read or write.
func (c *Conn) Begin(ctx context.Context) error {
	_, err := c.Exec(ctx, "BEGIN", nil)
	if err == nil {
		c.inTransaction = true
	}
	return err
}

// Commit ends the transaction. It cannot be canceled. After an error the transaction may still be
// open.
func (c *Conn) Commit() error {
	if c.store.fault != nil && lib.Xsqlite3_txn_state(c.tls, c.db, 0) == lib.SQLITE_TXN_WRITE {
		if err := c.store.fault(); err != nil {
			return &Error{Code: lib.SQLITE_FULL, Message: err.Error(), SQL: "COMMIT", kind: ErrFull}
		}
	}
	if _, err := c.Exec(context.Background(), "COMMIT", nil); err != nil {
		return err
	}
	c.inTransaction = false
	c.Temps.commit()
	return nil
}

// Rollback undoes the transaction; without one it does nothing. Open results become invalid. It
// creates the tables of [Temps.Ensure] again that it has undone: otherwise, a batch that is rolled
// back each time would create them each time, and SQLite prepares all statements of a connection
// again after that.
func (c *Conn) Rollback() error {
	if !c.inTransaction {
		c.Temps.forget()
		return nil
	}
	undone := c.Temps.created()
	if err := c.rollback(); err != nil {
		return err
	}
	for name, ddl := range undone {
		_ = c.Temps.Ensure(context.Background(), name, ddl) // after an error, the table's next use creates it
	}
	return nil
}

// rollback undoes the transaction.
func (c *Conn) rollback() error {
	defer c.Temps.forget()
	_, err := c.Exec(context.Background(), "ROLLBACK", nil)
	if err == nil {
		c.inTransaction = false
	}
	return err
}

// checkTransaction checks whether SQLite has rolled back by itself: only then a new transaction can
// begin.
func (c *Conn) checkTransaction() {
	s, err := c.prepare("BEGIN")
	if err != nil {
		return
	}
	defer c.stmts.drop(s)
	if _, err := s.run(nil); err != nil {
		return
	}
	c.inTransaction = false
	if c.Recorder.record != nil {
		c.Recorder.record.over, c.Recorder.record.changes = true, nil
	}
	c.Temps.forget()
	if end, err := c.prepare("COMMIT"); err == nil {
		_, _ = end.run(nil)
		c.stmts.drop(end)
	}
}

// Savepoint sets a savepoint, to which RollbackTo can return.
func (c *Conn) Savepoint(ctx context.Context, name string) error {
	if !c.inTransaction {
		return errNoTransaction
	}
	_, err := c.Exec(ctx, "SAVEPOINT "+Quote(name), nil)
	if err == nil {
		c.Recorder.record.save(name)
	}
	return err
}

// errNoTransaction is the error of a savepoint outside a transaction.
var errNoTransaction = errors.New("sqlite: savepoint without a transaction")

// ReleaseSavepoint removes a savepoint and keeps the changes since.
func (c *Conn) ReleaseSavepoint(name string) error {
	_, err := c.Exec(context.Background(), "RELEASE "+Quote(name), nil)
	if err == nil {
		c.Recorder.record.release(name)
	}
	return err
}

// RollbackTo undoes the changes since a savepoint. The savepoint stays.
func (c *Conn) RollbackTo(name string) error {
	defer c.Temps.forget()
	_, err := c.Exec(context.Background(), "ROLLBACK TO "+Quote(name), nil)
	if err == nil {
		c.Recorder.record.rollBackTo(name)
	}
	return err
}

// maxCleaned limits the temporary objects that clean drops: SQLite reads all of them to drop one.
const maxCleaned = 500

// clean resets a released connection to the state of a new one. It fails if that takes longer than
// a new connection.
func (c *Conn) clean() error {
	ctx := context.Background()
	for len(c.rows) > 0 {
		if err := c.rows[len(c.rows)-1].Close(); err != nil {
			return err
		}
	}
	c.unwatch()
	c.Recorder.Stop()
	c.SetMeter(nil)
	c.calls.local, c.interruptWrites = nil, false
	c.calls.args, c.calls.cause = c.calls.args[:0], nil
	if err := c.Rollback(); err != nil {
		return err
	}
	clear(c.Temps.values) // of temporary tables, which lose their rows
	names, err := c.Temps.objects(ctx)
	if err != nil {
		return err
	}
	if len(names) > maxCleaned {
		return fmt.Errorf("%d temporary objects", len(names))
	}
	for _, sql := range names {
		if _, err := c.Exec(ctx, sql, nil); err != nil {
			return err
		}
	}
	return nil
}

// close closes the connection and frees its slot.
func (c *Conn) close() error {
	c.unwatch()
	c.Recorder.Stop()
	var errs []error
	for len(c.rows) > 0 {
		errs = append(errs, c.rows[len(c.rows)-1].Close())
	}
	errs = append(errs, c.stmts.closeAll(), c.dc.Close())
	setOwner(c, false)
	c.slot.free()
	return errors.Join(errs...)
}

// closeQuietly closes a connection that is no longer needed, and ignores errors.
func (c *Conn) closeQuietly() {
	if c.InTransaction() {
		_ = c.rollback()
	}
	_ = c.close()
}

// Quote returns a name as a SQLite identifier.
func Quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// Literal returns a SQLite string literal, for DDL, which cannot have parameters.
func Literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
