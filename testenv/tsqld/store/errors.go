package store

import (
	"errors"
	"fmt"
	"strings"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// The kinds of an *[Error], for errors.Is.
var (
	ErrBusy     = errors.New("database is busy") // another connection holds SQLite's lock
	ErrFull     = errors.New("database or disk is full")
	ErrMemory   = errors.New("not enough session memory for a block of SQLite")
	ErrCorrupt  = errors.New("database file is damaged")
	ErrTooBig   = errors.New("value is too big") // over SQLite's limit of 1,000,000,000 bytes
	ErrReadOnly = errors.New("database is read-only")
	ErrIO       = errors.New("disk error")
	// ErrManyDatabases reports more than [MaxAttached] databases in one transaction or statement.
	ErrManyDatabases = fmt.Errorf("more than %d databases in one transaction or statement", MaxAttached)
)

// Error is an error of SQLite other than a constraint violation.
type Error struct {
	Code    int    // extended result code of SQLite
	Message string // SQLite's text
	SQL     string // the start of the statement, which holds no values
	kind    error
}

// Error returns SQLite's text and the statement.
func (e *Error) Error() string {
	if e.SQL == "" {
		return "sqlite: " + e.Message
	}
	return "sqlite: " + e.Message + " in: " + e.SQL
}

// Unwrap returns one of the Err variables, or nil.
func (e *Error) Unwrap() error { return e.kind }

// ConstraintKind is the kind of a violated constraint.
type ConstraintKind uint8

// The kinds of constraints. A violated primary key is Unique.
const (
	Unique ConstraintKind = iota + 1
	NotNull
	Check
	ForeignKey
	Datatype // a value of the wrong storage class for a STRICT table, a defect of the generated SQL
	Raised   // RAISE in a trigger
)

// ConstraintError is a violated constraint, with SQLite's names. The statement is undone; the
// transaction continues.
type ConstraintError struct {
	Kind    ConstraintKind
	Table   string   // t<object id>; "" if SQLite does not report it
	Columns []string // of Unique and NotNull
	// Constraint is the name of a CHECK constraint, or of a unique index over expressions. For a
	// foreign key it is empty: see [FindForeignKey].
	Constraint string
}

// Error returns the names of the constraint.
func (e *ConstraintError) Error() string {
	return fmt.Sprintf("constraint of kind %d violated: table %q columns %q constraint %q", e.Kind, e.Table, e.Columns, e.Constraint)
}

// longestSQL is how much of a statement an Error holds, in bytes.
const longestSQL = 400

// code returns the extended result code and the text of an error of SQLite; ok is false for other
// errors.
func code(err error) (code int, msg string, ok bool) {
	var step *stepError
	if errors.As(err, &step) {
		return step.code, step.msg, true
	}
	var se *sqlite.Error
	if errors.As(err, &se) {
		return se.Code(), strings.TrimSuffix(se.Error(), fmt.Sprintf(" (%d)", se.Code())), true
	}
	return 0, "", false
}

// convert turns an error of SQLite into a typed error.
func convert(err error, sql string) error {
	code, msg, ok := code(err)
	if !ok {
		return fmt.Errorf("sqlite: %w", err)
	}
	if code&0xff == lib.SQLITE_CONSTRAINT {
		return constraintError(code, msg)
	}
	if len(sql) > longestSQL {
		sql = sql[:longestSQL] + "..."
	}
	e := &Error{Code: code, Message: msg, SQL: sql}
	switch code & 0xff {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		e.kind = ErrBusy
	case lib.SQLITE_FULL:
		e.kind = ErrFull
	case lib.SQLITE_NOMEM:
		e.kind = ErrMemory
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		e.kind = ErrCorrupt
	case lib.SQLITE_TOOBIG:
		e.kind = ErrTooBig
	case lib.SQLITE_READONLY:
		e.kind = ErrReadOnly
	case lib.SQLITE_IOERR, lib.SQLITE_CANTOPEN:
		e.kind = ErrIO
	}
	return e
}

// constraintError parses the names in a message such as "constraint failed: UNIQUE constraint
// failed: t5.c1, t5.c2".
func constraintError(code int, msg string) error {
	e := &ConstraintError{}
	switch code {
	case lib.SQLITE_CONSTRAINT_UNIQUE, lib.SQLITE_CONSTRAINT_PRIMARYKEY, lib.SQLITE_CONSTRAINT_ROWID:
		e.Kind = Unique
	case lib.SQLITE_CONSTRAINT_NOTNULL:
		e.Kind = NotNull
	case lib.SQLITE_CONSTRAINT_CHECK:
		e.Kind = Check
	case lib.SQLITE_CONSTRAINT_FOREIGNKEY:
		e.Kind = ForeignKey
	case lib.SQLITE_CONSTRAINT_DATATYPE:
		e.Kind = Datatype
	default:
		e.Kind = Raised
	}
	_, detail, ok := strings.Cut(msg, " constraint failed: ")
	if !ok {
		if e.Kind == Datatype || e.Kind == Raised {
			_, e.Constraint, _ = strings.Cut(msg, ": ")
		}
		return e
	}
	switch e.Kind {
	case Check:
		e.Constraint = detail
	case Unique, NotNull:
		if name, ok := strings.CutPrefix(detail, "index "); ok {
			e.Constraint = strings.Trim(name, "'")
			break
		}
		for part := range strings.SplitSeq(detail, ", ") {
			table, column, _ := strings.Cut(part, ".")
			e.Table = table
			e.Columns = append(e.Columns, column)
		}
	}
	return e
}

// mayRollBack reports the errors after which SQLite may have rolled back the transaction (SQLite's
// documentation, "Response To Errors Within A Transaction").
func mayRollBack(err error) bool {
	code, _, _ := code(err)
	switch code & 0xff {
	case lib.SQLITE_FULL, lib.SQLITE_IOERR, lib.SQLITE_NOMEM, lib.SQLITE_BUSY, lib.SQLITE_INTERRUPT:
		return true
	}
	return false
}
