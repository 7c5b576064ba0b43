package store

import (
	"fmt"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// collation is a comparison as SQLite calls it (https://www.sqlite.org/c3ref/create_collation.html): two texts by length and address.
type collation = func(_ *libc.TLS, _ uintptr, na int32, a uintptr, nb int32, b uintptr) int32

// collations are those that SQL texts may name; SQLite's own RTRIM is the binary one. They are registered here and not with
// the driver, which copies both texts twice and takes a lock of the whole process for each comparison: 250 ns instead of 20. All
// are functions without captured variables, which the garbage collector does not move or free.
var collations = map[string]collation{
	types.CollationCI: func(_ *libc.TLS, _ uintptr, na int32, a uintptr, nb int32, b uintptr) int32 {
		return int32(types.Collate(text(a, na), text(b, nb), types.CI))
	},
	types.CollationCS: func(_ *libc.TLS, _ uintptr, na int32, a uintptr, nb int32, b uintptr) int32 {
		return int32(types.Collate(text(a, na), text(b, nb), types.CS))
	},
	types.CollationDecimal: func(_ *libc.TLS, _ uintptr, na int32, a uintptr, nb int32, b uintptr) int32 {
		return int32(types.CompareDecimalText(text(a, na), text(b, nb)))
	},
}

// text is n bytes of SQLite's memory at p, for as long as the comparison lasts.
func text(p uintptr, n int32) string {
	return unsafe.String(*(**byte)(unsafe.Pointer(&p)), n)
}

// addCollations makes the collations known to a connection.
func (c *Conn) addCollations() error {
	for name, compare := range collations {
		p, err := libc.CString(name)
		if err != nil {
			return fmt.Errorf("collation %s: %w", name, err)
		}
		rc := lib.Xsqlite3_create_collation_v2(c.tls, c.db, p, lib.SQLITE_UTF8, 0, *(*uintptr)(unsafe.Pointer(&compare)), 0)
		libc.Xfree(c.tls, p)
		if rc != lib.SQLITE_OK {
			return fmt.Errorf("collation %s: sqlite answers %d", name, rc)
		}
	}
	return nil
}
