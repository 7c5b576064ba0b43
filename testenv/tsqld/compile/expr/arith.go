package expr

import (
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// ArithOps maps the parser's arithmetic operators.
var ArithOps = map[syntax.Op]types.Op{
	syntax.OpAdd: types.Add, syntax.OpSub: types.Sub, syntax.OpMul: types.Mul, syntax.OpDiv: types.Div,
	syntax.OpMod: types.Mod, syntax.OpBitAnd: types.BitAnd, syntax.OpBitOr: types.BitOr, syntax.OpBitXor: types.BitXor,
}

// asDecimal converts an integer constant to a decimal of the minimal precision if the other operand
// is a decimal, as arithmetic requires ("Precision, scale, and length"). Other nodes are returned
// unchanged.
func asDecimal(n, other *tree.Node) *tree.Node {
	v, ok := n.Value.(int64)
	if n.Op != tree.OpConst || !ok || !n.Type.IsInteger() || n.Type.ID == types.Bit || other.Type.ID != types.Decimal {
		return n
	}
	digits := len(strings.TrimPrefix(strconv.FormatInt(v, 10), "-"))
	return tree.Constant(v, types.Type{ID: types.Decimal, Precision: uint8(digits), Numeric: true})
}

// Arith returns "x op y".
func Arith(op types.Op, x, y *tree.Node) (*tree.Node, error) {
	if err := ImplyOperands(x, y); err != nil {
		return nil, err
	}
	if op < types.BitAnd {
		x, y = asDecimal(x, y), asDecimal(y, x)
	}
	same, err := UnifyCodePages(x, y)
	if err != nil {
		return nil, err
	}
	x, y = same[0], same[1]
	t, err := types.ArithType(op, x.Type, y.Type)
	if err != nil {
		return nil, err
	}
	own := tree.LabelCoercible
	if t.IsString() {
		if t.Collation, own, err = Combine(op.String(), x, y); err != nil {
			return nil, err
		}
	}
	if op == types.Add && t.IsString() {
		tx, ty := types.OperandTypes(op, x.Type, y.Type, t)
		if t.Length == types.Max ||
			tx.Length != types.Max && ty.Length != types.Max && tx.Length+ty.Length <= t.Length {
			if x, err = ConvertOperand(x, tx); err != nil {
				return nil, err
			}
			if y, err = ConvertOperand(y, ty); err != nil {
				return nil, err
			}
			return Fold(tree.Build(tree.OpConcat, t, x, y).Labeled(own), nil)
		}
	}
	n, err := tree.Call(keys.Make(keys.Arith, strconv.Itoa(int(op)), keys.TypeText(x.Type), keys.TypeText(y.Type), keys.TypeText(t)), t, x, y)
	if err != nil {
		return nil, err
	}
	return Fold(n.Labeled(own), nil)
}
