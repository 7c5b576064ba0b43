package store

import (
	"errors"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// SQLite's optimizer rewrites queries. Its test control says which rewrites a connection does without; the bits are those of
// sqliteInt.h, "Bits of the sqlite3.dbOptFlags field". DESIGN.md says which are relied on, and why others are off.
const (
	// unsound are the rewrites that give wrong rows. Count-of-view turns count(*) over a UNION ALL into a sum of one
	// count per branch, after SQLite has noted which subqueries name columns of outer queries; it does not note it of the new ones, and
	// each of them is computed once for all outer rows.
	wrongRewrites = lib.SQLITE_CountOfView
	// AllRewrites are the bits of everything that SQLite knows to do without.
	AllRewrites uint32 = lib.SQLITE_AllOpts
)

// Without turns rewrites of SQLite's optimizer off, besides those that are always off, and forgets the statements that were prepared
// with them. Tests compare what queries answer with and without; 0 turns them on again.
func (c *Conn) Without(rewrites uint32) error {
	list := libc.NewVaList(c.db, rewrites|wrongRewrites)
	if list == 0 {
		return errNoMemory
	}
	defer libc.Xfree(c.tls, list)
	lib.Xsqlite3_test_control(c.tls, lib.SQLITE_TESTCTRL_OPTIMIZATIONS, list)
	return c.stmts.closeAll()
}

// errNoMemory means that SQLite's heap is full.
var errNoMemory = errors.New("sqlite: out of memory")
