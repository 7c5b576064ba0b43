// Package keys has the functions behind fn(key, …), fnv, agg and rowset in the SQL that package
// compile writes (see package store).
//
// A key is a word and its fields, for example a|3|int|int|int for the division of two int. The key
// contains everything that its function needs, so SQL stored in a schema (CHECK constraints,
// generated columns) is valid in other processes. [Functions] resolves the keys for SQLite, and
// [ScalarFunc] for the evaluation without SQLite. The functions of the session ([EnvFunc]) and of
// the interpreter (the Local constants) also need a running session.
//
//	SELECT price / 2:        bind ── Make(Arith, …) ── fn('a|3|…', t1.c3, 2) ── a value for each row
//	SELECT … FROM OPENJSON:  bind ── Make(TableFunction, …) ── rowset('rs|…', ?1) ── rows
//	UPDATE … SET name = x:   dml ── Make(Store, …) ── fn('st|…', x) ── the value, or error 2628
//
// # Common mistakes
//
// Changing the meaning of a key: database files contain keys.
package keys
