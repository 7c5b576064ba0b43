// Package parser reads T-SQL into trees.
//
// [Parse] reads a whole batch before any of it runs, as SQL Server does. A syntax error is a
// *mserr.Error with SQL Server's number and text and the line of the error.
//
// One set of [Options] applies to a whole text. A SET QUOTED_IDENTIFIER in the text applies to the
// texts that follow it. SQL Server, in contrast, switches in the middle of a batch.
//
// Syntax that the embedded server does not support is handled in three ways. Some constructs are
// parsed in full, and the interpreter refuses to execute them. Some statements become a
// [syntax.UnsupportedStmt], which the interpreter refuses as well. Other constructs are refused by
// Parse as not supported.
package parser
