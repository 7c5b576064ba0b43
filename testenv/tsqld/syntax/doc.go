// Package syntax is the scanner, the tree, the parser and the printer of T-SQL.
//
// [Parse] reads a whole batch before anything of it runs, as SQL Server does: a syntax error runs nothing. Names are not
// resolved here, and types are not known; what a statement means is the business of packages compile and exec.
//
// The tree is immutable after parsing and may be shared between sessions. Every node knows where it begins, every statement
// where it ends, since procedures keep their text and errors carry lines.
//
// What the parser recognises and the server does not do becomes an [Unsupported] statement, which fails when it is
// reached, as SQL Server's own "not supported" errors do; what it does not know at all is a syntax error (102, 156).
package syntax
