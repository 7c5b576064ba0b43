package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Conn is a connection to SQLite. It belongs to one goroutine at a time.
type Conn struct {
	store *Store
	slot  *slot
	dc    driver.Conn
	db    uintptr   // sqlite3*
	tls   *libc.TLS // SQLite's thread handle, which the driver uses too

	attached []attachment // least recently used first
	stmts    stmtCache
	rows     []*Rows // open results

	meter  *meter.Meter    // the session's; nil for none
	blocks int64           // large blocks of SQLite's memory in bytes, taken from meter
	funcs  map[string]Func // functions that this connection has used, by key
	local  func(key string) (Func, error)
	args   []types.Value // stack of arguments of running functions
	cause  error         // first error of a function during the running step

	watch           *watch
	interruptWrites bool
	inTransaction   bool

	counter *counter
	record  *Record // of the open or parked transaction; nil if it is not recorded

	panicked *Panic // panic of a function that SQLite called in the running statement
	unusable bool   // a function has panicked: the connection must not be reused

	spools map[string]spool    // temporary tables of EnsureTemp
	values map[string]any      // see Remember
	recent map[string]struct{} // keys of values that were kept in the transaction
}

// attachment is a database that is attached as d<id>.
type attachment struct {
	id, generation int
	configured     bool // its PRAGMAs are set, which is impossible inside a transaction
}

const (
	// MaxAttached is how many databases a connection can see at once (the limit of this build of
	// SQLite).
	MaxAttached = 10
	// cacheKiB limits SQLite's page cache per connection and database. The cache grows with use, so
	// small databases never fill it. A transaction that changes more pages than fit writes them to
	// disk one by one.
	cacheKiB = 8192
	// tempCacheKiB limits the memory per connection for temporary tables, and for the sorts and
	// lists that SQLite builds. Beyond it, they go to a file.
	tempCacheKiB = 8192
)

// alias is the schema name of an attached database.
func alias(id int) string { return "d" + strconv.Itoa(id) }

// openConn opens a connection without attached databases.
func openConn(s *Store) (*Conn, error) {
	c := &Conn{store: s, funcs: map[string]Func{}, spools: map[string]spool{}, values: map[string]any{}, recent: map[string]struct{}{}}
	slot, err := takeSlot(c)
	if err != nil {
		return nil, err
	}
	c.slot = slot
	c.dc, err = slot.driver.Open(":memory:?_dqs=0")
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
	c.setOwner(true)
	if err := c.Without(0); err != nil {
		return nil, errors.Join(err, c.close())
	}
	if err := c.keepPlans(); err != nil {
		return nil, errors.Join(err, c.close())
	}
	if err := c.addCollations(); err != nil {
		return nil, errors.Join(err, c.close())
	}
	if err := c.addCounter(); err != nil {
		return nil, errors.Join(err, c.close())
	}
	for _, pragma := range []string{"temp_store=FILE", fmt.Sprintf("temp.cache_size=-%d", tempCacheKiB), "foreign_keys=ON", "busy_timeout=10000", "main.cache_size=-64"} {
		if _, err := c.Exec(context.Background(), "PRAGMA "+pragma, nil); err != nil {
			return nil, errors.Join(err, c.close())
		}
	}
	return c, nil
}

// keepPlans makes SQLite choose plans without regard to the values of parameters, as SQL Server
// does. Otherwise it compiles a statement again for each new value that is compared with the
// condition of a partial index, which costs more than the statement itself.
func (c *Conn) keepPlans() error {
	args := libc.NewVaList(int32(1), uintptr(0))
	if args == 0 {
		return errors.New("out of memory")
	}
	defer libc.Xfree(c.tls, args)
	if rc := lib.Xsqlite3_db_config(c.tls, c.db, lib.SQLITE_DBCONFIG_ENABLE_QPSG, args); rc != lib.SQLITE_OK {
		return fmt.Errorf("keep the plans of statements: sqlite code %d", rc)
	}
	return nil
}

// handle reads a C pointer from an unexported field of one of the driver's objects. The driver has
// no other way to interrupt a statement without a goroutine for each, to ask whether a statement
// writes, or to step it as cheaply as [Conn.read] does.
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

// Use attaches databases as d<id>, all of them at once for the next statement. It works inside a
// transaction too: databases that the transaction has touched stay attached. The store must know
// the ids, otherwise the error matches os.ErrNotExist.
func (c *Conn) Use(ctx context.Context, ids ...int) error {
	for i, id := range ids {
		if n := len(c.attached); n > 0 && c.attached[n-1].id == id && c.attached[n-1].configured {
			if in, ok := c.store.fileState(id); ok && in.generation == c.attached[n-1].generation {
				continue // the usual case: the same database as before
			}
		}
		if err := c.use(ctx, id, ids[:i]); err != nil {
			return err
		}
	}
	return nil
}

// use attaches one database and makes it the most recently used one. The databases in keep must
// stay attached.
func (c *Conn) use(ctx context.Context, id int, keep []int) error {
	in, ok := c.store.fileState(id)
	gen := in.generation
	if !ok {
		return fmt.Errorf("database %d: %w", id, os.ErrNotExist)
	}
	i := slices.IndexFunc(c.attached, func(a attachment) bool { return a.id == id })
	var a attachment
	switch {
	case i >= 0 && c.attached[i].generation == gen:
		a = c.attached[i]
		c.attached = slices.Delete(c.attached, i, i+1)
	default:
		if i >= 0 { // dropped and created again
			if err := c.detach(ctx, i); err != nil {
				return err
			}
		}
		if len(c.attached) >= MaxAttached {
			if err := c.evict(ctx, keep); err != nil {
				return err
			}
		}
		if _, err := c.Exec(ctx, "ATTACH ?1 AS "+alias(id), []types.Value{c.store.Path(id)}); err != nil {
			return err
		}
		a = attachment{id: id, generation: gen}
	}
	var err error
	if !a.configured && !c.InTransaction() {
		err = c.configure(ctx, id, in.fresh)
		a.configured = err == nil
	}
	c.attached = append(c.attached, a)
	return err
}

// configure sets SQLite's settings per connection and database, and the journal mode of a fresh
// file.
func (c *Conn) configure(ctx context.Context, id int, fresh bool) error {
	if fresh {
		switch _, err := c.Exec(ctx, "PRAGMA "+alias(id)+".journal_mode=WAL", nil); {
		case err == nil:
			c.store.markReady(id)
		case !errors.Is(err, ErrBusy): // another connection uses the new file; the next Use tries again
			return err
		}
	}
	mode := "NORMAL"
	if c.store.temporary {
		mode = "OFF"
	}
	if _, err := c.Exec(ctx, "PRAGMA "+alias(id)+".synchronous="+mode, nil); err != nil {
		return err
	}
	_, err := c.Exec(ctx, fmt.Sprintf("PRAGMA %s.cache_size=-%d", alias(id), cacheKiB), nil)
	return err
}

// evict detaches the least recently used database that is not in keep.
func (c *Conn) evict(ctx context.Context, keep []int) error {
	var last error
	for i := range c.attached {
		if slices.Contains(keep, c.attached[i].id) {
			continue
		}
		if last = c.detach(ctx, i); last == nil {
			return nil
		}
	}
	if last == nil {
		return ErrManyDatabases
	}
	return fmt.Errorf("%w: %w", ErrManyDatabases, last)
}

// detach detaches the i-th attachment. SQLite refuses while a transaction or open rows use it.
func (c *Conn) detach(ctx context.Context, i int) error {
	if _, err := c.Exec(ctx, "DETACH "+alias(c.attached[i].id), nil); err != nil {
		return err
	}
	c.attached = slices.Delete(c.attached, i, i+1)
	return nil
}

// detachUnknown detaches databases that were dropped. The caller owns c and holds the store's lock.
func (c *Conn) detachUnknown(known map[int]fileState) error {
	for i := len(c.attached) - 1; i >= 0; i-- {
		a := c.attached[i]
		if in, ok := known[a.id]; !ok || in.generation != a.generation {
			if err := c.detach(context.Background(), i); err != nil {
				return err
			}
		}
	}
	return nil
}

// SetLocal sets the session's own functions of fnv. find is called before the store's [Functions],
// and returns nil for keys that it does not know. Nil removes them, as Release does.
func (c *Conn) SetLocal(find func(key string) (Func, error)) { c.local = find }

// SetMeter sets the account that pays for the functions and values of the session. Nil removes it,
// as Release does.
func (c *Conn) SetMeter(m *meter.Meter) {
	c.meter.Drop(c.blocks)
	m.Drop(-c.blocks) // the blocks exist already
	c.meter = m
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
	for name, s := range c.spools {
		if s.ddl != "" {
			c.spools[name] = spool{}
		}
	}
	clear(c.recent)
	return nil
}

// Rollback undoes the transaction; without one it does nothing. Open results become invalid. It
// creates the tables of EnsureTemp again that it has undone: otherwise, a batch that is rolled back
// each time would create them each time, and SQLite prepares all statements of a connection again
// after that.
func (c *Conn) Rollback() error {
	if !c.inTransaction {
		c.forget()
		return nil
	}
	undone := map[string]string{}
	for name, s := range c.spools {
		if s.ddl != "" {
			undone[name] = s.ddl
		}
	}
	if err := c.rollback(); err != nil {
		return err
	}
	for name, ddl := range undone {
		_ = c.EnsureTemp(context.Background(), name, ddl) // after an error, the table's next use creates it
	}
	return nil
}

// rollback undoes the transaction.
func (c *Conn) rollback() error {
	defer c.forget()
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
	if _, err := c.run(s, nil); err != nil {
		return
	}
	c.inTransaction = false
	if c.record != nil {
		c.record.over, c.record.changes = true, nil
	}
	c.forget()
	if end, err := c.prepare("COMMIT"); err == nil {
		_, _ = c.run(end, nil)
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
		c.record.save(name)
	}
	return err
}

// errNoTransaction is the error of a savepoint outside a transaction.
var errNoTransaction = errors.New("sqlite: savepoint without a transaction")

// ReleaseSavepoint removes a savepoint and keeps the changes since.
func (c *Conn) ReleaseSavepoint(name string) error {
	_, err := c.Exec(context.Background(), "RELEASE "+Quote(name), nil)
	if err == nil {
		c.record.release(name)
	}
	return err
}

// RollbackTo undoes the changes since a savepoint. The savepoint stays.
func (c *Conn) RollbackTo(name string) error {
	defer c.forget()
	_, err := c.Exec(context.Background(), "ROLLBACK TO "+Quote(name), nil)
	if err == nil {
		c.record.rollBackTo(name)
	}
	return err
}

// forget removes the remembered values of objects that a rollback has undone.
func (c *Conn) forget() {
	for name, s := range c.spools {
		if s.ddl != "" {
			delete(c.spools, name)
		}
	}
	for key := range c.recent {
		delete(c.values, key)
	}
	clear(c.recent)
}

// spool is a temporary table of EnsureTemp. ddl creates it; it is empty for a table that survives a
// rollback.
type spool struct{ ddl string }

// EnsureTemp runs ddl once per connection. ddl must create the temporary table called name, and
// succeed if the table exists. The table outlives the session, so that prepared statements on it
// stay valid; Release empties it but does not drop it. name must identify the table's shape.
func (c *Conn) EnsureTemp(ctx context.Context, name, ddl string) error {
	if _, ok := c.spools[name]; ok {
		return nil
	}
	if _, err := c.Exec(ctx, ddl, nil); err != nil {
		return err
	}
	c.keepTemp(name, ddl)
	return nil
}

// keepTemp notes that ddl has created a table.
func (c *Conn) keepTemp(name, ddl string) {
	if !c.inTransaction {
		ddl = ""
	}
	c.spools[name] = spool{ddl}
}

// HasTemp reports whether EnsureTemp has created a table.
func (c *Conn) HasTemp(name string) bool {
	_, ok := c.spools[name]
	return ok
}

// Temps returns the number of tables that EnsureTemp has created.
func (c *Conn) Temps() int { return len(c.spools) }

// Remember keeps a value with the connection until Release, for example the version of a temporary
// table's content. A rollback of the transaction, or to a savepoint, ends it if it was kept in the
// transaction.
func (c *Conn) Remember(key string, v any) {
	c.values[key] = v
	if c.inTransaction {
		c.recent[key] = struct{}{}
	}
}

// Recall returns the value that Remember kept, or nil.
func (c *Conn) Recall(key string) any { return c.values[key] }

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
	c.StopRecord()
	c.SetMeter(nil)
	c.local, c.interruptWrites = nil, false
	c.args, c.cause = c.args[:0], nil
	if err := c.Rollback(); err != nil {
		return err
	}
	clear(c.values) // of temporary tables, which lose their rows
	names, err := c.temporaryObjects(ctx)
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

// temporaryObjects returns the statements that drop the session's temporary tables and empty those
// of EnsureTemp.
func (c *Conn) temporaryObjects(ctx context.Context) ([]string, error) {
	rows, err := c.Query(ctx, "SELECT type, name FROM temp.sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'", nil)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		kind, name := rows.Row()[0].(string), rows.Row()[1].(string)
		if _, ok := c.spools[name]; ok {
			out = append(out, "DELETE FROM temp."+Quote(name))
			continue
		}
		out = append(out, "DROP "+kind+" temp."+Quote(name))
	}
	return out, rows.Err()
}

// close closes the connection and frees its slot.
func (c *Conn) close() error {
	c.unwatch()
	c.StopRecord()
	var errs []error
	for len(c.rows) > 0 {
		errs = append(errs, c.rows[len(c.rows)-1].Close())
	}
	errs = append(errs, c.stmts.closeAll(), c.dc.Close())
	c.setOwner(false)
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

// FindForeignKey finds the foreign key that a statement violates, after it failed with a
// [ConstraintError] of kind ForeignKey; SQLite does not report the key. again must run the failed
// statement once more, inside the open transaction; FindForeignKey undoes its changes. tables are
// the changed tables of the database, or those that refer to them. parent is the referenced table.
// child is the referencing table, and index the number of its violated key, in the order of PRAGMA
// foreign_key_list. child is "" if the statement does not fail again.
func (c *Conn) FindForeignKey(ctx context.Context, id int, tables []string, again func() error) (child, parent string, index int, err error) {
	const point = "find foreign key"
	if err := c.Savepoint(ctx, point); err != nil {
		return "", "", 0, err
	}
	defer func() {
		err = errors.Join(err, c.RollbackTo(point), c.ReleaseSavepoint(point))
		_, perr := c.Exec(context.WithoutCancel(ctx), "PRAGMA defer_foreign_keys=OFF", nil)
		err = errors.Join(err, perr)
	}()
	if _, err := c.Exec(ctx, "PRAGMA defer_foreign_keys=ON", nil); err != nil {
		return "", "", 0, err
	}
	if err := again(); err != nil {
		return "", "", 0, err
	}
	for _, table := range tables {
		row, err := c.QueryRow(ctx, "PRAGMA "+alias(id)+".foreign_key_check("+Quote(table)+")", nil)
		if err != nil {
			return "", "", 0, err
		}
		if len(row) == 4 {
			return row[0].(string), row[2].(string), int(row[3].(int64)), nil
		}
	}
	return "", "", 0, nil
}

// Quote returns a name as a SQLite identifier.
func Quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// Literal returns a SQLite string literal, for DDL, which cannot have parameters.
func Literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
