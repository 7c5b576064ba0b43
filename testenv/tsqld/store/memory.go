package store

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// SQLite has one limit of its memory for the whole process, at which it fails whoever asks next. So its allocator is replaced by one
// that counts: large blocks, of which values, rows, statements and sorts are made, are the session's on whose connection they
// are asked for, and are refused where the session has no room for them. Small blocks are the caches of pages, which are bounded by
// their number, and what every connection needs.

// largeBlock is the size in bytes from which on a block is counted.
const largeBlock = 32 << 10

// memMethods is sqlite3_mem_methods.
type memMethods struct {
	malloc, free, realloc, size, roundup, init, shutdown, data uintptr
}

// allocator is SQLite's own one, and who has connections.
var allocator struct {
	once sync.Once
	err  error
	own  memMethods

	mu    sync.RWMutex
	conns map[*libc.TLS]*Conn
}

// countMemory replaces SQLite's allocator, once for the process, before its first use.
func countMemory() error {
	a := &allocator
	a.once.Do(func() {
		a.conns = map[*libc.TLS]*Conn{}
		tls := libc.NewTLS()
		defer tls.Close()
		size := uint64(unsafe.Sizeof(a.own))
		methods := libc.Xcalloc(tls, 1, libc.Tsize_t(size)) // SQLite copies it
		arg := libc.Xcalloc(tls, 1, libc.Tsize_t(unsafe.Sizeof(methods)))
		if methods == 0 || arg == 0 {
			a.err = errors.New("no memory for the methods of sqlite's allocator")
			return
		}
		defer libc.Xfree(tls, methods)
		defer libc.Xfree(tls, arg)
		if rc := lib.Xsqlite3_config(tls, lib.SQLITE_CONFIG_GETMALLOC, libc.VaList(arg, methods)); rc != lib.SQLITE_OK {
			a.err = fmt.Errorf("sqlite's allocator cannot be read: result %d; open the store before anything else uses sqlite", rc)
			return
		}
		m := (*memMethods)(unsafe.Pointer(&view(methods, int(size))[0]))
		a.own = *m
		m.malloc = functionPointer(countedMalloc)
		m.free = functionPointer(countedFree)
		m.realloc = functionPointer(countedRealloc)
		if rc := lib.Xsqlite3_config(tls, lib.SQLITE_CONFIG_MALLOC, libc.VaList(arg, methods)); rc != lib.SQLITE_OK {
			a.err = fmt.Errorf("sqlite's allocator cannot be replaced: result %d; open the store before anything else uses sqlite", rc)
		}
	})
	return a.err
}

// functionPointer is what stands for a function in SQLite's structures. f must not be a closure.
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
	c := owner(tls)
	if !c.grow(int(n)) {
		return 0
	}
	p := malloc(tls, n)
	if p == 0 {
		c.shrink(int(n))
		return 0
	}
	c.shrink(int(n) - blockSize(tls, p))
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
	c := owner(tls)
	if !c.grow(int(n)) { // there are both while one is copied
		return 0
	}
	q := realloc(tls, p, n)
	if q == 0 {
		c.shrink(int(n))
		return 0
	}
	size := blockSize(tls, q)
	if size < largeBlock {
		size = 0
	}
	c.shrink(old + int(n) - size)
	return q
}

// blockSize is the size of a block.
func blockSize(tls *libc.TLS, p uintptr) int {
	return int(function[func(*libc.TLS, uintptr) int32](&allocator.own.size)(tls, p))
}

// owner is the connection that calls SQLite as tls; nil for none, while one is opened for example.
func owner(tls *libc.TLS) *Conn {
	a := &allocator
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.conns[tls]
}

// own makes the connection the one that calls SQLite as its tls, or takes that back.
func (c *Conn) setOwner(on bool) {
	a := &allocator
	a.mu.Lock()
	defer a.mu.Unlock()
	if on {
		a.conns[c.tls] = c
	} else {
		delete(a.conns, c.tls)
	}
}

// grow counts n bytes of SQLite's, and reports whether the session may have them.
func (c *Conn) grow(n int) bool {
	if c == nil {
		return true
	}
	if c.meter.Hold(int64(n)) != nil {
		return false
	}
	c.blocks += int64(n)
	return true
}

// shrink takes n bytes back that grow has counted.
func (c *Conn) shrink(n int) {
	if c != nil {
		c.blocks -= int64(n)
		c.meter.Drop(int64(n))
	}
}
