package mserr

// Errors at run time: procedures, transactions, locks, messages.

// MissingParameter is error 201.
func MissingParameter(procedure, parameter string) *Error {
	return New(201, 16, "Procedure or function '%s' expects parameter '%s', which was not supplied.", procedure, parameter).WithState(4)
}

// ParameterType is error 214; name is such as ntext/nchar/nvarchar.
func ParameterType(parameter, name string) *Error {
	return New(214, 16, "Procedure expects parameter '%s' of type '%s'.", parameter, name).WithState(2)
}

// NestingLevel is error 217.
func NestingLevel(limit int) *Error {
	return New(217, 16, "Maximum stored procedure, function, trigger, or view nesting level exceeded (limit %d).", limit)
}

// TransactionCount is error 266.
func TransactionCount(before, after int) *Error {
	return New(266, 16, "Transaction count after EXECUTE indicates a mismatching number of BEGIN and "+
		"COMMIT statements. Previous count = %d, current count = %d.", before, after).WithState(2)
}

// TooFewArguments is error 313.
func TooFewArguments(function string) *Error {
	return New(313, 16, "An insufficient number of arguments were supplied for the procedure or "+
		"function %s.", function).WithState(3)
}

// SideEffect is error 443.
func SideEffect(what string) *Error {
	return New(443, 16, "Invalid use of a side-effecting operator '%s' within a function.", what)
}

// SubqueryRows is error 512.
func SubqueryRows() *Error {
	return New(512, 16, "Subquery returned more than 1 value. This is not permitted when the "+
		"subquery follows =, !=, <, <= , >, >= or when the subquery is used as an expression.")
}

// RecursionExhausted is error 530.
func RecursionExhausted(maximum int) *Error {
	return New(530, 16, "The statement terminated. The maximum recursion %d has been exhausted "+
		"before statement completion.", maximum)
}

// FunctionsOnly is error 557.
func FunctionsOnly() *Error {
	return New(557, 16, "Only functions and some extended stored procedures can be executed from within a function.")
}

// NotInTransaction is error 574; statement is DROP DATABASE and the like.
func NotInTransaction(statement string) *Error {
	return New(574, 16, "%s statement cannot be used inside a user transaction.", statement)
}

// DatabaseNotInTransaction is error 226; statement is CREATE DATABASE and the like.
func DatabaseNotInTransaction(statement string) *Error {
	return New(226, 16, "%s statement not allowed within multi-statement transaction.", statement).WithState(6)
}

// InsertExecNested is error 8164.
func InsertExecNested() *Error {
	return New(8164, 16, "An INSERT EXEC statement cannot be nested.")
}

// SaveWithoutTransaction is error 628.
func SaveWithoutTransaction() *Error {
	return New(628, 16, "Cannot issue SAVE TRANSACTION when there is no active transaction.").WithState(0)
}

// Deadlock is error 1205; resource is lock, usually.
func Deadlock(spid int, resource string) *Error {
	return New(1205, 13, "Transaction (Process ID %d) was deadlocked on %s resources with another "+
		"process and has been chosen as the deadlock victim. Rerun the transaction.", spid, resource).WithState(51)
}

// LockTimeout is error 1222.
func LockTimeout() *Error {
	return New(1222, 16, "Lock request time out period exceeded.").WithState(51)
}

// InvalidErrorNumber is error 2732.
func InvalidErrorNumber(number, from, to int64) *Error {
	return New(2732, 16, "Error number %d is invalid. The number must be from %d through %d and it "+
		"cannot be 50000.", number, from, to)
}

// InvalidSubstitution is error 2748; n counts from 1.
func InvalidSubstitution(name string, n int) *Error {
	return New(2748, 16, "Cannot specify %s data type (parameter %d) as a substitution parameter.", name, n)
}

// SeverityPermission is error 2754.
func SeverityPermission(maximum int) *Error {
	return New(2754, 16, "Error severity levels greater than %d can only be specified by members of "+
		"the sysadmin role, using the WITH LOG option.", maximum)
}

// SubstitutionType is error 2786; n counts from 1.
func SubstitutionType(n int) *Error {
	return New(2786, 16, "The data type of substitution parameter %d does not match the expected "+
		"type of the format specification.", n)
}

// InvalidFormat is error 2787.
func InvalidFormat(format string) *Error {
	return New(2787, 16, "Invalid format specification: '%s'.", format)
}

// NoProcedure is error 2812.
func NoProcedure(name string) *Error {
	return New(2812, 16, "Could not find stored procedure '%s'.", name).WithState(62)
}

// CheckCompleted is message 2528, the last one of a DBCC statement.
func CheckCompleted() *Error {
	return New(2528, 0, "DBCC execution completed. If DBCC printed error messages, contact your system administrator.")
}

// StatementTerminated is error 3621, an informational message after an error that undid its
// statement.
func StatementTerminated() *Error {
	return New(3621, 0, "The statement has been terminated.").WithState(0)
}

// CommitWithoutBegin is error 3902.
func CommitWithoutBegin() *Error {
	return New(3902, 16, "The COMMIT TRANSACTION request has no corresponding BEGIN TRANSACTION.")
}

// RollbackWithoutBegin is error 3903.
func RollbackWithoutBegin() *Error {
	return New(3903, 16, "The ROLLBACK TRANSACTION request has no corresponding BEGIN TRANSACTION.")
}

// ReadOnlyDatabase is error 3906.
func ReadOnlyDatabase(name string) *Error {
	return New(3906, 16, "Failed to update database \"%s\" because the database is read-only.", name)
}

// WrongOptions is error 1934. verb is the statement, names the SET options in the order of the
// documentation.
func WrongOptions(verb, names string) *Error {
	return New(1934, 16, "%s failed because the following SET options have incorrect settings: '%s'. Verify that SET options are correct for use with indexed views "+
		"and/or indexes on computed columns and/or filtered indexes and/or query notifications and/or XML data type methods and/or spatial index operations.", verb, names)
}

// RollbackInInsertExec is error 3915.
func RollbackInInsertExec() *Error {
	return New(3915, 16, "Cannot use the ROLLBACK statement within an INSERT-EXEC statement.")
}

// CommitInInsertExec is error 3916.
func CommitInInsertExec() *Error {
	return New(3916, 16, "Cannot use the COMMIT statement within an INSERT-EXEC statement unless "+
		"BEGIN TRANSACTION is used first.")
}

// Uncommittable is error 3930.
func Uncommittable() *Error {
	return New(3930, 16, "The current transaction cannot be committed and cannot support operations "+
		"that write to the log file. Roll back the transaction.")
}

// UncommittableSavepoint is error 3931.
func UncommittableSavepoint() *Error {
	return New(3931, 16, "The current transaction cannot be committed and cannot be rolled back to a "+
		"savepoint. Roll back the entire transaction.")
}

// UncommittableAtEnd is error 3998.
func UncommittableAtEnd() *Error {
	return New(3998, 16, "Uncommittable transaction is detected at the end of the batch. The transaction is rolled back.")
}

// UnknownSavepoint is error 6401.
func UnknownSavepoint(name string) *Error {
	return New(6401, 16, "Cannot roll back %s. No transaction or savepoint of that name was found.", name)
}

// InvalidSPID is error 6101.
func InvalidSPID(spid int64) *Error {
	return New(6101, 16, "Session ID %d is not a valid user session.", spid)
}

// KillSelf is error 6104.
func KillSelf() *Error {
	return New(6104, 16, "Cannot use KILL to kill your own process.")
}

// NoProcess is error 6106.
func NoProcess(spid int64) *Error {
	return New(6106, 16, "Process ID %d is not an active process ID.", spid).WithState(2)
}

// DuplicateArgument is error 8143.
func DuplicateArgument(parameter string) *Error {
	return New(8143, 16, "Parameter '%s' was supplied multiple times.", parameter)
}

// SnapshotNotAllowed is error 3952.
func SnapshotNotAllowed(database string) *Error {
	return New(3952, 16, "Snapshot isolation transaction failed accessing database '%s' because "+
		"snapshot isolation is not allowed in this database. Use ALTER DATABASE to allow snapshot "+
		"isolation.", database)
}

// ReadPastLevel is error 650.
func ReadPastLevel() *Error {
	return New(650, 16, "You can only specify the READPAST lock in the READ COMMITTED or REPEATABLE READ isolation levels.")
}

// UpdateConflict is error 3960.
func UpdateConflict(table, database string) *Error {
	return New(3960, 16, "Snapshot isolation transaction aborted due to update conflict. You cannot "+
		"use snapshot isolation to access table '%s' directly or indirectly in database '%s' to "+
		"update, delete, or insert the row that has been modified or deleted by another transaction. "+
		"Retry the transaction or change the isolation level for the update/delete statement.", table, database).WithState(2)
}

// SnapshotOfOldDefinition is error 3961.
func SnapshotOfOldDefinition(database string) *Error {
	return New(3961, 16, "Snapshot isolation transaction failed in database '%s' because the object "+
		"accessed by the statement has been modified by a DDL statement in another concurrent "+
		"transaction since the start of this transaction.  It is disallowed because the metadata is "+
		"not versioned. A concurrent update to metadata can lead to inconsistency if mixed with "+
		"snapshot isolation.", database)
}

// TooManyProcArguments is error 8144.
func TooManyProcArguments(procedure string) *Error {
	return New(8144, 16, "Procedure or function %s has too many arguments specified.", procedure).WithState(2)
}

// TooManyParametersIn is error 180. statement is a keyword such as EXECUTE.
func TooManyParametersIn(statement string, most int) *Error {
	return New(180, 15, "There are too many parameters in this %s statement. The maximum number is %d.", statement, most)
}

// NotParameter is error 8145.
func NotParameter(parameter, procedure string) *Error {
	return New(8145, 16, "%s is not a parameter for procedure %s.", parameter, procedure)
}

// NoParameters is error 8146.
func NoParameters(procedure string) *Error {
	return New(8146, 16, "Procedure %s has no parameters and arguments were supplied.", procedure)
}

// NotOutput is error 8162.
func NotOutput(parameter string) *Error {
	return New(8162, 16, "The formal parameter \"%s\" was not declared as an OUTPUT parameter, but "+
		"the actual parameter passed in requested output.", parameter).WithState(2)
}

// MissingQueryParameter is error 8178.
func MissingQueryParameter(query, parameter string) *Error {
	return New(8178, 16, "The parameterized query '%s' expects the parameter '%s', which was not "+
		"supplied.", query, parameter)
}

// NoPreparedHandle is error 8179.
func NoPreparedHandle(handle int64) *Error {
	return New(8179, 16, "Could not find prepared statement with handle %d.", handle).WithState(2)
}

// OutOfMemory is error 701: a statement needs more memory than its session may have, or than the
// server has left.
func OutOfMemory() *Error {
	return New(701, 17, "There is insufficient system memory in resource pool 'default' to run this query.").WithState(123)
}

// InternalResources is error 8623.
func InternalResources() *Error {
	return New(8623, 16, "The query processor ran out of internal resources and could not produce a "+
		"query plan. This is a rare event and only expected for extremely complex queries or queries "+
		"that reference a very large number of tables or partitions. Please simplify the query. If "+
		"you believe you have received this message in error, contact Customer Support Services for "+
		"more information.")
}

// Internal is error 8630. The text hides the cause, which is reported to Config.OnError only.
func Internal() *Error {
	return New(8630, 17, "tsqld: Internal Query Processor Error: The query processor encountered an "+
		"unexpected error during execution. See the log of the embedded server.")
}

// TooDeep is error 8631.
func TooDeep() *Error {
	return New(8631, 17, "Internal error: Server stack limit has been reached. Please look for "+
		"potentially deep nesting in your query, and try to simplify it.")
}

// UnknownMessage is error 18054.
func UnknownMessage(number, severity, state int64) *Error {
	return New(18054, 16, "Error %d, severity %d, state %d was raised, but no message with that "+
		"error number was found in sys.messages. If error is larger than 50000, make sure the "+
		"user-defined message is added using sp_addmessage.", number, severity, state)
}

// InvalidProcArgument is error 15600.
func InvalidProcArgument(procedure string) *Error {
	return New(15600, 15, "An invalid parameter or option was specified for procedure '%s'.", procedure)
}

// SessionContextFull is error 15665.
func SessionContextFull(key string) *Error {
	return New(15665, 16, "The value was not set for key '%s' because the total size of keys and "+
		"values in the session context would exceed the 1 MB limit.", key)
}

// SessionContextReadOnly is error 15664.
func SessionContextReadOnly(key string) *Error {
	return New(15664, 16, "Cannot set key '%s' in the session context. The key has been set as "+
		"read_only for this session.", key)
}

// NoSuchProcObject is error 15009.
func NoSuchProcObject(object, database string) *Error {
	return New(15009, 16, "The object '%s' does not exist in database '%s' or is invalid for this "+
		"operation.", object, database)
}

// NoItem is error 15225.
func NoItem(name, database, kind string) *Error {
	return New(15225, 11, "No item by the name of '%s' could be found in the current database '%s', "+
		"given that @itemtype was input as '%s'.", name, database, kind)
}

// AmbiguousItem is error 15248.
func AmbiguousItem(kind string) *Error {
	return New(15248, 11, "Either the parameter @objname is ambiguous or the claimed @objtype (%s) is wrong.", kind)
}

// RenameTaken is error 15335.
func RenameTaken(name, kind string) *Error {
	return New(15335, 11, "Error: The new name '%s' is already in use as a %s name and would cause a "+
		"duplicate that is not permitted.", name, kind)
}

// RenameCaution is error 15477, an informational message of sp_rename.
func RenameCaution() *Error {
	return New(15477, 0, "Caution: Changing any part of an object name could break scripts and stored procedures.")
}

// ApplockNotHeld is error 1223; resource is the name of the application lock, principal the one it
// was asked under.
func ApplockNotHeld(principal, resource string) *Error {
	return New(1223, 16, "Cannot release the application lock (Database Principal: '%s', Resource: "+
		"'%s') because it is not currently held.", principal, resource)
}

// NeedsTransaction is error 3918.
func NeedsTransaction() *Error {
	return New(3918, 16, "The statement or function must be executed in the context of a user transaction.")
}

// SessionKilled is error 596.
func SessionKilled() *Error {
	return New(596, 21, "Cannot continue the execution because the session is in the kill state.")
}

// OthersInTransaction is error 3981. Its state is 1 for the end of a transaction, 2 for a
// savepoint.
func OthersInTransaction(state uint8) *Error {
	return New(3981, 16, "The transaction operation cannot be performed because there are pending requests working "+
		"on this transaction.").WithState(state)
}

// OtherRequestsRunning is error 3988.
func OtherRequestsRunning() *Error {
	return New(3988, 16, "New transaction is not allowed because there are other threads running in the session.")
}

// ActiveAtBatchEnd is error 3997.
func ActiveAtBatchEnd() *Error {
	return New(3997, 16, "A transaction that was started in a MARS batch is still active at the end of the batch. "+
		"The transaction is rolled back.")
}

// ResetWithPendingRequests is message 4001, after which the server ends the connection.
func ResetWithPendingRequests() *Error {
	return New(4001, 10, "Client sends a sp_reset_connection while there is still pending requests, server is disconnecting.")
}

// InvalidDescriptor is error 3989: a request of a client names another transaction than the open
// one.
func InvalidDescriptor() *Error {
	return New(3989, 16, "New request is not allowed to start because it should come with valid transaction "+
		"descriptor.")
}
