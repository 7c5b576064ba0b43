// Package oracle is a second implementation of the rules by which the procedures of the control
// database change executions: the transitions between lifecycles, the lifecycle of a parent,
// the retries after a failed attempt, and what becomes of a run whose steps depend on each other.
//
// The package is plain Go, small enough for tests that enumerate all cases. Other tests compare the
// procedures with it: the model of testenv/sim changes and aggregates lifecycles with it, and
// controldb compares the waits between attempts.
//
// Common mistakes: using the package in the product. Only the database sees all agents at once, and
// only its clock may be stored, so production decides in T-SQL (folder sql) alone.
package oracle
