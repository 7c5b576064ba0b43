package mserr

// Errors at run time: procedures, transactions, locks, messages.

// MissingParameter is error 201.
func MissingParameter(procedure, parameter string) *Error { return Of(201, procedure, parameter) }

// ParameterType is error 214; name is such as ntext/nchar/nvarchar.
func ParameterType(parameter, name string) *Error { return Of(214, parameter, name) }

// NestingLevel is error 217.
func NestingLevel(limit int) *Error { return Of(217, limit) }

// TransactionCount is error 266.
func TransactionCount(before, after int) *Error { return Of(266, before, after) }

// TooFewArguments is error 313.
func TooFewArguments(function string) *Error { return Of(313, function) }

// SideEffect is error 443.
func SideEffect(what string) *Error { return Of(443, what) }

// SubqueryRows is error 512.
func SubqueryRows() *Error { return Of(512) }

// RecursionExhausted is error 530.
func RecursionExhausted(maximum int) *Error { return Of(530, maximum) }

// FunctionsOnly is error 557.
func FunctionsOnly() *Error { return Of(557) }

// NotInTransaction is error 574; statement is DROP DATABASE and the like.
func NotInTransaction(statement string) *Error { return Of(574, statement) }

// DatabaseNotInTransaction is error 226; statement is CREATE DATABASE and the like.
func DatabaseNotInTransaction(statement string) *Error { return Of(226, statement) }

// InsertExecNested is error 8164.
func InsertExecNested() *Error { return Of(8164) }

// SaveWithoutTransaction is error 628.
func SaveWithoutTransaction() *Error { return Of(628) }

// Deadlock is error 1205; resource is lock, usually.
func Deadlock(spid int, resource string) *Error { return Of(1205, spid, resource) }

// LockTimeout is error 1222.
func LockTimeout() *Error { return Of(1222) }

// InvalidErrorNumber is error 2732.
func InvalidErrorNumber(number, from, to int64) *Error { return Of(2732, number, from, to) }

// InvalidSubstitution is error 2748; n counts from 1.
func InvalidSubstitution(name string, n int) *Error { return Of(2748, name, n) }

// SeverityPermission is error 2754.
func SeverityPermission(maximum int) *Error { return Of(2754, maximum) }

// SubstitutionType is error 2786; n counts from 1.
func SubstitutionType(n int) *Error { return Of(2786, n) }

// InvalidFormat is error 2787.
func InvalidFormat(format string) *Error { return Of(2787, format) }

// NoProcedure is error 2812.
func NoProcedure(name string) *Error { return Of(2812, name) }

// CheckCompleted is message 2528, the last one of a DBCC statement.
func CheckCompleted() *Error { return Of(2528) }

// StatementTerminated is error 3621, an informational message after an error that undid its
// statement.
func StatementTerminated() *Error { return Of(3621) }

// CommitWithoutBegin is error 3902.
func CommitWithoutBegin() *Error { return Of(3902) }

// RollbackWithoutBegin is error 3903.
func RollbackWithoutBegin() *Error { return Of(3903) }

// ReadOnlyDatabase is error 3906.
func ReadOnlyDatabase(name string) *Error { return Of(3906, name) }

// WrongOptions is error 1934. verb is the statement, names the SET options in the order of the
// documentation.
func WrongOptions(verb, names string) *Error { return Of(1934, verb, names) }

// RollbackInInsertExec is error 3915.
func RollbackInInsertExec() *Error { return Of(3915) }

// CommitInInsertExec is error 3916.
func CommitInInsertExec() *Error { return Of(3916) }

// Uncommittable is error 3930.
func Uncommittable() *Error { return Of(3930) }

// UncommittableSavepoint is error 3931.
func UncommittableSavepoint() *Error { return Of(3931) }

// UncommittableAtEnd is error 3998.
func UncommittableAtEnd() *Error { return Of(3998) }

// UnknownSavepoint is error 6401.
func UnknownSavepoint(name string) *Error { return Of(6401, name) }

// InvalidSPID is error 6101.
func InvalidSPID(spid int64) *Error { return Of(6101, spid) }

// KillSelf is error 6104.
func KillSelf() *Error { return Of(6104) }

// NoProcess is error 6106.
func NoProcess(spid int64) *Error { return Of(6106, spid) }

// DuplicateArgument is error 8143.
func DuplicateArgument(parameter string) *Error { return Of(8143, parameter) }

// SnapshotNotAllowed is error 3952.
func SnapshotNotAllowed(database string) *Error { return Of(3952, database) }

// ReadPastLevel is error 650.
func ReadPastLevel() *Error { return Of(650) }

// UpdateConflict is error 3960.
func UpdateConflict(table, database string) *Error { return Of(3960, table, database) }

// SnapshotOfOldDefinition is error 3961.
func SnapshotOfOldDefinition(database string) *Error { return Of(3961, database) }

// TooManyProcArguments is error 8144.
func TooManyProcArguments(procedure string) *Error { return Of(8144, procedure) }

// TooManyParametersIn is error 180. statement is a keyword such as EXECUTE.
func TooManyParametersIn(statement string, most int) *Error { return Of(180, statement, most) }

// NotParameter is error 8145.
func NotParameter(parameter, procedure string) *Error { return Of(8145, parameter, procedure) }

// NoParameters is error 8146.
func NoParameters(procedure string) *Error { return Of(8146, procedure) }

// NotOutput is error 8162.
func NotOutput(parameter string) *Error { return Of(8162, parameter) }

// MissingQueryParameter is error 8178.
func MissingQueryParameter(query, parameter string) *Error { return Of(8178, query, parameter) }

// NoPreparedHandle is error 8179.
func NoPreparedHandle(handle int64) *Error { return Of(8179, handle) }

// OutOfMemory is error 701: a statement needs more memory than its session may have, or than the
// server has left.
func OutOfMemory() *Error { return Of(701) }

// InternalResources is error 8623.
func InternalResources() *Error { return Of(8623) }

// Internal is error 8630. The text hides the cause, which is reported to Config.OnError only.
func Internal() *Error { return Of(8630) }

// TooDeep is error 8631.
func TooDeep() *Error { return Of(8631) }

// UnknownMessage is error 18054.
func UnknownMessage(number, severity, state int64) *Error {
	return Of(18054, number, severity, state)
}

// InvalidProcArgument is error 15600.
func InvalidProcArgument(procedure string) *Error { return Of(15600, procedure) }

// SessionContextFull is error 15665.
func SessionContextFull(key string) *Error { return Of(15665, key) }

// SessionContextReadOnly is error 15664.
func SessionContextReadOnly(key string) *Error { return Of(15664, key) }

// NoSuchProcObject is error 15009.
func NoSuchProcObject(object, database string) *Error { return Of(15009, object, database) }

// NoItem is error 15225.
func NoItem(name, database, kind string) *Error { return Of(15225, name, database, kind) }

// AmbiguousItem is error 15248.
func AmbiguousItem(kind string) *Error { return Of(15248, kind) }

// RenameTaken is error 15335.
func RenameTaken(name, kind string) *Error { return Of(15335, name, kind) }

// RenameCaution is error 15477, an informational message of sp_rename.
func RenameCaution() *Error { return Of(15477) }

// ApplockNotHeld is error 1223; resource is the name of the application lock, principal the one it
// was asked under.
func ApplockNotHeld(principal, resource string) *Error { return Of(1223, principal, resource) }

// NeedsTransaction is error 3918.
func NeedsTransaction() *Error { return Of(3918) }

// SessionKilled is error 596.
func SessionKilled() *Error { return Of(596) }

// OthersInTransaction is error 3981. Its state is 1 for the end of a transaction, 2 for a
// savepoint.
func OthersInTransaction(state uint8) *Error { return Of(3981).WithState(state) }

// OtherRequestsRunning is error 3988.
func OtherRequestsRunning() *Error { return Of(3988) }

// ActiveAtBatchEnd is error 3997.
func ActiveAtBatchEnd() *Error { return Of(3997) }

// ResetWithPendingRequests is message 4001, after which the server ends the connection.
func ResetWithPendingRequests() *Error { return Of(4001) }

// InvalidDescriptor is error 3989: a request of a client names another transaction than the open
// one.
func InvalidDescriptor() *Error { return Of(3989) }
