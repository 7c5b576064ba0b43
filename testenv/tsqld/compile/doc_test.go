package compile

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/scalar"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser"
)

// TestDocExample binds and renders the SELECT of doc.go and expects the tree and the SQL shown
// there.
func TestDocExample(t *testing.T) {
	const text = "SELECT name, price / 2 AS half FROM item WHERE price >= @min + 1 AND name <> N''"
	f := newFixture(t, "CREATE TABLE dbo.item (id int NOT NULL PRIMARY KEY, name nvarchar(20) NOT NULL, price int NULL)")
	f.declare("@min", "smallint", "1")
	batch, err := parser.Parse(text, parser.DefaultOptions)
	require.NoError(t, err)
	selected := batch.Stmts[0].(*syntax.SelectStmt).Query

	b, err := bind.New(f, nil, false, nil)
	require.NoError(t, err)
	q, err := b.Query(selected, nil, scalar.QueryUse{Top: true})
	require.NoError(t, err)
	tree := &treePrinter{}
	for i, n := range q.Core.Items {
		tree.node(fmt.Sprintf("item %d: ", i+1), n, 0)
	}
	tree.node("where: ", q.Core.Where, 0)
	p, err := New(f).Select(selected, nil)
	require.NoError(t, err)
	sql := strings.ReplaceAll(p.SQL, " FROM", "\nFROM")
	sql = strings.ReplaceAll(sql, " WHERE", "\nWHERE")

	content, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	doc := strings.ReplaceAll(string(content), "//\t", "")
	doc = strings.ReplaceAll(doc, "// ", "")
	for _, part := range []string{text, tree.String(), sql} {
		require.Contains(t, doc, strings.TrimSpace(part)+"\n")
	}
}

// treePrinter draws expressions, one node a line.
type treePrinter struct{ strings.Builder }

// node draws a node and its arguments.
func (p *treePrinter) node(prefix string, n *tree.Node, depth int) {
	detail := map[tree.Op]string{
		tree.OpConst: fmt.Sprintf("constant %#v", n.Value), tree.OpVar: "variable " + n.Name, tree.OpCall: "call " + n.Key,
		tree.OpCompare: "compare " + n.Name, tree.OpAnd: "and",
	}[n.Op]
	if n.Op == tree.OpCol {
		detail = "column " + n.Source.Alias + "." + n.Source.Columns[n.Column].Name
	}
	fmt.Fprintf(p, "%s%s%s (%s)\n", strings.Repeat("  ", depth), prefix, detail, n.Type)
	for _, a := range n.Args {
		p.node("", a, depth+1)
	}
}
