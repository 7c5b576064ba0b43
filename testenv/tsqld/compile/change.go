package compile

import (
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/dml"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// Insert compiles an INSERT other than INSERT … EXEC, for which see [Compiler.InsertRows].
func (c *Compiler) Insert(s *syntax.InsertStmt) (*plan.DML, error) {
	return c.reading(s.Hints, func(b *bind.Binder) (*plan.DML, error) { return dml.Insert(b, s) })
}

// InsertRows compiles an INSERT whose rows come from the interpreter (INSERT … EXEC, bulk loads).
// The statement inserts one row, the values of tree.Run.Row.
func (c *Compiler) InsertRows(ts syntax.TableSource, rows dml.Rows) (*plan.DML, error) {
	return c.change(nil, func(b *bind.Binder) (*plan.DML, error) { return dml.InsertRows(b, ts, rows) })
}

// SelectInto compiles the INSERT of SELECT … INTO, after the table was created from the columns
// of [Compiler.Select]'s plan. database is the database of the table, 0 for a temporary one.
func (c *Compiler) SelectInto(q *syntax.Query, hints []*syntax.Option, database int, table *catalog.Table) (*plan.DML, error) {
	return c.change(hints, func(b *bind.Binder) (*plan.DML, error) { return dml.SelectInto(b, q, database, table) })
}

// Update compiles an UPDATE. checked tells whether WHERE CURRENT OF requires that the row is
// unchanged since FETCH.
func (c *Compiler) Update(s *syntax.UpdateStmt, checked bool) (*plan.DML, error) {
	return c.reading(s.Hints, func(b *bind.Binder) (*plan.DML, error) { return dml.Update(b, s, checked) })
}

// Delete compiles a DELETE. checked tells whether WHERE CURRENT OF requires that the row is
// unchanged since FETCH.
func (c *Compiler) Delete(s *syntax.DeleteStmt, checked bool) (*plan.DML, error) {
	return c.reading(s.Hints, func(b *bind.Binder) (*plan.DML, error) { return dml.Delete(b, s, checked) })
}

// Merge compiles a MERGE.
func (c *Compiler) Merge(s *syntax.MergeStmt) (*plan.DML, error) {
	return c.reading(s.Hints, func(b *bind.Binder) (*plan.DML, error) { return dml.Merge(b, s) })
}

// change compiles a statement that changes data by f.
func (c *Compiler) change(hints []*syntax.Option, f func(*bind.Binder) (*plan.DML, error)) (d *plan.DML, err error) {
	err = c.bind(hints, func(b *bind.Binder) error {
		d, err = f(b)
		return err
	})
	return d, err
}

// reading is change for a statement that also reads tables. It compiles a second plan for a
// statement that changes temporary tables or table variables. Statements that change other tables
// always wait for the lock to write.
func (c *Compiler) reading(hints []*syntax.Option, f func(*bind.Binder) (*plan.DML, error)) (*plan.DML, error) {
	d, err := c.change(hints, f)
	if err == nil && !d.NeedsPastRows && d.Database == 0 && d.IntoDatabase == 0 && c.needsPastPlan(&d.Needs) {
		d.PastPlan, err = c.forEmptyPast().change(hints, f)
	}
	return d, err
}
