package store

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// Unchecked runs fn without the enforcement of CHECK and foreign key constraints. It prepares all
// statements again before and after.
func (c *Conn) Unchecked(ctx context.Context, fn func() error) error {
	if err := c.enforce(ctx, false); err != nil {
		return err
	}
	err := fn()
	return errors.Join(err, c.enforce(context.WithoutCancel(ctx), true))
}

// enforce enables or disables CHECK and foreign key constraints. It uses sqlite3_db_config, because
// PRAGMA foreign_keys has no effect inside a transaction.
func (c *Conn) enforce(ctx context.Context, on bool) error {
	ignore := "ON"
	if on {
		ignore = "OFF"
	}
	if _, err := c.Exec(ctx, "PRAGMA ignore_check_constraints="+ignore, nil); err != nil {
		return err
	}
	args := libc.NewVaList(libc.Bool32(on), uintptr(0))
	if args == 0 {
		return errors.New("sqlite: out of memory")
	}
	defer libc.Xfree(c.tls, args)
	if rc := lib.Xsqlite3_db_config(c.tls, c.db, lib.SQLITE_DBCONFIG_ENABLE_FKEY, args); rc != lib.SQLITE_OK {
		return fmt.Errorf("sqlite: enforce foreign keys: %d", rc)
	}
	return nil
}

// Deferred runs fn, which changes rows in several statements, and checks foreign keys at its end
// only. A transaction must be open. Violated keys are a [ConstraintError] without a table; the
// changes of fn are then undone.
func (c *Conn) Deferred(ctx context.Context, fn func() error) (err error) {
	const point = "deferred foreign keys"
	if err := c.Savepoint(ctx, point); err != nil {
		return err
	}
	if _, err := c.Exec(ctx, "PRAGMA defer_foreign_keys=ON", nil); err != nil {
		return err
	}
	if err = fn(); err == nil && c.foreignKeysViolated() {
		err = &ConstraintError{Kind: ForeignKey}
	}
	if err != nil && c.InTransaction() {
		err = errors.Join(err, c.RollbackTo(point))
	}
	if c.InTransaction() {
		err = errors.Join(err, c.ReleaseSavepoint(point))
	}
	_, perr := c.Exec(context.WithoutCancel(ctx), "PRAGMA defer_foreign_keys=OFF", nil)
	return errors.Join(err, perr)
}

// foreignKeysViolated reports whether the open transaction violates a foreign key.
func (c *Conn) foreignKeysViolated() bool {
	p := libc.Xcalloc(c.tls, 2, 4) // the current and the highest value, of 4 bytes each
	if p == 0 {
		return true
	}
	defer libc.Xfree(c.tls, p)
	rc := lib.Xsqlite3_db_status(c.tls, c.db, lib.SQLITE_DBSTATUS_DEFERRED_FKS, p, p+4, 0)
	return rc != lib.SQLITE_OK || (*(**[2]int32)(unsafe.Pointer(&p)))[0] != 0
}
