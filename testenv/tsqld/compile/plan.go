package compile

import (
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Statement is one SQLite statement and where its parameters ?1, ?2... come from.
type Statement struct {
	SQL    string
	Params []Param
}

// Args evaluates the parameters. run gives what belongs to the execution of a DML plan and may be nil
// for queries.
func (s *Statement) Args(f Frame, run *Run) ([]types.Value, error) {
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

// Run is what the interpreter knows about one execution of a DML plan.
type Run struct {
	// Identity is the identity value of the first row to insert; see [DML.Identity].
	Identity int64
	// IntoIdentity is that of the first row that OUTPUT INTO inserts; see [DML.IntoIdentity].
	IntoIdentity int64
	// Row is the row to insert; see [Compiler.InsertRows].
	Row []types.Value
}

// Param is a parameter of a Statement: an expression without rows, or a value of the execution.
type Param struct {
	Type types.Type
	node *node
}

// Value computes the parameter. Errors are those of the expression.
func (p *Param) Value(f Frame, run *Run) (types.Value, error) {
	if p.node.traits&hasRun != 0 {
		f = runFrame{f, run}
	}
	return p.node.eval(f, nil)
}

// runFrame is a frame during the execution of a DML plan.
type runFrame struct {
	Frame
	run *Run
}

// Needs is what must be in place before the statements of a plan run.
type Needs struct {
	// Databases are those to attach, by id, and the snapshots by which they were bound. The current
	// database is among Snapshots even when it is not attached, since names were looked up there.
	Databases []int
	Snapshots []*catalog.Database
	// Local are the temporary tables and table variables that were bound.
	Local []*catalog.Table
	// System are the system row sets to materialise as temporary tables.
	System []SystemRef
	// Uses are the securables whose permissions the session needs. Objects reached through a view or
	// function of the same owner are not among them.
	Uses []Use
	// Locks says that the statement asked for locks (UPDLOCK, XLOCK, TABLOCKX, HOLDLOCK, SERIALIZABLE, REPEATABLEREAD).
	Locks bool
	// Past are the databases with tables that the statement reads WITH (READPAST): it does not wait for their locks.
	Past       []int
	otherLocks bool // a source without READPAST asks for locks
	// Skips says that the sources with READPAST are empty in this plan, which takes no locks to read.
	Skips bool
	// Sequences says that the statement draws from sequences, which writes to their databases.
	Sequences bool
	// Volatile says that compiling again may give another plan although nothing of the above has changed.
	Volatile bool
}

// SystemRef is a system row set of a database, which SQL knows as the temporary table Temp.
type SystemRef struct {
	Database *catalog.Database
	Table    *catalog.SystemTable
	Temp     string
}

// Use is a permission that a statement needs.
type Use struct {
	Database   *catalog.Database
	Object     catalog.Object
	Permission string // SELECT, INSERT, UPDATE, DELETE, EXECUTE
}

// Plan is a compiled query.
type Plan struct {
	Statement
	Needs
	// Columns are the result columns, which SQL yields in this order. Empty for a query that assigns.
	Columns []types.Column
	// Assign is set for SELECT @a = …: no rows go to the client; Assign is called for each.
	Assign []Assign
	// Into is set for SELECT … INTO: the interpreter makes the table from Columns, then compiles the
	// query again by [Compiler.SelectInto].
	Into *Into
	// Chunks says that the single text column is the document of FOR JSON or FOR XML, which goes to the client
	// in rows of 2033 characters. A NULL document (no rows) is no row at all.
	Chunks bool
	// PastPlan is what to run when the locks of Past cannot be had; nil when the statement has to wait.
	PastPlan *Plan
}

// Into is the target of SELECT … INTO.
type Into struct {
	Database *catalog.Database // nil: a temporary table
	Schema   string
	Name     string
	// Identity is the IDENTITY property that a column inherits, by column; nil for none.
	Identity []*catalog.Identity
	// Nullable columns are marked in Plan.Columns.
}

// Assign is one assignment of a SELECT @a = ….
type Assign struct {
	Variable string // as written
	Type     types.Type
	node     *node
}

// Value computes what to assign from a row of the plan; the frame must show the assignments already
// made for this row and those before. The result is in the variable's type.
func (a *Assign) Value(f Frame, row []types.Value) (types.Value, error) {
	return a.node.eval(f, row)
}

// Scalar is a compiled scalar expression or condition.
type Scalar struct {
	Type types.Type
	// Plan is set when the expression needs SQLite: its value is the first column of the only row.
	Plan *Plan
	// Uses and Snapshots are those of [Needs] where Plan is nil: a call of a function needs permission, too.
	Uses      []Use
	Snapshots []*catalog.Database
	node      *node
}

// Value evaluates an expression that needs no SQLite (Plan is nil).
func (s *Scalar) Value(f Frame) (types.Value, error) { return s.node.eval(f, nil) }
