package exec

import "github.com/jobagent/jobagent/testenv/tsqld/mserr"

// effect is how far an error reaches when no TRY block catches it.
type effect uint8

const (
	// endStatement: the statement is undone, the next one runs.
	endStatement effect = iota
	// endScope: the procedure, function or dynamic batch ends, its caller goes on. Only an outer
	// scope's TRY block can catch it.
	endScope
	// endBatch: everything up to the request ends; the transaction stays as it is.
	endBatch
	// endTransaction: as endBatch, and the transaction is rolled back; in a TRY block it is doomed.
	endTransaction
	// endConnection: as endTransaction, no TRY block sees it, and the connection is closed.
	endConnection
)

// origin tells where an error came from, since the same number reaches further when a statement could
// not even be compiled.
type origin uint8

const (
	atRun      origin = iota // while a statement ran
	atCompile                // a name or type could not be resolved when the statement was reached
	atRaise                  // RAISERROR
	atThrow                  // THROW
	atArgument               // an argument of a procedure does not fit its parameter
)

// batchErrors are the run-time errors that end the batch and the transaction even when XACT_ABORT is
// off. All others of severity 11 to 19 end their statement. Sommarskog, "Error and Transaction Handling
// in SQL Server", part two, lists them: conversion errors, deadlocks, exceeded nesting, and attempts to
// log in a doomed transaction.
var batchErrors = map[int32]bool{
	217:  true, // nesting level
	235:  true, // conversion to money
	241:  true, // conversion to date or time
	245:  true, // conversion to a number
	248:  true, // conversion overflows int
	293:  true, // conversion to smallmoney
	295:  true, // conversion to smalldatetime
	701:  true, // no memory: what follows relies on what could not be done
	1205: true, // deadlock victim
	3915: true, // ROLLBACK inside INSERT ... EXEC
	3916: true, // COMMIT inside INSERT ... EXEC
	3930: true, // doomed transaction
	3960: true, // update conflict under SNAPSHOT
	3961: true, // definition changed under SNAPSHOT
	3998: true, // doomed transaction at the end of a batch
	8114: true, // conversion of a data type
	8169: true, // conversion to uniqueidentifier
	8623: true, // no plan
	9402: true, // XML
	9420: true, // XML
}

// statementEvenWithAbort are errors that XACT_ABORT leaves alone: they report a state, and nothing was
// begun that could be undone.
var statementEvenWithAbort = map[int32]bool{
	266: true, // transaction count differs after EXECUTE
}

// effectOf is the severity table: what an error of that origin does to a session whose XACT_ABORT is as
// given, when nothing catches it.
//
// RAISERROR ends nothing by itself, not even under XACT_ABORT; THROW always ends the batch, and honours
// XACT_ABORT. (Documentation: SET XACT_ABORT, "The THROW statement honors SET XACT_ABORT. RAISERROR does not.")
func effectOf(e *mserr.Error, from origin, xactAbort bool) effect {
	switch {
	case e.Class >= 20:
		return endConnection
	case from == atRaise || statementEvenWithAbort[e.Number]:
		return endStatement
	case from == atThrow:
		if xactAbort {
			return endTransaction
		}
		return endBatch
	case xactAbort || batchErrors[e.Number] && from != atArgument:
		return endTransaction
	case from == atCompile:
		return endScope
	}
	return endStatement
}

// arithmeticErrors are overflows and divisions by zero.
var arithmeticErrors = map[int32]bool{220: true, 232: true, 8115: true, 8134: true}

// effectOf is the effect of an error under the session's options. (Documentation: SET ARITHABORT, "If SET ARITHABORT is ON and SET
// ANSI WARNINGS is OFF, these error conditions cause the batch to terminate. If the errors occur in a transaction, the transaction is
// rolled back." The session never has both OFF.)
func (o *options) effectOf(e *mserr.Error, from origin) effect {
	reach := effectOf(e, from, o.xactAbort)
	if reach == endStatement && from == atRun && !o.ansiWarnings && arithmeticErrors[e.Number] {
		return endTransaction
	}
	return reach
}

// dooms reports whether an error that a TRY block caught makes the open transaction uncommittable.
// Under XACT_ABORT every error does, RAISERROR's too.
func dooms(e *mserr.Error, from origin, xactAbort bool) bool {
	return xactAbort || effectOf(e, from, false) == endTransaction
}

// terminated are the numbers after which the server adds message 3621, "The statement has been
// terminated.", when the statement changes data.
var terminated = map[int32]bool{
	220: true, 232: true, 242: true, 512: true, 515: true, 547: true, 2601: true, 2627: true, 2628: true, 8115: true, 8134: true, 8152: true, 8672: true,
}
