// Package script runs test scripts of SQL against a server through go-mssqldb.
//
// # The dialect
//
// A script is a text of records. A record begins with a line that says what it is, followed by its SQL; an empty line ends
// it, so that SQL cannot have empty lines. A line that begins with # between records is a comment. SQL may hold several
// batches, divided by GO as in sqlcmd.
//
// The first line says on what the expectations have been seen to hold:
//
//	# verified: no
//	# verified: SQL Server 16.0.4165.4, 2026-01-12
//
// The records:
//
//	setup                            must succeed; if it fails, the rest of the script is not run
//	statement ok                     must succeed; what it returns is not looked at
//	statement error 50001            must fail with exactly this error number; several are divided by commas
//	statement error 50001 regexp     and the text of the first error must match
//	query IT                         must return what follows its line of four dashes
//	query IT rowsort                 the same, with the rows of each result set in an order of their own
//	let $a $b                        runs a query of one row, and gives its values to variables
//	subtest NAME                     no SQL: what follows, up to the next subtest, is a Go subtest
//	session NAME                     no SQL: what follows runs on another connection; session default is the first one
//	skipif NAME, onlyif NAME         no SQL: the next record is left out on, or but for, the server NAME (embedded, sqlserver)
//
// The letters of a query are the kinds of its columns: I whole numbers and bit, R other numbers, T text, D dates and times, G
// uniqueidentifier, B binary, V sql_variant. Several result sets have their letters divided by commas, and their rows by
// further lines of four dashes:
//
//	query I,TT
//	SELECT 1 AS one;
//	SELECT N'a' AS a, NULL AS b;
//	----
//	1
//	----
//	a | NULL
//
// Values are divided by " | ". NULL is NULL, an empty text (empty), a line feed \n, a carriage return \r, a tab \t, a bar \| and a
// backslash \\. Dates and times are written as 2006-01-02T15:04:05.9999999 without zeros at the end, binary as 0x0A. The value
// <any> stands for any value but NULL.
//
// A variable is replaced by its value in SQL and in expected values. A name after $ that is no variable is left as it is.
//
// # Flags
//
//	-rewrite            writes what a query returned over what was expected, in the script itself
//	-rewrite-verified   with a real server: writes the server's version and the date into the first line of scripts that pass
package script
