package exec

import (
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Sink receives what a request produces, in the order in which a client must see it. The interpreter
// owns the interface; the connection implements it. An error from a method means that the client is
// gone: the interpreter stops the request and returns that error.
//
// Slices passed to a method belong to the interpreter and may be reused after the call.
type Sink interface {
	// Columns starts a result set. Rows that follow belong to it until its Done.
	Columns(cols []types.Column) error
	// Row sends one row of the current result set, one value per column.
	Row(vals []types.Value) error
	// Done ends a statement.
	Done(d Done) error
	// Message sends an error (Class over 10) or an informational message (PRINT, RAISERROR up to 10).
	Message(m *mserr.Error) error
	// ReturnStatus sends the return code of a procedure.
	ReturnStatus(code int32) error
	// ReturnValue sends the final value of an OUTPUT parameter of an RPC request; ordinal counts the request's parameters from 0.
	ReturnValue(ordinal int, name string, t types.Type, v types.Value) error
	// EnvChange tells the client about a change of its session.
	EnvChange(c EnvChange) error
}

// Done ends one statement of a batch or procedure. The final DONE of a request is the connection's business.
type Done struct {
	Rows    int64   // rows affected or returned, when Count is set
	Count   bool    // Rows is to be shown (not under SET NOCOUNT ON, not for statements without a count)
	Error   bool    // the statement ended in an error (its Message was sent before)
	InProc  bool    // inside a procedure or dynamic SQL: DONEINPROC instead of DONE
	Command Command // the kind of statement (DONE's CurCmd)
	EndProc bool    // a procedure called by RPC has ended (DONEPROC)
}

// EnvKind is the kind of an [EnvChange].
type EnvKind uint8

// The changes that clients are told of (MS-TDS 2.2.7.9 ENVCHANGE).
const (
	EnvDatabase     EnvKind = iota + 1 // type 1: New and Old are database names
	EnvLanguage                        // type 2
	EnvBeginTran                       // type 8: Descriptor is the new transaction
	EnvCommitTran                      // type 9: Descriptor is the one that ended
	EnvRollbackTran                    // type 10
	EnvResetAck                        // type 18: the connection was reset
)

// EnvChange is a change of the session that the client keeps track of.
type EnvChange struct {
	Kind       EnvKind
	New, Old   string // database or language
	Descriptor uint64 // transaction descriptor, never 0 while a transaction is open
}

// Param is one parameter of a remote procedure call.
type Param struct {
	Name    string // with its '@'; empty when passed by position
	Type    types.Type
	Value   types.Value
	Output  bool
	Default bool // the caller asked for the parameter's default
	// Rows and Columns are set for a table-valued parameter, and TypeName names its table type.
	TypeName string
	Columns  []types.Column
	Rows     [][]types.Value
}

// Call is a remote procedure call: a procedure by name (sp_executesql, sp_prepare and the other
// well-known ones come under their names, not their numbers) and its parameters.
type Call struct {
	Proc   string
	Params []Param
}

// Isolation is the level of a transaction that a client asked for by a transaction manager request; 0 keeps the session's.
type Isolation uint8

// Isolation levels, numbered as in MS-TDS 2.2.6.9.
const (
	ReadUncommitted Isolation = iota + 1
	ReadCommitted
	RepeatableRead
	Serializable
	Snapshot
)

// BulkLoad is an INSERT BULK: where the rows go, and the rows themselves as they come off the wire.
type BulkLoad struct {
	Statement string                        // the INSERT BULK statement that announced it
	Columns   []types.Column                // as COLMETADATA of the stream gave them
	Next      func() ([]types.Value, error) // the next row, io.EOF after the last
}
