package compile

import (
	"github.com/jobagent/jobagent/testenv/tsqld/builtin"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/names"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/dml"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/eval"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// The results of a [Compiler] and what their execution needs, which the packages below this one
// declare.
type (
	// Plan is a compiled query.
	Plan = plan.Plan
	// Statement is one SQLite statement with its parameters.
	Statement = plan.Statement
	// Param is a parameter of a Statement.
	Param = plan.Param
	// Needs lists the preconditions of running a plan's statements.
	Needs = plan.Needs
	// SystemRef is a system row set that a statement reads.
	SystemRef = plan.SystemRef
	// Use is a permission that a statement needs.
	Use = plan.Use
	// Into is the target of SELECT … INTO.
	Into = plan.Into
	// Assign is one assignment of a SELECT @a = ….
	Assign = plan.Assign
	// Scalar is a compiled expression or condition.
	Scalar = plan.Scalar
	// DML is a compiled INSERT, UPDATE, DELETE or MERGE.
	DML = plan.DML
	// Rows describes the rows of [Compiler.InsertRows].
	Rows = dml.Rows
	// Spool is the temporary table of a DML.
	Spool = plan.Spool
	// IdentityNeed describes the identity values that a DML takes.
	IdentityNeed = plan.IdentityNeed
	// Instead is an INSTEAD OF trigger that runs in place of a change.
	Instead = plan.Instead
	// Position describes a change WHERE CURRENT OF.
	Position = plan.Position
	// CursorPlan is the plan of one step of a cursor.
	CursorPlan = plan.CursorPlan
	// CursorTable is a table whose rows a cursor returns.
	CursorTable = plan.CursorTable
	// CursorUse is the request for a plan of a cursor.
	CursorUse = plan.CursorUse
	// CursorKind tells which changes of the tables a cursor shows.
	CursorKind = plan.CursorKind
	// CursorStep is the part of a cursor's rows that a plan reads.
	CursorStep = plan.CursorStep
	// CursorPart limits a step to some of the rows.
	CursorPart = plan.CursorPart
	// Scope is the compiler's view of a session.
	Scope = names.Scope
	// Frame is the view that expressions have of a session at run time.
	Frame = eval.Frame
	// Run holds the values that the interpreter supplies for one execution of a plan.
	Run = tree.Run
	// Deduction collects the types of parameters without a declaration.
	Deduction = names.Deduction
	// Deduced is a parameter without a declaration.
	Deduced = tree.Deduced
)

// The kinds of cursors; see [plan.CursorKind].
const (
	CursorStatic  = plan.CursorStatic
	CursorKeyset  = plan.CursorKeyset
	CursorDynamic = plan.CursorDynamic
)

// The steps of a cursor; see [plan.CursorStep].
const (
	CursorOpen    = plan.CursorOpen
	CursorFirst   = plan.CursorFirst
	CursorLast    = plan.CursorLast
	CursorNext    = plan.CursorNext
	CursorPrior   = plan.CursorPrior
	CursorCurrent = plan.CursorCurrent
)

// The parts of a step; see [plan.CursorPart].
const (
	CursorWhole     = plan.CursorWhole
	CursorValues    = plan.CursorValues
	CursorNulls     = plan.CursorNulls
	CursorAllValues = plan.CursorAllValues
	CursorAllNulls  = plan.CursorAllNulls
)

// Limits of SQLite: tables in one FROM clause, and columns in one select list.
const (
	MaxTables   = names.MaxTables
	MaxElements = names.MaxElements
)

// The keys of the interpreter's functions; see [keys.LocalFunction].
const (
	LocalFunction      = keys.LocalFunction
	LocalTableFunction = keys.LocalTableFunction
	LocalSequence      = keys.LocalSequence
	LocalIdentity      = keys.LocalIdentity
	LocalRowVersion    = keys.LocalRowVersion
)

// Functions returns the resolver of all keys in the compiler's SQL, for store.Config. One resolver
// can be shared by several stores.
func Functions() *store.Functions { return keys.Functions() }

// EnvFunc returns the function of the session with a key, bound to an environment, or nil for keys
// of other kinds. The resolver passed to store.Conn.SetLocal must call it first.
func EnvFunc(env builtin.Env, key string) (store.Func, error) { return keys.EnvFunc(env, key) }

// EncodeRows encodes rows as one text, in which they pass through SQLite. [LocalTableFunction]
// returns such a text.
func EncodeRows(rows [][]types.Value) string { return keys.EncodeRows(rows) }

// StoreSQL returns SQL that converts value, itself SQL of type from, as an assignment to a column
// of type to does. table and column are for error 2628.
func StoreSQL(from, to types.Type, table, column, value string) string {
	return keys.StoreSQL(from, to, table, column, value)
}

// NewDeduction returns a deduction for parameters.
func NewDeduction(params []*Deduced) *Deduction { return names.NewDeduction(params) }
