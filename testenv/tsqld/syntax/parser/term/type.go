package term

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

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

// Type reads a type.
func Type(c *tokens.Cursor) *syntax.TypeRef {
	t := &syntax.TypeRef{At: c.Here()}
	tok := c.Current()
	simple := func(name string) {
		t.Name = &syntax.ObjectName{At: t.At, Parts: []syntax.Ident{{Name: name, At: tok.At}}}
	}
	switch {
	case c.Accept("DOUBLE", "PRECISION"):
		simple("float")
	case c.Accept("NATIONAL"):
		switch {
		case c.Accept("TEXT"):
			simple("ntext")
		case c.AcceptAny("CHAR", "CHARACTER") == "":
			c.Fail()
		case c.Accept("VARYING"):
			simple("nvarchar")
		default:
			simple("nchar")
		}
	case c.Accept("CHAR", "VARYING"), c.Accept("CHARACTER", "VARYING"):
		simple("varchar")
	case c.Accept("BINARY", "VARYING"):
		simple("varbinary")
	case c.At("CHARACTER"):
		c.Next()
		simple("char")
	default:
		t.Name = Name(c)
	}
	if !c.Accept("(") {
		return t
	}
	switch {
	case c.Accept("MAX"):
		t.Max = true
	case c.Current().Kind != scanner.Int && strings.EqualFold(t.Name.Last(), "xml"):
		c.Reject("a typed xml column")
	default:
		t.Args = append(t.Args, Integer(c))
		if c.Accept(",") {
			t.Args = append(t.Args, Integer(c))
		}
	}
	c.Expect(")")
	return t
}
