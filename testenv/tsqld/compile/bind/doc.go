// Package bind turns T-SQL's queries into the bound tree: it resolves names against the catalog,
// gives every expression a type, makes each conversion explicit, and notes what the statement needs
// to run.
//
//	SELECT: syntax.Query ── [Binder.Query] ──┬─ FROM:  Binder.From (package from)
//	                                         ├─ items: Binder.Expr, Binder.Cond (package scalar)
//	                                         └─ tree.Query; b.Needs (package names)
//	UPDATE: package dml binds the target, and calls Binder.Expr for the values, Binder.Cond for
//	        WHERE and Binder.From for FROM, in one names.Level
//
// A [Binder] binds one statement. It embeds the binder of FROM, which embeds the binder of
// expressions, which embeds the resolver of names.
package bind
