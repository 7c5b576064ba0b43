package lower

import (
	"math"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/rewrite"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Query writes a query whose columns are named c1, c2....
func (r *Renderer) Query(q *tree.Query) {
	switch {
	case q.Document != tree.DocumentNone:
		r.WriteString("SELECT agg(" + store.Literal(q.DocumentKey))
		for i := range q.Inner.Columns {
			r.WriteString(", " + tree.ColumnName(i))
		}
		r.WriteString(") AS c1 FROM (")
		r.Query(q.Inner)
		r.WriteByte(')')
	case q.Percent, q.Ties, namesColumns(q.Limit), namesColumns(q.Offset):
		r.ranked(q)
	case q.Core != nil:
		r.core(q)
		r.limit(q)
	case q.Recursive != nil:
		r.recursive(q)
	default:
		r.set(q)
		r.limit(q)
	}
}

// core writes SELECT ... HAVING and ORDER BY.
func (r *Renderer) core(q *tree.Query) {
	c := rewrite.WithDrivingTables(rewrite.WithLookups(q))
	saved, whole := r.lazy, r.keepUnions
	r.keepUnions = r.keepUnions || hasRightJoin(c.From)
	defer func() { r.keepUnions = whole }()
	r.WriteString("SELECT ")
	if c.Distinct {
		r.WriteString("DISTINCT ")
	}
	// A FROM may return no rows, so items that may fail are not evaluated in advance.
	if c.From != nil {
		r.lazy++
	}
	for i, n := range c.Items {
		if i > 0 {
			r.WriteString(", ")
		}
		if i == 0 && c.IsBareGroup() {
			r.WriteString("CASE WHEN count(*) >= 0 THEN ")
		}
		if c.Distinct && n.Type.CollationName() != "" {
			r.collated(n)
		} else {
			r.Node(n)
		}
		if i == 0 && c.IsBareGroup() {
			r.WriteString(" END")
		}
		r.WriteString(" AS ")
		r.WriteString(tree.ColumnName(i))
	}
	r.lazy = saved
	if c.From != nil {
		r.WriteString(" FROM ")
		r.From(c.From, false)
	}
	if c.Where != nil {
		r.WriteString(" WHERE ")
		r.Node(c.Where)
	}
	if len(c.Group) > 0 {
		r.WriteString(" GROUP BY ")
		for i, g := range c.Group {
			if i > 0 {
				r.WriteString(", ")
			}
			if g.Traits&tree.RowBound == 0 { // a constant puts all rows in one group; an integer would be a position
				r.WriteString("NULL")
				continue
			}
			r.collated(g)
		}
	}
	if c.Having != nil {
		r.WriteString(" HAVING ")
		r.Node(c.Having)
	}
	if len(q.Order) > 0 {
		r.WriteString(" ORDER BY ")
		r.coreOrder(q, c)
	}
}

// coreOrder writes ORDER BY. It names result columns by position, so that SQLite computes them
// once. c is the SELECT as rewritten by rewrite.WithDrivingTables.
func (r *Renderer) coreOrder(q *tree.Query, c *tree.Core) {
	for i, o := range q.Order {
		if i > 0 {
			r.WriteString(", ")
		}
		if n := rewrite.DrivingColumn(c, o.Node); n != nil {
			r.order([]tree.OrderTerm{{Node: n, Desc: o.Desc}})
			continue
		}
		at := -1
		for k, n := range q.Core.Items {
			if n == o.Node || tree.SameNode(n, o.Node) {
				at = k
				break
			}
		}
		if t := o.Node.Type.ID; at < 0 || t == types.DateTimeOffset || t == types.Variant { // these types sort by sortKey
			r.order([]tree.OrderTerm{o})
			continue
		}
		r.WriteString(strconv.Itoa(at + 1))
		if c := o.Node.Type.CollationName(); c != "" {
			r.WriteString(" COLLATE " + c)
		}
		if o.Desc {
			r.WriteString(" DESC")
		}
	}
}

// limit writes LIMIT and OFFSET.
func (r *Renderer) limit(q *tree.Query) {
	switch {
	case q.Limit != nil:
		r.WriteString(" LIMIT ")
		if q.Limit.Op != tree.OpConst {
			// SQLite plans by the value of a bare parameter and would prepare the statement again
			// at each binding.
			r.WriteByte('+')
		}
		r.Node(q.Limit)
	case q.Offset != nil:
		r.WriteString(" LIMIT -1")
	}
	if q.Offset != nil {
		r.WriteString(" OFFSET ")
		r.Node(q.Offset)
	}
}

// namesColumns reports whether a row count depends on columns, which SQLite refuses in LIMIT and
// OFFSET.
func namesColumns(n *tree.Node) bool {
	found := false
	n.Walk(func(x *tree.Node) bool {
		found = found || x.Op == tree.OpCol || x.Query != nil && x.Query.Correlated()
		return !found
	})
	return found
}

// ranked writes row limits that LIMIT cannot express: TOP ... PERCENT, WITH TIES, and row counts
// that depend on columns of outer queries. The rows are first numbered (ties get the same number)
// and counted.
func (r *Renderer) ranked(q *tree.Query) {
	inner := *q
	inner.Limit, inner.Offset, inner.Percent, inner.Ties, inner.Order = nil, nil, false, false, nil
	n := len(q.Columns)
	var order []tree.OrderTerm
	switch {
	case q.Core != nil && !q.Core.Distinct:
		c := *q.Core
		c.Items = append([]*tree.Node(nil), c.Items...)
		inner.Columns = append([]tree.ResultColumn(nil), q.Columns...)
		for _, o := range q.Order {
			c.Items = append(c.Items, o.Node)
			order = append(
				order,
				tree.OrderTerm{Node: &tree.Node{Op: tree.OpField, Type: o.Node.Type, Column: len(c.Items) - 1, Traits: tree.HasColumn}, Desc: o.Desc},
			)
		}
		inner.Core = &c
		if most := mostRows(q); most != nil {
			inner.Order, inner.Limit = q.Order, most
		}
	default:
		for _, o := range q.Order {
			at := o.Node.Column
			if q.Core != nil {
				at = q.ItemOf(o.Node)
			}
			order = append(order, tree.OrderTerm{Node: &tree.Node{Op: tree.OpField, Type: o.Node.Type, Column: at, Traits: tree.HasColumn}, Desc: o.Desc})
		}
	}
	r.WriteString("SELECT ")
	for i := range n {
		if i > 0 {
			r.WriteString(", ")
		}
		r.WriteString(tree.ColumnName(i))
	}
	rank := "row_number()"
	if q.Ties {
		rank = "rank()"
	}
	r.WriteString(" FROM (SELECT *, " + rank + " OVER (")
	if len(order) > 0 {
		r.WriteString("ORDER BY ")
		r.order(order)
	}
	r.WriteString(") AS rk, row_number() OVER (")
	if len(order) > 0 {
		r.WriteString("ORDER BY ")
		r.order(order)
	}
	r.WriteString(") AS rn, count(*) OVER () AS total FROM (")
	r.Query(&inner)
	r.WriteString(")) WHERE ")
	r.lazy++ // without rows the comparison is not evaluated
	if q.Offset != nil {
		r.WriteString("rk > ")
		r.Node(q.Offset)
	}
	if q.Limit != nil {
		switch {
		case q.Offset != nil:
			r.WriteString(" AND rk - ")
			r.Node(q.Offset)
			r.WriteString(" <= ")
		default:
			r.WriteString("rk <= ")
		}
		if q.Percent {
			r.WriteString("fn('" + keys.Ceiling + "', total, ")
			r.Node(q.Limit)
			r.WriteByte(')')
		} else {
			r.Node(q.Limit)
		}
	}
	r.lazy--
	r.WriteString(" ORDER BY rn")
}

// mostRows returns an upper bound of TOP (column of an outer table) over all rows of that table, so
// that the sorted list is read no further than necessary. It returns nil if there is no such bound.
func mostRows(q *tree.Query) *tree.Node {
	n := q.Limit
	if n != nil && n.Op == tree.OpCall && strings.HasPrefix(n.Key, keys.Limit+"|") {
		n = n.Args[0]
	}
	if n == nil || !n.Type.IsInteger() || q.Offset != nil || q.Percent || q.Ties || n.Op != tree.OpCol ||
		n.Column == tree.PackedColumn ||
		n.Source.Table == "" ||
		n.Source.Query != nil ||
		n.Source.Rowset != nil {
		return nil
	}
	return &tree.Node{
		Op:     tree.OpSQL,
		Type:   n.Type,
		Traits: tree.HasSubquery,
		Name:   "SELECT coalesce(max(" + n.Source.Columns[n.Column].SQL + "), 0) FROM " + n.Source.Table,
	}
}

// set writes a set operation. An operand that SQLite would parse differently becomes a derived
// table.
func (r *Renderer) set(q *tree.Query) {
	if len(q.Order) > 0 {
		// SQLite's ORDER BY of a compound SELECT allows result columns only, so the outer query
		// sorts.
		inner := *q
		inner.Order, inner.Limit, inner.Offset = nil, nil, nil
		r.WriteString("SELECT * FROM (")
		r.Query(&inner)
		r.WriteString(") ORDER BY ")
		r.order(markFields(q.Order))
		return
	}
	if q.Limit != nil || q.Offset != nil {
		inner := *q
		inner.Limit, inner.Offset = nil, nil
		r.WriteString("SELECT * FROM (")
		r.Query(&inner)
		r.WriteByte(')')
		return
	}
	r.operand(q.Set.X, q.Set.Op == "UNION ALL", true)
	r.WriteString(" " + q.Set.Op + " ")
	r.operand(q.Set.Y, q.Set.Op == "UNION ALL", false)
}

// markFields adds the trait of columns to result columns, so that the renderer does not write them
// as positions.
func markFields(order []tree.OrderTerm) []tree.OrderTerm {
	out := make([]tree.OrderTerm, len(order))
	for i, o := range order {
		n := *o.Node
		n.Traits |= tree.HasColumn
		out[i] = tree.OrderTerm{Node: &n, Desc: o.Desc}
	}
	return out
}

// maxUnionChain is the number of SELECTs after which a chain of UNION ALL is wrapped in a SELECT.
// SQLite allows at most SQLITE_MAX_COMPOUND_SELECT (500) terms.
const maxUnionChain = 400

// chainLength returns the number of SELECTs in a chain of UNION ALL.
func chainLength(q *tree.Query) int {
	n := 1
	for q.Set != nil && q.Set.Op == "UNION ALL" {
		q = q.Set.X
		n++
	}
	return n
}

// operand writes an operand of a set operation. Texts get their collation where rows are compared.
// A SELECT with a RIGHT or FULL JOIN is wrapped with a LIMIT: if SQLite flattens a UNION ALL that
// contains one, conditions of the other operands hold where they are unknown.
func (r *Renderer) operand(q *tree.Query, all, isLeft bool) {
	simple := q.Document == tree.DocumentNone && !q.Percent && !q.Ties && q.Limit == nil && q.Offset == nil &&
		len(q.Order) == 0
	if simple && q.Set != nil && isLeft && all && q.Set.Op == "UNION ALL" && chainLength(q)%maxUnionChain != 0 {
		r.Query(q)
		return
	}
	right := q.Core != nil && hasRightJoin(q.Core.From)
	if simple && q.Core != nil && all && !right {
		r.Query(q)
		return
	}
	r.WriteString("SELECT ")
	for i, c := range q.Columns {
		if i > 0 {
			r.WriteString(", ")
		}
		r.WriteString(tree.ColumnName(i))
		if name := c.Type.CollationName(); name != "" && !all {
			r.WriteString(" COLLATE " + name)
		}
		r.WriteString(" AS " + tree.ColumnName(i))
	}
	r.WriteString(" FROM (")
	r.Query(q)
	if right && q.Limit == nil && q.Offset == nil {
		r.WriteString(" LIMIT -1")
	}
	r.WriteByte(')')
}

// recursive writes a recursive common table expression as a derived table.
func (r *Renderer) recursive(q *tree.Query) {
	rec := q.Recursive
	r.WriteString("SELECT ")
	for i := range q.Columns {
		if i > 0 {
			r.WriteString(", ")
		}
		r.WriteString(tree.ColumnName(i))
	}
	r.WriteString(" FROM (WITH RECURSIVE " + rec.Source.Alias + "(")
	for i := range q.Columns {
		r.WriteString(tree.ColumnName(i) + ", ")
	}
	r.WriteString(tree.LevelColumn + ") AS (")
	r.operand(rec.Anchor, true, true)
	for _, s := range rec.Steps {
		r.WriteString(" UNION ALL ")
		r.Query(s)
	}
	r.WriteString(") SELECT * FROM " + rec.Source.Alias + ")")
}

// From writes an item of FROM. nested puts a join in parentheses, on the right side of another
// join.
func (r *Renderer) From(f tree.From, nested bool) {
	switch f := f.(type) {
	case *tree.Source:
		r.source(f)
	case *tree.Join:
		if nested {
			r.WriteByte('(')
			defer r.WriteByte(')')
		}
		r.From(f.Left, false)
		r.WriteString(" " + f.Kind + " ")
		r.From(f.Right, true)
		switch {
		case f.On != nil:
			r.WriteString(" ON ")
			r.constantJoinGuard(f)
			r.Node(f.On)
		case f.Kind != "JOIN":
			r.WriteString(" ON 1")
		}
	}
}

// constantJoinGuard writes the constant part of an outer join's condition as a range of the joined
// table's rowids, which is empty if the constant part is not true. Without the range, SQLite would
// read the whole table to find that no row matches. Entity Framework inserts with MERGE ... ON 1 =
// 0.
func (r *Renderer) constantJoinGuard(j *tree.Join) {
	t, ok := j.Right.(*tree.Source)
	if !ok || j.Kind != "LEFT JOIN" || t.Base == nil || t.Query != nil || t.Rowset != nil {
		return
	}
	var fixed []*tree.Node
	for _, n := range tree.Conjuncts(j.On) {
		if r.hoisted(n) {
			fixed = append(fixed, n)
		}
	}
	if len(fixed) == 0 {
		return
	}
	r.WriteString(t.Alias + ".rowid >= CASE WHEN ")
	r.Node(tree.And(fixed...))
	r.WriteString(" THEN " + strconv.Itoa(math.MinInt64) + " END AND ")
}

// hasRightJoin reports whether FROM contains a RIGHT or FULL JOIN, possibly in a derived table,
// which SQLite may flatten.
func hasRightJoin(f tree.From) bool {
	switch f := f.(type) {
	case *tree.Join:
		return f.Kind == "RIGHT JOIN" || f.Kind == "FULL JOIN" || hasRightJoin(f.Left) || hasRightJoin(f.Right)
	case *tree.Source:
		return f.Query != nil && f.Query.Core != nil && hasRightJoin(f.Query.Core.From)
	}
	return false
}

// source writes a table, a derived table or a rowset.
func (r *Renderer) source(s *tree.Source) {
	switch {
	case s.Query != nil:
		r.WriteByte('(')
		r.Query(s.Query)
		if r.keepUnions && s.Query.Set != nil && s.Query.Limit == nil && s.Query.Offset == nil {
			r.WriteString(" LIMIT -1")
		}
		r.WriteByte(')')
	case s.Rowset != nil:
		r.rowset(s)
	case s.Empty:
		r.WriteString("(SELECT rowid AS rowid, * FROM " + s.Table + " WHERE 0)")
	case s.ReadPast && s.Base != nil:
		place := strconv.Itoa(s.DatabaseID) + "|"
		unclaimed := tree.Build(tree.OpLocal, types.BitType)
		unclaimed.Key = keys.LocalUnclaimed + place + string(s.Claim)
		r.WriteString("(SELECT rowid AS rowid, * FROM " + s.Table + " WHERE ")
		r.Node(unclaimed)
		claim := keys.LocalClaim + place + strconv.Itoa(int(s.Base.ObjectID)) + "|" + string(s.Claim)
		r.WriteString(" OR fnv(" + store.Literal(claim) + ", rowid))")
	default:
		r.WriteString(s.Table)
	}
	r.WriteString(" AS " + s.Alias)
	if s.Scan && s.Query == nil && s.Rowset == nil && !s.Empty && !s.ReadPast {
		r.WriteString(" NOT INDEXED")
	}
}

// rowset writes the call of a table-valued function. For any other node it writes a function that
// decodes the node's value.
func (r *Renderer) rowset(s *tree.Source) {
	key, args := keys.Decode, []*tree.Node{s.Rowset}
	if s.Rowset.Op == tree.OpRowset {
		key, args = s.Rowset.Key, s.Rowset.Args
	}
	if s.IsPacked() {
		key = keys.Packed + "|" + key
	}
	r.WriteString("rowset(" + store.Literal(key))
	for _, a := range args {
		r.WriteString(", ")
		r.Node(a)
	}
	r.WriteByte(')')
}
