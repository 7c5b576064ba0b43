// Package scalar binds T-SQL's expressions and conditions: operators, calls of functions,
// aggregates and methods of xml.
//
//	syntax.Expr ── [Binder.Expr] ─┬─ names: columns, variables, types (package names)
//	syntax.Cond ── [Binder.Cond] ─┼─ operands to a typed node (package expr)
//	                              └─ subqueries ── [Queries], which package bind implements
package scalar
