package bind

import (
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// autoTables returns the elements of FOR XML AUTO ("Use AUTO mode with FOR XML"). Errors 6800, 6809
// and 6821.
func autoTables(q *tree.Query) (keys.AutoTables, error) {
	var t keys.AutoTables
	switch {
	case q.Core == nil:
		return t, mserr.NotSupported("FOR XML AUTO over a set operation")
	case q.Core.From == nil:
		return t, mserr.XMLAutoNeedsTable()
	case q.Core.Grouped:
		return t, mserr.XMLAutoGroups()
	}
	for _, c := range q.Columns {
		if c.Name == "" {
			return t, mserr.XMLUnnamed()
		}
	}
	t, _ = autoLevels(q.Core, leavesOf(q.Core.From))
	if len(t.Names) == 0 {
		return t, mserr.XMLAutoNeedsTable()
	}
	for i, name := range t.Names {
		t.Names[i] = keys.XMLName(name)
	}
	return t, nil
}

// autoLevels returns those of the given tables that the select list names, in its order, and the
// table of each column, nil for an expression, which belongs to the deepest table so far.
func autoLevels(c *tree.Core, leaves []*tree.Source) (t keys.AutoTables, sources []*tree.Source) {
	var found []*tree.Source
	for _, n := range c.Items {
		src := exposedSource(n, leaves)
		sources = append(sources, src)
		switch at := slices.Index(found, src); {
		case src == nil:
			t.Levels = append(t.Levels, max(len(found)-1, 0))
		case at >= 0:
			t.Levels = append(t.Levels, at)
		default:
			t.Levels = append(t.Levels, len(found))
			found = append(found, src)
			t.Names = append(t.Names, elementOf(src))
		}
	}
	return t, sources
}

// leavesOf returns the sources of an item of FROM.
func leavesOf(f tree.From) []*tree.Source {
	switch f := f.(type) {
	case *tree.Join:
		if f.Applied != nil {
			return append(leavesOf(f.Left), f.Applied)
		}
		return slices.Concat(leavesOf(f.Left), leavesOf(f.Right))
	case *tree.Source:
		return []*tree.Source{f}
	}
	return nil
}

// exposedSource returns the source of which a select item is a column, or nil for an expression.
func exposedSource(n *tree.Node, leaves []*tree.Source) *tree.Source {
	if via := n.ViaColumn(); via != nil {
		for _, src := range leaves {
			for i := range src.Columns {
				if &src.Columns[i] == via {
					return src
				}
			}
		}
		return nil
	}
	if n.Op == tree.OpCol && slices.Contains(leaves, n.Source) {
		return n.Source
	}
	return nil
}

// elementOf returns the name of the element of a source: its alias, or the table's name as written.
func elementOf(src *tree.Source) string {
	if src.Schema == "" || len(src.ClientName) == 0 {
		return src.Name
	}
	return strings.Join(src.ClientName, ".")
}
