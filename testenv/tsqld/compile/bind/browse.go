package bind

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/names"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/scalar"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// addBrowseKeys adds the key columns that a query in browse mode does not select. A query with
// DISTINCT, groups or a document has no key columns.
func addBrowseKeys(s *syntax.Select, q *syntax.Query, r *tree.Query, l *names.Level, use scalar.QueryUse) error {
	if !use.Browse || s.Distinct || s.GroupBy != nil || l.Agg.Found || q.For != nil || IntoName(q.Body) != nil ||
		use.Assigned != nil && len(*use.Assigned) > 0 {
		return nil
	}
	for _, src := range l.Sources {
		if src.Base == nil || len(src.ClientName) == 0 {
			continue
		}
		for i := range src.Columns {
			c := &src.Columns[i]
			if c.Base == nil || !names.IsKey(src.Base, c.Base) ||
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
			o.Key = names.IsKey(c.Origin.Owner.Base, c.Origin.Base)
		}
		o.Browse, o.Hidden = true, c.Hidden
		out[i].Origin = o
	}
	return out
}
