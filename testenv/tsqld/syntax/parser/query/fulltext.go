package query

import (
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/term"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
)

// fullTextPredicate reads CONTAINS and FREETEXT. Its result stands for any condition, because the
// statement is not supported.
func fullTextPredicate(c *tokens.Cursor, at syntax.At) syntax.Node {
	name := c.Next().Upper
	c.Unsupported("the full-text predicate " + name)
	c.Expect("(")
	fullTextArguments(c)
	c.Expect(")")
	return &syntax.IsNullCond{At: at, X: &syntax.Literal{At: at, Kind: syntax.NullLit}}
}

// fullTextArguments reads the columns, the condition and the language of a full-text search.
func fullTextArguments(c *tokens.Cursor) {
	switch {
	case c.Accept("*"):
	case c.Accept("("):
		if c.Accept("*") {
			c.Expect(")")
		} else {
			for {
				term.Parts(c, "column")
				if !c.Accept(",") {
					break
				}
			}
			c.Expect(")")
		}
	case c.At("PROPERTY", "("):
		c.Next()
		c.Next()
		term.Parts(c, "column")
		c.Expect(",")
		Expr(c)
		c.Expect(")")
	default:
		term.Parts(c, "column")
		if c.Accept(".") {
			c.Expect("*")
		}
	}
	c.Expect(",")
	Expr(c)
	for c.Accept(",") {
		c.Accept("LANGUAGE")
		Expr(c)
	}
}

// fullTextTable reads CONTAINSTABLE and FREETEXTTABLE.
func fullTextTable(c *tokens.Cursor, at syntax.At) syntax.TableSource {
	name := c.Next().Upper
	c.Unsupported(name)
	c.Expect("(")
	term.Name(c)
	c.Expect(",")
	fullTextArguments(c)
	c.Expect(")")
	f := &syntax.TableFunc{At: at}
	f.Call = &syntax.FuncCall{At: at, Name: term.Builtin(at, name)}
	f.Alias = TableAlias(c)
	f.Columns = term.OptionalIdents(c)
	return f
}
