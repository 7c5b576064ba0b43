package syntax

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Print returns the canonical text of a node: keywords in capitals, one blank between tokens, one
// statement per line, a semicolon after each statement except labels, blocks indented by four
// blanks. Names keep their case, and have brackets if the source quoted them. Comments are lost.
// Parsing the text returns the same tree except for positions. Print(nil) is "".
func Print(n Node) string {
	var w printer
	w.node(n)
	return w.b.String()
}

// QuoteName returns name in brackets.
func QuoteName(name string) string { return "[" + strings.ReplaceAll(name, "]", "]]") + "]" }

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
func nodes[T Node](w *printer, items []T) { writeList(w, items, func(n T) { w.node(n) }) }

// isRegular reports whether name is valid without quotes.
func isRegular(name string) bool { return isWord(name) && !reserved[upper(name)] }

// isWord reports whether the scanner reads name as one word.
func isWord(name string) bool {
	if name == "" {
		return false
	}
	for i, r := range name {
		if i == 0 && !isWordStart(r) || !isWordPart(r) || r == unicode.ReplacementChar {
			return false
		}
	}
	return utf8.RuneCountInString(name) <= maxIdentifier
}

// identText returns a name, in brackets if it was quoted or requires quotes, or "" for the zero
// Ident.
func identText(id Ident) string {
	if id.Name == "" {
		return ""
	}
	if id.Quoted || !isRegular(id.Name) {
		return QuoteName(id.Name)
	}
	return id.Name
}

// ident writes a name.
func (w *printer) ident(id Ident) { w.text(identText(id)) }

// principal writes the name of a principal. PUBLIC stays a keyword.
func (w *printer) principal(id Ident) {
	if !id.Quoted && upper(id.Name) == "PUBLIC" {
		w.text(id.Name)
		return
	}
	w.ident(id)
}

// idents writes a blank and names in parentheses, or nothing if there are no names.
func (w *printer) idents(ids []Ident) {
	if len(ids) > 0 {
		w.text(" (")
		writeList(w, ids, w.ident)
		w.text(")")
	}
}

// parts writes a dotted name.
func (w *printer) parts(ids []Ident) {
	for i, id := range ids {
		w.textIf(i > 0, ".")
		w.ident(id)
	}
}

// name writes the name of an object, or nothing for nil.
func (w *printer) name(n *ObjectName) {
	if n != nil {
		w.parts(n.Parts)
	}
}

// keywordName writes the name of a function or type. A name of one part may be a keyword without
// quotes.
func (w *printer) keywordName(n *ObjectName) {
	if len(n.Parts) == 1 && !n.Parts[0].Quoted {
		w.text(n.Parts[0].Name)
		return
	}
	w.name(n)
}

// typeRef writes a type.
func (w *printer) typeRef(t *TypeRef) {
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
func (w *printer) node(n Node) {
	switch n := n.(type) {
	case nil:
	case *Batch:
		for i, s := range n.Stmts {
			if i > 0 {
				w.line()
			}
			w.stmt(s)
		}
	case Ident:
		w.ident(n)
	case *ObjectName:
		w.name(n)
	case *TypeRef:
		w.typeRef(n)
	case Stmt:
		w.stmt(n)
	case Expr:
		w.expr(n)
	case Cond:
		w.cond(n)
	case *Query:
		w.query(n)
	case QueryBody:
		w.body(n)
	case TableSource:
		w.table(n)
	case SelectItem:
		w.selectItem(n)
	case *OrderItem:
		w.expr(n.X)
		w.textIf(n.Desc, " DESC")
	case *Over:
		w.over(n)
	case *Option:
		w.option(n)
	case Constraint:
		w.constraint(n)
	default:
		w.part(n)
	}
}

// part writes the smaller nodes that occur only inside other nodes.
func (w *printer) part(n Node) {
	switch n := n.(type) {
	case *CTE:
		w.cte(n)
	case *XMLNamespace:
		w.xmlNamespace(n)
	case *Top:
		w.top(n)
	case *When:
		w.caseWhen(n)
	case *Frame:
		w.frame(n)
	case *GroupBy:
		w.groupBy(n)
	case *GroupItem:
		w.groupItem(n)
	case *WindowDef:
		w.windowDef(n)
	case *TableHint:
		w.tableHint(n)
	case *JSONColumn:
		w.jsonColumn(n)
	case *ForClause:
		w.forClause(n)
	case *Output:
		w.output(n)
	case InsertSource:
		w.insertSource(n)
	case *SetClause:
		w.setClause(n)
	case *MergeWhen:
		w.mergeWhen(n)
	case *BulkColumn:
		w.bulkColumn(n)
	case *TableDef:
		w.tableDef(n)
	case *ColumnDef:
		w.column(n)
	case *IdentitySpec:
		w.identity(n)
	case *IndexDef:
		w.inlineIndex(n)
	case *IndexColumn:
		w.indexColumn(n)
	case AlterTableAction:
		w.alterAction(n)
	case *AlterDropItem:
		w.dropItem(n)
	case *DropIndexItem:
		w.dropIndexItem(n)
	case *Param:
		w.param(n)
	case *VarDecl:
		w.varDecl(n)
	case *CursorDef:
		w.cursorDef(n)
	case *CursorRef:
		w.cursorRef(n)
	case *ExecArg:
		w.execArg(n)
	case *ResultSets:
		w.resultSets(n)
	case *Permission:
		w.permission(n)
	}
}
