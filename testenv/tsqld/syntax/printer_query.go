package syntax

// parenQuery writes a query in parentheses.
func (w *printer) parenQuery(q *Query) {
	w.w("(")
	w.query(q)
	w.w(")")
}

// with writes WITH and a blank behind it; nothing without common table expressions.
func (w *printer) with(list []*CTE) {
	if len(list) > 0 {
		w.w("WITH ")
		nodes(w, list)
		w.w(" ")
	}
}

// cte writes a common table expression.
func (w *printer) cte(c *CTE) {
	w.ident(c.Name)
	w.idents(c.Columns)
	w.w(" AS ")
	w.parenQuery(c.Query)
}

// query writes a query.
func (w *printer) query(q *Query) {
	if q == nil {
		return
	}
	w.with(q.With)
	w.body(q.Body)
	if len(q.OrderBy) > 0 {
		w.w(" ORDER BY ")
		nodes(w, q.OrderBy)
	}
	if q.Offset != nil {
		w.w(" OFFSET ")
		w.expr(q.Offset)
		w.w(" ROWS")
	}
	if q.Fetch != nil {
		w.w(" FETCH NEXT ")
		w.expr(q.Fetch)
		w.w(" ROWS ONLY")
	}
	if q.For != nil {
		w.w(" ")
		w.forClause(q.For)
	}
}

// body writes SELECT and set operations.
func (w *printer) body(b QueryBody) {
	switch b := b.(type) {
	case *ParenQuery:
		w.w("(")
		w.body(b.X)
		w.w(")")
	case *SetOp:
		w.body(b.X)
		w.w(map[SetOpKind]string{Union: " UNION ", UnionAll: " UNION ALL ", Except: " EXCEPT ", Intersect: " INTERSECT "}[b.Kind])
		w.body(b.Y)
	case *Select:
		w.selectBody(b)
	}
}

// selectBody writes SELECT.
func (w *printer) selectBody(s *Select) {
	w.w("SELECT ")
	w.when(s.Distinct, "DISTINCT ")
	w.top(s.Top)
	nodes(w, s.Items)
	if s.Into != nil {
		w.w(" INTO ")
		w.name(s.Into)
	}
	w.from(s.From)
	w.where(s.Where, nil)
	if s.GroupBy != nil {
		w.w(" ")
		w.groupBy(s.GroupBy)
	}
	if s.Having != nil {
		w.w(" HAVING ")
		w.cond(s.Having)
	}
	if s.Windows != nil {
		w.w(" WINDOW ")
		nodes(w, s.Windows)
	}
}

// from writes FROM with a blank before it.
func (w *printer) from(list []TableSource) {
	if len(list) > 0 {
		w.w(" FROM ")
		nodes(w, list)
	}
}

// where writes WHERE with a blank before it.
func (w *printer) where(c Cond, current *CursorRef) {
	if c != nil {
		w.w(" WHERE ")
		w.cond(c)
	}
	if current != nil {
		w.w(" WHERE CURRENT OF ")
		w.cursorRef(current)
	}
}

// windowDef writes a definition of the WINDOW clause.
func (w *printer) windowDef(d *WindowDef) {
	w.ident(d.Name)
	w.w(" AS ")
	w.window(d.Over)
}

// top writes TOP with a blank behind it; nothing for nil.
func (w *printer) top(t *Top) {
	if t == nil {
		return
	}
	w.w("TOP ")
	w.when(t.Paren, "(")
	w.expr(t.Count)
	w.when(t.Paren, ")")
	w.when(t.Percent, " PERCENT")
	w.when(t.WithTies, " WITH TIES")
	w.w(" ")
}

// selectItem writes an item of a select list.
func (w *printer) selectItem(i SelectItem) {
	switch i := i.(type) {
	case *SelectStar:
		w.parts(i.Qualifier)
		w.when(len(i.Qualifier) > 0, ".")
		w.w("*")
	case *SelectAssign:
		w.w(i.Var)
		w.assign(i.Op)
		w.expr(i.X)
	case *SelectExpr:
		w.expr(i.X)
		w.as(i.Alias)
	}
}

// as writes AS alias with a blank before it; nothing without alias.
func (w *printer) as(id Ident) {
	if id.Name != "" {
		w.w(" AS ")
		w.ident(id)
	}
}

// groupBy writes GROUP BY.
func (w *printer) groupBy(g *GroupBy) {
	w.w("GROUP BY ")
	w.when(g.All, "ALL ")
	nodes(w, g.Items)
}

// groupItem writes an element of GROUP BY.
func (w *printer) groupItem(g *GroupItem) {
	if g.Kind == GroupPlain {
		w.expr(g.X)
		return
	}
	w.w(map[GroupKind]string{GroupList: "(", GroupRollup: "ROLLUP (", GroupCube: "CUBE (", GroupSets: "GROUPING SETS ("}[g.Kind])
	nodes(w, g.Sub)
	w.w(")")
}

// table writes a table source.
func (w *printer) table(t TableSource) {
	switch t := t.(type) {
	case *TableName:
		w.name(t.Name)
		w.as(t.Alias)
		if len(t.Hints) > 0 {
			w.w(" WITH (")
			nodes(w, t.Hints)
			w.w(")")
		}
	case *TableVar:
		w.w(t.Name)
		w.as(t.Alias)
	case *TableFunc:
		w.call(t.Call)
		w.as(t.Alias)
		w.idents(t.Columns)
	case *OpenJSON:
		w.openJSON(t)
	case *DerivedTable:
		w.parenQuery(t.Query)
		w.as(t.Alias)
		w.idents(t.Columns)
	case *ValuesTable:
		w.w("(")
		w.rows(t.Rows)
		w.w(")")
		w.as(t.Alias)
		w.idents(t.Columns)
	case *Join:
		w.join(t)
	case *ParenTable:
		w.w("(")
		w.table(t.X)
		w.w(")")
	case *Pivot:
		w.table(t.Source)
		w.w(" PIVOT (")
		w.call(t.Aggregate)
		w.w(" FOR ")
		w.expr(t.Column)
		w.w(" IN")
		w.idents(t.Values)
		w.w(")")
		w.as(t.Alias)
	case *Unpivot:
		w.table(t.Source)
		w.w(" UNPIVOT (")
		w.ident(t.Value)
		w.w(" FOR ")
		w.ident(t.Column)
		w.w(" IN (")
		nodes(w, t.Columns)
		w.w("))")
		w.as(t.Alias)
	}
}

// join writes a join.
func (w *printer) join(j *Join) {
	w.table(j.Left)
	switch j.Kind {
	case CrossJoin:
		w.w(" CROSS JOIN ")
	case CrossApply:
		w.w(" CROSS APPLY ")
	case OuterApply:
		w.w(" OUTER APPLY ")
	default:
		w.w(map[JoinKind]string{InnerJoin: " INNER", LeftJoin: " LEFT", RightJoin: " RIGHT", FullJoin: " FULL"}[j.Kind])
		w.when(j.Hint != "", " ", j.Hint)
		w.w(" JOIN ")
	}
	w.table(j.Right)
	if j.On != nil {
		w.w(" ON ")
		w.cond(j.On)
	}
}

// tableHint writes a hint.
func (w *printer) tableHint(h *TableHint) {
	w.w(h.Name)
	if h.Args != nil {
		w.w("(")
		w.exprs(h.Args)
		w.w(")")
	}
}

// rows writes VALUES.
func (w *printer) rows(rows [][]Expr) {
	w.w("VALUES ")
	list(w, rows, func(r []Expr) {
		w.w("(")
		w.exprs(r)
		w.w(")")
	})
}

// openJSON writes OPENJSON.
func (w *printer) openJSON(o *OpenJSON) {
	w.w("OPENJSON(")
	w.expr(o.X)
	if o.Path != nil {
		w.w(", ")
		w.expr(o.Path)
	}
	w.w(")")
	if o.Columns != nil {
		w.w(" WITH (")
		nodes(w, o.Columns)
		w.w(")")
	}
	w.as(o.Alias)
}

// jsonColumn writes a column of OPENJSON.
func (w *printer) jsonColumn(c *JSONColumn) {
	w.ident(c.Name)
	w.w(" ")
	w.typeRef(c.Type)
	if c.Collation != "" {
		w.w(" COLLATE " + c.Collation)
	}
	if c.Path != nil {
		w.w(" ")
		w.literal(c.Path)
	}
	w.when(c.AsJSON, " AS JSON")
}

// forClause writes FOR JSON and FOR XML.
func (w *printer) forClause(f *ForClause) {
	if f.Kind == ForBrowse {
		w.w("FOR BROWSE")
		return
	}
	w.w(map[ForKind]string{ForJSON: "FOR JSON ", ForXML: "FOR XML "}[f.Kind], f.Mode)
	if f.Element != nil {
		w.w(" (")
		w.literal(f.Element)
		w.w(")")
	}
	for _, o := range f.Options {
		w.w(", ", o.Name)
		if o.Value != nil {
			w.w(" (")
			w.expr(o.Value)
			w.w(")")
		}
	}
}

// option writes an option.
func (w *printer) option(o *Option) {
	w.w(o.Name)
	switch {
	case o.Equals:
		w.w(" = ")
	case o.Name != "" && o.Value != nil:
		w.w(" ")
	}
	w.expr(o.Value)
	if o.Sub != nil {
		w.w(" (")
		nodes(w, o.Sub)
		w.w(")")
	}
}

// withOptions writes WITH (options) with a blank before it.
func (w *printer) withOptions(list []*Option) {
	if len(list) > 0 {
		w.w(" WITH (")
		nodes(w, list)
		w.w(")")
	}
}

// hints writes OPTION (hints) with a blank before it.
func (w *printer) hints(list []*Option) {
	if len(list) > 0 {
		w.w(" OPTION (")
		nodes(w, list)
		w.w(")")
	}
}
