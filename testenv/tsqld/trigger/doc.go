// Package trigger fires the triggers of a statement, after package change has applied its plan. It
// decides which triggers run and in which order, fills inserted and deleted, and computes
// COLUMNS_UPDATED().
//
//	err := trigger.New(ctx, s, host).Fire(p, captured, n)
//
// Package exec implements [Interpreter], which has the activations of the bodies.
//
// # Common mistakes
//
// Reading the definition of a table from the plan: an earlier trigger of the same statement may
// have changed or dropped the table. Fire looks the table up for each table and event.
package trigger
