package exec

import (
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Param is one parameter of a remote procedure call.
type Param struct {
	Name    string // with its '@'; "" if passed by position
	Type    types.Type
	Value   types.Value
	Output  bool
	Default bool // the caller requested the parameter's default
	// TypeName, Columns and Rows are set for a table-valued parameter. TypeName is the name of its
	// table type.
	TypeName string
	Columns  []types.Column
	Rows     [][]types.Value
}

// Call is a remote procedure call. Well-known procedures such as sp_executesql and sp_prepare are
// given by name, not by number.
type Call struct {
	Proc   string
	Params []Param
}

// Isolation is the isolation level of a transaction that a transaction manager request begins, with
// the numbers of MS-TDS 2.2.6.9; 0 means the level of the session.
type Isolation = syntax.Isolation

// BulkLoad is the data of an INSERT BULK: the statement and a stream of rows.
type BulkLoad struct {
	Statement string                        // the INSERT BULK statement that announced it
	Columns   []types.Column                // from COLMETADATA of the stream
	Next      func() ([]types.Value, error) // returns the next row, io.EOF after the last
}
