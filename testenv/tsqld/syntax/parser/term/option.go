package term

import (
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// Options reads options in parentheses. If joined is set, several words form one name (HASH JOIN);
// otherwise the words after the first one are its value (RECOVERY SIMPLE).
func Options(c *tokens.Cursor, joined bool) []*syntax.Option {
	c.Expect("(")
	list := OptionList(c, joined)
	c.Expect(")")
	return list
}

// OptionList reads options separated by commas.
func OptionList(c *tokens.Cursor, joined bool) []*syntax.Option {
	list := []*syntax.Option{Option(c, joined)}
	for c.Accept(",") {
		list = append(list, Option(c, joined))
	}
	return list
}

// atWords reports whether the current token is a word that options consist of. Options contain some
// reserved words. Words that start statements are allowed in query hints only, where parentheses
// separate them from the next statement.
func atWords(c *tokens.Cursor, hints bool) bool {
	t := c.Current()
	return t.Kind == scanner.Word && (!t.IsReserved() || optionWords[t.Upper] || hints && hintWords[t.Upper])
}

// The reserved words that may be part of an option or of a query hint.
var (
	optionWords = scanner.WordSet(`ON OFF DEFAULT NULL ALL FOR READ CURSOR FILLFACTOR PLAN PRIMARY KEY PERCENT STATISTICS
		FULL HOLDLOCK EXTERNAL USER REPLICATION CHECK INDEX`)
	hintWords = scanner.WordSet(`USE MERGE JOIN GROUP ORDER UNION TABLE`)
)

// Words reads words and returns them in capitals, joined by blanks.
func Words(c *tokens.Cursor, hints bool) string {
	s := ""
	for atWords(c, hints) {
		if s != "" {
			s += " "
		}
		s += c.Next().Upper
	}
	return s
}

// Option reads one option.
func Option(c *tokens.Cursor, joined bool) *syntax.Option {
	o := &syntax.Option{At: c.Here()}
	if !c.Enter() {
		return o
	}
	defer c.Leave()
	t := c.Current()
	switch {
	case t.Kind == scanner.Variable:
		c.Next()
		o.Name = t.Text
		if atWords(c, joined) {
			o.Value = optionValue(c, joined)
			return o
		}
	case atWords(c, joined):
		if joined {
			o.Name = Words(c, joined)
		} else {
			o.Name = c.Next().Upper
		}
	default:
		o.Value = optionValue(c, joined)
		if c.At("(") {
			o.Sub = Options(c, joined)
		}
		return o
	}
	if c.Accept("=") {
		o.Equals = true
		o.Value = optionValue(c, joined)
	} else if valueFollows(c, joined) {
		o.Value = optionValue(c, joined)
	}
	if c.At("(") {
		o.Sub = Options(c, joined)
	}
	return o
}

// valueFollows reports whether the current token can be the value of an option.
func valueFollows(c *tokens.Cursor, joined bool) bool {
	t := c.Current()
	_, constant := LiteralKinds[t.Kind]
	return constant || t.Kind == scanner.Variable || t.Kind == scanner.Quoted || t.Is("-") || atWords(c, joined)
}

// optionValue reads a constant with an optional sign, a variable, a quoted name, or words. A
// constant followed by words (60 SECONDS) becomes one keyword.
func optionValue(c *tokens.Cursor, joined bool) syntax.Expr {
	e := c.Here()
	t := c.Current()
	switch {
	case c.Accept("-"):
		l := Literal(c)
		if l == nil {
			c.Fail()
			return nil
		}
		return &syntax.UnaryExpr{At: e, Op: syntax.OpMinus, X: l}
	case t.Kind == scanner.Variable:
		c.Next()
		return &syntax.VarRef{At: e, Name: t.Text}
	case t.Kind == scanner.Quoted:
		return &syntax.ColumnRef{At: e, Parts: Parts(c, "object")}
	case t.Kind == scanner.Word && t.Upper == "TABLE" && !joined: // LOCK_ESCALATION = TABLE
		c.Next()
		return &syntax.Keyword{At: e, Name: t.Upper}
	case atWords(c, joined):
		if c.Peek(1).Is(".") { // INDEX(dbo.t), TABLE HINT(dbo.t, ...)
			return &syntax.ColumnRef{At: e, Parts: Parts(c, "object")}
		}
		return &syntax.Keyword{At: e, Name: Words(c, joined)}
	}
	l := Literal(c)
	if l == nil {
		c.Fail()
		return nil
	}
	if l.Kind == syntax.IntLit && atWords(c, joined) {
		return &syntax.Keyword{At: e, Name: l.Text + " " + Words(c, joined)}
	}
	return l
}
