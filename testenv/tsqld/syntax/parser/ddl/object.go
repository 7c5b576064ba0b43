package ddl

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/term"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// kind is a kind of objects: its words, and the words joined by blanks.
type kind struct {
	words []string
	text  string
}

// kinds returns the kinds of a list that is separated by commas.
func kinds(list string) (all []kind) {
	for text := range strings.SplitSeq(list, ",") {
		words := strings.Fields(text)
		all = append(all, kind{words, strings.Join(words, " ")})
	}
	return all
}

// rejectedKinds are the kinds of objects whose CREATE and ALTER are refused by Parse, by the words
// that follow the verb.
var rejectedKinds = kinds(`AGGREGATE, APPLICATION ROLE, ASSEMBLY, ASYMMETRIC KEY, AVAILABILITY GROUP, BROKER PRIORITY, CERTIFICATE,
	COLUMN ENCRYPTION KEY, COLUMN MASTER KEY, CONTRACT, CRYPTOGRAPHIC PROVIDER, DEFAULT, ENDPOINT, EVENT NOTIFICATION,
	EVENT SESSION, EXTERNAL, FULLTEXT, MESSAGE TYPE, PARTITION FUNCTION, PARTITION SCHEME, PRIMARY XML, QUEUE,
	REMOTE SERVICE, RESOURCE, ROUTE, RULE, SEARCH PROPERTY, SECURITY POLICY, SELECTIVE XML, SERVER AUDIT,
	SERVER CONFIGURATION, SERVICE, SPATIAL INDEX, SYMMETRIC KEY, WORKLOAD, XML INDEX, XML SCHEMA COLLECTION`)

// rejectKind refuses a known kind of object that is not supported, and fails for an unknown one.
func rejectKind(c *tokens.Cursor, verb string) {
	for _, k := range rejectedKinds {
		if c.At(k.words...) {
			c.Reject(verb + " " + k.text)
		}
	}
	c.Fail()
}

// createType reads CREATE TYPE after TYPE.
func createType(c *tokens.Cursor) syntax.Stmt {
	s := &syntax.CreateTypeStmt{Name: term.Name(c)}
	switch {
	case c.Accept("FROM"):
		s.From = term.Type(c)
		s.Null = term.NullSpec(c)
	case c.Accept("AS", "TABLE"):
		s.Table = TableDef(c)
		if c.At("WITH", "(") {
			c.Reject("a memory-optimized table type")
		}
	case c.At("EXTERNAL"):
		c.Reject("CREATE TYPE EXTERNAL NAME")
	default:
		c.Fail()
	}
	return s
}

// sequence reads CREATE SEQUENCE and ALTER SEQUENCE after SEQUENCE.
func sequence(c *tokens.Cursor, verb syntax.Verb) syntax.Stmt {
	s := &syntax.SequenceStmt{Verb: verb, Name: term.Name(c)}
	for {
		switch {
		case verb == syntax.Create && s.Type == nil && c.Accept("AS"):
			s.Type = term.Type(c)
		case c.Accept("START", "WITH"):
			s.StartWith = term.SignedInteger(c)
		case verb == syntax.Alter && c.Accept("RESTART"):
			s.Restart = true
			if c.Accept("WITH") {
				s.StartWith = term.SignedInteger(c)
			}
		case c.Accept("INCREMENT", "BY"):
			s.Step = term.SignedInteger(c)
		case c.Accept("MINVALUE"):
			s.Min = term.SignedInteger(c)
		case c.Accept("MAXVALUE"):
			s.Max = term.SignedInteger(c)
		case c.Accept("CYCLE"):
			s.Cycle = true
		case c.Accept("CACHE"):
			s.HasCache = true
			if c.AtKind(scanner.Int) {
				s.Cache = c.Next().Text
			}
		case c.Accept("NO", "MINVALUE"):
			s.NoMin = true
		case c.Accept("NO", "MAXVALUE"):
			s.NoMax = true
		case c.Accept("NO", "CYCLE"):
			s.NoCycle = true
		case c.Accept("NO", "CACHE"):
			s.NoCache = true
		default:
			return s
		}
	}
}

// alterSchema reads ALTER SCHEMA after SCHEMA.
func alterSchema(c *tokens.Cursor) syntax.Stmt {
	s := &syntax.AlterSchemaStmt{Name: term.Ident(c)}
	c.Expect("TRANSFER")
	if c.Peek(1).Is("::") {
		s.Class = c.ExpectAny("OBJECT", "TYPE")
		c.Expect("::")
	}
	s.Object = term.Name(c)
	return s
}

// droppable are the kinds of objects that DROP accepts with a plain list of names.
var droppable = kinds(`TABLE, VIEW, PROCEDURE, PROC, FUNCTION, TRIGGER, TYPE, SEQUENCE, SYNONYM, SCHEMA, DATABASE SCOPED CREDENTIAL,
	DATABASE, USER, LOGIN, ROLE, SERVER ROLE, APPLICATION ROLE, CREDENTIAL, STATISTICS, DEFAULT, RULE, SYMMETRIC KEY,
	ASYMMETRIC KEY, CERTIFICATE, ASSEMBLY, AGGREGATE, PARTITION FUNCTION, PARTITION SCHEME, FULLTEXT CATALOG,
	XML SCHEMA COLLECTION, EXTERNAL TABLE, EXTERNAL DATA SOURCE, SECURITY POLICY, QUEUE, SERVICE, CONTRACT, MESSAGE TYPE,
	ROUTE, ENDPOINT, EVENT SESSION`)

// Drop reads DROP.
func Drop(c *tokens.Cursor) syntax.Stmt {
	c.Expect("DROP")
	if c.Accept("INDEX") {
		return dropIndex(c)
	}
	if c.At("FULLTEXT", "INDEX") || c.At("FULLTEXT", "STOPLIST") {
		return dropFullText(c)
	}
	if c.Accept("MASTER", "KEY") {
		return &syntax.NoEffectStmt{}
	}
	for _, k := range droppable {
		if !c.Accept(k.words...) {
			continue
		}
		s := &syntax.DropStmt{Kind: k.text, IfExists: c.Accept("IF", "EXISTS"), Names: term.Names(c)}
		if s.Kind == "PROC" {
			s.Kind = "PROCEDURE"
		}
		if s.Kind == "TRIGGER" && c.Accept("ON") {
			if !c.Accept("DATABASE") {
				c.Expect("ALL", "SERVER")
			}
			c.Unsupported("a DDL trigger")
		}
		return s
	}
	rejectKind(c, "DROP")
	return nil
}
