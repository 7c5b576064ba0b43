package names

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// ClientName returns the name of a table as reported to clients: as written in the statement, or
// the full name if the statement names a view or function.
func (b *Resolver) ClientName(name *syntax.ObjectName, src *tree.Source) []string {
	if b.Place.Owner >= 0 || b.Place.System {
		return []string{src.DB, src.Schema, src.Base.Name}
	}
	parts := make([]string, len(name.Parts))
	for i, p := range name.Parts {
		parts[i] = p.Name
	}
	return parts
}

// BrowseKey returns the index that identifies the rows of a table: the primary key, or a unique
// index without a filter; nil if there is none.
func BrowseKey(t *catalog.Table) *catalog.Index {
	var key *catalog.Index
	for _, x := range t.Indexes {
		switch {
		case !x.Unique || x.Disabled || x.Filter != "":
		case x.Key != nil && x.Key.Primary:
			return x
		case key == nil:
			key = x
		}
	}
	return key
}

// IsKey reports whether a column is part of its table's browse key.
func IsKey(t *catalog.Table, c *catalog.Column) bool {
	key := BrowseKey(t)
	return key != nil &&
		slices.ContainsFunc(key.Columns, func(k catalog.IndexColumn) bool { return k.ColumnID == c.ID })
}
