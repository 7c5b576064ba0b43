// Package store keeps T-SQL databases in SQLite files, one file for each database, and gives each
// session a connection that can see several databases at once.
//
// A [Store] owns a directory (or a private temporary one) and a pool of connections. A [Conn] is
// one SQLite connection whose main database is a temporary file. It runs statements and the
// transaction. Its parts are [Databases], [Temps] and [Recorder]. T-SQL databases are attached on
// demand ([Databases.Attach]) as d<id>, so that one SQL text serves all sessions. Temporary tables
// are in the main database ([LocalSchema]), in memory up to 8 MB. A Recorder keeps the changes of a
// transaction, so that it can be parked.
//
// # Functions
//
// SQL texts call Go through four SQLite functions. Their first argument is a key, which names the
// computation and its types; [Functions] resolves it:
//
//	fn(key, args...)    deterministic: may stand in indexes, CHECK constraints and generated columns
//	fnv(key, args...)   not deterministic: evaluated for every row; may be bound to the session by [Conn.SetLocal]
//	agg(key, args...)   aggregate, also as a window function. Without any row SQLite does not pass the
//	                    key, and the result is NULL. DISTINCT cannot be combined with a key.
//	rowset(key, ...)    table-valued: the rows of a [RowsFunc]
//
// [Conn.Exec], [Conn.Query] and [Rows.Next] return the error of a function unchanged.
//
// # Cancellation
//
// Canceling the context of a call interrupts SQLite, except while it writes inside a transaction.
// An interrupt there would undo the whole transaction instead of the statement. Such a statement
// ends at its next call of fn, which leaves the transaction as it was before the statement, or it
// runs to its end. [Conn.SetInterruptWrites] removes the exception for transactions that end with
// their statement. The error is the cause of the context.
//
// # Durability
//
// Files are in WAL mode. In a named directory synchronous is NORMAL: a committed transaction
// survives a kill of the process. A power failure may lose the newest transactions, but never
// corrupts a file. A transaction over several databases is atomic for readers of each, but not if
// the machine crashes between the commits of two of them.
package store
