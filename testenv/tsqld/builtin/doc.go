// Package builtin is the table of T-SQL's built-in functions. An entry has the arguments of a
// function, the type of its result, its volatility, and its implementation over the values of
// package types.
//
// [Lookup] finds functions by name in any case. @@ROWCOUNT and similar names are functions without
// arguments whose names begin with @@. CURRENT_TIMESTAMP, SYSTEM_USER and the other names without
// parentheses are functions without arguments too.
//
// The volatility decides which component calls [Func.Eval]. Pure functions depend on their
// arguments only and get a nil [Env]; they may run inside SQLite, in generated columns and in
// indexes. The interpreter evaluates Statement and Session functions once, before the statement
// runs, and passes the values as parameters. PerRow functions are evaluated for every row and get a
// nil Env. A function of the session gets the part of its Env that it needs: [Clock], [Connection],
// [State], [Objects] or [Security].
//
// The rooms below this package hold the algorithms, without the table and without an Env: search
// for texts and patterns, jsontext for JSON, format for FORMAT, aggregate for groups of rows,
// timezone for AT TIME ZONE, convert for the conversions of arguments.
//
// The compiler binds CAST, CASE and IIF, which are syntax, and ISNULL, COALESCE, NULLIF and CHOOSE,
// of which the table has the number of arguments: none of these evaluates all operands.
package builtin
