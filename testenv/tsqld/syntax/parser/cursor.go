package parser

import (
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/query"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/security"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/term"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
)

// declareCursor reads DECLARE name CURSOR.
func declareCursor(c *tokens.Cursor) syntax.Stmt {
	name := term.Ident(c)
	return &syntax.DeclareCursorStmt{Name: name, Cursor: cursorDef(c)}
}

// cursorDef reads CURSOR options FOR query, also in the syntax of the standard.
func cursorDef(c *tokens.Cursor) *syntax.CursorDef {
	def := &syntax.CursorDef{At: c.Here()}
	standard := !c.At("CURSOR")
	for !c.At("CURSOR") {
		switch c.ExpectAny("INSENSITIVE", "SCROLL") {
		case "INSENSITIVE":
			def.Insensitive = true
		case "SCROLL":
			def.Scroll = true
		default:
			return def
		}
	}
	c.Expect("CURSOR")
	for !c.At("FOR") {
		t := c.Next()
		if standard {
			c.ErrorAt(t, mserr.Of(1049))
		}
		switch t.Upper {
		case "LOCAL", "GLOBAL":
			def.Scope = t.Upper
		case "FORWARD_ONLY":
			def.ForwardOnly = true
		case "SCROLL":
			def.Scroll = true
		case "STATIC", "KEYSET", "DYNAMIC", "FAST_FORWARD":
			def.Kind = t.Upper
		case "READ_ONLY", "SCROLL_LOCKS", "OPTIMISTIC":
			def.Concurrency = t.Upper
		case "TYPE_WARNING":
			def.TypeWarning = true
		default:
			c.FailAt(t)
			return def
		}
	}
	c.Expect("FOR")
	def.Query = query.Query(c)
	switch {
	case c.Accept("FOR", "READ", "ONLY"), c.Accept("FOR", "READ_ONLY"):
		def.ReadOnly = true
	case c.Accept("FOR", "UPDATE"):
		def.ForUpdate = true
		if c.Accept("OF") {
			def.UpdateColumns = tokens.List(c, term.Ident)
		}
	}
	def.Hints = term.QueryHints(c)
	return def
}

// cursor reads OPEN, CLOSE and DEALLOCATE, also OPEN and CLOSE of keys.
func cursor(c *tokens.Cursor) syntax.Stmt {
	verb := c.Next().Upper
	switch {
	case c.Accept("SYMMETRIC", "KEY"):
		symmetricKey(c, verb)
		return &syntax.UnsupportedStmt{What: verb + " SYMMETRIC KEY"}
	case c.Accept("ALL", "SYMMETRIC"):
		c.Expect("KEYS")
		return &syntax.UnsupportedStmt{What: verb + " ALL SYMMETRIC KEYS"}
	case c.At("MASTER", "KEY"):
		return security.MasterKey(c, verb)
	case verb == "OPEN":
		return &syntax.OpenStmt{Cursor: query.CursorRef(c)}
	case verb == "CLOSE":
		return &syntax.CloseStmt{Cursor: query.CursorRef(c)}
	}
	return &syntax.DeallocateStmt{Cursor: query.CursorRef(c)}
}

// symmetricKey reads what follows SYMMETRIC KEY.
func symmetricKey(c *tokens.Cursor, verb string) {
	term.Ident(c)
	if verb != "OPEN" {
		return
	}
	c.Expect("DECRYPTION", "BY")
	if c.ExpectAny("CERTIFICATE", "PASSWORD", "SYMMETRIC", "ASYMMETRIC") == "PASSWORD" {
		c.Expect("=")
		term.Literal(c)
		return
	}
	c.Accept("KEY")
	term.Ident(c)
	if c.Accept("WITH", "PASSWORD", "=") {
		term.Literal(c)
	}
}

// directions are the words of FETCH.
var directions = map[string]syntax.FetchDirection{
	"NEXT": syntax.FetchNext, "PRIOR": syntax.FetchPrior, "FIRST": syntax.FetchFirst, "LAST": syntax.FetchLast,
	"ABSOLUTE": syntax.FetchAbsolute, "RELATIVE": syntax.FetchRelative,
}

// fetch reads FETCH.
func fetch(c *tokens.Cursor) syntax.Stmt {
	c.Next()
	s := &syntax.FetchStmt{}
	if direction, ok := directions[c.Current().Upper]; ok && !c.Peek(1).Is("INTO") {
		c.Next()
		s.Direction = direction
		if direction >= syntax.FetchAbsolute {
			s.Offset = query.Expr(c)
		}
		c.Expect("FROM")
	} else {
		c.Accept("FROM")
	}
	s.Cursor = query.CursorRef(c)
	if c.Accept("INTO") {
		s.Into = tokens.List(c, term.Variable)
	}
	return s
}
