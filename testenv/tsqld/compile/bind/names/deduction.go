package names

import (
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Deduction collects the types that statements imply for parameters without a declaration
// (documentation of sp_describe_undeclared_parameters, "Parameter Selection Algorithm"). A
// parameter has no type until the statement that uses it is compiled.
type Deduction struct {
	params map[string]*tree.Deduced // by folded name
}

// NewDeduction returns a deduction for parameters.
func NewDeduction(params []*tree.Deduced) *Deduction {
	d := &Deduction{params: map[string]*tree.Deduced{}}
	for _, p := range params {
		d.params[catalog.Fold(p.Name)] = p
	}
	return d
}

// Variable returns the node of a parameter without a declaration, or nil.
func (d *Deduction) Variable(name string) *tree.Node {
	if d == nil {
		return nil
	}
	p := d.params[catalog.Fold(name)]
	if p == nil {
		return nil
	}
	return &tree.Node{Op: tree.OpVar, Type: types.NullType, Null: true, Name: name, Traits: tree.HasVar, Deduced: p}
}
