package compile

import (
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// SelectInto compiles a SELECT … INTO whose table has been created from the columns of [Compiler.Select]'s
// plan: the INSERT into it. database is that of the table, 0 for a temporary one.
func (c *Compiler) SelectInto(q *syntax.Query, hints []*syntax.Option, database int, table *catalog.Table) (*DML, error) {
	return nil, mserr.NotSupported("SELECT INTO")
}

// Insert compiles an INSERT, the one with EXEC excepted; see [Compiler.InsertRows].
func (c *Compiler) Insert(s *syntax.InsertStmt) (*DML, error) {
	return nil, mserr.NotSupported("INSERT")
}

// InsertRows compiles an INSERT whose rows come from elsewhere.
func (c *Compiler) InsertRows(target syntax.TableSource, names []string, columns []types.Column) (*DML, error) {
	return nil, mserr.NotSupported("INSERT EXEC")
}

// Update compiles an UPDATE.
func (c *Compiler) Update(s *syntax.UpdateStmt) (*DML, error) {
	return nil, mserr.NotSupported("UPDATE")
}

// Delete compiles a DELETE.
func (c *Compiler) Delete(s *syntax.DeleteStmt) (*DML, error) {
	return nil, mserr.NotSupported("DELETE")
}

// Merge compiles a MERGE.
func (c *Compiler) Merge(s *syntax.MergeStmt) (*DML, error) { return nil, mserr.NotSupported("MERGE") }

// Truncate compiles TRUNCATE TABLE.
func (c *Compiler) Truncate(s *syntax.TruncateStmt) (*DML, error) {
	return nil, mserr.NotSupported("TRUNCATE TABLE")
}

// Check lowers a condition on the columns of one table for a CHECK constraint or an index's WHERE.
func (c *Compiler) Check(table *catalog.Table, e syntax.Cond) (string, error) {
	return "", mserr.NotSupported("CHECK")
}

// Formula lowers the expression of a computed column.
func (c *Compiler) Formula(table *catalog.Table, e syntax.Expr) (t types.Type, nullable bool, sql string, err error) {
	return types.Type{}, false, "", mserr.NotSupported("computed columns")
}
