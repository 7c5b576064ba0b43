package compile

import (
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// autoTables returns the elements of FOR XML AUTO ("Use AUTO mode with FOR XML"): the tables in the
// order in which the select list names them. An expression belongs to the deepest table so far.
// Errors 6800, 6809 and 6821.
func autoTables(q *query) (keys.XMLTables, error) {
	var t keys.XMLTables
	switch {
	case q.core == nil:
		return t, mserr.NotSupported("FOR XML AUTO over a set operation")
	case q.core.from == nil:
		return t, mserr.XMLAutoNeedsTable()
	case q.core.grouped:
		return t, mserr.XMLAutoGroups()
	}
	leaves := leavesOf(q.core.from)
	var found []*source
	for i, n := range q.core.items {
		if q.cols[i].name == "" {
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
func leavesOf(f fromNode) []*source {
	switch f := f.(type) {
	case *join:
		return slices.Concat(leavesOf(f.left), leavesOf(f.right))
	case *source:
		return []*source{f}
	}
	return nil
}

// exposedSource returns the source of which a select item is a column, or nil for an expression.
func exposedSource(n *node, leaves []*source) *source {
	if via := n.viaColumn(); via != nil {
		for _, src := range leaves {
			for i := range src.cols {
				if &src.cols[i] == via {
					return src
				}
			}
		}
		return nil
	}
	if n.op == opCol && slices.Contains(leaves, n.src) {
		return n.src
	}
	return nil
}

// elementOf returns the name of the element of a source: its alias, or the table's name as written.
func elementOf(src *source) string {
	if src.schema == "" || len(src.clientName) == 0 {
		return src.name
	}
	return strings.Join(src.clientName, ".")
}
