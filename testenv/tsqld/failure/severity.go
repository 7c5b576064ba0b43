package failure

import "github.com/jobagent/jobagent/testenv/tsqld/mserr"

// Effect tells which scope an error ends if no TRY block catches it.
type Effect uint8

const (
	// EndStatement undoes the statement; the next statement runs.
	EndStatement Effect = iota
	// EndScope ends the procedure, function or dynamic batch; its caller continues. Only a TRY
	// block of an outer scope can catch the error.
	EndScope
	// EndBatch ends the whole request; the transaction stays open.
	EndBatch
	// EndTransaction ends the whole request and rolls the transaction back. In a TRY block it dooms
	// the transaction instead.
	EndTransaction
	// EndConnection rolls the transaction back and closes the connection. TRY blocks do not catch
	// the error.
	EndConnection
)

// Origin tells where an error comes from. Errors with the same number have a larger effect if they
// occur during compilation.
type Origin uint8

const (
	AtRun      Origin = iota // while a statement ran
	AtCompile                // while a statement was compiled: a name or type was not found
	AtRaise                  // RAISERROR
	AtThrow                  // THROW
	AtArgument               // conversion of an argument to the type of its parameter
)

// BatchErrors are the run-time errors that end the batch and the transaction even if XACT_ABORT is
// OFF. All other errors of severity 11 to 19 end only their statement. Source: Sommarskog, "Error
// and Transaction Handling in SQL Server", part two, which lists conversion errors, deadlocks,
// exceeded nesting, and attempts to log in a doomed transaction.
var BatchErrors = map[int32]bool{
	217:  true, // nesting level
	235:  true, // conversion to money
	241:  true, // conversion to date or time
	245:  true, // conversion to a number
	248:  true, // conversion overflows int
	293:  true, // conversion to smallmoney
	295:  true, // conversion to smalldatetime
	701:  true, // no memory: later statements rely on the failed work
	1205: true, // deadlock victim
	3609: true, // the transaction ended in a trigger
	3616: true, // doomed transaction at the end of a trigger
	3915: true, // ROLLBACK inside INSERT ... EXEC
	3916: true, // COMMIT inside INSERT ... EXEC
	3930: true, // doomed transaction
	3960: true, // update conflict under SNAPSHOT
	3961: true, // definition changed under SNAPSHOT
	3981: true, // other requests use the transaction (probed by SqlServerSimulator against SQL Server 2025)
	3998: true, // doomed transaction at the end of a batch
	5302: true, // modify of NULL
	6307: true, // XQuery: an attribute outside of an element
	6308: true, // XQuery: a duplicate attribute
	6320: true, // XQuery: a new value that is empty
	6325: true, // XQuery: a new value that is empty
	8114: true, // conversion of a data type
	8169: true, // conversion to uniqueidentifier
	8623: true, // no plan
	8672: true, // MERGE changes a row twice (SQL Server 2022, recorded)
	9402: true, // XML
	9420: true, // XML
}

// ignoresXactAbort are the errors that end only their statement even under XACT_ABORT. They
// report a state, and there is nothing to undo.
var ignoresXactAbort = map[int32]bool{
	266: true, // transaction count differs after EXECUTE
}

// noTransactionToSave is SAVE TRANSACTION without a transaction. It ends the batch (SQL Server
// 2025, recorded).
const noTransactionToSave = 628

// effectOf is the severity table: it returns the effect of an uncaught error with the given origin
// on a session with the given XACT_ABORT setting.
//
// RAISERROR ends nothing by itself, not even under XACT_ABORT. THROW always ends the batch, and
// honours XACT_ABORT. (Documentation: SET XACT_ABORT, "The THROW statement honors SET XACT_ABORT.
// RAISERROR does not.")
func effectOf(e *mserr.Error, from Origin, xactAbort bool) Effect {
	switch {
	case e.Class >= 20:
		return EndConnection
	case from == AtRaise || ignoresXactAbort[e.Number]:
		return EndStatement
	case isIdentityOverflow(e) && !xactAbort:
		return EndBatch
	case from == AtThrow:
		if xactAbort {
			return EndTransaction
		}
		return EndBatch
	case xactAbort || BatchErrors[e.Number] && from != AtArgument:
		return EndTransaction
	case e.Number == noTransactionToSave:
		return EndBatch
	case from == AtCompile:
		return EndScope
	}
	return EndStatement
}

// isIdentityOverflow reports whether an error is [mserr.IdentityOverflow].
func isIdentityOverflow(e *mserr.Error) bool { return e.Number == 8115 && e.State == 1 }

// arithmeticErrors are the errors for overflow and division by zero.
var arithmeticErrors = map[int32]bool{220: true, 232: true, 8115: true, 8134: true}

// Under returns the effect of an error under the SET options XACT_ABORT and ANSI_WARNINGS.
// (Documentation: SET ARITHABORT, "If SET ARITHABORT is ON and SET ANSI WARNINGS is OFF, these
// error conditions cause the batch to terminate. If the errors occur in a transaction, the
// transaction is rolled back." ARITHABORT and ANSI_WARNINGS are never both OFF here.)
func Under(e *mserr.Error, from Origin, xactAbort, ansiWarnings bool) Effect {
	reach := effectOf(e, from, xactAbort)
	if reach == EndStatement && from == AtRun && !ansiWarnings && arithmeticErrors[e.Number] {
		return EndTransaction
	}
	return reach
}

// Dooms reports whether an error caught by a TRY block makes the open transaction uncommittable.
// Under XACT_ABORT every error does, including those of RAISERROR.
func Dooms(e *mserr.Error, from Origin, xactAbort bool) bool {
	return xactAbort || effectOf(e, from, false) == EndTransaction
}

// Following returns the informational message that the server sends after an error that ends a
// statement which changes data, or nil.
func Following(e *mserr.Error) *mserr.Error {
	switch {
	case isIdentityOverflow(e):
		return mserr.ArithmeticOccurred()
	case TerminatedErrors[e.Number]:
		return mserr.StatementTerminated()
	}
	return nil
}

// TerminatedErrors are the errors after which the server sends message 3621, "The statement has
// been terminated.", if the statement changes data.
var TerminatedErrors = map[int32]bool{
	220: true, 232: true, 242: true, 512: true, 515: true, 547: true, 2601: true, 2627: true, 2628: true, 8115: true,
	8134: true, 8152: true, 16929: true, 16931: true, 16932: true, 16933: true, 16947: true,
}
