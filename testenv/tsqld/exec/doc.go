// Package exec executes T-SQL: batches, procedures, control flow, variables, errors, transactions,
// cursors and data definition. It streams results to a [Sink].
//
// An [Instance] is a server without a network: databases, logins and sessions. A [Session] is the
// state of one connection. Except for Kill and OnKill, the methods of a Session are for one
// goroutine at a time.
//
// # How a statement runs
//
// The text of a batch or module becomes a unit (unit.go). A unit is parsed and checked once, and
// all sessions share it together with the plans of its statements. A run (run.go) executes one
// request: it walks the tree of statements and has a method for each kind of statement. A frame
// (frame.go) is one activation of a unit: a batch, a procedure, a function or dynamic SQL. Package
// compile resolves names when a statement is reached, against the session's view of the catalog
// (scope.go). The unit caches the resulting plan until that view changes.
//
// # Errors
//
// The table in severity.go decides which scope an error ends: the statement, the procedure, the
// batch, the transaction or the connection. Inside TRY an error travels as a *failure to the CATCH
// block. Outside TRY the error is sent to the client at once.
//
// # Transactions
//
// A T-SQL transaction costs nothing before its first write (tran.go). From then on the transaction
// holds the writer locks of its databases, and all its statements run in one SQLite transaction.
// Definitions that DDL has changed are drafts of the session until the commit publishes them.
//
// # Common mistakes
//
// Returning a *mserr.Error that a cache shares and then setting its line: copy the error first, see
// asMessage.
//
// Running several SQLite statements without run.atomic or run.localChange: an error in the second
// statement then leaves the work of the first one behind.
//
// Calling a method of [Sink] without sinkFailure: an error of the Sink must end the request, not
// the statement.
package exec
