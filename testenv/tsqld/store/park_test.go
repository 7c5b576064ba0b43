package store

import (
	"context"
	"fmt"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// BenchmarkPark measures the prototype of two writers that DESIGN.md of the server describes: what
// recording a transaction's changes costs, and what it costs to put a transaction aside and to take
// it up again.
func BenchmarkPark(b *testing.B) {
	s, err := Open(b.Context(), Config{Dir: b.TempDir(), Functions: functions()})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, s.Close()) })
	require.NoError(b, s.Create(5))
	c, err := s.Acquire(b.Context())
	require.NoError(b, err)
	b.Cleanup(func() { s.Release(c) })
	require.NoError(b, c.Use(b.Context(), 5))
	p := parker{b: b, c: c}
	p.exec("CREATE TABLE d5.t (id INTEGER NOT NULL PRIMARY KEY, a INTEGER NOT NULL, name TEXT, v REAL)")
	p.exec("CREATE INDEX d5.i ON t (a, name)")
	p.insert(10_000)
	for _, rows := range []int64{1, 10, 1000} {
		b.Run(fmt.Sprintf("insert/rows=%d", rows), func(b *testing.B) {
			for b.Loop() {
				p.begin()
				p.insert(rows)
				p.rollback()
			}
		})
		b.Run(fmt.Sprintf("recorded/rows=%d", rows), func(b *testing.B) {
			for b.Loop() {
				p.begin()
				record := p.record()
				p.insert(rows)
				lib.Xsqlite3session_delete(c.tls, record)
				p.rollback()
			}
		})
		b.Run(fmt.Sprintf("parked/rows=%d", rows), func(b *testing.B) {
			for b.Loop() {
				p.begin()
				record := p.record()
				p.insert(rows)
				changes, size := p.changes(record)
				lib.Xsqlite3session_delete(c.tls, record)
				p.rollback()
				p.begin()
				p.apply(changes, size)
				row, err := c.QueryRow(b.Context(), "SELECT MAX(id) FROM d5.t", nil)
				require.NoError(b, err)
				require.Equal(b, p.next, row[0])
				p.rollback()
			}
		})
	}
}

// parker has the steps of BenchmarkPark.
type parker struct {
	b    *testing.B
	c    *Conn
	next int64 // key of the last row
}

func (p *parker) exec(sql string, args ...types.Value) {
	_, err := p.c.Exec(context.Background(), sql, args)
	require.NoError(p.b, err)
}

func (p *parker) begin()    { require.NoError(p.b, p.c.Begin(context.Background())) }
func (p *parker) rollback() { require.NoError(p.b, p.c.Rollback()) }

// insert inserts n rows whose keys in the index are scattered.
func (p *parker) insert(n int64) {
	for range n {
		p.next++
		p.exec("INSERT INTO d5.t (id, a, name, v) VALUES (?1, ?2, ?3, 1.5)", p.next, p.next*7919%10007, "a name of some length")
	}
}

// word is a variable of SQLite's, for results of its functions.
func (p *parker) word(fn func(at uintptr) int32) (value uintptr) {
	at := p.c.tls.Alloc(8)
	defer p.c.tls.Free(8)
	require.Zero(p.b, fn(at))
	return **(**uintptr)(unsafe.Pointer(&at))
}

// record begins to record the changes of the database (https://sqlite.org/sessionintro.html).
func (p *parker) record() (session uintptr) {
	tls := p.c.tls
	name, err := libc.CString(alias(5))
	require.NoError(p.b, err)
	defer libc.Xfree(tls, name)
	session = p.word(func(at uintptr) int32 { return lib.Xsqlite3session_create(tls, p.c.db, name, at) })
	require.Zero(p.b, lib.Xsqlite3session_attach(tls, session, 0))
	return session
}

// changes returns the recorded changes in SQLite's memory, and their size.
func (p *parker) changes(session uintptr) (buffer uintptr, size int32) {
	size = int32(p.word(func(n uintptr) int32 {
		buffer = p.word(func(at uintptr) int32 { return lib.Xsqlite3session_changeset(p.c.tls, session, n, at) })
		return 0
	}))
	return buffer, size
}

// apply makes recorded inserts again. SQLite's own function works on the database main only.
func (p *parker) apply(buffer uintptr, size int32) {
	tls := p.c.tls
	changes := p.word(func(at uintptr) int32 { return lib.Xsqlite3changeset_start(tls, at, size, buffer) })
	st, err := p.c.prepare("INSERT INTO d5.t (id, a, name, v) VALUES (?1, ?2, ?3, ?4)")
	require.NoError(p.b, err)
	for lib.Xsqlite3changeset_next(tls, changes) == lib.SQLITE_ROW {
		for i := range int32(st.params) {
			value := p.word(func(at uintptr) int32 { return lib.Xsqlite3changeset_new(tls, changes, i, at) })
			require.Zero(p.b, lib.Xsqlite3_bind_value(tls, st.p, i+1, value))
		}
		_, err := p.c.step(st)
		require.NoError(p.b, err)
		require.NoError(p.b, p.c.reset(st))
	}
	require.NoError(p.b, p.c.stmts.put(st))
	require.Zero(p.b, lib.Xsqlite3changeset_finalize(tls, changes))
	lib.Xsqlite3_free(tls, buffer)
}
