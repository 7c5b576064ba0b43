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
	var w printer
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

// printer builds the text of nodes.
type printer struct {
	b      strings.Builder
	indent int
}

// text writes parts.
func (w *printer) text(parts ...string) {
	for _, s := range parts {
		w.b.WriteString(s)
	}
}

// textIf writes parts if ok is true.
func (w *printer) textIf(ok bool, parts ...string) {
	if ok {
		w.text(parts...)
	}
}

// line starts a new line.
func (w *printer) line() {
	w.b.WriteByte('\n')
	for range w.indent {
		w.b.WriteString("    ")
	}
}

// writeList writes items separated by commas.
func writeList[T any](w *printer, items []T, write func(T)) {
	for i, x := range items {
		if i > 0 {
			w.text(", ")
		}
		write(x)
	}
}

// nodes writes nodes separated by commas.
func nodes[T syntax.Node](w *printer, items []T) { writeList(w, items, func(n T) { w.node(n) }) }

// isRegular reports whether name is valid without quotes.
func isRegular(name string) bool {
	return scanner.IsWord(name) && !scanner.IsReserved(scanner.Upper(name))
}

// identText returns a name, in brackets if it was quoted or requires quotes, or "" for the zero
// Ident.
func identText(id syntax.Ident) string {
	if id.Name == "" {
		return ""
	}
	if id.Quoted || !isRegular(id.Name) {
		return syntax.QuoteName(id.Name)
	}
	return id.Name
}

// ident writes a name.
func (w *printer) ident(id syntax.Ident) { w.text(identText(id)) }

// principal writes the name of a principal. PUBLIC stays a keyword.
func (w *printer) principal(id syntax.Ident) {
	if !id.Quoted && scanner.Upper(id.Name) == "PUBLIC" {
		w.text(id.Name)
		return
	}
	w.ident(id)
}

// idents writes a blank and names in parentheses, or nothing if there are no names.
func (w *printer) idents(ids []syntax.Ident) {
	if len(ids) > 0 {
		w.text(" (")
		writeList(w, ids, w.ident)
		w.text(")")
	}
}

// parts writes a dotted name.
func (w *printer) parts(ids []syntax.Ident) {
	for i, id := range ids {
		w.textIf(i > 0, ".")
		w.ident(id)
	}
}

// name writes the name of an object, or nothing for nil.
func (w *printer) name(n *syntax.ObjectName) {
	if n != nil {
		w.parts(n.Parts)
	}
}

// keywordName writes the name of a function or type. A name of one part may be a keyword without
// quotes.
func (w *printer) keywordName(n *syntax.ObjectName) {
	if len(n.Parts) == 1 && !n.Parts[0].Quoted {
		w.text(n.Parts[0].Name)
		return
	}
	w.name(n)
}

// typeRef writes a type.
func (w *printer) typeRef(t *syntax.TypeRef) {
	w.keywordName(t.Name)
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
func (w *printer) node(n syntax.Node) {
	switch n := n.(type) {
	case nil:
	case *syntax.Batch:
		for i, s := range n.Stmts {
			if i > 0 {
				w.line()
			}
			w.stmt(s)
		}
	case syntax.Ident:
		w.ident(n)
	case *syntax.ObjectName:
		w.name(n)
	case *syntax.TypeRef:
		w.typeRef(n)
	case syntax.Stmt:
		w.stmt(n)
	case syntax.Expr:
		w.expr(n)
	case syntax.Cond:
		w.cond(n)
	case *syntax.Query:
		w.query(n)
	case syntax.QueryBody:
		w.body(n)
	case syntax.TableSource:
		w.table(n)
	case syntax.SelectItem:
		w.selectItem(n)
	case *syntax.OrderItem:
		w.expr(n.X)
		w.textIf(n.Desc, " DESC")
	case *syntax.Over:
		w.over(n)
	case *syntax.Option:
		w.option(n)
	case syntax.Constraint:
		w.constraint(n)
	default:
		w.part(n)
	}
}

// part writes the smaller nodes that occur only inside other nodes.
func (w *printer) part(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.CTE:
		w.cte(n)
	case *syntax.XMLNamespace:
		w.xmlNamespace(n)
	case *syntax.Top:
		w.top(n)
	case *syntax.When:
		w.caseWhen(n)
	case *syntax.Frame:
		w.frame(n)
	case *syntax.GroupBy:
		w.groupBy(n)
	case *syntax.GroupItem:
		w.groupItem(n)
	case *syntax.WindowDef:
		w.windowDef(n)
	case *syntax.TableHint:
		w.tableHint(n)
	case *syntax.JSONColumn:
		w.jsonColumn(n)
	case *syntax.ForClause:
		w.forClause(n)
	case *syntax.Output:
		w.output(n)
	case syntax.InsertSource:
		w.insertSource(n)
	case *syntax.SetClause:
		w.setClause(n)
	case *syntax.MergeWhen:
		w.mergeWhen(n)
	case *syntax.TableDef:
		w.tableDef(n)
	case *syntax.ColumnDef:
		w.column(n)
	case *syntax.IdentitySpec:
		w.identity(n)
	case *syntax.IndexDef:
		w.inlineIndex(n)
	case *syntax.IndexColumn:
		w.indexColumn(n)
	case syntax.AlterTableAction:
		w.alterAction(n)
	case *syntax.AlterDropItem:
		w.dropItem(n)
	case *syntax.DropIndexItem:
		w.dropIndexItem(n)
	case *syntax.Param:
		w.param(n)
	case *syntax.VarDecl:
		w.varDecl(n)
	case *syntax.CursorDef:
		w.cursorDef(n)
	case *syntax.CursorRef:
		w.cursorRef(n)
	case *syntax.ExecArg:
		w.execArg(n)
	case *syntax.ResultSets:
		w.resultSets(n)
	case *syntax.Permission:
		w.permission(n)
	}
}
