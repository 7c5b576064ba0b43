package store

import (
	"fmt"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// collation is a comparison in SQLite's form (https://www.sqlite.org/c3ref/create_collation.html):
// two texts by length and address.
type collation = func(_ *libc.TLS, _ uintptr, na int32, a uintptr, nb int32, b uintptr) int32

// The comparisons are registered here and not with the driver, which copies both texts twice and
// takes a process-wide lock for each comparison: 250 ns instead of 20. All of them are functions
// without captured variables, which the garbage collector neither moves nor frees.
var (
	// compareText compares by the collation whose number SQLite passes.
	compareText collation = func(_ *libc.TLS, number uintptr, na int32, a uintptr, nb int32, b uintptr) int32 {
		return int32(types.Collate(text(a, na), text(b, nb), types.Collation(number)))
	}
	compareDecimals collation = func(_ *libc.TLS, _ uintptr, na int32, a uintptr, nb int32, b uintptr) int32 {
		return int32(types.CompareDecimalText(text(a, na), text(b, nb)))
	}
	compareVariants collation = func(_ *libc.TLS, _ uintptr, na int32, a uintptr, nb int32, b uintptr) int32 {
		return int32(types.CompareVariantHex(text(a, na), text(b, nb)))
	}
)

// sqliteCollations are the comparisons of texts, made once.
var sqliteCollations = types.SQLiteCollations()

// text returns n bytes of SQLite's memory at p. The text is valid during the comparison only.
func text(p uintptr, n int32) string {
	return unsafe.String(*(**byte)(unsafe.Pointer(&p)), n)
}

// addCollations registers the collations that SQL texts may name. SQLite's own RTRIM is the binary
// one.
func addCollations(c *Conn) error {
	for name, number := range sqliteCollations {
		if err := addCollation(c, name, &compareText, number); err != nil {
			return err
		}
	}
	if err := addCollation(c, types.CollationVariant, &compareVariants, 0); err != nil {
		return err
	}
	return addCollation(c, types.CollationDecimal, &compareDecimals, 0)
}

// addCollation registers a collation; compare gets the number at each call.
func addCollation(c *Conn, name string, compare *collation, number types.Collation) error {
	p, err := libc.CString(name)
	if err != nil {
		return fmt.Errorf("collation %s: %w", name, err)
	}
	defer libc.Xfree(c.tls, p)
	if rc := lib.Xsqlite3_create_collation_v2(c.tls, c.db, p, lib.SQLITE_UTF8, uintptr(number), *(*uintptr)(unsafe.Pointer(compare)), 0); rc != lib.SQLITE_OK {
		return fmt.Errorf("collation %s: sqlite result %d", name, rc)
	}
	return nil
}
