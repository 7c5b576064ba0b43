package dml

import (
	"errors"
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/lower"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// viewChange is a change of a table through a view.
type viewChange struct {
	src     *tree.Source // the view
	names   []syntax.Ident
	implied bool // the statement has no column list
}

// permitThrough records the permissions of a change of a table through a view: that on the view,
// and that on the table unless both have the same owner.
func (b *builder) permitThrough(src *tree.Source, db *catalog.Database, t *catalog.Table, permission string) error {
	viewDB, err := b.databaseOf(src)
	if err != nil {
		return err
	}
	b.NeedPermission(viewDB, src.View, permission)
	return b.Within(b.ModuleScope(viewDB, src.View), func() error {
		if db != nil {
			b.NeedPermission(db, t, permission)
		}
		return nil
	})
}

// viewTarget returns the table that an INSERT into a view changes, and the columns of the table
// for those of the statement. Errors: 207, 4403, 4405, 4406.
func (b *builder) viewTarget(db *catalog.Database, v *catalog.View, columns []syntax.Ident) (target, *viewChange, error) {
	src, err := b.View(db, v)
	if err != nil {
		return target{}, nil, err
	}
	change := &viewChange{src: src, names: columns, implied: columns == nil}
	var names []string
	for _, c := range columns {
		names = append(names, c.Name)
	}
	for i := range src.Columns {
		if columns == nil && !src.Columns[i].Hidden && b.impliedColumn(src, src.Columns[i].Name) {
			names = append(names, src.Columns[i].Name)
			change.names = append(change.names, syntax.Ident{Name: src.Columns[i].Name})
		}
	}
	base, _, err := b.rowID(src, names)
	if err != nil {
		return target{}, nil, err
	}
	t := target{table: base.Base}
	if t.db, err = b.databaseOf(base); err != nil {
		return target{}, nil, err
	}
	if change.names, err = baseColumns(src, change.names); err != nil {
		return target{}, nil, err
	}
	if t.db != nil {
		b.NeedDatabase(t.db.ID)
	}
	return t, change, b.permitThrough(src, t.db, t.table, "INSERT")
}

// impliedColumn reports whether an INSERT without a column list has a value for a column of a view.
func (b *builder) impliedColumn(src *tree.Source, name string) bool {
	c := baseIn(src, name)
	return c == nil || c.Formula == nil && c.Type.ID != types.RowVersion && c.Auto == nil
}

// baseColumns returns the columns of the table behind columns of a view. Errors: 207, 4406.
func baseColumns(src *tree.Source, columns []syntax.Ident) ([]syntax.Ident, error) {
	if columns == nil {
		return nil, nil
	}
	out := make([]syntax.Ident, len(columns))
	for i, c := range columns {
		base := baseIn(src, c.Name)
		switch {
		case base == nil && src.ColumnByName(c.Name) < 0:
			return nil, mserr.InvalidColumn(c.Name)
		case base == nil:
			return nil, mserr.ViewDerivedField(src.Name)
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
func hasCheckOption(s *tree.Source) bool {
	if s.View != nil && s.View.CheckOption {
		return true
	}
	if s.Lineage == nil {
		return false
	}
	inner, ok := s.Lineage.From.(*tree.Source)
	return ok && hasCheckOption(inner)
}

// viewCheck returns the condition that new rows must meet because of WITH CHECK OPTION, or nil.
// inserted has the new values. A view with the option also checks the conditions of the views below
// it: "all data modification statements executed against the view must follow the criteria set
// within select_statement" (documentation of CREATE VIEW). Error 4427 for TOP.
func viewCheck(src *tree.Source, inserted *tree.Source) (*tree.Node, error) {
	var conds []*tree.Node
	checked := false
	for s, ok := src, true; ok && s.Lineage != nil; s, ok = s.Lineage.From.(*tree.Source) {
		checked = checked || s.View != nil && s.View.CheckOption
		if !checked {
			continue
		}
		if s.Query.Limit != nil || s.Query.Offset != nil {
			return nil, mserr.CheckOptionTop(src.Name)
		}
		if _, single := s.Lineage.From.(*tree.Source); !single {
			return nil, mserr.NotSupported("a change of the view %s, whose FROM has a join, under WITH CHECK OPTION", s.Name)
		}
		where := s.Lineage.Where
		if where == nil {
			continue
		}
		if where.Traits&tree.HasSubquery != 0 {
			return nil, mserr.NotSupported("a change of the view %s, whose WHERE has a subquery, under WITH CHECK OPTION", s.Name)
		}
		n, err := newValues(where, inserted)
		if err != nil {
			return nil, err
		}
		conds = append(conds, n)
	}
	return tree.And(conds...), nil
}

// newValues returns an expression over the source of a view with the columns of the table replaced
// by those of inserted.
func newValues(n *tree.Node, inserted *tree.Source) (out *tree.Node, err error) {
	out = n.Replace(func(x *tree.Node) *tree.Node {
		if x.Op != tree.OpCol || x.Source == nil || x.Column < 0 || err != nil {
			return nil
		}
		c := &x.Source.Columns[x.Column]
		var r *tree.Node
		switch {
		case c.Base != nil:
			i := slices.IndexFunc(inserted.Columns, func(s tree.SourceColumn) bool { return s.Base == c.Base })
			if i < 0 {
				return nil
			}
			r, err = inserted.Resolve(i)
		case x.Source.Lineage != nil:
			r, err = newValues(x.Source.Lineage.Items[x.Column], inserted)
		}
		return r
	})
	return out, err
}

// emitCheck adds the statement that fails if a row of the spool does not meet a condition of WITH
// CHECK OPTION. Error 550.
func (s *spool) emitCheck(d *plan.DML, check *tree.Node) error {
	if check == nil {
		return nil
	}
	r := &lower.Renderer{}
	r.WriteString("SELECT " + lower.Raise(mserr.CheckOptionViolated()) + " FROM " + s.src.Table + " AS " + s.src.Alias + " WHERE (")
	r.Node(check)
	r.WriteString(") IS NOT TRUE LIMIT 1")
	st, err := r.Statement()
	d.Apply = append(d.Apply, st)
	return err
}

// CheckOption returns an error if a view cannot have WITH CHECK OPTION. Error 4510.
func CheckOption(binder *bind.Binder, st *syntax.CreateViewStmt) error {
	b := &builder{Binder: binder}
	src, err := b.ExpandView(st, st.Name.Last(), "", "", b.Place)
	if err != nil {
		return err
	}
	if _, _, err := b.rowID(src, nil); err != nil && !errors.Is(err, mserr.ViewManyTables("")) {
		return mserr.CheckOptionNotUpdatable()
	}
	return nil
}
