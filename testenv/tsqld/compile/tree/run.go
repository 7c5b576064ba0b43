package tree

import "github.com/jobagent/jobagent/testenv/tsqld/types"

// Run holds the values that the interpreter supplies for one execution of a DML plan.
type Run struct {
	// Identity is the identity value of the first row to insert; see plan.DML.Identity.
	Identity int64
	// IntoIdentity is the identity value of the first row that OUTPUT INTO inserts; see
	// plan.DML.IntoIdentity.
	IntoIdentity int64
	// Row is the row to insert; see compile.Compiler.InsertRows. It is also the place of a
	// cursor's row (plan.CursorPlan), and the identity of the row of WHERE CURRENT OF
	// (plan.Position).
	Row []types.Value
	// Skip is the number of rows that a step of a dynamic cursor skips.
	Skip int64
}
