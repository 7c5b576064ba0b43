package answer

import (
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Sink receives the output of a request in the order in which the client must see it. The
// interpreter owns the interface, and the connection implements it. An error from a method means
// that the client has disconnected: the interpreter stops the request and returns the error.
//
// Slices passed to a method belong to the interpreter, which may reuse them after the call.
type Sink interface {
	// Columns starts a result set. The rows that follow belong to the result set until its Done.
	Columns(cols []types.Column) error
	// Row sends one row of the current result set, one value per column.
	Row(vals []types.Value) error
	// Done ends a statement.
	Done(d Done) error
	// Message sends an error (Class over 10) or an informational message (PRINT, or RAISERROR with
	// a severity up to 10).
	Message(m *mserr.Error) error
	// ReturnStatus sends the return code of a procedure.
	ReturnStatus(code int32) error
	// ReturnValue sends the final value of an OUTPUT parameter of an RPC request. ordinal is the
	// position of the parameter in the request, from 0.
	ReturnValue(ordinal int, name string, t types.Type, v types.Value) error
	// EnvChange reports a change of the session to the client.
	EnvChange(c EnvChange) error
}

// Done ends one statement of a batch or procedure. The connection sends the final DONE of a
// request.
type Done struct {
	Rows    int64   // rows affected or returned, when Count is set
	Count   bool    // Rows is valid; false under SET NOCOUNT ON and for statements without a count
	Error   bool    // the statement failed; its Message was sent before
	InProc  bool    // inside a procedure or dynamic SQL: DONEINPROC instead of DONE
	Command Command // kind of the statement (CurCmd of DONE)
	EndProc bool    // a procedure called by RPC has ended (DONEPROC)
}

// EnvKind is the kind of an [EnvChange].
type EnvKind uint8

// The kinds of changes that clients are told about (MS-TDS 2.2.7.9 ENVCHANGE).
const (
	EnvDatabase     EnvKind = iota + 1 // type 1: New and Old are database names; also type 7
	EnvLanguage                        // type 2
	EnvBeginTran                       // type 8: Descriptor is the new transaction
	EnvCommitTran                      // type 9: Descriptor is the transaction that ended
	EnvRollbackTran                    // type 10
	EnvResetAck                        // type 18: the connection was reset
)

// EnvChange is a change of the session that clients track.
type EnvChange struct {
	Kind     EnvKind
	New, Old string // database or language
	// NewCollation and OldCollation are those of the databases.
	NewCollation, OldCollation types.Collation
	Descriptor                 uint64 // transaction descriptor, never 0 while a transaction is open
}
