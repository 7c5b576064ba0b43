package printer

import (
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// Print returns the canonical text of an expression, a condition, a name or a type: keywords in
// capitals, one blank between tokens. Names keep their case, and have brackets if the source quoted
// them. Comments are lost. Parsing the text returns the same tree except for positions. Print(nil)
// is "". Subqueries have no text: no text that the server keeps may have one.
func Print(n syntax.Node) string {
	var w Writer
	w.Node(n)
	return w.String()
}

// QuoteString returns s in quotes. A backslash before a line break would remove both, so such a
// backslash is followed by a second backslash and line break, which are removed instead.
func QuoteString(s string) string {
	s = strings.ReplaceAll(s, "'", "''")
	s = strings.ReplaceAll(s, "\\\n", "\\\\\n\n")
	s = strings.ReplaceAll(s, "\\\r\n", "\\\\\n\r\n")
	return "'" + s + "'"
}

// Writer builds the text of nodes.
type Writer struct {
	// Other writes the nodes that are not part of an expression; they have no text if it is nil.
	Other func(*Writer, syntax.Node)
	// Indent is the number of levels by which Line indents.
	Indent int

	b strings.Builder
}

// String returns the text so far.
func (w *Writer) String() string { return w.b.String() }

// Text writes parts.
func (w *Writer) Text(parts ...string) {
	for _, s := range parts {
		w.b.WriteString(s)
	}
}

// TextIf writes parts if ok is true.
func (w *Writer) TextIf(ok bool, parts ...string) {
	if ok {
		w.Text(parts...)
	}
}

// Line starts a new line.
func (w *Writer) Line() {
	w.b.WriteByte('\n')
	for range w.Indent {
		w.b.WriteString("    ")
	}
}

// Put writes texts, nodes and operators.
func (w *Writer) Put(parts ...any) {
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			w.b.WriteString(p)
		case syntax.Node:
			w.Node(p)
		case syntax.Op: // unlike a string, an operator is not copied to the heap
			w.b.WriteString(p.String())
		}
	}
}

// Opt writes before, n and behind, or nothing if n is nil.
func Opt[N interface {
	comparable
	syntax.Node
}](w *Writer, before string, n N, behind ...string) {
	var none N
	if n != none {
		w.Text(before)
		w.Node(n)
		w.Text(behind...)
	}
}

// Each writes items separated by commas.
func Each[T any](w *Writer, items []T, write func(T)) {
	for i, x := range items {
		if i > 0 {
			w.Text(", ")
		}
		write(x)
	}
}

// Nodes writes nodes separated by commas.
func Nodes[N syntax.Node](w *Writer, items []N) {
	for i, n := range items {
		if i > 0 {
			w.b.WriteString(", ")
		}
		w.Node(n)
	}
}

// List writes before, nodes separated by commas, and behind.
func List[N syntax.Node](w *Writer, before string, items []N, behind ...string) {
	w.Text(before)
	Nodes(w, items)
	w.Text(behind...)
}

// Listed writes what list does, or nothing if there are no nodes.
func Listed[N syntax.Node](w *Writer, before string, items []N, behind ...string) {
	if len(items) > 0 {
		List(w, before, items, behind...)
	}
}

// Either returns yes if ok is true, otherwise no.
func Either(ok bool, yes, no string) string {
	if ok {
		return yes
	}
	return no
}

// IdentText returns a name, in brackets if it was quoted or requires quotes, or "" for the zero
// Ident.
func IdentText(id syntax.Ident) string {
	if id.Name == "" {
		return ""
	}
	if id.Quoted || !scanner.IsRegular(id.Name) {
		return syntax.QuoteName(id.Name)
	}
	return id.Name
}

// ident writes a name.
func ident(w *Writer, id syntax.Ident) { w.Text(IdentText(id)) }

// Parts writes a dotted name.
func Parts(w *Writer, ids []syntax.Ident) {
	for i, id := range ids {
		w.TextIf(i > 0, ".")
		ident(w, id)
	}
}

// name writes the name of an object, or nothing for nil.
func name(w *Writer, n *syntax.ObjectName) {
	if n != nil {
		Parts(w, n.Parts)
	}
}

// keywordName writes the name of a function or type. A name of one part may be a keyword without
// quotes.
func keywordName(w *Writer, n *syntax.ObjectName) {
	if len(n.Parts) == 1 && !n.Parts[0].Quoted {
		w.Text(n.Parts[0].Name)
		return
	}
	name(w, n)
}

// typeRef writes a type.
func typeRef(w *Writer, t *syntax.TypeRef) {
	keywordName(w, t.Name)
	switch {
	case t.Max:
		w.Text("(max)")
	case len(t.Args) > 0:
		w.Text("(")
		Each(w, t.Args, func(n int) { w.Text(strconv.Itoa(n)) })
		w.Text(")")
	}
}

// Node writes any node; nothing for a nil node.
func (w *Writer) Node(n syntax.Node) {
	switch n := n.(type) {
	case nil:
	case syntax.Expr:
		expr(w, n)
	case syntax.Cond:
		cond(w, n)
	case syntax.Ident:
		ident(w, n)
	case *syntax.ObjectName:
		name(w, n)
	case *syntax.TypeRef:
		typeRef(w, n)
	case *syntax.OrderItem:
		expr(w, n.X)
		w.TextIf(n.Desc, " DESC")
	case *syntax.Over:
		over(w, n)
	case *syntax.When:
		caseWhen(w, n)
	case *syntax.Frame:
		frame(w, n)
	default:
		if w.Other != nil {
			w.Other(w, n)
		}
	}
}
