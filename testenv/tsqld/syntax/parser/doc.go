// Package parser reads T-SQL into trees.
//
// [Parse] reads a whole batch before any of it runs, as SQL Server does. A syntax error is a
// *mserr.Error with SQL Server's number and text and the line of the error.
//
// The parser is one function for each construct. A function takes a cursor, which is the place in
// the text, reads its construct from there, and returns its node:
//
//	UPDATE t SET a = 1 WHERE b = 2
//	│      │   │       └ query.Cond   conditions, expressions and queries
//	│      │   └ dml.setClauses       changes of data
//	│      └ term.Name                names, types, constants, options
//	└ batch.dataStmt                  the first word of a statement (this package)
//
// The rooms, from the top to the bottom; each imports rooms below it only:
//
//	parser         batches, control flow, modules, cursors, SET, administration
//	dml            INSERT, UPDATE, DELETE, MERGE
//	ddl, security  definitions of objects; principals, keys and permissions
//	call           EXECUTE
//	query          expressions, conditions and queries, which contain each other
//	term           names, types, constants and options, which contain no expressions
//	tokens         the cursor: look ahead, accept, expect; errors; limits of depth
//
// Statements that contain statements are methods of batch, because they share its labels and loops.
// All other constructs are functions of the cursor alone.
//
// A function does not return an error. After the first one, the cursor is at the end of the text,
// which no function accepts, so all of them return soon, and their results are discarded.
//
// One set of [Options] applies to a whole text. A SET QUOTED_IDENTIFIER in the text applies to the
// texts that follow it. SQL Server, in contrast, switches in the middle of a batch.
//
// Syntax that the embedded server does not support is handled in two ways. A statement becomes a
// [syntax.UnsupportedStmt] if it has a construct that the parser reads in full
// ([tokens.Cursor.Unsupported]): the interpreter refuses it when it runs. Other constructs are
// refused by Parse ([tokens.Cursor.Reject]). What depends on an option, a name or the catalog is
// refused by the package that executes the statement.
package parser
