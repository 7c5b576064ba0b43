package ddl

import (
	"cmp"
	"errors"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/module"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/printer"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// modules executes statements over procedures, functions, views and triggers.
type modules struct{ *Executor }

// module returns the properties that all kinds of modules share.
func (r modules) module(st syntax.Stmt, verb syntax.Verb, o *syntax.ModuleOptions) (*catalog.Module, error) {
	s := r.s
	m := &catalog.Module{
		Text: module.Text(r.place.Text, st, verb), AnsiNulls: s.Options.AnsiNulls, QuotedIdentifier: s.Options.QuotedIdentifier,
		SchemaBound: o.SchemaBinding, Encrypted: o.Encryption,
	}
	switch {
	case o.ExecuteAs == "" || !o.ExecuteAsIsQuote && strings.EqualFold(o.ExecuteAs, "CALLER"):
	case !o.ExecuteAsIsQuote && strings.EqualFold(o.ExecuteAs, "OWNER"):
		m.ExecuteAs = "OWNER"
	case !o.ExecuteAsIsQuote && strings.EqualFold(o.ExecuteAs, "SELF"):
		m.ExecuteAs = "SELF"
		m.ExecuteAsID = s.Principal(s.DatabaseByID(s.DatabaseID))
	default:
		d := s.DatabaseByID(s.DatabaseID)
		p := d.Principals.Find(o.ExecuteAs)
		if p == nil ||
			p.ID != s.Principal(d) && !s.May(d, "IMPERSONATE",
				catalog.Securable{Class: catalog.ClassPrincipal, Major: p.ID}) {
			return nil, mserr.ImpersonateUser(o.ExecuteAs)
		}
		m.ExecuteAs = p.Name
	}
	return m, nil
}

// params resolves the parameters of a module. statement is CREATE PROCEDURE or CREATE FUNCTION.
func (r modules) params(statement string, list []*syntax.Param) ([]catalog.Param, error) {
	if len(list) > module.MaxParameters {
		return nil, mserr.TooManyParametersIn(statement, module.MaxParameters)
	}
	var out []catalog.Param
	known := make(map[string]bool, len(list)) // folded names
	for i, p := range list {
		t, alias, table, err := r.host.Compiler().Type(p.Type)
		if errors.Is(err, mserr.UnknownSystemType("")) {
			err = mserr.UnknownType(i+1, p.Type.Name.String()).WithState(3)
		}
		if err != nil {
			return nil, failure.ErrorAt(err, p)
		}
		c := catalog.Param{Name: p.Name, Type: t, Output: p.Output, ReadOnly: p.ReadOnly, Nullable: true}
		if alias != nil {
			c.Type, c.UserTypeID = alias.Type, alias.UserTypeID
		}
		if table != nil {
			c.TableTypeID, c.UserTypeID = table.ObjectID, table.UserTypeID
			if !p.ReadOnly {
				return nil, failure.At(mserr.ReadOnlyRequired(p.Name), p)
			}
		} else if p.ReadOnly {
			return nil, failure.At(
				mserr.Of(346, p.Name),
				p)
		}
		if p.Default != nil {
			c.HasDefault, c.Default = true, printer.Print(p.Default)
		}
		key := catalog.Fold(p.Name)
		if known[key] {
			return nil, failure.At(mserr.DuplicateVariable(p.Name), list[i])
		}
		known[key] = true
		out = append(out, c)
	}
	return out, nil
}

// putModule creates or replaces a module. It checks the permissions and the existing object. build
// gets the header of the module and returns the module.
func (r modules) putModule(
	n *syntax.ObjectName, verb syntax.Verb, permission string, fits func(catalog.Object) bool,
	build func(h catalog.Header) (catalog.Object, error),
) error {
	d, schema, err := r.moduleTarget(n, permission)
	if err != nil {
		return err
	}
	name := n.Last()
	return r.s.Alter(r.ctx, d, func(d *catalog.Database, e *catalog.Edit) error {
		old := d.Object(schema, name)
		switch {
		case verb == syntax.Alter && old == nil:
			return failure.Compile(mserr.InvalidObject(n.String()).WithState(6))
		case old == nil || verb == syntax.Create:
			if err := r.s.MayCreate(d, permission, schema); err != nil {
				return err
			}
			if d.Taken(schema, name) {
				return mserr.ObjectExists(name).WithState(3)
			}
		case !fits(old):
			return mserr.IncompatibleAlter(n.String())
		case !r.s.MayAlter(d, old):
			return mserr.InvalidObject(n.String())
		}
		h := catalog.Header{Name: name, SchemaID: d.Schema(schema).ID}
		if old != nil {
			if by, err := module.Dependent(d, old); err != nil || by != "" {
				return cmp.Or(err, error(mserr.ReferencedByObject("ALTER", n.String(), by).WithState(3)))
			}
			h = *old.Head()
		}
		o, err := build(h)
		if err != nil {
			return err
		}
		if v, ok := o.(*catalog.View); ok { // ALTER VIEW keeps the triggers
			v.Triggers = catalog.Triggers(old)
		}
		return e.Put(o)
	})
}

// createProcedure executes CREATE, ALTER and CREATE OR ALTER PROCEDURE.
func (r modules) createProcedure(st *syntax.CreateProcedureStmt) error {
	if _, err := module.Check(nil, st.Params, "", true, st.Body); err != nil {
		return failure.Compile(withModuleName(err, st.Name))
	}
	m, err := r.module(st, st.Verb, &st.Options)
	if err != nil {
		return err
	}
	params, err := r.params("CREATE PROCEDURE", st.Params)
	if err != nil {
		return withModuleName(err, st.Name)
	}
	if module.IsTemporary(st.Name.Last()) {
		return r.createTempProcedure(st, m, params)
	}
	fits := func(o catalog.Object) bool { return o.Head().Kind == catalog.KindProcedure }
	return r.putModule(st.Name, st.Verb, "CREATE PROCEDURE", fits, func(h catalog.Header) (catalog.Object, error) {
		h.Kind = catalog.KindProcedure
		p := &catalog.Procedure{
			Header: h, Params: params, Recompile: st.Options.Recompile, DefaultSchema: r.s.DefaultSchema(),
		}
		module.Copy(&p.Module, m)
		return p, nil
	})
}

// withModuleName adds the name of a module to an error in its text.
func withModuleName(err error, n *syntax.ObjectName) error {
	return failure.WithMessage(err, func(e *mserr.Error) error {
		e.Proc = n.Last()
		return e
	})
}

// createView executes CREATE, ALTER and CREATE OR ALTER VIEW.
func (r modules) createView(st *syntax.CreateViewStmt) error {
	if name := st.Name.Last(); catalog.IsLocalTemp(name) || catalog.IsGlobalTemp(name) {
		return failure.Compile(mserr.TemporaryView(name))
	}
	m, err := r.module(st, st.Verb, &st.Options)
	if err != nil {
		return err
	}
	if m.SchemaBound {
		if err := module.CheckBinding(r.s.DatabaseByID(r.s.DatabaseID), "view", st.Name, st); err != nil {
			return failure.Compile(withModuleName(err, st.Name))
		}
	}
	cols, err := r.host.Compiler().View(st.Name.Last(), st.Query, st.Columns, nil)
	if err != nil {
		return failure.Compile(withModuleName(err, st.Name))
	}
	if len(cols) > mserr.MostColumns {
		return failure.Compile(withModuleName(mserr.TooManyViewColumns(cols[mserr.MostColumns].Name, st.Name.Last()),
			st.Name))
	}
	if st.CheckOption {
		if err := r.host.Compiler().CheckOption(st); err != nil {
			return failure.Compile(withModuleName(err, st.Name))
		}
	}
	fits := func(o catalog.Object) bool { return o.Head().Kind == catalog.KindView }
	return r.putModule(st.Name, st.Verb, "CREATE VIEW", fits, func(h catalog.Header) (catalog.Object, error) {
		h.Kind = catalog.KindView
		v := &catalog.View{Header: h, Columns: cols, CheckOption: st.CheckOption, DefaultSchema: r.s.DefaultSchema()}
		module.Copy(&v.Module, m)
		return v, nil
	})
}

// createFunction executes CREATE, ALTER and CREATE OR ALTER FUNCTION.
func (r modules) createFunction(st *syntax.CreateFunctionStmt) error {
	m, err := r.module(st, st.Verb, &st.Options)
	if err != nil {
		return err
	}
	if err := module.CheckSideEffects(st); err != nil {
		return failure.Compile(withModuleName(err, st.Name))
	}
	if m.SchemaBound {
		if err := module.CheckBinding(r.s.DatabaseByID(r.s.DatabaseID), "function", st.Name, st); err != nil {
			return failure.Compile(withModuleName(err, st.Name))
		}
	}
	params, err := r.params("CREATE FUNCTION", st.Params)
	if err != nil {
		return withModuleName(err, st.Name)
	}
	for _, p := range st.Params {
		if p.Output {
			return withModuleName(failure.At(mserr.OutputNotDeclared(), p), st.Name)
		}
	}
	fn := &catalog.Function{
		Params: params, ReturnsNullOnNull: st.Options.ReturnsNull, DefaultSchema: r.s.DefaultSchema(),
	}
	module.Copy(&fn.Module, m)
	switch {
	case st.Returns != nil:
		fn.Kind = catalog.KindScalarFunction
		t, alias, _, err := r.host.Compiler().Type(st.Returns)
		if err == nil &&
			(t.ID == types.Text || t.ID == types.NText || t.ID == types.Image || t.ID == types.RowVersion) {
			err = mserr.Of(2733, t.Name())
		}
		if err != nil {
			return withModuleName(err, st.Name)
		}
		if fn.Returns = t; alias != nil {
			fn.Returns = alias.Type
		}
	case st.Query != nil:
		fn.Kind = catalog.KindInlineFunction
		if fn.Columns, err = r.host.Compiler().View(st.Name.Last(), st.Query, nil, params); err != nil {
			return failure.Compile(withModuleName(err, st.Name))
		}
	default:
		fn.Kind = catalog.KindTableFunction
		fn.ReturnVariable = st.TableVar
		if fn.Table, err = r.LocalDefinition(st.TableVar, st.Table); err != nil {
			return withModuleName(err, st.Name)
		}
		fn.Columns = fn.Table.Shape()
	}
	if st.Query == nil {
		if err := module.CheckFunction(st); err != nil {
			return withModuleName(err, st.Name)
		}
	}
	fits := func(o catalog.Object) bool { return o.Head().Kind == fn.Kind }
	return r.putModule(st.Name, st.Verb, "CREATE FUNCTION", fits, func(h catalog.Header) (catalog.Object, error) {
		h.Kind = fn.Kind
		fn.Header = h
		return fn, nil
	})
}

// RefreshModule executes sp_refreshview and sp_refreshsqlmodule: it binds a view again.
func (r *Executor) RefreshModule(name string) (int32, error) {
	o, d, err := r.object(session.SplitName(name))
	if err != nil {
		return 1, err
	}
	v, ok := o.(*catalog.View)
	if !ok {
		if o != nil && catalog.ModuleOf(o) != nil {
			return 0, nil // other modules are bound at execution
		}
		return 1, mserr.NoSuchProcObject(name, d.Name)
	}
	st, err := module.Parse(&v.Module)
	if err != nil {
		return 1, err
	}
	def, ok := st.(*syntax.CreateViewStmt)
	if !ok {
		return 1, mserr.NoSuchProcObject(name, d.Name)
	}
	cols, err := r.host.Compiler().View(v.Name, def.Query, def.Columns, nil)
	if err != nil {
		return 1, err
	}
	return 0, r.s.Alter(r.ctx, d, func(_ *catalog.Database, e *catalog.Edit) error {
		c := catalog.Clone(v)
		c.Columns = cols
		return e.Put(c)
	})
}
