package tree

import (
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
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
	General bool       // the type is one of the general types
}

// NewDeduction returns a deduction for parameters.
func NewDeduction(params []*Deduced) *Deduction {
	d := &Deduction{params: map[string]*Deduced{}}
	for _, p := range params {
		d.params[catalog.Fold(p.Name)] = p
	}
	return d
}

// Variable returns the node of a parameter without a declaration, or nil.
func (d *Deduction) Variable(name string) *Node {
	if d == nil {
		return nil
	}
	p := d.params[catalog.Fold(name)]
	if p == nil {
		return nil
	}
	return &Node{Op: OpVar, Type: types.NullType, Null: true, Name: name, Traits: HasVar, Deduced: p}
}
