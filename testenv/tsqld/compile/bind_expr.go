package compile

import (
	"slices"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// expr binds an expression.
func (b *binder) expr(e syntax.Expr, l *level) (*node, error) {
	n, err := b.exprWithoutLocale(e, l)
	if err != nil || b.locale == (types.Locale{}) {
		return n, err
	}
	return b.localized(n), nil
}

// localized returns a node whose conversions use the session's locale.
func (b *binder) localized(n *node) *node {
	if n.locale == b.locale || b.place.system {
		return n
	}
	r := *n
	r.locale = b.locale
	return &r
}

// exprWithoutLocale binds an expression without setting its locale.
func (b *binder) exprWithoutLocale(e syntax.Expr, l *level) (*node, error) {
	if err := b.charge(); err != nil {
		return nil, err
	}
	switch e := e.(type) {
	case *syntax.Literal:
		return b.literal(e)
	case *syntax.ParenExpr:
		return b.exprWithoutLocale(e.X, l)
	case *syntax.VarRef:
		return b.variable(e.Name)
	case *syntax.GlobalRef:
		return b.builtin(e.Name, nil, nil, l)
	case *syntax.ColumnRef:
		n, err := b.columnRef(e, l)
		if err == nil && isNodesColumn(n) {
			err = mserr.NodesColumn(e.Column())
		}
		return n, err
	case *syntax.PseudoColumn:
		return b.pseudoColumn(e, l)
	case *syntax.UnaryExpr:
		return b.unary(e, l)
	case *syntax.BinaryExpr:
		return b.binary(e, l)
	case *syntax.CaseExpr:
		return b.caseExpr(e, l)
	case *syntax.IIfExpr:
		return b.iif(e, l)
	case *syntax.CastExpr:
		return b.cast(e.X, e.Type, nil, e.Try, l)
	case *syntax.ConvertExpr:
		return b.cast(e.X, e.Type, e.Style, e.Try, l)
	case *syntax.FuncCall:
		return b.funcCall(e, l)
	case *syntax.TrimExpr:
		return b.trim(e, l)
	case *syntax.CollateExpr:
		return b.collate(e, l)
	case *syntax.AtTimeZoneExpr:
		return b.builtin("AT TIME ZONE", []syntax.Expr{e.X, e.Zone}, nil, l)
	case *syntax.SubqueryExpr:
		return b.scalarSubquery(e.Query, l)
	case *syntax.NextValueExpr:
		return b.nextValue(e)
	case *syntax.JSONObjectExpr:
		return b.jsonObject(e, l)
	case *syntax.JSONArrayExpr:
		return b.jsonArray(e, l)
	case *syntax.IdentityExpr: // in SELECT … INTO see identityOf
		return nil, mserr.New(177, 15, "The IDENTITY function can only be used when the SELECT statement has an INTO clause.")
	case *syntax.ParseAsExpr:
		return nil, mserr.NotSupported("PARSE")
	case *syntax.MethodCall:
		return b.methodCall(e, l)
	case *syntax.Default:
		return nil, mserr.SyntaxKeyword("DEFAULT")
	case *syntax.Keyword:
		return nil, mserr.InvalidColumn(e.Name)
	}
	return nil, mserr.NotSupported("this kind of expression (%T)", e)
}

// exprs binds a list of expressions.
func (b *binder) exprs(list []syntax.Expr, l *level) ([]*node, error) {
	out := make([]*node, len(list))
	for i, e := range list {
		n, err := b.expr(e, l)
		if err != nil {
			return nil, err
		}
		out[i] = n
	}
	return out, nil
}

// literal binds a literal in the current database, whose collation character literals have.
func (b *binder) literal(e *syntax.Literal) (*node, error) {
	n, err := literal(e)
	if err == nil && n.typ.IsCharacter() {
		n.typ = b.ofDatabase(n.typ)
	}
	return n, err
}

// literal returns the node of a literal.
func literal(e *syntax.Literal) (*node, error) {
	switch e.Kind {
	case syntax.NullLit:
		return nullOf(types.NullType), nil
	case syntax.StringLit, syntax.NStringLit:
		t, v := types.StringLiteral(e.Text, e.Kind == syntax.NStringLit)
		return constant(v, t), nil
	case syntax.BinaryLit:
		return constant([]byte(e.Text), types.VarBinaryOf(len(e.Text))), nil
	case syntax.MoneyLit:
		return numberLiteral("$"+e.Text, e.Text)
	case syntax.IntLit, syntax.DecimalLit, syntax.FloatLit:
		return numberLiteral(e.Text, e.Text)
	case syntax.DateLit, syntax.TimeLit, syntax.TimestampLit:
		return convert(constant(e.Text, types.VarCharOf(len(e.Text))), types.DateTimeType, types.NoStyle, false)
	case syntax.GUIDLit:
		return convert(constant(e.Text, types.VarCharOf(len(e.Text))), types.GUIDType, types.NoStyle, false)
	}
	return nil, mserr.Syntax(e.Text)
}

// numberLiteral returns the node of a number. For money, text is amount with a currency sign in
// front.
func numberLiteral(text, amount string) (*node, error) {
	if text != amount { // money
		v, err := types.Convert(amount, types.VarCharMax, types.MoneyType, types.NoStyle)
		return constant(v, types.MoneyType), err
	}
	t, v, err := types.NumberLiteral(text)
	if err != nil {
		return nil, err
	}
	return constant(v, t), nil
}

// columnRef binds a column name.
func (b *binder) columnRef(e *syntax.ColumnRef, l *level) (*node, error) {
	if l == nil || l.noColumns && l.parent == nil {
		if len(e.Parts) > 1 {
			return nil, mserr.Unbound(dotted(e.Parts))
		}
		if l == nil {
			return nil, mserr.InvalidColumn(e.Column())
		}
		return nil, mserr.NotAllowedHere(e.Column())
	}
	if err := b.meter.Work(l.width()); err != nil {
		return nil, err
	}
	return l.find(e.Parts)
}

// pseudoColumn binds $ACTION, $IDENTITY and $ROWGUID.
func (b *binder) pseudoColumn(e *syntax.PseudoColumn, l *level) (*node, error) {
	for at := l; at != nil; at = at.parent {
		for _, src := range at.sources {
			if len(e.Qualifier) > 0 && !src.matches(e.Qualifier) {
				continue
			}
			for i := range src.cols {
				c := &src.cols[i]
				switch {
				case e.Name == "$ACTION" && c.name == e.Name,
					e.Name == "$IDENTITY" && c.base != nil && c.base.Auto != nil,
					e.Name == "$ROWGUID" && c.base != nil && c.base.RowGUID:
					return src.resolve(i)
				}
			}
		}
	}
	return nil, mserr.InvalidColumn(e.Name)
}

// unary binds +x, -x and ~x. A minus before a number literal becomes part of the number.
func (b *binder) unary(e *syntax.UnaryExpr, l *level) (*node, error) {
	if lit, ok := e.X.(*syntax.Literal); ok && e.Op == syntax.OpMinus {
		switch lit.Kind {
		case syntax.IntLit, syntax.DecimalLit, syntax.FloatLit:
			return numberLiteral("-"+lit.Text, "-"+lit.Text)
		}
	}
	x, err := b.expr(e.X, l)
	if err != nil || e.Op == syntax.OpPlus {
		return x, err
	}
	if e.Op == syntax.OpMinus {
		t, err := types.NegateType(x.typ)
		if err != nil {
			return nil, err
		}
		return fold(call(keys.Make(keys.Negate, keys.TypeText(x.typ), keys.TypeText(t)), t, x))
	}
	t, err := types.BitNotType(x.typ)
	if err != nil {
		return nil, err
	}
	return fold(call(keys.Make(keys.BitNot, keys.TypeText(x.typ)), t, x))
}

// fold evaluates a function of constants. If the evaluation fails, the function stays, and
// execution reports the error.
func fold(n *node, err error) (*node, error) {
	if err != nil || n.op != opCall && n.op != opConcat || isJSON(n) {
		return n, err
	}
	for _, a := range n.args {
		if a.op != opConst {
			return n, nil
		}
	}
	m := foldPool.Session()
	defer m.Close()
	v, err := n.eval(constantFrame{meter: m}, nil)
	if err != nil || keys.ValueBytes(v) > keys.MaxFoldedBytes {
		return n, nil
	}
	c := constant(v, n.typ)
	c.label = n.label
	return c, nil
}

// foldPool bounds the memory of folding one function. Each evaluation gets the minimum of a
// session.
var foldPool = meter.NewPool(1)

// constantFrame is the frame in which constants are folded. Functions of constants use only its
// meter.
type constantFrame struct {
	Frame
	meter *meter.Meter
}

// Meter implements [Frame].
func (f constantFrame) Meter() *meter.Meter { return f.meter }

// arithOps maps the parser's arithmetic operators.
var arithOps = map[syntax.Op]types.Op{
	syntax.OpAdd: types.Add, syntax.OpSub: types.Sub, syntax.OpMul: types.Mul, syntax.OpDiv: types.Div,
	syntax.OpMod: types.Mod, syntax.OpBitAnd: types.BitAnd, syntax.OpBitOr: types.BitOr, syntax.OpBitXor: types.BitXor,
}

// binary binds arithmetic and concatenation. Long chains are left-deep trees and are bound without
// recursion.
func (b *binder) binary(e *syntax.BinaryExpr, l *level) (*node, error) {
	chain := []*syntax.BinaryExpr{e}
	for {
		x, ok := chain[len(chain)-1].X.(*syntax.BinaryExpr)
		if !ok {
			break
		}
		chain = append(chain, x)
	}
	n, err := b.expr(chain[len(chain)-1].X, l)
	for i := len(chain) - 1; i >= 0 && err == nil; i-- {
		var y *node
		if y, err = b.expr(chain[i].Y, l); err == nil {
			n, err = arith(arithOps[chain[i].Op], n, y)
		}
	}
	return n, err
}

// asDecimal converts an integer constant to a decimal of the minimal precision if the other operand
// is a decimal, as arithmetic requires ("Precision, scale, and length"). Other nodes are returned
// unchanged.
func asDecimal(n, other *node) *node {
	v, ok := n.val.(int64)
	if n.op != opConst || !ok || !n.typ.IsInteger() || n.typ.ID == types.Bit || other.typ.ID != types.Decimal {
		return n
	}
	digits := len(strings.TrimPrefix(strconv.FormatInt(v, 10), "-"))
	return constant(v, types.Type{ID: types.Decimal, Precision: uint8(digits), Numeric: true})
}

// arith returns "x op y".
func arith(op types.Op, x, y *node) (*node, error) {
	if err := implyOperands(x, y); err != nil {
		return nil, err
	}
	x, y = asDecimal(x, y), asDecimal(y, x)
	same, err := unifyCodePages(x, y)
	if err != nil {
		return nil, err
	}
	x, y = same[0], same[1]
	t, err := types.ArithType(op, x.typ, y.typ)
	if err != nil {
		return nil, err
	}
	own := labelCoercible
	if t.IsString() {
		if t.Collation, own, err = combine(op.String(), x, y); err != nil {
			return nil, err
		}
	}
	if op == types.Add && t.IsString() {
		tx, ty := types.OperandTypes(op, x.typ, y.typ, t)
		if t.Length == types.Max ||
			tx.Length != types.Max && ty.Length != types.Max && tx.Length+ty.Length <= t.Length {
			if x, err = convertOperand(x, tx); err != nil {
				return nil, err
			}
			if y, err = convertOperand(y, ty); err != nil {
				return nil, err
			}
			return fold(build(opConcat, t, x, y).labeled(own), nil)
		}
	}
	n, err := call(keys.Make(keys.Arith, strconv.Itoa(int(op)), keys.TypeText(x.typ), keys.TypeText(y.typ), keys.TypeText(t)), t, x, y)
	if err != nil {
		return nil, err
	}
	return fold(n.labeled(own), nil)
}

// caseExpr binds CASE. Error 8133 when all results are NULL constants.
func (b *binder) caseExpr(e *syntax.CaseExpr, l *level) (*node, error) {
	var operand *node
	var err error
	if e.Operand != nil {
		if operand, err = b.expr(e.Operand, l); err != nil {
			return nil, err
		}
	}
	var conds, results []*node
	for _, w := range e.Whens {
		var c *node
		if operand == nil {
			c, err = b.cond(w.Cond, l)
		} else {
			var v *node
			if v, err = b.expr(w.Value, l); err == nil {
				c, err = compare("=", operand, v)
			}
		}
		if err != nil {
			return nil, err
		}
		r, err := b.expr(w.Then, l)
		if err != nil {
			return nil, err
		}
		conds, results = append(conds, c), append(results, r)
	}
	last := nullOf(types.NullType)
	if e.Else != nil {
		if last, err = b.expr(e.Else, l); err != nil {
			return nil, err
		}
	}
	return choose(conds, append(results, last))
}

// choose returns a CASE. results has one element more than conds, the value of ELSE.
func choose(conds, results []*node) (*node, error) {
	if err := refuseSequences(append(results, conds...)); err != nil {
		return nil, err
	}
	if allNull(results) {
		return nil, mserr.InvalidCaseNulls()
	}
	t, l, err := unify("CASE", results)
	if err != nil {
		return nil, err
	}
	return caseOf(t, conds, results).labeled(l), nil
}

// allNull reports whether all nodes are NULL constants without a type.
func allNull(nodes []*node) bool {
	return !slices.ContainsFunc(nodes, func(n *node) bool { return n.typ.ID != types.Null })
}

// caseOf returns a CASE whose results all have type t already.
func caseOf(t types.Type, conds, results []*node) *node {
	args := make([]*node, 0, 2*len(results)-1)
	null := false
	for i, r := range results {
		if i < len(conds) {
			args = append(args, conds[i])
		}
		args = append(args, r)
		null = null || r.null
	}
	n := build(opCase, t, args...)
	n.null = null
	return n
}

// iif binds IIF.
func (b *binder) iif(e *syntax.IIfExpr, l *level) (*node, error) {
	c, err := b.cond(e.Cond, l)
	if err != nil {
		return nil, err
	}
	rs, err := b.exprs([]syntax.Expr{e.Then, e.Else}, l)
	if err != nil {
		return nil, err
	}
	return choose([]*node{c}, rs)
}

// cast binds CAST and CONVERT. Errors: 529 and those of the type.
func (b *binder) cast(e syntax.Expr, ref *syntax.TypeRef, style syntax.Expr, try bool, l *level) (*node, error) {
	to, err := b.typeOf(ref, types.NamedForCast)
	if err != nil {
		return nil, err
	}
	x, err := b.expr(e, l)
	if err != nil {
		return nil, err
	}
	if x.typ.ID != types.Null {
		if err := types.CheckExplicit(x.typ, to); err != nil {
			return nil, err
		}
	}
	if to.IsCharacter() && x.typ.IsCharacter() {
		if x.label.hasConflict() && !to.IsUnicode() {
			return nil, mserr.NoCollation("CONVERT")
		}
		to.Collation = x.typ.Collation // typeOf has set the collation of the database
	}
	if style == nil {
		return convert(x, to, types.NoStyle, try)
	}
	s, err := b.expr(style, l)
	if err != nil {
		return nil, err
	}
	if s, err = convertImplicit(s, types.IntType); err != nil {
		return nil, err
	}
	if v, ok := s.val.(int64); ok && s.op == opConst {
		return convert(x, to, int(v), try)
	}
	key := keys.ConvertBy
	if try {
		key = keys.TryConvertBy
	}
	key = keys.Make(key, keys.TypeText(x.typ), keys.TypeText(to))
	if dependsOnLocale(x.typ, to) {
		key = keys.InLocale(x.locale, key)
	}
	n, err := call(key, to, x, s)
	if err == nil {
		n.null = true
	}
	return n, err
}

// trim binds TRIM in its long forms.
func (b *binder) trim(e *syntax.TrimExpr, l *level) (*node, error) {
	name := "TRIM"
	switch e.Side {
	case "LEADING":
		name = "LTRIM"
	case "TRAILING":
		name = "RTRIM"
	}
	args := []syntax.Expr{e.X}
	if e.Chars != nil {
		args = append(args, e.Chars)
	}
	return b.builtin(name, args, nil, l)
}
