package dml

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/cursor"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/expr"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/lower"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// whereOf binds WHERE, or WHERE CURRENT OF a cursor.
func (m *modification) whereOf(d *plan.DML, c syntax.Cond, cursor *syntax.CursorRef, checked bool) (*tree.Node, error) {
	if cursor != nil {
		return m.position(d, checked)
	}
	return m.where(c)
}

// position returns the condition of WHERE CURRENT OF and describes it in the plan. checked tells
// whether the row must be unchanged; otherwise only its key must be the same. Errors: 16962 for
// the rows of an INSTEAD OF trigger of a view.
func (m *modification) position(d *plan.DML, checked bool) (*tree.Node, error) {
	if m.instead != nil && m.src.View != nil {
		return nil, mserr.NotUpdatableByCursor()
	}
	base, err := m.identified()
	if err != nil {
		return nil, err
	}
	p := &plan.Position{ObjectID: m.table.ObjectID, DatabaseID: m.databaseID(), Checked: checked}
	if v := m.src.View; v != nil {
		p.ObjectID, p.DatabaseID = v.ObjectID, m.src.DatabaseID
	}
	var keys int
	p.Identity, keys = cursor.IdentityColumns(base)
	where, err := expr.Compare("=", m.rid, cursor.PlaceValue(0, types.BigIntType))
	if err != nil {
		return nil, err
	}
	for i, id := range p.Identity {
		if !checked && i >= keys {
			break
		}
		n, err := m.old(base.ColumnByID(id))
		if err != nil {
			return nil, err
		}
		where = tree.And(where, sameValue(n, cursor.PlaceValue(1+i, n.Type)))
	}
	d.Position = p
	p.Read, err = m.readIdentity(base, p.Identity)
	return where, err
}

// identified returns the table whose rows are changed, with its indexes. That of an INSTEAD OF
// trigger has none.
func (m *modification) identified() (*catalog.Table, error) {
	if m.instead == nil {
		return m.table, nil
	}
	if t, ok := m.instead.Object.(*catalog.Table); ok {
		return t, nil
	}
	return nil, mserr.NotUpdatableByCursor()
}

// sameValue returns the condition that a column has exactly a value, whatever its collation.
func sameValue(n, value *tree.Node) *tree.Node {
	exact := types.BigIntType // SQLite compares by the values themselves
	column := tree.Build(tree.OpSQL, exact, n)
	column.Name, column.Traits = " COLLATE BINARY", column.Traits|tree.HasColumn
	same := tree.Build(tree.OpDistinct, types.BitType, column, value.Retyped(exact))
	same.Name, same.Null = "IS", false
	return same
}

// noteRowID prepares the statement that returns the new rowid of the row of WHERE CURRENT OF, if a
// key that is the rowid is changed.
func (m *modification) noteRowID(d *plan.DML, values []setting, where *tree.Node) error {
	i := slices.IndexFunc(values, func(v setting) bool { return v.c == m.table.RowIDColumn() })
	if d.Position == nil || i < 0 || values[i].n.Traits&(tree.HasPerRow|tree.HasSequence) != 0 {
		return nil
	}
	q, err := m.rows(where, nil)
	if err != nil {
		return err
	}
	q.Add(values[i].n, tree.ResultColumn{Type: values[i].c.Type})
	r := &lower.Renderer{}
	r.Query(q)
	d.Position.NewRowID, err = r.Statement()
	return err
}

// readIdentity returns the statement that reads the identity of a row of a table by its rowid.
func (m *modification) readIdentity(t *catalog.Table, identity []int) (plan.Statement, error) {
	src := &tree.Source{Alias: m.b.Alias("t"), Base: t, Table: m.sql(), Names: t.Names()}
	m.b.TableColumns(src, m.db, t)
	row := cursor.TableOf(src, false)
	same, err := expr.Compare("=", row.RowID, cursor.PlaceValue(0, types.BigIntType))
	if err != nil {
		return plan.Statement{}, err
	}
	q := &tree.Query{Core: &tree.Core{From: src, Where: same}}
	q.Add(row.RowID, tree.ResultColumn{Type: types.BigIntType})
	for i := range identity {
		q.Add(row.Values[i], tree.ResultColumn{Type: row.Values[i].Type, Null: true})
	}
	r := &lower.Renderer{}
	r.Query(q)
	return r.Statement()
}
