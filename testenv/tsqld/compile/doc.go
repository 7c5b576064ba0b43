// Package compile turns T-SQL queries, expressions and DML statements into SQLite's SQL.
//
// A call such as [Compiler.Select] has two steps. Binding resolves names against the catalog, gives
// every expression a type, and returns a small tree of nodes in which each conversion is explicit.
// Lowering writes this tree as SQL. Each step is a room, a package below this one; this package has
// the API for package exec and the way of each statement through the rooms.
//
//	SELECT  syntax.Query ─ bind ─ tree.Query ─ lower ─ plan.Plan
//	UPDATE  syntax.UpdateStmt ─ dml ┬ bind: target, values, WHERE ─ tree ┬ plan.DML
//	                                └ lower: each SQLite statement ──────┘
//	FETCH   syntax.Query ─ bind ─ tree.Query ─ cursor ─ tree.Query ─ lower ─ plan.CursorPlan
//	IF      syntax.Cond ─ bind ─ tree.Node ─ plan.Scalar, which eval computes without SQLite
//
// The rooms, from the top to the bottom; each imports rooms below it only:
//
//	dml, cursor   changes of data; steps of cursors
//	bind          queries. Below: from (FROM), scalar (expressions), names (names, needs)
//	lower         SQL
//	rewrite       rewrites of bound queries for SQLite's planner
//	expr          typed expressions: conversions, collations, operators
//	plan          the results
//	eval          expressions without SQLite
//	tree          the bound tree, data only
//	keys          the functions behind fn(key, …)
//
// Lowering uses SQLite's own operators and functions where they return exactly SQL Server's result,
// and otherwise calls fn, fnv, agg or rowset (see package store) with a key. The key contains
// everything that the called function needs, so SQL stored in a schema (CHECK constraints,
// generated columns) is valid in other processes. keys.Functions resolves the keys.
//
// Expressions that do not depend on rows are not computed by SQLite: expressions over variables and
// session functions become parameters, which the interpreter evaluates once before the statement
// runs (plan.Param.Value). An expression without columns and subqueries needs no SQLite at all
// ([plan.Scalar]). Values have the representation of package types in SQL, too.
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
// and lowered to
//
//	SELECT t1.c2 AS c1, fn('a|3|int|int|int', t1.c3, 2) AS c2
//	FROM d5."t1000001" AS t1
//	WHERE ((t1.c3 >= ?1) AND (t1.c2 COLLATE ci <> ''))
//
// The division is a call of fn, because SQLite returns NULL where SQL Server raises error 8134. The
// sum reads no row, so it becomes the parameter ?1.
package compile
