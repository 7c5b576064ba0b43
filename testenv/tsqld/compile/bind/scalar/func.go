package scalar

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin"
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/names"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/expr"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// calls binds calls of functions.
type calls struct{ *Binder }

// funcCall binds a function call: built-in, system or user-defined.
func (b calls) funcCall(e *syntax.FuncCall, l *names.Level) (*tree.Node, error) {
	if len(e.Name.Parts) > 1 {
		if strings.EqualFold(e.Name.Schema(), "sys") && e.Name.Database() == "" {
			return b.builtin(e.Name.Last(), e.Args, e, l)
		}
		if systemFunction(e.Name) {
			return b.builtin(e.Name.Last(), e.Args, e, l)
		}
		if n, ok, err := xmlCalls(b).columnMethod(e, l); ok || err != nil {
			return n, err
		}
		return b.userFunction(e, l)
	}
	if name := e.Name.Last(); isSystemName(name) {
		return nil, mserr.NotRecognized(name, "built-in function name")
	}
	return b.builtin(e.Name.Last(), e.Args, e, l)
}

// isSystemName reports whether a function belongs to schema sys and must be called with a qualified
// name.
func isSystemName(name string) bool { return len(name) > 3 && strings.EqualFold(name[:3], "fn_") }

// systemFunction reports whether n is a function in a system database, called with the database
// name: master.sys.fn_varbintohexstr, which dbo has as well, and
// msdb.dbo.fn_syspolicy_is_automation_enabled.
func systemFunction(n *syntax.ObjectName) bool {
	if _, ok := builtin.Lookup(n.Last()); !ok || !isSystemName(n.Last()) {
		return false
	}
	if strings.EqualFold(n.Database(), "msdb") || strings.EqualFold(n.Last(), "fn_syspolicy_is_automation_enabled") {
		return strings.EqualFold(n.Database(), "msdb") &&
			strings.EqualFold(n.Last(), "fn_syspolicy_is_automation_enabled")
	}
	return strings.EqualFold(n.Schema(), "sys") || strings.EqualFold(n.Database(), "master")
}

// lazyFuncs are the built-in functions that do not evaluate all arguments.
var lazyFuncs = map[string]func(calls, []*tree.Node) (*tree.Node, error){
	"COALESCE": calls.coalesce,
	"NULLIF":   calls.nullIf,
	"ISNULL":   calls.isNullCall,
	"CHOOSE":   calls.choose,
}

// builtin binds a built-in function by name. e has the other clauses of the call; it is nil for a
// call without FuncCall syntax, such as @@ROWCOUNT.
func (b calls) builtin(name string, args []syntax.Expr, e *syntax.FuncCall, l *names.Level) (*tree.Node, error) {
	f, ok := builtin.Lookup(name)
	if builtin.IsUnsupported(name) {
		return nil, mserr.NotSupported("%s", strings.ToUpper(name))
	}
	if !ok {
		return nil, mserr.NotRecognized(name, "built-in function name")
	}
	if f.Kind != builtin.Scalar {
		if e == nil {
			return nil, mserr.NotRecognized(name, "built-in function name")
		}
		return b.aggregate(f, e, l)
	}
	if f.Name == "NEWSEQUENTIALID" && !b.InDefault {
		return nil, mserr.NewSequentialID()
	}
	if e != nil {
		switch {
		case e.Over != nil:
			return nil, mserr.NotWindowFunction(name)
		case e.Star, e.Distinct, e.WithinGroup != nil:
			return nil, mserr.Syntax(name)
		}
	}
	var nodes, hidden []*tree.Node
	if f.DatePart && len(args) > 0 {
		part, ok := args[0].(*syntax.Keyword)
		if !ok {
			return nil, mserr.InvalidParameter(1, strings.ToLower(name))
		}
		word := strings.ToLower(part.Name)
		nodes = append(nodes, tree.Constant(word, types.VarCharOf(len(word))))
		args = args[1:]
		if builtin.NeedsDateFirst(f, word) {
			first, err := b.builtin("@@DATEFIRST", nil, nil, l)
			if err != nil {
				return nil, err
			}
			if first, err = expr.Convert(first, types.IntType, types.NoStyle, false); err != nil {
				return nil, err
			}
			hidden = append(hidden, first)
		}
	}
	var kind []*tree.Node
	if f.Name == "ISJSON" && len(args) == 2 {
		if kind = jsonKind(args[1]); kind != nil {
			args = args[:1]
		}
	}
	rest, err := b.Exprs(args, l)
	if err != nil {
		return nil, err
	}
	nodes = append(append(nodes, rest...), kind...)
	if lazy := lazyFuncs[f.Name]; lazy != nil {
		if err := f.CheckCount(len(nodes)); err != nil {
			return nil, err
		}
		if err := expr.RefuseSequences(nodes); err != nil {
			return nil, err
		}
		return lazy(b, nodes)
	}
	if f.Name == "JSON_MODIFY" && len(nodes) == 3 && expr.IsJSON(nodes[2]) {
		hidden = append(hidden, tree.Constant(int64(1), types.BitType))
	}
	return b.callBuiltin(f, nodes, hidden...)
}

// parse binds PARSE and TRY_PARSE.
func (b calls) parse(e *syntax.ParseAsExpr, l *names.Level) (*tree.Node, error) {
	t, err := b.TypeOf(e.Type, types.NamedForCast)
	if err != nil {
		return nil, err
	}
	list := []syntax.Expr{e.X}
	if e.Culture != nil {
		list = append(list, e.Culture)
	}
	args, err := b.Exprs(list, l)
	if err != nil {
		return nil, err
	}
	name := "PARSE"
	if e.Try {
		name = "TRY_PARSE"
	}
	f, _ := builtin.Lookup(name)
	return b.callBuiltin(f, append([]*tree.Node{args[0], tree.NullOf(t)}, args[1:]...))
}

// jsonKind returns the second argument of ISJSON, a word such as OBJECT, as a text; nil for others.
func jsonKind(e syntax.Expr) []*tree.Node {
	c, ok := e.(*syntax.ColumnRef)
	if !ok || len(c.Parts) != 1 {
		return nil
	}
	switch word := strings.ToUpper(c.Parts[0].Name); word {
	case "VALUE", "ARRAY", "OBJECT", "SCALAR":
		return []*tree.Node{tree.Constant(word, types.VarCharOf(len(word)))}
	}
	return nil
}

// callBuiltin returns the call of a scalar function with bound arguments. hidden arguments follow
// those of the statement and are not counted.
func (b calls) callBuiltin(f *builtin.Func, args []*tree.Node, hidden ...*tree.Node) (*tree.Node, error) {
	if err := expr.RefuseUntyped(args); err != nil {
		return nil, err
	}
	args, err := b.datesAsText(f, args)
	if err == nil {
		args, err = expr.UnifyCodePages(args...)
	}
	if err != nil {
		return nil, err
	}
	t, ts, err := resultType(f, args)
	if err != nil {
		return nil, err
	}
	if f.Variant {
		if err := expr.CheckCollation(args[0], types.VariantType); err != nil {
			return nil, err
		}
	}
	l := tree.LabelCoercible
	if t.IsCharacter() || f.Collating {
		coll, own, err := expr.Combine(strings.ToLower(f.Name), args...)
		if err == nil && f.Collating {
			coll, err = expr.CollationOf(strings.ToLower(f.Name), args...)
		}
		if err != nil {
			return nil, err
		}
		switch {
		case !anyCharacter(ts):
			t = b.OfDatabase(t)
		case t.IsCharacter():
			t.Collation, l = coll, own
		}
		for i := range ts {
			if f.Collating && ts[i].IsCharacter() {
				ts[i].Collation = coll
			}
		}
	}
	for _, h := range hidden {
		args, ts = append(args, h), append(ts, h.Type)
	}
	parts := []string{keys.Builtin, f.Name, keys.TypeText(t)}
	for _, a := range ts {
		parts = append(parts, keys.TypeText(a))
	}
	var n *tree.Node
	switch f.Volatility {
	case builtin.Statement, builtin.Session, builtin.Place:
		parts[0] = keys.Env
		n = tree.Build(tree.OpEnv, t, args...)
		n.Key = keys.Make(parts...)
		n.Traits |= tree.HasEnv
		if f.Volatility == builtin.Place {
			n.Traits |= tree.PerPlace
		}
		n.Null = !f.NotNull
		return n, nil
	}
	key := keys.Make(parts...)
	if b.Locale != (types.Locale{}) && f.UsesLocale() {
		key = keys.InLocale(b.Locale, key)
	}
	if n, err = tree.Call(key, t, args...); err != nil {
		return nil, err
	}
	n.Labeled(l)
	n.Null = true
	if f.Volatility == builtin.PerRow {
		n.Op, n.Null = tree.OpPerRow, len(args) > 0
		n.Traits |= tree.HasPerRow
		return n, nil
	}
	return expr.Fold(n, nil)
}

// resultType returns the result type of a function, and the types of its arguments.
func resultType(f *builtin.Func, args []*tree.Node) (types.Type, []types.Type, error) {
	ts := make([]types.Type, len(args))
	consts := make([]types.Value, len(args))
	for i, a := range args {
		ts[i] = a.Type
		if a.Op == tree.OpConst {
			consts[i] = a.Value
		}
	}
	t, err := f.ResultType(ts, consts)
	return t, ts, err
}

// datesAsText converts dates to character strings in the session's language, for a function with
// character arguments.
func (b calls) datesAsText(f *builtin.Func, args []*tree.Node) ([]*tree.Node, error) {
	if b.Locale.Language == 0 || !f.TakesText() {
		return args, nil
	}
	out := slices.Clone(args)
	for i, a := range args {
		if !a.Type.IsLegacyTemporal() {
			continue
		}
		var err error
		if out[i], err = expr.Convert(
			b.Localized(a),
			types.VarCharOf(a.Type.DisplayLength()),
			types.NoStyle,
			false,
		); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// anyCharacter reports whether one of the types is a character type.
func anyCharacter(ts []types.Type) bool { return slices.ContainsFunc(ts, types.Type.IsCharacter) }

// coalesce binds COALESCE. Error 4127 if all arguments are NULL constants.
func (b calls) coalesce(args []*tree.Node) (*tree.Node, error) {
	if expr.AllNull(args) {
		return nil, mserr.CoalesceNulls()
	}
	t, l, err := expr.Unify("CASE", args)
	if err != nil {
		return nil, err
	}
	n := expr.CoalesceOf(t, args...).Labeled(l)
	if i := slices.IndexFunc(args, func(a *tree.Node) bool { return !a.IsNullConst() }); i >= 0 {
		n.Loose = args[i].Null || args[i].Loose
	}
	return n, nil
}

// isNullCall binds ISNULL. The result has the type, the collation and the label of the first
// argument, or of the second one if the first is NULL without a type (SQL Server 2025, recorded).
func (b calls) isNullCall(args []*tree.Node) (*tree.Node, error) {
	first := args[0]
	if first.Type.ID == types.Null {
		first = args[1]
	}
	t, l := first.Type, first.Label
	if t.ID == types.Null {
		t = types.IntType
	}
	for i, a := range args {
		n, err := expr.ConvertOperand(a, t)
		if err != nil {
			return nil, err
		}
		args[i] = n
	}
	return expr.CoalesceOf(t, args...).Labeled(l), nil
}

// nullIf binds NULLIF. Error 4151 if the first argument is a NULL constant.
func (b calls) nullIf(args []*tree.Node) (*tree.Node, error) {
	if args[0].Type.ID == types.Null {
		return nil, mserr.NullIfNull()
	}
	same, err := expr.Compare("=", args[0], args[1])
	if err != nil {
		return nil, err
	}
	t := args[0].Type
	return expr.CaseOf(t, []*tree.Node{same}, []*tree.Node{tree.NullOf(t), args[0]}), nil
}

// choose binds CHOOSE.
func (b calls) choose(args []*tree.Node) (*tree.Node, error) {
	index, err := expr.ConvertImplicit(args[0], types.IntType)
	if err != nil {
		return nil, err
	}
	conds := make([]*tree.Node, len(args)-1)
	for i := range conds {
		if conds[i], err = expr.Compare("=", index, tree.Constant(int64(i+1), types.IntType)); err != nil {
			return nil, err
		}
	}
	return expr.Choose("CHOOSE", conds, append(append([]*tree.Node(nil), args[1:]...), tree.NullOf(types.NullType)))
}

// userFunction binds a call of a scalar user-defined function. Errors: 4121 unknown function, 313
// and 8144 wrong number of arguments.
func (b calls) userFunction(e *syntax.FuncCall, l *names.Level) (*tree.Node, error) {
	db, o, err := b.Object(e.Name)
	if err != nil && !errors.Is(err, mserr.InvalidObject("")) {
		return nil, err
	}
	f, ok := o.(*catalog.Function)
	if !ok || f.Kind != catalog.KindScalarFunction {
		return nil, mserr.UnknownFunctionOrColumn(e.Name.Parts[0].Name, e.Name.String())
	}
	if e.Over != nil || e.Star || e.Distinct {
		return nil, mserr.Syntax(e.Name.String())
	}
	b.NeedPermission(db, f, "EXECUTE")
	args, err := b.ModuleArgs(db, f, e, l)
	if err != nil {
		return nil, err
	}
	n := tree.Build(tree.OpLocal, f.Returns, args...)
	n.Key = keys.LocalFunction + strconv.Itoa(db.ID) + "|" + strconv.Itoa(int(f.ObjectID))
	n.Traits |= tree.HasLocal | tree.CanFail
	n.Null = true
	return n, nil
}

// ModuleArgs binds the arguments of a user-defined function and converts them to the types of its
// parameters. DEFAULT stands for the parameter's default. Errors: 313 too few, 8144 too many
// arguments.
func (b *Binder) ModuleArgs(db *catalog.Database, f *catalog.Function, e *syntax.FuncCall, l *names.Level) ([]*tree.Node, error) {
	switch {
	case len(e.Args) < len(f.Params) && f.Kind == catalog.KindScalarFunction:
		return nil, mserr.TooFewArguments(e.Name.String()).WithState(2)
	case len(e.Args) < len(f.Params):
		return nil, mserr.TooFewArguments(e.Name.String())
	case len(e.Args) > len(f.Params):
		return nil, mserr.TooManyProcArguments(e.Name.String())
	}
	args := make([]*tree.Node, len(f.Params))
	for i, p := range f.Params {
		if p.TableTypeID != 0 {
			return nil, mserr.NotSupported("a table-valued parameter of a function")
		}
		var n *tree.Node
		var err error
		if _, ok := e.Args[i].(*syntax.Default); ok {
			n, err = calls{b}.paramDefault(db, f, p)
		} else {
			n, err = b.Expr(e.Args[i], l)
		}
		if err == nil {
			if n.Deduced != nil {
				n.Deduced.Formal = p.Name
			}
			n, err = expr.ConvertImplicit(n, p.Type)
		}
		if err != nil {
			return nil, err
		}
		args[i] = n
	}
	return args, nil
}

// paramDefault binds the default value of a parameter, NULL if the parameter has none (SQL Server
// 2022, recorded).
func (b calls) paramDefault(db *catalog.Database, f *catalog.Function, p catalog.Param) (n *tree.Node, err error) {
	if !p.HasDefault {
		return tree.NullOf(p.Type), nil
	}
	e, err := parser.ParseExpr(p.Default, parser.Options{QuotedIdentifier: f.QuotedIdentifier})
	if err != nil {
		return nil, err
	}
	err = b.Within(b.ModuleScope(db, f), func() error {
		n, err = b.Expr(e, nil)
		return err
	})
	return n, err
}

// jsonObject binds JSON_OBJECT.
func (b calls) jsonObject(e *syntax.JSONObjectExpr, l *names.Level) (*tree.Node, error) {
	var args []*tree.Node
	for i := range e.Keys {
		pair, err := b.Exprs([]syntax.Expr{e.Keys[i], e.Values[i]}, l)
		if err != nil {
			return nil, err
		}
		if pair[0], err = expr.ConvertImplicit(pair[0], types.NVarCharMax); err != nil {
			return nil, err
		}
		args = append(args, pair...)
	}
	return b.jsonCall(keys.JSONObject, e.AbsentOnNull, args)
}

// jsonArray binds JSON_ARRAY.
func (b calls) jsonArray(e *syntax.JSONArrayExpr, l *names.Level) (*tree.Node, error) {
	args, err := b.Exprs(e.Items, l)
	if err != nil {
		return nil, err
	}
	return b.jsonCall(keys.JSONArray, !e.NullOnNull, args)
}

// jsonCall returns the call of a JSON constructor. Its key lists the types of the arguments and
// marks arguments that are JSON already.
func (b calls) jsonCall(key string, absent bool, args []*tree.Node) (*tree.Node, error) {
	parts := []string{key, "0"}
	if absent {
		parts[1] = "1"
	}
	for _, a := range args {
		k := keys.TypeText(a.Type)
		if expr.IsJSON(a) {
			k = keys.RawMark + k
		}
		parts = append(parts, k)
	}
	n, err := tree.Call(keys.Make(parts...), b.OfDatabase(types.NVarCharMax), args...)
	if err == nil {
		n.Null = false
	}
	return n, err
}
