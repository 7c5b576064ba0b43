// Package ddl executes the statements that change definitions: CREATE, ALTER, DROP, GRANT, DENY,
// REVOKE, ENABLE and DISABLE TRIGGER, ALTER AUTHORIZATION, DBCC, and TRUNCATE TABLE, and the system
// procedures that change definitions.
//
// An [Executor] executes them for one activation of a batch or module, on a session's state. What
// it needs of the code that executes T-SQL is the [Interpreter]: a compiler, values of expressions,
// and messages. Package exec implements it.
//
//	x := ddl.New(ctx, s, host, ddl.Place{Text: batch, Schema: "dbo"})
//	err := x.Execute(st) // a *syntax.CreateTableStmt, for example
//
// A statement has a method of its own in the file of its kind of object. It looks up the names,
// checks the permissions, and then calls [session.Transactions.Alter], which holds the database's
// writer lock and persists the change in the open transaction. A builder (column.go, constraint.go)
// makes the definition of a table. The texts of defaults and conditions are written in the form in
// which SQL Server stores them (definition.go).
//
// # Common mistakes
//
// Using the database from before Alter inside of its function: another session may have changed it
// before the lock was granted. Use the arguments.
//
// Changing an object of the catalog: clone it first, because snapshots share it.
//
// Returning error 1750 or 1779 alone: SQL Server sends the reason before it, see failure.Preceded.
package ddl
