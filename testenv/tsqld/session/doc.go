// Package session holds the state of the server and of its sessions that does not depend on the
// interpreter of T-SQL: databases and locks, logins and permissions, SET options, the transaction,
// temporary tables, and the last values of identity columns, sequences and rowversions.
//
// A [Server] is what all sessions share. A [Session] is the state of one connection. Both are plain
// state: they execute no T-SQL. Package exec embeds them in exec.Instance and exec.Session;
// packages that execute statements for exec take a *Session. Except for Kill and OnKill, the
// methods of a Session are for one goroutine at a time.
//
// # The session's view of the catalog
//
// Definitions that a transaction has changed are drafts of the session until its commit publishes
// them. [View.DatabaseByID], [View.DatabaseByName] and [Session.Usable] return databases with
// these drafts. A definition is changed by
//
//	err := s.Alter(ctx, d, func(d *catalog.Database, e *catalog.Edit) error {
//		e.Drop(d.Object("dbo", "t")) // d is the version under the writer lock
//		return nil
//	})
//
// # Transactions
//
// A T-SQL transaction costs nothing before its first write (transaction.go). From then on it holds
// the writer locks of its databases, and all its statements run in one SQLite transaction. A
// rollback keeps the contents of table variables, which [Temporaries.Variables] lists.
//
// A transaction that waits for its client may be parked ([Parking]): others may write then, and its
// next request repeats its changes first. [Counters] draws identity values, values of sequences and
// rowversions, which no rollback returns.
//
// # Common mistakes
//
// Reading the catalog's snapshot instead of the session's view: definitions of the open transaction
// are then missing.
//
// Running several SQLite statements without [Transactions.Atomic] or [Transactions.LocalChange]: an
// error in the second statement then leaves the work of the first one behind.
//
// Keeping a *catalog.Database over a change: read it again by its ID.
package session
