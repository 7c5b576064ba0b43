package query

import (
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/term"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// atNode returns the position of n for a node that begins with n; n may be nil after an error.
func atNode(n syntax.Node) syntax.At {
	if n == nil {
		return syntax.At{}
	}
	return syntax.AtPos(n.Pos())
}

// Expr reads a value.
func Expr(c *tokens.Cursor) syntax.Expr {
	x, _ := additive(c, false).(syntax.Expr)
	return x
}

// Exprs reads values separated by commas.
func Exprs(c *tokens.Cursor) []syntax.Expr {
	return tokens.List(c, Expr)
}

// additiveOps bind less tightly than multiplicativeOps. SQL Server gives &, ^ and | the precedence
// of + and -.
var (
	additiveOps       = map[string]syntax.Op{"+": syntax.OpAdd, "-": syntax.OpSub, "&": syntax.OpBitAnd, "|": syntax.OpBitOr, "^": syntax.OpBitXor}
	multiplicativeOps = map[string]syntax.Op{"*": syntax.OpMul, "/": syntax.OpDiv, "%": syntax.OpMod}
)

// shifts are the operators that are other spellings of functions ("LEFT_SHIFT"). SQL Server gives
// them the precedence of &.
var shifts = map[string]string{"<<": "LEFT_SHIFT", ">>": "RIGHT_SHIFT"}

// infix consumes an operator of ops; it returns OpNone if there is none.
func infix(c *tokens.Cursor, ops map[string]syntax.Op) syntax.Op {
	if t := c.Current(); t.Kind == scanner.Operator {
		if op, ok := ops[t.Text]; ok {
			c.Next()
			if op == syntax.OpBitOr && c.At("|") {
				c.Reject("the operator ||")
			}
			return op
		}
	}
	return syntax.OpNone
}

// additive reads a value. If either is set, it also accepts a condition in parentheses.
func additive(c *tokens.Cursor, either bool) syntax.Node {
	defer c.EndChain(c.BeginChain())
	n := multiplicative(c, either)
	for {
		x, ok := n.(syntax.Expr)
		if !ok {
			return n
		}
		if c.AtAny("<<", ">>") {
			c.AddOperator()
			name := shifts[c.Next().Text]
			y, _ := multiplicative(c, false).(syntax.Expr)
			n = builtinCall(atNode(x), name, x, y)
			continue
		}
		op := infix(c, additiveOps)
		if op == syntax.OpNone {
			return n
		}
		c.AddOperator()
		y, _ := multiplicative(c, false).(syntax.Expr)
		n = &syntax.BinaryExpr{At: atNode(x), Op: op, X: x, Y: y}
	}
}

// multiplicative reads an operand of + and the other additive operators.
func multiplicative(c *tokens.Cursor, either bool) syntax.Node {
	defer c.EndChain(c.BeginChain())
	n := unary(c, either)
	for {
		x, ok := n.(syntax.Expr)
		if !ok {
			return n
		}
		op := infix(c, multiplicativeOps)
		if op == syntax.OpNone {
			return n
		}
		c.AddOperator()
		y, _ := unary(c, false).(syntax.Expr)
		n = &syntax.BinaryExpr{At: atNode(x), Op: op, X: x, Y: y}
	}
}

// unaryOps are the prefix operators.
var unaryOps = map[string]syntax.Op{"+": syntax.OpPlus, "-": syntax.OpMinus, "~": syntax.OpBitNot}

// unary reads a value with prefix operators, and with methods, COLLATE or AT TIME ZONE after it.
// The signs bind less than * and /, so that a / -b / c is a / (-(b / c)); ~ binds more ("Operator
// precedence").
func unary(c *tokens.Cursor, either bool) syntax.Node {
	e := c.Here()
	if op := infix(c, unaryOps); op != syntax.OpNone {
		if !c.Enter() {
			return nil
		}
		defer c.Leave()
		operand := multiplicative
		if op == syntax.OpBitNot {
			operand = unary
		}
		x, _ := operand(c, false).(syntax.Expr)
		return &syntax.UnaryExpr{At: e, Op: op, X: x}
	}
	defer c.EndChain(c.BeginChain())
	n := primary(c, either)
	for {
		x, ok := n.(syntax.Expr)
		if !ok {
			return n
		}
		switch {
		case c.At(".") && c.Peek(1).IsName() && c.Peek(2).Is("("):
			c.AddOperator()
			n = method(c, x)
		case c.Accept("COLLATE"):
			c.AddOperator()
			n = &syntax.CollateExpr{At: e, X: x, Collation: term.Ident(c).Name}
		case c.Accept("AT", "TIME", "ZONE"):
			c.AddOperator()
			zone, _ := primary(c, false).(syntax.Expr)
			n = &syntax.AtTimeZoneExpr{At: e, X: x, Zone: zone}
		default:
			return n
		}
	}
}

// primary reads an operand.
func primary(c *tokens.Cursor, either bool) syntax.Node {
	if !c.Enter() {
		return nil
	}
	defer c.Leave()
	if l := term.Literal(c); l != nil {
		return l
	}
	t := c.Current()
	e := c.Here()
	switch t.Kind {
	case scanner.Variable:
		return term.VarRef(c)
	case scanner.Global:
		c.Next()
		return &syntax.GlobalRef{At: e, Name: t.Upper}
	case scanner.Pseudo:
		c.Next()
		if t.Upper == "$PARTITION" {
			return partitionNumber(c, e)
		}
		return &syntax.PseudoColumn{At: e, Name: t.Upper}
	case scanner.Quoted:
		return named(c)
	case scanner.Word:
		return wordprimary(c)
	case scanner.Operator:
		switch t.Text {
		case "(":
			return parenthesised(c, either)
		case "{":
			return ODBC(c)
		case ".":
			return named(c)
		}
	}
	c.Fail()
	return &syntax.Literal{At: e}
}

// method reads .name(args) after x.
func method(c *tokens.Cursor, x syntax.Expr) *syntax.MethodCall {
	c.Expect(".")
	if !c.Peek(1).Is("(") {
		c.Reject("a property of a CLR type")
	}
	return &syntax.MethodCall{At: atNode(x), X: x, Method: term.Ident(c).Name, Args: Args(c)}
}

// parenthesised reads a value or subquery in parentheses, or a condition if either is set.
func parenthesised(c *tokens.Cursor, either bool) syntax.Node {
	at := c.Here()
	if c.Peek(1).Is("SELECT") || c.Peek(1).Is("WITH") {
		return &syntax.SubqueryExpr{At: at, Query: ParenQuery(c)}
	}
	c.Expect("(")
	var n syntax.Node
	if either {
		n = or(c)
	} else {
		n = Expr(c)
	}
	if cond, ok := n.(syntax.Cond); ok {
		c.Expect(")")
		return &syntax.ParenCond{At: at, X: cond}
	}
	x, _ := n.(syntax.Expr)
	if sub, ok := x.(*syntax.SubqueryExpr); ok && c.AtAny("UNION", "EXCEPT", "INTERSECT") {
		left := &syntax.ParenQuery{At: sub.At, X: sub.Query.Body}
		deepest := c.Deepest()
		q := &syntax.Query{At: sub.At, Body: setOps(c, func(*tokens.Cursor) syntax.QueryBody { c.Deepen(deepest); return left })}
		queryTail(c, q)
		c.Expect(")")
		return &syntax.SubqueryExpr{At: at, Query: q}
	}
	c.Expect(")")
	return &syntax.ParenExpr{At: at, X: x}
}

// wordPrimary reads an operand that starts with a word without quotes.
func wordprimary(c *tokens.Cursor) syntax.Expr {
	t := c.Current()
	e := c.Here()
	call := c.Peek(1).Is("(")
	switch t.Upper {
	case "NULL":
		c.Next()
		return &syntax.Literal{At: e, Kind: syntax.NullLit}
	case "CASE":
		return caseExpr(c)
	case "CURRENT_TIMESTAMP", "CURRENT_USER", "SESSION_USER", "SYSTEM_USER", "USER", "CURRENT_DATE", "CURRENT_TIME":
		c.Next()
		if call && c.Peek(1).Is(")") { // CURRENT_TIMESTAMP() is an ODBC function call
			c.Skip(2)
		}
		return &syntax.FuncCall{At: e, NoParens: true, Name: keywordName(t)}
	case "IDENTITYCOL":
		c.Next()
		return &syntax.PseudoColumn{At: e, Name: "$IDENTITY"}
	case "ROWGUIDCOL":
		c.Next()
		return &syntax.PseudoColumn{At: e, Name: "$ROWGUID"}
	case "NEXT":
		if c.Accept("NEXT", "VALUE", "FOR") {
			return &syntax.NextValueExpr{At: e, Sequence: term.Name(c), Over: over(c)}
		}
	}
	if call {
		if x := keywordCall(c, e, t); x != nil {
			return x
		}
	}
	return named(c)
}

// named reads a column or a function call.
func named(c *tokens.Cursor) syntax.Expr {
	e := c.Here()
	parts := term.Parts(c, "column")
	if c.At("(") {
		return call(c, e, &syntax.ObjectName{At: e, Parts: parts})
	}
	if c.At("::") {
		c.Reject("a static method (::)")
	}
	if c.At(".") {
		c.Next()
		if t := c.Current(); t.Kind == scanner.Pseudo {
			c.Next()
			return &syntax.PseudoColumn{At: e, Qualifier: parts, Name: t.Upper}
		}
		c.Fail()
	}
	return &syntax.ColumnRef{At: e, Parts: parts}
}

// ExprOrDefault reads a value or DEFAULT.
func ExprOrDefault(c *tokens.Cursor) syntax.Expr {
	if c.At("DEFAULT") {
		return &syntax.Default{At: syntax.AtPos(c.Next().At)}
	}
	return Expr(c)
}

// caseExpr reads CASE.
func caseExpr(c *tokens.Cursor) syntax.Expr {
	x := &syntax.CaseExpr{At: c.Here()}
	c.Expect("CASE")
	if !c.At("WHEN") {
		x.Operand = Expr(c)
	}
	if !c.At("WHEN") {
		c.Fail()
	}
	for c.At("WHEN") {
		w := &syntax.When{At: c.Here()}
		c.Next()
		if x.Operand != nil {
			w.Value = Expr(c)
		} else {
			w.Cond = Cond(c)
		}
		c.Expect("THEN")
		w.Then = Expr(c)
		x.Whens = append(x.Whens, w)
	}
	if c.Accept("ELSE") {
		x.Else = Expr(c)
	}
	c.Expect("END")
	return x
}

// WordOrExpr reads a value. A word without quotes is a string.
func WordOrExpr(c *tokens.Cursor) syntax.Expr {
	if c.Current().IsName() {
		return term.Word(c)
	}
	return Expr(c)
}

// Simple reads a value where the grammar does not allow expressions: a constant, a variable, NULL,
// an escape sequence, or a word, which is a string. signs are those allowed before a number.
func Simple(c *tokens.Cursor, signs ...string) syntax.Expr {
	at := c.Here()
	switch {
	case c.Current().IsName():
		return term.Word(c)
	case c.AtKind(scanner.Variable, scanner.Global), c.AtAny("NULL", "{"):
		x, _ := primary(c, false).(syntax.Expr)
		return x
	case c.AtAny(signs...):
		op := infix(c, unaryOps)
		if !c.AtKind(scanner.Int, scanner.Decimal, scanner.Float, scanner.Money) {
			c.Fail()
		}
		return &syntax.UnaryExpr{At: at, Op: op, X: term.Constant(c)}
	}
	return term.Constant(c)
}
