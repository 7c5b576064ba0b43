// Package answer has the answer to a request as the interpreter sends it: result sets, messages,
// the ends of statements, and changes of the session that clients track.
//
// A [Sink] receives an answer; the connection implements it. The interpreter writes through an
// [Answer], which counts what was sent and marks errors of the Sink:
//
//	a := answer.New(sink)
//	err := a.Columns(cols)
//	err = a.Row(row)
//	err = a.End(answer.Done{Rows: 1, Count: true, Command: answer.CommandSelect}, false)
//
// An Answer can also collect result sets (INSERT … EXEC) or give them declared columns (WITH RESULT
// SETS).
//
// # Common mistakes
//
// Taking an error of an Answer for an error of the statement: if [Disconnected] is true for it, the
// client has gone, and the request must end.
//
// Keeping a slice that a Sink was given: the interpreter reuses it.
package answer
