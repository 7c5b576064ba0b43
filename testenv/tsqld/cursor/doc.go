// Package cursor has the state of T-SQL cursors: static cursors with their rows, keyset cursors
// with the places of their rows, and dynamic cursors with the place of the current row. The section
// "Cursors" of DESIGN.md says what a place is.
//
// A [Cursor] moves. Its owner compiles and runs the query in the scope of the declaration, as the
// [Query] of each call:
//
//	c, err := cursor.New(s, st.Cursor)
//	plan, err := q.Plan(compile.CursorOpen, compile.CursorWhole)
//	told, err := c.Convert(plan) // the query may not allow the requested kind
//	err = c.Open(q)
//	row, err := c.Move(q, syntax.FetchNext, 0) // nil after the last row
//
// Package exec keeps the names of cursors, which are local, global, or variables, and changes rows
// WHERE CURRENT OF.
//
// # Common mistakes
//
// Forgetting [Cursor.Discard] when the last name of a cursor goes away: its rows stay on the memory
// account of the session until the session ends.
//
// Keeping a row of Query.Read: it is valid until the function returns.
package cursor
