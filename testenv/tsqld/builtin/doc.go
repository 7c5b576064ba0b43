// Package builtin is the table of T-SQL's built-in functions: what arguments a function takes, the type
// of its result, how often it is evaluated, and its implementation over the values of package types.
//
// Names are found by [Lookup] without regard to case; @@ROWCOUNT and its like are functions without
// arguments whose names begin with @@. CURRENT_TIMESTAMP, SYSTEM_USER and the other names without
// parentheses are functions without arguments too.
//
// Volatility decides who calls [Func.Eval]. Pure functions see nothing but their arguments and get a nil
// [Env]; they may run inside SQLite, in generated columns and in indexes. Statement and Session functions
// are evaluated once by the interpreter, before the statement runs, and enter it as parameters. PerRow
// functions are evaluated for every row and get a nil Env.
//
// CAST, CONVERT, CASE, COALESCE, NULLIF, IIF and their like are in the table for their names and
// rules where they look like calls; the compiler may lower them on its own so that operands are
// evaluated lazily.
package builtin
