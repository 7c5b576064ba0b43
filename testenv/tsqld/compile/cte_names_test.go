package compile_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/from"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// A name leads to the nearest expression that was declared before the place of its use.
func TestNamesOfCommonTableExpressions(t *testing.T) {
	ctes := func(names ...string) (out []*syntax.CTE) {
		for _, n := range names {
			out = append(out, &syntax.CTE{Name: syntax.Ident{Name: n}})
		}
		return out
	}
	name := func(n string) *syntax.ObjectName { return &syntax.ObjectName{Parts: []syntax.Ident{{Name: n}}} }
	b := &from.Binder{}
	require.NoError(t, b.With(ctes("a", "B")))
	outer := b.Place.CTEs
	require.NoError(t, b.With(ctes("b", "c")))
	require.Same(t, outer, b.Place.CTEs.Parent.Clause.Outer)
	require.Equal(t, "b", b.Place.CTEs.Find(name("B")).Def.Name.Name)
	require.Equal(t, "B", outer.Find(name("b")).Def.Name.Name)
	require.Equal(t, "a", b.Place.CTEs.Find(name("A")).Def.Name.Name)
	require.Nil(t, b.Place.CTEs.Parent.Find(name("c")), "c is declared later")
	require.ErrorContains(t, b.With(ctes("x", "y", "X")), "Duplicate")
}
