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
func Idents(c *tokens.Cursor) []syntax.Ident { return tokens.ParenList(c, Ident) }

// OptionalIdents reads names in parentheses if there are any.
func OptionalIdents(c *tokens.Cursor) []syntax.Ident {
	if !c.At("(") {
		return nil
	}
	return Idents(c)
}

// AllOrIdents reads ALL, for which it returns nil, or names.
func AllOrIdents(c *tokens.Cursor) []syntax.Ident {
	if c.Accept("ALL") {
		return nil
	}
	return tokens.List(c, Ident)
}

// Principal reads the name of a user, role or login. PUBLIC is a keyword that is also a role.
func Principal(c *tokens.Cursor) syntax.Ident {
	if t := c.Current(); t.Is("PUBLIC") {
		c.Next()
		return syntax.Ident{Name: t.Text, At: t.At}
	}
	return Ident(c)
}

// Alias reads a name that may be written as a string, such as the alias of a column.
func Alias(c *tokens.Cursor) syntax.Ident {
	t := c.Current()
	if !c.AtText() {
		return Ident(c)
	}
	if t.Text == "" {
		c.ErrorAt(t, mserr.MissingName())
	}
	c.Next()
	return syntax.Ident{Name: t.Text, Quoted: true, At: t.At}
}

// maxShownParts is the maximum number of name parts that are read. The error for too many parts
// quotes all of them.
const maxShownParts = 64

// Parts reads a dotted name; parts in the middle may be empty. what is the kind of the named thing
// for errors.
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
	return &syntax.ObjectName{At: c.Here(), Parts: Parts(c, "object")}
}

// Names reads names separated by commas.
func Names(c *tokens.Cursor) []*syntax.ObjectName { return tokens.List(c, Name) }

// Column reads the name of a column.
func Column(c *tokens.Cursor) *syntax.ColumnRef {
	return &syntax.ColumnRef{At: c.Here(), Parts: Parts(c, "column")}
}

// Builtin returns the name of a built-in type or function, for a node at at.
func Builtin(at syntax.At, name string) *syntax.ObjectName {
	return &syntax.ObjectName{At: at, Parts: []syntax.Ident{{Name: name, At: at.Pos()}}}
}

// ProcedureNumber reads an optional ;n after the name of a procedure. Only 1 is supported, which
// means the procedure itself.
func ProcedureNumber(c *tokens.Cursor) {
	if !c.At(";") || c.Peek(1).Kind != scanner.Int {
		return
	}
	c.Next()
	if Integer(c) > 1 {
		c.Unsupported("a numbered procedure")
	}
}
