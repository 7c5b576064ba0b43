package term

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// Ident reads a name. Error 1038 for an empty name in brackets.
func Ident(c *tokens.Cursor) syntax.Ident {
	t := c.Current()
	if !t.IsName() {
		c.Fail()
		return syntax.Ident{At: t.At}
	}
	if t.Text == "" {
		c.ErrorAt(t, mserr.MissingName())
		return syntax.Ident{At: t.At}
	}
	c.Next()
	return syntax.Ident{Name: t.Text, Quoted: t.Kind == scanner.Quoted, At: t.At}
}

// Idents reads names in parentheses.
func Idents(c *tokens.Cursor) []syntax.Ident {
	c.Expect("(")
	ids := []syntax.Ident{Ident(c)}
	for c.Accept(",") {
		ids = append(ids, Ident(c))
	}
	c.Expect(")")
	return ids
}

// OptionalIdents reads names in parentheses if there are any.
func OptionalIdents(c *tokens.Cursor) []syntax.Ident {
	if !c.At("(") {
		return nil
	}
	return Idents(c)
}

// Principal reads the name of a user, role or login. PUBLIC is a keyword that is also a role.
func Principal(c *tokens.Cursor) syntax.Ident {
	if t := c.Current(); t.Is("PUBLIC") {
		c.Next()
		return syntax.Ident{Name: t.Text, At: t.At}
	}
	return Ident(c)
}

// maxShownParts is the maximum number of name parts that are read. The error for too many parts
// quotes all of them.
const maxShownParts = 64

// Parts reads a dotted name; parts in the middle may be empty.
func Parts(c *tokens.Cursor, what string) []syntax.Ident {
	start := c.Current()
	var ids []syntax.Ident
	if c.At(".") { // ".t", "..t": the current schema or database
		ids = append(ids, syntax.Ident{At: start.At})
	} else {
		ids = append(ids, Ident(c))
	}
	for c.At(".") && !c.Peek(1).Is("*") && c.Peek(1).Kind != scanner.Pseudo {
		if len(ids) == maxShownParts {
			break
		}
		c.Next()
		if c.At(".") {
			ids = append(ids, syntax.Ident{At: c.Current().At})
			continue
		}
		ids = append(ids, Ident(c))
	}
	if len(ids) > 4 {
		names := make([]string, len(ids))
		for i, id := range ids {
			names[i] = id.Name
		}
		c.ErrorAt(start, mserr.TooManyNameParts(what, strings.Join(names, "."), 3))
	}
	return ids
}

// Name reads a name of up to four parts.
func Name(c *tokens.Cursor) *syntax.ObjectName {
	n := c.Here()
	return &syntax.ObjectName{At: n, Parts: Parts(c, "object")}
}

// Names reads names separated by commas.
func Names(c *tokens.Cursor) []*syntax.ObjectName {
	ns := []*syntax.ObjectName{Name(c)}
	for c.Accept(",") {
		ns = append(ns, Name(c))
	}
	return ns
}

// Alias reads the alias of a column, which may be a string.
func Alias(c *tokens.Cursor) syntax.Ident {
	t := c.Current()
	if t.Kind == scanner.String || t.Kind == scanner.NString {
		if t.Text == "" {
			c.ErrorAt(t, mserr.MissingName())
		}
		c.Next()
		return syntax.Ident{Name: t.Text, Quoted: true, At: t.At}
	}
	return Ident(c)
}

// AllOrIdents reads ALL, for which it returns nil, or names.
func AllOrIdents(c *tokens.Cursor) []syntax.Ident {
	if c.Accept("ALL") {
		return nil
	}
	ids := []syntax.Ident{Ident(c)}
	for c.Accept(",") {
		ids = append(ids, Ident(c))
	}
	return ids
}

// ClosedIdents reads the names before a closing parenthesis, and the parenthesis.
func ClosedIdents(c *tokens.Cursor) {
	Ident(c)
	for c.Accept(",") {
		Ident(c)
	}
	c.Expect(")")
}
