package exec

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// createTrigger executes CREATE TRIGGER. A statement that would fire the trigger fails, except for
// INSTEAD OF triggers of views that always end in THROW (fire).
func (r *run) createTrigger(st *syntax.CreateTriggerStmt) error {
	if st.Table == nil {
		return mserr.NotSupported("DDL triggers")
	}
	o, d, err := r.object(st.Table)
	if err != nil {
		return err
	}
	view, _ := o.(*catalog.View)
	table, _ := o.(*catalog.Table)
	// A view can have only INSTEAD OF triggers (documentation of CREATE TRIGGER).
	if view == nil && table == nil || view != nil && !st.InsteadOf || !r.mayAlter(d, o) {
		return mserr.New(8197, 16, "The object '%s' does not exist or is invalid for this operation.",
			st.Table.String())
	}
	tr := &catalog.Trigger{
		Name: st.Name.Last(), Text: r.moduleText(st, st.Verb), InsteadOf: st.InsteadOf, Events: st.Events,
		QuotedOff: !r.s.opts.quotedIdentifier,
	}
	return r.alter(d, func(d *catalog.Database, e *catalog.Edit) error {
		if view != nil {
			v := d.ObjectByID(view.ObjectID).(*catalog.View).Clone()
			if v.Triggers, err = r.putTrigger(d, v, v.Triggers, st, tr); err != nil {
				return err
			}
			return e.Put(v)
		}
		c := d.TableByID(table.ObjectID).Clone()
		if c.Triggers, err = r.putTrigger(d, c, c.Triggers, st, tr); err != nil {
			return err
		}
		return e.ReplaceTable(c, nil)
	})
}

// putTrigger returns the triggers of o with a new or changed one.
func (r *run) putTrigger(
	d *catalog.Database, o catalog.Object, all []*catalog.Trigger, st *syntax.CreateTriggerStmt, tr *catalog.Trigger,
) ([]*catalog.Trigger, error) {
	for i, old := range all {
		if equalNames(old.Name, tr.Name) && st.Verb != syntax.Create {
			tr.ObjectID, tr.Created, tr.Modified = old.ObjectID, old.Created, r.datetime()
			all[i] = tr
			return all, nil
		}
	}
	switch {
	case st.Verb == syntax.Alter:
		return nil, mserr.InvalidObject(st.Name.String())
	case d.Taken(d.SchemaByID(o.Head().SchemaID).Name, tr.Name):
		return nil, mserr.ObjectExists(tr.Name)
	}
	return append(all, tr), nil
}

// switchTriggers executes ENABLE and DISABLE TRIGGER.
func switchTriggers(all []*catalog.Trigger, names []syntax.Ident, enable bool) error {
	byName := map[string]*catalog.Trigger{}
	for _, tr := range all {
		byName[catalog.Fold(tr.Name)] = tr
	}
	for _, n := range names {
		tr := byName[catalog.Fold(n.Name)]
		if tr == nil {
			return mserr.New(15151, 16,
				"Cannot find the trigger '%s', because it does not exist or you do not have permission.", n.Name)
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
func (r *run) switchTrigger(st *syntax.TriggerStmt) error {
	if st.Table == nil {
		return mserr.NotSupported("DDL triggers")
	}
	var names []syntax.Ident
	for _, n := range st.Names {
		names = append(names, syntax.Ident{Name: n.Last()})
	}
	if o, d, err := r.object(st.Table); err == nil {
		if v, ok := o.(*catalog.View); ok {
			if !r.mayAlter(d, v) {
				return mserr.NoSuchAlter(st.Table.String())
			}
			return r.alter(d, func(d *catalog.Database, e *catalog.Edit) error {
				c := d.ObjectByID(v.ObjectID).(*catalog.View).Clone()
				if err := switchTriggers(c.Triggers, names, st.Enable); err != nil {
					return err
				}
				return e.Put(c)
			})
		}
	}
	return r.changeTable(st.Table, "ALTER TABLE", mserr.NoSuchAlter(st.Table.String()), func(b *builder) error {
		return switchTriggers(b.t.Triggers, names, st.Enable)
	})
}

// withTriggers returns a copy of a view whose triggers were changed by change.
func withTriggers(v *catalog.View, change func(*catalog.Trigger)) *catalog.View {
	c := v.Clone()
	for _, tr := range c.Triggers {
		change(tr)
	}
	return c
}

// fire runs an INSTEAD OF trigger of a view in place of the statement that fired it. Only triggers
// that end the statement by THROW and do not read the tables inserted and deleted can run: their
// effect does not depend on the rows that the statement would have changed.
func (r *run) fire(in *compile.InsteadOf) error {
	s := r.s
	d := s.databaseByID(in.Database)
	if !s.may(d, in.Event, catalog.Securable{Class: catalog.ClassObject, Major: int(in.View.ObjectID)}) {
		return permissionDenied(d, in.View, in.Event)
	}
	if r.nesting() >= maxNesting {
		return mserr.NestingLevel(maxNesting)
	}
	module := &catalog.Module{Text: in.Trigger.Text, QuotedIdentifier: !in.Trigger.QuotedOff, AnsiNulls: true}
	st, err := parseModule(module)
	if err != nil {
		return err
	}
	trigger, ok := st.(*syntax.CreateTriggerStmt)
	if !ok || !onlyThrows(trigger.Body) {
		return in.Unwrap()
	}
	u := &unit{body: trigger.Body}
	if err := u.check(nil); err != nil {
		return err
	}
	f := &frame{
		kind: procFrame, fired: true, unit: u, name: in.Trigger.Name, procID: in.Trigger.ObjectID,
		schema: d.SchemaByID(in.View.SchemaID).Name, owner: d.Owner(in.View), nestLevel: r.nesting() + 1,
	}
	err = r.inFrame(f, func() error {
		s.dbID = d.ID
		s.enterModule(module)
		s.opts.xactAbort = true // the default in triggers (documentation of SET XACT_ABORT)
		return r.callBody(f, nil)
	})
	return r.endScope(f, err)
}

// onlyThrows reports whether statements end in THROW on every path, and do not read the rows that
// fired their trigger.
func onlyThrows(body []syntax.Stmt) bool {
	if len(body) == 0 || !endsInThrow(body[len(body)-1]) {
		return false
	}
	ok := true
	for _, st := range body {
		syntax.Inspect(st, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.ReturnStmt, *syntax.TryStmt, *syntax.GotoStmt:
				ok = false
			case *syntax.TableName:
				if name := strings.ToLower(n.Name.Last()); name == "inserted" || name == "deleted" {
					ok = false
				}
			case *syntax.FuncCall:
				if name := strings.ToLower(n.Name.Last()); name == "update" || name == "columns_updated" {
					ok = false
				}
			}
			return ok
		})
	}
	return ok
}

// endsInThrow reports whether a statement is THROW with arguments, or a block that ends in one.
func endsInThrow(st syntax.Stmt) bool {
	switch st := st.(type) {
	case *syntax.ThrowStmt:
		return st.Number != nil
	case *syntax.BlockStmt:
		return len(st.Body) > 0 && endsInThrow(st.Body[len(st.Body)-1])
	}
	return false
}
