package compile

import (
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/names"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/dml"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
)

// What a [Compiler] takes. Its results are types of package plan, and the functions in its SQL are
// those of package keys.
type (
	// Rows describes the rows of [Compiler.InsertRows].
	Rows = dml.Rows
	// Scope is the compiler's view of a session.
	Scope = names.Scope
	// Deduction collects the types of parameters without a declaration.
	Deduction = names.Deduction
	// Deduced is a parameter without a declaration.
	Deduced = tree.Deduced
)

// Limits of SQLite: tables in one FROM clause, and columns in one select list.
const (
	MaxTables   = names.MaxTables
	MaxElements = names.MaxElements
)

// NewDeduction returns a deduction for parameters.
func NewDeduction(params []*Deduced) *Deduction { return names.NewDeduction(params) }
