package compile

import (
	"github.com/jobagent/jobagent/testenv/tsqld/builtin"
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Scope is what a statement sees of its session when it is compiled. The interpreter implements it.
type Scope interface {
	// Database finds a database by name, "" being the current one. Errors: 911 unknown, 916 no access.
	Database(name string) (*catalog.Database, error)
	// DefaultSchema is where names without a schema are looked up first (before dbo): the schema of the
	// running procedure, in a batch the default schema of the user.
	DefaultSchema() string
	// Variable is the type of a scalar variable or parameter; name has its '@' and any case.
	Variable(name string) (types.Type, bool)
	// LocalTable is a temporary table (#x, ##x) or table variable (@x) by name in any case; nil if there is
	// none. Its SQLName is a table in SQLite's temp schema.
	LocalTable(name string) *catalog.Table
	// IdentityInsert reports whether IDENTITY_INSERT is ON for a table.
	IdentityInsert(t *catalog.Table) bool
	// Locale is the language and the date order of the session.
	Locale() types.Locale
	// Cuts tells whether texts and bytes that are too long for their column are cut (SET ANSI_WARNINGS OFF).
	Cuts() bool
	// Meter is the account of the session, nil for none: what is compiled is taken from it.
	Meter() *meter.Meter
	// FunctionDepth is how many user-defined functions are running, so that statements of a function do not
	// use the spools of the statement that calls it.
	FunctionDepth() int
}

// Frame is what expressions see of their session when they are evaluated. The interpreter implements it.
type Frame interface {
	// Variable is the value of a variable; name is as the statement wrote it.
	Variable(name string) types.Value
	// Env serves the session's built-in functions.
	Env() builtin.Env
	// Meter is the account of the session, nil for none.
	Meter() *meter.Meter
	// Call computes a function that only the interpreter knows: see the Local constants.
	Call(key string, args []types.Value) (types.Value, error)
}

// Keys of functions that belong to the interpreter begin with one of these, followed by fields separated
// by '|'. They reach it through [Frame.Call], or as keys of SQLite's fnv for which the interpreter's
// function of store.Conn.SetLocal must answer (asking [EnvFunc] first).
const (
	// LocalFunction calls a scalar function: udf|<database id>|<object id>. Arguments are in the types of the
	// parameters, defaults filled in; nil stands for NULL.
	LocalFunction = "udf|"
	// LocalTableFunction runs a multi-statement table-valued function: tvf|<database id>|<object id>. The result
	// is [EncodeRows] of its rows.
	LocalTableFunction = "tvf|"
	// LocalSequence is NEXT VALUE FOR: seq|<database id>|<object id>, followed by |<n> where each row has n references to the
	// sequence, all of which get one value. The result has the sequence's type.
	LocalSequence = "seq|"
	// LocalIdentity is its argument, an identity value that a statement inserts explicitly; see [DML.IdentityGiven].
	LocalIdentity = "given identity"
	// LocalRowVersion is a new rowversion (8 bytes) of a database: rv|<database id>, 0 for tempdb.
	LocalRowVersion = "rv|"
)
