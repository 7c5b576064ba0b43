package ddl

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/module"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// dropKinds are the kinds of objects that DROP finds by schema and name.
var dropKinds = map[string][]catalog.Kind{
	"TABLE":     {catalog.KindTable},
	"VIEW":      {catalog.KindView},
	"PROCEDURE": {catalog.KindProcedure},
	"FUNCTION":  {catalog.KindScalarFunction, catalog.KindInlineFunction, catalog.KindTableFunction},
	"SEQUENCE":  {catalog.KindSequence},
	"SYNONYM":   {catalog.KindSynonym},
}

// drop executes DROP.
func (r *Executor) drop(st *syntax.DropStmt) error {
	if st.Kind == "STATISTICS" {
		return nil
	}
	var missing *mserr.Error // a missing object does not keep others from being dropped (SQL Server 2025, recorded)
	for _, n := range st.Names {
		if err := r.s.Meter().Work(module.NodeWork); err != nil {
			return err
		}
		err := r.dropOne(st, n)
		if err == nil {
			continue
		}
		if missing != nil {
			if err := r.host.Info(missing); err != nil {
				return err
			}
		}
		if !errors.As(err, &missing) || missing.Number != 3701 {
			return err
		}
	}
	if missing == nil {
		return nil
	}
	return missing
}

// dropOne drops one object.
func (r *Executor) dropOne(st *syntax.DropStmt, n *syntax.ObjectName) error {
	if kinds, ok := dropKinds[st.Kind]; ok {
		return r.dropObject(st, n, kinds)
	}
	switch st.Kind {
	case "TYPE":
		return r.dropType(st, n)
	case "TRIGGER":
		return r.dropTrigger(st, n)
	case "SCHEMA":
		return r.dropSchema(st, n)
	case "DATABASE":
		return databases{r}.dropDatabase(st, n.Last())
	case "LOGIN":
		return security{r}.dropLogin(st, n.Last())
	case "USER", "ROLE":
		return security{r}.dropPrincipal(st, n.Last())
	case "DATABASE SCOPED CREDENTIAL":
		return security{r}.dropCredential(st, n.Last())
	}
	return mserr.NotSupported("DROP %s", st.Kind)
}

// absent is the result of a DROP of something that does not exist: err, nil with IF EXISTS.
func absent(ifExists bool, err error) error {
	if ifExists {
		return nil
	}
	return err
}

// dropObject drops a table, module, sequence or synonym.
func (r *Executor) dropObject(st *syntax.DropStmt, n *syntax.ObjectName, kinds []catalog.Kind) error {
	word := strings.ToLower(st.Kind)
	if st.Kind == "TABLE" && catalog.IsLocalTemp(n.Last()) {
		return r.dropTemp(st, n)
	}
	if module.IsTemporary(n.Last()) && slices.Contains(kinds, catalog.KindProcedure) {
		return modules{r}.dropTempProcedure(st, n)
	}
	if st.Kind != "TABLE" && n.Database() != "" {
		return mserr.DatabaseNotAllowed("DROP " + st.Kind)
	}
	d, err := r.s.Place(n)
	if err != nil {
		return err
	}
	var o catalog.Object
	for _, schema := range r.schemas(d, n.Schema()) {
		if o = d.Object(schema, n.Last()); o != nil {
			break
		}
	}
	notFound := mserr.CannotDrop("drop", word, n.String())
	if o != nil && !slices.Contains(kinds, o.Head().Kind) {
		if st.IfExists {
			o = nil
		} else if use := dropStatement(o.Head().Kind); use != "" {
			return mserr.WrongDrop(st.Kind, n.String(), kindName(o.Head().Kind), "DROP "+use)
		}
	}
	if o == nil || !r.s.MayAlter(d, o) {
		return absent(st.IfExists && o == nil, notFound)
	}
	id := o.Head().ObjectID
	return r.s.Alter(r.ctx, d, func(d *catalog.Database, e *catalog.Edit) error {
		o := d.ObjectByID(id)
		if o == nil {
			return absent(st.IfExists, notFound)
		}
		if t, ok := o.(*catalog.Table); ok {
			for _, other := range d.Tables() {
				if other.ObjectID != t.ObjectID &&
					slices.ContainsFunc(other.ForeignKeys, func(f *catalog.ForeignKey) bool {
						return f.Referenced == id
					}) {
					return mserr.ReferencedByForeignKey(n.String())
				}
			}
		}
		if by, err := module.Dependent(d, o); err != nil || by != "" {
			return cmp.Or(err, error(mserr.ReferencedByObject("DROP "+st.Kind, n.String(), by)))
		}
		e.Drop(o)
		r.s.Server.ResetCounter(session.CounterKey{Database: d.ID, Object: id})
		if i := r.s.Options.IdentityInsert; i != nil && i.Object == id && i.Database == d.ID {
			r.s.Options.IdentityInsert = nil
		}
		return nil
	})
}

// dropStatement returns the word after DROP for a kind of object.
func dropStatement(k catalog.Kind) string {
	for s, kinds := range dropKinds {
		if slices.Contains(kinds, k) {
			return s
		}
	}
	return ""
}

// kindName returns the name of a kind of object.
func kindName(k catalog.Kind) string { return strings.ToLower(dropStatement(k)) }

// dropTemp drops a temporary table.
func (r *Executor) dropTemp(st *syntax.DropStmt, n *syntax.ObjectName) error {
	s := r.s
	t := s.Temp(n.Last())
	if t == nil {
		return absent(st.IfExists, mserr.CannotDrop("drop", "table", n.Last()))
	}
	return r.s.LocalChange(r.ctx, session.Scope{Several: true}, func() error {
		if err := s.DropLocal(context.WithoutCancel(r.ctx), t); err != nil {
			return err
		}
		s.ForgetTemp(n.Last())
		return nil
	})
}

// dropType drops an alias or table type.
func (r *Executor) dropType(st *syntax.DropStmt, n *syntax.ObjectName) error {
	d, err := r.s.Place(n)
	if err != nil {
		return err
	}
	for _, schema := range r.schemas(d, n.Schema()) {
		a, tt := d.AliasType(schema, n.Last()), d.TableType(schema, n.Last())
		if a == nil && tt == nil {
			continue
		}
		userType := 0
		if a != nil {
			userType = a.UserTypeID
		} else {
			userType = tt.UserTypeID
		}
		return r.s.Alter(r.ctx, d, func(d *catalog.Database, e *catalog.Edit) error {
			if by := typeUser(d, userType); by != "" {
				return mserr.TypeReferenced(n.String(), by)
			}
			if a != nil {
				e.DropAlias(a)
				return nil
			}
			e.Drop(d.ObjectByID(tt.ObjectID))
			return nil
		})
	}
	return absent(st.IfExists, mserr.Of(218, n.String()))
}

// typeUser returns the name of an object that uses a user-defined type, or "".
func typeUser(d *catalog.Database, userType int) string {
	for o := range d.Objects() {
		var params []catalog.Param
		switch o := o.(type) {
		case *catalog.Table:
			if slices.ContainsFunc(o.Columns, func(c *catalog.Column) bool { return c.UserTypeID == userType }) {
				return o.Name
			}
		case *catalog.Procedure:
			params = o.Params
		case *catalog.Function:
			params = o.Params
		}
		if slices.ContainsFunc(params, func(p catalog.Param) bool { return p.UserTypeID == userType }) {
			return o.Head().Name
		}
	}
	return ""
}

// dropTrigger drops a DML trigger.
func (r *Executor) dropTrigger(st *syntax.DropStmt, n *syntax.ObjectName) error {
	d, err := r.s.Place(n)
	if err != nil {
		return err
	}
	for _, schema := range r.schemas(d, n.Schema()) {
		k, ok := d.Constraint(schema, n.Last())
		if !ok || k.Kind != catalog.KindTrigger {
			continue
		}
		if !r.s.MayAlter(d, d.ObjectByID(k.Table)) {
			break
		}
		return r.s.Alter(r.ctx, d, func(d *catalog.Database, e *catalog.Edit) error {
			dropped := func(tr *catalog.Trigger) bool { return tr.ObjectID == k.ObjectID }
			if v, ok := d.ObjectByID(k.Table).(*catalog.View); ok {
				v = catalog.Clone(v)
				v.Triggers = slices.DeleteFunc(v.Triggers, dropped)
				return e.Put(v)
			}
			c := catalog.Clone(d.TableByID(k.Table))
			c.Triggers = slices.DeleteFunc(c.Triggers, dropped)
			return e.ReplaceTable(c, nil)
		})
	}
	return absent(st.IfExists, mserr.CannotDrop("drop", "trigger", n.String()))
}

// dropSchema drops a schema.
func (r *Executor) dropSchema(st *syntax.DropStmt, n *syntax.ObjectName) error {
	d := r.s.DatabaseByID(r.s.DatabaseID)
	sc := d.Schema(n.Last())
	if sc == nil {
		return absent(st.IfExists, mserr.CannotFind("drop", "schema", n.Last()))
	}
	if sc.ID <= catalog.SchemaSys {
		return mserr.Of(15150, "schema", sc.Name)
	}
	if !r.s.May(d, "CONTROL", catalog.Securable{Class: catalog.ClassSchema, Major: sc.ID}) &&
		!r.s.MayDatabase("ALTER ANY SCHEMA") {
		return mserr.CannotFind("drop", "schema", n.Last())
	}
	return r.s.Alter(r.ctx, d, func(_ *catalog.Database, e *catalog.Edit) error { return e.DropSchema(sc) })
}
