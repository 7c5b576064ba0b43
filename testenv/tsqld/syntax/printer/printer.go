package printer

import (
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// Print returns the canonical text of a node: keywords in capitals, one blank between tokens, one
// statement per line, a semicolon after each statement except labels, blocks indented by four
// blanks. Names keep their case, and have brackets if the source quoted them. Comments are lost.
// Parsing the text returns the same tree except for positions. Print(nil) is "".
func Print(n syntax.Node) string {
	var w writer
	w.node(n)
	return w.b.String()
}

// quoteString returns s in quotes. A backslash before a line break would remove both, so such a
// backslash is followed by a second backslash and line break, which are removed instead.
func quoteString(s string) string {
	s = strings.ReplaceAll(s, "'", "''")
	s = strings.ReplaceAll(s, "\\\n", "\\\\\n\n")
	s = strings.ReplaceAll(s, "\\\r\n", "\\\\\n\r\n")
	return "'" + s + "'"
}

// writer builds the text of nodes.
type writer struct {
	b      strings.Builder
	indent int
}

// text writes parts.
func (w *writer) text(parts ...string) {
	for _, s := range parts {
		w.b.WriteString(s)
	}
}

// textIf writes parts if ok is true.
func (w *writer) textIf(ok bool, parts ...string) {
	if ok {
		w.text(parts...)
	}
}

// line starts a new line.
func (w *writer) line() {
	w.b.WriteByte('\n')
	for range w.indent {
		w.b.WriteString("    ")
	}
}

// put writes texts, nodes and operators.
func (w *writer) put(parts ...any) {
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			w.b.WriteString(p)
		case syntax.Node:
			w.node(p)
		case syntax.Op: // unlike a string, an operator is not copied to the heap
			w.b.WriteString(p.String())
		}
	}
}

// opt writes before, n and behind, or nothing if n is nil.
func opt[N interface {
	comparable
	syntax.Node
}](w *writer, before string, n N, behind ...string) {
	var none N
	if n != none {
		w.text(before)
		w.node(n)
		w.text(behind...)
	}
}

// writeList writes items separated by commas.
func writeList[T any](w *writer, items []T, write func(T)) {
	for i, x := range items {
		if i > 0 {
			w.text(", ")
		}
		write(x)
	}
}

// nodes writes nodes separated by commas.
func nodes[N syntax.Node](w *writer, items []N) {
	for i, n := range items {
		if i > 0 {
			w.b.WriteString(", ")
		}
		w.node(n)
	}
}

// list writes before, nodes separated by commas, and behind.
func list[N syntax.Node](w *writer, before string, items []N, behind ...string) {
	w.text(before)
	nodes(w, items)
	w.text(behind...)
}

// listed writes what list does, or nothing if there are no nodes.
func listed[N syntax.Node](w *writer, before string, items []N, behind ...string) {
	if len(items) > 0 {
		list(w, before, items, behind...)
	}
}

// words writes words separated by commas.
func words(w *writer, items []string) { w.text(strings.Join(items, ", ")) }

// either returns yes if ok is true, otherwise no.
func either(ok bool, yes, no string) string {
	if ok {
		return yes
	}
	return no
}

// identText returns a name, in brackets if it was quoted or requires quotes, or "" for the zero
// Ident.
func identText(id syntax.Ident) string {
	if id.Name == "" {
		return ""
	}
	if id.Quoted || !scanner.IsRegular(id.Name) {
		return syntax.QuoteName(id.Name)
	}
	return id.Name
}

// ident writes a name.
func ident(w *writer, id syntax.Ident) { w.text(identText(id)) }

// named writes before and a name, or nothing if there is no name.
func named(w *writer, before string, id syntax.Ident) {
	if id.Name != "" {
		w.text(before, identText(id))
	}
}

// principal writes the name of a principal. PUBLIC stays a keyword.
func principal(w *writer, id syntax.Ident) {
	if !id.Quoted && scanner.Upper(id.Name) == "PUBLIC" {
		w.text(id.Name)
		return
	}
	ident(w, id)
}

// identList writes names separated by commas.
func identList(w *writer, ids []syntax.Ident) {
	for i, id := range ids {
		w.textIf(i > 0, ", ")
		ident(w, id)
	}
}

// idents writes a blank and names in parentheses, or nothing if there are no names.
func idents(w *writer, ids []syntax.Ident) {
	if len(ids) > 0 {
		w.text(" (")
		identList(w, ids)
		w.text(")")
	}
}

// parts writes a dotted name.
func parts(w *writer, ids []syntax.Ident) {
	for i, id := range ids {
		w.textIf(i > 0, ".")
		ident(w, id)
	}
}

// name writes the name of an object, or nothing for nil.
func name(w *writer, n *syntax.ObjectName) {
	if n != nil {
		parts(w, n.Parts)
	}
}

// keywordName writes the name of a function or type. A name of one part may be a keyword without
// quotes.
func keywordName(w *writer, n *syntax.ObjectName) {
	if len(n.Parts) == 1 && !n.Parts[0].Quoted {
		w.text(n.Parts[0].Name)
		return
	}
	name(w, n)
}

// typeRef writes a type.
func typeRef(w *writer, t *syntax.TypeRef) {
	keywordName(w, t.Name)
	switch {
	case t.Max:
		w.text("(max)")
	case len(t.Args) > 0:
		w.text("(")
		writeList(w, t.Args, func(n int) { w.text(strconv.Itoa(n)) })
		w.text(")")
	}
}

// node writes any node.
func (w *writer) node(n syntax.Node) {
	switch n := n.(type) {
	case nil:
	case syntax.Expr:
		expr(w, n)
	case syntax.Cond:
		cond(w, n)
	case syntax.Stmt:
		stmt(w, n)
	case syntax.QueryBody:
		body(w, n)
	case syntax.TableSource:
		table(w, n)
	case syntax.SelectItem:
		selectItem(w, n)
	case syntax.InsertSource:
		insertSource(w, n)
	case syntax.Constraint:
		constraint(w, n)
	case syntax.AlterTableAction:
		alterAction(w, n)
	default:
		w.part(n)
	}
}

// part writes the nodes that occur only inside other nodes.
func (w *writer) part(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.Batch:
		for i, s := range n.Stmts {
			if i > 0 {
				w.line()
			}
			stmt(w, s)
		}
	case syntax.Ident:
		ident(w, n)
	case *syntax.ObjectName:
		name(w, n)
	case *syntax.TypeRef:
		typeRef(w, n)
	case *syntax.Query:
		query(w, n)
	case *syntax.OrderItem:
		expr(w, n.X)
		w.textIf(n.Desc, " DESC")
	case *syntax.Over:
		over(w, n)
	case *syntax.Option:
		option(w, n)
	case *syntax.CTE:
		cte(w, n)
	case *syntax.XMLNamespace:
		xmlNamespace(w, n)
	case *syntax.Top:
		top(w, n)
	case *syntax.When:
		caseWhen(w, n)
	case *syntax.Frame:
		frame(w, n)
	case *syntax.GroupBy:
		groupBy(w, n)
	case *syntax.GroupItem:
		groupItem(w, n)
	case *syntax.WindowDef:
		windowDef(w, n)
	case *syntax.TableHint:
		tableHint(w, n)
	case *syntax.JSONColumn:
		jsonColumn(w, n)
	case *syntax.ForClause:
		forClause(w, n)
	case *syntax.Output:
		output(w, n)
	case *syntax.SetClause:
		setClause(w, n)
	case *syntax.MergeWhen:
		mergeWhen(w, n)
	case *syntax.TableDef:
		tableDef(w, n)
	case *syntax.ColumnDef:
		column(w, n)
	case *syntax.IdentitySpec:
		identity(w, n)
	case *syntax.IndexDef:
		inlineIndex(w, n)
	case *syntax.IndexColumn:
		indexColumn(w, n)
	case *syntax.AlterDropItem:
		dropItem(w, n)
	case *syntax.DropIndexItem:
		dropIndexItem(w, n)
	case *syntax.Param:
		param(w, n)
	case *syntax.VarDecl:
		varDecl(w, n)
	case *syntax.CursorDef:
		cursorDef(w, n)
	case *syntax.CursorRef:
		cursorRef(w, n)
	case *syntax.ExecArg:
		execArg(w, n)
	case *syntax.ResultSets:
		resultSets(w, n)
	case *syntax.Permission:
		permission(w, n)
	}
}
