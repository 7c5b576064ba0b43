package term

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// Type reads a type.
func Type(c *tokens.Cursor) *syntax.TypeRef {
	t := &syntax.TypeRef{At: c.Here()}
	if name := standardType(c); name != "" {
		t.Name = Builtin(t.At, name)
	} else {
		t.Name = Name(c)
	}
	if !c.Accept("(") {
		return t
	}
	switch {
	case c.Accept("MAX"):
		t.Max = true
	case !c.AtKind(scanner.Int) && strings.EqualFold(t.Name.Last(), "xml"):
		c.Reject("xml of an XML schema collection (declare xml without one)")
	default:
		t.Args = append(t.Args, Integer(c))
		if c.Accept(",") {
			t.Args = append(t.Args, Integer(c))
		}
	}
	c.Expect(")")
	return t
}

// standardType reads the name of a type in the words of the SQL standard, and returns SQL Server's
// name; otherwise "".
func standardType(c *tokens.Cursor) string {
	switch {
	case c.Accept("DOUBLE", "PRECISION"):
		return "float"
	case c.Accept("NATIONAL", "TEXT"):
		return "ntext"
	case c.Accept("NATIONAL"):
		c.ExpectAny("CHAR", "CHARACTER")
		if c.Accept("VARYING") {
			return "nvarchar"
		}
		return "nchar"
	case c.Accept("CHAR", "VARYING"), c.Accept("CHARACTER", "VARYING"):
		return "varchar"
	case c.Accept("BINARY", "VARYING"):
		return "varbinary"
	case c.Accept("CHARACTER"):
		return "char"
	}
	return ""
}

// NullSpec reads an optional NULL or NOT NULL.
func NullSpec(c *tokens.Cursor) syntax.NullSpec {
	switch {
	case c.Accept("NOT", "NULL"):
		return syntax.NotNull
	case c.Accept("NULL"):
		return syntax.NullAllowed
	}
	return syntax.NullUnspecified
}

// Collation reads an optional COLLATE, and returns the name or "".
func Collation(c *tokens.Cursor) string {
	if c.Accept("COLLATE") {
		return Ident(c).Name
	}
	return ""
}

// TypedColumn reads the name, type, collation and NULL of a column.
func TypedColumn(c *tokens.Cursor) *syntax.ColumnDef {
	return &syntax.ColumnDef{At: c.Here(), Name: Ident(c), Type: Type(c), Collation: Collation(c), Null: NullSpec(c)}
}
