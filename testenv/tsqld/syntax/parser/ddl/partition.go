package ddl

import (
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/query"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/term"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
)

// partitionStmt reads the rest of CREATE and ALTER PARTITION FUNCTION and SCHEME.
func partitionStmt(c *tokens.Cursor, verb syntax.Verb) syntax.Stmt {
	c.Expect("PARTITION")
	kind := c.ExpectAny("FUNCTION", "SCHEME")
	term.Ident(c)
	what := verb.String() + " PARTITION " + kind
	switch what {
	case "CREATE PARTITION FUNCTION":
		c.Expect("(")
		term.Type(c)
		c.Expect(")", "AS", "RANGE")
		c.AcceptAny("LEFT", "RIGHT")
		c.Expect("FOR", "VALUES", "(")
		if !c.At(")") {
			query.Exprs(c)
		}
		c.Expect(")")
	case "CREATE PARTITION SCHEME":
		c.Expect("AS", "PARTITION")
		term.Ident(c)
		c.Accept("ALL")
		c.Expect("TO", "(")
		term.Alias(c)
		for c.Accept(",") {
			term.Alias(c)
		}
		c.Expect(")")
	case "ALTER PARTITION FUNCTION":
		c.Expect("(", ")")
		c.ExpectAny("SPLIT", "MERGE")
		c.Expect("RANGE", "(")
		query.Expr(c)
		c.Expect(")")
	default:
		c.Expect("NEXT", "USED")
		if c.Current().IsName() {
			term.Ident(c)
		}
	}
	return &syntax.UnsupportedStmt{What: what}
}

// partitionScheme reads (column) after the name of a partition scheme.
func partitionScheme(c *tokens.Cursor) {
	if c.Accept("(") {
		c.Unsupported("a partition scheme")
		term.ClosedIdents(c)
	}
}
