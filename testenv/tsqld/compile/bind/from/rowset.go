package from

import (
	"strconv"
	"strings"
	"sync"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin/jsontext"
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/catalog/sysviews"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/names"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/scalar"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/expr"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/printer"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// openJSON binds OPENJSON.
func (b *Binder) openJSON(ts *syntax.OpenJSON, outer *names.Level) (*tree.Source, error) {
	list := []syntax.Expr{ts.X}
	if ts.Path != nil {
		list = append(list, ts.Path)
	}
	args, err := b.Exprs(list, outer)
	if err != nil {
		return nil, err
	}
	text := b.OfDatabase(types.NVarCharMax) // the type of value, in the collation of the JSON text
	if args[0].Type.IsCharacter() {
		text.Collation = args[0].Type.Collation
	}
	for i, a := range args {
		if args[i], err = expr.ConvertImplicit(a, types.NVarCharMax); err != nil {
			return nil, err
		}
	}
	src := &tree.Source{Alias: b.Alias("j"), Name: ts.Alias.Name}
	key := []string{keys.TableFunction, "OPENJSON"}
	for _, c := range jsontext.Columns {
		if c.Type == types.NVarCharMax {
			c.Type = text
		}
		src.Columns = append(src.Columns, tree.SourceColumn{Name: c.Name, Type: c.Type, Null: c.Nullable, Label: tree.LabelImplicit})
	}
	if ts.Columns != nil {
		key[1], src.Columns = "OPENJSONWITH", nil
		for _, c := range ts.Columns {
			t, err := b.TypeOf(c.Type, types.Named)
			if err != nil {
				return nil, err
			}
			if c.Collation != "" {
				if !t.IsCharacter() {
					return nil, mserr.InvalidCollateType(expr.TypeName(t))
				}
				if t.Collation, err = b.CollationNamed(c.Collation); err != nil {
					return nil, err
				}
			}
			path, asJSON := "", "0"
			if c.Path != nil {
				path = c.Path.Text
			}
			if c.AsJSON {
				asJSON = "1"
			}
			key = append(key, keys.Text(c.Name.Name), keys.TypeText(t), keys.Text(path), asJSON)
			src.Columns = append(src.Columns, tree.SourceColumn{Name: c.Name.Name, Type: t, Null: true, Label: tree.LabelImplicit})
		}
	}
	src.Rowset, err = tree.Rowset(keys.Make(key...), args...)
	src.Fields()
	return src, err
}

// tableFunc binds a table-valued function: built-in, inline or multi-statement. Error 208.
func (b *Binder) tableFunc(ts *syntax.TableFunc, outer *names.Level) (*tree.Source, error) {
	e := ts.Call
	var src *tree.Source
	call, ok, err := b.ColumnCall(e, outer)
	if err != nil {
		return nil, err
	}
	if ok {
		return b.NodesSource(call, ts.Alias, ts.Columns, outer)
	}
	if len(e.Name.Parts) == 1 {
		switch strings.ToUpper(e.Name.Last()) {
		case "STRING_SPLIT":
			src, err = b.splitSource(e, outer)
		case "GENERATE_SERIES":
			src, err = b.seriesSource(e, outer)
		default:
			src, err = b.userTable(e, outer)
		}
	} else {
		src, err = b.userTable(e, outer)
	}
	if err != nil {
		return nil, err
	}
	src.Name, src.Schema, src.DB = ts.Alias.Name, "", ""
	if src.Name == "" {
		src.Name = e.Name.Last()
	}
	for i, c := range ts.Columns {
		if i >= len(src.Columns) {
			return nil, mserr.FewerColumnsThanListed(src.Name)
		}
		src.Columns[i].Name = c.Name
	}
	if ts.Columns != nil && len(ts.Columns) < len(src.Columns) {
		return nil, mserr.MoreColumnsThanListed(src.Name)
	}
	return src, nil
}

// splitSource binds STRING_SPLIT.
func (b *Binder) splitSource(e *syntax.FuncCall, outer *names.Level) (*tree.Source, error) {
	if n := len(e.Args); n < 2 || n > 3 {
		if n < 2 {
			return nil, mserr.TooFewArguments("STRING_SPLIT")
		}
		return nil, mserr.TooManyProcArguments("STRING_SPLIT")
	}
	args, err := b.Exprs(e.Args, outer)
	if err != nil {
		return nil, err
	}
	t := types.Type{ID: types.VarChar, Length: args[0].Type.Length, Collation: args[0].Type.Collation}
	if args[0].Type.IsUnicode() || args[1].Type.IsUnicode() {
		t.ID = types.NVarChar
	}
	if !args[0].Type.IsCharacter() && args[0].Type.ID != types.Null {
		return nil, mserr.InvalidArgumentType(args[0].Type.MessageName(), 1, "string_split")
	}
	if !args[1].Type.IsCharacter() && args[1].Type.ID != types.Null {
		return nil, mserr.InvalidArgumentType(args[1].Type.MessageName(), 2, "string_split")
	}
	if t.Length == 0 {
		t.Length = types.Max
	}
	isConst := args[0].Op == tree.OpConst && args[0].Value != nil // only the parts of a literal are NOT NULL
	ordinal := false
	if len(args) == 3 {
		if ordinal, err = splitOrdinal(args[2]); err != nil {
			return nil, err
		}
	}
	for i := range args[:2] {
		if args[i], err = expr.ConvertImplicit(args[i], types.NVarCharMax); err != nil {
			return nil, err
		}
	}
	src := &tree.Source{Alias: b.Alias("j"), Columns: []tree.SourceColumn{{Name: "value", Type: t, Null: !isConst, Label: tree.LabelImplicit}}}
	if ordinal {
		src.Columns = append(src.Columns, tree.SourceColumn{Name: "ordinal", Type: types.BigIntType})
	}
	src.Rowset, err = tree.Rowset(keys.TableFunction+"|STRING_SPLIT", args[:2]...)
	src.Fields()
	return src, err
}

// splitOrdinal returns whether STRING_SPLIT has the column ordinal. Errors: 8748 for an argument
// that is not a constant, 8116 for one that is no integer, 4199 for one other than 0, 1 and NULL.
func splitOrdinal(enable *tree.Node) (bool, error) {
	v, isInteger := enable.Value.(int64)
	switch {
	case enable.Op != tree.OpConst:
		return false, mserr.Of(8748)
	case enable.Value == nil:
		return false, nil
	case !isInteger || !enable.Type.IsInteger() && enable.Type.ID != types.Bit:
		return false, mserr.InvalidArgumentType(enable.Type.MessageName(), 3, "string_split")
	case v != 0 && v != 1:
		return false, mserr.Of(4199, v, 3, "string_split")
	}
	return v == 1, nil
}

// seriesSource binds GENERATE_SERIES. Error 5373 for arguments of different types.
func (b *Binder) seriesSource(e *syntax.FuncCall, outer *names.Level) (*tree.Source, error) {
	if n := len(e.Args); n < 2 || n > 3 {
		return nil, mserr.ArgumentRange("generate_series", 2, 3)
	}
	args, err := b.Exprs(e.Args, outer)
	if err != nil {
		return nil, err
	}
	if len(args) == 2 {
		args = append(args, tree.Constant(int64(1), types.IntType))
		back, err := expr.Compare(">", args[0], args[1])
		if err != nil {
			return nil, err
		}
		args[2] = expr.CaseOf(
			types.IntType,
			[]*tree.Node{back},
			[]*tree.Node{tree.Constant(int64(-1), types.IntType), tree.Constant(int64(1), types.IntType)},
		)
	}
	t, _, err := expr.Unify("generate_series", args)
	if err != nil {
		return nil, err
	}
	if !t.IsInteger() && t.ID != types.Decimal {
		return nil, mserr.InvalidArgumentType(t.MessageName(), 1, "generate_series")
	}
	src := &tree.Source{Alias: b.Alias("j"), Columns: []tree.SourceColumn{{Name: "value", Type: t}}}
	src.Rowset, err = tree.Rowset(keys.Make(keys.TableFunction, "GENERATE_SERIES", keys.TypeText(t)), args...)
	src.Fields()
	return src, err
}

// userTable binds a user-defined table-valued function.
func (b *Binder) userTable(e *syntax.FuncCall, outer *names.Level) (*tree.Source, error) {
	if src, err := b.systemTableFunction(e, outer); src != nil || err != nil {
		return src, err
	}
	db, o, err := b.Object(e.Name)
	if err != nil {
		return nil, err
	}
	switch o.(type) {
	case *catalog.Table, *catalog.View:
		return nil, mserr.NotAFunction(e.Name.String())
	}
	f, ok := o.(*catalog.Function)
	if o == nil && sysviews.IsUnsupported(e.Name.Schema(), e.Name.Last()) {
		return nil, mserr.NotSupported("%s", e.Name.String())
	}
	if !ok || f.Kind == catalog.KindScalarFunction {
		return nil, mserr.InvalidObject(e.Name.String())
	}
	b.NeedPermission(db, f, "SELECT")
	args, err := b.ModuleArgs(db, f, e, outer)
	if err != nil {
		return nil, err
	}
	if f.Kind == catalog.KindInlineFunction {
		return b.inline(db, f, args)
	}
	src := &tree.Source{Alias: b.Alias("j")}
	for _, c := range f.Columns {
		src.Columns = append(src.Columns, tree.SourceColumn{Name: c.Name, Type: c.Type, Null: c.Nullable, Label: tree.LabelImplicit})
	}
	n := tree.Build(tree.OpLocal, types.NVarCharMax, args...)
	n.Key = keys.LocalTableFunction + strconv.Itoa(db.ID) + "|" + strconv.Itoa(int(f.ObjectID))
	n.Traits |= tree.HasLocal | tree.CanFail
	src.Rowset = n
	src.Fields()
	return src, nil
}

// systemTableFunction binds a table-valued function of the server, or returns nil if there is none
// of that name. Functions that begin with fn_ are found without their schema (documentation of
// sys.fn_listextendedproperty), dynamic management functions only with it.
func (b *Binder) systemTableFunction(e *syntax.FuncCall, outer *names.Level) (*tree.Source, error) {
	schema, name := catalog.Fold(e.Name.Schema()), catalog.Fold(e.Name.Last())
	if schema != "sys" && schema != "" ||
		!(strings.HasPrefix(name, "fn_") || schema == "sys" && strings.HasPrefix(name, "dm_")) {
		return nil, nil
	}
	f, err := systemRows(e.Name.Last())
	if f == nil || err != nil {
		return nil, err
	}
	db, _, err := b.ObjectAt("", e.Name.Database(), "sys", e.Name.Last(), 0)
	if err != nil {
		return nil, err
	}
	args, err := b.ModuleArgs(db, f, e, outer)
	if err != nil {
		return nil, err
	}
	return b.inline(db, f, args)
}

// systemFunctions caches the server's functions by folded name.
var systemFunctions sync.Map

// systemRows returns the table-valued function of the server with a name, or nil.
func systemRows(name string) (*catalog.Function, error) {
	key := catalog.Fold(name)
	if f, ok := systemFunctions.Load(key); ok {
		return f.(*catalog.Function), nil
	}
	text, ok := sysviews.SystemFunction(key)
	if !ok {
		return nil, nil
	}
	parsed, err := parseFunction(text, true)
	if err != nil {
		return nil, err
	}
	f := &catalog.Function{
		Header: catalog.Header{Name: key, SchemaID: catalog.SchemaSys, Kind: catalog.KindInlineFunction},
		Module: catalog.Module{Text: text, AnsiNulls: true, QuotedIdentifier: true},
	}
	for _, p := range parsed.Params {
		param := catalog.Param{Name: p.Name, Nullable: true}
		if param.Type, err = types.Named(p.Type.Name.Last(), p.Type.Args...); err != nil {
			return nil, err
		}
		if p.Default != nil {
			param.HasDefault, param.Default = true, printer.Print(p.Default)
		}
		f.Params = append(f.Params, param)
	}
	systemFunctions.Store(key, f)
	return f, nil
}

// inline expands an inline table-valued function and replaces its parameters by the arguments.
func (b *Binder) inline(db *catalog.Database, f *catalog.Function, args []*tree.Node) (src *tree.Source, err error) {
	parsed, err := f.Memo.Get(func() (any, error) { return parseFunction(f.Text, f.QuotedIdentifier) })
	if err != nil {
		return nil, err
	}
	st, ok := parsed.(*syntax.CreateFunctionStmt)
	if !ok {
		return nil, mserr.NotSupported("the function %s", f.Name)
	}
	p := b.ModuleScope(db, f)
	p.Params = map[string]*tree.Node{}
	for i, param := range f.Params {
		p.Params[catalog.Fold(param.Name)] = args[i]
	}
	err = b.Within(p, func() error {
		q, err := b.Queries.Query(st.Query, nil, scalar.QueryUse{Ordered: true})
		if err != nil {
			return err
		}
		if q, err = b.NameColumns(q, f.Name, nil); err != nil {
			return err
		}
		src, err = expr.Rows(q, b.Alias("q"), f.Name)
		return err
	})
	return src, err
}

// parseFunction parses the text of a CREATE FUNCTION.
func parseFunction(text string, quoted bool) (*syntax.CreateFunctionStmt, error) {
	return parseModule[*syntax.CreateFunctionStmt](text, quoted)
}
