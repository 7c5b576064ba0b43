package mserr

// Errors at run time: procedures, transactions, locks, messages.
var (
	MissingParameter = of[func(procedure, parameter string) *Error](201)
	// ParameterType: name is such as ntext/nchar/nvarchar.
	ParameterType      = of[func(parameter, name string) *Error](214)
	NestingLevel       = of[func(limit int) *Error](217)
	TransactionCount   = of[func(before, after int) *Error](266)
	TooFewArguments    = of[func(function string) *Error](313)
	SideEffect         = of[func(what string) *Error](443)
	SubqueryRows       = of[func() *Error](512)
	RecursionExhausted = of[func(maximum int) *Error](530)
	FunctionsOnly      = of[func() *Error](557)
	// NotInTransaction: statement is DROP DATABASE and the like.
	NotInTransaction = of[func(statement string) *Error](574)
	// DatabaseNotInTransaction: statement is CREATE DATABASE and the like.
	DatabaseNotInTransaction = of[func(statement string) *Error](226)
	InsertExecNested         = of[func() *Error](8164)
	SaveWithoutTransaction   = of[func() *Error](628)
	// Deadlock: resource is lock, usually.
	Deadlock            = of[func(spid int, resource string) *Error](1205)
	LockTimeout         = of[func() *Error](1222)
	InvalidErrorNumber  = of[func(number, from, to int64) *Error](2732)
	InvalidSubstitution = of[func(name string, n int) *Error](2748)
	SeverityPermission  = of[func(maximum int) *Error](2754)
	SubstitutionType    = of[func(n int) *Error](2786)
	InvalidFormat       = of[func(format string) *Error](2787)
	NoProcedure         = of[func(name string) *Error](2812)
	// CheckCompleted: the last one of a DBCC statement.
	CheckCompleted = of[func() *Error](2528)
	// StatementTerminated: an informational message after an error that undid its statement.
	StatementTerminated  = of[func() *Error](3621)
	CommitWithoutBegin   = of[func() *Error](3902)
	RollbackWithoutBegin = of[func() *Error](3903)
	ReadOnlyDatabase     = of[func(name string) *Error](3906)
	// WrongOptions: verb is the statement, names the SET options in the order of the
	// documentation.
	WrongOptions            = of[func(verb, names string) *Error](1934)
	RollbackInInsertExec    = of[func() *Error](3915)
	CommitInInsertExec      = of[func() *Error](3916)
	Uncommittable           = of[func() *Error](3930)
	UncommittableSavepoint  = of[func() *Error](3931)
	UncommittableAtEnd      = of[func() *Error](3998)
	UnknownSavepoint        = of[func(name string) *Error](6401)
	InvalidSPID             = of[func(spid int64) *Error](6101)
	KillSelf                = of[func() *Error](6104)
	NoProcess               = of[func(spid int64) *Error](6106)
	DuplicateArgument       = of[func(parameter string) *Error](8143)
	SnapshotNotAllowed      = of[func(database string) *Error](3952)
	ReadPastLevel           = of[func() *Error](650)
	UpdateConflict          = of[func(table, database string) *Error](3960)
	SnapshotOfOldDefinition = of[func(database string) *Error](3961)
	TooManyProcArguments    = of[func(procedure string) *Error](8144)
	// TooManyParametersIn: statement is a keyword such as EXECUTE.
	TooManyParametersIn   = of[func(statement string, most int) *Error](180)
	NotParameter          = of[func(parameter, procedure string) *Error](8145)
	NoParameters          = of[func(procedure string) *Error](8146)
	NotOutput             = of[func(parameter string) *Error](8162)
	MissingQueryParameter = of[func(query, parameter string) *Error](8178)
	NoPreparedHandle      = of[func(handle int64) *Error](8179)
	// OutOfMemory: a statement needs more memory than its session may have, or than the server
	// has left.
	OutOfMemory       = of[func() *Error](701)
	InternalResources = of[func() *Error](8623)
	// Internal: the text hides the cause, which is reported to Config.OnError only.
	Internal               = of[func() *Error](8630)
	TooDeep                = of[func() *Error](8631)
	UnknownMessage         = of[func(number, severity, state int64) *Error](18054)
	InvalidProcArgument    = of[func(procedure string) *Error](15600)
	SessionContextFull     = of[func(key string) *Error](15665)
	SessionContextReadOnly = of[func(key string) *Error](15664)
	NoSuchProcObject       = of[func(object, database string) *Error](15009)
	NoItem                 = of[func(name, database, kind string) *Error](15225)
	AmbiguousItem          = of[func(kind string) *Error](15248)
	RenameTaken            = of[func(name, kind string) *Error](15335)
	// RenameCaution: an informational message of sp_rename.
	RenameCaution = of[func() *Error](15477)
	// ApplockNotHeld: resource is the name of the application lock, principal the one it was
	// asked under.
	ApplockNotHeld       = of[func(principal, resource string) *Error](1223)
	NeedsTransaction     = of[func() *Error](3918)
	SessionKilled        = of[func() *Error](596)
	OtherRequestsRunning = of[func() *Error](3988)
	ActiveAtBatchEnd     = of[func() *Error](3997)
	// ResetWithPendingRequests: after the message the server ends the connection.
	ResetWithPendingRequests = of[func() *Error](4001)
	// InvalidDescriptor: a request of a client names another transaction than the open one.
	InvalidDescriptor = of[func() *Error](3989)
)

// OthersInTransaction is error 3981. Its state is 1 for the end of a transaction, 2 for a
// savepoint.
func OthersInTransaction(state uint8) *Error { return Of(3981).WithState(state) }
