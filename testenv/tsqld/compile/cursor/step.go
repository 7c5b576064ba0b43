package cursor

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/expr"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
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
func current(q *tree.Query, kind plan.CursorKind, tables []*Table) (*tree.Query, error) {
	q.Order, q.Limit, q.Offset, q.Percent, q.Ties = nil, nil, nil, false, false
	if kind == plan.CursorKeyset {
		q.Core.Where = nil
	}
	for _, t := range tables {
		same, err := expr.DistinctFrom(t.RowID, PlaceValue(t.At, types.BigIntType), true)
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
func (t *Table) sameKey() (*tree.Node, error) {
	var all *tree.Node
	for i, n := range t.Values[:t.keys] {
		key := PlaceValue(t.At+1+i, n.Type)
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
func stepped(q *tree.Query, order []tree.OrderTerm, use plan.CursorUse, tables []*Table) (*tree.Query, error) {
	back := use.Step == plan.CursorLast || use.Step == plan.CursorPrior
	var terms []placeTerm
	for i, o := range order {
		terms = append(terms, placeTerm{o.Node, i, o.Desc != back})
	}
	for _, t := range tables {
		terms = append(terms, placeTerm{t.RowID, t.At, back})
	}
	if use.Step == plan.CursorNext || use.Step == plan.CursorPrior {
		after, err := partAfterPlace(terms, use.Part)
		if err != nil {
			return nil, err
		}
		q.Core.Where = tree.And(q.Core.Where, after)
	}
	if len(order) == 0 || tableColumn(order[0].Node) != nil && tableColumn(order[0].Node).Owner == tables[0].top {
		fixOrder(q.Core.From, q.Core.Where)
	}
	q.Order = nil
	for _, t := range terms {
		q.Order = append(q.Order, tree.OrderTerm{Node: t.n, Desc: t.desc})
	}
	q.Limit = tree.Constant(int64(1), types.BigIntType)
	q.Offset = &tree.Node{Op: tree.OpRun, Type: types.BigIntType, Traits: tree.HasRun, Run: func(r *tree.Run) types.Value { return r.Skip }}
	return q, nil
}

// fixOrder makes SQLite read joined tables in the order of FROM, which is that of the rows. FETCH
// then reads no more than the rows up to the next one. SQLite's own choice ignores LIMIT: it could
// be to sort the whole join, or to build an index of a joined table for one FETCH.
func fixOrder(f tree.From, where *tree.Node) {
	j, ok := f.(*tree.Join)
	if !ok || j.Kind != "JOIN" && j.Kind != "LEFT JOIN" {
		return
	}
	if j.Kind == "JOIN" {
		j.Kind = "CROSS JOIN"
	}
	if t, ok := j.Right.(*tree.Source); ok && t.Base != nil {
		t.Scan = !isSought(t, tree.And(j.On, where))
	}
	fixOrder(j.Left, tree.And(j.On, where))
}

// isSought reports whether a condition reads the first column of an index of a table.
func isSought(t *tree.Source, condition *tree.Node) (sought bool) {
	condition.Walk(func(n *tree.Node) bool {
		if n.Op == tree.OpCol && n.Source == t && n.Column >= 0 {
			c := t.Columns[n.Column].Base
			sought = sought || c != nil && slices.ContainsFunc(t.Base.Indexes, func(ix *catalog.Index) bool {
				return len(ix.Columns) > 0 && ix.Columns[0].ColumnID == c.ID
			})
		}
		return !sought
	})
	return sought
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
	same, err := expr.DistinctFrom(t.n, PlaceValue(t.at, t.n.Type), true)
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
	bound, err := expr.Compare(t.operator()+"=", t.n, PlaceValue(t.at, t.n.Type))
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
	place := PlaceValue(t.at, t.n.Type)
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
