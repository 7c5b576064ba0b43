package term

import (
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// literalKinds maps the tokens that are constants.
var literalKinds = map[scanner.Kind]syntax.LiteralKind{
	scanner.Int: syntax.IntLit, scanner.Decimal: syntax.DecimalLit, scanner.Float: syntax.FloatLit, scanner.Money: syntax.MoneyLit,
	scanner.String: syntax.StringLit, scanner.NString: syntax.NStringLit, scanner.Binary: syntax.BinaryLit,
}

// AtLiteral reports whether the current token is a constant without sign.
func AtLiteral(c *tokens.Cursor) bool {
	_, ok := literalKinds[c.Current().Kind]
	return ok
}

// Literal consumes a constant without sign; it returns nil if there is none.
func Literal(c *tokens.Cursor) *syntax.Literal {
	t := c.Current()
	kind, ok := literalKinds[t.Kind]
	if !ok {
		return nil
	}
	c.Next()
	return &syntax.Literal{At: syntax.AtPos(t.At), Kind: kind, Text: t.Text}
}

// Constant reads a constant without sign.
func Constant(c *tokens.Cursor) *syntax.Literal {
	if l := Literal(c); l != nil {
		return l
	}
	c.Fail()
	return &syntax.Literal{}
}

// Word reads a word that stands for a string: dmy, us_english.
func Word(c *tokens.Cursor) *syntax.Literal {
	return &syntax.Literal{At: c.Here(), Kind: syntax.StringLit, Text: Ident(c).Name, Bare: true}
}

// Variable reads the name of a variable.
func Variable(c *tokens.Cursor) string {
	if !c.AtKind(scanner.Variable) {
		c.Fail()
		return ""
	}
	return c.Next().Text
}

// VarRef reads a variable as a value.
func VarRef(c *tokens.Cursor) *syntax.VarRef {
	return &syntax.VarRef{At: c.Here(), Name: Variable(c)}
}

// ConstantOrVariable reads a constant of one of the given kinds or a variable, where the grammar
// does not allow expressions.
func ConstantOrVariable(c *tokens.Cursor, kinds ...scanner.Kind) syntax.Expr {
	if c.AtKind(kinds...) {
		return Constant(c)
	}
	return VarRef(c)
}

// Integer reads a small unsigned number. A number that does not fit is replaced by one that exceeds
// all limits.
func Integer(c *tokens.Cursor) int {
	if !c.AtKind(scanner.Int) {
		c.Fail()
		return 0
	}
	n := 0
	for _, digit := range c.Next().Text {
		if n = n*10 + int(digit-'0'); n > 1<<30 {
			return 1 << 30
		}
	}
	return n
}

// SignedInteger reads an integer of any length with an optional sign and returns its text.
func SignedInteger(c *tokens.Cursor) string {
	sign := c.AcceptAny("-", "+")
	if !c.AtKind(scanner.Int, scanner.Decimal) {
		c.Fail()
		return ""
	}
	if sign == "+" {
		sign = ""
	}
	return sign + c.Next().Text
}

// SeedAndIncrement reads "seed, increment" of IDENTITY.
func SeedAndIncrement(c *tokens.Cursor) (seed, increment string) {
	seed = SignedInteger(c)
	c.Expect(",")
	return seed, SignedInteger(c)
}

// OnOff reads ON or OFF.
func OnOff(c *tokens.Cursor) bool { return c.ExpectAny("ON", "OFF") == "ON" }
