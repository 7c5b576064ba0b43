// Package failure describes errors of T-SQL statements on their way to a handler: where an error
// comes from, and which scope it ends.
//
// Code that executes statements returns a *mserr.Error, and wraps it only if its origin matters:
//
//	if err != nil {
//		return failure.Compile(err) // a name or type was not found: ends the procedure
//	}
//	return failure.Preceded(mserr.DefaultExists(), mserr.ConstraintNotCreated()) // two messages
//
// The interpreter (package exec) asks the table in severity.go for the [Effect] of the error, and
// notes in the [Error] what it has done.
//
// # Common mistakes
//
// Setting the line of a *mserr.Error that a cache shares: use [WithMessage], which copies the
// error.
//
// Wrapping an error twice: [Originated] keeps the first origin.
package failure
