package syntax

// InsertStmt is INSERT.
type InsertStmt struct {
	stmt
	With       []*CTE
	Top        *Top
	Target     TableSource // *TableName or *TableVar, without alias
	Columns    []Ident     // nil if none were written
	OutputInto *Output     // OUTPUT ... INTO; nil if none
	Output     *Output     // OUTPUT to the client; nil if none
	Source     InsertSource
	Hints      []*Option // OPTION (...)
}

// InsertSource is an *[InsertValues], *[InsertQuery], *[InsertExec] or *[InsertDefaults].
type InsertSource interface {
	Node
	insertSourceNode()
}

// insertSource marks sources of INSERT.
type insertSource struct{}

// insertSourceNode implements [InsertSource].
func (insertSource) insertSourceNode() {}

// InsertValues is VALUES (...), (...).
type InsertValues struct {
	At
	insertSource
	Rows [][]Expr // may contain *Default
}

// InsertQuery is INSERT ... SELECT.
type InsertQuery struct {
	At
	insertSource
	Query *Query
}

// InsertExec is INSERT ... EXEC.
type InsertExec struct {
	At
	insertSource
	Exec *ExecStmt
}

// InsertDefaults is DEFAULT VALUES.
type InsertDefaults struct {
	At
	insertSource
}

// Output is an OUTPUT clause.
type Output struct {
	At
	Items       []SelectItem // columns of inserted and deleted, $ACTION, and in MERGE, UPDATE and DELETE columns of FROM
	Into        TableSource  // *TableName or *TableVar; nil for output to the client
	IntoColumns []Ident      // nil if none were written
}

// UpdateStmt is UPDATE.
type UpdateStmt struct {
	stmt
	With       []*CTE
	Top        *Top
	Target     TableSource // *TableName (a table, or an alias of From) or *TableVar
	Sets       []*SetClause
	OutputInto *Output
	Output     *Output
	From       []TableSource
	Where      Cond
	CurrentOf  *CursorRef // WHERE CURRENT OF; nil if none
	Hints      []*Option
}

// SetClause is an assignment of UPDATE or MERGE: c = x, c += x, @v = x, @v = c = x, c.WRITE(...),
// c.modify(...). The Value of the last one is a [MethodCall] with Mutator.
type SetClause struct {
	At
	Var    string     // with @; "" if none
	Column *ColumnRef // nil when only a variable is assigned
	Op     Op         // operator of the last assignment; OpNone for =
	Value  Expr       // may be *Default; nil when Write is set
	Write  []Expr     // the three arguments of .WRITE; nil if not used
}

// DeleteStmt is DELETE.
type DeleteStmt struct {
	stmt
	With       []*CTE
	Top        *Top
	Target     TableSource // as in UpdateStmt
	OutputInto *Output
	Output     *Output
	From       []TableSource // the second FROM
	Where      Cond
	CurrentOf  *CursorRef
	Hints      []*Option
}

// MergeStmt is MERGE.
type MergeStmt struct {
	stmt
	With       []*CTE
	Top        *Top
	Target     TableSource // *TableName or *TableVar, with its alias
	Using      TableSource
	On         Cond
	Whens      []*MergeWhen // in source order; the first one that applies wins
	OutputInto *Output
	Output     *Output
	Hints      []*Option
}

// MergeWhen is a WHEN branch of MERGE.
type MergeWhen struct {
	At
	Match   MergeMatch
	And     Cond // nil if none
	Action  MergeAction
	Sets    []*SetClause // MergeUpdate
	Columns []Ident      // MergeInsert; nil if none were written
	Values  []Expr       // MergeInsert; nil means DEFAULT VALUES
}

// MergeMatch is the case in which a branch of MERGE applies.
type MergeMatch uint8

// The cases of MERGE's branches.
const (
	Matched            MergeMatch = iota
	NotMatchedByTarget            // also plain NOT MATCHED
	NotMatchedBySource
)

// MergeAction is the action of a branch of MERGE.
type MergeAction uint8

// Actions of MERGE.
const (
	MergeUpdate MergeAction = iota
	MergeDelete
	MergeInsert
)

// TruncateStmt is TRUNCATE TABLE.
type TruncateStmt struct {
	stmt
	Table *ObjectName
}

// InsertBulkStmt is INSERT BULK, which drivers send before a bulk load stream.
type InsertBulkStmt struct {
	stmt
	Table   *ObjectName
	Columns []*ColumnDef // Name, Type, Collation and Null are set
	Options []*Option    // CHECK_CONSTRAINTS, KEEP_NULLS, TABLOCK, ROWS_PER_BATCH = n, ORDER (...), ...
}
