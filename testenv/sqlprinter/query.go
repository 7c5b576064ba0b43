package sqlprinter

import (
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/printer"
)

// The words of set operations, grouping elements and joins with a condition.
var (
	setOpText = map[syntax.SetOpKind]string{
		syntax.Union: "UNION", syntax.UnionAll: "UNION ALL", syntax.Except: "EXCEPT", syntax.Intersect: "INTERSECT",
	}
	groupText = map[syntax.GroupKind]string{syntax.GroupRollup: "ROLLUP ", syntax.GroupCube: "CUBE ", syntax.GroupSets: "GROUPING SETS "}
	joinText  = [...]string{syntax.InnerJoin: "INNER", syntax.LeftJoin: "LEFT", syntax.RightJoin: "RIGHT", syntax.FullJoin: "FULL"}
)

// cte writes a common table expression.
func cte(w *printer.Writer, c *syntax.CTE) {
	if c.Query == nil {
		printer.List(w, "XMLNAMESPACES (", c.Spaces, ")")
		return
	}
	w.Put(c.Name)
	idents(w, c.Columns)
	w.Put(" AS (", c.Query, ")")
}

// xmlNamespace writes an item of XMLNAMESPACES.
func xmlNamespace(w *printer.Writer, n *syntax.XMLNamespace) {
	w.TextIf(n.Prefix.Name == "", "DEFAULT ")
	w.Put(n.URI)
	named(w, " AS ", n.Prefix)
}

// query writes a query.
func query(w *printer.Writer, q *syntax.Query) {
	if q == nil {
		return
	}
	printer.Listed(w, "WITH ", q.With, " ")
	body(w, q.Body)
	printer.Listed(w, " ORDER BY ", q.OrderBy)
	printer.Opt(w, " OFFSET ", q.Offset, " ROWS")
	printer.Opt(w, " FETCH NEXT ", q.Fetch, " ROWS ONLY")
	printer.Opt(w, " ", q.For)
}

// body writes SELECT and set operations.
func body(w *printer.Writer, b syntax.QueryBody) {
	switch b := b.(type) {
	case *syntax.ParenQuery:
		w.Put("(", b.X, ")")
	case *syntax.SetOp:
		w.Put(b.X, " ", setOpText[b.Kind], " ", b.Y)
	case *syntax.Select:
		selectBody(w, b)
	}
}

// selectBody writes SELECT.
func selectBody(w *printer.Writer, s *syntax.Select) {
	w.Text("SELECT ")
	w.TextIf(s.Distinct, "DISTINCT ")
	top(w, s.Top)
	printer.Nodes(w, s.Items)
	printer.Opt(w, " INTO ", s.Into)
	printer.Listed(w, " FROM ", s.From)
	where(w, s.Where, nil)
	printer.Opt(w, " ", s.GroupBy)
	printer.Opt(w, " HAVING ", s.Having)
	printer.Listed(w, " WINDOW ", s.Windows)
}

// where writes a blank and WHERE.
func where(w *printer.Writer, c syntax.Cond, current *syntax.CursorRef) {
	printer.Opt(w, " WHERE ", c)
	printer.Opt(w, " WHERE CURRENT OF ", current)
}

// windowDef writes a definition of the WINDOW clause.
func windowDef(w *printer.Writer, d *syntax.WindowDef) {
	w.Put(d.Name, " AS ")
	printer.Window(w, d.Over)
}

// top writes TOP and a blank, or nothing for nil.
func top(w *printer.Writer, t *syntax.Top) {
	if t == nil {
		return
	}
	w.Text("TOP ")
	w.TextIf(t.Paren, "(")
	w.Put(t.Count)
	w.TextIf(t.Paren, ")")
	w.TextIf(t.Percent, " PERCENT")
	w.TextIf(t.WithTies, " WITH TIES")
	w.Text(" ")
}

// selectItem writes an item of a select list.
func selectItem(w *printer.Writer, i syntax.SelectItem) {
	switch i := i.(type) {
	case *syntax.SelectStar:
		printer.Parts(w, i.Qualifier)
		w.TextIf(len(i.Qualifier) > 0, ".")
		w.Text("*")
	case *syntax.SelectAssign:
		w.Text(i.Var)
		printer.Assign(w, i.Op)
		w.Put(i.X)
	case *syntax.SelectExpr:
		w.Put(i.X)
		named(w, " AS ", i.Alias)
	}
}

// groupBy writes GROUP BY.
func groupBy(w *printer.Writer, g *syntax.GroupBy) {
	w.Text("GROUP BY ")
	w.TextIf(g.All, "ALL ")
	printer.Nodes(w, g.Items)
}

// groupItem writes an element of GROUP BY.
func groupItem(w *printer.Writer, g *syntax.GroupItem) {
	if g.Kind == syntax.GroupPlain {
		w.Put(g.X)
		return
	}
	w.Text(groupText[g.Kind])
	printer.List(w, "(", g.Sub, ")")
}

// table writes a table source.
func table(w *printer.Writer, t syntax.TableSource) {
	switch t := t.(type) {
	case *syntax.TableName:
		w.Put(t.Name)
		named(w, " AS ", t.Alias)
		printer.Listed(w, " WITH (", t.Hints, ")")
	case *syntax.TableVar:
		w.Text(t.Name)
		named(w, " AS ", t.Alias)
	case *syntax.TableFunc:
		w.Put(t.Call)
		named(w, " AS ", t.Alias)
		idents(w, t.Columns)
	case *syntax.MethodTable:
		w.Put(t.Call)
		named(w, " AS ", t.Alias)
		idents(w, t.Columns)
	case *syntax.OpenJSON:
		openJSON(w, t)
	case *syntax.DerivedTable:
		w.Put("(", t.Query, ")")
		named(w, " AS ", t.Alias)
		idents(w, t.Columns)
	case *syntax.ValuesTable:
		w.Text("(")
		rows(w, t.Rows)
		w.Text(")")
		named(w, " AS ", t.Alias)
		idents(w, t.Columns)
	case *syntax.Join:
		join(w, t)
	case *syntax.ParenTable:
		w.Put("(", t.X, ")")
	case *syntax.Pivot:
		w.Put(t.Source, " PIVOT (", t.Aggregate, " FOR ", t.Column, " IN")
		idents(w, t.Values)
		w.Text(")")
		named(w, " AS ", t.Alias)
	case *syntax.Unpivot:
		w.Put(t.Source, " UNPIVOT (", t.Value, " FOR ", t.Column)
		printer.List(w, " IN (", t.Columns, "))")
		named(w, " AS ", t.Alias)
	}
}

// join writes a join.
func join(w *printer.Writer, j *syntax.Join) {
	table(w, j.Left)
	switch j.Kind {
	case syntax.CrossJoin:
		w.Text(" CROSS JOIN ")
	case syntax.CrossApply:
		w.Text(" CROSS APPLY ")
	case syntax.OuterApply:
		w.Text(" OUTER APPLY ")
	default:
		w.Text(" ", joinText[j.Kind])
		w.TextIf(j.Hint != "", " ", j.Hint)
		w.Text(" JOIN ")
	}
	table(w, j.Right)
	printer.Opt(w, " ON ", j.On)
}

// tableHint writes a hint.
func tableHint(w *printer.Writer, h *syntax.TableHint) {
	w.Text(h.Name)
	printer.Listed(w, "(", h.Args, ")")
}

// rows writes VALUES.
func rows(w *printer.Writer, rows [][]syntax.Expr) {
	w.Text("VALUES ")
	printer.Each(w, rows, func(r []syntax.Expr) {
		printer.List(w, "(", r, ")")
	})
}

// openJSON writes OPENJSON.
func openJSON(w *printer.Writer, o *syntax.OpenJSON) {
	w.Put("OPENJSON(", o.X)
	printer.Opt(w, ", ", o.Path)
	w.Text(")")
	printer.Listed(w, " WITH (", o.Columns, ")")
	named(w, " AS ", o.Alias)
}

// jsonColumn writes a column of OPENJSON.
func jsonColumn(w *printer.Writer, c *syntax.JSONColumn) {
	w.Put(c.Name, " ", c.Type)
	if c.Collation != "" {
		w.Text(" COLLATE " + c.Collation)
	}
	printer.Opt(w, " ", c.Path)
	w.TextIf(c.AsJSON, " AS JSON")
}

// forClause writes FOR JSON and FOR XML.
func forClause(w *printer.Writer, f *syntax.ForClause) {
	if f.Kind == syntax.ForBrowse {
		w.Text("FOR BROWSE")
		return
	}
	w.Text(map[syntax.ForKind]string{syntax.ForJSON: "FOR JSON ", syntax.ForXML: "FOR XML "}[f.Kind], f.Mode)
	printer.Opt(w, " (", f.Element, ")")
	for _, o := range f.Options {
		w.Text(", ", o.Name)
		printer.Opt(w, " (", o.Value, ")")
	}
}

// option writes an option.
func option(w *printer.Writer, o *syntax.Option) {
	w.Text(o.Name)
	switch {
	case o.Equals:
		w.Text(" = ")
	case o.Name != "" && o.Value != nil:
		w.Text(" ")
	}
	w.Put(o.Value)
	printer.Listed(w, " (", o.Sub, ")")
}
