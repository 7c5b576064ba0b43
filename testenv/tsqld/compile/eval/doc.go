// Package eval computes expressions without SQLite: those that read no rows, before a statement
// runs, and constants, while a statement is bound.
//
//	SELECT … WHERE price >= @min + 1: plan.Param of @min + 1 ── [Node] ── the value of ?1
//	UPDATE … SET price = 2 * 3:       expr.Fold ── [Node] ── the constant 6
//
// A [Frame] has the variables, the session and its functions.
package eval
