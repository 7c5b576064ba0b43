package module

import (
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// Declarations are the variables that the statements of a batch or module declare.
type Declarations struct {
	List  []*syntax.VarDecl       // in source order
	Index map[*syntax.VarDecl]int // index of each in List; nil without any
}

// Check finds the errors that SQL Server reports before the first statement of a batch or module
// runs: variables declared twice (134) or used before their declaration (137, 1087), temporary
// tables created twice (2714), RETURN with a value (178) unless mayReturn is set. tableVar is the
// result variable of a table-valued function, or "". A nil meter counts nothing.
func Check(m *meter.Meter, params []*syntax.Param, tableVar string, mayReturn bool, body []syntax.Stmt) (*Declarations, error) {
	c := checker{meter: m, known: map[string]bool{}, temps: map[string]bool{}, mayReturn: mayReturn}
	for _, p := range params {
		key := catalog.Fold(p.Name)
		if c.known[key] {
			return nil, failure.At(mserr.DuplicateVariable(p.Name), p)
		}
		c.known[key] = true
	}
	if tableVar != "" {
		c.known[catalog.Fold(tableVar)] = true
	}
	for _, st := range body {
		syntax.Inspect(st, c.visit)
		if c.err != nil {
			return nil, c.err
		}
	}
	return &c.found, nil
}

// NodeWork is the cost of visiting a node, in steps of [meter.Meter.Work].
const NodeWork = 100

// checker visits the nodes of statements in source order.
type checker struct {
	found Declarations
	meter *meter.Meter
	known map[string]bool // folded names of declared variables
	temps map[string]bool // folded names of created temporary tables
	err   error

	mayReturn bool // RETURN may have a value
}

// visit checks one node and reports whether to visit its children.
func (c *checker) visit(n syntax.Node) bool {
	if c.err != nil || n == nil {
		return false
	}
	if c.err = c.meter.Work(NodeWork); c.err != nil {
		return false
	}
	switch n := n.(type) {
	case *syntax.CreateProcedureStmt, *syntax.CreateFunctionStmt, *syntax.CreateViewStmt, *syntax.CreateTriggerStmt:
		return false // a separate unit
	case *syntax.DeclareStmt:
		for _, d := range n.Vars {
			if d.Init != nil {
				syntax.Inspect(d.Init, c.visit)
			}
			c.declare(d)
		}
		return false
	case *syntax.CreateTableStmt:
		c.create(n, n.Name)
	case *syntax.Select:
		if n.Into != nil {
			c.create(n, n.Into)
		}
	case *syntax.VarRef:
		if c.use(n, n.Name); c.err != nil {
			c.err = failure.At(mserr.UndeclaredOperand(n.Name), n)
		}
	case *syntax.TableVar:
		if !c.known[catalog.Fold(n.Name)] {
			c.err = failure.At(mserr.UndeclaredTableVariable(n.Name), n)
		}
	case *syntax.ReturnStmt:
		if n.Value != nil && !c.mayReturn {
			c.err = failure.At(mserr.ReturnWithValue(), n)
		}
	case *syntax.SetVarStmt:
		c.use(n, n.Name)
	case *syntax.SelectAssign:
		c.use(n, n.Var)
	case *syntax.SetClause:
		c.use(n, n.Var)
	case *syntax.ExecStmt:
		c.use(n, n.ReturnVar)
		c.use(n, n.ModuleVar)
	case *syntax.FetchStmt:
		for _, v := range n.Into {
			c.use(n, v)
		}
	case *syntax.CursorRef:
		if n.Name != "" && n.Name[0] == '@' {
			c.use(n, n.Name)
		}
	}
	return c.err == nil
}

// declare adds a variable.
func (c *checker) declare(d *syntax.VarDecl) {
	key := catalog.Fold(d.Name)
	if c.err != nil {
		return
	}
	if c.known[key] {
		c.err = failure.At(mserr.DuplicateVariable(d.Name), d)
		return
	}
	c.known[key] = true
	if c.found.Index == nil {
		c.found.Index = map[*syntax.VarDecl]int{}
	}
	c.found.Index[d] = len(c.found.List)
	c.found.List = append(c.found.List, d)
}

// create checks that only one statement creates a temporary table.
func (c *checker) create(n syntax.Node, name *syntax.ObjectName) {
	if !catalog.IsLocalTemp(name.Last()) {
		return
	}
	key := catalog.Fold(name.Last())
	if c.temps[key] {
		c.err = failure.At(mserr.ObjectExists(name.Last()), n)
	}
	c.temps[key] = true
}

// use checks that a variable is declared. An empty name means no variable.
func (c *checker) use(n syntax.Node, name string) {
	if name != "" && c.err == nil && !c.known[catalog.Fold(name)] {
		c.err = failure.At(mserr.UndeclaredVariable(name), n)
	}
}

// MaxParameters is "Parameters per stored procedure" in SQL Server's maximum capacity
// specifications.
const MaxParameters = 2100
