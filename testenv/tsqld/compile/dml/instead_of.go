package dml

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/names"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/lower"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// insteadOf returns the INSTEAD OF trigger that runs in place of an action on a table or view, or
// nil. A trigger does not run in place of its own statements: they are "processed as if the table
// had no INSTEAD OF trigger" (documentation of CREATE TRIGGER).
func (b *builder) insteadOf(o catalog.Object, event string) *plan.Instead {
	tr := catalog.Instead(o, event)
	if tr == nil || tr.ObjectID == b.Scope.FiringInstead() {
		return nil
	}
	in := &plan.Instead{Object: o, Trigger: tr, Event: event}
	switch o := o.(type) {
	case *catalog.Table:
		// Without indexes, so that no value is checked before the trigger runs.
		in.Shape = &catalog.Table{
			Header: o.Header, Columns: o.Columns, SQLName: o.SQLName, NextColumnID: o.NextColumnID, Exact: o.Exact,
		}
	case *catalog.View:
		in.Shape = viewShape(o)
	}
	return in
}

// viewShape returns a table with the columns of a view.
func viewShape(v *catalog.View) *catalog.Table {
	t := &catalog.Table{Header: v.Header}
	for _, c := range v.Columns {
		col := &catalog.Column{Column: c}
		col.Nullable, col.Computed, col.Origin = true, false, nil
		col.Column.Identity = false
		if col.Type.IsCharacter() {
			col.Collation = catalog.DefaultCollation
		}
		t.Columns = append(t.Columns, col)
	}
	catalog.Number(t)
	return t
}

// insteadTarget returns the target of an INSERT in place of which a trigger runs, or a nil Instead.
func (b *builder) insteadTarget(ts syntax.TableSource) (target, *plan.Instead, error) {
	name, ok := ts.(*syntax.TableName)
	if !ok || catalog.IsLocalTemp(name.Name.Last()) || b.Transition(name.Name) != nil {
		return target{}, nil, nil
	}
	db, o, err := b.Object(name.Name)
	if err != nil || o == nil {
		return target{}, nil, err
	}
	in := b.insteadOf(o, "INSERT")
	if in == nil {
		return target{}, nil, nil
	}
	b.NeedPermission(db, o, "INSERT")
	b.NeedDatabase(db.ID)
	return target{db, in.Shape}, in, nil
}

// insertTarget is tableTarget for an INSERT, whose target may be a view, and which may fire an
// INSTEAD OF trigger.
func (b *builder) insertTarget(ts syntax.TableSource, columns []syntax.Ident) (target, *plan.Instead, *viewChange, error) {
	t, in, err := b.insteadTarget(ts)
	if in != nil || err != nil {
		return t, in, nil, err
	}
	if name, ok := ts.(*syntax.TableName); ok && !catalog.IsLocalTemp(name.Name.Last()) && b.Transition(name.Name) == nil {
		db, o, err := b.Object(name.Name)
		if err != nil {
			return t, nil, nil, err
		}
		if v, ok := o.(*catalog.View); ok {
			t, change, err := b.viewTarget(db, v, columns)
			return t, nil, change, err
		}
	}
	t, err = b.tableTarget(ts)
	return t, nil, nil, err
}

// modifyInstead makes the target of an UPDATE or DELETE that of an INSTEAD OF trigger. Errors: 414,
// 415 for a view in a join.
func (m *modification) modifyInstead(in *plan.Instead) error {
	b := m.b
	m.instead, m.table = in, in.Shape
	if v := m.src.View; v != nil {
		if len(m.l.Sources) > 1 {
			return mserr.InsteadOfInJoin(in.Event, v.Name)
		}
		showShape(m.src, in.Shape)
		m.rid, m.repeated, m.direct = tree.Constant(int64(1), types.BigIntType), false, false
	}
	var err error
	if m.db, err = b.databaseOf(m.src); err != nil {
		return err
	}
	b.NeedPermission(m.db, in.Object, in.Event)
	return nil
}

// setInstead makes a plan one that fires INSTEAD OF triggers.
func setInstead(d *plan.DML, list ...*plan.Instead) {
	d.Instead = append(d.Instead, list...)
	d.Fires = true
}

// rows returns the statement that reads a row of nodes for each row of the spool for which only is
// true, or for all rows if only is nil.
func (s *spool) rows(nodes []*tree.Node, only *tree.Node) (plan.Statement, error) {
	if len(nodes) == 0 {
		nodes = []*tree.Node{tree.NullOf(types.IntType)}
	}
	r := &lower.Renderer{}
	r.Query(&tree.Query{Core: &tree.Core{From: s.src, Items: nodes, Where: only}, Order: []tree.OrderTerm{{Node: s.number()}}})
	return r.Statement()
}

// transitionRows are the nodes of the rows of inserted and deleted over a spool.
type transitionRows struct{ inserted, deleted []*tree.Node }

// transitionRows returns the rows of inserted and deleted for an UPDATE, or, without values, for a
// DELETE. It must be called before the spool is finished.
func (m *modification) transitionRows(sp *spool, newValues map[*catalog.Column]*tree.Node) (t transitionRows, err error) {
	for _, c := range m.table.Captured() {
		old, err := m.captured(sp, c)
		if err != nil {
			return t, err
		}
		t.deleted = append(t.deleted, old)
		if newValues == nil {
			continue
		}
		if n := newValues[c]; n != nil {
			old = n
		}
		t.inserted = append(t.inserted, old)
	}
	return t, nil
}

// emitInstead makes a plan fire an INSTEAD OF trigger with rows of a finished spool.
func (s *spool) emitInstead(d *plan.DML, in *plan.Instead, t transitionRows, only *tree.Node) (err error) {
	if t.inserted != nil {
		if in.Inserted, err = s.rows(t.inserted, only); err != nil {
			return err
		}
	}
	if t.deleted != nil {
		if in.Deleted, err = s.rows(t.deleted, only); err != nil {
			return err
		}
	}
	setInstead(d, in)
	return nil
}

// mergeInstead returns the INSTEAD OF triggers that run in place of the actions of a MERGE, by
// event; nil for none. Error 5316 if only some actions have one.
func (b *builder) mergeInstead(src *tree.Source, whens []*syntax.MergeWhen) (map[string]*plan.Instead, error) {
	var o catalog.Object
	switch {
	case src.View != nil:
		o = src.View
	case src.Base != nil:
		o = src.Base
	default:
		return nil, nil
	}
	out := map[string]*plan.Instead{}
	var shape *catalog.Table
	for _, w := range whens {
		event := mergeActions[w.Action]
		in := b.insteadOf(o, event)
		if in == nil || out[event] != nil {
			continue
		}
		if shape == nil {
			shape = in.Shape
		}
		in.Shape = shape
		out[event] = in
	}
	switch {
	case len(out) == 0:
		return nil, nil
	case slices.ContainsFunc(whens, func(w *syntax.MergeWhen) bool { return out[mergeActions[w.Action]] == nil }):
		return nil, mserr.MergeInstead(src.Name)
	}
	return out, nil
}

// mergeView makes a view the target of a MERGE that fires its INSTEAD OF triggers. An additional
// column is NULL where an outer join has no row of the view.
func (m *modification) mergeView(shape *catalog.Table) (err error) {
	view := m.src
	m.l.Sources = nil
	if m.rid, err = m.b.addMatchColumn(view, &names.Level{Sources: []*tree.Source{view}}, m.l); err != nil {
		return err
	}
	m.src, m.table = m.l.Sources[0], shape
	m.src.View, m.src.DatabaseID = view.View, view.DatabaseID
	showShape(m.src, shape)
	m.db, err = m.b.databaseOf(m.src)
	return err
}

// showShape makes the columns of a view those of its shape.
func showShape(s *tree.Source, shape *catalog.Table) {
	i := 0
	for k := range s.Columns {
		if c := &s.Columns[k]; !c.Hidden && i < len(shape.Columns) {
			c.Base = shape.Columns[i]
			i++
		}
	}
}
