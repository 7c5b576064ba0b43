package store

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"github.com/jobagent/jobagent/testenv/tsqld/meter"
)

// SQLite's own memory limit covers the whole process, and fails whichever connection allocates
// next. So its allocator is replaced by one that counts. Large blocks hold values, rows, statements
// and sorts: each counts against the session whose connection allocates it, and is refused if the
// session has no room. Small blocks are not counted: they are page caches, which are limited by
// their number, and the base memory of each connection.

// largeBlock is the smallest counted block in bytes.
const largeBlock = 32 << 10

// account counts the large blocks of a connection.
type account struct {
	meter  *meter.Meter // the session's; nil for none
	blocks int64        // bytes taken from meter
}

// memMethods is sqlite3_mem_methods.
type memMethods struct {
	malloc, free, realloc, size, roundup, init, shutdown, data uintptr
}

// allocator is SQLite's own allocator, and the accounts of connections by thread handle.
var allocator struct {
	once sync.Once
	err  error
	own  memMethods

	mu       sync.RWMutex
	accounts map[*libc.TLS]*account
}

// countMemory replaces SQLite's allocator, once for the process and before SQLite's first use.
func countMemory() error {
	a := &allocator
	a.once.Do(func() {
		a.accounts = map[*libc.TLS]*account{}
		tls := libc.NewTLS()
		defer tls.Close()
		size := uint64(unsafe.Sizeof(a.own))
		methods := libc.Xcalloc(tls, 1, libc.Tsize_t(size)) // SQLite copies it
		arg := libc.Xcalloc(tls, 1, libc.Tsize_t(unsafe.Sizeof(methods)))
		if methods == 0 || arg == 0 {
			a.err = errors.New("cannot allocate the methods of sqlite's allocator")
			return
		}
		defer libc.Xfree(tls, methods)
		defer libc.Xfree(tls, arg)
		if rc := lib.Xsqlite3_config(tls, lib.SQLITE_CONFIG_GETMALLOC, libc.VaList(arg, methods)); rc != lib.SQLITE_OK {
			a.err = fmt.Errorf("cannot read sqlite's allocator: result %d; open the store before other uses of sqlite", rc)
			return
		}
		m := (*memMethods)(unsafe.Pointer(&view(methods, int(size))[0]))
		a.own = *m
		m.malloc = functionPointer(countedMalloc)
		m.free = functionPointer(countedFree)
		m.realloc = functionPointer(countedRealloc)
		if rc := lib.Xsqlite3_config(tls, lib.SQLITE_CONFIG_MALLOC, libc.VaList(arg, methods)); rc != lib.SQLITE_OK {
			a.err = fmt.Errorf("cannot replace sqlite's allocator: result %d; open the store before other uses of sqlite", rc)
		}
	})
	return a.err
}

// functionPointer returns a function in the form of SQLite's structures. f must not be a closure.
func functionPointer(f any) uintptr {
	type words [2]uintptr
	return (*words)(unsafe.Pointer(&f))[1]
}

// function is the inverse of functionPointer.
func function[F any](p *uintptr) F { return *(*F)(unsafe.Pointer(p)) }

// countedMalloc is xMalloc.
func countedMalloc(tls *libc.TLS, n int32) uintptr {
	a := &allocator
	malloc := function[func(*libc.TLS, int32) uintptr](&a.own.malloc)
	if n < largeBlock {
		return malloc(tls, n)
	}
	of := owner(tls)
	if !of.grow(int(n)) {
		return 0
	}
	p := malloc(tls, n)
	if p == 0 {
		of.shrink(int(n))
		return 0
	}
	of.shrink(int(n) - blockSize(tls, p))
	return p
}

// countedFree is xFree.
func countedFree(tls *libc.TLS, p uintptr) {
	a := &allocator
	if n := blockSize(tls, p); n >= largeBlock {
		owner(tls).shrink(n)
	}
	function[func(*libc.TLS, uintptr)](&a.own.free)(tls, p)
}

// countedRealloc is xRealloc.
func countedRealloc(tls *libc.TLS, p uintptr, n int32) uintptr {
	a := &allocator
	realloc := function[func(*libc.TLS, uintptr, int32) uintptr](&a.own.realloc)
	old := blockSize(tls, p)
	if old < largeBlock && n < largeBlock {
		return realloc(tls, p, n)
	}
	if old < largeBlock {
		old = 0
	}
	of := owner(tls)
	if !of.grow(int(n)) { // both blocks exist during the copy
		return 0
	}
	q := realloc(tls, p, n)
	if q == 0 {
		of.shrink(int(n))
		return 0
	}
	size := blockSize(tls, q)
	if size < largeBlock {
		size = 0
	}
	of.shrink(old + int(n) - size)
	return q
}

// blockSize returns the size of a block.
func blockSize(tls *libc.TLS, p uintptr) int {
	return int(function[func(*libc.TLS, uintptr) int32](&allocator.own.size)(tls, p))
}

// owner returns the account of a thread handle; nil for none, for example while a connection is
// opened.
func owner(tls *libc.TLS) *account {
	a := &allocator
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.accounts[tls]
}

// setOwner registers or removes the account of a connection as that of its thread handle.
func setOwner(c *Conn, on bool) {
	a := &allocator
	a.mu.Lock()
	defer a.mu.Unlock()
	if on {
		a.accounts[c.tls] = &c.account
	} else {
		delete(a.accounts, c.tls)
	}
}

// grow takes n bytes from the session's account. It returns false if there is no room.
func (a *account) grow(n int) bool {
	if a == nil {
		return true
	}
	if a.meter.Hold(int64(n)) != nil {
		return false
	}
	a.blocks += int64(n)
	return true
}

// shrink returns n bytes to the session's account.
func (a *account) shrink(n int) {
	if a != nil {
		a.blocks -= int64(n)
		a.meter.Drop(int64(n))
	}
}
