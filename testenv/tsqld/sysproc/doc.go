// Package sysproc has the system procedures: sp_… and xp_….
//
// A [Library] finds a [Procedure] by its name. There are three kinds. A procedure that only shows
// the catalog is T-SQL over the system views (folder texts). A procedure that changes the server or
// the session is Go, and gets its arguments converted to the types of its [Param] list. A few
// procedures, such as sp_executesql, are parts of the interpreter, which executes them itself
// (Procedure.Raw).
//
//	if p := library.Find(name); p != nil && p.Text == nil && !p.Raw {
//		code, err := sysproc.New(…).Execute(p, arguments)
//	}
//
// What an [Executor] needs of the code that executes T-SQL is the [Interpreter]. Package exec
// implements it.
//
// # Common mistakes
//
// Adding a procedure to the table alone: a name in [Unsupported] must go at the same time.
//
// Writing a procedure in Go that a query over the system views could replace.
package sysproc
