package catalog

import "github.com/jobagent/jobagent/testenv/tsqld/types"

// Module is what views, procedures, functions and triggers have in common: a text that is parsed when it
// is first used. The settings are those of the session that created it and hold whenever it runs.
type Module struct {
	Text             string // the whole CREATE statement as written, with ALTER and CREATE OR ALTER turned into CREATE
	AnsiNulls        bool
	QuotedIdentifier bool
	SchemaBound      bool
	Encrypted        bool   // WITH ENCRYPTION: the text is not shown
	ExecuteAs        string // "", "OWNER", "SELF" or a user name; CALLER is ""
	ExecuteAsID      int    // principal that SELF meant at CREATE
	Memo             Memo   `json:"-"` // exec or compile keeps the parsed form here
	References       Memo   `json:"-"` // the names in the text
}

// View is a view of a user.
type View struct {
	Header
	Module
	Columns     []types.Column // as bound when it was created or refreshed
	CheckOption bool
	// DefaultSchema is that of the user who created it, used for one-part names inside.
	DefaultSchema string
}

// Procedure is a stored procedure in T-SQL.
type Procedure struct {
	Header
	Module
	Params        []Param
	Recompile     bool
	DefaultSchema string
}

// Function is a user-defined function; Header.Kind tells scalar, inline and multi-statement ones apart.
type Function struct {
	Header
	Module
	Params            []Param
	Returns           types.Type     // of a scalar function
	Columns           []types.Column // of a table-valued one
	Table             *Table         // the return table of a multi-statement function: keys, checks, defaults
	ReturnVariable    string         // its name, with '@'
	ReturnsNullOnNull bool
	DefaultSchema     string
}

// TableType is a user-defined table type. Its shape has keys and checks, but is no table that can be named.
type TableType struct {
	Header
	UserTypeID int
	Table      *Table
}

// AliasType is CREATE TYPE name FROM base.
type AliasType struct {
	UserTypeID int
	SchemaID   int
	Name       string
	Type       types.Type
	Nullable   bool
	OwnerID    int
}

// Sequence is a sequence object; its current value is a row of SQLite (see [SequenceTable]).
type Sequence struct {
	Header
	Type       types.Type
	UserTypeID int
	Start      int64
	Increment  int64
	Min, Max   int64
	Cycle      bool
	Cache      int // 0: NO CACHE
}

// Synonym is a synonym of a base object, which need not exist.
type Synonym struct {
	Header
	Base string // as written, of one to four parts
}

// SystemTables of SQLite that exec reads and writes directly, in each database's file.
const (
	// IdentityTable holds sys_identity(object_id INTEGER PRIMARY KEY, last INTEGER): the last identity value given
	// out, NULL before the first. As in SQL Server a value is used up even if its statement fails, but
	// not if the server dies before the commit.
	IdentityTable = "sys_identity"
	// SequenceTable holds sys_sequence(object_id INTEGER PRIMARY KEY, current INTEGER, used INTEGER): used is 0
	// until the first NEXT VALUE FOR, which returns current itself.
	SequenceTable = "sys_sequence"
	// MetaTable holds sys_meta(key TEXT PRIMARY KEY, value); the row 'rowversion' is @@DBTS as an integer.
	MetaTable = "sys_meta"
)
