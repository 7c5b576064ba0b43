package store

import (
	"context"
	"errors"
	"fmt"

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
