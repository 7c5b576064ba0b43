package compile

import (
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Deduction collects the types that statements imply for parameters without a declaration
// (documentation of sp_describe_undeclared_parameters, "Parameter Selection Algorithm"). A
// parameter has no type until the statement that uses it is compiled.
type Deduction struct {
	params map[string]*Deduced // by folded name
}

// Deduced is a parameter without a declaration.
type Deduced struct {
	Name    string
	Type    types.Type // the zero type if nothing implies a type
	Formal  string     // name of the parameter of a function to which it is passed; "" for none
	general bool       // the type is one of the general types
}

// NewDeduction returns a deduction for parameters.
func NewDeduction(params []*Deduced) *Deduction {
	d := &Deduction{params: map[string]*Deduced{}}
	for _, p := range params {
		d.params[catalog.Fold(p.Name)] = p
	}
	return d
}

// Deducing returns a compiler that accepts the parameters of d and notes their types. Its plans
// must not run.
func (c *Compiler) Deducing(d *Deduction) *Compiler {
	r := *c
	r.deduction = d
	return &r
}

// variable returns the node of a parameter without a declaration, or nil.
func (d *Deduction) variable(name string) *node {
	if d == nil {
		return nil
	}
	p := d.params[catalog.Fold(name)]
	if p == nil {
		return nil
	}
	return &node{op: opVar, typ: types.NullType, null: true, name: name, traits: hasVar, deduced: p}
}

// imply notes that a value is converted to a type. Only the first conversion counts, which is that
// of the innermost expression.
func (n *node) imply(t types.Type) {
	d := n.deduced
	if d == nil || d.Type.ID != 0 || t.ID == types.Null {
		return
	}
	if d.general {
		t = generalType(t)
	}
	d.Type = t
}

// implyGeneral notes that a value is an operand beside one of a type, where any type that fits is
// possible.
func (n *node) implyGeneral(t types.Type) {
	if n.deduced == nil {
		return
	}
	if t.ID == types.Null { // "given a query SELECT NULL + @p, int is chosen"
		t = types.IntType
	}
	n.deduced.general = true
	n.imply(t)
}

// implyOperands notes the types of the operands of an operator other than = and <>. Error 11503 if
// both are parameters without a type.
func implyOperands(x, y *node) error {
	if x.deduced != nil && y.deduced != nil {
		return mserr.UntypedParameters(x.deduced.Name, y.deduced.Name)
	}
	x.implyGeneral(y.typ)
	y.implyGeneral(x.typ)
	return nil
}

// assignedTo returns the value of an assignment to a variable. The type of a parameter without a
// declaration is that of the value.
func assignedTo(v, n *node) (*node, error) {
	if v.deduced == nil {
		return convertImplicit(n, v.typ)
	}
	v.imply(n.typ)
	return n, nil
}

// refuseUntyped returns error 11502 if an argument of a built-in function is a parameter without a
// type: the candidates for the type are not tried.
func refuseUntyped(args []*node) error {
	for _, n := range args {
		if n.deduced != nil && n.typ.ID == types.Null {
			return mserr.TypeNotDeduced(n.deduced.Name)
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
