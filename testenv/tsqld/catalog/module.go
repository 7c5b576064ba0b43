package catalog

import (
	"math/big"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Module is the common part of views, procedures, functions and triggers: a text that is parsed on
// first use. The settings are those of the session that created the module. They apply whenever the
// module runs.
type Module struct {
	Text             string // whole CREATE statement; ALTER and CREATE OR ALTER are replaced by CREATE
	AnsiNulls        bool
	QuotedIdentifier bool
	SchemaBound      bool
	Encrypted        bool   // WITH ENCRYPTION: the text is not shown
	ExecuteAs        string // "", "OWNER", "SELF" or a user name; CALLER is ""
	ExecuteAsID      int    // principal of SELF, as of the creation
	Memo             Memo   `json:"-"` // parsed form, cached by exec or compile
	References       Memo   `json:"-"` // cached names in the text
	// Parsed is the statement that defines the module, for all databases that were created from one
	// image; nil for others.
	Parsed *Memo `json:"-"`
	// Plans are cached plans for the definitions of the image, as Parsed.
	Plans *Memo `json:"-"`
}

// View is a user-defined view.
type View struct {
	Header
	Module
	Columns     []types.Column // as of the creation or the last refresh
	CheckOption bool
	Triggers    []*Trigger // INSTEAD OF triggers
	// DefaultSchema is the default schema of the creator. It is the schema of one-part names in the
	// text.
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

// Function is a user-defined function. Header.Kind distinguishes scalar, inline and multi-statement
// functions.
type Function struct {
	Header
	Module
	Params            []Param
	Returns           types.Type     // of a scalar function
	Columns           []types.Column // of a table-valued function
	Table             *Table         // return table of a multi-statement function, with keys, checks and defaults
	ReturnVariable    string         // name of the return table, with '@'
	ReturnsNullOnNull bool
	DefaultSchema     string
}

// TableType is a user-defined table type. Table has its columns, keys and checks, but is not an
// object itself.
type TableType struct {
	Header
	UserTypeID int
	Table      *Table
}

// AliasType is an alias type: CREATE TYPE name FROM base.
type AliasType struct {
	UserTypeID int
	SchemaID   int
	Name       string
	Type       types.Type
	Nullable   bool
}

// Sequence is a sequence object. Its current value is a row in SQLite (see [SequenceTable]).
type Sequence struct {
	Header
	Type       types.Type
	UserTypeID int
	Start      *big.Int // these four are shared and immutable; decimals have up to 38 digits
	Increment  *big.Int
	Min, Max   *big.Int
	Cycle      bool
	Cache      int // 0 means NO CACHE
}

// StoredSequence returns a value of a sequence as stored in [SequenceTable]. A value that exceeds
// 64 bits is stored as the bytes of its digits, which SQLite does not treat as a number.
func StoredSequence(v *big.Int) types.Value {
	if v.IsInt64() {
		return v.Int64()
	}
	return []byte(v.String())
}

// LoadedSequence is the inverse of [StoredSequence].
func LoadedSequence(v types.Value) *big.Int {
	switch v := v.(type) {
	case int64:
		return big.NewInt(v)
	case []byte:
		if n, ok := new(big.Int).SetString(string(v), 10); ok {
			return n
		}
	}
	return new(big.Int)
}

// Value converts a number of the sequence to the sequence's type.
func (s *Sequence) Value(n *big.Int) (types.Value, error) {
	if s.Type.ID != types.Decimal {
		return types.Convert(n.Int64(), types.BigIntType, s.Type, types.NoStyle)
	}
	v, ok := types.DecimalValue(n, s.Type)
	if !ok {
		return nil, mserr.ArithmeticOverflow("expression", "numeric")
	}
	return v, nil
}

// Synonym is a synonym of a base object. The base object need not exist.
type Synonym struct {
	Header
	Base string // name of one to four parts, as written
}

// Tables of each SQLite file that exec reads and writes directly.
const (
	// IdentityTable is sys_identity(object_id INTEGER PRIMARY KEY, last INTEGER). last is the last
	// identity value, NULL before the first. As in SQL Server a failed statement uses up its
	// values. Values are not used up if the server dies before the commit.
	IdentityTable = "sys_identity"
	// SequenceTable is sys_sequence(object_id INTEGER PRIMARY KEY, current ANY, used INTEGER). used
	// is 0 until the first NEXT VALUE FOR, which returns current itself.
	SequenceTable = "sys_sequence"
	// MetaTable is sys_meta(key TEXT PRIMARY KEY, value). The row 'rowversion' is @@DBTS as an
	// integer.
	MetaTable = "sys_meta"
)

// ModuleOf returns the module part of an object, or nil for objects without a text.
func ModuleOf(o Object) *Module {
	switch o := o.(type) {
	case *View:
		return &o.Module
	case *Procedure:
		return &o.Module
	case *Function:
		return &o.Module
	}
	return nil
}
