package names

import "github.com/jobagent/jobagent/testenv/tsqld/syntax"

// Column reports whether an expression names a column. A derived table's column may be a
// constant.
func Column(e syntax.Expr) bool {
	found := false
	syntax.Inspect(e, func(n syntax.Node) bool {
		_, is := n.(*syntax.ColumnRef)
		found = found || is
		return !found
	})
	return found
}
