// Package cursor changes the query of a cursor to the query of one step (FETCH), and finds the
// tables whose rows the cursor returns.
//
//	DECLARE: tree.Query ── [Navigate] ── the query with the place of each row at its end
//	FETCH:   the same, with a condition on the place, ORDER BY the place, and LIMIT 1
//	UPDATE … WHERE CURRENT OF: package dml compares the rowid with [PlaceValue]
package cursor
