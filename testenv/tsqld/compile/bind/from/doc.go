// Package from binds FROM clauses: tables, views, common table expressions, derived tables,
// functions of rows, joins, APPLY and PIVOT.
//
//	syntax.TableSource ── [Binder.TableSource] ─┬─ a tree.Source, exposed in the names.Level
//	                                            └─ a tree.Join of two
//	FROM of UPDATE and DELETE, and USING of MERGE, are bound in the same way.
//
// SQLite has no lateral subqueries: apply.go turns APPLY into a join, or into rows that a function
// decodes.
package from
