package scalar

import (
	"strconv"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/names"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/expr"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// compareOps maps the parser's comparison operators to SQLite's.
var compareOps = map[syntax.Op]string{
	syntax.OpEQ: "=", syntax.OpNE: "<>", syntax.OpLT: "<", syntax.OpLE: "<=", syntax.OpGT: ">", syntax.OpGE: ">=",
}

// Cond binds a condition.
func (b *Binder) Cond(c syntax.Cond, l *names.Level) (*tree.Node, error) {
	if err := b.Charge(); err != nil {
		return nil, err
	}
	switch c := c.(type) {
	case *syntax.ParenCond:
		return b.Cond(c.X, l)
	case *syntax.LogicCond:
		return b.logic(c, l)
	case *syntax.NotCond:
		n, err := b.Cond(c.X, l)
		if err != nil {
			return nil, err
		}
		return tree.Not(n), nil
	case *syntax.CompareCond:
		xs, err := b.Exprs([]syntax.Expr{c.X, c.Y}, l)
		if err != nil {
			return nil, err
		}
		return expr.Compare(compareOps[c.Op], xs[0], xs[1])
	case *syntax.DistinctCond:
		return b.distinct(c, l)
	case *syntax.IsNullCond:
		n, err := b.nullable(c.X, l)
		if err != nil {
			return nil, err
		}
		return expr.Negated(tree.IsNull(n), c.Not), nil
	case *syntax.BetweenCond:
		return b.between(c, l)
	case *syntax.LikeCond:
		return b.like(c, l)
	case *syntax.InCond:
		if c.Query != nil {
			return b.inQuery(c, l)
		}
		return b.inList(c, l)
	case *syntax.ExistsCond:
		q, err := b.Queries.Subquery(c.Query, l, true)
		if err != nil {
			return nil, err
		}
		return &tree.Node{Op: tree.OpExists, Type: types.BitType, Query: q, Traits: tree.HasSubquery | tree.CanFail}, nil
	case *syntax.QuantifiedCond:
		return b.quantified(c, l)
	case *syntax.UpdatedCond:
		return b.updated(c, l)
	}
	return nil, mserr.NotSupported("this kind of condition (%T)", c)
}

// logic binds AND and OR. A chain of one operator is a left-deep tree; it becomes one node.
func (b *Binder) logic(c *syntax.LogicCond, l *names.Level) (*tree.Node, error) {
	op := tree.OpAnd
	if c.Op == syntax.OpOr {
		op = tree.OpOr
	}
	var operands []syntax.Cond
	var x syntax.Cond = c
	for {
		y, ok := x.(*syntax.LogicCond)
		if !ok || y.Op != c.Op {
			break
		}
		operands = append(operands, y.Y)
		x = y.X
	}
	operands = append(operands, x)
	args := make([]*tree.Node, len(operands))
	for i := range operands {
		n, err := b.Cond(operands[len(operands)-1-i], l)
		if err != nil {
			return nil, err
		}
		args[i] = n
	}
	return tree.Build(op, types.BitType, args...), nil
}

// distinct binds IS [NOT] DISTINCT FROM.
func (b *Binder) distinct(c *syntax.DistinctCond, l *names.Level) (*tree.Node, error) {
	xs, err := b.Exprs([]syntax.Expr{c.X, c.Y}, l)
	if err != nil {
		return nil, err
	}
	return expr.DistinctFrom(xs[0], xs[1], c.Not)
}

// between binds BETWEEN as x >= low AND x <= high.
func (b *Binder) between(c *syntax.BetweenCond, l *names.Level) (*tree.Node, error) {
	xs, err := b.Exprs([]syntax.Expr{c.X, c.Low, c.High}, l)
	if err != nil {
		return nil, err
	}
	low, err := expr.Compare(">=", xs[0], xs[1])
	if err != nil {
		return nil, err
	}
	high, err := expr.Compare("<=", xs[0], xs[2])
	if err != nil {
		return nil, err
	}
	return expr.Negated(tree.And(low, high), c.Not), nil
}

// like binds LIKE. Operands of other types are converted to character types.
func (b *Binder) like(c *syntax.LikeCond, l *names.Level) (*tree.Node, error) {
	list := []syntax.Expr{c.X, c.Pattern}
	if c.Escape != nil {
		list = append(list, c.Escape)
	}
	xs, err := b.Exprs(list, l)
	if err != nil {
		return nil, err
	}
	padded := true
	if err := expr.ImplyOperands(xs[0], xs[1]); err != nil {
		return nil, err
	}
	for i, x := range xs {
		if !x.Type.IsCharacter() {
			if x.Type.ID == types.Image || x.Type.ID == types.XML || x.Type.ID == types.Variant {
				return nil, mserr.InvalidArgumentType(x.Type.MessageName(), i+1, "like")
			}
			if xs[i], err = expr.ConvertImplicit(x, types.VarCharOf(max(x.Type.DisplayLength(), 1))); err != nil {
				return nil, err
			}
		}
		padded = padded && !x.Type.IsUnicode()
	}
	coll, err := expr.CollationOf("like", xs[0], xs[1])
	if err != nil {
		return nil, err
	}
	blanks := "0"
	if padded {
		blanks = "1"
	}
	n, err := tree.Call(keys.Make(keys.Like, strconv.Itoa(int(coll)), blanks), types.BitType, xs...)
	if err != nil {
		return nil, err
	}
	return expr.Negated(n, c.Not), nil
}

// inList binds IN with a list of expressions, which are converted to one type.
func (b *Binder) inList(c *syntax.InCond, l *names.Level) (*tree.Node, error) {
	xs, err := b.Exprs(append([]syntax.Expr{c.X}, c.List...), l)
	if err != nil {
		return nil, err
	}
	x, err := expr.InValues(xs)
	if err != nil {
		return nil, err
	}
	return expr.Negated(x, c.Not), nil
}

// oneColumn binds a subquery that must have one column. Error 116 if it has several.
func (b *Binder) oneColumn(q *syntax.Query, l *names.Level) (*tree.Query, error) {
	sub, err := b.Queries.Subquery(q, l, false)
	if err != nil {
		return nil, err
	}
	if len(sub.Columns) != 1 {
		return nil, mserr.SubqueryColumns()
	}
	return sub, nil
}

// operandAndColumn binds the operand and the subquery of IN, ANY and ALL.
func (b *Binder) operandAndColumn(e syntax.Expr, q *syntax.Query, l *names.Level) (*tree.Node, *tree.Query, error) {
	x, err := b.Expr(e, l)
	if err != nil {
		return nil, nil, err
	}
	sub, err := b.oneColumn(q, l)
	return x, sub, err
}

// inQuery binds IN (subquery).
func (b *Binder) inQuery(c *syntax.InCond, l *names.Level) (*tree.Node, error) {
	x, sub, err := b.operandAndColumn(c.X, c.Query, l)
	if err != nil {
		return nil, err
	}
	n, err := expr.AgainstQuery(tree.OpInQuery, "=", x, sub)
	if err != nil {
		return nil, err
	}
	return expr.Negated(n, c.Not), nil
}

// quantified binds ANY and ALL.
func (b *Binder) quantified(c *syntax.QuantifiedCond, l *names.Level) (*tree.Node, error) {
	x, sub, err := b.operandAndColumn(c.X, c.Query, l)
	if err != nil {
		return nil, err
	}
	op := compareOps[c.Op]
	switch {
	case c.All && op == "<>":
		n, err := expr.AgainstQuery(tree.OpInQuery, "=", x, sub)
		if err != nil {
			return nil, err
		}
		return tree.Not(n), nil
	case c.All:
		return expr.AgainstQuery(tree.OpAll, op, x, sub)
	case op == "=":
		return expr.AgainstQuery(tree.OpInQuery, op, x, sub)
	}
	return expr.AgainstQuery(tree.OpAny, op, x, sub)
}

// scalarSubquery binds a subquery used as a value. Error 116 if the subquery has several columns.
func (b *Binder) scalarSubquery(q *syntax.Query, l *names.Level) (*tree.Node, error) {
	sub, err := b.oneColumn(q, l)
	if err != nil {
		return nil, err
	}
	if err := expr.CheckColumnCollations(sub); err != nil {
		return nil, err
	}
	c := sub.Columns[0]
	return &tree.Node{
		Op:        tree.OpScalar,
		Type:      c.Type,
		Null:      true,
		Label:     c.Label,
		Query:     sub,
		SingleRow: sub.IsSingleRow(),
		Traits:    tree.HasSubquery | tree.CanFail,
	}, nil
}
