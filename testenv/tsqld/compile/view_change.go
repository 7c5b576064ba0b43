package compile

import (
	"errors"
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// viewChange is a change of a table through a view.
type viewChange struct {
	src     *source // the view
	names   []syntax.Ident
	implied bool // the statement has no column list
}

// permitThrough records the permissions of a change of a table through a view: that on the view,
// and that on the table unless both have the same owner.
func (b *builder) permitThrough(src *source, db *catalog.Database, t *catalog.Table, permission string) error {
	viewDB, err := b.databaseOf(src)
	if err != nil {
		return err
	}
	b.needPermission(viewDB, src.view, permission)
	return b.within(b.moduleScope(viewDB, src.view), func() error {
		if db != nil {
			b.needPermission(db, t, permission)
		}
		return nil
	})
}

// viewTarget returns the table that an INSERT into a view changes, and the columns of the table
// for those of the statement. Errors: 207, 4403, 4405, 4406.
func (b *builder) viewTarget(db *catalog.Database, v *catalog.View, columns []syntax.Ident) (target, *viewChange, error) {
	src, err := b.view(db, v)
	if err != nil {
		return target{}, nil, err
	}
	change := &viewChange{src: src, names: columns, implied: columns == nil}
	var names []string
	for _, c := range columns {
		names = append(names, c.Name)
	}
	for i := range src.cols {
		if columns == nil && !src.cols[i].hidden && b.impliedColumn(src, src.cols[i].name) {
			names = append(names, src.cols[i].name)
			change.names = append(change.names, syntax.Ident{Name: src.cols[i].name})
		}
	}
	base, _, err := b.rowID(src, names, "INSERT")
	if err != nil {
		return target{}, nil, err
	}
	t := target{table: base.base}
	if t.db, err = b.databaseOf(base); err != nil {
		return target{}, nil, err
	}
	if change.names, err = baseColumns(src, change.names); err != nil {
		return target{}, nil, err
	}
	if t.db != nil {
		b.needDatabase(t.db.ID)
	}
	return t, change, b.permitThrough(src, t.db, t.table, "INSERT")
}

// impliedColumn reports whether an INSERT without a column list has a value for a column of a view.
func (b *builder) impliedColumn(src *source, name string) bool {
	c := baseIn(src, name)
	return c == nil || c.Formula == nil && c.Type.ID != types.RowVersion && c.Auto == nil
}

// baseColumns returns the columns of the table behind columns of a view. Errors: 207, 4406.
func baseColumns(src *source, columns []syntax.Ident) ([]syntax.Ident, error) {
	if columns == nil {
		return nil, nil
	}
	out := make([]syntax.Ident, len(columns))
	for i, c := range columns {
		base := baseIn(src, c.Name)
		switch {
		case base == nil && src.columnByName(c.Name) < 0:
			return nil, mserr.InvalidColumn(c.Name)
		case base == nil:
			return nil, mserr.ViewDerivedField(src.name)
		}
		out[i] = syntax.Ident{Name: base.Name}
	}
	return out, nil
}

// throughView replaces the columns of an INSERT into a view by those of the table. values is the
// number of values in a row. Error 213.
func (c *viewChange) throughView(s *syntax.InsertStmt, values int) (*syntax.InsertStmt, error) {
	if c == nil {
		return s, nil
	}
	if c.implied && values != len(c.names) {
		return nil, mserr.ColumnCount()
	}
	r := *s
	r.Columns = c.names
	return &r, nil
}

// hasCheckOption reports whether a view, or a view that it selects from, has WITH CHECK OPTION.
func (s *source) hasCheckOption() bool {
	if s.view != nil && s.view.CheckOption {
		return true
	}
	if s.lineage == nil {
		return false
	}
	inner, ok := s.lineage.from.(*source)
	return ok && inner.hasCheckOption()
}

// viewCheck returns the condition that new rows must meet because of WITH CHECK OPTION, or nil.
// inserted has the new values. A view with the option also checks the conditions of the views below
// it: "all data modification statements executed against the view must follow the criteria set
// within select_statement" (documentation of CREATE VIEW). Error 4427 for TOP.
func viewCheck(src *source, inserted *source) (*node, error) {
	var conds []*node
	checked := false
	for s, ok := src, true; ok && s.lineage != nil; s, ok = s.lineage.from.(*source) {
		checked = checked || s.view != nil && s.view.CheckOption
		if !checked {
			continue
		}
		if s.query.limit != nil || s.query.offset != nil {
			return nil, mserr.CheckOptionTop(src.name)
		}
		if _, single := s.lineage.from.(*source); !single {
			return nil, mserr.NotSupported("a change of the view %s, whose FROM has a join, under WITH CHECK OPTION", s.name)
		}
		where := s.lineage.where
		if where == nil {
			continue
		}
		if where.traits&hasSubquery != 0 {
			return nil, mserr.NotSupported("a change of the view %s, whose WHERE has a subquery, under WITH CHECK OPTION", s.name)
		}
		n, err := newValues(where, inserted)
		if err != nil {
			return nil, err
		}
		conds = append(conds, n)
	}
	return and(conds...), nil
}

// newValues returns an expression over the source of a view with the columns of the table replaced
// by those of inserted.
func newValues(n *node, inserted *source) (out *node, err error) {
	out = n.replace(func(x *node) *node {
		if x.op != opCol || x.src == nil || x.col < 0 || err != nil {
			return nil
		}
		c := &x.src.cols[x.col]
		var r *node
		switch {
		case c.base != nil:
			i := slices.IndexFunc(inserted.cols, func(s sourceColumn) bool { return s.base == c.base })
			if i < 0 {
				return nil
			}
			r, err = inserted.resolve(i)
		case x.src.lineage != nil:
			r, err = newValues(x.src.lineage.items[x.col], inserted)
		}
		return r
	})
	return out, err
}

// emitCheck adds the statement that fails if a row of the spool does not meet a condition of WITH
// CHECK OPTION. Error 550.
func (s *spool) emitCheck(d *DML, check *node) error {
	if check == nil {
		return nil
	}
	r := &renderer{}
	r.WriteString("SELECT " + raise(mserr.CheckOptionViolated()) + " FROM " + s.src.table + " AS " + s.src.alias + " WHERE (")
	r.node(check)
	r.WriteString(") IS NOT TRUE LIMIT 1")
	st, err := r.statement()
	d.Apply = append(d.Apply, st)
	return err
}

// CheckOption returns an error if a view cannot have WITH CHECK OPTION. Error 4510.
func (c *Compiler) CheckOption(st *syntax.CreateViewStmt) error {
	return c.bind(nil, func(b *binder) error { return checkViewOption(b, st) })
}

// checkViewOption returns an error if a view cannot have WITH CHECK OPTION. Error 4510.
func checkViewOption(in *binder, st *syntax.CreateViewStmt) error {
	b := &builder{binder: in}
	src, err := b.expandView(st, st.Name.Last(), "", "", b.place)
	if err != nil {
		return err
	}
	if _, _, err := b.rowID(src, nil, ""); err != nil && !errors.Is(err, mserr.ViewManyTables("")) {
		return mserr.CheckOptionNotUpdatable()
	}
	return nil
}
