package plan

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/catalog/sysviews"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/eval"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Statement is one SQLite statement with its parameters ?1, ?2 and so on.
type Statement struct {
	SQL    string
	Params []Param
}

// Args evaluates the parameters. run holds the values of one execution of a DML plan and may be nil
// for queries.
func (s *Statement) Args(f eval.Frame, run *tree.Run) ([]types.Value, error) {
	if len(s.Params) == 0 {
		return nil, nil
	}
	args := make([]types.Value, len(s.Params))
	for i := range s.Params {
		v, err := s.Params[i].Value(f, run)
		if err != nil {
			return nil, err
		}
		args[i] = v
	}
	return args, nil
}

// Param is a parameter of a Statement: an expression that reads no rows, or a value of the
// execution.
type Param struct {
	Type types.Type
	Node *tree.Node
}

// Value evaluates the parameter. Errors are those of the expression.
func (p *Param) Value(f eval.Frame, run *tree.Run) (types.Value, error) {
	if p.Node.Traits&tree.HasRun != 0 {
		f = eval.RunFrame{Frame: f, Run: run}
	}
	return eval.Node(p.Node, f, nil)
}

// Needs lists the preconditions of running a plan's statements.
type Needs struct {
	// Databases are the ids of the databases to attach. Snapshots are the catalog snapshots in
	// which names were resolved; the current database is always among them, even when it is not
	// attached.
	Databases []int
	Snapshots []*catalog.Database
	// Tables is set if the statement reads a table, table variable or system view.
	Tables bool
	// Local lists the temporary tables and table variables that the statement uses.
	Local []*catalog.Table
	// System lists the system row sets to materialise as temporary tables.
	System []SystemRef
	// Uses lists the permissions that the session needs. Objects reached through a view or function
	// of the same owner are not listed.
	Uses []Use
	// Locks is set if the statement asked for locks (UPDLOCK, XLOCK, TABLOCKX, HOLDLOCK,
	// SERIALIZABLE, REPEATABLEREAD).
	Locks bool
	// ReadPast lists the databases whose tables the statement reads WITH (READPAST); the statement
	// does not wait for locks of these databases.
	ReadPast   []int
	OtherLocks bool // a source without READPAST asks for locks
	RangeLocks bool // a source asks for more than locks of its rows
	// EmptyPast is set in a plan whose sources with READPAST are empty; such a plan takes no locks
	// to read.
	EmptyPast bool
	// Sequences is set if the statement takes values from sequences, which writes to their
	// databases.
	Sequences bool
}

// Shares reports whether other sessions may write to the databases while the transaction of the
// statement is open: the statement asks at most for locks of rows that it reads WITH (READPAST).
func (n *Needs) Shares() bool { return !n.Locks || !n.OtherLocks && !n.RangeLocks }

// SystemRef is a system row set of a database. SQL refers to it as the temporary table Temp.
type SystemRef struct {
	DatabaseID int
	Table      *sysviews.SystemTable
	Temp       string
}

// Use is a permission that a statement needs. Like a SystemRef it has the ID of a database, because
// a cached plan must not keep the catalog for which it was compiled.
type Use struct {
	DatabaseID int
	Object     catalog.Object
	Permission string // SELECT, INSERT, UPDATE, DELETE, EXECUTE
}

// Plan is a compiled query.
type Plan struct {
	Statement
	Needs
	// Columns are the result columns, in the order of the SQL's columns. Empty for a query that
	// assigns variables.
	Columns []types.Column
	// Assign is set for SELECT @a = …. Such a query returns no rows to the client; each row is
	// passed to every Assign in order.
	Assign []Assign
	// Into is set for SELECT … INTO: the interpreter creates the table from Columns, then
	// compiles the query again with compile.Compiler.SelectInto.
	Into *Into
	// Chunks is set if the only column is the document of FOR JSON or FOR XML, which is sent to the
	// client in rows of 2033 characters. A NULL document (no rows) is sent as no row.
	Chunks bool
	// PastPlan is the plan to run when the locks of ReadPast are not available; nil if the
	// statement has to wait for them.
	PastPlan *Plan
}

// Into is the target of SELECT … INTO.
type Into struct {
	DatabaseID int // 0 for a temporary table
	Schema     string
	Name       string
	// Identity holds, for each column, the IDENTITY property that it inherits, or nil.
	Identity []*catalog.Identity
	// Whether a column allows NULL is in Plan.Columns.
}

// Assign is one assignment of a SELECT @a = ….
type Assign struct {
	Variable string // as written
	Type     types.Type
	Node     *tree.Node
}

// Value computes the new value of the variable from a row of the plan, in the variable's type. The
// frame must already hold the assignments of earlier rows and of earlier variables of this row.
func (a *Assign) Value(f eval.Frame, row []types.Value) (types.Value, error) {
	return eval.Node(a.Node, f, row)
}

// Scalar is a compiled scalar expression or condition.
type Scalar struct {
	Type types.Type
	// Plan is set if the expression needs SQLite: its value is the first column of the only row.
	Plan *Plan
	// Uses and Snapshots are those of [Needs], for an expression without a Plan. A function call
	// also needs permission.
	Uses      []Use
	Snapshots []*catalog.Database
	Node      *tree.Node
}

// Value evaluates an expression that does not need SQLite (Plan is nil).
func (s *Scalar) Value(f eval.Frame) (types.Value, error) { return eval.Node(s.Node, f, nil) }

// EmptyPlan returns a plan like p that returns no rows and reads no database.
func (p *Plan) EmptyPlan(columns int) *Plan {
	return &Plan{
		Statement: Statement{SQL: "SELECT NULL" + strings.Repeat(", NULL", columns-1) + " WHERE 0"},
		Needs:     Needs{Uses: p.Uses, EmptyPast: true},
		Columns:   p.Columns, Assign: p.Assign, Chunks: p.Chunks,
	}
}
