// Package bind turns T-SQL's queries and expressions into the bound tree: it resolves names against
// the catalog, gives every expression a type, makes each conversion explicit, and notes what the
// statement needs to run.
//
//	SELECT: syntax.Query ── [Binder.Query] ──┬─ FROM:  Binder.From, a [Level] of sources
//	                                         ├─ items: Binder.Expr, Binder.Cond (package expr)
//	                                         └─ tree.Query; b.Needs: databases, permissions, locks
//	UPDATE: package dml binds the target, and calls [Binder.Expr] for the values, [Binder.Cond] for
//	        WHERE and [Binder.From] for FROM, in one Level
//
// A [Binder] binds one statement. Views and functions are bound in the [Place] of their database
// and schema.
package bind
