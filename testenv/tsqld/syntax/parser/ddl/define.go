package ddl

import (
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/term"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
)

// Create reads the rest of CREATE, except for modules, schemas and principals.
func Create(c *tokens.Cursor) syntax.Stmt {
	switch {
	case c.Accept("TABLE"):
		return CreateTable(c)
	case c.AtAny("INDEX", "UNIQUE", "CLUSTERED", "NONCLUSTERED", "COLUMNSTORE"):
		return createIndex(c)
	case c.Accept("TYPE"):
		return createType(c)
	case c.Accept("SEQUENCE"):
		return sequence(c, syntax.Create)
	case c.Accept("SYNONYM"):
		s := &syntax.CreateSynonymStmt{Name: term.Name(c)}
		c.Expect("FOR")
		s.Target = term.Name(c)
		return s
	case c.At("FULLTEXT", "CATALOG"), c.At("FULLTEXT", "INDEX"):
		return fullText(c)
	case c.At("FULLTEXT", "STOPLIST"):
		return createStoplist(c)
	case c.At("DATABASE"):
		return database(c, syntax.Create)
	case c.Accept("STATISTICS"):
		return createStatistics(c)
	}
	return other(c, syntax.Create)
}

// Alter reads the rest of ALTER, except for modules and principals.
func Alter(c *tokens.Cursor) syntax.Stmt {
	switch {
	case c.Accept("TABLE"):
		return alterTable(c)
	case c.Accept("INDEX"):
		return alterIndex(c)
	case c.Accept("SEQUENCE"):
		return sequence(c, syntax.Alter)
	case c.Accept("SCHEMA"):
		return alterSchema(c)
	case c.At("FULLTEXT", "CATALOG"), c.At("FULLTEXT", "INDEX"), c.At("FULLTEXT", "STOPLIST"):
		return alterFullText(c)
	case c.At("DATABASE"):
		return database(c, syntax.Alter)
	}
	return other(c, syntax.Alter)
}

// database reads CREATE DATABASE and ALTER DATABASE.
func database(c *tokens.Cursor, verb syntax.Verb) syntax.Stmt {
	switch {
	case c.At("DATABASE", "AUDIT"), c.At("DATABASE", "ENCRYPTION"):
		c.Reject(verb.String() + " DATABASE " + c.Peek(1).Upper)
		return nil
	case verb == syntax.Create:
		return createDatabase(c)
	}
	return alterDatabase(c)
}

// other reads definitions that the server does not execute.
func other(c *tokens.Cursor, verb syntax.Verb) syntax.Stmt {
	if c.At("PARTITION", "FUNCTION") || c.At("PARTITION", "SCHEME") {
		return partitionStmt(c, verb)
	}
	rejectKind(c, verb.String())
	return nil
}
