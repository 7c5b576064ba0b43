package dml

import (
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/names"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// databaseOf returns the database of a table's source, or nil for a temporary table.
func (b *builder) databaseOf(src *tree.Source) (*catalog.Database, error) {
	for _, db := range b.Needs.Snapshots {
		if src.DatabaseID != 0 && db.ID == src.DatabaseID {
			return db, nil
		}
	}
	if src.DatabaseID != 0 {
		return nil, mserr.InvalidObject(src.Name)
	}
	return nil, nil
}

// targetSource binds the target of a data change that FROM does not name.
func (b *builder) targetSource(ts syntax.TableSource) (*tree.Source, error) {
	switch ts := ts.(type) {
	case *syntax.TableVar:
		return b.TableVar(ts)
	case *syntax.TableName:
		return b.TableName(ts)
	}
	return nil, mserr.NotSupported("a data change of this kind of table (%T)", ts)
}

// targetInFrom returns the target among the sources of FROM: the source with that alias, or the
// only use of that table. It returns nil if FROM does not name the target.
func (b *builder) targetInFrom(ts syntax.TableSource, l *names.Level) (*tree.Source, error) {
	if len(l.Sources) == 0 {
		return nil, nil
	}
	name := ""
	switch ts := ts.(type) {
	case *syntax.TableVar:
		name = ts.Name
	case *syntax.TableName:
		name = ts.Name.Last()
		if len(ts.Name.Parts) == 1 {
			if src := l.Exposed(name); src != nil {
				return src, nil
			}
		}
		if catalog.IsLocalTemp(name) {
			break
		}
		if t := b.Transition(ts.Name); t != nil {
			return onlyMatch(l, func(src *tree.Source) bool { return src.Base == t })
		}
		db, o, err := b.Object(ts.Name)
		if err != nil {
			return nil, err
		}
		return onlyMatch(l, func(src *tree.Source) bool { return isObject(src, o) && src.DatabaseID == db.ID })
	}
	if src := l.Exposed(name); src != nil {
		return src, nil
	}
	t := b.LocalTable(name)
	return onlyMatch(l, func(src *tree.Source) bool { return t != nil && src.Base == t })
}

// isObject reports whether a source is a table or view. It is false for a nil object.
func isObject(s *tree.Source, o catalog.Object) bool {
	switch o := o.(type) {
	case *catalog.Table:
		return s.Base == o
	case *catalog.View:
		return s.View == o
	}
	return false
}

// onlyMatch returns the only source for which fits is true, or nil. Error 8154 for several.
func onlyMatch(l *names.Level, fits func(*tree.Source) bool) (*tree.Source, error) {
	var found *tree.Source
	for _, src := range l.Sources {
		if !fits(src) {
			continue
		}
		if found != nil {
			return nil, mserr.Of(8154, src.OwnName())
		}
		found = src
	}
	return found, nil
}

// rowID adds the rowid of the table behind a source to the source's columns. The source is a table,
// or a derived table (view, CTE) that shows the rows of one table unchanged. base is the source of
// that table. Errors: 270, 4403, 4405, 4406, 4426, 4436.
func (b *builder) rowID(src *tree.Source, columns []string) (base *tree.Source, rid *tree.Node, err error) {
	if src.Base != nil && src.Table != "" {
		src.Columns = append(src.Columns, tree.SourceColumn{Type: types.BigIntType, SQL: "rowid", Hidden: true})
		return src, tree.ColumnNode(src, len(src.Columns)-1), nil
	}
	c := src.Lineage
	switch {
	case src.Query == nil:
		return nil, nil, mserr.NotModifiableObject(src.Name)
	case src.Query.Set != nil:
		return nil, nil, mserr.ViewUnion(src.Name, src.Query.Set.Op == "UNION ALL")
	case c == nil:
		return nil, nil, mserr.NotModifiableObject(src.Name)
	case c.Distinct || c.Grouped:
		return nil, nil, mserr.ViewAggregates(src.Name)
	}
	var inner *tree.Source
	var names []string
	for _, name := range columns {
		i := src.ColumnByName(name)
		if i < 0 {
			return nil, nil, mserr.InvalidColumn(name)
		}
		n := c.Items[i]
		if n.Op != tree.OpCol {
			return nil, nil, mserr.ViewDerivedField(src.Name)
		}
		if inner != nil && inner != n.Source {
			return nil, nil, mserr.ViewManyTables(src.Name)
		}
		inner = n.Source
		names = append(names, n.Source.Columns[n.Column].Name)
	}
	if inner == nil {
		leaf, ok := c.From.(*tree.Source)
		if !ok {
			return nil, nil, mserr.ViewManyTables(src.Name)
		}
		inner = leaf
	}
	base, n, err := b.rowID(inner, names)
	if err != nil {
		return nil, nil, err
	}
	c.Items = append(c.Items, n)
	q := *src.Query
	q.Columns = append(append([]tree.ResultColumn(nil), q.Columns...), tree.ResultColumn{Type: types.BigIntType, Null: true})
	src.Query = &q
	src.Columns = append(
		src.Columns,
		tree.SourceColumn{Type: types.BigIntType, SQL: tree.ColumnName(len(c.Items) - 1), Hidden: true, Null: true},
	)
	return base, tree.ColumnNode(src, len(src.Columns)-1), nil
}

// baseOf returns the target's column behind a column of src, or nil if the name is unknown.
func (m *modification) baseOf(name string) *catalog.Column { return baseIn(m.src, name) }

// baseIn returns the table column behind a column, possibly through derived tables, or nil.
func baseIn(src *tree.Source, name string) *catalog.Column {
	i := src.ColumnByName(name)
	if i < 0 {
		return nil
	}
	if c := src.Columns[i].Base; c != nil {
		return c
	}
	if src.Lineage == nil {
		return nil
	}
	n := src.Lineage.Items[i]
	if n.Op != tree.OpCol || n.Column < 0 {
		return nil
	}
	return baseIn(n.Source, n.Source.Columns[n.Column].Name)
}

// old returns the node of the current value of a column of the target.
func (m *modification) old(c *catalog.Column) (*tree.Node, error) {
	for i := range m.src.Columns {
		if m.src.Columns[i].Base == c {
			return m.src.Resolve(i)
		}
	}
	for i := range m.src.Columns {
		if !m.src.Columns[i].Hidden && baseIn(m.src, m.src.Columns[i].Name) == c {
			return m.src.Resolve(i)
		}
	}
	// The view or CTE does not show the column: read it from the table.
	t := &tree.Source{Alias: m.b.Alias("t"), Base: m.table, Table: m.sql(), Names: m.table.Names()}
	m.b.TableColumns(t, m.db, m.table)
	t.Columns = append(t.Columns, tree.SourceColumn{Type: types.BigIntType, SQL: "rowid", Hidden: true})
	for i := range m.table.Columns {
		if t.Columns[i].Base != c {
			continue
		}
		same := tree.Build(tree.OpCompare, types.BitType, tree.ColumnNode(t, len(t.Columns)-1), m.rid)
		same.Name = "="
		n, err := t.Resolve(i)
		if err != nil {
			return nil, err
		}
		q := &tree.Query{Core: &tree.Core{From: t, Where: same}}
		q.Add(n, tree.ResultColumn{Type: n.Type, Null: true})
		return &tree.Node{
			Op:        tree.OpScalar,
			Type:      n.Type,
			Null:      true,
			Label:     tree.LabelImplicit,
			Query:     q,
			SingleRow: true,
			Traits:    tree.HasSubquery,
		}, nil
	}
	return nil, mserr.InvalidColumn(c.Name)
}
