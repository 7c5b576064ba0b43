package compile

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/expr"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/lower"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// placeTerm is an item of the total order of a dynamic cursor's rows: those of ORDER BY, and then
// the rowids of all tables.
type placeTerm struct {
	n    *tree.Node
	at   int // index of its value in a place
	desc bool
}

// current limits a query to the row of a place. The rows of a keyset cursor are found by their
// keys and need not meet the conditions of WHERE any longer.
func current(q *tree.Query, kind plan.CursorKind, tables []*cursorTable) (*tree.Query, error) {
	q.Order, q.Limit, q.Offset, q.Percent, q.Ties = nil, nil, nil, false, false
	if kind == plan.CursorKeyset {
		q.Core.Where = nil
	}
	for _, t := range tables {
		same, err := expr.DistinctFrom(t.rowid, placeValue(t.At, types.BigIntType), true)
		if kind == plan.CursorKeyset {
			same, err = t.sameKey()
		}
		if err != nil {
			return nil, err
		}
		q.Core.Where = tree.And(q.Core.Where, same)
	}
	return q, nil
}

// sameKey returns the condition that a row of the table has the key of a place.
func (t *cursorTable) sameKey() (*tree.Node, error) {
	var all *tree.Node
	for i, n := range t.identity[:t.keys] {
		key := placeValue(t.At+1+i, n.Type)
		var same *tree.Node
		var err error
		if n.Null {
			same, err = expr.DistinctFrom(n, key, true)
		} else {
			same, err = expr.Compare("=", n, key)
		}
		if err != nil {
			return nil, err
		}
		all = tree.And(all, same)
	}
	return all, nil
}

// stepped limits a query to one row before or after a place, or at an end of the rows.
func stepped(q *tree.Query, order []tree.OrderTerm, use plan.CursorUse, tables []*cursorTable) (*tree.Query, error) {
	back := use.Step == plan.CursorLast || use.Step == plan.CursorPrior
	var terms []placeTerm
	for i, o := range order {
		terms = append(terms, placeTerm{o.Node, i, o.Desc != back})
	}
	for _, t := range tables {
		terms = append(terms, placeTerm{t.rowid, t.At, back})
	}
	if use.Step == plan.CursorNext || use.Step == plan.CursorPrior {
		after, err := partAfterPlace(terms, use.Part)
		if err != nil {
			return nil, err
		}
		q.Core.Where = tree.And(q.Core.Where, after)
	}
	q.Order = nil
	for _, t := range terms {
		q.Order = append(q.Order, tree.OrderTerm{Node: t.n, Desc: t.desc})
	}
	q.Limit = tree.Constant(int64(1), types.BigIntType)
	q.Offset = &tree.Node{Op: tree.OpRun, Type: types.BigIntType, Traits: tree.HasRun, Run: func(r *tree.Run) types.Value { return r.Skip }}
	return q, nil
}

// partAfterPlace returns the condition that a row of a part follows a place in the order of terms.
func partAfterPlace(terms []placeTerm, part plan.CursorPart) (*tree.Node, error) {
	first := terms[0]
	switch part {
	case plan.CursorAllNulls:
		return tree.IsNull(first.n), nil
	case plan.CursorAllValues:
		return tree.Not(tree.IsNull(first.n)), nil
	case plan.CursorNulls:
		rest, err := afterPlace(terms[1:])
		return tree.And(tree.IsNull(first.n), rest), err
	case plan.CursorValues:
		value := *first.n
		value.Null = false // the comparisons exclude NULL
		return afterPlace(append([]placeTerm{{&value, first.at, first.desc}}, terms[1:]...))
	}
	return afterPlace(terms)
}

// afterPlace returns the condition that a row follows a place in the order of terms.
func afterPlace(terms []placeTerm) (*tree.Node, error) {
	t := terms[0]
	beyond, err := t.beyond()
	if err != nil || len(terms) == 1 {
		return beyond, err
	}
	same, err := expr.DistinctFrom(t.n, placeValue(t.at, t.n.Type), true)
	if err != nil {
		return nil, err
	}
	rest, err := afterPlace(terms[1:])
	if err != nil {
		return nil, err
	}
	either := tree.Build(tree.OpOr, types.BitType, beyond, tree.And(same, rest))
	if t.n.Null {
		return either, nil
	}
	// SQLite finds the first row by this condition, which the other one implies.
	bound, err := expr.Compare(t.operator()+"=", t.n, placeValue(t.at, t.n.Type))
	if err != nil {
		return nil, err
	}
	return tree.And(bound, either), nil
}

// operator returns the comparison of a later row with an earlier one.
func (t placeTerm) operator() string {
	if t.desc {
		return "<"
	}
	return ">"
}

// beyond returns the condition that a row follows a place in the order of the term alone. NULL is
// less than all values.
func (t placeTerm) beyond() (*tree.Node, error) {
	place := placeValue(t.at, t.n.Type)
	beyond, err := expr.Compare(t.operator(), t.n, place)
	if err != nil || !t.n.Null {
		return beyond, err
	}
	least, other := place, t.n
	if t.desc {
		least, other = t.n, place
	}
	return tree.Build(tree.OpOr, types.BitType, beyond, tree.And(tree.IsNull(least), tree.Not(tree.IsNull(other)))), nil
}

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
	p.Identity, keys = identityColumns(base)
	where, err := expr.Compare("=", m.rid, placeValue(0, types.BigIntType))
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
		where = tree.And(where, sameValue(n, placeValue(1+i, n.Type)))
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
	src := &tree.Source{Alias: m.b.Alias("t"), Base: t, Table: m.sql()}
	m.b.TableColumns(src, m.db, t)
	row := baseCursorTable(src, false)
	same, err := expr.Compare("=", row.rowid, placeValue(0, types.BigIntType))
	if err != nil {
		return plan.Statement{}, err
	}
	q := &tree.Query{Core: &tree.Core{From: src, Where: same}}
	q.Add(row.rowid, tree.ResultColumn{Type: types.BigIntType})
	for i := range identity {
		q.Add(row.identity[i], tree.ResultColumn{Type: row.identity[i].Type, Null: true})
	}
	r := &lower.Renderer{}
	r.Query(q)
	return r.Statement()
}
