// Package firing decides on the due instants of a stored schedule: which ones run, which ones a
// catch-up policy skips, and which one is next.
//
// The package is pure. An agent reads definitions from the control database, calls [Validate],
// [Decide] or [Backfill], and returns the results to the database. The database creates executions
// and stores the next due instant in one transaction (I2, I10).
//
// Common mistakes: asking whether now matches a schedule. The database stores the next due instant,
// and a decision starts there.
package firing
