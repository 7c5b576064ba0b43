package store

import (
	"fmt"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Prepared statements are bound, stepped and read by direct calls of SQLite. The driver's objects
// for that query the name and the declared type of each column whenever a statement starts, and
// take SQLite's mutex four times for each value of a row: for rows of 27 columns that is a tenth of
// the server's whole work. The driver still prepares statements and provides functions and virtual
// tables.

// stepError is an error of SQLite in a statement that is stepped here.
type stepError struct {
	code int    // extended result code
	msg  string // the driver's wording
}

// Error returns SQLite's text.
func (e *stepError) Error() string { return e.msg }

// newStepError makes an error of a result code.
func newStepError(c *Conn, rc int32) error {
	msg := libc.GoString(lib.Xsqlite3_errstr(c.tls, rc))
	if detail := libc.GoString(lib.Xsqlite3_errmsg(c.tls, c.db)); detail != msg {
		msg += ": " + detail
	}
	return &stepError{code: int(rc), msg: msg}
}

// bind binds the arguments of a statement, in memory that reset frees.
func (s *stmt) bind(args []types.Value) error {
	c := s.conn
	if len(args) < s.params {
		return fmt.Errorf("missing argument with index %d", len(args)+1)
	}
	for i, a := range args[:s.params] {
		n, rc := int32(i+1), int32(lib.SQLITE_OK)
		switch a := a.(type) {
		case nil: // reset has cleared the bindings
		case int64:
			rc = lib.Xsqlite3_bind_int64(c.tls, s.p, n, a)
		case float64:
			rc = lib.Xsqlite3_bind_double(c.tls, s.p, n, a)
		case bool:
			rc = lib.Xsqlite3_bind_int(c.tls, s.p, n, libc.Bool32(a))
		case string:
			rc = bindLong(s, n, a, lib.Xsqlite3_bind_text)
		case []byte:
			if a != nil {
				rc = bindLong(s, n, a, lib.Xsqlite3_bind_blob)
			}
		default:
			return fmt.Errorf("argument %d is of type %T", n, a)
		}
		if rc != lib.SQLITE_OK {
			return newStepError(c, rc)
		}
	}
	return nil
}

// longestValue keeps lengths within SQLite's int. SQLite's own limit is lower.
const longestValue = 1<<31 - 2

// bindLong binds a text or blob in memory that reset frees. It allocates one byte more: SQLite
// allocates nothing for 0 bytes, and a text or blob at address 0 is NULL.
func bindLong[T string | []byte](
	s *stmt, n int32, v T, bind func(_ *libc.TLS, p uintptr, n int32, at uintptr, size int32, free uintptr) int32,
) int32 {
	if len(v) > longestValue {
		return lib.SQLITE_TOOBIG
	}
	p := lib.Xsqlite3_malloc64(s.conn.tls, uint64(len(v))+1)
	if p == 0 {
		return lib.SQLITE_NOMEM
	}
	s.allocated = append(s.allocated, p)
	copy(view(p, len(v)), v)
	return bind(s.conn.tls, s.p, n, p, int32(len(v)), 0)
}

// view returns n bytes of SQLite's memory at p, valid until SQLite changes them.
func view(p uintptr, n int) []byte {
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&p)), n)
}

// step moves a statement to its next row, and reports whether there is one.
func (s *stmt) step() (row bool, err error) {
	switch rc := lib.Xsqlite3_step(s.conn.tls, s.p); rc {
	case lib.SQLITE_ROW:
		return true, nil
	case lib.SQLITE_DONE:
		return false, nil
	default:
		return false, newStepError(s.conn, rc)
	}
}

// reset ends a statement, so that it can run again. Its error, if any, repeats that of the last
// step.
func (s *stmt) reset() error {
	c := s.conn
	rc := lib.Xsqlite3_reset(c.tls, s.p)
	if s.params > 0 {
		lib.Xsqlite3_clear_bindings(c.tls, s.p) // cannot fail
	}
	for _, p := range s.allocated {
		lib.Xsqlite3_free(c.tls, p)
	}
	s.allocated = s.allocated[:0]
	if rc != lib.SQLITE_OK {
		return newStepError(c, rc)
	}
	return nil
}

// run runs a statement to its end and returns how many rows it changed.
func (s *stmt) run(args []types.Value) (int64, error) {
	err := s.bind(args)
	for more := err == nil; more; {
		more, err = s.step()
	}
	changed := lib.Xsqlite3_changes64(s.conn.tls, s.conn.db)
	if rerr := s.reset(); err == nil {
		err = rerr
	}
	return changed, err
}

// read copies the current row of a statement into row. A value that equals the one of the previous
// row is left in place: most columns of most results repeat.
//
// SQLite takes and releases its mutex for each value of a row. The values are adjacent in memory,
// and no other goroutine uses the connection. So read asks SQLite for the first value and, once,
// for the distance of two values.
//
// Long values are taken from the meter; read adds their size to held.
func (s *stmt) read(row []types.Value, held *int) error {
	c := s.conn
	if len(row) == 0 {
		return nil
	}
	v := lib.Xsqlite3_column_value(c.tls, s.p, 0)
	if s.stride == 0 && len(row) > 1 {
		s.stride = lib.Xsqlite3_column_value(c.tls, s.p, 1) - v
	}
	for i := range row {
		switch kind := lib.Xsqlite3_value_type(c.tls, v); kind {
		case lib.SQLITE_INTEGER:
			n := lib.Xsqlite3_value_int64(c.tls, v)
			if old, ok := row[i].(int64); !ok || old != n {
				row[i] = n
			}
		case lib.SQLITE_FLOAT:
			row[i] = lib.Xsqlite3_value_double(c.tls, v)
		case lib.SQLITE_NULL:
			row[i] = nil
		default: // read as a blob, because SQLite appends a zero byte to a text
			p := lib.Xsqlite3_value_blob(c.tls, v)
			n := int(lib.Xsqlite3_value_bytes(c.tls, v))
			if p == 0 && n > 0 {
				return newStepError(c, lib.SQLITE_NOMEM)
			}
			var b []byte
			if n > 0 {
				b = view(p, n)
			}
			if n > meter.Small {
				if err := c.account.meter.Take(n); err != nil {
					return c.calls.remember(err)
				}
				*held += n
			}
			if kind == lib.SQLITE_TEXT {
				if old, ok := row[i].(string); !ok || old != string(b) {
					row[i] = string(b)
				}
			} else if old, ok := row[i].([]byte); !ok || string(old) != string(b) {
				row[i] = append(make([]byte, 0, n), b...)
			}
		}
		v += s.stride
	}
	return nil
}
