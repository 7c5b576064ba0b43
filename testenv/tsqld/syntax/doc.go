// Package syntax is the T-SQL front end: scanner, syntax tree, parser, printer and walker.
//
// [Parse] reads a whole batch before anything runs, as SQL Server does, and answers a syntax error as
// a *mserr.Error with SQL Server's number and text, its line set. The tree says what was written and
// no more: names are not resolved, types are names with arguments ([TypeRef]), numbers keep their
// digits. After parsing nobody may change it, so that the tree of a procedure can be shared between
// sessions without a lock.
//
// T-SQL has no boolean type, and the tree keeps that apart: an [Expr] has a value, a [Cond] is true,
// false or unknown. What a newcomer gets wrong: keywords are mostly contextual here. Only the words of
// [IsReserved] can't be names without quotes; DATE, VALUE, DELAY or JSON can.
//
// A whole text is read under one set of [Options]: a SET QUOTED_IDENTIFIER inside of it holds for the
// texts behind it, unlike in SQL Server, which turns in the middle of a batch.
//
// Three classes of answer to what the embedded server does not do: constructs that are parsed in full
// and left to the interpreter to refuse when it reaches them; statements that become an
// [UnsupportedStmt], refused when reached; and those in [Rejections], refused by Parse.
package syntax
