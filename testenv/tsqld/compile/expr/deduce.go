package expr

import (
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// imply notes that a value is converted to a type. Only the first conversion counts, which is that
// of the innermost expression.
func imply(n *tree.Node, t types.Type) {
	d := n.Deduced
	if d == nil || d.Type.ID != 0 || t.ID == types.Null {
		return
	}
	if d.General {
		t = generalType(t)
	}
	d.Type = t
}

// implyGeneral notes that a value is an operand beside one of a type, where any type that fits is
// possible.
func implyGeneral(n *tree.Node, t types.Type) {
	if n.Deduced == nil {
		return
	}
	if t.ID == types.Null { // "given a query SELECT NULL + @p, int is chosen"
		t = types.IntType
	}
	n.Deduced.General = true
	imply(n, t)
}

// ImplyOperands notes the types of the operands of an operator other than = and <>. Error 11503 if
// both are parameters without a type.
func ImplyOperands(x, y *tree.Node) error {
	if x.Deduced != nil && y.Deduced != nil {
		return mserr.UntypedParameters(x.Deduced.Name, y.Deduced.Name)
	}
	implyGeneral(x, y.Type)
	implyGeneral(y, x.Type)
	return nil
}

// AssignedTo returns the value of an assignment to a variable. The type of a parameter without a
// declaration is that of the value.
func AssignedTo(v, n *tree.Node) (*tree.Node, error) {
	if v.Deduced == nil {
		return ConvertImplicit(n, v.Type)
	}
	imply(v, n.Type)
	return n, nil
}

// RefuseUntyped returns error 11502 if an argument of a built-in function is a parameter without a
// type: the candidates for the type are not tried.
func RefuseUntyped(args []*tree.Node) error {
	for _, n := range args {
		if n.Deduced != nil && n.Type.ID == types.Null {
			return mserr.TypeNotDeduced(n.Deduced.Name)
		}
	}
	return nil
}

// generalType returns the candidate of the general deduction for a type. "Other string data types
// are not considered", and neither are other decimal, binary, date and time types.
func generalType(t types.Type) types.Type {
	r := t
	switch t.ID {
	case types.Char, types.VarChar:
		r = types.VarCharOf(8000)
	case types.NChar, types.NVarChar:
		r = types.NVarCharOf(4000)
	case types.Text:
		r = types.VarCharMax
	case types.NText:
		r = types.NVarCharMax
	case types.Binary, types.VarBinary, types.RowVersion:
		r = types.VarBinaryOf(8000)
	case types.Image:
		r = types.VarBinaryMax
	case types.Decimal:
		r.Precision, r.Scale = 38, 19
	case types.Time, types.DateTime2, types.DateTimeOffset:
		r.Scale = 7
	}
	if t.IsMax() {
		r.Length = types.Max
	}
	r.Collation = t.Collation
	return r
}
