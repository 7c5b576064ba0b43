package compile

import (
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/dml"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// Delete compiles a DELETE. checked tells whether WHERE CURRENT OF requires that the row is
// unchanged since FETCH.
func (c *Compiler) Delete(s *syntax.DeleteStmt, checked bool) (d *plan.DML, err error) {
	err = c.bind(s.Hints, func(b *bind.Binder) error {
		d, err = dml.Delete(b, s, checked)
		return err
	})
	if err == nil {
		err = c.addPastPlan(d, func(c *Compiler) (*plan.DML, error) { return c.Delete(s, checked) })
	}
	return d, err
}

// Truncate compiles TRUNCATE TABLE. The interpreter resets the identity counter and raises error
// 4712 and the error for a missing ALTER permission.
func (c *Compiler) Truncate(s *syntax.TruncateStmt) (d *plan.DML, err error) {
	err = c.bind(nil, func(b *bind.Binder) error {
		d, err = dml.Truncate(b, s)
		return err
	})
	return d, err
}

// Insert compiles an INSERT other than INSERT … EXEC, for which see [Compiler.InsertRows].
func (c *Compiler) Insert(s *syntax.InsertStmt) (d *plan.DML, err error) {
	err = c.bind(s.Hints, func(b *bind.Binder) error {
		d, err = dml.Insert(b, s)
		return err
	})
	if err == nil {
		err = c.addPastPlan(d, func(c *Compiler) (*plan.DML, error) { return c.Insert(s) })
	}
	return d, err
}

// InsertRows compiles an INSERT whose rows come from the interpreter (INSERT … EXEC, bulk loads).
// The statement inserts one row, the values of tree.Run.Row.
func (c *Compiler) InsertRows(ts syntax.TableSource, rows dml.Rows) (d *plan.DML, err error) {
	err = c.bind(nil, func(b *bind.Binder) error {
		d, err = dml.InsertRows(b, ts, rows)
		return err
	})
	return d, err
}

// Merge compiles a MERGE. The joined rows of source and target are stored in the spool with the
// number of the branch that applies to each. Up to three statements then apply the branches.
func (c *Compiler) Merge(s *syntax.MergeStmt) (d *plan.DML, err error) {
	err = c.bind(s.Hints, func(b *bind.Binder) error {
		d, err = dml.Merge(b, s)
		return err
	})
	if err == nil {
		err = c.addPastPlan(d, func(c *Compiler) (*plan.DML, error) { return c.Merge(s) })
	}
	return d, err
}

// SelectInto compiles the INSERT of SELECT … INTO, after the table was created from the columns
// of [Compiler.Select]'s plan. database is the database of the table, 0 for a temporary one.
func (c *Compiler) SelectInto(
	q *syntax.Query,
	hints []*syntax.Option,
	database int,
	table *catalog.Table,
) (d *plan.DML, err error) {
	err = c.bind(hints, func(b *bind.Binder) error {
		d, err = dml.SelectInto(b, q, hints, database, table)
		return err
	})
	return d, err
}

// Update compiles an UPDATE. checked tells whether WHERE CURRENT OF requires that the row is
// unchanged since FETCH.
func (c *Compiler) Update(s *syntax.UpdateStmt, checked bool) (d *plan.DML, err error) {
	err = c.bind(s.Hints, func(b *bind.Binder) error {
		d, err = dml.Update(b, s, checked)
		return err
	})
	if err == nil {
		err = c.addPastPlan(d, func(c *Compiler) (*plan.DML, error) { return c.Update(s, checked) })
	}
	return d, err
}
