package exec

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// moduleText returns the text of a module for sys.sql_modules. It is the text of the whole batch,
// so that line numbers count from the start of the batch. Like SQL Server it replaces ALTER by
// CREATE, and removes the words OR and ALTER from CREATE OR ALTER. The text between the words
// stays, so that three blanks follow CREATE
// (https://sqlquantumleap.com/2018/01/09/t-sql-create-or-alter-part-1).
func (r *run) moduleText(st syntax.Stmt, verb syntax.Verb) string {
	text := r.f.unit.text
	if verb == syntax.Create {
		return text
	}
	start := st.Start()
	var kept strings.Builder
	kept.WriteString(text[:start])
	rest := text[start:]
	words := 1
	if verb == syntax.CreateOrAlter {
		words = 3
	}
	for i := range words {
		blank := skipBlank(rest)
		kept.WriteString(rest[:blank])
		rest = strings.TrimLeftFunc(rest[blank:], isLetter)
		if i == 0 {
			kept.WriteString("CREATE")
		}
	}
	return kept.String() + rest
}

// isLetter reports whether a character is an ASCII letter.
func isLetter(c rune) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// skipBlank returns the length of the blanks and comments at the start of a text.
func skipBlank(s string) int {
	i := 0
	for i < len(s) {
		switch {
		case s[i] <= ' ':
			i++
		case strings.HasPrefix(s[i:], "--"):
			n := strings.IndexByte(s[i:], '\n')
			if n < 0 {
				return len(s)
			}
			i += n + 1
		case strings.HasPrefix(s[i:], "/*"):
			n := strings.Index(s[i+2:], "*/")
			if n < 0 {
				return len(s)
			}
			i += n + 4
		default:
			return i
		}
	}
	return i
}

// module returns the properties that all kinds of modules share.
func (r *run) module(st syntax.Stmt, verb syntax.Verb, o *syntax.ModuleOptions) (*catalog.Module, error) {
	if o.NativeCompiled {
		return nil, mserr.NotSupported("NATIVE_COMPILATION")
	}
	s := r.s
	m := &catalog.Module{
		Text: r.moduleText(st, verb), AnsiNulls: s.Options.AnsiNulls, QuotedIdentifier: s.Options.QuotedIdentifier,
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
		p := d.Principal(o.ExecuteAs)
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
func (r *run) params(statement string, list []*syntax.Param) ([]catalog.Param, error) {
	if len(list) > maxParameters {
		return nil, mserr.TooManyParametersIn(statement, maxParameters)
	}
	var out []catalog.Param
	known := make(map[string]bool, len(list)) // folded names
	for i, p := range list {
		if p.Varying || session.EqualNames(p.Type.Name.Last(), "cursor") {
			return nil, mserr.NotSupported("cursor parameters")
		}
		t, alias, table, err := r.compiler().Type(p.Type)
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
				mserr.New(346, 15,
					"The parameter \"%s\" can not be declared READONLY since it is not a table-valued parameter.",
					p.Name),
				p)
		}
		if p.Default != nil {
			c.HasDefault, c.Default = true, syntax.Print(p.Default)
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
func (r *run) putModule(
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
			return mserr.InvalidObject(n.String())
		case old == nil || verb == syntax.Create:
			if err := r.s.MayCreate(d, permission, schema); err != nil {
				return err
			}
			if d.Taken(schema, name) {
				return mserr.ObjectExists(name)
			}
		case !fits(old):
			return mserr.IncompatibleAlter(n.String())
		case !r.s.MayAlter(d, old):
			return mserr.InvalidObject(n.String())
		}
		h := catalog.Header{Name: name, SchemaID: d.Schema(schema).ID}
		if old != nil {
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
func (r *run) createProcedure(st *syntax.CreateProcedureStmt) error {
	if st.Number > 1 {
		return mserr.NotSupported("numbered procedures")
	}
	if st.ForReplication {
		return mserr.NotSupported("FOR REPLICATION")
	}
	u := &unit{body: st.Body, params: st.Params}
	if err := u.check(nil); err != nil {
		return withModuleName(err, st.Name)
	}
	m, err := r.module(st, st.Verb, &st.Options)
	if err != nil {
		return err
	}
	params, err := r.params("CREATE PROCEDURE", st.Params)
	if err != nil {
		return withModuleName(err, st.Name)
	}
	if isTempProcedure(st.Name.Last()) {
		return r.createTempProcedure(st, m, params)
	}
	fits := func(o catalog.Object) bool { return o.Head().Kind == catalog.KindProcedure }
	return r.putModule(st.Name, st.Verb, "CREATE PROCEDURE", fits, func(h catalog.Header) (catalog.Object, error) {
		h.Kind = catalog.KindProcedure
		p := &catalog.Procedure{
			Header: h, Params: params, Recompile: st.Options.Recompile, DefaultSchema: r.s.DefaultSchema(),
		}
		copyModule(&p.Module, m)
		return p, nil
	})
}

// copyModule copies a module without its cached unit.
func copyModule(to, from *catalog.Module) {
	to.Text = from.Text
	to.AnsiNulls = from.AnsiNulls
	to.QuotedIdentifier = from.QuotedIdentifier
	to.SchemaBound = from.SchemaBound
	to.Encrypted = from.Encrypted
	to.ExecuteAs = from.ExecuteAs
	to.ExecuteAsID = from.ExecuteAsID
}

// withModuleName adds the name of a module to an error in its text.
func withModuleName(err error, n *syntax.ObjectName) error {
	return failure.WithMessage(err, func(e *mserr.Error) error {
		e.Proc = n.Last()
		return e
	})
}

// createView executes CREATE, ALTER and CREATE OR ALTER VIEW.
func (r *run) createView(st *syntax.CreateViewStmt) error {
	if name := st.Name.Last(); catalog.IsLocalTemp(name) || catalog.IsGlobalTemp(name) {
		return failure.Compile(mserr.TemporaryView(name))
	}
	m, err := r.module(st, st.Verb, &st.Options)
	if err != nil {
		return err
	}
	if m.SchemaBound {
		if err := checkBinding(st); err != nil {
			return failure.Compile(withModuleName(err, st.Name))
		}
	}
	cols, err := r.compiler().View(st.Name.Last(), st.Query, st.Columns, nil)
	if err != nil {
		return failure.Compile(withModuleName(err, st.Name))
	}
	if len(cols) > mserr.MostColumns {
		return failure.Compile(withModuleName(mserr.TooManyViewColumns(cols[mserr.MostColumns].Name, st.Name.Last()),
			st.Name))
	}
	if st.CheckOption {
		if err := r.compiler().CheckOption(st); err != nil {
			return failure.Compile(withModuleName(err, st.Name))
		}
	}
	fits := func(o catalog.Object) bool { return o.Head().Kind == catalog.KindView }
	return r.putModule(st.Name, st.Verb, "CREATE VIEW", fits, func(h catalog.Header) (catalog.Object, error) {
		h.Kind = catalog.KindView
		v := &catalog.View{Header: h, Columns: cols, CheckOption: st.CheckOption, DefaultSchema: r.s.DefaultSchema()}
		copyModule(&v.Module, m)
		return v, nil
	})
}

// createFunction executes CREATE, ALTER and CREATE OR ALTER FUNCTION.
func (r *run) createFunction(st *syntax.CreateFunctionStmt) error {
	m, err := r.module(st, st.Verb, &st.Options)
	if err != nil {
		return err
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
	copyModule(&fn.Module, m)
	switch {
	case st.Returns != nil:
		fn.Kind = catalog.KindScalarFunction
		t, alias, _, err := r.compiler().Type(st.Returns)
		if err == nil &&
			(t.ID == types.Text || t.ID == types.NText || t.ID == types.Image || t.ID == types.RowVersion) {
			err = mserr.New(2733, 16, "The %s data type is invalid for return values.", t.Name())
		}
		if err != nil {
			return withModuleName(err, st.Name)
		}
		if fn.Returns = t; alias != nil {
			fn.Returns = alias.Type
		}
	case st.Query != nil:
		fn.Kind = catalog.KindInlineFunction
		if fn.Columns, err = r.compiler().View(st.Name.Last(), st.Query, nil, params); err != nil {
			return failure.Compile(withModuleName(err, st.Name))
		}
	default:
		fn.Kind = catalog.KindTableFunction
		fn.ReturnVariable = st.TableVar
		if fn.Table, err = r.localDefinition(st.TableVar, st.Table); err != nil {
			return withModuleName(err, st.Name)
		}
		fn.Columns = fn.Table.Shape()
	}
	if st.Query == nil {
		if err := r.checkFunction(st, fn); err != nil {
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

// checkFunction returns an error for statements that are not allowed in functions, and for a
// missing RETURN.
func (r *run) checkFunction(st *syntax.CreateFunctionStmt, fn *catalog.Function) error {
	u := &unit{body: st.Body, params: st.Params, returns: fn.Returns, table: st.TableVar != "", tableVar: st.TableVar}
	if err := u.check(nil); err != nil {
		return err
	}
	var bad error
	for _, s := range st.Body {
		syntax.Inspect(s, func(n syntax.Node) bool {
			s, ok := n.(syntax.Stmt)
			if !ok || bad != nil {
				return bad == nil
			}
			switch s := s.(type) {
			case *syntax.BlockStmt, *syntax.IfStmt, *syntax.WhileStmt, *syntax.ReturnStmt, *syntax.BreakStmt,
				*syntax.ContinueStmt, *syntax.LabelStmt, *syntax.GotoStmt:
				return true
			case *syntax.TryStmt:
				bad = failure.At(mserr.SideEffect("BEGIN TRY"), s)
			case *syntax.SelectStmt:
				if returnsRows(s) {
					bad = failure.At(mserr.SelectInFunction(), s)
				}
				return false
			case *syntax.ExecStmt:
				return false // functions and extended procedures are allowed; checked when the statement runs
			default:
				if err := allowedInFunction(s); err != nil {
					bad = failure.ErrorAt(err, s)
				}
				return false
			}
			return false
		})
	}
	if bad != nil {
		return bad
	}
	if len(st.Body) == 0 || !endsInReturn(st.Body[len(st.Body)-1]) {
		return mserr.FunctionWithoutReturn()
	}
	return nil
}

// endsInReturn reports whether a statement is RETURN or a block that ends in RETURN.
func endsInReturn(st syntax.Stmt) bool {
	switch st := st.(type) {
	case *syntax.ReturnStmt:
		return true
	case *syntax.BlockStmt:
		return len(st.Body) > 0 && endsInReturn(st.Body[len(st.Body)-1])
	}
	return false
}

// returnsRows reports whether a SELECT sends rows to the client instead of assigning variables.
func returnsRows(st *syntax.SelectStmt) bool {
	sel, ok := st.Query.Body.(*syntax.Select)
	if !ok {
		return true
	}
	for _, item := range sel.Items {
		if _, assigns := item.(*syntax.SelectAssign); assigns {
			return false
		}
	}
	return true
}

// refreshModule executes sp_refreshview and sp_refreshsqlmodule: it binds a view again.
func (r *run) refreshModule(a arguments) (int32, error) {
	name := a.text("viewname")
	if name == "" {
		name = a.text("name")
	}
	o, d, err := r.object(session.SplitName(name))
	if err != nil {
		return 1, err
	}
	v, ok := o.(*catalog.View)
	if !ok {
		if o != nil && moduleOf(o) != nil {
			return 0, nil // other modules are bound at execution
		}
		return 1, mserr.NoSuchProcObject(name, d.Name)
	}
	st, err := parseModule(&v.Module)
	if err != nil {
		return 1, err
	}
	def, ok := st.(*syntax.CreateViewStmt)
	if !ok {
		return 1, mserr.NoSuchProcObject(name, d.Name)
	}
	cols, err := r.compiler().View(v.Name, def.Query, def.Columns, nil)
	if err != nil {
		return 1, err
	}
	return 0, r.s.Alter(r.ctx, d, func(_ *catalog.Database, e *catalog.Edit) error {
		c := v.Clone()
		c.Columns = cols
		return e.Put(c)
	})
}
