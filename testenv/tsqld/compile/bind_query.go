package compile

import (
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// queryUse describes the place of a query, where a rule depends on the place.
type queryUse struct {
	exists   bool // EXISTS: the select list is ignored
	top      bool // a statement: ORDER BY needs no TOP, and assignments are allowed
	set      bool // an operand of a set operation
	browse   bool // browse mode: key columns are added
	ordered  bool // the order of rows is kept although the query is not a statement: INSERT ... SELECT
	assigned *[]assignment
}

// assignment is an item of SELECT @a = ....
type assignment struct {
	variable string
	n        *node
}

// subquery binds a query in an expression. Error 1046 where subqueries are not allowed.
func (b *binder) subquery(q *syntax.Query, l *level, exists bool) (*query, error) {
	for at := l; at != nil; at = at.parent {
		if at.noSubquery {
			return nil, mserr.SubqueryNotAllowed()
		}
	}
	if a := l.aggregates(); a != nil && a.inArguments {
		return nil, mserr.AggregateInAggregate()
	}
	return b.query(q, l, queryUse{exists: exists})
}

// query binds a query expression.
func (b *binder) query(q *syntax.Query, parent *level, use queryUse) (*query, error) {
	if len(q.With) > 0 {
		saved, spaces := b.place.ctes, b.place.spaces
		defer func() { b.place.ctes, b.place.spaces = saved, spaces }()
		if err := b.with(q.With); err != nil {
			return nil, err
		}
	}
	var r *query
	var err error
	switch body := unparen(q.Body).(type) {
	case *syntax.Select:
		r, err = b.selectQuery(body, q, parent, use)
	case *syntax.SetOp:
		r, err = b.setQuery(body, q, parent, use)
	default:
		err = mserr.NotSupported("this kind of query (%T)", body)
	}
	if err != nil || q.For == nil {
		return r, err
	}
	return b.document(r, q.For)
}

// unparen removes parentheses around a query.
func unparen(body syntax.QueryBody) syntax.QueryBody {
	for {
		p, ok := body.(*syntax.ParenQuery)
		if !ok {
			return body
		}
		body = p.X
	}
}

// selectQuery binds one SELECT with the ORDER BY and OFFSET of its query.
func (b *binder) selectQuery(s *syntax.Select, q *syntax.Query, parent *level, use queryUse) (*query, error) {
	l := &level{parent: parent, agg: &aggregation{grouped: s.GroupBy != nil}, windows: s.Windows}
	c := &core{distinct: s.Distinct}
	r := &query{core: c}
	var err error
	if c.from, err = b.from(s.From, l); err != nil {
		return nil, err
	}
	if s.Where != nil {
		l.agg.refusal = mserr.AggregateInWhere()
		n, err := b.cond(s.Where, l)
		if err != nil {
			return nil, err
		}
		c.where = and(c.where, n)
		prune(c.from, conjuncts(c.where))
	}
	if err := b.groupBy(s.GroupBy, c, l); err != nil {
		return nil, err
	}
	l.agg.allowed, l.agg.windows = true, true
	if err := b.items(s, r, l, use); err != nil {
		return nil, err
	}
	l.agg.windows = false
	if s.Having != nil {
		if c.having, err = b.cond(s.Having, l); err != nil {
			return nil, err
		}
	}
	l.agg.windows = true
	if err := b.orderBy(q.OrderBy, r, l, s); err != nil {
		return nil, err
	}
	if err := addBrowseKeys(s, q, r, l, use); err != nil {
		return nil, err
	}
	if err := b.checkGrouping(r, l); err != nil {
		return nil, err
	}
	if err := b.limits(s.Top, q, r, l, use); err != nil {
		return nil, err
	}
	if err := checkSequences(r, l, use); err != nil {
		return nil, err
	}
	c.items = shareSequenceValues(c.items)
	if c.sets != nil {
		return b.groupingSets(r)
	}
	if c.distinct && r.hasKeyedColumns() {
		c.distinct = false
		return r.distinctByKey(), nil
	}
	return r, nil
}

// items binds the select list.
func (b *binder) items(s *syntax.Select, r *query, l *level, use queryUse) error {
	for _, item := range s.Items {
		if err := b.checkItems(r); err != nil {
			return err
		}
		switch item := item.(type) {
		case *syntax.SelectStar:
			if use.exists {
				r.add(constant(int64(1), types.IntType), outColumn{typ: types.IntType})
				continue
			}
			if err := b.star(item, r, l); err != nil {
				return err
			}
		case *syntax.SelectExpr:
			n, err := b.expr(item.X, l)
			if err != nil {
				return err
			}
			r.add(n, outColumnOf(n, itemName(item)))
		case *syntax.SelectAssign:
			if err := b.assign(item, r, l, use); err != nil {
				return err
			}
		}
	}
	if err := b.checkItems(r); err != nil {
		return err
	}
	if use.assigned != nil && len(*use.assigned) > 0 && len(*use.assigned) != len(s.Items) {
		return mserr.AssignAndRetrieve()
	}
	for i, n := range r.core.items {
		if s.Distinct {
			if err := checkItemCollation(n.label, "SELECT", i); err != nil {
				return err
			}
			if sortable(n.typ) != nil {
				return mserr.NotDistinct(typeName(n.typ))
			}
		}
	}
	return nil
}

// checkItems refuses a select list with too many elements: error 1056.
func (b *binder) checkItems(r *query) error {
	if len(r.cols) > mostElements {
		return mserr.TooManyElements(MaxElements)
	}
	return b.charge()
}

// add appends a result column.
func (q *query) add(n *node, c outColumn) {
	q.core.items = append(q.core.items, n)
	q.cols = append(q.cols, c)
}

// baseColumn returns the table column that a node reads, or nil if the node is an expression.
func baseColumn(n *node) *sourceColumn {
	if n.op == opCol && n.col >= 0 && n.src.cols[n.col].base != nil {
		return &n.src.cols[n.col]
	}
	return nil
}

// itemName returns the name of a result column: the alias, or the name of the selected column,
// which may be in parentheses.
func itemName(item *syntax.SelectExpr) string {
	if item.Alias.Name != "" {
		return item.Alias.Name
	}
	e := item.X
	for {
		p, ok := e.(*syntax.ParenExpr)
		if !ok {
			break
		}
		e = p.X
	}
	switch x := e.(type) {
	case *syntax.ColumnRef:
		return x.Column()
	case *syntax.PseudoColumn:
		return strings.ToLower(x.Name)
	}
	return ""
}

// star expands * and t.*. Errors: 263 without FROM, 107 for an unknown qualifier.
func (b *binder) star(item *syntax.SelectStar, r *query, l *level) error {
	if len(l.sources) == 0 && len(item.Qualifier) == 0 {
		return mserr.NoTable()
	}
	found := false
	for _, src := range l.sources {
		if len(item.Qualifier) > 0 && !src.matches(item.Qualifier) {
			continue
		}
		found = true
		for i := range src.cols {
			if src.cols[i].hidden {
				continue
			}
			if src.xmlNodes != nil {
				return mserr.NodesColumn(src.cols[i].name)
			}
			n, err := src.resolve(i)
			if err != nil {
				return err
			}
			r.add(n, outColumnOf(n, src.cols[i].name))
		}
	}
	if !found {
		return mserr.New(107, 15,
			"The column prefix '%s' does not match with a table name or alias name used in the query.",
			dotted(item.Qualifier),
		)
	}
	return nil
}

// assign binds SELECT @v = x.
func (b *binder) assign(item *syntax.SelectAssign, r *query, l *level, use queryUse) error {
	if use.assigned == nil {
		return mserr.Syntax("=")
	}
	v, err := b.variable(item.Var)
	if err != nil {
		return err
	}
	n, err := b.expr(item.X, l)
	if err != nil {
		return err
	}
	if item.Op != syntax.OpNone {
		if n, err = arith(arithOps[item.Op], v, n); err != nil {
			return err
		}
	}
	if n, err = assignedTo(v, n); err != nil {
		return err
	}
	*use.assigned = append(*use.assigned, assignment{item.Var, n})
	r.add(n, outColumn{name: item.Var, typ: n.typ, null: n.null})
	return nil
}

// eachNode visits the expressions of a query and of its derived tables.
func (q *query) eachNode(visit func(*node)) {
	if q == nil {
		return
	}
	q.inner.eachNode(visit)
	if q.set != nil {
		q.set.x.eachNode(visit)
		q.set.y.eachNode(visit)
	}
	for _, o := range q.order {
		visit(o.n)
	}
	if c := q.core; c != nil {
		for _, n := range c.items {
			visit(n)
		}
		for _, n := range c.group {
			visit(n)
		}
		for _, n := range []*node{c.where, c.having} {
			if n != nil {
				visit(n)
			}
		}
		eachFrom(c.from, visit)
	}
}

// eachFrom visits the expressions of a FROM clause.
func eachFrom(f fromNode, visit func(*node)) {
	switch f := f.(type) {
	case *join:
		eachFrom(f.left, visit)
		eachFrom(f.right, visit)
		if f.on != nil {
			visit(f.on)
		}
	case *source:
		f.query.eachNode(visit)
		if f.rowset != nil {
			visit(f.rowset)
		}
	}
}

// orderBy binds the ORDER BY of a SELECT: positions, aliases and expressions. Errors: 108, 145,
// 408.
func (b *binder) orderBy(items []*syntax.OrderItem, r *query, l *level, s *syntax.Select) error {
	if err := checkElements(len(items)); err != nil {
		return err
	}
	for i, item := range items {
		// Each item is compared with all columns and with all items before it.
		if err := b.meter.Work(nodeWork + 4*(len(r.cols)+len(r.order))); err != nil {
			return err
		}
		n, err := b.orderItem(item.X, i, r, l)
		if err != nil {
			return err
		}
		if err := sortable(n.typ); err != nil {
			return err
		}
		if err := checkItemCollation(n.label, "ORDER BY", i); err != nil {
			return err
		}
		if s.Distinct && r.itemOf(n) < 0 {
			return mserr.OrderByDistinct()
		}
		dup, again := false, false // two columns may stand for the same expression
		for _, o := range r.order {
			if sameNode(o.n, n) {
				dup, again = true, again || o.n.viaColumn() == n.viaColumn()
			}
		}
		if n.op == opConst {
			continue // a constant does not order rows, and SQLite would read an integer as a position
		}
		if dup {
			if n.op == opCol && again {
				return mserr.DuplicateOrderBy()
			}
			continue
		}
		r.order = append(r.order, orderTerm{n, item.Desc})
	}
	return nil
}

// orderItem binds the i-th item of ORDER BY.
func (b *binder) orderItem(e syntax.Expr, i int, r *query, l *level) (*node, error) {
	switch e := e.(type) {
	case *syntax.Literal:
		if e.Kind == syntax.IntLit {
			n, err := literal(e)
			if err != nil {
				return nil, err
			}
			pos, ok := n.val.(int64)
			if !ok || pos < 1 || pos > int64(len(r.cols)) {
				return nil, mserr.OrderByPosition(pos)
			}
			return r.core.items[pos-1], nil
		}
		return nil, mserr.OrderByConstant(i + 1)
	case *syntax.ColumnRef:
		if len(e.Parts) == 1 {
			var found *node
			for k, c := range r.cols {
				if !strings.EqualFold(c.name, e.Column()) {
					continue
				}
				if found != nil && !sameNode(found, r.core.items[k]) {
					return nil, mserr.AmbiguousColumn(e.Column())
				}
				found = r.core.items[k]
			}
			if found != nil {
				return found, nil
			}
		}
	}
	n, err := b.expr(e, l)
	if err != nil {
		return nil, err
	}
	if n.isConst() && !namesColumn(e) {
		return nil, mserr.OrderByConstant(i + 1)
	}
	if k := r.itemOf(n); k >= 0 && r.core.items[k].viaColumn() == n.viaColumn() {
		return r.core.items[k], nil
	}
	return n, nil
}

// namesColumn reports whether an expression names a column. A derived table's column may be a
// constant.
func namesColumn(e syntax.Expr) bool {
	found := false
	syntax.Inspect(e, func(n syntax.Node) bool {
		_, is := n.(*syntax.ColumnRef)
		found = found || is
		return !found
	})
	return found
}

// itemOf returns the index of the result column with the same expression, or -1.
func (q *query) itemOf(n *node) int {
	for i, item := range q.core.items {
		if sameNode(item, n) {
			return i
		}
	}
	return -1
}

// limits binds TOP, OFFSET and FETCH. Errors: 1033 for an ORDER BY without them in a subquery, 1062
// for WITH TIES without ORDER BY, 10741 for TOP with OFFSET.
func (b *binder) limits(top *syntax.Top, q *syntax.Query, r *query, l *level, use queryUse) error {
	if len(q.OrderBy) > 0 && top == nil && q.Offset == nil && q.For == nil && !use.top && !use.ordered {
		return mserr.OrderByWithoutTop()
	}
	if top != nil {
		if q.Offset != nil {
			return mserr.OffsetWithTop()
		}
		if top.WithTies && len(q.OrderBy) == 0 {
			return mserr.New(1062, 15,
				"The TOP N WITH TIES clause is not allowed without a corresponding ORDER BY clause.",
			)
		}
		n, err := b.topCount(top, l)
		if err != nil {
			return err
		}
		r.limit, r.percent, r.ties = n, top.Percent, top.WithTies
		if top.Percent && n.isConst() && n.val == float64(100) {
			r.limit, r.percent, r.ties = nil, false, false
		}
		return nil
	}
	var err error
	if q.Offset != nil {
		if r.offset, err = b.rowCount("OFFSET", q.Offset, l); err != nil {
			return err
		}
	}
	if q.Fetch != nil {
		r.limit, err = b.rowCount("FETCH", q.Fetch, l)
	}
	return err
}

// topCount binds the row count of TOP.
func (b *binder) topCount(top *syntax.Top, l *level) (*node, error) {
	if !top.Percent {
		return b.rowCount("TOP", top.Count, l)
	}
	n, err := b.expr(top.Count, outerOf(l))
	if err != nil {
		return nil, err
	}
	if n, err = convertImplicit(n, types.FloatType); err != nil {
		return nil, err
	}
	return fold(call(keys.Percent+"|", types.FloatType, n))
}

// rowCount binds the row count of TOP, OFFSET or FETCH. Errors: 1060 for a type other than an
// integer, 127 for a negative constant of TOP.
func (b *binder) rowCount(what string, e syntax.Expr, l *level) (*node, error) {
	n, err := b.expr(e, outerOf(l))
	if err != nil {
		return nil, err
	}
	if n.typ.ID != types.Null && !n.typ.IsInteger() && (what != "TOP" || !n.typ.IsNumber() || n.typ.IsApprox()) {
		return nil, mserr.TopNotInteger()
	}
	if n, err = convertImplicit(n, types.BigIntType); err != nil {
		return nil, err
	}
	if count, ok := n.val.(int64); ok && what == "TOP" && n.op == opConst && count < 0 {
		return nil, mserr.NegativeTop()
	}
	return fold(call(keys.Make(keys.Limit, what), types.BigIntType, n))
}

// outerOf returns the level outside a SELECT: TOP cannot name the columns of its own SELECT.
func outerOf(l *level) *level {
	if l == nil {
		return nil
	}
	return l.parent
}

// setOpWords maps set operations to SQLite's keywords.
var setOpWords = map[syntax.SetOpKind]string{
	syntax.Union: "UNION", syntax.UnionAll: "UNION ALL", syntax.Except: "EXCEPT", syntax.Intersect: "INTERSECT",
}

// setQuery binds UNION, EXCEPT and INTERSECT. Errors: 205, 104, 108.
func (b *binder) setQuery(s *syntax.SetOp, q *syntax.Query, parent *level, use queryUse) (*query, error) {
	x, err := b.query(&syntax.Query{Body: s.X}, parent, queryUse{set: true})
	if err != nil {
		return nil, err
	}
	y, err := b.query(&syntax.Query{Body: s.Y}, parent, queryUse{set: true})
	if err != nil {
		return nil, err
	}
	r, err := setOf(setOpWords[s.Kind], x, y)
	if err != nil {
		return nil, err
	}
	if err := b.setOrder(q.OrderBy, r, x.first()); err != nil {
		return nil, err
	}
	return r, b.limits(nil, q, r, &level{parent: parent}, use)
}

// setOf returns a set operation and converts the columns to common types.
func setOf(op string, x, y *query) (*query, error) {
	if len(x.cols) != len(y.cols) {
		return nil, mserr.SetOperationCount()
	}
	ts := make([]types.Type, len(x.cols))
	r := &query{}
	for i := range x.cols {
		xn := &node{op: opField, typ: x.cols[i].typ, label: x.cols[i].label}
		yn := &node{op: opField, typ: y.cols[i].typ, label: y.cols[i].label}
		t, err := types.CommonOrNull(xn.typ, yn.typ)
		if err != nil {
			return nil, err
		}
		l := labelCoercible
		if t.IsCharacter() {
			if t.Collation, l, err = combine(op, xn, yn); err == nil && op != "UNION ALL" {
				t.Collation, err = collationOf(op, xn, yn)
			}
			if err != nil {
				return nil, err
			}
		}
		if op != "UNION ALL" {
			if sortable(t) != nil {
				return nil, mserr.NotDistinct(typeName(t))
			}
		}
		ts[i] = t
		r.cols = append(
			r.cols,
			outColumn{name: x.cols[i].name, typ: t, null: x.cols[i].null || y.cols[i].null, label: l},
		)
	}
	var err error
	if x, err = x.converted(ts); err != nil {
		return nil, err
	}
	if y, err = y.converted(ts); err != nil {
		return nil, err
	}
	r.set = &setQuery{op, x, y}
	if !r.hasKeyedColumns() {
		return r, nil
	}
	switch op {
	case "UNION":
		r.set.op = "UNION ALL"
		return r.distinctByKey(), nil
	case "EXCEPT", "INTERSECT":
		return exceptOrIntersect(x, y, op == "EXCEPT")
	}
	return r, nil
}

// exceptOrIntersect implements EXCEPT, or INTERSECT, by comparing rows. The queries have the same
// types.
func exceptOrIntersect(x, y *query, except bool) (*query, error) {
	xs, ys := x.source("qx", ""), y.source("qy", "")
	other := selectAll(ys)
	for i := range x.cols {
		same, err := distinctFrom(columnNode(xs, i), columnNode(ys, i), true)
		if err != nil {
			return nil, err
		}
		other.core.where = and(other.core.where, same)
	}
	all := selectAll(xs)
	found := &node{op: opExists, typ: types.BitType, sub: other, traits: hasSubquery | canFail}
	all.core.where = negated(found, except)
	return all.distinctByKey(), nil
}

// hasKeyedColumns reports whether a query has columns of sql_variant or datetimeoffset, whose equal
// values may differ in SQLite's representation.
func (q *query) hasKeyedColumns() bool {
	return slices.ContainsFunc(
		q.cols,
		func(c outColumn) bool { return c.typ.ID == types.Variant || c.typ.ID == types.DateTimeOffset },
	)
}

// distinctByKey returns a query with one row of each group of equal rows. The order and limits of q
// move to the outer query.
func (q *query) distinctByKey() *query {
	rows := *q
	rows.order, rows.limit, rows.offset, rows.percent, rows.ties = nil, nil, nil, false, false
	src := rows.source("q", "")
	out := selectAll(src)
	out.core.group, out.core.grouped = slices.Clone(out.core.items), true
	out.limit, out.offset, out.percent, out.ties = q.limit, q.offset, q.percent, q.ties
	for _, o := range q.order {
		at := o.n.col // for a set operation
		if q.core != nil {
			at = q.itemOf(o.n)
		}
		out.order = append(out.order, orderTerm{out.core.items[at], o.desc})
	}
	return out
}

// isColumn reports whether a node is the column with a qualified name.
func (n *node) isColumn(e *syntax.ColumnRef) bool {
	last := len(e.Parts) - 1
	return last > 0 && n.op == opCol && n.col >= 0 && n.src.matches(e.Parts[:last]) &&
		strings.EqualFold(n.src.cols[n.col].name, e.Column())
}

// first returns the leftmost SELECT of a set operation.
func (q *query) first() *query {
	for q.set != nil {
		q = q.set.x
	}
	return q
}

// setOrder binds the ORDER BY of a set operation: names and positions of result columns, and
// qualified columns that the first SELECT returns unchanged.
func (b *binder) setOrder(items []*syntax.OrderItem, r, first *query) error {
	if err := checkElements(len(items)); err != nil {
		return err
	}
	for i, item := range items {
		if err := b.meter.Work(len(r.cols)); err != nil {
			return err
		}
		at := -1
		switch e := item.X.(type) {
		case *syntax.Literal:
			if e.Kind != syntax.IntLit {
				return mserr.OrderByConstant(i + 1)
			}
			n, err := literal(e)
			if err != nil {
				return err
			}
			pos, ok := n.val.(int64)
			if !ok || pos < 1 || pos > int64(len(r.cols)) {
				return mserr.OrderByPosition(pos)
			}
			at = int(pos) - 1
		case *syntax.ColumnRef:
			for k, c := range r.cols {
				if len(e.Parts) == 1 && strings.EqualFold(c.name, e.Column()) ||
					first.core != nil && first.core.items[k].isColumn(e) {
					at = k
					break
				}
			}
			if at < 0 && len(e.Parts) == 1 {
				return mserr.InvalidColumn(e.Column())
			}
		}
		if at < 0 {
			return mserr.OrderByNotInSetList()
		}
		if err := sortable(r.cols[at].typ); err != nil {
			return err
		}
		if err := checkItemCollation(r.cols[at].label, "ORDER BY", i); err != nil {
			return err
		}
		n := &node{op: opField, typ: r.cols[at].typ, col: at}
		if r.core != nil {
			n = r.core.items[at]
		}
		r.order = append(r.order, orderTerm{n, item.Desc})
	}
	return nil
}
