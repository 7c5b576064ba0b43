package bind

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// clientName returns the name of a table as reported to clients: as written in the statement, or
// the full name if the statement names a view or function.
func (b *Resolver) clientName(name *syntax.ObjectName, src *tree.Source) []string {
	if b.Place.owner >= 0 || b.Place.system {
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

// isKey reports whether a column is part of its table's browse key.
func isKey(t *catalog.Table, c *catalog.Column) bool {
	key := BrowseKey(t)
	return key != nil &&
		slices.ContainsFunc(key.Columns, func(k catalog.IndexColumn) bool { return k.ColumnID == c.ID })
}

// addBrowseKeys adds the key columns that a query in browse mode does not select. A query with
// DISTINCT, groups or a document has no key columns.
func addBrowseKeys(s *syntax.Select, q *syntax.Query, r *tree.Query, l *Level, use QueryUse) error {
	if !use.Browse || s.Distinct || s.GroupBy != nil || l.Agg.found || q.For != nil || IntoName(q.Body) != nil ||
		use.Assigned != nil && len(*use.Assigned) > 0 {
		return nil
	}
	for _, src := range l.Sources {
		if src.Base == nil || len(src.ClientName) == 0 {
			continue
		}
		for i := range src.Columns {
			c := &src.Columns[i]
			if c.Base == nil || !isKey(src.Base, c.Base) ||
				slices.ContainsFunc(r.Columns, func(o tree.ResultColumn) bool { return o.Auto == c }) {
				continue
			}
			n, err := src.Resolve(i)
			if err != nil {
				return err
			}
			added := tree.ResultColumnOf(n, c.Name)
			added.Hidden = true
			r.Add(n, added)
		}
	}
	return nil
}

// BrowseColumns returns the result columns as sent to clients in browse mode.
func BrowseColumns(q *tree.Query) []types.Column {
	out := q.ColumnTypes()
	for i, c := range q.Columns {
		o := c.Origin.ClientOrigin()
		if o == nil {
			o = &types.Origin{}
		} else {
			o.Key = isKey(c.Origin.Owner.Base, c.Origin.Base)
		}
		o.Browse, o.Hidden = true, c.Hidden
		out[i].Origin = o
	}
	return out
}
