package expr

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Choose returns a CASE, or CHOOSE, which is its operator in messages. results has one element more
// than conds, the value of ELSE.
func Choose(operator string, conds, results []*tree.Node) (*tree.Node, error) {
	if err := RefuseSequences(append(results, conds...)); err != nil {
		return nil, err
	}
	if AllNull(results) {
		return nil, mserr.InvalidCaseNulls()
	}
	t, l, err := Unify(operator, results)
	if err != nil {
		return nil, err
	}
	return CaseOf(t, conds, results).Labeled(l), nil
}

// AllNull reports whether all nodes are NULL constants without a type.
func AllNull(nodes []*tree.Node) bool {
	return !slices.ContainsFunc(nodes, func(n *tree.Node) bool { return n.Type.ID != types.Null })
}

// CaseOf returns a CASE whose results all have type t already.
func CaseOf(t types.Type, conds, results []*tree.Node) *tree.Node {
	args := make([]*tree.Node, 0, 2*len(results)-1)
	null, loose := false, false
	for i, r := range results {
		if i < len(conds) {
			args = append(args, conds[i])
		}
		args = append(args, r)
		null, loose = null || r.Null, loose || r.Loose
	}
	n := tree.Build(tree.OpCase, t, args...)
	n.Null, n.Loose = null, loose
	return n
}

// CoalesceOf returns COALESCE over arguments that all have type t.
func CoalesceOf(t types.Type, args ...*tree.Node) *tree.Node {
	n := tree.Build(tree.OpCoalesce, t, args...)
	n.Null = true
	for _, a := range args {
		n.Null = n.Null && a.Null
	}
	return n
}
