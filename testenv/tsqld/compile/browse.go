package compile

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Browse compiles a query for browse mode (SET NO_BROWSETABLE ON), in which clients are told of every column where it
// comes from, and get the columns of the tables' keys, too: those that the query does not ask for stand hidden at the
// end. The documentation of FOR BROWSE and of CommandBehavior.KeyInfo tells what it is for.
func (c *Compiler) Browse(q *syntax.Query, hints []*syntax.Option) (*Plan, error) {
	return c.query(q, hints, true)
}

// clientName is the name of a table as clients are told it: as the statement has it, or in full where the statement names a
// view or function.
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

// outColumnOf is the result column that a node is, under a name.
func outColumnOf(n *node, name string) outColumn {
	c := outColumn{name: name, typ: n.typ, null: n.null, label: n.label, auto: baseColumn(n), expr: n.op != opCol || n.col < 0}
	switch {
	case c.auto != nil:
		c.origin = c.auto
	case !c.expr:
		c.origin, c.expr = n.src.cols[n.col].origin, n.src.cols[n.col].expr
	}
	return c
}

// clientOrigin is what clients are told of a column's origin; nil when it has none.
func (c *sourceColumn) clientOrigin() *types.Origin {
	if c == nil || c.owner == nil || len(c.owner.clientName) == 0 {
		return nil
	}
	return &types.Origin{Table: c.owner.clientName, Column: c.base.Name}
}

// browseKey is the key by which rows of a table are told apart: the primary key, else a unique index over all rows; nil
// when there is none.
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

// isKey reports columns of the key of their table.
func isKey(t *catalog.Table, c *catalog.Column) bool {
	key := browseKey(t)
	return key != nil && slices.ContainsFunc(key.Columns, func(k catalog.IndexColumn) bool { return k.ColumnID == c.ID })
}

// addBrowseKeys adds the columns of keys that a query in browse mode does not ask for. Rows that are grouped or made one have none.
func addBrowseKeys(s *syntax.Select, q *syntax.Query, r *query, l *level, use queryUse) error {
	if !use.browse || s.Distinct || s.GroupBy != nil || l.agg.found || q.For != nil || intoName(q.Body) != nil || use.assigned != nil && len(*use.assigned) > 0 {
		return nil
	}
	for _, src := range l.sources {
		if src.base == nil || len(src.clientName) == 0 {
			continue
		}
		for i := range src.cols {
			c := &src.cols[i]
			if c.base == nil || !isKey(src.base, c.base) || slices.ContainsFunc(r.cols, func(o outColumn) bool { return o.auto == c }) {
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

// browseColumns are the result columns as clients see them in browse mode.
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
