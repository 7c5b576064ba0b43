package syntax

// Pos is a place in a source text.
type Pos struct {
	Offset int // bytes from the start
	Line   int // from 1
	Col    int // bytes from the start of the line, from 1
}

// Node is anything in the tree that stands at a place in the source.
type Node interface {
	// Position is where the node begins.
	Position() Pos
}

// Position implements Node for everything that embeds a Pos.
func (p Pos) Position() Pos { return p }

// Stmt is a statement. Its extent in the source is Position().Offset to End(); errors carry its line.
type Stmt interface {
	Node
	// End is the offset behind the statement's last token (its semicolon not counted).
	End() int
	aStmt()
}

// Expr is a scalar expression.
type Expr interface {
	Node
	anExpr()
}

// Query is what can stand where rows are wanted: *Select, *SetOp or *ValuesQuery.
type Query interface {
	Node
	aQuery()
}

// TableExpr is an item of a FROM clause.
type TableExpr interface {
	Node
	aTableExpr()
}

// stmt is embedded in every statement.
type stmt struct {
	Pos
	end int
}

func (s *stmt) End() int         { return s.end }
func (s *stmt) setEnd(end int)   { s.end = end }
func (*stmt) aStmt()             {}
func (s *stmt) setStart(pos Pos) { s.Pos = pos }

// expr is embedded in every expression.
type expr struct{ Pos }

func (expr) anExpr() {}

// tableExpr is embedded in every item of a FROM clause.
type tableExpr struct{ Pos }

func (tableExpr) aTableExpr() {}

// Ident is one identifier as its owner meant it: brackets and quotes taken off. Names compare without regard to case.
type Ident struct {
	Pos
	Name   string
	Quoted bool // written in brackets or double quotes
}

// Name is an object's name of one to four parts; missing parts are empty (db..t has an empty Schema).
type Name struct {
	Pos
	Server, Database, Schema, Object string
}

// IsTemp says whether the name is that of a temporary table or procedure (#x, ##x).
func (n Name) IsTemp() bool { return len(n.Object) > 0 && n.Object[0] == '#' }

// TypeRef is a data type as written: a system type or a user-defined one.
type TypeRef struct {
	Pos
	Name    Name  // Object is the type's name in lower case for system types as written otherwise
	Args    []int // length, or precision and scale
	Max     bool  // (max)
	Varying bool  // CURSOR VARYING
}

// Batch is a parsed batch.
type Batch struct {
	Source string // the text it was parsed from
	Stmts  []Stmt
}
