package store

import (
	"errors"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// SQLite's optimizer rewrites queries. A test control disables rewrites for a connection; the bits
// are those of sqliteInt.h, "Bits of the sqlite3.dbOptFlags field". DESIGN.md lists the rewrites
// that the server relies on, and the reasons why others are off.
const (
	// wrongRewrites are the rewrites that return wrong rows. Count-of-view turns count(*) over a
	// UNION ALL into a sum of one count per branch. SQLite has by then noted which subqueries name
	// columns of outer queries, and does not note it for the new ones, so each of them is computed
	// once for all outer rows.
	wrongRewrites = lib.SQLITE_CountOfView
	// AllRewrites are the bits of all rewrites that can be disabled.
	AllRewrites uint32 = lib.SQLITE_AllOpts
)

// Without disables rewrites of SQLite's optimizer, in addition to those that are always off, and
// drops the statements that were prepared with them. 0 enables them again. Tests compare the
// results of queries with and without rewrites.
func (c *Conn) Without(rewrites uint32) error {
	list := libc.NewVaList(c.db, rewrites|wrongRewrites)
	if list == 0 {
		return errNoMemory
	}
	defer libc.Xfree(c.tls, list)
	lib.Xsqlite3_test_control(c.tls, lib.SQLITE_TESTCTRL_OPTIMIZATIONS, list)
	return c.stmts.closeAll()
}

// errNoMemory reports that SQLite cannot allocate memory.
var errNoMemory = errors.New("sqlite: out of memory")
