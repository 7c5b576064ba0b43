package expr

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Sortable returns error 306 for types that cannot be sorted.
func Sortable(t types.Type) error {
	if t.ID != types.Null && t.ID != types.Variant && !t.Comparable() {
		return mserr.LOBCompare()
	}
	return nil
}

// ValuesQuery returns a query of the given rows: a UNION ALL of SELECTs with the common types of
// the columns.
func ValuesQuery(rows [][]*tree.Node) (*tree.Query, error) {
	for i := range rows[0] {
		column := make([]*tree.Node, len(rows))
		for k := range rows {
			column[k] = rows[k][i]
		}
		if _, _, err := Unify("UNION ALL", column); err != nil {
			return nil, err
		}
		for k := range rows {
			rows[k][i] = column[k]
		}
	}
	parts := make([]*tree.Query, len(rows))
	for k, row := range rows {
		parts[k] = &tree.Query{Core: &tree.Core{}}
		for _, n := range row {
			parts[k].Add(n, tree.ResultColumn{Type: n.Type, Null: n.Null, Loose: n.Loose, Label: n.Label})
		}
	}
	return unionAll(parts), nil
}

// unionAll combines queries of the same types in a balanced tree, because SQLite limits the number
// of terms in a compound SELECT.
func unionAll(parts []*tree.Query) *tree.Query {
	if len(parts) == 1 {
		return parts[0]
	}
	x, y := unionAll(parts[:len(parts)/2]), unionAll(parts[len(parts)/2:])
	r := &tree.Query{Set: &tree.SetQuery{Op: "UNION ALL", X: x, Y: y}, Columns: append([]tree.ResultColumn(nil), x.Columns...)}
	for i := range r.Columns {
		r.Columns[i].Null = x.Columns[i].Null || y.Columns[i].Null
		r.Columns[i].Loose = x.Columns[i].Loose || y.Columns[i].Loose
	}
	return r
}

// SetOf returns a set operation and converts the columns to common types.
func SetOf(op string, x, y *tree.Query) (*tree.Query, error) {
	if len(x.Columns) != len(y.Columns) {
		return nil, mserr.SetOperationCount()
	}
	ts := make([]types.Type, len(x.Columns))
	r := &tree.Query{}
	for i := range x.Columns {
		xn := &tree.Node{Op: tree.OpField, Type: x.Columns[i].Type, Label: x.Columns[i].Label}
		yn := &tree.Node{Op: tree.OpField, Type: y.Columns[i].Type, Label: y.Columns[i].Label}
		t, err := types.CommonOrNull(xn.Type, yn.Type)
		if err != nil {
			return nil, err
		}
		l := tree.LabelCoercible
		if t.IsCharacter() {
			if t.Collation, l, err = Combine(op, xn, yn); err == nil && op != "UNION ALL" {
				t.Collation, err = CollationOf(op, xn, yn)
			}
			if err != nil {
				return nil, err
			}
		}
		if op != "UNION ALL" {
			if Sortable(t) != nil {
				return nil, mserr.NotDistinct(TypeName(t))
			}
		}
		ts[i] = t
		r.Columns = append(
			r.Columns,
			tree.ResultColumn{
				Name: x.Columns[i].Name, Type: t, Null: x.Columns[i].Null || y.Columns[i].Null,
				Loose: x.Columns[i].Loose || y.Columns[i].Loose, Label: l,
			},
		)
	}
	var err error
	if x, err = Converted(x, ts); err != nil {
		return nil, err
	}
	if y, err = Converted(y, ts); err != nil {
		return nil, err
	}
	r.Set = &tree.SetQuery{Op: op, X: x, Y: y}
	if !HasKeyedColumns(r) {
		return r, nil
	}
	switch op {
	case "UNION":
		r.Set.Op = "UNION ALL"
		return DistinctByKey(r), nil
	case "EXCEPT", "INTERSECT":
		return exceptOrIntersect(x, y, op == "EXCEPT")
	}
	return r, nil
}

// exceptOrIntersect implements EXCEPT, or INTERSECT, by comparing rows. The queries have the same
// types.
func exceptOrIntersect(x, y *tree.Query, except bool) (*tree.Query, error) {
	xs, ys := x.Source("qx", ""), y.Source("qy", "")
	other := tree.SelectAll(ys)
	for i := range x.Columns {
		same, err := DistinctFrom(tree.ColumnNode(xs, i), tree.ColumnNode(ys, i), true)
		if err != nil {
			return nil, err
		}
		other.Core.Where = tree.And(other.Core.Where, same)
	}
	all := tree.SelectAll(xs)
	found := &tree.Node{Op: tree.OpExists, Type: types.BitType, Query: other, Traits: tree.HasSubquery | tree.CanFail}
	all.Core.Where = Negated(found, except)
	return DistinctByKey(all), nil
}

// HasKeyedColumns reports whether a query has columns of sql_variant or datetimeoffset, whose equal
// values may differ in SQLite's representation.
func HasKeyedColumns(q *tree.Query) bool {
	return slices.ContainsFunc(
		q.Columns,
		func(c tree.ResultColumn) bool { return c.Type.ID == types.Variant || c.Type.ID == types.DateTimeOffset },
	)
}

// DistinctByKey returns a query with one row of each group of equal rows. The order and limits of q
// move to the outer query.
func DistinctByKey(q *tree.Query) *tree.Query {
	rows := *q
	rows.Order, rows.Limit, rows.Offset, rows.Percent, rows.Ties = nil, nil, nil, false, false
	src := rows.Source("q", "")
	out := tree.SelectAll(src)
	out.Core.Group, out.Core.Grouped = slices.Clone(out.Core.Items), true
	out.Limit, out.Offset, out.Percent, out.Ties = q.Limit, q.Offset, q.Percent, q.Ties
	for _, o := range q.Order {
		at := o.Node.Column // for a set operation
		if q.Core != nil {
			at = q.ItemOf(o.Node)
		}
		out.Order = append(out.Order, tree.OrderTerm{Node: out.Core.Items[at], Desc: o.Desc})
	}
	return out
}

// Rows returns the query of a view or an inline function as a table of FROM. A reference to a
// column of it has the label Implicit, even if the column was made by COLLATE ("Collation
// Precedence"), and a column must have a collation (error 451). The columns of derived tables and
// common table expressions keep their labels (SQL Server 2025, recorded).
func Rows(q *tree.Query, alias, name string) (*tree.Source, error) {
	if err := CheckColumnCollations(q); err != nil {
		return nil, err
	}
	src := q.Source(alias, name)
	for i := range src.Columns {
		if c := &src.Columns[i]; c.Type.IsCharacter() {
			c.Label = tree.LabelImplicit
		}
	}
	return src, nil
}

// Converted returns the query with its columns converted implicitly to other types.
func Converted(q *tree.Query, ts []types.Type) (*tree.Query, error) {
	same := true
	for i, c := range q.Columns {
		same = same && c.Type == ts[i]
	}
	if same {
		return q, nil
	}
	r := *q
	if q.Core == nil || q.Core.Distinct || q.Inner != nil || q.Limit != nil && len(q.Order) > 0 {
		r = *tree.SelectAll(q.Source("q", ""))
	}
	c := *r.Core
	c.Items = append([]*tree.Node(nil), c.Items...)
	r.Columns = append([]tree.ResultColumn(nil), r.Columns...)
	for i := range r.Columns {
		n, err := ConvertOperand(c.Items[i], ts[i])
		if err != nil {
			return nil, err
		}
		c.Items[i] = n
		r.Columns[i].Type, r.Columns[i].Null = ts[i], n.Null
	}
	r.Core = &c
	return &r, nil
}
