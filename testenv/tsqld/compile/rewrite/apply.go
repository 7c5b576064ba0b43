package rewrite

import "github.com/jobagent/jobagent/testenv/tsqld/compile/tree"

// MergeApply joins a simple dependent subquery directly to the left side. ok is false if the
// subquery is not simple enough.
func MergeApply(src *tree.Source, left tree.From, isOuter bool) (joined tree.From, ok bool) {
	q := src.Query
	if !q.IsPlain() {
		return nil, false
	}
	c := q.Core
	own := map[*tree.Source]bool{}
	tree.FromSources(left, own)
	tree.FromSources(c.From, own)
	for _, n := range c.Items {
		if n.Traits&tree.HasPerRow != 0 {
			return nil, false // the value must be computed once per row, however often its column is named
		}
		columns, mine := false, false
		n.Walk(func(x *tree.Node) bool {
			columns, mine = columns || x.Op == tree.OpCol, mine || x.Op == tree.OpCol && own[x.Source]
			return true
		})
		if columns && !mine {
			return nil, false // SQLite would attribute an aggregate of the column to the outer query
		}
	}
	bind := func() {
		for i := range src.Columns {
			n := c.Items[i]
			src.Columns[i].Expand = func() (*tree.Node, error) {
				r := *n
				r.Null = r.Null || isOuter
				return &r, nil
			}
		}
	}
	if c.From == nil && c.Where == nil {
		bind()
		return left, true
	}
	leaf, ok := c.From.(*tree.Source)
	if !ok || leaf.Rowset != nil || leaf.Query != nil && isOuter {
		return nil, false
	}
	if leaf.Query != nil && leaf.Query.Correlated() {
		return nil, false
	}
	if isOuter {
		for _, n := range c.Items {
			if n.Op != tree.OpCol || n.Source != leaf {
				return nil, false
			}
		}
		bind()
		return &tree.Join{Kind: "LEFT JOIN", Left: left, Right: leaf, On: c.Where}, true
	}
	bind()
	return &tree.Join{Kind: "JOIN", Left: left, Right: leaf, On: c.Where}, true
}
