package ddl

import (
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/module"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// createTrigger executes CREATE, ALTER and CREATE OR ALTER TRIGGER for DML triggers.
func (r modules) createTrigger(st *syntax.CreateTriggerStmt) error {
	o, d, err := r.object(st.Table)
	if err != nil {
		return err
	}
	view, _ := o.(*catalog.View)
	table, _ := o.(*catalog.Table)
	// A view can have only INSTEAD OF triggers (documentation of CREATE TRIGGER).
	if view == nil && table == nil || view != nil && !st.InsteadOf || !r.s.MayAlter(d, o) {
		state := uint8(4)
		if view != nil {
			state = 6
		}
		return mserr.Of(8197, st.Table.String()).WithState(state)
	}
	tr, err := r.newTrigger(st, d, o)
	if err != nil {
		return withModuleName(err, st.Name)
	}
	return r.s.Alter(r.ctx, d, func(d *catalog.Database, e *catalog.Edit) error {
		if view != nil {
			v := catalog.Clone(d.ObjectByID(view.ObjectID).(*catalog.View))
			if v.Triggers, err = r.putTrigger(d, v, v.Triggers, st, tr); err != nil {
				return err
			}
			return e.Put(v)
		}
		c := catalog.Clone(d.TableByID(table.ObjectID))
		if c.Triggers, err = r.putTrigger(d, c, c.Triggers, st, tr); err != nil {
			return err
		}
		return e.ReplaceTable(c, nil)
	})
}

// newTrigger returns the definition of a trigger of o. Errors: 1034, 2103, 2108, 2112, 2113, and
// those of the statements of its body.
func (r modules) newTrigger(st *syntax.CreateTriggerStmt, d *catalog.Database, o catalog.Object) (*catalog.Trigger, error) {
	name := st.Name.Last()
	if d.ID != r.s.DatabaseID {
		return nil, mserr.TriggerDatabase(st.Table.String())
	}
	verb := "create"
	if st.Verb == syntax.Alter {
		verb = "alter"
	}
	if s := st.Name.Schema(); s != "" && !d.Names().Equal(s, d.SchemaByID(o.Head().SchemaID).Name) {
		return nil, mserr.TriggerSchema(verb, st.Name.String())
	}
	for i, e := range st.Events {
		if !slices.Contains(catalog.TriggerEvents, e) {
			return nil, mserr.Syntax(e)
		}
		if slices.Contains(st.Events[:i], e) {
			return nil, mserr.RepeatedTriggerAction(e)
		}
	}
	switch o := o.(type) {
	case *catalog.View:
		if o.CheckOption {
			return nil, mserr.InsteadOfCheckOption(name, st.Table.String())
		}
	case *catalog.Table:
		for _, f := range o.ForeignKeys {
			if st.InsteadOf && (f.OnDelete != catalog.NoAction && slices.Contains(st.Events, "DELETE") ||
				f.OnUpdate != catalog.NoAction && slices.Contains(st.Events, "UPDATE")) {
				return nil, mserr.InsteadOfCascade(name, st.Table.String())
			}
		}
	}
	if _, err := module.Check(nil, nil, "", false, st.Body); err != nil {
		return nil, err
	}
	m, err := r.module(st, st.Verb, &st.Options)
	if err != nil {
		return nil, err
	}
	return &catalog.Trigger{
		Name: name, Text: m.Text, InsteadOf: st.InsteadOf, Events: st.Events, QuotedOff: !m.QuotedIdentifier,
		AnsiNullsOff: !m.AnsiNulls, Encrypted: m.Encrypted, ExecuteAs: m.ExecuteAs, ExecuteAsID: m.ExecuteAsID,
		NotReplicated: st.NotForReplication,
	}, nil
}

// putTrigger returns the triggers of o with a new or changed one. Errors: 208, 2110, 2111, 2714.
func (r modules) putTrigger(
	d *catalog.Database, o catalog.Object, all []*catalog.Trigger, st *syntax.CreateTriggerStmt, tr *catalog.Trigger,
) ([]*catalog.Trigger, error) {
	for _, old := range all {
		for _, e := range tr.Events {
			if tr.InsteadOf && old.InsteadOf && !catalog.EqualNames(old.Name, tr.Name) && slices.Contains(old.Events, e) {
				kind := "table"
				if o.Head().Kind == catalog.KindView {
					kind = "view"
				}
				return nil, mserr.SecondInstead(tr.Name, kind, st.Table.String(), e)
			}
		}
	}
	for i, old := range all {
		if catalog.EqualNames(old.Name, tr.Name) && st.Verb != syntax.Create {
			tr.ObjectID, tr.Created, tr.Modified = old.ObjectID, old.Created, r.s.Datetime()
			all[i] = tr
			return all, nil
		}
	}
	schema := d.SchemaByID(o.Head().SchemaID).Name
	k, taken := d.Constraint(schema, tr.Name)
	switch {
	case st.Verb != syntax.Create && taken && k.Kind == catalog.KindTrigger:
		return nil, mserr.TriggerOfAnother(tr.Name, st.Table.String())
	case st.Verb == syntax.Alter:
		return nil, mserr.InvalidObject(st.Name.String()).WithState(6)
	case d.Taken(schema, tr.Name):
		return nil, mserr.ObjectExists(tr.Name).WithState(2)
	}
	return append(all, tr), nil
}

// switchTriggers executes ENABLE and DISABLE TRIGGER, of ALTER TABLE too; missing makes the error
// for a trigger that does not exist.
func switchTriggers(all []*catalog.Trigger, names []syntax.Ident, enable bool, missing func(name string) error) error {
	byName := map[string]*catalog.Trigger{}
	for _, tr := range all {
		byName[catalog.Fold(tr.Name)] = tr
	}
	for _, n := range names {
		tr := byName[catalog.Fold(n.Name)]
		if tr == nil {
			return missing(n.Name)
		}
		tr.Disabled = !enable
	}
	if len(names) == 0 {
		for _, tr := range all {
			tr.Disabled = !enable
		}
	}
	return nil
}

// switchTrigger executes the statements ENABLE TRIGGER and DISABLE TRIGGER.
func (r modules) switchTrigger(st *syntax.TriggerStmt) error {
	var names []syntax.Ident
	for _, n := range st.Names {
		names = append(names, syntax.Ident{Name: n.Last()})
	}
	notFound := mserr.NoObjectOrPermission(st.Table.String()).WithState(21)
	missing := func(name string) error { return mserr.NoObjectOrPermission(name).WithState(119) }
	if o, d, err := r.object(st.Table); err == nil {
		if v, ok := o.(*catalog.View); ok {
			if !r.s.MayAlter(d, v) {
				return notFound
			}
			return r.s.Alter(r.ctx, d, func(d *catalog.Database, e *catalog.Edit) error {
				c := catalog.Clone(d.ObjectByID(v.ObjectID).(*catalog.View))
				if err := switchTriggers(c.Triggers, names, st.Enable, missing); err != nil {
					return err
				}
				return e.Put(c)
			})
		}
	}
	return tables(r).changeTable(st.Table, "ALTER TABLE", notFound, func(b *builder) error {
		return switchTriggers(b.t.Triggers, names, st.Enable, missing)
	})
}

// withTriggers returns a copy of a view whose triggers were changed by change.
func withTriggers(v *catalog.View, change func(*catalog.Trigger)) *catalog.View {
	c := catalog.Clone(v)
	for _, tr := range c.Triggers {
		change(tr)
	}
	return c
}

// SetTriggerOrder executes sp_settriggerorder @triggername, @order, @stmttype. Only
// AFTER triggers have an order (documentation of sp_settriggerorder). Errors: 15125, 15130,
// 15133, 15600.
func (r *Executor) SetTriggerOrder(trigger, order, event string) (int32, error) {
	name, order, event := session.SplitName(trigger), strings.ToUpper(order), strings.ToUpper(event)
	d := r.s.DatabaseByID(r.s.DatabaseID)
	var tr *catalog.Trigger
	var parent catalog.Object
	for _, schema := range r.schemas(d, name.Schema()) {
		if k, ok := d.Constraint(schema, name.Last()); ok && tr == nil {
			tr, parent = d.Trigger(k.ObjectID)
		}
	}
	if tr == nil || !r.s.MayAlter(d, parent) {
		return 1, mserr.NoTrigger(name.String())
	}
	switch {
	case order != "FIRST" && order != "LAST" && order != "NONE", !slices.Contains(catalog.TriggerEvents, event):
		return 1, mserr.InvalidProcArgument("sp_settriggerorder")
	case !slices.Contains(tr.Events, event):
		return 1, mserr.TriggerOrderEvent(name.String(), event)
	case tr.InsteadOf:
		return 1, mserr.TriggerOrderInstead(name.String())
	}
	for _, other := range catalog.Triggers(parent) {
		if other.ObjectID != tr.ObjectID && (order == "FIRST" && slices.Contains(other.First, event) ||
			order == "LAST" && slices.Contains(other.Last, event)) {
			return 1, mserr.TriggerOrderTaken(strings.ToLower(order), event)
		}
	}
	return 0, r.s.Alter(r.ctx, d, func(d *catalog.Database, e *catalog.Edit) error {
		t := catalog.Clone(d.TableByID(parent.Head().ObjectID))
		for _, c := range t.Triggers {
			if c.ObjectID != tr.ObjectID {
				continue
			}
			is := func(x string) bool { return x == event }
			c.First, c.Last = slices.DeleteFunc(c.First, is), slices.DeleteFunc(c.Last, is)
			switch order {
			case "FIRST":
				c.First = append(c.First, event)
			case "LAST":
				c.Last = append(c.Last, event)
			}
		}
		return e.ReplaceTable(t, nil)
	})
}
