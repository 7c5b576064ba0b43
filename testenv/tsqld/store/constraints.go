package store

import (
	"context"
	"errors"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// Unchecked runs fn without the enforcement of CHECK and foreign key constraints. It prepares all
// statements again before and after.
func Unchecked(ctx context.Context, c *Conn, fn func() error) error {
	if err := enforce(ctx, c, false); err != nil {
		return err
	}
	err := fn()
	return errors.Join(err, enforce(context.WithoutCancel(ctx), c, true))
}

// enforce enables or disables CHECK and foreign key constraints. It uses sqlite3_db_config, because
// PRAGMA foreign_keys has no effect inside a transaction.
func enforce(ctx context.Context, c *Conn, on bool) error {
	ignore := "ON"
	if on {
		ignore = "OFF"
	}
	if _, err := c.Exec(ctx, "PRAGMA ignore_check_constraints="+ignore, nil); err != nil {
		return err
	}
	return configure(c, lib.SQLITE_DBCONFIG_ENABLE_FKEY, on)
}

// Deferred runs fn, which changes rows in several statements, and checks foreign keys at its end
// only. A transaction must be open. Violated keys are a [ConstraintError] without a table; the
// changes of fn are then undone.
func Deferred(ctx context.Context, c *Conn, fn func() error) error {
	const point = "deferred foreign keys"
	if err := c.Savepoint(ctx, point); err != nil {
		return err
	}
	return deferForeignKeys(ctx, c, func() error {
		err := fn()
		if err == nil && foreignKeysViolated(c) {
			err = &ConstraintError{Kind: ForeignKey}
		}
		if err != nil && c.inTransaction {
			err = errors.Join(err, c.RollbackTo(point))
		}
		if c.inTransaction {
			err = errors.Join(err, c.ReleaseSavepoint(point))
		}
		return err
	})
}

// deferForeignKeys calls fn while foreign keys are checked at the end of the transaction only.
func deferForeignKeys(ctx context.Context, c *Conn, fn func() error) error {
	if _, err := c.Exec(ctx, "PRAGMA defer_foreign_keys=ON", nil); err != nil {
		return err
	}
	err := fn()
	_, perr := c.Exec(context.WithoutCancel(ctx), "PRAGMA defer_foreign_keys=OFF", nil)
	return errors.Join(err, perr)
}

// foreignKeysViolated reports whether the open transaction violates a foreign key.
func foreignKeysViolated(c *Conn) bool {
	p := libc.Xcalloc(c.tls, 2, 4) // the current and the highest value, of 4 bytes each
	if p == 0 {
		return true
	}
	defer libc.Xfree(c.tls, p)
	rc := lib.Xsqlite3_db_status(c.tls, c.db, lib.SQLITE_DBSTATUS_DEFERRED_FKS, p, p+4, 0)
	return rc != lib.SQLITE_OK || (*(**[2]int32)(unsafe.Pointer(&p)))[0] != 0
}

// FindForeignKey finds the foreign key that a statement violates, after it failed with a
// [ConstraintError] of kind ForeignKey; SQLite does not report the key. again must run the failed
// statement once more, inside the open transaction; FindForeignKey undoes its changes. tables are
// the changed tables of the database, or those that refer to them. parent is the referenced table.
// child is the referencing table, and index the number of its violated key, in the order of PRAGMA
// foreign_key_list. child is "" if the statement does not fail again.
func FindForeignKey(ctx context.Context, c *Conn, id int, tables []string, again func() error) (child, parent string, index int, err error) {
	const point = "find foreign key"
	if err := c.Savepoint(ctx, point); err != nil {
		return "", "", 0, err
	}
	err = deferForeignKeys(ctx, c, func() (err error) {
		defer func() { err = errors.Join(err, c.RollbackTo(point), c.ReleaseSavepoint(point)) }()
		if err := again(); err != nil {
			return err
		}
		for _, table := range tables {
			row, err := c.QueryRow(ctx, "PRAGMA "+alias(id)+".foreign_key_check("+Quote(table)+")", nil)
			if err != nil {
				return err
			}
			if len(row) == 4 {
				child, parent, index = row[0].(string), row[2].(string), int(row[3].(int64))
				break
			}
		}
		return nil
	})
	return child, parent, index, err
}
