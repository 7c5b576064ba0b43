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
		tokens.Parens(c, term.Type)
		c.Expect("AS", "RANGE")
		c.AcceptAny("LEFT", "RIGHT")
		c.Expect("FOR", "VALUES")
		query.Args(c)
	case "CREATE PARTITION SCHEME":
		c.Expect("AS", "PARTITION")
		term.Ident(c)
		c.Accept("ALL")
		c.Expect("TO")
		tokens.ParenList(c, term.Alias)
	case "ALTER PARTITION FUNCTION":
		c.Expect("(", ")")
		c.ExpectAny("SPLIT", "MERGE")
		c.Expect("RANGE")
		tokens.Parens(c, query.Expr)
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
	if c.At("(") {
		c.Unsupported("a partition scheme")
		term.Idents(c)
	}
}
