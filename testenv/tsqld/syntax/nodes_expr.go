package syntax

// Expr is something with a value.
type Expr interface {
	Node
	exprNode()
}

// Cond is something that is true, false or unknown: what may stand behind WHERE, ON, IF, WHEN.
type Cond interface {
	Node
	condNode()
}

// expr is embedded in every Expr.
type expr struct{ node }

// exprNode marks expressions.
func (*expr) exprNode() {}

// cond is embedded in every Cond.
type cond struct{ node }

// condNode marks conditions.
func (*cond) condNode() {}

// Ident is one name, without its quotes. A zero Ident (Name "") means that none was written.
type Ident struct {
	Name   string
	Quoted bool // written in brackets or quotation marks
	At     Pos
}

// Pos implements [Node].
func (i Ident) Pos() Pos { return i.At }

// ObjectName is a name of up to four parts: server.database.schema.object. Left-out parts in the middle
// (db..t) are idents with an empty Name.
type ObjectName struct {
	node
	Parts []Ident // 1 to 4
}

// Last is the object's own name, the only part that can't be empty.
func (n *ObjectName) Last() string { return n.part(1) }

// Schema is the part before the object's name, "" if none was written.
func (n *ObjectName) Schema() string { return n.part(2) }

// Database is the third part from the right, "" if none was written.
func (n *ObjectName) Database() string { return n.part(3) }

// Server is the linked server, "" if none was written.
func (n *ObjectName) Server() string { return n.part(4) }

// part returns the i-th part from the right, from 1.
func (n *ObjectName) part(i int) string {
	if i > len(n.Parts) {
		return ""
	}
	return n.Parts[len(n.Parts)-i].Name
}

// String is the name as written but for quotes: "dbo.t", "db..t".
func (n *ObjectName) String() string {
	s := ""
	for i, p := range n.Parts {
		if i > 0 {
			s += "."
		}
		s += p.Name
	}
	return s
}

// LiteralKind tells the constants apart.
type LiteralKind uint8

// Kinds of [Literal], with what its Text holds.
const (
	NullLit      LiteralKind = iota // NULL; Text is empty
	IntLit                          // digits without point or exponent, of any length; no sign
	DecimalLit                      // digits with a point: 1.50, .5, 5.
	FloatLit                        // digits with an exponent: 1e3, 1.5E-2
	MoneyLit                        // the amount behind the currency sign, possibly with a sign: "1.5", "-2"; "" means 0
	StringLit                       // '...': the value, quotes doubled inside undone
	NStringLit                      // N'...': the same
	BinaryLit                       // 0x...: the bytes, as a Go string
	DateLit                         // {d '...'}: the text inside
	TimeLit                         // {t '...'}
	TimestampLit                    // {ts '...'}
	GUIDLit                         // {guid '...'}
)

// Literal is a constant.
type Literal struct {
	expr
	Kind LiteralKind
	Text string // see LiteralKind
	Bare bool   // a StringLit written as a bare word: EXEC p word, SET DATEFORMAT dmy
}

// Default is the word DEFAULT where a value may stand: VALUES, UPDATE's SET, arguments of procedures and functions.
type Default struct{ expr }

// Keyword is a bare word in a place where the grammar wants one of a fixed set: the datepart of DATEADD,
// ON and OFF as the value of an [Option].
type Keyword struct {
	expr
	Name string // as written, in a datepart; capitals elsewhere
}

// ColumnRef names a column: c, t.c, s.t.c, d.s.t.c. Empty parts in the middle as in [ObjectName].
type ColumnRef struct {
	expr
	Parts []Ident // 1 to 4, the column last
}

// Column is the last part.
func (c *ColumnRef) Column() string { return c.Parts[len(c.Parts)-1].Name }

// PseudoColumn is $IDENTITY, $ROWGUID, $ACTION, or $PARTITION-like words, with an optional qualifier.
type PseudoColumn struct {
	expr
	Qualifier []Ident // nil if none
	Name      string  // capitals, with the dollar: "$ACTION"
}

// VarRef reads a variable or parameter.
type VarRef struct {
	expr
	Name string // with @, as written
}

// GlobalRef is a system function of the old form: @@ROWCOUNT.
type GlobalRef struct {
	expr
	Name string // capitals, with @@
}

// Op is an operator, of an expression, a comparison or a compound assignment.
type Op uint8

// Operators. The zero Op is no operator; in an assignment it means plain "=".
const (
	OpNone   Op = iota
	OpAdd       // + (also concatenation)
	OpSub       // -
	OpMul       // *
	OpDiv       // /
	OpMod       // %
	OpBitAnd    // &
	OpBitOr     // |
	OpBitXor    // ^
	OpPlus      // unary +
	OpMinus     // unary -
	OpBitNot    // unary ~
	OpEQ        // =
	OpNE        // <> and !=
	OpLT        // <
	OpLE        // <= and !>
	OpGT        // >
	OpGE        // >= and !<
	OpAnd       // AND
	OpOr        // OR
)

// UnaryExpr is +x, -x or ~x.
type UnaryExpr struct {
	expr
	Op Op // OpPlus, OpMinus or OpBitNot
	X  Expr
}

// BinaryExpr is arithmetic, concatenation or a bit operation.
type BinaryExpr struct {
	expr
	Op   Op // OpAdd to OpBitXor
	X, Y Expr
}

// ParenExpr is an expression in parentheses; it is kept, because (c) is no column in places and the text of
// defaults shows it.
type ParenExpr struct {
	expr
	X Expr
}

// CaseExpr is CASE in both forms.
type CaseExpr struct {
	expr
	Operand Expr // nil in the searched form
	Whens   []*When
	Else    Expr // nil if left out, which means NULL
}

// When is a branch of CASE.
type When struct {
	node
	Value Expr // simple form: compared with the operand; else nil
	Cond  Cond // searched form; else nil
	Then  Expr
}

// CastExpr is CAST(X AS Type) or TRY_CAST.
type CastExpr struct {
	expr
	Try  bool
	X    Expr
	Type *TypeRef
}

// ConvertExpr is CONVERT(Type, X, Style) or TRY_CONVERT.
type ConvertExpr struct {
	expr
	Try   bool
	Type  *TypeRef
	X     Expr
	Style Expr // nil if left out
}

// ParseAsExpr is PARSE(X AS Type USING Culture) or TRY_PARSE.
type ParseAsExpr struct {
	expr
	Try     bool
	X       Expr
	Type    *TypeRef
	Culture Expr // nil if left out
}

// IIfExpr is IIF(Cond, Then, Else).
type IIfExpr struct {
	expr
	Cond       Cond
	Then, Else Expr
}

// FuncCall is a call of a built-in or user-defined function, aggregates and window functions included.
// The first argument of DATEADD and its like is a *[Keyword]. COALESCE, NULLIF and CHOOSE are calls;
// CURRENT_TIMESTAMP and its like are calls with NoParens.
type FuncCall struct {
	expr
	Name        *ObjectName // one part for built-in functions; capitals for words that are keywords, else as written
	NoParens    bool        // CURRENT_TIMESTAMP, CURRENT_USER, SESSION_USER, SYSTEM_USER, USER, CURRENT_DATE
	ODBC        bool        // written {fn f(...)}
	Distinct    bool        // f(DISTINCT x); ALL is not recorded, being the default
	Star        bool        // COUNT(*); Args is empty then
	Args        []Expr
	WithinGroup []*OrderItem // WITHIN GROUP (ORDER BY ...); nil if none
	Nulls       NullTreatment
	Over        *Over // nil if none
}

// NullTreatment is IGNORE NULLS or RESPECT NULLS of LAG, LEAD, FIRST_VALUE and LAST_VALUE.
type NullTreatment uint8

// Null treatments.
const (
	NullsDefault NullTreatment = iota // not written
	NullsIgnore
	NullsRespect
)

// MethodCall is X.Method(Args) on something that can't be mistaken for a name: a variable or an expression in
// parentheses (methods of xml and of CLR types). t.c.value(...) is a [FuncCall] with several name parts.
type MethodCall struct {
	expr
	X      Expr
	Method string
	Args   []Expr
}

// TrimExpr is TRIM in its long forms: TRIM([LEADING|TRAILING|BOTH] Chars FROM X). TRIM(x) is a [FuncCall].
type TrimExpr struct {
	expr
	Side  string // "", "LEADING", "TRAILING" or "BOTH"
	Chars Expr
	X     Expr
}

// JSONObjectExpr is JSON_OBJECT('k': v, ...).
type JSONObjectExpr struct {
	expr
	Keys, Values []Expr // of the same length
	AbsentOnNull bool   // ABSENT ON NULL; NULL ON NULL is the default of JSON_OBJECT
}

// JSONArrayExpr is JSON_ARRAY(v, ...).
type JSONArrayExpr struct {
	expr
	Items      []Expr
	NullOnNull bool // NULL ON NULL; ABSENT ON NULL is the default of JSON_ARRAY
}

// CollateExpr is X COLLATE name.
type CollateExpr struct {
	expr
	X         Expr
	Collation string
}

// AtTimeZoneExpr is X AT TIME ZONE Zone.
type AtTimeZoneExpr struct {
	expr
	X    Expr
	Zone Expr
}

// SubqueryExpr is a scalar subquery.
type SubqueryExpr struct {
	expr
	Query *Query
}

// NextValueExpr is NEXT VALUE FOR Sequence.
type NextValueExpr struct {
	expr
	Sequence *ObjectName
	Over     *Over // nil if none; only ORDER BY is allowed in it
}

// IdentityExpr is IDENTITY(type, seed, increment) in the select list of SELECT INTO.
type IdentityExpr struct {
	expr
	Type            *TypeRef
	Seed, Increment string // decimal integers with sign; "1" when left out
}

// Over is the window of a function.
type Over struct {
	node
	Window      Ident // OVER w, or the base of OVER (w ...); zero if none
	PartitionBy []Expr
	OrderBy     []*OrderItem
	Frame       *Frame // nil if none
}

// Frame is ROWS or RANGE of a window.
type Frame struct {
	node
	Rows bool // ROWS, else RANGE
	From FrameBound
	To   *FrameBound // nil without BETWEEN, which means CURRENT ROW
}

// FrameBound is one end of a frame.
type FrameBound struct {
	Kind   BoundKind
	Offset Expr // Preceding and Following only
}

// BoundKind is where a frame begins or ends.
type BoundKind uint8

// Bounds of frames.
const (
	UnboundedPreceding BoundKind = iota
	Preceding
	CurrentRow
	Following
	UnboundedFollowing
)

// OrderItem is an item of ORDER BY.
type OrderItem struct {
	node
	X    Expr // an *IntLit literal is a position where SQL Server takes it as one (not in OVER)
	Desc bool
}

// CompareCond compares two values.
type CompareCond struct {
	cond
	Op   Op // OpEQ to OpGE
	X, Y Expr
}

// QuantifiedCond is X op ALL|ANY (query); SOME is ANY.
type QuantifiedCond struct {
	cond
	Op    Op // OpEQ to OpGE
	X     Expr
	All   bool
	Query *Query
}

// LogicCond is X AND Y, X OR Y.
type LogicCond struct {
	cond
	Op   Op // OpAnd or OpOr
	X, Y Cond
}

// NotCond is NOT X.
type NotCond struct {
	cond
	X Cond
}

// ParenCond is a condition in parentheses.
type ParenCond struct {
	cond
	X Cond
}

// LikeCond is X [NOT] LIKE Pattern [ESCAPE Escape].
type LikeCond struct {
	cond
	Not     bool
	X       Expr
	Pattern Expr
	Escape  Expr // nil if left out
}

// BetweenCond is X [NOT] BETWEEN Low AND High.
type BetweenCond struct {
	cond
	Not       bool
	X         Expr
	Low, High Expr
}

// InCond is X [NOT] IN (List) or X [NOT] IN (Query).
type InCond struct {
	cond
	Not   bool
	X     Expr
	List  []Expr // nil when Query is set
	Query *Query // nil when List is set
}

// ExistsCond is EXISTS (Query).
type ExistsCond struct {
	cond
	Query *Query
}

// IsNullCond is X IS [NOT] NULL.
type IsNullCond struct {
	cond
	Not bool
	X   Expr
}

// DistinctCond is X IS [NOT] DISTINCT FROM Y.
type DistinctCond struct {
	cond
	Not  bool
	X, Y Expr
}

// UpdatedCond is UPDATE(column), in triggers.
type UpdatedCond struct {
	cond
	Column Ident
}

// TypeRef names a type; nothing is checked but the shape. Words of the standard are turned into SQL Server's
// (character varying → varchar, double precision → float), capitals are kept as written otherwise.
type TypeRef struct {
	node
	Name *ObjectName // one part, or schema and name
	Args []int       // length, or precision and scale; empty if none was written
	Max  bool        // (max)
}
