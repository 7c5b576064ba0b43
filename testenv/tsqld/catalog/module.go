package catalog

import (
	"math/big"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

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
	Start      *big.Int // these four are shared and not modified; decimals have up to 38 digits
	Increment  *big.Int
	Min, Max   *big.Int
	Cycle      bool
	Cache      int // 0: NO CACHE
}

// StoredSequence is a value of a sequence as [SequenceTable] holds it: beyond 64 bits as the bytes of its digits, which SQLite does not
// take for a number.
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

// Value is a number of the sequence in its type.
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
	// SequenceTable holds sys_sequence(object_id INTEGER PRIMARY KEY, current ANY, used INTEGER): used is 0
	// until the first NEXT VALUE FOR, which returns current itself.
	SequenceTable = "sys_sequence"
	// MetaTable holds sys_meta(key TEXT PRIMARY KEY, value); the row 'rowversion' is @@DBTS as an integer.
	MetaTable = "sys_meta"
)
