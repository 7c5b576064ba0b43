// Package scalar binds T-SQL's expressions and conditions: operators, calls of functions,
// aggregates and methods of xml.
//
//	SELECT: each item ── [Binder.Expr] ─┬─ names of columns, variables, types (package names)
//	        WHERE ───── [Binder.Cond] ──┼─ bound operands to a typed node (package expr)
//	UPDATE: the same for SET and WHERE  └─ subqueries ── [Queries], which package bind implements
package scalar
