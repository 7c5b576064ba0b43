// Package change applies the plans of INSERT, UPDATE, DELETE, MERGE and bulk loads: it runs the
// SQLite statements of a plan atomically, takes identity values and values of sequences, returns
// the rows of OUTPUT, and finds SQL Server's message for a constraint error of SQLite.
//
// An [Executor] belongs to one request. Package exec compiles the statements and implements
// [Interpreter]:
//
//	n, err := x.Change(p, nil)        // a statement; row is the identity of WHERE CURRENT OF
//	n, err := x.Insert(p, rows)       // the rows of INSERT … EXEC
//	n, err := x.Load(bulk, p, next)   // the rows of a bulk load
//	n, err := x.Apply(p, nil)         // SELECT … INTO, inside a statement of the caller
//
// # Triggers
//
// A statement whose plan has Fires collects the rows that it changes in a [Capture]: SQLite's
// triggers call a function of [Executor.Function] for each row. After the statement the executor
// passes the rows to Interpreter.Fire. Package trigger fires the triggers.
//
// # Common mistakes
//
// Calling Apply without Session.Atomic or Session.LocalChange around it: if one of several SQLite
// statements fails, the work of those before it stays.
package change
