// Package syntax is the T-SQL front end: scanner, syntax tree, parser, printer and walker.
//
// [Parse] reads a whole batch before any of it runs, as SQL Server does. A syntax error is a
// *mserr.Error with SQL Server's number and text and the line of the error. The tree records the
// source only: names are not resolved, types are names with arguments ([TypeRef]), numbers keep
// their digits. A tree must not be changed after parsing, so that sessions can share the tree of a
// procedure without a lock.
//
// T-SQL has no boolean type, and neither has the tree: an [Expr] has a value, a [Cond] is true,
// false or unknown.
//
// One set of [Options] applies to a whole text. A SET QUOTED_IDENTIFIER in the text applies to the
// texts that follow it. SQL Server, in contrast, switches in the middle of a batch.
//
// Syntax that the embedded server does not support is handled in three ways. Some constructs are
// parsed in full, and the interpreter refuses to execute them. Some statements become an
// [UnsupportedStmt], which the interpreter refuses as well. Other constructs are refused by Parse
// as not supported.
//
// Common mistakes: treating every keyword as reserved. Most keywords are contextual; only reserved
// ones (the variable reserved) cannot be names without quotes. DATE, VALUE, DELAY and JSON can.
package syntax
