package compile

import (
	"strconv"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// compareOps maps the parser's comparison operators to SQLite's.
var compareOps = map[syntax.Op]string{
	syntax.OpEQ: "=", syntax.OpNE: "<>", syntax.OpLT: "<", syntax.OpLE: "<=", syntax.OpGT: ">", syntax.OpGE: ">=",
}

// operatorNames are the names of the comparison operators in error messages.
var operatorNames = map[string]string{
	"=":  "equal to",
	"<>": "not equal to",
	"<":  "less than",
	"<=": "less than or equal to",
	">":  "greater than",
	">=": "greater than or equal to",
}

// cond binds a condition.
func (b *binder) cond(c syntax.Cond, l *level) (*node, error) {
	if err := b.charge(); err != nil {
		return nil, err
	}
	switch c := c.(type) {
	case *syntax.ParenCond:
		return b.cond(c.X, l)
	case *syntax.LogicCond:
		return b.logic(c, l)
	case *syntax.NotCond:
		n, err := b.cond(c.X, l)
		if err != nil {
			return nil, err
		}
		return not(n), nil
	case *syntax.CompareCond:
		xs, err := b.exprs([]syntax.Expr{c.X, c.Y}, l)
		if err != nil {
			return nil, err
		}
		return compare(compareOps[c.Op], xs[0], xs[1])
	case *syntax.DistinctCond:
		return b.distinct(c, l)
	case *syntax.IsNullCond:
		n, err := b.nullable(c.X, l)
		if err != nil {
			return nil, err
		}
		return negated(isNull(n), c.Not), nil
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
		q, err := b.subquery(c.Query, l, true)
		if err != nil {
			return nil, err
		}
		return &node{op: opExists, typ: types.BitType, sub: q, traits: hasSubquery | canFail}, nil
	case *syntax.QuantifiedCond:
		return b.quantified(c, l)
	case *syntax.UpdatedCond:
		return b.updated(c, l)
	}
	return nil, mserr.NotSupported("this kind of condition (%T)", c)
}

// negated returns n, or NOT n if isNot is set.
func negated(n *node, isNot bool) *node {
	if isNot {
		return not(n)
	}
	return n
}

// logic binds AND and OR. A chain of one operator is a left-deep tree; it becomes one node.
func (b *binder) logic(c *syntax.LogicCond, l *level) (*node, error) {
	op := opAnd
	if c.Op == syntax.OpOr {
		op = opOr
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
	args := make([]*node, len(operands))
	for i := range operands {
		n, err := b.cond(operands[len(operands)-1-i], l)
		if err != nil {
			return nil, err
		}
		args[i] = n
	}
	return build(op, types.BitType, args...), nil
}

// compare returns a comparison of two nodes. Errors: those of types.CompareType, and 468.
func compare(op string, x, y *node) (*node, error) {
	if x.deduced != nil && y.deduced != nil || op != "=" && op != "<>" {
		if err := implyOperands(x, y); err != nil {
			return nil, err
		}
	}
	x, y, err := unifyOperands(x, y, operatorNames[op])
	if err != nil {
		return nil, err
	}
	if !isNative(x.typ) {
		n, err := call(keys.Make(keys.Compare, op, keys.TypeText(x.typ)), types.BitType, x, y)
		if err == nil {
			n.traits &^= canFail
			n.traits |= x.traits | y.traits
		}
		return n, err
	}
	n := build(opCompare, types.BitType, x, y)
	n.name = op
	return n, nil
}

// isNative reports whether SQLite compares values of a type as SQL Server does, given the type's
// collation. It does not for binary values, which SQL Server pads with zeros to the same length,
// nor for sql_variant, whose values contain their type.
func isNative(t types.Type) bool {
	return t.ID != types.VarBinary && t.ID != types.Variant && t.ID != types.Image
}

// distinct binds IS [NOT] DISTINCT FROM.
func (b *binder) distinct(c *syntax.DistinctCond, l *level) (*node, error) {
	xs, err := b.exprs([]syntax.Expr{c.X, c.Y}, l)
	if err != nil {
		return nil, err
	}
	return distinctFrom(xs[0], xs[1], c.Not)
}

// distinctFrom returns x IS [NOT] DISTINCT FROM y.
func distinctFrom(x, y *node, negate bool) (*node, error) {
	x, y, err := unifyOperands(x, y, "is distinct from")
	if err != nil {
		return nil, err
	}
	if !isNative(x.typ) {
		same, err := compare("=", x, y)
		if err != nil {
			return nil, err
		}
		both := and(isNull(x), isNull(y))
		is := caseOf(
			types.BitType,
			[]*node{both, same},
			[]*node{
				constant(int64(1), types.BitType),
				constant(int64(1), types.BitType),
				constant(int64(0), types.BitType),
			},
		)
		r := build(opCompare, types.BitType, is, constant(keys.BoolValue(negate), types.BitType))
		r.name = "="
		return r, nil
	}
	n := build(opDistinct, types.BitType, x, y)
	n.name, n.null = "IS NOT", false
	if negate {
		n.name = "IS"
	}
	return n, nil
}

// between binds BETWEEN as x >= low AND x <= high.
func (b *binder) between(c *syntax.BetweenCond, l *level) (*node, error) {
	xs, err := b.exprs([]syntax.Expr{c.X, c.Low, c.High}, l)
	if err != nil {
		return nil, err
	}
	low, err := compare(">=", xs[0], xs[1])
	if err != nil {
		return nil, err
	}
	high, err := compare("<=", xs[0], xs[2])
	if err != nil {
		return nil, err
	}
	return negated(and(low, high), c.Not), nil
}

// like binds LIKE. Operands of other types are converted to character types.
func (b *binder) like(c *syntax.LikeCond, l *level) (*node, error) {
	list := []syntax.Expr{c.X, c.Pattern}
	if c.Escape != nil {
		list = append(list, c.Escape)
	}
	xs, err := b.exprs(list, l)
	if err != nil {
		return nil, err
	}
	padded := true
	if err := implyOperands(xs[0], xs[1]); err != nil {
		return nil, err
	}
	for i, x := range xs {
		if !x.typ.IsCharacter() {
			if x.typ.ID == types.Image || x.typ.ID == types.XML || x.typ.ID == types.Variant {
				return nil, mserr.InvalidArgumentType(x.typ.Name(), i+1, "like")
			}
			if xs[i], err = convertImplicit(x, types.VarCharOf(max(x.typ.DisplayLength(), 1))); err != nil {
				return nil, err
			}
		}
		padded = padded && !x.typ.IsUnicode()
	}
	coll, err := collationOf("like", xs[0], xs[1])
	if err != nil {
		return nil, err
	}
	blanks := "0"
	if padded {
		blanks = "1"
	}
	n, err := call(keys.Make(keys.Like, strconv.Itoa(int(coll)), blanks), types.BitType, xs...)
	if err != nil {
		return nil, err
	}
	return negated(n, c.Not), nil
}

// inList binds IN with a list of expressions, which are converted to one type.
func (b *binder) inList(c *syntax.InCond, l *level) (*node, error) {
	xs, err := b.exprs(append([]syntax.Expr{c.X}, c.List...), l)
	if err != nil {
		return nil, err
	}
	x, err := inValues(xs)
	if err != nil {
		return nil, err
	}
	return negated(x, c.Not), nil
}

// inValues returns "xs[0] IN (xs[1:])".
func inValues(xs []*node) (*node, error) {
	for _, y := range xs[1:] {
		if _, err := types.CompareType(xs[0].typ, y.typ, "equal to"); err != nil {
			return nil, err
		}
	}
	coll, err := collationOf("equal to", xs...)
	if err != nil {
		return nil, err
	}
	t, _, err := unify("equal to", xs)
	if err != nil {
		return nil, err
	}
	if !isNative(t) || t.ID == types.DateTimeOffset {
		var comparisons []*node
		for _, y := range xs[1:] {
			e, err := compare("=", xs[0], y)
			if err != nil {
				return nil, err
			}
			comparisons = append(comparisons, e)
		}
		return build(opOr, types.BitType, comparisons...), nil
	}
	if t.IsCharacter() {
		t = xs[0].typ
		t.Collation = coll
		xs[0] = xs[0].retyped(t)
	}
	return build(opIn, types.BitType, xs...), nil
}

// oneColumn binds a subquery that must have one column. Error 116 if it has several.
func (b *binder) oneColumn(q *syntax.Query, l *level) (*query, error) {
	sub, err := b.subquery(q, l, false)
	if err != nil {
		return nil, err
	}
	if len(sub.cols) != 1 {
		return nil, mserr.SubqueryColumns()
	}
	return sub, nil
}

// operandAndColumn binds the operand and the subquery of IN, ANY and ALL.
func (b *binder) operandAndColumn(e syntax.Expr, q *syntax.Query, l *level) (*node, *query, error) {
	x, err := b.expr(e, l)
	if err != nil {
		return nil, nil, err
	}
	sub, err := b.oneColumn(q, l)
	return x, sub, err
}

// inQuery binds IN (subquery).
func (b *binder) inQuery(c *syntax.InCond, l *level) (*node, error) {
	x, sub, err := b.operandAndColumn(c.X, c.Query, l)
	if err != nil {
		return nil, err
	}
	n, err := againstQuery(opInQuery, "=", x, sub)
	if err != nil {
		return nil, err
	}
	return negated(n, c.Not), nil
}

// againstQuery compares a value with the rows of a subquery of one column.
func againstQuery(op opcode, operator string, x *node, sub *query) (*node, error) {
	y := &node{op: opField, typ: sub.cols[0].typ, label: sub.cols[0].label, null: true}
	x, y, err := unifyOperands(x, y, operatorNames[operator])
	if err != nil {
		return nil, err
	}
	if sub, err = sub.converted([]types.Type{y.typ}); err != nil {
		return nil, err
	}
	if !isNative(x.typ) && x.typ.ID != types.Variant {
		return nil, mserr.NotSupported("IN, ANY and ALL over a subquery of type %s", x.typ.Name())
	}
	n := build(op, types.BitType, x)
	n.name, n.sub, n.null = operator, sub, true
	n.traits |= hasSubquery | canFail
	return n, nil
}

// quantified binds ANY and ALL.
func (b *binder) quantified(c *syntax.QuantifiedCond, l *level) (*node, error) {
	x, sub, err := b.operandAndColumn(c.X, c.Query, l)
	if err != nil {
		return nil, err
	}
	op := compareOps[c.Op]
	switch {
	case c.All && op == "<>":
		n, err := againstQuery(opInQuery, "=", x, sub)
		if err != nil {
			return nil, err
		}
		return not(n), nil
	case c.All:
		return againstQuery(opAll, op, x, sub)
	case op == "=":
		return againstQuery(opInQuery, op, x, sub)
	}
	return againstQuery(opAny, op, x, sub)
}

// scalarSubquery binds a subquery used as a value. Error 116 if the subquery has several columns.
func (b *binder) scalarSubquery(q *syntax.Query, l *level) (*node, error) {
	sub, err := b.oneColumn(q, l)
	if err != nil {
		return nil, err
	}
	if err := checkColumnCollations(sub); err != nil {
		return nil, err
	}
	c := sub.cols[0]
	return &node{
		op:        opScalar,
		typ:       c.typ,
		null:      true,
		label:     c.label,
		sub:       sub,
		singleRow: sub.isSingleRow(),
		traits:    hasSubquery | canFail,
	}, nil
}
