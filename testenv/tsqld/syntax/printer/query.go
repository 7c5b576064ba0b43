package printer

import "github.com/jobagent/jobagent/testenv/tsqld/syntax"

// The words of set operations, grouping elements and joins with a condition.
var (
	setOpText = map[syntax.SetOpKind]string{
		syntax.Union: "UNION", syntax.UnionAll: "UNION ALL", syntax.Except: "EXCEPT", syntax.Intersect: "INTERSECT",
	}
	groupText = map[syntax.GroupKind]string{syntax.GroupRollup: "ROLLUP ", syntax.GroupCube: "CUBE ", syntax.GroupSets: "GROUPING SETS "}
	joinText  = [...]string{syntax.InnerJoin: "INNER", syntax.LeftJoin: "LEFT", syntax.RightJoin: "RIGHT", syntax.FullJoin: "FULL"}
)

// cte writes a common table expression.
func cte(w *writer, c *syntax.CTE) {
	if c.Query == nil {
		list(w, "XMLNAMESPACES (", c.Spaces, ")")
		return
	}
	ident(w, c.Name)
	idents(w, c.Columns)
	w.put(" AS (", c.Query, ")")
}

// xmlNamespace writes an item of XMLNAMESPACES.
func xmlNamespace(w *writer, n *syntax.XMLNamespace) {
	w.textIf(n.Prefix.Name == "", "DEFAULT ")
	expr(w, n.URI)
	named(w, " AS ", n.Prefix)
}

// query writes a query.
func query(w *writer, q *syntax.Query) {
	if q == nil {
		return
	}
	listed(w, "WITH ", q.With, " ")
	body(w, q.Body)
	listed(w, " ORDER BY ", q.OrderBy)
	opt(w, " OFFSET ", q.Offset, " ROWS")
	opt(w, " FETCH NEXT ", q.Fetch, " ROWS ONLY")
	opt(w, " ", q.For)
}

// body writes SELECT and set operations.
func body(w *writer, b syntax.QueryBody) {
	switch b := b.(type) {
	case *syntax.ParenQuery:
		w.put("(", b.X, ")")
	case *syntax.SetOp:
		w.put(b.X, " ", setOpText[b.Kind], " ", b.Y)
	case *syntax.Select:
		selectBody(w, b)
	}
}

// selectBody writes SELECT.
func selectBody(w *writer, s *syntax.Select) {
	w.text("SELECT ")
	w.textIf(s.Distinct, "DISTINCT ")
	top(w, s.Top)
	nodes(w, s.Items)
	opt(w, " INTO ", s.Into)
	listed(w, " FROM ", s.From)
	where(w, s.Where, nil)
	opt(w, " ", s.GroupBy)
	opt(w, " HAVING ", s.Having)
	listed(w, " WINDOW ", s.Windows)
}

// where writes a blank and WHERE.
func where(w *writer, c syntax.Cond, current *syntax.CursorRef) {
	opt(w, " WHERE ", c)
	opt(w, " WHERE CURRENT OF ", current)
}

// windowDef writes a definition of the WINDOW clause.
func windowDef(w *writer, d *syntax.WindowDef) {
	w.put(d.Name, " AS ")
	window(w, d.Over)
}

// top writes TOP and a blank, or nothing for nil.
func top(w *writer, t *syntax.Top) {
	if t == nil {
		return
	}
	w.text("TOP ")
	w.textIf(t.Paren, "(")
	expr(w, t.Count)
	w.textIf(t.Paren, ")")
	w.textIf(t.Percent, " PERCENT")
	w.textIf(t.WithTies, " WITH TIES")
	w.text(" ")
}

// selectItem writes an item of a select list.
func selectItem(w *writer, i syntax.SelectItem) {
	switch i := i.(type) {
	case *syntax.SelectStar:
		parts(w, i.Qualifier)
		w.textIf(len(i.Qualifier) > 0, ".")
		w.text("*")
	case *syntax.SelectAssign:
		w.text(i.Var)
		assign(w, i.Op)
		expr(w, i.X)
	case *syntax.SelectExpr:
		expr(w, i.X)
		named(w, " AS ", i.Alias)
	}
}

// groupBy writes GROUP BY.
func groupBy(w *writer, g *syntax.GroupBy) {
	w.text("GROUP BY ")
	w.textIf(g.All, "ALL ")
	nodes(w, g.Items)
}

// groupItem writes an element of GROUP BY.
func groupItem(w *writer, g *syntax.GroupItem) {
	if g.Kind == syntax.GroupPlain {
		expr(w, g.X)
		return
	}
	w.text(groupText[g.Kind])
	list(w, "(", g.Sub, ")")
}

// table writes a table source.
func table(w *writer, t syntax.TableSource) {
	switch t := t.(type) {
	case *syntax.TableName:
		name(w, t.Name)
		named(w, " AS ", t.Alias)
		listed(w, " WITH (", t.Hints, ")")
	case *syntax.TableVar:
		w.text(t.Name)
		named(w, " AS ", t.Alias)
	case *syntax.TableFunc:
		call(w, t.Call)
		named(w, " AS ", t.Alias)
		idents(w, t.Columns)
	case *syntax.MethodTable:
		expr(w, t.Call)
		named(w, " AS ", t.Alias)
		idents(w, t.Columns)
	case *syntax.OpenJSON:
		openJSON(w, t)
	case *syntax.DerivedTable:
		w.put("(", t.Query, ")")
		named(w, " AS ", t.Alias)
		idents(w, t.Columns)
	case *syntax.ValuesTable:
		w.text("(")
		rows(w, t.Rows)
		w.text(")")
		named(w, " AS ", t.Alias)
		idents(w, t.Columns)
	case *syntax.Join:
		join(w, t)
	case *syntax.ParenTable:
		w.put("(", t.X, ")")
	case *syntax.Pivot:
		w.put(t.Source, " PIVOT (", t.Aggregate, " FOR ", t.Column, " IN")
		idents(w, t.Values)
		w.text(")")
		named(w, " AS ", t.Alias)
	case *syntax.Unpivot:
		w.put(t.Source, " UNPIVOT (", t.Value, " FOR ", t.Column)
		list(w, " IN (", t.Columns, "))")
		named(w, " AS ", t.Alias)
	}
}

// join writes a join.
func join(w *writer, j *syntax.Join) {
	table(w, j.Left)
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
	table(w, j.Right)
	opt(w, " ON ", j.On)
}

// tableHint writes a hint.
func tableHint(w *writer, h *syntax.TableHint) {
	w.text(h.Name)
	listed(w, "(", h.Args, ")")
}

// rows writes VALUES.
func rows(w *writer, rows [][]syntax.Expr) {
	w.text("VALUES ")
	writeList(w, rows, func(r []syntax.Expr) {
		list(w, "(", r, ")")
	})
}

// openJSON writes OPENJSON.
func openJSON(w *writer, o *syntax.OpenJSON) {
	w.put("OPENJSON(", o.X)
	opt(w, ", ", o.Path)
	w.text(")")
	listed(w, " WITH (", o.Columns, ")")
	named(w, " AS ", o.Alias)
}

// jsonColumn writes a column of OPENJSON.
func jsonColumn(w *writer, c *syntax.JSONColumn) {
	w.put(c.Name, " ", c.Type)
	if c.Collation != "" {
		w.text(" COLLATE " + c.Collation)
	}
	opt(w, " ", c.Path)
	w.textIf(c.AsJSON, " AS JSON")
}

// forClause writes FOR JSON and FOR XML.
func forClause(w *writer, f *syntax.ForClause) {
	if f.Kind == syntax.ForBrowse {
		w.text("FOR BROWSE")
		return
	}
	w.text(map[syntax.ForKind]string{syntax.ForJSON: "FOR JSON ", syntax.ForXML: "FOR XML "}[f.Kind], f.Mode)
	opt(w, " (", f.Element, ")")
	for _, o := range f.Options {
		w.text(", ", o.Name)
		opt(w, " (", o.Value, ")")
	}
}

// option writes an option.
func option(w *writer, o *syntax.Option) {
	w.text(o.Name)
	switch {
	case o.Equals:
		w.text(" = ")
	case o.Name != "" && o.Value != nil:
		w.text(" ")
	}
	expr(w, o.Value)
	listed(w, " (", o.Sub, ")")
}
