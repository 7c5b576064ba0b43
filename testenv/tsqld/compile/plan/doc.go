// Package plan declares what a compiled statement is: SQLite statements, the parameters to compute
// before they run ([Param.Value]), and what must be true for them to run ([Needs]). Package exec
// runs plans.
//
//	SELECT  Plan: one Statement, its Columns, and Needs
//	UPDATE  DML:  Prepare (fills the Spool) → Apply (changes the target) → Output → Finish
//
// # Common mistakes
//
// Reusing a plan without comparing [Needs].Snapshots: a plan is valid only for the catalog
// snapshots in which its names were resolved.
package plan
