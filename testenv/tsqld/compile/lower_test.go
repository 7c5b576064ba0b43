package compile_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/lower"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// table returns a source with two int columns.
func table() *tree.Source {
	return &tree.Source{Alias: "t1", Table: "main.item", Columns: []tree.SourceColumn{
		{Name: "id", Type: types.IntType, SQL: "c1"}, {Name: "price", Type: types.IntType, Null: true, SQL: "c2"},
	}}
}

// variable returns the node of an int variable.
func variable(name string) *tree.Node {
	return &tree.Node{Op: tree.OpVar, Type: types.IntType, Null: true, Name: name, Traits: tree.HasVar}
}

// division returns x / y, which fails if y is 0.
func division(t *testing.T, x, y *tree.Node) *tree.Node {
	n, err := tree.Call(keys.Make(keys.Arith, "3", "int", "int", "int"), types.IntType, x, y)
	require.NoError(t, err)
	return n
}

// compare returns "x > y".
func compare(x, y *tree.Node) *tree.Node {
	n := tree.Build(tree.OpCompare, types.BitType, x, y)
	n.Name = ">"
	return n
}

// An expression that reads no row is one parameter, wherever the query names it. An expression that
// may fail is none in a select list, because the query may return no row.
func TestExpressionsWithoutRowsAreParameters(t *testing.T) {
	src := table()
	q := &tree.Query{Core: &tree.Core{From: src}}
	price := tree.ColumnNode(src, 1)
	q.Add(variable("@n"), tree.ResultColumn{Type: types.IntType})
	q.Add(division(t, variable("@n"), variable("@m")), tree.ResultColumn{Type: types.IntType})
	q.Core.Where = tree.And(compare(price, division(t, variable("@n"), variable("@m"))), compare(price, variable("@N")))
	p := &plan.Plan{}
	require.NoError(t, lower.Plan(p, plan.Needs{}, q))
	require.Equal(t, "SELECT ?1 AS c1, fn('a|3|int|int|int', ?1, ?2) AS c2 FROM main.item AS t1 "+
		"WHERE ((t1.c2 > ?3) AND (t1.c2 > ?1))", p.SQL)
	require.Len(t, p.Params, 3)
}

// SQL that is stored in a schema has no parameters.
func TestSchemaHasNoParameters(t *testing.T) {
	src := table()
	src.Alias = ""
	sql, err := lower.Check(compare(tree.ColumnNode(src, 1), tree.Constant(int64(5), types.IntType)))
	require.NoError(t, err)
	require.Equal(t, "(c2 > 5)", sql)
	for _, lower := range []func(*tree.Node) (string, error){lower.Check, lower.Schema} {
		_, err = lower(compare(tree.ColumnNode(src, 1), variable("@n")))
		require.ErrorContains(t, err, "a variable or a function of the session in a schema")
	}
}
