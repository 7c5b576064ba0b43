package compile

import (
	"math"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// query writes a query whose columns are named c1, c2....
func (r *renderer) query(q *query) {
	switch {
	case q.document != documentNone:
		r.WriteString("SELECT agg(" + store.Literal(q.documentKey))
		for i := range q.inner.cols {
			r.WriteString(", " + columnName(i))
		}
		r.WriteString(") AS c1 FROM (")
		r.derived(q.inner)
		r.WriteByte(')')
	case q.percent, q.ties, q.limit.namesColumns(), q.offset.namesColumns():
		r.ranked(q)
	case q.core != nil:
		r.core(q)
		r.limit(q)
	case q.recursive != nil:
		r.recursive(q)
	default:
		r.set(q)
		r.limit(q)
	}
}

// derived writes a query inside the parentheses of a FROM item.
func (r *renderer) derived(q *query) { r.query(q) }

// core writes SELECT ... HAVING and ORDER BY.
func (r *renderer) core(q *query) {
	c := withDrivingTables(q.core)
	saved, whole := r.lazy, r.keepUnions
	r.keepUnions = r.keepUnions || hasRightJoin(c.from)
	defer func() { r.keepUnions = whole }()
	r.WriteString("SELECT ")
	if c.distinct {
		r.WriteString("DISTINCT ")
	}
	// A FROM may return no rows, so items that may fail are not evaluated in advance.
	if c.from != nil {
		r.lazy++
	}
	for i, n := range c.items {
		if i > 0 {
			r.WriteString(", ")
		}
		if i == 0 && c.isBareGroup() {
			r.WriteString("CASE WHEN count(*) >= 0 THEN ")
		}
		if c.distinct && n.typ.CollationName() != "" {
			r.collated(n)
		} else {
			r.node(n)
		}
		if i == 0 && c.isBareGroup() {
			r.WriteString(" END")
		}
		r.WriteString(" AS ")
		r.WriteString(columnName(i))
	}
	r.lazy = saved
	if c.from != nil {
		r.WriteString(" FROM ")
		r.from(c.from, false)
	}
	if c.where != nil {
		r.WriteString(" WHERE ")
		r.node(c.where)
	}
	if len(c.group) > 0 {
		r.WriteString(" GROUP BY ")
		for i, g := range c.group {
			if i > 0 {
				r.WriteString(", ")
			}
			if g.traits&rowBound == 0 { // a constant puts all rows in one group; an integer would be a position
				r.WriteString("NULL")
				continue
			}
			r.collated(g)
		}
	}
	if c.having != nil {
		r.WriteString(" HAVING ")
		r.node(c.having)
	}
	if len(q.order) > 0 {
		r.WriteString(" ORDER BY ")
		r.coreOrder(q, c)
	}
}

// coreOrder writes ORDER BY. It names result columns by position, so that SQLite computes them
// once. c is the SELECT as rewritten by withDrivingTables.
func (r *renderer) coreOrder(q *query, c *core) {
	for i, o := range q.order {
		if i > 0 {
			r.WriteString(", ")
		}
		if n := c.drivingColumn(o.n); n != nil {
			r.order([]orderTerm{{n, o.desc}})
			continue
		}
		at := -1
		for k, n := range q.core.items {
			if n == o.n || sameNode(n, o.n) {
				at = k
				break
			}
		}
		if t := o.n.typ.ID; at < 0 || t == types.DateTimeOffset || t == types.Variant { // these types sort by sortKey
			r.order([]orderTerm{o})
			continue
		}
		r.WriteString(strconv.Itoa(at + 1))
		if c := o.n.typ.CollationName(); c != "" {
			r.WriteString(" COLLATE " + c)
		}
		if o.desc {
			r.WriteString(" DESC")
		}
	}
}

// limit writes LIMIT and OFFSET.
func (r *renderer) limit(q *query) {
	switch {
	case q.limit != nil:
		r.WriteString(" LIMIT ")
		if q.limit.op != opConst {
			// SQLite plans by the value of a bare parameter and would prepare the statement again
			// at each binding.
			r.WriteByte('+')
		}
		r.node(q.limit)
	case q.offset != nil:
		r.WriteString(" LIMIT -1")
	}
	if q.offset != nil {
		r.WriteString(" OFFSET ")
		r.node(q.offset)
	}
}

// namesColumns reports whether a row count depends on columns, which SQLite refuses in LIMIT and
// OFFSET.
func (n *node) namesColumns() bool {
	found := false
	n.walk(func(x *node) bool {
		found = found || x.op == opCol || x.sub != nil && x.sub.correlated()
		return !found
	})
	return found
}

// ranked writes row limits that LIMIT cannot express: TOP ... PERCENT, WITH TIES, and row counts
// that depend on columns of outer queries. The rows are first numbered (ties get the same number)
// and counted.
func (r *renderer) ranked(q *query) {
	inner := *q
	inner.limit, inner.offset, inner.percent, inner.ties, inner.order = nil, nil, false, false, nil
	n := len(q.cols)
	var order []orderTerm
	switch {
	case q.core != nil && !q.core.distinct:
		c := *q.core
		c.items = append([]*node(nil), c.items...)
		inner.cols = append([]outColumn(nil), q.cols...)
		for _, o := range q.order {
			c.items = append(c.items, o.n)
			order = append(
				order,
				orderTerm{&node{op: opField, typ: o.n.typ, col: len(c.items) - 1, traits: hasColumn}, o.desc},
			)
		}
		inner.core = &c
		if most := q.mostRows(); most != nil {
			inner.order, inner.limit = q.order, most
		}
	default:
		for _, o := range q.order {
			at := o.n.col
			if q.core != nil {
				at = q.itemOf(o.n)
			}
			order = append(order, orderTerm{&node{op: opField, typ: o.n.typ, col: at, traits: hasColumn}, o.desc})
		}
	}
	r.WriteString("SELECT ")
	for i := range n {
		if i > 0 {
			r.WriteString(", ")
		}
		r.WriteString(columnName(i))
	}
	rank := "row_number()"
	if q.ties {
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
	r.query(&inner)
	r.WriteString(")) WHERE ")
	r.lazy++ // without rows the comparison is not evaluated
	if q.offset != nil {
		r.WriteString("rk > ")
		r.node(q.offset)
	}
	if q.limit != nil {
		switch {
		case q.offset != nil:
			r.WriteString(" AND rk - ")
			r.node(q.offset)
			r.WriteString(" <= ")
		default:
			r.WriteString("rk <= ")
		}
		if q.percent {
			r.WriteString("fn('" + keys.Ceiling + "', total, ")
			r.node(q.limit)
			r.WriteByte(')')
		} else {
			r.node(q.limit)
		}
	}
	r.lazy--
	r.WriteString(" ORDER BY rn")
}

// mostRows returns an upper bound of TOP (column of an outer table) over all rows of that table, so
// that the sorted list is read no further than necessary. It returns nil if there is no such bound.
func (q *query) mostRows() *node {
	n := q.limit
	if n != nil && n.op == opCall && strings.HasPrefix(n.key, keys.Limit+"|") {
		n = n.args[0]
	}
	if n == nil || !n.typ.IsInteger() || q.offset != nil || q.percent || q.ties || n.op != opCol ||
		n.col == packedColumn ||
		n.src.table == "" ||
		n.src.query != nil ||
		n.src.rowset != nil {
		return nil
	}
	return &node{
		op:     opSQL,
		typ:    n.typ,
		traits: hasSubquery,
		name:   "SELECT coalesce(max(" + n.src.cols[n.col].sql + "), 0) FROM " + n.src.table,
	}
}

// set writes a set operation. An operand that SQLite would parse differently becomes a derived
// table.
func (r *renderer) set(q *query) {
	if len(q.order) > 0 {
		// SQLite's ORDER BY of a compound SELECT allows result columns only, so the outer query
		// sorts.
		inner := *q
		inner.order, inner.limit, inner.offset = nil, nil, nil
		r.WriteString("SELECT * FROM (")
		r.query(&inner)
		r.WriteString(") ORDER BY ")
		r.order(markFields(q.order))
		return
	}
	if q.limit != nil || q.offset != nil {
		inner := *q
		inner.limit, inner.offset = nil, nil
		r.WriteString("SELECT * FROM (")
		r.query(&inner)
		r.WriteByte(')')
		return
	}
	r.operand(q.set.x, q.set.op == "UNION ALL", q.set.op, true)
	r.WriteString(" " + q.set.op + " ")
	r.operand(q.set.y, q.set.op == "UNION ALL", q.set.op, false)
}

// markFields adds the trait of columns to result columns, so that the renderer does not write them
// as positions.
func markFields(order []orderTerm) []orderTerm {
	out := make([]orderTerm, len(order))
	for i, o := range order {
		n := *o.n
		n.traits |= hasColumn
		out[i] = orderTerm{&n, o.desc}
	}
	return out
}

// maxUnionChain is the number of SELECTs after which a chain of UNION ALL is wrapped in a SELECT.
// SQLite allows at most SQLITE_MAX_COMPOUND_SELECT (500) terms.
const maxUnionChain = 400

// chainLength returns the number of SELECTs in a chain of UNION ALL.
func chainLength(q *query) int {
	n := 1
	for q.set != nil && q.set.op == "UNION ALL" {
		q = q.set.x
		n++
	}
	return n
}

// operand writes an operand of a set operation. Texts get their collation where rows are compared.
// A SELECT with a RIGHT or FULL JOIN is wrapped with a LIMIT: if SQLite flattens a UNION ALL that
// contains one, conditions of the other operands hold where they are unknown.
func (r *renderer) operand(q *query, all bool, op string, isLeft bool) {
	simple := q.document == documentNone && !q.percent && !q.ties && q.limit == nil && q.offset == nil &&
		len(q.order) == 0
	if simple && q.set != nil && isLeft && all && q.set.op == "UNION ALL" && chainLength(q)%maxUnionChain != 0 {
		r.query(q)
		return
	}
	right := q.core != nil && hasRightJoin(q.core.from)
	if simple && q.core != nil && all && !right {
		r.query(q)
		return
	}
	r.WriteString("SELECT ")
	for i, c := range q.cols {
		if i > 0 {
			r.WriteString(", ")
		}
		r.WriteString(columnName(i))
		if name := c.typ.CollationName(); name != "" && !all {
			r.WriteString(" COLLATE " + name)
		}
		r.WriteString(" AS " + columnName(i))
	}
	r.WriteString(" FROM (")
	r.derived(q)
	if right && q.limit == nil && q.offset == nil {
		r.WriteString(" LIMIT -1")
	}
	r.WriteByte(')')
}

// recursive writes a recursive common table expression as a derived table.
func (r *renderer) recursive(q *query) {
	rec := q.recursive
	r.WriteString("SELECT ")
	for i := range q.cols {
		if i > 0 {
			r.WriteString(", ")
		}
		r.WriteString(columnName(i))
	}
	r.WriteString(" FROM (WITH RECURSIVE " + rec.src.alias + "(")
	for i := range q.cols {
		r.WriteString(columnName(i) + ", ")
	}
	r.WriteString(levelColumn + ") AS (")
	r.operand(rec.anchor, true, "UNION ALL", true)
	for _, s := range rec.steps {
		r.WriteString(" UNION ALL ")
		r.query(s)
	}
	r.WriteString(") SELECT * FROM " + rec.src.alias + ")")
}

// from writes an item of FROM. nested puts a join in parentheses, on the right side of another
// join.
func (r *renderer) from(f fromNode, nested bool) {
	switch f := f.(type) {
	case *source:
		r.source(f)
	case *join:
		if nested {
			r.WriteByte('(')
			defer r.WriteByte(')')
		}
		r.from(f.left, false)
		r.WriteString(" " + f.kind + " ")
		r.from(f.right, true)
		switch {
		case f.on != nil:
			r.WriteString(" ON ")
			r.constantJoinGuard(f)
			r.node(f.on)
		case f.kind != "JOIN":
			r.WriteString(" ON 1")
		}
	}
}

// constantJoinGuard writes the constant part of an outer join's condition as a range of the joined
// table's rowids, which is empty if the constant part is not true. Without the range, SQLite would
// read the whole table to find that no row matches. Entity Framework inserts with MERGE ... ON 1 =
// 0.
func (r *renderer) constantJoinGuard(j *join) {
	t, ok := j.right.(*source)
	if !ok || j.kind != "LEFT JOIN" || t.base == nil || t.query != nil || t.rowset != nil {
		return
	}
	var fixed []*node
	for _, n := range conjuncts(j.on) {
		if r.hoisted(n) {
			fixed = append(fixed, n)
		}
	}
	if len(fixed) == 0 {
		return
	}
	r.WriteString(t.alias + ".rowid >= CASE WHEN ")
	r.node(and(fixed...))
	r.WriteString(" THEN " + strconv.Itoa(math.MinInt64) + " END AND ")
}

// hasRightJoin reports whether FROM contains a RIGHT or FULL JOIN, possibly in a derived table,
// which SQLite may flatten.
func hasRightJoin(f fromNode) bool {
	switch f := f.(type) {
	case *join:
		return f.kind == "RIGHT JOIN" || f.kind == "FULL JOIN" || hasRightJoin(f.left) || hasRightJoin(f.right)
	case *source:
		return f.query != nil && f.query.core != nil && hasRightJoin(f.query.core.from)
	}
	return false
}

// source writes a table, a derived table or a rowset.
func (r *renderer) source(s *source) {
	switch {
	case s.query != nil:
		r.WriteByte('(')
		r.derived(s.query)
		if r.keepUnions && s.query.set != nil && s.query.limit == nil && s.query.offset == nil {
			r.WriteString(" LIMIT -1")
		}
		r.WriteByte(')')
	case s.rowset != nil:
		r.rowset(s)
	case s.empty:
		r.WriteString("(SELECT rowid AS rowid, * FROM " + s.table + " WHERE 0)")
	default:
		r.WriteString(s.table)
	}
	r.WriteString(" AS " + s.alias)
}
