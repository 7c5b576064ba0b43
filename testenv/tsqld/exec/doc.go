// Package exec executes T-SQL: batches, calls, control flow, variables, TRY and CATCH, queries and
// changes. It streams results to an [answer.Sink].
//
// An [Instance] executes T-SQL for the sessions of a [session.Server]. A [Session] executes the
// requests of one connection, whose state is a [session.Session]. Except for Kill and OnKill, the
// methods of a Session are for one goroutine at a time.
//
// # How a statement runs
//
// The text of a batch or module becomes a unit (package unit). A unit is parsed and checked once,
// and all sessions share it together with the plans of its statements. A run (run.go) executes one
// request: it walks the tree of statements. The statements of one kind are methods of a type that
// embeds the run: queries, rowChanges, calls, cursors, transactions, and so on. A frame
// (frame.go) is one activation of a unit: a batch, a procedure, a function or dynamic SQL. Package
// compile resolves names when a statement is reached, against the session's view of the catalog
// (scope.go). The unit caches the resulting plan until that view changes.
//
// Statements that change definitions, system procedures, functions over the session and cursors are
// rooms of their own (ddl, sysproc, sysfunc, cursor). They work on a session's state (session), and
// ask a run through a small interface for the rest: see definerHost, systemHost, current and
// cursorQuery.
//
// # Errors
//
// The table in failure/severity.go decides which scope an error ends: the statement, the procedure,
// the batch, the transaction or the connection. Inside TRY an error travels as a *failure.Error to
// the CATCH block. Outside TRY the error is sent to the client at once.
//
// # Transactions
//
// The state of a transaction belongs to its session (package session). The statements that begin
// and end it, and the notification of the client, are in tran.go.
//
// # Common mistakes
//
// Returning a *mserr.Error that a cache shares and then setting its line: copy the error first, see
// run.settle.
//
// Running several SQLite statements without Session.Atomic or Session.LocalChange: an error in the
// second statement then leaves the work of the first one behind.
package exec
