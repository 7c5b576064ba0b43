// Package exec interprets T-SQL: batches and procedures, control flow, variables, errors,
// transactions, cursors, data definition. It streams what they produce to a [Sink].
//
// An [Instance] is a server without a network: its databases, logins and sessions. A [Session] is what
// one connection works with; its methods are called by one goroutine at a time, except Kill.
//
// # A statement's way
//
// The text of a batch or module becomes a unit (unit.go): parsed once, checked once, and shared by all
// sessions, together with the plans of its statements. A run (run.go) is one request; it walks the tree
// of statements with a method for each kind. A frame (frame.go) is one activation of a unit: a batch, a
// procedure, a function or dynamic SQL. Names are resolved when a statement is reached, by package
// compile against the session's view of the catalog (scope.go), and the result is kept with the unit as
// long as that view has not changed.
//
// # Errors
//
// How far an error reaches is decided in one place, by the table in severity.go: the statement, the
// scope, the batch, the transaction or the connection. Inside TRY it travels as a Go error, a *failure,
// to the CATCH block; outside it is sent to the client where it happened.
//
// # Transactions
//
// See tran.go: a T-SQL transaction costs nothing before its first write. From then on it holds the writer
// locks of the databases that it touches, and everything the session does is inside one SQLite
// transaction. Definitions changed by DDL are drafts of the session until the commit publishes them.
package exec
