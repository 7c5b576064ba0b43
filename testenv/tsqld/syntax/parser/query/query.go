package query

import (
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/term"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// ParenQuery reads a query in parentheses.
func ParenQuery(c *tokens.Cursor) *syntax.Query { return tokens.Parens(c, Query) }

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
	return append(list, tokens.List(c, func(c *tokens.Cursor) *syntax.CTE {
		cte := &syntax.CTE{At: c.Here(), Name: term.Ident(c), Columns: term.OptionalIdents(c)}
		c.Expect("AS")
		cte.Query = ParenQuery(c)
		return cte
	})...)
}

// xmlNamespaces reads XMLNAMESPACES ('uri' AS prefix, DEFAULT 'uri').
func xmlNamespaces(c *tokens.Cursor) *syntax.CTE {
	cte := &syntax.CTE{At: c.Here()}
	c.Expect("XMLNAMESPACES")
	cte.Spaces = tokens.ParenList(c, func(c *tokens.Cursor) *syntax.XMLNamespace {
		n := &syntax.XMLNamespace{At: c.Here()}
		isDefault := c.Accept("DEFAULT")
		if n.URI = term.Constant(c); n.URI.Kind != syntax.StringLit && n.URI.Kind != syntax.NStringLit {
			c.Fail()
		}
		if !isDefault {
			c.Expect("AS")
			n.Prefix = term.Ident(c)
		}
		return n
	})
	return cte
}

// setOps reads an operand with first, and the UNION, EXCEPT and INTERSECT operators after it.
// INTERSECT binds more tightly.
func setOps(c *tokens.Cursor, first func(*tokens.Cursor) syntax.QueryBody) syntax.QueryBody {
	defer c.EndChain(c.BeginChain())
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
	defer c.EndChain(c.BeginChain())
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
		return &syntax.ParenQuery{At: c.Here(), X: tokens.Parens(c, func(c *tokens.Cursor) syntax.QueryBody { return setOps(c, queryOperand) })}
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
			f.Element = tokens.Parens(c, term.Constant)
		}
	}
	known := forOptions[f.Kind]
	for c.Accept(",") {
		o := &syntax.Option{At: c.Here(), Name: c.Next().Upper}
		switch {
		case o.Name == "ELEMENTS" && c.AtAny("XSINIL", "ABSENT"), o.Name == "BINARY":
			o.Name += " " + c.Next().Upper
		}
		if c.At("(") {
			o.Value = tokens.Parens(c, term.Constant)
		}
		if !known[o.Name] {
			c.FailAt(c.Previous())
		}
		f.Options = append(f.Options, o)
	}
	return f
}

// forOptions are the options of FOR. Options of two words contain a blank.
var forOptions = map[syntax.ForKind]map[string]bool{
	syntax.ForJSON: scanner.WordSet("ROOT INCLUDE_NULL_VALUES WITHOUT_ARRAY_WRAPPER"),
	syntax.ForXML: {
		"ROOT": true, "TYPE": true, "ELEMENTS": true, "ELEMENTS XSINIL": true, "ELEMENTS ABSENT": true, "BINARY BASE64": true,
		"XMLSCHEMA": true, "XMLDATA": true,
	},
}

// Select reads a query as a statement.
func Select(c *tokens.Cursor) *syntax.SelectStmt {
	return &syntax.SelectStmt{Query: Query(c), Hints: term.QueryHints(c)}
}
