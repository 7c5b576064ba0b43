// Package controldb is Go's only door to the control database: it installs, migrates and verifies it,
// and has one method for each procedure and view.
//
// Vocabulary. A term is one life of an agent; every write of task state names it. A task is one attempt
// on one target, or one resolution of a target group; it is held by exactly one term. A pass is the one
// hot call: it advances executions and claims tasks. See the package sqlfs (folder sql) for the tables
// and procedures, and its DESIGN.md for their locking.
//
// What a newcomer gets wrong: nothing is decided here. A method sends its arguments to a procedure and
// scans what comes back; a rule that is missing belongs into a procedure. An argument that is not given
// (nil, or the zero value where a comment says so) is not sent, so that the procedure's default holds.
//
// Errors. A number that our T-SQL throws becomes one of this package's sentinels (error_numbers.go); the
// driver's error stays in the chain. Nothing here logs, and no error holds a secret.
package controldb
