package scalar

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/names"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/expr"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Binder binds expressions and conditions.
type Binder struct {
	names.Resolver
	// Queries binds the queries of expressions and FROM.
	Queries Queries
	// InDefault is set while a column default is bound, the only place that allows NEWSEQUENTIALID.
	InDefault bool
}

// Expr binds an expression.
func (b *Binder) Expr(e syntax.Expr, l *names.Level) (*tree.Node, error) {
	n, err := b.exprWithoutLocale(e, l)
	if err != nil || b.Locale == (types.Locale{}) {
		return n, err
	}
	return b.Localized(n), nil
}

// Localized returns a node whose conversions use the session's locale.
func (b *Binder) Localized(n *tree.Node) *tree.Node {
	if n.Locale == b.Locale || b.Place.System {
		return n
	}
	r := *n
	r.Locale = b.Locale
	return &r
}

// exprWithoutLocale binds an expression without setting its locale.
func (b *Binder) exprWithoutLocale(e syntax.Expr, l *names.Level) (*tree.Node, error) {
	n, err := b.bound(e, l)
	if err == nil && isLoose(e) {
		n.Loose = true
	}
	return n, err
}

// isLoose reports whether the metadata call the value of an expression nullable whatever its
// operands are: operators, conversions, aggregates and other functions (SQL Server 2022 and 2025,
// recorded).
func isLoose(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.BinaryExpr, *syntax.CastExpr, *syntax.ConvertExpr:
		return true
	case *syntax.UnaryExpr:
		_, constant := e.X.(*syntax.Literal)
		return !constant && e.Op != syntax.OpPlus
	case *syntax.FuncCall:
		switch name := strings.ToUpper(e.Name.Last()); name {
		case "ISNULL", "COALESCE", "GROUPING", "GROUPING_ID":
			return false
		}
		return true
	}
	return false
}

// bound binds an expression.
func (b *Binder) bound(e syntax.Expr, l *names.Level) (*tree.Node, error) {
	if err := b.Charge(); err != nil {
		return nil, err
	}
	switch e := e.(type) {
	case *syntax.Literal:
		return b.literal(e)
	case *syntax.ParenExpr:
		return b.exprWithoutLocale(e.X, l)
	case *syntax.VarRef:
		return b.Variable(e.Name)
	case *syntax.GlobalRef:
		return calls{b}.builtin(e.Name, nil, nil, l)
	case *syntax.ColumnRef:
		n, err := b.columnRef(e, l)
		if err == nil && tree.IsNodesColumn(n) {
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
		return calls{b}.funcCall(e, l)
	case *syntax.TrimExpr:
		return b.trim(e, l)
	case *syntax.CollateExpr:
		return b.collate(e, l)
	case *syntax.AtTimeZoneExpr:
		return calls{b}.builtin("AT TIME ZONE", []syntax.Expr{e.X, e.Zone}, nil, l)
	case *syntax.SubqueryExpr:
		return b.scalarSubquery(e.Query, l)
	case *syntax.NextValueExpr:
		return b.nextValue(e)
	case *syntax.JSONObjectExpr:
		return calls{b}.jsonObject(e, l)
	case *syntax.JSONArrayExpr:
		return calls{b}.jsonArray(e, l)
	case *syntax.IdentityExpr: // the caller replaces that of SELECT … INTO
		return nil, mserr.Of(177)
	case *syntax.ParseAsExpr:
		return calls{b}.parse(e, l)
	case *syntax.MethodCall:
		return xmlCalls{b}.methodCall(e, l)
	case *syntax.Default:
		return nil, mserr.SyntaxKeyword("DEFAULT")
	case *syntax.Keyword:
		return nil, mserr.InvalidColumn(e.Name)
	}
	return nil, mserr.NotSupported("this kind of expression (%T)", e)
}

// Exprs binds a list of expressions.
func (b *Binder) Exprs(list []syntax.Expr, l *names.Level) ([]*tree.Node, error) {
	out := make([]*tree.Node, len(list))
	for i, e := range list {
		n, err := b.Expr(e, l)
		if err != nil {
			return nil, err
		}
		out[i] = n
	}
	return out, nil
}

// literal binds a literal in the current database, whose collation character literals have.
func (b *Binder) literal(e *syntax.Literal) (*tree.Node, error) {
	n, err := expr.Literal(e)
	if err == nil && n.Type.IsCharacter() {
		n.Type = b.OfDatabase(n.Type)
	}
	return n, err
}

// columnRef binds a column name.
func (b *Binder) columnRef(e *syntax.ColumnRef, l *names.Level) (*tree.Node, error) {
	if l == nil || l.NoColumns && l.Parent == nil {
		if len(e.Parts) > 1 {
			return nil, mserr.Unbound(names.Dotted(e.Parts))
		}
		if l == nil {
			return nil, mserr.InvalidColumn(e.Column())
		}
		return nil, mserr.NotAllowedHere(e.Column())
	}
	if err := b.Meter.Work(l.Width()); err != nil {
		return nil, err
	}
	return l.Find(e.Parts)
}

// pseudoColumn binds $ACTION, $IDENTITY and $ROWGUID.
func (b *Binder) pseudoColumn(e *syntax.PseudoColumn, l *names.Level) (*tree.Node, error) {
	for at := l; at != nil; at = at.Parent {
		for _, src := range at.Sources {
			if len(e.Qualifier) > 0 && !names.Matches(src, e.Qualifier) {
				continue
			}
			for i := range src.Columns {
				c := &src.Columns[i]
				switch {
				case e.Name == "$ACTION" && c.Name == e.Name,
					e.Name == "$IDENTITY" && c.Base != nil && c.Base.Auto != nil,
					e.Name == "$ROWGUID" && c.Base != nil && c.Base.RowGUID:
					return src.Resolve(i)
				}
			}
		}
	}
	return nil, mserr.InvalidColumn(e.Name)
}

// unary binds +x, -x and ~x. A minus before a number literal becomes part of the number.
func (b *Binder) unary(e *syntax.UnaryExpr, l *names.Level) (*tree.Node, error) {
	if lit, ok := e.X.(*syntax.Literal); ok && e.Op == syntax.OpMinus {
		switch lit.Kind {
		case syntax.IntLit, syntax.DecimalLit, syntax.FloatLit:
			return expr.NumberLiteral("-"+lit.Text, "-"+lit.Text)
		}
	}
	x, err := b.Expr(e.X, l)
	if err != nil || e.Op == syntax.OpPlus {
		return x, err
	}
	if e.Op == syntax.OpMinus {
		t, err := types.NegateType(x.Type)
		if err != nil {
			return nil, err
		}
		return expr.Fold(tree.Call(keys.Make(keys.Negate, keys.TypeText(x.Type), keys.TypeText(t)), t, x))
	}
	t, err := types.BitNotType(x.Type)
	if err != nil {
		return nil, err
	}
	return expr.Fold(tree.Call(keys.Make(keys.BitNot, keys.TypeText(x.Type)), t, x))
}

// binary binds arithmetic and concatenation. Long chains are left-deep trees and are bound without
// recursion.
func (b *Binder) binary(e *syntax.BinaryExpr, l *names.Level) (*tree.Node, error) {
	chain := []*syntax.BinaryExpr{e}
	for {
		x, ok := chain[len(chain)-1].X.(*syntax.BinaryExpr)
		if !ok {
			break
		}
		chain = append(chain, x)
	}
	n, err := b.Expr(chain[len(chain)-1].X, l)
	for i := len(chain) - 1; i >= 0 && err == nil; i-- {
		var y *tree.Node
		if y, err = b.Expr(chain[i].Y, l); err == nil {
			n, err = expr.Arith(expr.ArithOps[chain[i].Op], n, y)
		}
	}
	return n, err
}

// caseExpr binds CASE. Error 8133 when all results are NULL constants.
func (b *Binder) caseExpr(e *syntax.CaseExpr, l *names.Level) (*tree.Node, error) {
	var operand *tree.Node
	var err error
	if e.Operand != nil {
		if operand, err = b.Expr(e.Operand, l); err != nil {
			return nil, err
		}
	}
	var conds, results []*tree.Node
	for _, w := range e.Whens {
		var c *tree.Node
		if operand == nil {
			c, err = b.Cond(w.Cond, l)
		} else {
			var v *tree.Node
			if v, err = b.Expr(w.Value, l); err == nil {
				c, err = expr.Compare("=", operand, v)
			}
		}
		if err != nil {
			return nil, err
		}
		r, err := b.Expr(w.Then, l)
		if err != nil {
			return nil, err
		}
		conds, results = append(conds, c), append(results, r)
	}
	last := tree.NullOf(types.NullType)
	if e.Else != nil {
		if last, err = b.Expr(e.Else, l); err != nil {
			return nil, err
		}
	}
	return expr.Choose("CASE", conds, append(results, last))
}

// iif binds IIF.
func (b *Binder) iif(e *syntax.IIfExpr, l *names.Level) (*tree.Node, error) {
	c, err := b.Cond(e.Cond, l)
	if err != nil {
		return nil, err
	}
	rs, err := b.Exprs([]syntax.Expr{e.Then, e.Else}, l)
	if err != nil {
		return nil, err
	}
	return expr.Choose("CASE", []*tree.Node{c}, rs)
}

// cast binds CAST and CONVERT. Errors: 529 and those of the type.
func (b *Binder) cast(e syntax.Expr, ref *syntax.TypeRef, style syntax.Expr, try bool, l *names.Level) (*tree.Node, error) {
	to, err := b.TypeOf(ref, types.NamedForCast)
	if err != nil {
		return nil, err
	}
	x, err := b.Expr(e, l)
	if err != nil {
		return nil, err
	}
	if x.Type.ID != types.Null {
		if err := types.CheckExplicit(x.Type, to); err != nil {
			return nil, err
		}
	}
	if to.IsCharacter() && x.Type.IsCharacter() {
		if x.Label.HasConflict() && !to.IsUnicode() {
			return nil, mserr.NoCollation("CONVERT")
		}
		to.Collation = x.Type.Collation // TypeOf has set the collation of the database
	}
	if style == nil {
		return expr.Convert(x, to, types.NoStyle, try)
	}
	s, err := b.Expr(style, l)
	if err != nil {
		return nil, err
	}
	if s, err = expr.ConvertImplicit(s, types.IntType); err != nil {
		return nil, err
	}
	if v, ok := s.Value.(int64); ok && s.Op == tree.OpConst {
		return expr.Convert(x, to, int(v), try)
	}
	key := keys.ConvertBy
	if try {
		key = keys.TryConvertBy
	}
	key = keys.Make(key, keys.TypeText(x.Type), keys.TypeText(to))
	if expr.DependsOnLocale(x.Type, to) {
		key = keys.InLocale(x.Locale, key)
	}
	n, err := tree.Call(key, to, x, s)
	if err == nil {
		n.Null = true
	}
	return n, err
}

// trim binds TRIM in its long forms.
func (b *Binder) trim(e *syntax.TrimExpr, l *names.Level) (*tree.Node, error) {
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
	return calls{b}.builtin(name, args, nil, l)
}
