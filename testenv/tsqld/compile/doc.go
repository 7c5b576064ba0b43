// Package compile turns T-SQL queries, expressions and DML statements into SQLite's SQL.
//
// It works in two steps within one call. Binding resolves names against the catalogue and gives every
// expression a type, which yields a small tree of nodes in which each conversion is explicit. Rendering
// writes that tree as SQL: natively where SQLite does exactly what SQL Server does, as a call of fn, fnv or
// agg (see package store) where it does not. The functions' keys say everything that the closure needs to
// know, so that SQL kept in a schema (CHECK constraints, generated columns) outlives the process;
// [Functions] resolves them.
//
// What does not depend on rows is not computed by SQLite at all: variables, session functions and whatever
// is built from them become parameters, which the interpreter evaluates once before the statement
// ([Param.Value]). An expression without subqueries and columns can be evaluated in Go altogether ([Scalar]).
//
// Values in SQL have the form of package types throughout.
package compile
