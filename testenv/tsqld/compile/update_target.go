package compile

import (
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// databaseOf returns the database of a table's source, or nil for a temporary table.
func (b *builder) databaseOf(src *source) (*catalog.Database, error) {
	for _, db := range b.needs.Snapshots {
		if src.databaseID != 0 && db.ID == src.databaseID {
			return db, nil
		}
	}
	if src.databaseID != 0 {
		return nil, mserr.InvalidObject(src.name)
	}
	return nil, nil
}

// targetSource binds the target of a data change that FROM does not name.
func (b *builder) targetSource(ts syntax.TableSource) (*source, error) {
	switch ts := ts.(type) {
	case *syntax.TableVar:
		return b.tableVar(ts)
	case *syntax.TableName:
		return b.tableName(ts)
	}
	return nil, mserr.NotSupported("a data change of this kind of table (%T)", ts)
}

// targetInFrom returns the target among the sources of FROM: the source with that alias, or the
// only use of that table. It returns nil if FROM does not name the target.
func (b *builder) targetInFrom(ts syntax.TableSource, l *level) (*source, error) {
	if len(l.sources) == 0 {
		return nil, nil
	}
	name := ""
	switch ts := ts.(type) {
	case *syntax.TableVar:
		name = ts.Name
	case *syntax.TableName:
		name = ts.Name.Last()
		if len(ts.Name.Parts) == 1 {
			if src := l.exposed(name); src != nil {
				return src, nil
			}
		}
		if catalog.IsLocalTemp(name) {
			break
		}
		if t := b.transition(ts.Name); t != nil {
			return onlyMatch(l, func(src *source) bool { return src.base == t })
		}
		db, o, err := b.object(ts.Name)
		if err != nil {
			return nil, err
		}
		return onlyMatch(l, func(src *source) bool { return src.isObject(o) && src.databaseID == db.ID })
	}
	if src := l.exposed(name); src != nil {
		return src, nil
	}
	t := b.localTable(name)
	return onlyMatch(l, func(src *source) bool { return t != nil && src.base == t })
}

// ownName returns the name of the table or view of a source, without regard to aliases.
func (s *source) ownName() string {
	switch {
	case s.base != nil:
		return s.base.Name
	case s.view != nil:
		return s.view.Name
	}
	return s.name
}

// isObject reports whether a source is a table or view. It is false for a nil object.
func (s *source) isObject(o catalog.Object) bool {
	switch o := o.(type) {
	case *catalog.Table:
		return s.base == o
	case *catalog.View:
		return s.view == o
	}
	return false
}

// onlyMatch returns the only source for which fits is true, or nil. Error 8154 for several.
func onlyMatch(l *level, fits func(*source) bool) (*source, error) {
	var found *source
	for _, src := range l.sources {
		if !fits(src) {
			continue
		}
		if found != nil {
			return nil, mserr.New(8154, 15, "The table '%s' is ambiguous.", src.ownName())
		}
		found = src
	}
	return found, nil
}

// rowID adds the rowid of the table behind a source to the source's columns. The source is a table,
// or a derived table (view, CTE) that shows the rows of one table unchanged. base is the source of
// that table. Errors: 270, 4403, 4405, 4406, 4426, 4436.
func (b *builder) rowID(src *source, columns []string, permission string) (base *source, rid *node, err error) {
	if src.base != nil && src.table != "" {
		src.cols = append(src.cols, sourceColumn{typ: types.BigIntType, sql: "rowid", hidden: true})
		return src, columnNode(src, len(src.cols)-1), nil
	}
	c := src.lineage
	switch {
	case src.query == nil:
		return nil, nil, mserr.NotModifiableObject(src.name)
	case src.query.set != nil:
		return nil, nil, mserr.ViewUnion(src.name, src.query.set.op == "UNION ALL")
	case c == nil:
		return nil, nil, mserr.NotModifiableObject(src.name)
	case c.distinct || c.grouped:
		return nil, nil, mserr.ViewAggregates(src.name)
	}
	var inner *source
	var names []string
	for _, name := range columns {
		i := src.columnByName(name)
		if i < 0 {
			return nil, nil, mserr.InvalidColumn(name)
		}
		n := c.items[i]
		if n.op != opCol {
			return nil, nil, mserr.ViewDerivedField(src.name)
		}
		if inner != nil && inner != n.src {
			return nil, nil, mserr.ViewManyTables(src.name)
		}
		inner = n.src
		names = append(names, n.src.cols[n.col].name)
	}
	if inner == nil {
		leaf, ok := c.from.(*source)
		if !ok {
			return nil, nil, mserr.ViewManyTables(src.name)
		}
		inner = leaf
	}
	base, n, err := b.rowID(inner, names, permission)
	if err != nil {
		return nil, nil, err
	}
	c.items = append(c.items, n)
	q := *src.query
	q.cols = append(append([]outColumn(nil), q.cols...), outColumn{typ: types.BigIntType, null: true})
	src.query = &q
	src.cols = append(
		src.cols,
		sourceColumn{typ: types.BigIntType, sql: columnName(len(c.items) - 1), hidden: true, null: true},
	)
	return base, columnNode(src, len(src.cols)-1), nil
}

// baseOf returns the target's column behind a column of src, or nil if the name is unknown.
func (m *modification) baseOf(name string) *catalog.Column { return baseIn(m.src, name) }

// baseIn returns the table column behind a column, possibly through derived tables, or nil.
func baseIn(src *source, name string) *catalog.Column {
	i := src.columnByName(name)
	if i < 0 {
		return nil
	}
	if c := src.cols[i].base; c != nil {
		return c
	}
	if src.lineage == nil {
		return nil
	}
	n := src.lineage.items[i]
	if n.op != opCol || n.col < 0 {
		return nil
	}
	return baseIn(n.src, n.src.cols[n.col].name)
}

// old returns the node of the current value of a column of the target.
func (m *modification) old(c *catalog.Column) (*node, error) {
	for i := range m.src.cols {
		if m.src.cols[i].base == c {
			return m.src.resolve(i)
		}
	}
	for i := range m.src.cols {
		if !m.src.cols[i].hidden && baseIn(m.src, m.src.cols[i].name) == c {
			return m.src.resolve(i)
		}
	}
	// The view or CTE does not show the column: read it from the table.
	t := &source{alias: m.b.alias("t"), base: m.table, table: m.sql()}
	m.b.tableColumns(t, m.db, m.table)
	t.cols = append(t.cols, sourceColumn{typ: types.BigIntType, sql: "rowid", hidden: true})
	for i := range m.table.Columns {
		if t.cols[i].base != c {
			continue
		}
		same := build(opCompare, types.BitType, columnNode(t, len(t.cols)-1), m.rid)
		same.name = "="
		n, err := t.resolve(i)
		if err != nil {
			return nil, err
		}
		q := &query{core: &core{from: t, where: same}}
		q.add(n, outColumn{typ: n.typ, null: true})
		return &node{
			op:        opScalar,
			typ:       n.typ,
			null:      true,
			label:     labelImplicit,
			sub:       q,
			singleRow: true,
			traits:    hasSubquery,
		}, nil
	}
	return nil, mserr.InvalidColumn(c.Name)
}
