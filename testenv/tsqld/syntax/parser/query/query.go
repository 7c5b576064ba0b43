package query

import (
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/term"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
)

// ParenQuery reads a query in parentheses.
func ParenQuery(c *tokens.Cursor) *syntax.Query {
	c.Expect("(")
	q := Query(c)
	c.Expect(")")
	return q
}

// Query reads a query with ORDER BY and FOR. It also reads WITH, although only some places allow
// WITH.
func Query(c *tokens.Cursor) *syntax.Query {
	q := &syntax.Query{At: c.Here()}
	if !c.Enter() {
		return q
	}
	defer c.Leave()
	if c.At("WITH") {
		q.With = With(c)
	}
	q.Body = setOps(c, queryOperand)
	queryTail(c, q)
	return q
}

// With reads WITH and the common table expressions.
func With(c *tokens.Cursor) []*syntax.CTE {
	c.Expect("WITH")
	var list []*syntax.CTE
	if c.At("XMLNAMESPACES", "(") {
		list = append(list, xmlNamespaces(c))
		if !c.Accept(",") {
			return list
		}
	}
	for {
		cte := &syntax.CTE{At: c.Here(), Name: term.Ident(c)}
		cte.Columns = term.OptionalIdents(c)
		c.Expect("AS")
		cte.Query = ParenQuery(c)
		list = append(list, cte)
		if !c.Accept(",") {
			return list
		}
	}
}

// xmlNamespaces reads XMLNAMESPACES ('uri' AS prefix, DEFAULT 'uri').
func xmlNamespaces(c *tokens.Cursor) *syntax.CTE {
	cte := &syntax.CTE{At: c.Here()}
	c.Expect("XMLNAMESPACES", "(")
	for {
		n := &syntax.XMLNamespace{At: c.Here()}
		isDefault := c.Accept("DEFAULT")
		if n.URI = term.Literal(c); n.URI == nil || n.URI.Kind != syntax.StringLit && n.URI.Kind != syntax.NStringLit {
			c.Fail()
			return cte
		}
		if !isDefault {
			c.Expect("AS")
			n.Prefix = term.Ident(c)
		}
		cte.Spaces = append(cte.Spaces, n)
		if !c.Accept(",") {
			break
		}
	}
	c.Expect(")")
	return cte
}

// setOps reads an operand with first, and the UNION, EXCEPT and INTERSECT operators after it.
// INTERSECT binds more tightly.
func setOps(c *tokens.Cursor, first func(*tokens.Cursor) syntax.QueryBody) syntax.QueryBody {
	before := c.BeginChain()
	defer c.EndChain(before)
	x := intersections(c, first)
	for {
		s := &syntax.SetOp{At: atNode(x), X: x}
		switch {
		case c.Accept("UNION", "ALL"):
			s.Kind = syntax.UnionAll
		case c.Accept("UNION"):
			s.Kind = syntax.Union
		case c.Accept("EXCEPT"):
			s.Kind = syntax.Except
		default:
			return x
		}
		c.AddOperator()
		s.Y = intersections(c, queryOperand)
		x = s
	}
}

// intersections reads an operand with first, and the INTERSECT operators after it.
func intersections(c *tokens.Cursor, first func(*tokens.Cursor) syntax.QueryBody) syntax.QueryBody {
	before := c.BeginChain()
	defer c.EndChain(before)
	x := first(c)
	for c.Accept("INTERSECT") {
		c.AddOperator()
		s := &syntax.SetOp{At: atNode(x), Kind: syntax.Intersect, X: x}
		s.Y = queryOperand(c)
		x = s
	}
	return x
}

// queryOperand reads SELECT or a query in parentheses.
func queryOperand(c *tokens.Cursor) syntax.QueryBody {
	if c.At("(") {
		if !c.Enter() {
			return nil
		}
		defer c.Leave()
		q := &syntax.ParenQuery{At: c.Here()}
		c.Next()
		q.X = setOps(c, queryOperand)
		c.Expect(")")
		return q
	}
	return selectBody(c)
}

// queryTail reads ORDER BY, OFFSET, FETCH and FOR.
func queryTail(c *tokens.Cursor, q *syntax.Query) {
	if c.Accept("ORDER", "BY") {
		q.OrderBy = orderItems(c)
		if c.Accept("OFFSET") {
			q.Offset = Expr(c)
			c.ExpectAny("ROWS", "ROW")
			if c.Accept("FETCH") {
				c.ExpectAny("NEXT", "FIRST")
				q.Fetch = Expr(c)
				c.ExpectAny("ROWS", "ROW")
				c.Expect("ONLY")
			}
		}
	}
	if c.At("FOR") && (c.Peek(1).Is("JSON") || c.Peek(1).Is("XML") || c.Peek(1).Is("BROWSE")) {
		q.For = forClause(c)
	}
}

// forClause reads FOR JSON, FOR XML and FOR BROWSE.
func forClause(c *tokens.Cursor) *syntax.ForClause {
	f := &syntax.ForClause{At: c.Here()}
	c.Expect("FOR")
	switch c.Next().Upper {
	case "BROWSE":
		f.Kind = syntax.ForBrowse
		return f
	case "JSON":
		f.Kind = syntax.ForJSON
		f.Mode = c.ExpectAny("PATH", "AUTO")
	case "XML":
		f.Kind = syntax.ForXML
		f.Mode = c.ExpectAny("PATH", "AUTO", "RAW", "EXPLICIT")
		if c.At("(") {
			c.Next()
			if f.Element = term.Literal(c); f.Element == nil {
				c.Fail()
			}
			c.Expect(")")
		}
	}
	for c.Accept(",") {
		o := &syntax.Option{At: c.Here(), Name: c.Next().Upper}
		switch {
		case o.Name == "ELEMENTS" && c.AtAny("XSINIL", "ABSENT"), o.Name == "BINARY":
			o.Name += " " + c.Next().Upper
		}
		if c.Accept("(") {
			if l := term.Literal(c); l != nil {
				o.Value = l
			} else {
				c.Fail()
			}
			c.Expect(")")
		}
		known := forJSONOptions
		if f.Kind == syntax.ForXML {
			known = forXMLOptions
		}
		if !known[o.Name] {
			c.FailAt(c.Previous())
		}
		f.Options = append(f.Options, o)
	}
	return f
}

// The options of FOR. Options of two words contain a blank.
var (
	forJSONOptions = map[string]bool{"ROOT": true, "INCLUDE_NULL_VALUES": true, "WITHOUT_ARRAY_WRAPPER": true}
	forXMLOptions  = map[string]bool{
		"ROOT":            true,
		"TYPE":            true,
		"ELEMENTS":        true,
		"ELEMENTS XSINIL": true,
		"ELEMENTS ABSENT": true,
		"BINARY BASE64":   true,
		"XMLSCHEMA":       true,
		"XMLDATA":         true,
	}
)

// Hints reads OPTION (...); it returns nil if there is none.
func Hints(c *tokens.Cursor) []*syntax.Option {
	if !c.Accept("OPTION") {
		return nil
	}
	return term.Options(c, true)
}

// Select reads a query as a statement.
func Select(c *tokens.Cursor) syntax.Stmt {
	s := &syntax.SelectStmt{Query: Query(c)}
	s.Hints = Hints(c)
	return s
}
