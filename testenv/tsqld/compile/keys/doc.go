// Package keys has the functions behind fn(key, …), fnv, agg and rowset in the SQL that package
// compile writes (see package store).
//
// A key is a word and its fields, for example a|3|int|int|int for the division of two int. The key
// contains everything that its function needs, so SQL stored in a schema (CHECK constraints,
// generated columns) is valid in other processes. [Functions] resolves the keys for SQLite, and
// [ScalarFunc] for the evaluation without SQLite. The functions of the session ([EnvFunc]) and of
// the interpreter (the Local constants) also need a running session.
//
//	bind: Make(Arith, …) ──┐                ┌─ fn(key, …)      ScalarFunc     a value
//	                       ├─ key ─ SQLite ─┼─ agg(key, …)     AggregateFunc  a value of many rows
//	lower: a literal ──────┘                └─ rowset(key, …)  RowsFunc       rows
//
// # Common mistakes
//
// Changing the meaning of a key: database files contain keys.
package keys
