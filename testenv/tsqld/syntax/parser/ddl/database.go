package ddl

import (
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/term"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// createDatabase reads CREATE DATABASE after CREATE.
func createDatabase(c *tokens.Cursor) syntax.Stmt {
	c.Expect("DATABASE")
	s := &syntax.CreateDatabaseStmt{Name: term.Ident(c)}
	for {
		switch {
		case c.Accept("CONTAINMENT", "="):
			s.Containment = c.ExpectAny("NONE", "PARTIAL")
		case c.Accept("COLLATE"):
			s.Collation = term.Ident(c).Name
		case c.At("ON"), c.At("LOG", "ON"):
			s.Files = true
			files(c)
		case c.Accept("AS", "COPY", "OF"):
			term.Name(c)
			c.Unsupported("CREATE DATABASE AS COPY OF")
		case c.Accept("AS", "SNAPSHOT", "OF"):
			term.Ident(c)
			c.Unsupported("a database snapshot")
		case c.Accept("FOR", "ATTACH"), c.Accept("FOR", "ATTACH_REBUILD_LOG"):
			c.Unsupported("CREATE DATABASE FOR ATTACH")
		case c.Accept("WITH"):
			s.Options = append(s.Options, term.OptionList(c)...)
		case c.At("("):
			s.Options = append(s.Options, term.Options(c)...)
		default:
			return s
		}
	}
}

// files skips ON ... and LOG ON ... of CREATE DATABASE: file specifications in parentheses, and
// filegroups.
func files(c *tokens.Cursor) {
	c.Accept("LOG")
	c.Expect("ON")
	for ok := true; ok; ok = c.Accept(",") {
		if !c.Accept("PRIMARY") && c.Accept("FILEGROUP") {
			term.Ident(c)
			for c.AcceptAny("CONTAINS", "FILESTREAM", "MEMORY_OPTIMIZED_DATA", "DEFAULT") != "" {
			}
		}
		fileSpec(c)
	}
}

// fileSpec skips one file specification.
func fileSpec(c *tokens.Cursor) {
	if !c.At("(") {
		c.Fail()
		return
	}
	c.Skip(c.Matching(0))
	if !c.Previous().Is(")") {
		c.Fail()
	}
}

// alterDatabase reads ALTER DATABASE after ALTER.
func alterDatabase(c *tokens.Cursor) syntax.Stmt {
	c.Expect("DATABASE")
	s := &syntax.AlterDatabaseStmt{}
	if c.Accept("SCOPED", "CONFIGURATION") {
		s.Scoped = true
		if c.Accept("FOR", "SECONDARY") {
			c.Reject("ALTER DATABASE SCOPED CONFIGURATION FOR SECONDARY")
		}
		if c.Accept("CLEAR") {
			o := &syntax.Option{At: c.Here(), Name: "CLEAR " + term.Words(c)}
			if c.AtKind(scanner.Binary) {
				o.Value = term.Literal(c)
			}
			s.Set = []*syntax.Option{o}
			return s
		}
		c.Expect("SET")
		s.Set = term.OptionList(c)
		return s
	}
	if !c.Accept("CURRENT") {
		s.Name = term.Ident(c)
	}
	switch {
	case c.Accept("SET"):
		s.Set = term.OptionList(c)
		switch {
		case c.Accept("WITH", "ROLLBACK", "IMMEDIATE"):
			s.Termination = "ROLLBACK IMMEDIATE"
		case c.Accept("WITH", "NO_WAIT"):
			s.Termination = "NO_WAIT"
		case c.Accept("WITH", "ROLLBACK", "AFTER"):
			s.Termination = "ROLLBACK AFTER"
			s.After = term.Integer(c)
			c.AcceptAny("SECONDS", "SECOND")
		}
	case c.Accept("MODIFY", "NAME", "="):
		s.NewName = term.Ident(c)
	case c.Accept("COLLATE"):
		term.Ident(c)
		c.Unsupported("ALTER DATABASE COLLATE")
	case c.At("MODIFY", "("):
		c.Next()
		s.Modify = term.Options(c)
	case c.AtAny("ADD", "MODIFY", "REMOVE"):
		verb := c.Next().Upper
		if c.Accept("LOG", "FILE") {
			c.Unsupported("ALTER DATABASE " + verb + " LOG FILE")
		} else {
			c.Unsupported("ALTER DATABASE " + verb + " " + c.ExpectAny("FILE", "FILEGROUP"))
		}
		if !c.At("(") {
			term.Ident(c)
			term.Words(c)
			return s
		}
		fileSpec(c)
		for c.Accept(",") {
			fileSpec(c)
		}
		if c.Accept("TO", "FILEGROUP") {
			term.Ident(c)
		}
	default:
		c.Fail()
	}
	return s
}
