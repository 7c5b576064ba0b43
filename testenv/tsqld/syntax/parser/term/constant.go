package term

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// LiteralKinds maps the tokens that are constants.
var LiteralKinds = map[scanner.Kind]syntax.LiteralKind{
	scanner.Int: syntax.IntLit, scanner.Decimal: syntax.DecimalLit, scanner.Float: syntax.FloatLit, scanner.Money: syntax.MoneyLit,
	scanner.String: syntax.StringLit, scanner.NString: syntax.NStringLit, scanner.Binary: syntax.BinaryLit,
}

// Literal consumes a constant without sign; it returns nil if there is none.
func Literal(c *tokens.Cursor) *syntax.Literal {
	t := c.Current()
	kind, ok := LiteralKinds[t.Kind]
	if !ok {
		return nil
	}
	l := &syntax.Literal{At: c.Here(), Kind: kind, Text: t.Text}
	c.Next()
	return l
}

// Integer reads a small unsigned number. A number that does not fit is replaced by one that exceeds
// all limits.
func Integer(c *tokens.Cursor) int {
	t := c.Current()
	if t.Kind != scanner.Int {
		c.Fail()
		return 0
	}
	c.Next()
	n := 0
	for i := range len(t.Text) {
		if n = n*10 + int(t.Text[i]-'0'); n > 1<<30 {
			return 1 << 30
		}
	}
	return n
}

// SignedInteger reads an integer of any length with an optional sign and returns its text.
func SignedInteger(c *tokens.Cursor) string {
	sign := ""
	if c.Accept("-") {
		sign = "-"
	} else {
		c.Accept("+")
	}
	t := c.Current()
	if t.Kind != scanner.Int && t.Kind != scanner.Decimal {
		c.Fail()
		return ""
	}
	c.Next()
	return sign + t.Text
}

// Secret reads a password.
func Secret(c *tokens.Cursor) syntax.Expr {
	if l := Literal(c); l != nil {
		return l
	}
	c.Fail()
	return nil
}

// OnOff reads ON or OFF.
func OnOff(c *tokens.Cursor) bool { return c.ExpectAny("ON", "OFF") == "ON" }

// ConstantOrVariable reads a constant of one of the given kinds or a variable, where the grammar
// does not allow expressions.
func ConstantOrVariable(c *tokens.Cursor, kinds ...scanner.Kind) syntax.Expr {
	t := c.Current()
	e := c.Here()
	switch {
	case t.Kind == scanner.Variable:
		c.Next()
		return &syntax.VarRef{At: e, Name: t.Text}
	case slices.Contains(kinds, t.Kind):
		return Literal(c)
	}
	c.Fail()
	return nil
}

// Variable reads the name of a variable.
func Variable(c *tokens.Cursor) string {
	t := c.Current()
	if t.Kind != scanner.Variable {
		c.Fail()
		return ""
	}
	c.Next()
	return t.Text
}
