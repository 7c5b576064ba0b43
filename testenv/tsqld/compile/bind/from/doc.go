// Package from binds FROM clauses: tables, views, common table expressions, derived tables,
// functions of rows, joins, APPLY and PIVOT.
//
//	SELECT: syntax.TableSource ── [Binder.TableSource] ─┬─ a tree.Source, exposed in a names.Level
//	                                                    └─ a tree.Join of two
//	UPDATE: FROM in the same way; package dml joins the target
//
// SQLite has no lateral subqueries: apply.go turns APPLY into a join, or into rows that a function
// decodes.
package from
