package syntax

// DeclareStmt is DECLARE of variables.
type DeclareStmt struct {
	stmt
	Vars []*VarDecl
}

// VarDecl is one variable: scalar, cursor or table.
type VarDecl struct {
	At
	Name   string // with @
	Type   *TypeRef
	Init   Expr      // nil if none
	Table  *TableDef // definition of a table variable; Type is then nil
	Cursor bool      // @c CURSOR; Type is then nil
}

// CursorDef is a cursor's definition, in DECLARE or SET.
type CursorDef struct {
	At
	Scope         string // "LOCAL", "GLOBAL"; "" if not written
	Scroll        bool
	ForwardOnly   bool
	Kind          string // "STATIC", "KEYSET", "DYNAMIC", "FAST_FORWARD"; "" if not written
	Insensitive   bool   // in the syntax of the SQL standard
	Concurrency   string // "READ_ONLY", "SCROLL_LOCKS", "OPTIMISTIC"; "" if not written
	TypeWarning   bool
	Query         *Query
	Hints         []*Option // OPTION (...); empty if not written
	ReadOnly      bool      // FOR READ ONLY
	ForUpdate     bool      // FOR UPDATE
	UpdateColumns []Ident   // FOR UPDATE OF; empty for all
}

// DeclareCursorStmt is DECLARE name CURSOR in the syntax of T-SQL or of the standard.
type DeclareCursorStmt struct {
	stmt
	Name   Ident
	Cursor *CursorDef
}

// CursorRef is the name of a cursor.
type CursorRef struct {
	At
	Global bool
	Name   string // with @ for a cursor variable
}

// OpenStmt is OPEN cursor.
type OpenStmt struct {
	stmt
	Cursor *CursorRef
}

// CloseStmt is CLOSE cursor.
type CloseStmt struct {
	stmt
	Cursor *CursorRef
}

// DeallocateStmt is DEALLOCATE cursor.
type DeallocateStmt struct {
	stmt
	Cursor *CursorRef
}

// FetchStmt is FETCH.
type FetchStmt struct {
	stmt
	Direction FetchDirection
	Offset    Expr // of FetchAbsolute and FetchRelative
	Cursor    *CursorRef
	Into      []string // variables, with @; empty sends the row to the client
}

// FetchDirection is the position of the row that FETCH reads.
type FetchDirection uint8

// The directions of FETCH.
const (
	FetchNext FetchDirection = iota // also when not written
	FetchPrior
	FetchFirst
	FetchLast
	FetchAbsolute
	FetchRelative
)

// SetVarStmt is SET @v = x.
type SetVarStmt struct {
	stmt
	Name   string     // with @
	Op     Op         // OpNone for =
	Value  Expr       // nil when Cursor is set
	Cursor *CursorDef // SET @c = CURSOR ...; nil otherwise
}

// SetOptionStmt is SET a, b ON|OFF.
type SetOptionStmt struct {
	stmt
	Options []string // capitals: "NOCOUNT", "XACT_ABORT", ...
	On      bool
}

// SetStatisticsStmt is SET STATISTICS IO, TIME ON|OFF.
type SetStatisticsStmt struct {
	stmt
	Options []string // capitals: "IO", "TIME", "PROFILE", "XML"
	On      bool
}

// SetValueStmt is SET with a value: LOCK_TIMEOUT, ROWCOUNT, DATEFORMAT, DATEFIRST, LANGUAGE,
// DEADLOCK_PRIORITY, TEXTSIZE, CONTEXT_INFO, QUERY_GOVERNOR_COST_LIMIT.
type SetValueStmt struct {
	stmt
	Option string // capitals
	Value  Expr   // a word (dmy, us_english, LOW) is a string literal with Bare set
}

// SetIsolationStmt is SET TRANSACTION ISOLATION LEVEL.
type SetIsolationStmt struct {
	stmt
	Level Isolation
}

// Isolation is a transaction isolation level.
type Isolation uint8

// Isolation levels, with the numbers of sys.dm_exec_sessions.
const (
	ReadUncommitted Isolation = iota + 1
	ReadCommitted
	RepeatableRead
	Serializable
	Snapshot
)

// String returns the level as SET writes it.
func (l Isolation) String() string {
	return map[Isolation]string{
		ReadUncommitted: "READ UNCOMMITTED", ReadCommitted: "READ COMMITTED", RepeatableRead: "REPEATABLE READ",
		Serializable: "SERIALIZABLE", Snapshot: "SNAPSHOT",
	}[l]
}

// SetIdentityInsertStmt is SET IDENTITY_INSERT t ON|OFF.
type SetIdentityInsertStmt struct {
	stmt
	Table *ObjectName
	On    bool
}

// IfStmt is IF.
type IfStmt struct {
	stmt
	Cond Cond
	Then Stmt
	Else Stmt // nil if none
}

// WhileStmt is WHILE.
type WhileStmt struct {
	stmt
	Cond Cond
	Body Stmt
}

// BreakStmt is BREAK. The parser checks that it is inside a WHILE.
type BreakStmt struct{ stmt }

// ContinueStmt is CONTINUE. The parser checks that it is inside a WHILE.
type ContinueStmt struct{ stmt }

// BlockStmt is BEGIN ... END.
type BlockStmt struct {
	stmt
	Body []Stmt // never empty in a parsed tree
}

// GotoStmt is GOTO. The parser checks that the batch or module has the label.
type GotoStmt struct {
	stmt
	Label string
}

// LabelStmt is a label.
type LabelStmt struct {
	stmt
	Label string
}

// ReturnStmt is RETURN.
type ReturnStmt struct {
	stmt
	Value Expr // nil if none
}

// TryStmt is BEGIN TRY ... END TRY BEGIN CATCH ... END CATCH.
type TryStmt struct {
	stmt
	Try   []Stmt
	Catch []Stmt // may be empty
}

// ThrowStmt is THROW. All three fields are nil for a THROW that raises the caught error again.
type ThrowStmt struct {
	stmt
	Number, Message, State Expr
}

// RaiserrorStmt is RAISERROR(Message, Severity, State, Args) WITH options.
type RaiserrorStmt struct {
	stmt
	Message  Expr // number, text or variable
	Severity Expr
	State    Expr
	Args     []Expr
	Log      bool
	NoWait   bool
	SetError bool
}

// PrintStmt is PRINT.
type PrintStmt struct {
	stmt
	X Expr
}

// ExecStmt is EXECUTE of a module or of text. Exactly one of Module, ModuleVar and Text is set.
type ExecStmt struct {
	stmt
	ReturnVar  string      // EXEC @rc = ...; with @; "" if none
	Module     *ObjectName // procedure or scalar function
	ModuleVar  string      // EXEC @name; with @
	Args       []*ExecArg  // in source order
	Text       Expr        // EXEC (text); concatenations are BinaryExpr
	As         string      // EXEC (text) AS USER|LOGIN = As; "" if none
	AsLogin    bool        // AS LOGIN
	Recompile  bool
	ResultSets *ResultSets // WITH RESULT SETS; nil if not written
	Implicit   bool        // a procedure's name without EXEC at the start of a batch
}

// ExecArg is an argument of EXECUTE.
type ExecArg struct {
	At
	Name   string // with @; "" when positional
	Value  Expr   // *Default for DEFAULT; a word is a string literal with Bare set
	Output bool
}

// ResultSets is WITH RESULT SETS.
type ResultSets struct {
	At
	Kind string         // "UNDEFINED", "NONE", or "" for definitions
	Sets [][]*ColumnDef // Name, Type, Collation and Null are set; AS OBJECT and AS TYPE are refused
}

// WaitForStmt is WAITFOR DELAY or WAITFOR TIME.
type WaitForStmt struct {
	stmt
	Time  bool // TIME, else DELAY
	Value Expr // string literal or variable
}

// BeginTranStmt is BEGIN TRANSACTION.
type BeginTranStmt struct {
	stmt
	Name    Expr // *Literal (bare) or *VarRef; nil if none
	Mark    Expr // WITH MARK 'text'; nil if none
	HasMark bool // WITH MARK was written
}

// CommitStmt is COMMIT.
type CommitStmt struct {
	stmt
	Name    Expr   // as in BeginTranStmt; ignored by SQL Server
	Durable string // DELAYED_DURABILITY = "ON"|"OFF"; "" if not written
}

// RollbackStmt is ROLLBACK.
type RollbackStmt struct {
	stmt
	Name Expr // transaction or savepoint; nil if none
}

// SaveTranStmt is SAVE TRANSACTION.
type SaveTranStmt struct {
	stmt
	Name Expr // never nil
}

// UseStmt is USE.
type UseStmt struct {
	stmt
	Database Ident
}

// UnsupportedStmt is a statement that the parser reads but the embedded server does not support.
// Executing it raises mserr.NotSupported(What).
type UnsupportedStmt struct {
	stmt
	What string // "BACKUP DATABASE", "OPEN SYMMETRIC KEY"
	Text string // the statement as written
}
