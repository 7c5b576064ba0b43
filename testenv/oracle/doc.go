// Package oracle says once more what the procedures of the control database decide about
// executions: which lifecycle may follow which, what a parent's lifecycle is, and what follows a
// failed attempt.
//
// The package is plain Go, small enough to be enumerated. Tests hold the procedures against it: the
// model of testenv/sim aggregates and changes lifecycles with it, and controldb compares the waits
// between attempts.
//
// Common mistakes: using the package in the product. Only the database sees all agents at once, and
// only its clock may be stored, so production decides in T-SQL (folder sql) alone.
package oracle
