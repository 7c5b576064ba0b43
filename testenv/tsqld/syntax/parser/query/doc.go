// Package query reads expressions, conditions and queries. They are one package because each of
// them contains the others.
//
// Where SQL Server accepts a value or a condition, as in parentheses, functions return a
// [syntax.Node] that is one or the other: the parenthesis in (a + 1) * 2 > 3 belongs to a value,
// that in (a > 1 OR b > 2) to a condition, which is known at its end only.
package query
