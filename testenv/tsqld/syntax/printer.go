package syntax

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Print is the canonical text of a node: keywords in capitals, one blank between tokens, a statement a line, each but
// labels ended by a semicolon, blocks indented by four blanks. Names keep their case, and brackets if they had any
// quotes. Comments are lost. Parsing the text gives the same tree, positions aside. Print(nil) is "".
func Print(n Node) string {
	var w printer
	w.node(n)
	return w.b.String()
}

// QuoteName puts name into brackets.
func QuoteName(name string) string { return "[" + strings.ReplaceAll(name, "]", "]]") + "]" }

// quoteString puts s into quotes. A backslash before a line end would take both away, so that one that is meant gets
// another one behind it.
func quoteString(s string) string {
	s = strings.ReplaceAll(s, "'", "''")
	s = strings.ReplaceAll(s, "\\\n", "\\\\\n\n")
	s = strings.ReplaceAll(s, "\\\r\n", "\\\\\n\r\n")
	return "'" + s + "'"
}

// printer collects text.
type printer struct {
	b      strings.Builder
	indent int
}

// text writes text.
func (w *printer) text(parts ...string) {
	for _, s := range parts {
		w.b.WriteString(s)
	}
}

// textIf writes text if the condition holds.
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

// writeList writes items with commas between.
func writeList[T any](w *printer, items []T, write func(T)) {
	for i, x := range items {
		if i > 0 {
			w.text(", ")
		}
		write(x)
	}
}

// nodes writes nodes with commas between.
func nodes[T Node](w *printer, items []T) { writeList(w, items, func(n T) { w.node(n) }) }

// isRegular reports whether name is a name without quotes.
func isRegular(name string) bool { return isWord(name) && !reserved[upper(name)] }

// isWord reports whether the scanner reads s as one word.
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

// identText is a name with brackets if it had quotes or needs them; "" for none.
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

// principal writes the name of a principal; PUBLIC stays a keyword.
func (w *printer) principal(id Ident) {
	if !id.Quoted && upper(id.Name) == "PUBLIC" {
		w.text(id.Name)
		return
	}
	w.ident(id)
}

// idents writes names in parentheses behind a blank, nothing if there are none.
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

// name writes the name of an object, " " before it if it is there.
func (w *printer) name(n *ObjectName) {
	if n != nil {
		w.parts(n.Parts)
	}
}

// keywordName writes a name whose only part may be a keyword without quotes: functions and types.
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

// part writes the smaller nodes that only occur inside of others.
func (w *printer) part(n Node) {
	switch n := n.(type) {
	case *CTE:
		w.cte(n)
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
