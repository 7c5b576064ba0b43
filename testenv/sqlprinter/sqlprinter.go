package sqlprinter

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/printer"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// Print returns the canonical text of a node, as [printer.Print] does for expressions: one
// statement per line, a semicolon after each statement except labels, blocks indented by four
// blanks. Parsing the text returns the same tree except for positions. Print(nil) is "".
func Print(n syntax.Node) string {
	w := printer.Writer{Other: part}
	w.Node(n)
	return w.String()
}

// words writes words separated by commas.
func words(w *printer.Writer, items []string) { w.Text(strings.Join(items, ", ")) }

// named writes before and a name, or nothing if there is no name.
func named(w *printer.Writer, before string, id syntax.Ident) {
	if id.Name != "" {
		w.Text(before, printer.IdentText(id))
	}
}

// principal writes the name of a principal. PUBLIC stays a keyword.
func principal(w *printer.Writer, id syntax.Ident) {
	if !id.Quoted && scanner.Upper(id.Name) == "PUBLIC" {
		w.Text(id.Name)
		return
	}
	w.Put(id)
}

// identList writes names separated by commas.
func identList(w *printer.Writer, ids []syntax.Ident) {
	for i, id := range ids {
		w.TextIf(i > 0, ", ")
		w.Put(id)
	}
}

// idents writes a blank and names in parentheses, or nothing if there are no names.
func idents(w *printer.Writer, ids []syntax.Ident) {
	if len(ids) > 0 {
		w.Text(" (")
		identList(w, ids)
		w.Text(")")
	}
}

// part writes a node that is not part of an expression.
func part(w *printer.Writer, n syntax.Node) {
	switch n := n.(type) {
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
	case *syntax.Batch:
		for i, s := range n.Stmts {
			if i > 0 {
				w.Line()
			}
			stmt(w, s)
		}
	case *syntax.Query:
		query(w, n)
	case *syntax.Option:
		option(w, n)
	case *syntax.CTE:
		cte(w, n)
	case *syntax.XMLNamespace:
		xmlNamespace(w, n)
	case *syntax.Top:
		top(w, n)
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
	}
}
