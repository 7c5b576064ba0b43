// Package lower writes the bound tree as SQLite's SQL.
//
// It uses SQLite's own operators and functions where they return exactly SQL Server's result
// (native.go), and otherwise calls fn, fnv, agg or rowset with a key. An expression that reads no
// row becomes a parameter, which is computed before the statement runs.
//
//	SELECT: tree.Query ── [Plan] ── SQL and parameters of a plan.Plan
//	UPDATE: package dml writes UPDATE … SET …, and calls [Renderer.Node] for each value and
//	        [Renderer.Query] for the rows; [Renderer.Statement] returns a statement of a plan.DML
//	CHECK:  tree.Node ── [Check] ── SQL without parameters
package lower
