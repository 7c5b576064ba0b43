package expr

import (
	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// operatorNames are the names of the comparison operators in error messages.
var operatorNames = map[string]string{
	"=":  "equal to",
	"<>": "not equal to",
	"<":  "less than",
	"<=": "less than or equal to",
	">":  "greater than",
	">=": "greater than or equal to",
}

// Negated returns n, or NOT n if isNot is set.
func Negated(n *tree.Node, isNot bool) *tree.Node {
	if isNot {
		return tree.Not(n)
	}
	return n
}

// Compare returns a comparison of two nodes. Errors: those of types.CompareType, and 468.
func Compare(op string, x, y *tree.Node) (*tree.Node, error) {
	if x.Deduced != nil && y.Deduced != nil || op != "=" && op != "<>" {
		if err := ImplyOperands(x, y); err != nil {
			return nil, err
		}
	}
	x, y, err := unifyOperands(x, y, operatorNames[op])
	if err != nil {
		return nil, err
	}
	if !IsNative(x.Type) {
		n, err := tree.Call(keys.Make(keys.Compare, op, keys.TypeText(x.Type)), types.BitType, x, y)
		if err == nil {
			n.Traits &^= tree.CanFail
			n.Traits |= x.Traits | y.Traits
		}
		return n, err
	}
	n := tree.Build(tree.OpCompare, types.BitType, x, y)
	n.Name = op
	return n, nil
}

// IsNative reports whether SQLite compares values of a type as SQL Server does, given the type's
// collation. It does not for binary values, which SQL Server pads with zeros to the same length,
// nor for sql_variant, whose values contain their type.
func IsNative(t types.Type) bool {
	return t.ID != types.VarBinary && t.ID != types.Variant && t.ID != types.Image
}

// DistinctFrom returns x IS [NOT] DISTINCT FROM y.
func DistinctFrom(x, y *tree.Node, negate bool) (*tree.Node, error) {
	x, y, err := unifyOperands(x, y, "is distinct from")
	if err != nil {
		return nil, err
	}
	if !IsNative(x.Type) {
		same, err := Compare("=", x, y)
		if err != nil {
			return nil, err
		}
		both := tree.And(tree.IsNull(x), tree.IsNull(y))
		is := CaseOf(
			types.BitType,
			[]*tree.Node{both, same},
			[]*tree.Node{
				tree.Constant(int64(1), types.BitType),
				tree.Constant(int64(1), types.BitType),
				tree.Constant(int64(0), types.BitType),
			},
		)
		r := tree.Build(tree.OpCompare, types.BitType, is, tree.Constant(types.BitOf(negate), types.BitType))
		r.Name = "="
		return r, nil
	}
	n := tree.Build(tree.OpDistinct, types.BitType, x, y)
	n.Name, n.Null = "IS NOT", false
	if negate {
		n.Name = "IS"
	}
	return n, nil
}

// InValues returns "xs[0] IN (xs[1:])".
func InValues(xs []*tree.Node) (*tree.Node, error) {
	for _, y := range xs[1:] {
		if _, err := types.CompareType(xs[0].Type, y.Type, "equal to"); err != nil {
			return nil, err
		}
	}
	coll, err := CollationOf("equal to", xs...)
	if err != nil {
		return nil, err
	}
	t, _, err := Unify("equal to", xs)
	if err != nil {
		return nil, err
	}
	if !IsNative(t) || t.ID == types.DateTimeOffset {
		var comparisons []*tree.Node
		for _, y := range xs[1:] {
			e, err := Compare("=", xs[0], y)
			if err != nil {
				return nil, err
			}
			comparisons = append(comparisons, e)
		}
		return tree.Build(tree.OpOr, types.BitType, comparisons...), nil
	}
	if t.IsCharacter() {
		t = xs[0].Type
		t.Collation = coll
		xs[0] = xs[0].Retyped(t)
	}
	return tree.Build(tree.OpIn, types.BitType, xs...), nil
}

// AgainstQuery compares a value with the rows of a subquery of one column.
func AgainstQuery(op tree.Op, operator string, x *tree.Node, sub *tree.Query) (*tree.Node, error) {
	y := &tree.Node{Op: tree.OpField, Type: sub.Columns[0].Type, Label: sub.Columns[0].Label, Null: true}
	x, y, err := unifyOperands(x, y, operatorNames[operator])
	if err != nil {
		return nil, err
	}
	if sub, err = Converted(sub, []types.Type{y.Type}); err != nil {
		return nil, err
	}
	if !IsNative(x.Type) && x.Type.ID != types.Variant {
		return nil, mserr.NotSupported("IN, ANY and ALL over a subquery of type %s", x.Type.Name())
	}
	n := tree.Build(op, types.BitType, x)
	n.Name, n.Query, n.Null = operator, sub, true
	n.Traits |= tree.HasSubquery | tree.CanFail
	return n, nil
}
