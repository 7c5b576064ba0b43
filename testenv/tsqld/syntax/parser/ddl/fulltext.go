package ddl

import (
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/query"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/term"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
)

// fullText reads CREATE FULLTEXT CATALOG and INDEX. Scripts guard them with
// FULLTEXTSERVICEPROPERTY, so only their execution is refused.
func fullText(c *tokens.Cursor) syntax.Stmt {
	c.Expect("FULLTEXT")
	what := c.ExpectAny("CATALOG", "INDEX")
	s := &syntax.UnsupportedStmt{What: "CREATE FULLTEXT " + what}
	if what == "CATALOG" {
		term.Ident(c)
		if c.Accept("ON", "FILEGROUP") {
			term.Ident(c)
		}
		if c.Accept("IN", "PATH") {
			term.Constant(c)
		}
		term.WithOptionList(c)
		c.Accept("AS", "DEFAULT")
		if c.Accept("AUTHORIZATION") {
			term.Ident(c)
		}
		return s
	}
	c.Expect("ON")
	term.Name(c)
	if c.At("(") {
		tokens.ParenList(c, fullTextColumn)
	}
	c.Expect("KEY", "INDEX")
	term.Ident(c)
	if c.Accept("ON") {
		if c.Accept("(") {
			term.Ident(c)
			if c.Accept(",") {
				c.Accept("FILEGROUP")
				term.Ident(c)
			}
			c.Expect(")")
		} else {
			term.Ident(c)
		}
	}
	if c.Accept("WITH") {
		joined := c.Accept("(")
		term.OptionList(c)
		if joined {
			c.Expect(")")
		}
	}
	return s
}

// alterFullText reads ALTER FULLTEXT CATALOG, INDEX and STOPLIST.
func alterFullText(c *tokens.Cursor) syntax.Stmt {
	c.Expect("FULLTEXT")
	what := c.ExpectAny("CATALOG", "INDEX", "STOPLIST")
	s := &syntax.UnsupportedStmt{What: "ALTER FULLTEXT " + what}
	switch what {
	case "CATALOG":
		term.Ident(c)
		switch c.ExpectAny("REBUILD", "REORGANIZE", "AS") {
		case "AS":
			c.Expect("DEFAULT")
		case "REBUILD":
			term.WithOptionList(c)
		}
	case "INDEX":
		c.Expect("ON")
		term.Name(c)
		fullTextAction(c)
		c.Accept("WITH", "NO", "POPULATION")
	case "STOPLIST":
		term.Ident(c)
		if c.ExpectAny("ADD", "DROP") == "DROP" && c.Accept("ALL") {
			if c.Accept("LANGUAGE") {
				query.Expr(c)
			}
			return s
		}
		query.Expr(c)
		c.Expect("LANGUAGE")
		query.Expr(c)
	}
	return s
}

// fullTextAction reads what ALTER FULLTEXT INDEX does.
func fullTextAction(c *tokens.Cursor) {
	switch c.ExpectAny("ENABLE", "DISABLE", "SET", "ADD", "ALTER", "DROP", "START", "STOP", "PAUSE", "RESUME") {
	case "SET":
		switch c.ExpectAny("CHANGE_TRACKING", "STOPLIST", "SEARCH") {
		case "CHANGE_TRACKING":
			c.Accept("=")
			c.ExpectAny("MANUAL", "AUTO", "OFF")
		case "SEARCH":
			c.Expect("PROPERTY", "LIST")
			c.Accept("=")
			term.Ident(c)
		default:
			c.Accept("=")
			term.Alias(c)
		}
	case "ADD":
		tokens.ParenList(c, fullTextColumn)
	case "ALTER":
		c.Expect("COLUMN")
		term.Ident(c)
		c.ExpectAny("ADD", "DROP")
		c.Expect("STATISTICAL_SEMANTICS")
	case "DROP":
		term.Idents(c)
	case "START":
		c.ExpectAny("FULL", "INCREMENTAL", "UPDATE")
		c.Expect("POPULATION")
	case "STOP", "PAUSE", "RESUME":
		c.Expect("POPULATION")
	}
}

// fullTextColumn reads a column of a full-text index.
func fullTextColumn(c *tokens.Cursor) syntax.Ident {
	id := term.Ident(c)
	if c.Accept("TYPE", "COLUMN") {
		term.Ident(c)
	}
	if c.Accept("LANGUAGE") {
		query.Expr(c)
	}
	c.Accept("STATISTICAL_SEMANTICS")
	return id
}

// createStoplist reads CREATE FULLTEXT STOPLIST.
func createStoplist(c *tokens.Cursor) syntax.Stmt {
	c.Expect("FULLTEXT", "STOPLIST")
	term.Ident(c)
	if c.Accept("FROM") && !c.Accept("SYSTEM", "STOPLIST") {
		term.Name(c)
	}
	if c.Accept("AUTHORIZATION") {
		term.Ident(c)
	}
	return &syntax.UnsupportedStmt{What: "CREATE FULLTEXT STOPLIST"}
}

// dropFullText reads DROP FULLTEXT INDEX and STOPLIST.
func dropFullText(c *tokens.Cursor) syntax.Stmt {
	c.Expect("FULLTEXT")
	what := c.ExpectAny("INDEX", "STOPLIST")
	if what == "INDEX" {
		c.Expect("ON")
	}
	term.Name(c)
	return &syntax.UnsupportedStmt{What: "DROP FULLTEXT " + what}
}
