package expr

import (
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Literal returns the node of a literal.
func Literal(e *syntax.Literal) (*tree.Node, error) {
	switch e.Kind {
	case syntax.NullLit:
		return tree.NullOf(types.NullType), nil
	case syntax.StringLit, syntax.NStringLit:
		t, v := types.StringLiteral(e.Text, e.Kind == syntax.NStringLit)
		return tree.Constant(v, t), nil
	case syntax.BinaryLit:
		return tree.Constant([]byte(e.Text), types.VarBinaryOf(len(e.Text))), nil
	case syntax.MoneyLit:
		return NumberLiteral("$"+e.Text, e.Text)
	case syntax.IntLit, syntax.DecimalLit, syntax.FloatLit:
		return NumberLiteral(e.Text, e.Text)
	case syntax.DateLit, syntax.TimeLit, syntax.TimestampLit:
		return Convert(tree.Constant(e.Text, types.VarCharOf(len(e.Text))), types.DateTimeType, types.NoStyle, false)
	case syntax.GUIDLit:
		return Convert(tree.Constant(e.Text, types.VarCharOf(len(e.Text))), types.GUIDType, types.NoStyle, false)
	}
	return nil, mserr.Syntax(e.Text)
}

// NumberLiteral returns the node of a number. For money, text is amount with a currency sign in
// front.
func NumberLiteral(text, amount string) (*tree.Node, error) {
	if text != amount { // money
		v, err := types.Convert(amount, types.VarCharMax, types.MoneyType, types.NoStyle)
		return tree.Constant(v, types.MoneyType), err
	}
	t, v, err := types.NumberLiteral(text)
	if err != nil {
		return nil, err
	}
	return tree.Constant(v, t), nil
}
