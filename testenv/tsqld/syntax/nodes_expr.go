package syntax

import "strings"

// Expr is an expression with a value.
type Expr interface {
	Node
	exprNode()
}

// Cond is a condition: it is true, false or unknown. WHERE, ON, IF and WHEN take conditions.
type Cond interface {
	Node
	condNode()
}

// expr marks expressions.
type expr struct{}

// exprNode implements [Expr].
func (expr) exprNode() {}

// cond marks conditions.
type cond struct{}

// condNode implements [Cond].
func (cond) condNode() {}

// Ident is one name, without its quotes. The zero Ident (Name "") means that the source has none.
type Ident struct {
	Name   string
	Quoted bool // written in brackets or quotation marks
	At     Pos
}

// Pos implements [Node].
func (i Ident) Pos() Pos { return i.At }

// QuoteName returns name in brackets.
func QuoteName(name string) string { return "[" + strings.ReplaceAll(name, "]", "]]") + "]" }

// ObjectName is a name of up to four parts: server.database.schema.object. Omitted parts in the
// middle (db..t) have an empty Name.
type ObjectName struct {
	At
	Parts []Ident // 1 to 4
}

// Last returns the object's own name, the only part that cannot be empty.
func (n *ObjectName) Last() string { return n.part(1) }

// Schema returns the part before the object's name, or "".
func (n *ObjectName) Schema() string { return n.part(2) }

// Database returns the third part from the right, or "".
func (n *ObjectName) Database() string { return n.part(3) }

// Server returns the linked server, or "".
func (n *ObjectName) Server() string { return n.part(4) }

// part returns the i-th part from the right, from 1.
func (n *ObjectName) part(i int) string {
	if i > len(n.Parts) {
		return ""
	}
	return n.Parts[len(n.Parts)-i].Name
}

// String returns the name as written, without quotes: "dbo.t", "db..t".
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

// LiteralKind is the kind of a constant.
type LiteralKind uint8

// The kinds of [Literal], with the contents of its Text.
const (
	NullLit      LiteralKind = iota // NULL; Text is empty
	IntLit                          // digits without point or exponent, of any length; no sign
	DecimalLit                      // digits with a point: 1.50, .5, 5.
	FloatLit                        // digits with an exponent: 1e3, 1.5E-2
	MoneyLit                        // the amount after the currency sign, possibly with a sign: "1.5", "-2"; "" means 0
	StringLit                       // '...': the value, with doubled quotes replaced
	NStringLit                      // N'...': the same
	BinaryLit                       // 0x...: the bytes, as a Go string
	DateLit                         // {d '...'}: the text inside
	TimeLit                         // {t '...'}
	TimestampLit                    // {ts '...'}
	GUIDLit                         // {guid '...'}
)

// Literal is a constant.
type Literal struct {
	At
	expr
	Kind LiteralKind
	Text string // see LiteralKind
	Bare bool   // a StringLit written without quotes: EXEC p word, SET DATEFORMAT dmy
}

// Default is the word DEFAULT in place of a value: in VALUES, UPDATE's SET, and arguments of
// procedures and functions.
type Default struct {
	At
	expr
}

// Keyword is a word without quotes where the grammar requires one of a fixed set: the date part of
// DATEADD, ON and OFF as the value of an [Option].
type Keyword struct {
	At
	expr
	Name string // as written for a date part, otherwise in capitals
}

// ColumnRef names a column: c, t.c, s.t.c, d.s.t.c. Empty parts in the middle as in [ObjectName].
type ColumnRef struct {
	At
	expr
	Parts []Ident // 1 to 4, the column last
}

// Column returns the last part.
func (c *ColumnRef) Column() string { return c.Parts[len(c.Parts)-1].Name }

// PseudoColumn is $IDENTITY, $ROWGUID, $ACTION or a similar word, with an optional qualifier.
type PseudoColumn struct {
	At
	expr
	Qualifier []Ident // nil if none
	Name      string  // capitals, with the dollar: "$ACTION"
}

// VarRef is a variable or parameter.
type VarRef struct {
	At
	expr
	Name string // with @, as written
}

// GlobalRef is a system function of the old form: @@ROWCOUNT.
type GlobalRef struct {
	At
	expr
	Name string // capitals, with @@
}

// Op is an operator, of an expression, a comparison or a compound assignment.
type Op uint8

// The operators. The zero Op is no operator; in an assignment it means plain "=".
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

// operators are the texts of the operators.
var operators = [...]string{
	OpAdd: "+", OpSub: "-", OpMul: "*", OpDiv: "/", OpMod: "%", OpBitAnd: "&", OpBitOr: "|", OpBitXor: "^",
	OpPlus: "+", OpMinus: "-", OpBitNot: "~",
	OpEQ: "=", OpNE: "<>", OpLT: "<", OpLE: "<=", OpGT: ">", OpGE: ">=", OpAnd: "AND", OpOr: "OR",
}

// String returns the operator as T-SQL writes it, or "" for OpNone.
func (o Op) String() string { return operators[o] }

// UnaryExpr is +x, -x or ~x.
type UnaryExpr struct {
	At
	expr
	Op Op // OpPlus, OpMinus or OpBitNot
	X  Expr
}

// BinaryExpr is arithmetic, concatenation or a bit operation.
type BinaryExpr struct {
	At
	expr
	Op   Op // OpAdd to OpBitXor
	X, Y Expr
}

// ParenExpr is an expression in parentheses. The tree keeps them, because (c) is not a column
// reference in some places and because the text of defaults shows them.
type ParenExpr struct {
	At
	expr
	X Expr
}

// CaseExpr is CASE in the simple or searched form.
type CaseExpr struct {
	At
	expr
	Operand Expr // nil in the searched form
	Whens   []*When
	Else    Expr // nil if omitted, which means NULL
}

// When is a branch of CASE.
type When struct {
	At
	Value Expr // simple form: compared with the operand; otherwise nil
	Cond  Cond // searched form; otherwise nil
	Then  Expr
}

// CastExpr is CAST(X AS Type) or TRY_CAST.
type CastExpr struct {
	At
	expr
	Try  bool
	X    Expr
	Type *TypeRef
}

// ConvertExpr is CONVERT(Type, X, Style) or TRY_CONVERT.
type ConvertExpr struct {
	At
	expr
	Try   bool
	Type  *TypeRef
	X     Expr
	Style Expr // nil if left out
}

// ParseAsExpr is PARSE(X AS Type USING Culture) or TRY_PARSE.
type ParseAsExpr struct {
	At
	expr
	Try     bool
	X       Expr
	Type    *TypeRef
	Culture Expr // nil if left out
}

// IIfExpr is IIF(Cond, Then, Else).
type IIfExpr struct {
	At
	expr
	Cond       Cond
	Then, Else Expr
}

// FuncCall is a call of a built-in or user-defined function, including aggregates and window
// functions. The first argument of DATEADD and similar functions is a *[Keyword]. COALESCE, NULLIF
// and CHOOSE are calls; CURRENT_TIMESTAMP and similar functions are calls with NoParens.
type FuncCall struct {
	At
	expr
	Name        *ObjectName // one part for built-in functions; in capitals for keywords, otherwise as written
	NoParens    bool        // CURRENT_TIMESTAMP, CURRENT_USER, SESSION_USER, SYSTEM_USER, USER, CURRENT_DATE
	ODBC        bool        // written {fn f(...)}
	Distinct    bool        // f(DISTINCT x); ALL is the default and not recorded
	Star        bool        // COUNT(*); Args is empty then
	Args        []Expr
	WithinGroup []*OrderItem // WITHIN GROUP (ORDER BY ...); nil if none
	Nulls       NullTreatment
	Over        *Over // nil if none
}

// NullTreatment is IGNORE NULLS or RESPECT NULLS of LAG, LEAD, FIRST_VALUE and LAST_VALUE.
type NullTreatment uint8

// The null treatments.
const (
	NullsDefault NullTreatment = iota // not written
	NullsIgnore
	NullsRespect
)

// MethodCall is X.Method(Args) on a variable or an expression in parentheses (methods of xml and of
// CLR types). t.c.value(...) is a [FuncCall] with several name parts.
type MethodCall struct {
	At
	expr
	X      Expr
	Method string
	Args   []Expr
	// Mutator is set if the call changes X: SET @x.modify(...), and column.modify(...) after SET of
	// UPDATE. The value is the changed X.
	Mutator bool
}

// TrimExpr is TRIM in its long forms: TRIM([LEADING|TRAILING|BOTH] Chars FROM X). TRIM(x) is a
// [FuncCall].
type TrimExpr struct {
	At
	expr
	Side  string // "", "LEADING", "TRAILING" or "BOTH"
	Chars Expr
	X     Expr
}

// JSONObjectExpr is JSON_OBJECT('k': v, ...).
type JSONObjectExpr struct {
	At
	expr
	Keys, Values []Expr // of the same length
	AbsentOnNull bool   // ABSENT ON NULL; NULL ON NULL is the default of JSON_OBJECT
}

// JSONArrayExpr is JSON_ARRAY(v, ...).
type JSONArrayExpr struct {
	At
	expr
	Items      []Expr
	NullOnNull bool // NULL ON NULL; ABSENT ON NULL is the default of JSON_ARRAY
}

// CollateExpr is X COLLATE name.
type CollateExpr struct {
	At
	expr
	X         Expr
	Collation string
}

// AtTimeZoneExpr is X AT TIME ZONE Zone.
type AtTimeZoneExpr struct {
	At
	expr
	X    Expr
	Zone Expr
}

// SubqueryExpr is a scalar subquery.
type SubqueryExpr struct {
	At
	expr
	Query *Query
}

// NextValueExpr is NEXT VALUE FOR Sequence.
type NextValueExpr struct {
	At
	expr
	Sequence *ObjectName
	Over     *Over // nil if none; only ORDER BY is allowed in it
}

// IdentityExpr is IDENTITY(type, seed, increment) in the select list of SELECT INTO.
type IdentityExpr struct {
	At
	expr
	Type            *TypeRef
	Seed, Increment string // decimal integers with sign; "1" if omitted
}

// Over is the window of a function.
type Over struct {
	At
	Window      Ident // OVER w, or the base of OVER (w ...); zero if none
	PartitionBy []Expr
	OrderBy     []*OrderItem
	Frame       *Frame // nil if none
}

// Frame is ROWS or RANGE of a window.
type Frame struct {
	At
	Rows bool // ROWS, else RANGE
	From FrameBound
	To   *FrameBound // nil without BETWEEN, which means CURRENT ROW
}

// FrameBound is one end of a frame.
type FrameBound struct {
	Kind   BoundKind
	Offset Expr // Preceding and Following only
}

// BoundKind is the position of a frame's begin or end.
type BoundKind uint8

// The bounds of frames.
const (
	UnboundedPreceding BoundKind = iota
	Preceding
	CurrentRow
	Following
	UnboundedFollowing
)

// OrderItem is an item of ORDER BY.
type OrderItem struct {
	At
	X    Expr // an IntLit literal is a position where SQL Server allows positions (not in OVER)
	Desc bool
}

// CompareCond compares two values.
type CompareCond struct {
	At
	cond
	Op   Op // OpEQ to OpGE
	X, Y Expr
}

// QuantifiedCond is X op ALL|ANY (query). SOME is ANY.
type QuantifiedCond struct {
	At
	cond
	Op    Op // OpEQ to OpGE
	X     Expr
	All   bool
	Query *Query
}

// LogicCond is X AND Y, X OR Y.
type LogicCond struct {
	At
	cond
	Op   Op // OpAnd or OpOr
	X, Y Cond
}

// NotCond is NOT X.
type NotCond struct {
	At
	cond
	X Cond
}

// ParenCond is a condition in parentheses.
type ParenCond struct {
	At
	cond
	X Cond
}

// LikeCond is X [NOT] LIKE Pattern [ESCAPE Escape].
type LikeCond struct {
	At
	cond
	Not     bool
	X       Expr
	Pattern Expr
	Escape  Expr // nil if left out
}

// BetweenCond is X [NOT] BETWEEN Low AND High.
type BetweenCond struct {
	At
	cond
	Not       bool
	X         Expr
	Low, High Expr
}

// InCond is X [NOT] IN (List) or X [NOT] IN (Query).
type InCond struct {
	At
	cond
	Not   bool
	X     Expr
	List  []Expr // nil when Query is set
	Query *Query // nil when List is set
}

// ExistsCond is EXISTS (Query).
type ExistsCond struct {
	At
	cond
	Query *Query
}

// IsNullCond is X IS [NOT] NULL.
type IsNullCond struct {
	At
	cond
	Not bool
	X   Expr
}

// DistinctCond is X IS [NOT] DISTINCT FROM Y.
type DistinctCond struct {
	At
	cond
	Not  bool
	X, Y Expr
}

// UpdatedCond is UPDATE(column), in triggers.
type UpdatedCond struct {
	At
	cond
	Column Ident
}

// TypeRef is the name of a type; only its shape is checked. Words of the SQL standard are
// translated to SQL Server's (character varying to varchar, double precision to float); other names
// are kept as written.
type TypeRef struct {
	At
	Name *ObjectName // one part, or schema and name
	Args []int       // length, or precision and scale; empty if none was written
	Max  bool        // (max)
}
