// Package store keeps T-SQL databases in SQLite files, one file each, and gives every session a
// connection that can see several of them at once.
//
// A [Store] owns a directory (or a private temporary one) and a pool of connections. A [Conn] is one
// SQLite connection whose main database is empty and in memory; T-SQL databases are attached to it on
// demand ([Conn.Use]) as d<id>, so that one SQL text serves all sessions. Temporary tables live in
// SQLite's temp schema, in memory.
//
// # Functions
//
// SQL texts call Go by four SQLite functions. Their first argument is a key that says what to compute
// and on which types, and is resolved by [Functions]:
//
//	fn(key, args...)    deterministic: may stand in indexes, CHECK constraints and generated columns
//	fnv(key, args...)   not deterministic: evaluated for every row; may be bound to the session by [Conn.SetLocal]
//	agg(key, args...)   aggregate, also as a window function. Over no row at all SQLite does not tell the
//	                    key, and the result is NULL. DISTINCT cannot be combined with a key.
//
// An error that a closure returns comes out of [Conn.Exec], [Conn.Query] and [Rows.Next] as it is.
//
// # Cancellation
//
// Canceling the context of a call interrupts SQLite, except while it writes inside a transaction:
// there SQLite would undo the whole transaction, not the statement. Such a statement ends at its next call
// of fn, which leaves the transaction as it was before the statement, or runs to its end.
// [Conn.SetInterruptWrites] lifts this for transactions that end with their statement. The error is the cause of the context.
//
// # Durability
//
// Files are in WAL mode. With a directory, synchronous is NORMAL: a committed transaction survives the
// death of the process, and the newest ones may be lost with the power, but no file is ever torn. A
// transaction over several databases is atomic for readers of each, not across a crash between two of them.
package store
