package names

import (
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Scope is the compiler's view of a session. The interpreter implements it.
type Scope interface {
	// Database returns a database by name; "" is the current database. Errors: 911 unknown, 916 no
	// access.
	Database(name string) (*catalog.Database, error)
	// DefaultSchema returns the schema that is searched before dbo for names without a schema: the
	// schema of the running procedure, or in a batch the user's default schema.
	DefaultSchema() string
	// Variable returns the type of a scalar variable or parameter. name includes the '@' and may
	// have any case.
	Variable(name string) (types.Type, bool)
	// LocalTable returns a temporary table (#x, ##x) or table variable (@x) by its name in any
	// case, or nil. The table's SQLName is a table in the schema store.LocalSchema.
	LocalTable(name string) *catalog.Table
	// IdentityInsert reports whether IDENTITY_INSERT is ON for a table.
	IdentityInsert(t *catalog.Table) bool
	// Locale returns the session's language and date order.
	Locale() types.Locale
	// Truncates reports whether character and binary values that are too long for their column are
	// truncated (SET ANSI_WARNINGS OFF).
	Truncates() bool
	// Meter returns the session's meter, which is charged for compilation; it may be nil.
	Meter() *meter.Meter
	// FiringInstead returns the object ID of the INSTEAD OF trigger whose statements are compiled,
	// 0 for none.
	FiringInstead() int32
	// FunctionDepth returns the number of running user-defined functions. Statements of a function
	// use other spools than the statement that called it.
	FunctionDepth() int
}
