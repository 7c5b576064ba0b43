package bind

import (
	"errors"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/names"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/scalar"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/expr"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/rewrite"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Subquery binds a query in an expression. Error 1046 where subqueries are not allowed.
func (b *Binder) Subquery(q *syntax.Query, l *names.Level, exists bool) (*tree.Query, error) {
	for at := l; at != nil; at = at.Parent {
		if at.NoSubquery {
			return nil, mserr.SubqueryNotAllowed()
		}
	}
	if a := l.Aggregates(); a != nil && a.InArguments {
		return nil, mserr.AggregateInAggregate()
	}
	return b.Query(q, l, scalar.QueryUse{Exists: exists})
}

// Query binds a query expression.
func (b *Binder) Query(q *syntax.Query, parent *names.Level, use scalar.QueryUse) (*tree.Query, error) {
	if len(q.With) > 0 {
		saved, spaces := b.Place.CTEs, b.Place.Spaces
		defer func() { b.Place.CTEs, b.Place.Spaces = saved, spaces }()
		if err := b.With(q.With); err != nil {
			return nil, err
		}
	}
	var r *tree.Query
	var err error
	switch body := names.Unparen(q.Body).(type) {
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

// selectQuery binds one SELECT with the ORDER BY and OFFSET of its query.
func (b *Binder) selectQuery(s *syntax.Select, q *syntax.Query, parent *names.Level, use scalar.QueryUse) (*tree.Query, error) {
	l := &names.Level{Parent: parent, Agg: &names.Aggregation{Grouped: s.GroupBy != nil}, Windows: s.Windows}
	c := &tree.Core{Distinct: s.Distinct}
	r := &tree.Query{Core: c}
	var err error
	if c.From, err = b.From(s.From, l); err != nil {
		return nil, err
	}
	if s.Where != nil {
		l.Agg.Refusal = mserr.AggregateInWhere()
		n, err := b.Cond(s.Where, l)
		if err != nil {
			return nil, err
		}
		c.Where = tree.And(c.Where, n)
		rewrite.Prune(c.From, tree.Conjuncts(c.Where))
	}
	if err := b.groupBy(s.GroupBy, c, l); err != nil {
		return nil, err
	}
	l.Agg.Allowed, l.Agg.Windows = true, true
	if err := b.items(s, r, l, use); err != nil {
		return nil, err
	}
	l.Agg.Windows = false
	if s.Having != nil {
		if c.Having, err = b.Cond(s.Having, l); err != nil {
			return nil, err
		}
	}
	l.Agg.Windows = true
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
	c.Items = expr.ShareSequenceValues(c.Items)
	if c.Sets != nil {
		return b.groupingSets(r)
	}
	if c.Distinct && expr.HasKeyedColumns(r) {
		c.Distinct = false
		return expr.DistinctByKey(r), nil
	}
	return r, nil
}

// items binds the select list.
func (b *Binder) items(s *syntax.Select, r *tree.Query, l *names.Level, use scalar.QueryUse) error {
	for _, item := range s.Items {
		if err := b.CheckItems(r); err != nil {
			return err
		}
		switch item := item.(type) {
		case *syntax.SelectStar:
			if use.Exists {
				r.Add(tree.Constant(int64(1), types.IntType), tree.ResultColumn{Type: types.IntType})
				continue
			}
			if err := b.Star(item, r, l); err != nil {
				return err
			}
		case *syntax.SelectExpr:
			n, err := b.Expr(item.X, l)
			if err != nil {
				return err
			}
			r.Add(n, tree.ResultColumnOf(n, ItemName(item)))
		case *syntax.SelectAssign:
			if err := b.assign(item, r, l, use); err != nil {
				return err
			}
		}
	}
	if err := b.CheckItems(r); err != nil {
		return err
	}
	if use.Assigned != nil && len(*use.Assigned) > 0 && len(*use.Assigned) != len(s.Items) {
		return mserr.AssignAndRetrieve()
	}
	for i, n := range r.Core.Items {
		if s.Distinct {
			if err := expr.CheckItemCollation(n.Label, "SELECT", i); err != nil {
				return err
			}
			if expr.Sortable(n.Type) != nil {
				return mserr.NotDistinct(expr.TypeName(n.Type))
			}
		}
	}
	return nil
}

// ItemName returns the name of a result column: the alias, or the name of the selected column,
// which may be in parentheses.
func ItemName(item *syntax.SelectExpr) string {
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

// Star expands * and t.*. Errors: 263 without FROM, 107 for an unknown qualifier.
func (b *Binder) Star(item *syntax.SelectStar, r *tree.Query, l *names.Level) error {
	if len(l.Sources) == 0 && len(item.Qualifier) == 0 {
		return mserr.NoTable()
	}
	found := false
	for _, src := range l.Sources {
		if len(item.Qualifier) > 0 && !names.Matches(src, item.Qualifier) {
			continue
		}
		found = true
		for i := range src.Columns {
			if src.Columns[i].Hidden {
				continue
			}
			if src.XMLNodes != nil {
				return mserr.NodesColumn(src.Columns[i].Name)
			}
			n, err := src.Resolve(i)
			if err != nil {
				return err
			}
			r.Add(n, tree.ResultColumnOf(n, src.Columns[i].Name))
		}
	}
	if !found {
		return mserr.Of(107, names.Dotted(item.Qualifier))
	}
	return nil
}

// assign binds SELECT @v = x.
func (b *Binder) assign(item *syntax.SelectAssign, r *tree.Query, l *names.Level, use scalar.QueryUse) error {
	if use.Assigned == nil {
		return mserr.Syntax("=")
	}
	v, err := b.Variable(item.Var)
	if err != nil {
		return err
	}
	n, err := b.Expr(item.X, l)
	if err != nil {
		return err
	}
	if item.Op != syntax.OpNone {
		if n, err = expr.Arith(expr.ArithOps[item.Op], v, n); err != nil {
			return err
		}
	}
	if n, err = expr.AssignedTo(v, n); err != nil {
		return err
	}
	*use.Assigned = append(*use.Assigned, scalar.Assignment{Variable: item.Var, Value: n})
	r.Add(n, tree.ResultColumn{Name: item.Var, Type: n.Type, Null: n.Null})
	return nil
}

// orderBy binds the ORDER BY of a SELECT: positions, aliases and expressions. Errors: 108, 145,
// 408.
func (b *Binder) orderBy(items []*syntax.OrderItem, r *tree.Query, l *names.Level, s *syntax.Select) error {
	if err := names.CheckElements(len(items)); err != nil {
		return err
	}
	for i, item := range items {
		// Each item is compared with all columns and with all items before it.
		if err := b.Meter.Work(names.NodeWork + 4*(len(r.Columns)+len(r.Order))); err != nil {
			return err
		}
		n, err := b.orderItem(item.X, i, r, l)
		if err != nil {
			return err
		}
		if err := expr.Sortable(n.Type); err != nil {
			return err
		}
		if err := expr.CheckItemCollation(n.Label, "ORDER BY", i); err != nil {
			return err
		}
		if s.Distinct && r.ItemOf(n) < 0 {
			return mserr.OrderByDistinct()
		}
		dup, again := false, false // two columns may stand for the same expression
		for _, o := range r.Order {
			if tree.SameNode(o.Node, n) {
				dup, again = true, again || o.Node.ViaColumn() == n.ViaColumn()
			}
		}
		if n.Op == tree.OpConst {
			continue // a constant does not order rows, and SQLite would read an integer as a position
		}
		if dup {
			if n.Op == tree.OpCol && again {
				return mserr.DuplicateOrderBy()
			}
			continue
		}
		r.Order = append(r.Order, tree.OrderTerm{Node: n, Desc: item.Desc})
	}
	return nil
}

// orderItem binds the i-th item of ORDER BY.
func (b *Binder) orderItem(e syntax.Expr, i int, r *tree.Query, l *names.Level) (*tree.Node, error) {
	switch e := e.(type) {
	case *syntax.Literal:
		if e.Kind == syntax.IntLit {
			n, err := expr.Literal(e)
			if err != nil {
				return nil, err
			}
			pos, ok := n.Value.(int64)
			if !ok || pos < 1 || pos > int64(len(r.Columns)) {
				return nil, mserr.OrderByPosition(pos)
			}
			return r.Core.Items[pos-1], nil
		}
		return nil, mserr.OrderByConstant(i + 1)
	case *syntax.ColumnRef:
		if len(e.Parts) == 1 {
			var found *tree.Node
			for k, c := range r.Columns {
				if !b.Names().Equal(c.Name, e.Column()) {
					continue
				}
				if found != nil && !tree.SameNode(found, r.Core.Items[k]) {
					return nil, mserr.AmbiguousColumn(e.Column())
				}
				found = r.Core.Items[k]
			}
			if found != nil {
				return found, nil
			}
		}
	}
	n, err := b.Expr(e, l)
	if err != nil {
		return nil, err
	}
	if n.IsConst() && !names.Column(e) {
		return nil, mserr.OrderByConstant(i + 1)
	}
	if k := r.ItemOf(n); k >= 0 && r.Core.Items[k].ViaColumn() == n.ViaColumn() {
		return r.Core.Items[k], nil
	}
	return n, nil
}

// limits binds TOP, OFFSET and FETCH. Errors: 1033 for an ORDER BY without them in a subquery, 1062
// for WITH TIES without ORDER BY, 10741 for TOP with OFFSET.
func (b *Binder) limits(top *syntax.Top, q *syntax.Query, r *tree.Query, l *names.Level, use scalar.QueryUse) error {
	if len(q.OrderBy) > 0 && top == nil && q.Offset == nil && q.For == nil && !use.Top && !use.Ordered {
		return mserr.OrderByWithoutTop()
	}
	if top != nil {
		if q.Offset != nil {
			return mserr.OffsetWithTop()
		}
		if top.WithTies && len(q.OrderBy) == 0 {
			return mserr.Of(1062)
		}
		n, err := b.TopCount(top, l)
		if err != nil {
			return err
		}
		r.Limit, r.Percent, r.Ties = n, top.Percent, top.WithTies
		if top.Percent && n.IsConst() && n.Value == float64(100) {
			r.Limit, r.Percent, r.Ties = nil, false, false
		}
		return nil
	}
	var err error
	if q.Offset != nil {
		if r.Offset, err = b.rowCount("OFFSET", q.Offset, l); err != nil {
			return err
		}
	}
	if q.Fetch != nil {
		r.Limit, err = b.rowCount("FETCH", q.Fetch, l)
	}
	return err
}

// TopCount binds the row count of TOP.
func (b *Binder) TopCount(top *syntax.Top, l *names.Level) (*tree.Node, error) {
	if !top.Percent {
		return b.rowCount("TOP", top.Count, l)
	}
	n, err := b.countExpr(top.Count, l)
	if err != nil {
		return nil, err
	}
	if n, err = expr.ConvertImplicit(n, types.FloatType); err != nil {
		return nil, err
	}
	return expr.Checked(tree.Call(keys.Percent+"|", types.FloatType, n))
}

// rowCount binds the row count of TOP, OFFSET or FETCH. Errors: 1060 for a type other than an
// integer, 127 for a negative constant of TOP.
func (b *Binder) rowCount(what string, e syntax.Expr, l *names.Level) (*tree.Node, error) {
	n, err := b.countExpr(e, l)
	if err != nil {
		return nil, err
	}
	if !n.Type.IsInteger() && (n.Type.ID != types.Null || what == "TOP" && n.Op == tree.OpConst) {
		return nil, mserr.TopNotInteger()
	}
	if count, ok := n.Value.(int64); ok && what == "TOP" && n.Op == tree.OpConst && count < 0 {
		return nil, mserr.NegativeTop()
	}
	return expr.CheckedCount(what, n)
}

// countExpr binds the argument of TOP, OFFSET or FETCH. Errors: 4115 for a column of its own
// SELECT, 162 for an aggregate.
func (b *Binder) countExpr(e syntax.Expr, l *names.Level) (*tree.Node, error) {
	n, err := b.Expr(e, outerOf(l))
	var refused *mserr.Error
	switch {
	case !errors.As(err, &refused) || l == nil:
	case refused.Number == mserr.AggregateInWhere().Number:
		return nil, mserr.Of(162)
	default:
		if own, err := b.Expr(e, l); err == nil && own.Op == tree.OpCol {
			return nil, mserr.Of(4115, own.Source.Columns[own.Column].Name)
		}
	}
	return n, err
}

// outerOf returns the level outside a SELECT: TOP cannot name the columns of its own SELECT.
func outerOf(l *names.Level) *names.Level {
	if l == nil {
		return nil
	}
	return l.Parent
}

// setOpWords maps set operations to SQLite's keywords.
var setOpWords = map[syntax.SetOpKind]string{
	syntax.Union: "UNION", syntax.UnionAll: "UNION ALL", syntax.Except: "EXCEPT", syntax.Intersect: "INTERSECT",
}

// setQuery binds UNION, EXCEPT and INTERSECT. Errors: 205, 104, 108.
func (b *Binder) setQuery(s *syntax.SetOp, q *syntax.Query, parent *names.Level, use scalar.QueryUse) (*tree.Query, error) {
	x, err := b.Query(&syntax.Query{Body: s.X}, parent, scalar.QueryUse{Set: true})
	if err != nil {
		return nil, err
	}
	y, err := b.Query(&syntax.Query{Body: s.Y}, parent, scalar.QueryUse{Set: true})
	if err != nil {
		return nil, err
	}
	r, err := expr.SetOf(setOpWords[s.Kind], x, y)
	if err != nil {
		return nil, err
	}
	if err := b.setOrder(q.OrderBy, r, x.First()); err != nil {
		return nil, err
	}
	return r, b.limits(nil, q, r, &names.Level{Parent: parent}, use)
}

// setOrder binds the ORDER BY of a set operation: names and positions of result columns, and
// qualified columns that the first SELECT returns unchanged.
func (b *Binder) setOrder(items []*syntax.OrderItem, r, first *tree.Query) error {
	if err := names.CheckElements(len(items)); err != nil {
		return err
	}
	for i, item := range items {
		if err := b.Meter.Work(len(r.Columns)); err != nil {
			return err
		}
		at := -1
		switch e := item.X.(type) {
		case *syntax.Literal:
			if e.Kind != syntax.IntLit {
				return mserr.OrderByConstant(i + 1)
			}
			n, err := expr.Literal(e)
			if err != nil {
				return err
			}
			pos, ok := n.Value.(int64)
			if !ok || pos < 1 || pos > int64(len(r.Columns)) {
				return mserr.OrderByPosition(pos)
			}
			at = int(pos) - 1
		case *syntax.ColumnRef:
			for k, c := range r.Columns {
				if len(e.Parts) == 1 && b.Names().Equal(c.Name, e.Column()) ||
					first.Core != nil && isColumn(first.Core.Items[k], e) {
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
		if err := expr.Sortable(r.Columns[at].Type); err != nil {
			return err
		}
		if err := expr.CheckItemCollation(r.Columns[at].Label, "ORDER BY", i); err != nil {
			return err
		}
		n := &tree.Node{Op: tree.OpField, Type: r.Columns[at].Type, Column: at}
		if r.Core != nil {
			n = r.Core.Items[at]
		}
		r.Order = append(r.Order, tree.OrderTerm{Node: n, Desc: item.Desc})
	}
	return nil
}

// IntoName returns the INTO target of a query's first SELECT, or nil.
func IntoName(body syntax.QueryBody) *syntax.ObjectName {
	for {
		switch q := names.Unparen(body).(type) {
		case *syntax.SetOp:
			body = q.X
		case *syntax.Select:
			return q.Into
		default:
			return nil
		}
	}
}

// checkSequences returns an error for a NEXT VALUE FOR at a place in a SELECT where it is not
// allowed. Errors: 11719, 11720, 11721, 11723, 11739.
func checkSequences(r *tree.Query, l *names.Level, use scalar.QueryUse) error {
	c := r.Core
	for _, n := range append([]*tree.Node{c.Where, c.Having, r.Limit, r.Offset}, c.Group...) {
		if n != nil && n.Traits&tree.HasSequence != 0 {
			return mserr.NextValuePlace()
		}
	}
	for _, o := range r.Order {
		if o.Node.Traits&tree.HasSequence != 0 && !slices.Contains(c.Items, o.Node) {
			return mserr.NextValuePlace()
		}
	}
	for _, n := range c.Items {
		switch {
		case n.Traits&tree.HasSequence == 0:
			continue
		case use.Set:
			return mserr.SequenceSet()
		case l.Parent != nil || !use.Top && !use.Ordered:
			return mserr.SequencePlace()
		case c.Distinct:
			return mserr.SequenceSet()
		case len(r.Order) > 0:
			return mserr.SequenceOrderBy()
		case r.Limit != nil || r.Offset != nil:
			return mserr.SequenceTop()
		}
	}
	return nil
}

// isColumn reports whether a node is the column with a qualified name.
func isColumn(n *tree.Node, e *syntax.ColumnRef) bool {
	last := len(e.Parts) - 1
	return last > 0 && n.Op == tree.OpCol && n.Column >= 0 && names.Matches(n.Source, e.Parts[:last]) &&
		n.Source.Names.Equal(n.Source.Columns[n.Column].Name, e.Column())
}
