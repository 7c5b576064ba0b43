package dberror

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"strings"

	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/controldb/message"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
)

var (
	// ErrUnreachable means that no server answered, that the server could not prove its identity
	// (an *mssql.EncryptionError), or that it answered that it cannot serve the database at
	// present: a failover, a secondary replica, too much load (mssql.Unavailable). The agent keeps
	// trying.
	ErrUnreachable = errors.New("the control database's server cannot be reached")
	// ErrLoginFailed means that the server refused the login (18456, mssql.RefusesLogin), or its
	// access to the database (4060, 916).
	ErrLoginFailed = errors.New("the control database's server refused the login")
	// ErrNotInstalled means that the database holds no control schema.
	ErrNotInstalled = errors.New("the control schema is not installed")
	// ErrVersionHidden means that the login may not read the version of the installed schema, which
	// needs the role jobs_agent. The public procedures and views still work, as far as the login's
	// own roles allow.
	ErrVersionHidden = errors.New("the login has no permission")
	// ErrNoRole means that the login has no role of jobagent in the control database.
	ErrNoRole = errors.New("no role in the control database")
	// ErrSchemaVersion means that the installed schema is not one with which this program works.
	// The error of a check is a *dberror.SchemaVersionError.
	ErrSchemaVersion = errors.New("the control schema is of another version")
)

// callError is an error of a call: the operation, the meaning, and the driver's error.
type callError struct {
	op       string
	sentinel error // nil when it has none
	cause    error
	text     string
	message  message.Message // text in parts, if a procedure has thrown it
}

// Error implements error.
func (e *callError) Error() string { return e.op + ": " + e.text }

// Unwrap returns the sentinel, if any, and the cause.
func (e *callError) Unwrap() []error {
	if e.sentinel == nil {
		return []error{e.cause}
	}
	return []error{e.sentinel, e.cause}
}

// Error numbers of SQL Server that have a sentinel here.
const (
	numLoginFailed      = 18456
	numCannotOpenDB     = 4060
	numNoDatabaseAccess = 916
	NumMissingProcedure = 2812
	NumInvalidObject    = 208
	numInvalidColumn    = 207
	numTooManyArguments = 8144
	numUnknownParameter = 8145
	numCannotExecuteAs  = 15517
	NumReadOnly         = 3906
)

// KindOf returns the kind of an error that a procedure has thrown; KindNone for every other error.
func KindOf(err error) Kind { return conditions[NumberOf(err)].kind }

// NumberOf returns the SQL Server error number in err's chain; 0 means that there is none.
func NumberOf(err error) int32 {
	if e, ok := ServerError(err); ok {
		return e.Number
	}
	return 0
}

// MessageOf returns the server's message of the error whose number NumberOf returns, for people who
// do not use T-SQL: what a procedure has said is without its notation. It is empty if there is
// none.
func MessageOf(err error) string { return MessageIn(err, message.Part.Plain) }

// MessageIn is [MessageOf] for a door that words the parts of what a procedure has said.
func MessageIn(err error, word func(message.Part) string) string {
	if said := Messages(err); len(said) > 0 {
		return said[0].Words(word)
	}
	e, _ := ServerError(err)
	return e.Message
}

// Messages returns what procedures have said in the errors of a chain, for a door that words it.
func Messages(err error) []message.Message {
	switch e := err.(type) { //nolint:errorlint // the walk is the chain itself
	case *callError:
		if e.message != nil {
			return []message.Message{e.message}
		}
	case interface{ Unwrap() error }:
		return Messages(e.Unwrap())
	case interface{ Unwrap() []error }:
		var list []message.Message
		for _, one := range e.Unwrap() {
			list = append(list, Messages(one)...)
		}
		return list
	}
	return nil
}

// ServerError finds the server's error in a chain, and says whether there is one. If the server
// returned several errors, the first one thrown by our procedures is used, or else the last error.
func ServerError(err error) (mssqldb.Error, bool) {
	var e mssqldb.Error
	if !errors.As(err, &e) {
		return mssqldb.Error{}, false
	}
	for _, one := range e.All {
		if _, ours := conditions[one.Number]; ours {
			return one, true
		}
	}
	return e, true
}

// ErrCallLimit is the cause of a context that ended because of [controldb.Store.WithCallLimit].
var ErrCallLimit = errors.New("no answer in time")

// TranslateCall is [Translate] for a call under ctx, whose limit may have been the reason.
func TranslateCall(ctx context.Context, op string, err error) error {
	if err != nil && context.Cause(ctx) == ErrCallLimit { //nolint:errorlint // the cause itself, never wrapped
		return &callError{
			op:       op,
			sentinel: ErrUnreachable,
			cause:    err,
			text:     fmt.Sprintf("%v; the connection was abandoned", ErrCallLimit),
		}
	}
	return Translate(op, err)
}

// Translate wraps an error of the call that op names. It adds the sentinel of the error number, a
// one-line text, and the next step. The result for nil is nil.
func Translate(op string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := ServerError(err); ok {
		if c, ours := conditions[e.Number]; ours {
			return &callError{op: op, sentinel: c.sentinel, cause: err, text: e.Message, message: message.Parse(e.Message)}
		}
		switch e.Number {
		case numLoginFailed, numCannotOpenDB, numNoDatabaseAccess:
			return &callError{op: op, sentinel: ErrLoginFailed, cause: err,
				text: fmt.Sprintf(
					"%s (error %d): check user, password and database of the connection string",
					e.Message,
					e.Number,
				)}
		case numCannotExecuteAs:
			return &callError{op: op, sentinel: ErrNoRoleUser, cause: err,
				text: fmt.Sprintf("%s: the login must be a member of jobs_front; \"jobagent db grants --role jobs_front\" prints the statements", e.Message)}
		case NumMissingProcedure, NumInvalidObject:
			return &callError{op: op, sentinel: ErrNotInstalled, cause: err,
				text: fmt.Sprintf("%s: is the control schema installed? run \"jobagent db install\", or \"jobagent db migrate\" if it is of an earlier release",
					strings.TrimSuffix(e.Message, "."))}
		case numInvalidColumn, numTooManyArguments, numUnknownParameter:
			return &callError{op: op, sentinel: ErrSchemaVersion, cause: err,
				text: fmt.Sprintf("%s: the control schema lacks what this program calls: run \"jobagent db migrate\"", strings.TrimSuffix(e.Message, "."))}
		}
		if mssql.RefusesLogin(e.Number) {
			return &callError{op: op, sentinel: ErrLoginFailed, cause: err, text: fmt.Sprintf("%s (error %d)", e.Message, e.Number)}
		}
		if mssql.Unavailable(e.Number) {
			return &callError{op: op, sentinel: ErrUnreachable, cause: err, text: unavailableText(e)}
		}
		where := ""
		if e.ProcName != "" {
			where = fmt.Sprintf(" in %s, line %d", e.ProcName, e.LineNo)
		}
		return &callError{op: op, cause: err, text: fmt.Sprintf("%s (error %d%s)", e.Message, e.Number, where)}
	}
	var encryption *mssql.EncryptionError
	if errors.As(err, &encryption) {
		return &callError{op: op, sentinel: ErrUnreachable, cause: err, text: err.Error()}
	}
	silent := errors.Is(err, mssql.ErrLoginTimeout)
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) && !silent {
		return fmt.Errorf("%s: %w", op, err)
	}
	if silent || unreachable(err) {
		return &callError{op: op, sentinel: ErrUnreachable, cause: err,
			text: fmt.Sprintf("%v: check that the server runs and that its name and port are right", err)}
	}
	return fmt.Errorf("%s: %w", op, err)
}

// UnavailableReason says in a few words, without names, why a server answered that it cannot serve
// the database at present; it is empty for every other error.
func UnavailableReason(err error) string {
	number := NumberOf(err)
	if !mssql.Unavailable(number) {
		return ""
	}
	return mssql.ClassifyNumber(number).Reason
}

// unavailableText is the text of an error of a server that cannot serve the database at present,
// with what to do.
func unavailableText(e mssqldb.Error) string {
	said := fmt.Sprintf("%s (error %d)", strings.TrimSuffix(e.Message, "."), e.Number)
	if e.Number == NumReadOnly {
		return said + ": it is a secondary replica, or was set READ_ONLY; " +
			"after a failover the name of the listener leads to the new primary within some minutes"
	}
	return said + ": a failover or too much load, which passes by itself; try again in a minute"
}

// unreachable reports whether err means that no server answered.
func unreachable(err error) bool {
	var netErr net.Error
	return errors.As(err, &netErr) || errors.Is(err, driver.ErrBadConn) ||
		mssql.Classify(err).Class == targets.ClassLostConnection
}

// NumDeadlock is SQL Server's error for a deadlock victim. The victim's transaction was rolled
// back, so the call had no effect.
const NumDeadlock = 1205

// IsDeadlock reports whether err is the error of a deadlock victim.
func IsDeadlock(err error) bool {
	var e mssqldb.Error
	return errors.As(err, &e) && e.Number == NumDeadlock
}

// IsTransient reports whether err is an error of the server that passes by itself: a failover, an
// overload, a wait for memory, a latch or a lock that took too long, or a deadlock after all
// retries.
func IsTransient(err error) bool {
	var e mssqldb.Error
	if !errors.As(err, &e) {
		return false
	}
	switch mssql.ClassifyNumber(e.Number).Class {
	case targets.ClassTransient, targets.ClassTimeout, targets.ClassDeadlock:
		return true
	}
	return false
}

// NumLockTimeout is SQL Server's error when SET LOCK_TIMEOUT has passed
// (https://learn.microsoft.com/sql/t-sql/statements/set-lock-timeout-transact-sql).
const NumLockTimeout = 1222

// IsDenied reports whether an error of the server means a missing permission: 229 and 230 on an
// object or a column, 262 in the database, 297 and 300 on the server, 371 in Azure SQL Database,
// 6004 and 15247 in general.
func IsDenied(number int32) bool {
	switch number {
	case 229, 230, 262, 297, 300, 371, 6004, 15247:
		return true
	}
	return false
}
