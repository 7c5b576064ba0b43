package bind

import (
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// autoTables returns the elements of FOR XML AUTO ("Use AUTO mode with FOR XML"): the tables in the
// order in which the select list names them. An expression belongs to the deepest table so far.
// Errors 6800, 6809 and 6821.
func autoTables(q *tree.Query) (keys.XMLTables, error) {
	var t keys.XMLTables
	switch {
	case q.Core == nil:
		return t, mserr.NotSupported("FOR XML AUTO over a set operation")
	case q.Core.From == nil:
		return t, mserr.XMLAutoNeedsTable()
	case q.Core.Grouped:
		return t, mserr.XMLAutoGroups()
	}
	leaves := leavesOf(q.Core.From)
	var found []*tree.Source
	for i, n := range q.Core.Items {
		if q.Columns[i].Name == "" {
			return t, mserr.XMLUnnamed()
		}
		src := exposedSource(n, leaves)
		switch at := slices.Index(found, src); {
		case src == nil:
			t.Levels = append(t.Levels, max(len(found)-1, 0))
		case at >= 0:
			t.Levels = append(t.Levels, at)
		default:
			t.Levels = append(t.Levels, len(found))
			found = append(found, src)
			t.Names = append(t.Names, keys.XMLName(elementOf(src)))
		}
	}
	if len(found) == 0 {
		return t, mserr.XMLAutoNeedsTable()
	}
	return t, nil
}

// leavesOf returns the sources of an item of FROM.
func leavesOf(f tree.From) []*tree.Source {
	switch f := f.(type) {
	case *tree.Join:
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
