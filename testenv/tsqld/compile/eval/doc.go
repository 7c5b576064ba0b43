// Package eval computes expressions without SQLite: those that read no rows, before a statement
// runs, and constants, while a statement is bound.
//
//	plan.Param ─┐
//	plan.Scalar ┼─ a node ─ [Node] ─ a value
//	expr.Fold ──┘              └ [Frame]: variables, the session and its functions
package eval
