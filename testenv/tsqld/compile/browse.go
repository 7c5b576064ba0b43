package compile

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Browse compiles a query for browse mode (SET NO_BROWSETABLE ON). In browse mode clients get the
// origin of each column, and also the key columns of the tables: key columns that the query does
// not select are added at the end as hidden columns. See the documentation of FOR BROWSE and of
// CommandBehavior.KeyInfo.
func (c *Compiler) Browse(q *syntax.Query, hints []*syntax.Option) (*Plan, error) {
	return c.query(q, hints, true)
}

// clientName returns the name of a table as reported to clients: as written in the statement, or
// the full name if the statement names a view or function.
func (b *binder) clientName(name *syntax.ObjectName, src *source) []string {
	if b.place.owner >= 0 || b.place.system {
		return []string{src.db, src.schema, src.base.Name}
	}
	parts := make([]string, len(name.Parts))
	for i, p := range name.Parts {
		parts[i] = p.Name
	}
	return parts
}

// outColumnOf returns the result column of a node, with a name.
func outColumnOf(n *node, name string) outColumn {
	c := outColumn{
		name:  name,
		typ:   n.typ,
		null:  n.null,
		label: n.label,
		auto:  baseColumn(n),
		expr:  n.op != opCol || n.col < 0,
	}
	switch {
	case c.auto != nil:
		c.origin = c.auto
	case !c.expr:
		c.origin, c.expr = n.src.cols[n.col].origin, n.src.cols[n.col].expr
	}
	return c
}

// clientOrigin returns the origin of a column as reported to clients, or nil.
func (c *sourceColumn) clientOrigin() *types.Origin {
	if c == nil || c.owner == nil || len(c.owner.clientName) == 0 {
		return nil
	}
	return &types.Origin{Table: c.owner.clientName, Column: c.base.Name}
}

// browseKey returns the index that identifies the rows of a table: the primary key, or a unique
// index without a filter; nil if there is none.
func browseKey(t *catalog.Table) *catalog.Index {
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
	key := browseKey(t)
	return key != nil &&
		slices.ContainsFunc(key.Columns, func(k catalog.IndexColumn) bool { return k.ColumnID == c.ID })
}

// addBrowseKeys adds the key columns that a query in browse mode does not select. A query with
// DISTINCT, groups or a document has no key columns.
func addBrowseKeys(s *syntax.Select, q *syntax.Query, r *query, l *level, use queryUse) error {
	if !use.browse || s.Distinct || s.GroupBy != nil || l.agg.found || q.For != nil || intoName(q.Body) != nil ||
		use.assigned != nil && len(*use.assigned) > 0 {
		return nil
	}
	for _, src := range l.sources {
		if src.base == nil || len(src.clientName) == 0 {
			continue
		}
		for i := range src.cols {
			c := &src.cols[i]
			if c.base == nil || !isKey(src.base, c.base) ||
				slices.ContainsFunc(r.cols, func(o outColumn) bool { return o.auto == c }) {
				continue
			}
			n, err := src.resolve(i)
			if err != nil {
				return err
			}
			added := outColumnOf(n, c.name)
			added.hidden = true
			r.add(n, added)
		}
	}
	return nil
}

// browseColumns returns the result columns as sent to clients in browse mode.
func (q *query) browseColumns() []types.Column {
	out := q.columnTypes()
	for i, c := range q.cols {
		o := c.origin.clientOrigin()
		if o == nil {
			o = &types.Origin{}
		} else {
			o.Key = isKey(c.origin.owner.base, c.origin.base)
		}
		o.Browse, o.Hidden = true, c.hidden
		out[i].Origin = o
	}
	return out
}
