package printer

import (
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// The words of set operations, grouping elements and joins with a condition.
var (
	setOpText = map[syntax.SetOpKind]string{
		syntax.Union: "UNION", syntax.UnionAll: "UNION ALL", syntax.Except: "EXCEPT", syntax.Intersect: "INTERSECT",
	}
	groupText = map[syntax.GroupKind]string{syntax.GroupRollup: "ROLLUP ", syntax.GroupCube: "CUBE ", syntax.GroupSets: "GROUPING SETS "}
	joinText  = map[syntax.JoinKind]string{syntax.InnerJoin: "INNER", syntax.LeftJoin: "LEFT", syntax.RightJoin: "RIGHT", syntax.FullJoin: "FULL"}
)

// parenQuery writes a query in parentheses.
func (w *printer) parenQuery(q *syntax.Query) {
	w.text("(")
	w.query(q)
	w.text(")")
}

// with writes WITH and a blank, or nothing if there are no common table expressions.
func (w *printer) with(list []*syntax.CTE) {
	if len(list) > 0 {
		w.text("WITH ")
		nodes(w, list)
		w.text(" ")
	}
}

// cte writes a common table expression.
func (w *printer) cte(c *syntax.CTE) {
	if c.Query == nil {
		w.text("XMLNAMESPACES (")
		nodes(w, c.Spaces)
		w.text(")")
		return
	}
	w.ident(c.Name)
	w.idents(c.Columns)
	w.text(" AS ")
	w.parenQuery(c.Query)
}

// xmlNamespace writes an item of XMLNAMESPACES.
func (w *printer) xmlNamespace(n *syntax.XMLNamespace) {
	w.textIf(n.Prefix.Name == "", "DEFAULT ")
	w.expr(n.URI)
	if n.Prefix.Name != "" {
		w.text(" AS ")
		w.ident(n.Prefix)
	}
}

// query writes a query.
func (w *printer) query(q *syntax.Query) {
	if q == nil {
		return
	}
	w.with(q.With)
	w.body(q.Body)
	if len(q.OrderBy) > 0 {
		w.text(" ORDER BY ")
		nodes(w, q.OrderBy)
	}
	if q.Offset != nil {
		w.text(" OFFSET ")
		w.expr(q.Offset)
		w.text(" ROWS")
	}
	if q.Fetch != nil {
		w.text(" FETCH NEXT ")
		w.expr(q.Fetch)
		w.text(" ROWS ONLY")
	}
	if q.For != nil {
		w.text(" ")
		w.forClause(q.For)
	}
}

// body writes SELECT and set operations.
func (w *printer) body(b syntax.QueryBody) {
	switch b := b.(type) {
	case *syntax.ParenQuery:
		w.text("(")
		w.body(b.X)
		w.text(")")
	case *syntax.SetOp:
		w.body(b.X)
		w.text(" ", setOpText[b.Kind], " ")
		w.body(b.Y)
	case *syntax.Select:
		w.selectBody(b)
	}
}

// selectBody writes SELECT.
func (w *printer) selectBody(s *syntax.Select) {
	w.text("SELECT ")
	w.textIf(s.Distinct, "DISTINCT ")
	w.top(s.Top)
	nodes(w, s.Items)
	if s.Into != nil {
		w.text(" INTO ")
		w.name(s.Into)
	}
	w.from(s.From)
	w.where(s.Where, nil)
	if s.GroupBy != nil {
		w.text(" ")
		w.groupBy(s.GroupBy)
	}
	if s.Having != nil {
		w.text(" HAVING ")
		w.cond(s.Having)
	}
	if s.Windows != nil {
		w.text(" WINDOW ")
		nodes(w, s.Windows)
	}
}

// from writes a blank and FROM.
func (w *printer) from(list []syntax.TableSource) {
	if len(list) > 0 {
		w.text(" FROM ")
		nodes(w, list)
	}
}

// where writes a blank and WHERE.
func (w *printer) where(c syntax.Cond, current *syntax.CursorRef) {
	if c != nil {
		w.text(" WHERE ")
		w.cond(c)
	}
	if current != nil {
		w.text(" WHERE CURRENT OF ")
		w.cursorRef(current)
	}
}

// windowDef writes a definition of the WINDOW clause.
func (w *printer) windowDef(d *syntax.WindowDef) {
	w.ident(d.Name)
	w.text(" AS ")
	w.window(d.Over)
}

// top writes TOP and a blank, or nothing for nil.
func (w *printer) top(t *syntax.Top) {
	if t == nil {
		return
	}
	w.text("TOP ")
	w.textIf(t.Paren, "(")
	w.expr(t.Count)
	w.textIf(t.Paren, ")")
	w.textIf(t.Percent, " PERCENT")
	w.textIf(t.WithTies, " WITH TIES")
	w.text(" ")
}

// selectItem writes an item of a select list.
func (w *printer) selectItem(i syntax.SelectItem) {
	switch i := i.(type) {
	case *syntax.SelectStar:
		w.parts(i.Qualifier)
		w.textIf(len(i.Qualifier) > 0, ".")
		w.text("*")
	case *syntax.SelectAssign:
		w.text(i.Var)
		w.assign(i.Op)
		w.expr(i.X)
	case *syntax.SelectExpr:
		w.expr(i.X)
		w.as(i.Alias)
	}
}

// as writes a blank and AS alias, or nothing without an alias.
func (w *printer) as(id syntax.Ident) {
	if id.Name != "" {
		w.text(" AS ")
		w.ident(id)
	}
}

// groupBy writes GROUP BY.
func (w *printer) groupBy(g *syntax.GroupBy) {
	w.text("GROUP BY ")
	w.textIf(g.All, "ALL ")
	nodes(w, g.Items)
}

// groupItem writes an element of GROUP BY.
func (w *printer) groupItem(g *syntax.GroupItem) {
	if g.Kind == syntax.GroupPlain {
		w.expr(g.X)
		return
	}
	w.text(groupText[g.Kind], "(")
	nodes(w, g.Sub)
	w.text(")")
}

// table writes a table source.
func (w *printer) table(t syntax.TableSource) {
	switch t := t.(type) {
	case *syntax.TableName:
		w.name(t.Name)
		w.as(t.Alias)
		if len(t.Hints) > 0 {
			w.text(" WITH (")
			nodes(w, t.Hints)
			w.text(")")
		}
	case *syntax.TableVar:
		w.text(t.Name)
		w.as(t.Alias)
	case *syntax.TableFunc:
		w.call(t.Call)
		w.as(t.Alias)
		w.idents(t.Columns)
	case *syntax.MethodTable:
		w.expr(t.Call)
		w.as(t.Alias)
		w.idents(t.Columns)
	case *syntax.OpenJSON:
		w.openJSON(t)
	case *syntax.DerivedTable:
		w.parenQuery(t.Query)
		w.as(t.Alias)
		w.idents(t.Columns)
	case *syntax.ValuesTable:
		w.text("(")
		w.rows(t.Rows)
		w.text(")")
		w.as(t.Alias)
		w.idents(t.Columns)
	case *syntax.Join:
		w.join(t)
	case *syntax.ParenTable:
		w.text("(")
		w.table(t.X)
		w.text(")")
	case *syntax.Pivot:
		w.table(t.Source)
		w.text(" PIVOT (")
		w.call(t.Aggregate)
		w.text(" FOR ")
		w.expr(t.Column)
		w.text(" IN")
		w.idents(t.Values)
		w.text(")")
		w.as(t.Alias)
	case *syntax.Unpivot:
		w.table(t.Source)
		w.text(" UNPIVOT (")
		w.ident(t.Value)
		w.text(" FOR ")
		w.ident(t.Column)
		w.text(" IN (")
		nodes(w, t.Columns)
		w.text("))")
		w.as(t.Alias)
	}
}

// join writes a join.
func (w *printer) join(j *syntax.Join) {
	w.table(j.Left)
	switch j.Kind {
	case syntax.CrossJoin:
		w.text(" CROSS JOIN ")
	case syntax.CrossApply:
		w.text(" CROSS APPLY ")
	case syntax.OuterApply:
		w.text(" OUTER APPLY ")
	default:
		w.text(" ", joinText[j.Kind])
		w.textIf(j.Hint != "", " ", j.Hint)
		w.text(" JOIN ")
	}
	w.table(j.Right)
	if j.On != nil {
		w.text(" ON ")
		w.cond(j.On)
	}
}

// tableHint writes a hint.
func (w *printer) tableHint(h *syntax.TableHint) {
	w.text(h.Name)
	if h.Args != nil {
		w.text("(")
		w.exprs(h.Args)
		w.text(")")
	}
}

// rows writes VALUES.
func (w *printer) rows(rows [][]syntax.Expr) {
	w.text("VALUES ")
	writeList(w, rows, func(r []syntax.Expr) {
		w.text("(")
		w.exprs(r)
		w.text(")")
	})
}

// openJSON writes OPENJSON.
func (w *printer) openJSON(o *syntax.OpenJSON) {
	w.text("OPENJSON(")
	w.expr(o.X)
	if o.Path != nil {
		w.text(", ")
		w.expr(o.Path)
	}
	w.text(")")
	if o.Columns != nil {
		w.text(" WITH (")
		nodes(w, o.Columns)
		w.text(")")
	}
	w.as(o.Alias)
}

// jsonColumn writes a column of OPENJSON.
func (w *printer) jsonColumn(c *syntax.JSONColumn) {
	w.ident(c.Name)
	w.text(" ")
	w.typeRef(c.Type)
	if c.Collation != "" {
		w.text(" COLLATE " + c.Collation)
	}
	if c.Path != nil {
		w.text(" ")
		w.literal(c.Path)
	}
	w.textIf(c.AsJSON, " AS JSON")
}

// forClause writes FOR JSON and FOR XML.
func (w *printer) forClause(f *syntax.ForClause) {
	if f.Kind == syntax.ForBrowse {
		w.text("FOR BROWSE")
		return
	}
	w.text(map[syntax.ForKind]string{syntax.ForJSON: "FOR JSON ", syntax.ForXML: "FOR XML "}[f.Kind], f.Mode)
	if f.Element != nil {
		w.text(" (")
		w.literal(f.Element)
		w.text(")")
	}
	for _, o := range f.Options {
		w.text(", ", o.Name)
		if o.Value != nil {
			w.text(" (")
			w.expr(o.Value)
			w.text(")")
		}
	}
}

// option writes an option.
func (w *printer) option(o *syntax.Option) {
	w.text(o.Name)
	switch {
	case o.Equals:
		w.text(" = ")
	case o.Name != "" && o.Value != nil:
		w.text(" ")
	}
	w.expr(o.Value)
	if o.Sub != nil {
		w.text(" (")
		nodes(w, o.Sub)
		w.text(")")
	}
}

// withOptions writes a blank and WITH (options).
func (w *printer) withOptions(list []*syntax.Option) {
	if len(list) > 0 {
		w.text(" WITH (")
		nodes(w, list)
		w.text(")")
	}
}

// hints writes a blank and OPTION (hints).
func (w *printer) hints(list []*syntax.Option) {
	if len(list) > 0 {
		w.text(" OPTION (")
		nodes(w, list)
		w.text(")")
	}
}
