// Package controldb is the only access to the control database from Go. It and the packages below
// it have one method for each procedure and view that Go code uses: here are the connections, the
// agent's protocol, and what more than one kind of caller uses.
//
// Vocabulary. A term is one period of work of an agent; every write of task state names its term. A
// task is one attempt on one target, or one resolution of a target group; exactly one term holds
// it. A pass is one call of the procedure controller_pass, which advances executions and claims
// tasks. The package sqlfs (folder sql) has the tables and procedures, and its DESIGN.md their
// locking.
//
// Common mistakes. Nothing is decided here: a method sends its arguments to a procedure and scans
// the result, so a missing rule belongs in a procedure. An argument that is not given (nil, or the
// zero value where a comment says so) is not sent, so the procedure's default applies.
//
// Errors. The package dberror says what an error means. This package does not log, and no error
// contains a secret.
package controldb
