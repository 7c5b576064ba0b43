package parser

import (
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/ddl"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/security"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/term"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// create reads CREATE.
func (b *batch) create() syntax.Stmt {
	start := b.Next()
	verb := syntax.Create
	if b.Accept("OR", "ALTER") {
		verb = syntax.CreateOrAlter
	}
	if s, ok := b.module(verb, start); ok {
		return s
	}
	switch {
	case verb == syntax.CreateOrAlter:
		b.Fail()
		return nil
	case b.At("SCHEMA"):
		return b.createSchema(start)
	}
	if s, ok := security.Define(b.Cursor, verb); ok {
		return s
	}
	return ddl.Create(b.Cursor)
}

// alter reads ALTER.
func (b *batch) alter() syntax.Stmt {
	start := b.Next()
	if s, ok := b.module(syntax.Alter, start); ok {
		return s
	}
	if s, ok := security.Define(b.Cursor, syntax.Alter); ok {
		return s
	}
	return ddl.Alter(b.Cursor)
}

// createSchema reads CREATE SCHEMA, which must be first in its batch.
func (b *batch) createSchema(start *scanner.Token) syntax.Stmt {
	b.firstInBatch(start, "CREATE SCHEMA")
	b.Expect("SCHEMA")
	s := &syntax.CreateSchemaStmt{}
	if !b.At("AUTHORIZATION") {
		s.Name = term.Ident(b.Cursor)
	}
	if b.Accept("AUTHORIZATION") {
		s.Authorization = term.Principal(b.Cursor)
	}
	for {
		at, words := b.Current().At, b.Words()
		var e syntax.Stmt
		switch {
		case b.At("CREATE", "TABLE"):
			b.Expect("CREATE", "TABLE")
			e = ddl.CreateTable(b.Cursor)
		case b.At("CREATE", "VIEW"):
			b.Expect("CREATE", "VIEW")
			e = view(b.Cursor, syntax.Create)
		case b.AtAny("GRANT", "DENY", "REVOKE"):
			e = security.Permission(b.Cursor)
		default:
			return s
		}
		if e != nil {
			e.SetExtent(at, b.Previous().End, words)
			s.Elements = append(s.Elements, e)
		}
	}
}
