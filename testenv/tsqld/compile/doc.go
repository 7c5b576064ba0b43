// Package compile turns T-SQL queries, expressions and DML statements into SQLite's SQL.
//
// A call such as [Compiler.Select] has two steps. Binding resolves names against the catalog, gives
// every expression a type, and returns a small tree of nodes in which each conversion is explicit.
// Rendering writes this tree as SQL. It uses SQLite's own operators and functions where they return
// exactly SQL Server's result, and otherwise calls fn, fnv, agg or rowset (see package store) with
// a key. The key contains everything that the called function needs, so SQL stored in a schema
// (CHECK constraints, generated columns) is valid in other processes. [Functions] resolves the
// keys.
//
// Expressions that do not depend on rows are not computed by SQLite: expressions over variables and
// session functions become parameters, which the interpreter evaluates once before the statement
// runs ([Param.Value]). An expression without columns and subqueries needs no SQLite at all
// ([Scalar]). Values have the representation of package types in SQL, too.
//
// # Example
//
// With an int column price and a smallint variable @min, the query
//
//	SELECT name, price / 2 AS half FROM item WHERE price >= @min + 1 AND name <> N''
//
// is bound to a query over one source, t1, with these nodes:
//
//	item 1: column t1.name (nvarchar(20))
//	item 2: call a|3|int|int|int (int)
//	  column t1.price (int)
//	  constant 2 (int)
//	where: and (bit)
//	  compare >= (bit)
//	    column t1.price (int)
//	    call a|0|smallint|int|int (int)
//	      variable @min (smallint)
//	      constant 1 (int)
//	  compare <> (bit)
//	    column t1.name (nvarchar(20))
//	    constant "" (nvarchar(20))
//
// and rendered as
//
//	SELECT t1.c2 AS c1, fn('a|3|int|int|int', t1.c3, 2) AS c2
//	FROM d5."t1000001" AS t1
//	WHERE ((t1.c3 >= ?1) AND (t1.c2 COLLATE ci <> ''))
//
// The division is a call of fn, because SQLite returns NULL where SQL Server raises error 8134. The
// sum reads no row, so it becomes the parameter ?1.
//
// # Common mistakes
//
// Changing a node: nodes are shared between expressions, so a change needs a copy. Changing the
// meaning of a key: database files contain keys. Reusing a plan without comparing
// [Needs].Snapshots: a plan is valid only for the catalog snapshots in which its names were
// resolved.
package compile
