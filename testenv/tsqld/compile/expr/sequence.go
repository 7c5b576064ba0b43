package expr

import (
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// ShareSequenceValues makes all references to one sequence among the expressions of a row return
// the same value ("NEXT VALUE FOR"). Each reference gets the number of references, so that the
// interpreter takes a new value when all of them have been computed. SQLite may compute them in any
// order, but computes all of them, because they are not allowed in conditions.
func ShareSequenceValues(row []*tree.Node) []*tree.Node {
	places := map[string]int{}
	for _, n := range row {
		if n == nil || n.Traits&tree.HasSequence == 0 {
			continue
		}
		n.Walk(func(x *tree.Node) bool {
			if isSequence(x) {
				places[sequence(x)]++
			}
			return true
		})
	}
	for _, n := range places {
		if n > 1 {
			return withReferenceCounts(row, places)
		}
	}
	return row
}

// withReferenceCounts adds the number of references to the keys of the references to sequences.
func withReferenceCounts(row []*tree.Node, places map[string]int) []*tree.Node {
	out := make([]*tree.Node, len(row))
	for i, n := range row {
		out[i] = n.Replace(func(x *tree.Node) *tree.Node {
			if !isSequence(x) {
				return nil
			}
			r := *x
			r.Key = sequence(x) + "|" + strconv.Itoa(places[sequence(x)])
			return &r
		})
	}
	return out
}

// isSequence reports whether a node is a NEXT VALUE FOR.
func isSequence(n *tree.Node) bool {
	return n.Op == tree.OpLocal && strings.HasPrefix(n.Key, keys.LocalSequence)
}

// sequence returns the key of a NEXT VALUE FOR without the number of references.
func sequence(n *tree.Node) string {
	return strings.Join(strings.SplitN(n.Key, "|", 4)[:3], "|")
}

// RefuseSequences returns error 11741 for a NEXT VALUE FOR among the arguments of CASE and similar
// functions.
func RefuseSequences(args []*tree.Node) error {
	for _, a := range args {
		if a.Traits&tree.HasSequence != 0 {
			return mserr.SequenceConditional()
		}
	}
	return nil
}
