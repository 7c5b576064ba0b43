package compile

import (
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Compiler compiles the statements of one scope. It keeps nothing between calls. All errors are
// *mserr.Error, without a line.
type Compiler struct{ scope Scope }

// New makes a compiler.
func New(scope Scope) *Compiler { return &Compiler{scope: scope} }

// Select compiles a query.
func (c *Compiler) Select(q syntax.Query) (*Plan, error) {
	return nil, mserr.NotSupported("SELECT")
}

// SelectInto compiles a SELECT … INTO whose table has been created from the columns of [Compiler.Select]'s
// plan: the INSERT into it. database is that of the table, 0 for a temporary one.
func (c *Compiler) SelectInto(q syntax.Query, database int, table *catalog.Table) (*DML, error) {
	return nil, mserr.NotSupported("SELECT INTO")
}

// Scalar compiles an expression, converted implicitly to a type; the zero type keeps its own. Character and
// binary values are cut to the length of the type, as in an assignment to a variable.
func (c *Compiler) Scalar(e syntax.Expr, to types.Type) (*Scalar, error) {
	return nil, mserr.NotSupported("expressions")
}

// Condition compiles the condition of IF and WHILE; its value is int64 1 or 0, or nil for unknown.
func (c *Compiler) Condition(e syntax.Expr) (*Scalar, error) {
	return nil, mserr.NotSupported("conditions")
}

// Insert compiles an INSERT, the one with EXEC excepted; see [Compiler.InsertRows].
func (c *Compiler) Insert(s *syntax.Insert) (*DML, error) { return nil, mserr.NotSupported("INSERT") }

// InsertRows compiles an INSERT whose rows come from elsewhere (INSERT … EXEC, bulk loads, table-valued
// parameters): columns are the rows' types. The statement takes one row, whose values are bound as
// Params that read Run.Row. Columns of the target come from names; nil means all that can be inserted.
func (c *Compiler) InsertRows(table *syntax.TableName, names []string, columns []types.Column) (*DML, error) {
	return nil, mserr.NotSupported("INSERT EXEC")
}

// Update compiles an UPDATE; current is the row of WHERE CURRENT OF by the fields of CursorRow, nil otherwise.
func (c *Compiler) Update(s *syntax.Update) (*DML, error) { return nil, mserr.NotSupported("UPDATE") }

// Delete compiles a DELETE.
func (c *Compiler) Delete(s *syntax.Delete) (*DML, error) { return nil, mserr.NotSupported("DELETE") }

// Merge compiles a MERGE.
func (c *Compiler) Merge(s *syntax.Merge) (*DML, error) { return nil, mserr.NotSupported("MERGE") }

// Truncate compiles TRUNCATE TABLE; resetting the identity counter is the interpreter's affair.
func (c *Compiler) Truncate(s *syntax.Truncate) (*DML, error) {
	return nil, mserr.NotSupported("TRUNCATE TABLE")
}

// Check lowers a condition on the columns of one table for a CHECK constraint or an index's WHERE: SQLite
// text over the table's own columns, without parameters. Errors: 1046 subqueries, and whatever else cannot
// stand there.
func (c *Compiler) Check(table *catalog.Table, e syntax.Expr) (string, error) {
	return "", mserr.NotSupported("CHECK")
}

// Formula lowers the expression of a computed column. sql is the text for a generated column, "" if it
// is not deterministic and must be expanded where the column is used.
func (c *Compiler) Formula(table *catalog.Table, e syntax.Expr) (t types.Type, nullable bool, sql string, err error) {
	return types.Type{}, false, "", mserr.NotSupported("computed columns")
}

// Type resolves a type as written: a system type, an alias type, or (second result) a table type.
func (c *Compiler) Type(ref syntax.TypeRef) (types.Type, *catalog.AliasType, *catalog.TableType, error) {
	return types.Type{}, nil, nil, mserr.NotSupported("types")
}

// View binds the query of a view or inline function and answers its columns, for CREATE VIEW.
func (c *Compiler) View(q syntax.Query, columns []string) ([]types.Column, error) {
	return nil, mserr.NotSupported("views")
}
