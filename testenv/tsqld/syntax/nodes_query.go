package syntax

// Query is a query expression with its clauses.
type Query struct {
	At
	With    []*CTE    // only for the query of a SELECT statement, view, inline function or cursor
	Body    QueryBody // never nil
	OrderBy []*OrderItem
	Offset  Expr // OFFSET n ROWS; nil if none
	Fetch   Expr // FETCH NEXT n ROWS ONLY; nil if none
	For     *ForClause
}

// QueryBody is a *[Select], *[SetOp] or *[ParenQuery].
type QueryBody interface {
	Node
	queryBodyNode()
}

// queryBody marks bodies of queries.
type queryBody struct{}

// queryBodyNode implements [QueryBody].
func (queryBody) queryBodyNode() {}

// CTE is a common table expression, or XMLNAMESPACES (...), which may be the first of a list.
type CTE struct {
	At
	Name    Ident
	Columns []Ident // nil if none were written
	Query   *Query  // nil for XMLNAMESPACES
	Spaces  []*XMLNamespace
}

// XMLNamespace is 'URI' AS prefix, or DEFAULT 'URI'.
type XMLNamespace struct {
	At
	URI    *Literal
	Prefix Ident // zero for DEFAULT
}

// SetOp is UNION [ALL], EXCEPT or INTERSECT.
type SetOp struct {
	At
	queryBody
	Kind SetOpKind
	X, Y QueryBody
}

// SetOpKind is the kind of a set operation.
type SetOpKind uint8

// The set operations. Intersect binds more tightly than the others.
const (
	Union SetOpKind = iota
	UnionAll
	Except
	Intersect
)

// ParenQuery is a query in parentheses, either an operand of a set operation or a whole query.
type ParenQuery struct {
	At
	queryBody
	X QueryBody
}

// Select is SELECT without ORDER BY.
type Select struct {
	At
	queryBody
	Distinct bool
	Top      *Top // nil if none
	Items    []SelectItem
	Into     *ObjectName   // SELECT ... INTO; nil if none
	From     []TableSource // separated by commas; nil without FROM
	Where    Cond          // nil if none
	GroupBy  *GroupBy      // nil if none
	Having   Cond          // nil if none
	Windows  []*WindowDef
}

// Top is TOP of SELECT and of statements that change data.
type Top struct {
	At
	Count    Expr
	Paren    bool // TOP (n); otherwise Count is a number or a subquery
	Percent  bool
	WithTies bool
}

// SelectItem is a *[SelectStar], *[SelectExpr] or *[SelectAssign].
type SelectItem interface {
	Node
	selectItemNode()
}

// selectItem marks select items.
type selectItem struct{}

// selectItemNode implements [SelectItem].
func (selectItem) selectItemNode() {}

// SelectStar is * or t.*.
type SelectStar struct {
	At
	selectItem
	Qualifier []Ident // nil for a bare *
}

// SelectExpr is an expression with or without an alias. "a = expr" and "expr 'a'" are translated to
// this form.
type SelectExpr struct {
	At
	selectItem
	X     Expr
	Alias Ident // zero if none
}

// SelectAssign is @v = expr, @v += expr in a select list.
type SelectAssign struct {
	At
	selectItem
	Var string // with @
	Op  Op     // OpNone for =
	X   Expr
}

// GroupBy is the GROUP BY clause. A plain list has one GroupPlain item per expression.
type GroupBy struct {
	At
	Items []*GroupItem // SQL Server combines them as a cross product
	All   bool         // GROUP BY ALL, deprecated
}

// GroupItem is an element of GROUP BY.
type GroupItem struct {
	At
	Kind GroupKind
	X    Expr         // GroupPlain only
	Sub  []*GroupItem // members of ROLLUP, CUBE, GROUPING SETS and of a list in parentheses; empty for the grand total ()
}

// GroupKind is the kind of an element of GROUP BY.
type GroupKind uint8

// The elements of GROUP BY.
const (
	GroupPlain  GroupKind = iota // one expression
	GroupList                    // (a, b) inside ROLLUP, CUBE or GROUPING SETS; () is the grand total
	GroupRollup                  // ROLLUP (...); also the old WITH ROLLUP, with all expressions as members
	GroupCube                    // CUBE (...)
	GroupSets                    // GROUPING SETS (...)
)

// WindowDef is a name defined in the WINDOW clause.
type WindowDef struct {
	At
	Name Ident
	Over *Over
}

// TableSource is an item of FROM: *[TableName], *[TableVar], *[TableFunc], *[OpenJSON],
// *[MethodTable], *[DerivedTable], *[ValuesTable], *[Join], *[ParenTable], *[Pivot] or *[Unpivot].
type TableSource interface {
	Node
	tableSourceNode()
}

// table marks table sources.
type table struct{}

// tableSourceNode implements [TableSource].
func (table) tableSourceNode() {}

// TableName is a table, view, synonym or CTE, or in a data change possibly the alias of a table in
// FROM.
type TableName struct {
	At
	table
	Name  *ObjectName
	Alias Ident
	Hints []*TableHint
}

// TableVar is a table variable or table-valued parameter.
type TableVar struct {
	At
	table
	Name  string // with @
	Alias Ident
}

// TableHint is a word of WITH (...) after a table: NOLOCK, INDEX(ix), FORCESEEK.
type TableHint struct {
	At
	Name string // capitals
	Args []Expr // INDEX only; names of indexes are ColumnRefs of one part
}

// TableFunc is a table-valued function in FROM.
type TableFunc struct {
	At
	table
	Call    *FuncCall
	Alias   Ident
	Columns []Ident // nil if none
}

// MethodTable is X.nodes(...) AS t (c), the rows of an xml method. The same of a column,
// t.x.nodes(...), is a [TableFunc].
type MethodTable struct {
	At
	table
	Call    *MethodCall
	Alias   Ident
	Columns []Ident // nil if none
}

// OpenJSON is OPENJSON(X, Path) WITH (Columns).
type OpenJSON struct {
	At
	table
	X       Expr
	Path    Expr          // nil if none
	Columns []*JSONColumn // nil without WITH: key, value, type
	Alias   Ident
}

// JSONColumn is a column of OPENJSON's WITH.
type JSONColumn struct {
	At
	Name Ident
	Type *TypeRef
	// Collation is the name after COLLATE, or "".
	Collation string
	Path      *Literal // nil if none: $.name
	AsJSON    bool
}

// DerivedTable is a subquery in FROM.
type DerivedTable struct {
	At
	table
	Query   *Query
	Alias   Ident
	Columns []Ident // nil if none
}

// ValuesTable is (VALUES (...), (...)) in FROM or as the source of MERGE.
type ValuesTable struct {
	At
	table
	Rows    [][]Expr
	Alias   Ident
	Columns []Ident
}

// Join joins two table sources. APPLY is a join without ON whose right side can name the columns of
// the left side.
type Join struct {
	At
	table
	Kind        JoinKind
	Hint        string // "", "LOOP", "HASH", "MERGE" or "REMOTE"
	Left, Right TableSource
	On          Cond // nil for CrossJoin, CrossApply and OuterApply
}

// JoinKind is the kind of a join.
type JoinKind uint8

// The joins.
const (
	InnerJoin JoinKind = iota
	LeftJoin
	RightJoin
	FullJoin
	CrossJoin
	CrossApply
	OuterApply
)

// ParenTable is a join in parentheses.
type ParenTable struct {
	At
	table
	X TableSource
}

// Pivot is Source PIVOT (Aggregate FOR Column IN (Values)) AS Alias.
type Pivot struct {
	At
	table
	Source    TableSource
	Aggregate *FuncCall
	Column    *ColumnRef
	Values    []Ident
	Alias     Ident
}

// Unpivot is Source UNPIVOT (Value FOR Column IN (Columns)) AS Alias.
type Unpivot struct {
	At
	table
	Source  TableSource
	Value   Ident
	Column  Ident
	Columns []*ColumnRef
	Alias   Ident
}

// ForClause is FOR JSON, FOR XML or FOR BROWSE.
type ForClause struct {
	At
	Kind    ForKind
	Mode    string    // "PATH", "AUTO", "RAW", "EXPLICIT"; "" for BROWSE
	Element *Literal  // name in parentheses after PATH or RAW of FOR XML; nil if none
	Options []*Option // ROOT('x'), INCLUDE_NULL_VALUES, TYPE, ELEMENTS XSINIL, ...; the argument is Value
}

// ForKind is the kind of a FOR clause.
type ForKind uint8

// The FOR clauses.
const (
	ForJSON ForKind = iota
	ForXML
	ForBrowse
)

// Option is NAME, NAME = value, NAME value or NAME (list). Many clauses consist of options.
type Option struct {
	At
	Name   string    // in capitals, words joined by blanks ("HASH JOIN"); with @ for variables; "" for a value alone
	Equals bool      // name and value are separated by =
	Value  Expr      // nil if none; words such as ON and SIMPLE are *Keyword in capitals, "60 SECONDS" too
	Sub    []*Option // options in parentheses after the name or value; nil if none
}

// SelectStmt is a query as a statement, including SELECT with assignments.
type SelectStmt struct {
	stmt
	Query *Query
	Hints []*Option // OPTION (...)
}
