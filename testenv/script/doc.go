// Package script runs test scripts of T-SQL. It is the only engine for such scripts: it runs them
// through go-mssqldb (Connect), or through any other Session, such as the embedded server's
// executor without TDS, or its parser.
//
// # Format
//
// A script is a list of records. A record begins with a line that names its kind, followed by its
// SQL. An empty line ends the record, so SQL in scripts has no empty lines. Between records, a line
// that begins with # is a comment. The SQL may consist of several batches, separated by GO as in
// sqlcmd; only the SQL of a batch record is always one batch.
//
// The first line says where the expectations were verified:
//
//	# verified: no
//	# verified: SQL Server 16.0.4165.4, 2026-01-12
//
// The kinds of records:
//
//	setup                            must succeed; if it fails, the rest of the script is not run
//	statement ok                     must succeed; its result sets are ignored
//	statement error 50001            must fail with exactly this error number; commas separate several numbers
//	statement error 50001 regexp     and the text of the first error must match
//	query IT                         must return the rows after its line of four dashes
//	query IT rowsort                 the same, in any order within each result set
//	batch                            must return the transcript after its line of four dashes
//	let $a $b                        runs a query of one row, and assigns its values to variables
//	subtest NAME                     no SQL: the records up to the next subtest are a Go subtest
//	session NAME                     no SQL: the next records run on this session; the first is called default
//	skipif NAME                      no SQL: the next record does not run on the server NAME
//	onlyif NAME                      no SQL: the next record runs only on NAME: embedded, sqlserver, or cased,
//	                                 which is a database whose collation distinguishes capital and small letters
//
// # Queries
//
// The letters of a query are the kinds of its columns: I whole numbers and bit, R other numbers, T
// text, D dates and times, G uniqueidentifier, B binary, V sql_variant. Commas separate the letters
// of several result sets, and lines of four dashes their rows:
//
//	query I,TT
//	SELECT 1 AS one;
//	SELECT N'a' AS a, NULL AS b;
//	----
//	1
//	----
//	a | NULL
//
// Values are separated by " | ". NULL is NULL, an empty text (empty), a line feed \n, a carriage
// return \r, a tab \t, a bar \| and a backslash \\. Dates and times have the layout
// 2006-01-02T15:04:05.9999999 without trailing zeros, binary values the form 0x0A. The value <any>
// matches every value but NULL.
//
// A variable is replaced by its value in SQL and in expected values. A name after $ that is not a
// variable stays.
//
// # Transcripts
//
// The transcript of a batch has everything that the server sent, in its order:
//
//	batch
//	SELECT 1 AS n;
//	PRINT 'a';
//	THROW 50001, N'b', 1;
//	----
//	[n int]
//	1
//	(1)
//	print: a
//	Msg 50001, Level 16, State 1, Line 3: b
//
// A line in brackets has the columns of a result set, (1) is a row count. A session may add lines
// of its own: the executor's sessions add "(error)" for a statement that failed, "return 0" for a
// return status, and "env: database d" for a change of the database. "session ended: " and a reason
// is the last line of a session that has ended; the next record opens a new one.
//
// # Flags
//
//	-rewrite            replaces the expectations in the script; review the difference
//	-rewrite-verified   writes the version of a real server into scripts that pass on it
package script
