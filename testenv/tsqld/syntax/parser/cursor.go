package parser

import (
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/query"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/security"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/term"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// declareCursor reads DECLARE name CURSOR.
func declareCursor(c *tokens.Cursor) syntax.Stmt {
	s := &syntax.DeclareCursorStmt{Name: term.Ident(c)}
	def := &syntax.CursorDef{At: c.Here()}
	for !c.At("CURSOR") {
		switch c.ExpectAny("INSENSITIVE", "SCROLL") {
		case "INSENSITIVE":
			def.Insensitive = true
		case "SCROLL":
			def.Scroll = true
		default:
			return s
		}
	}
	cursorDef(c, def)
	s.Cursor = def
	return s
}

// cursorDef reads CURSOR options FOR query.
func cursorDef(c *tokens.Cursor, def *syntax.CursorDef) {
	c.Expect("CURSOR")
	for !c.At("FOR") {
		t := c.Next()
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
			return
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
			def.UpdateColumns = []syntax.Ident{term.Ident(c)}
			for c.Accept(",") {
				def.UpdateColumns = append(def.UpdateColumns, term.Ident(c))
			}
		}
	}
	def.Hints = query.Hints(c)
}

// cursor reads OPEN, CLOSE, DEALLOCATE and FETCH, and also OPEN and CLOSE of keys.
func cursor(c *tokens.Cursor) syntax.Stmt {
	verb := c.Next().Upper
	if verb != "FETCH" {
		switch {
		case c.At("SYMMETRIC", "KEY"):
			c.Next()
			c.Next()
			term.Ident(c)
			if verb == "OPEN" {
				c.Expect("DECRYPTION", "BY")
				if c.ExpectAny("CERTIFICATE", "PASSWORD", "SYMMETRIC", "ASYMMETRIC") == "PASSWORD" {
					c.Expect("=")
					term.Literal(c)
				} else {
					c.Accept("KEY")
					term.Ident(c)
					if c.Accept("WITH", "PASSWORD", "=") {
						term.Literal(c)
					}
				}
			}
			return &syntax.UnsupportedStmt{What: verb + " SYMMETRIC KEY"}
		case c.At("ALL", "SYMMETRIC"):
			c.Expect("ALL", "SYMMETRIC", "KEYS")
			return &syntax.UnsupportedStmt{What: verb + " ALL SYMMETRIC KEYS"}
		case c.At("MASTER", "KEY"):
			return security.MasterKey(c, verb)
		}
	}
	switch verb {
	case "OPEN":
		return &syntax.OpenStmt{Cursor: query.CursorRef(c)}
	case "CLOSE":
		return &syntax.CloseStmt{Cursor: query.CursorRef(c)}
	case "DEALLOCATE":
		return &syntax.DeallocateStmt{Cursor: query.CursorRef(c)}
	}
	s := &syntax.FetchStmt{}
	if c.Current().Kind == scanner.Word && !c.Peek(1).Is("INTO") {
		direction, ok := map[string]syntax.FetchDirection{
			"NEXT": syntax.FetchNext, "PRIOR": syntax.FetchPrior, "FIRST": syntax.FetchFirst, "LAST": syntax.FetchLast,
			"ABSOLUTE": syntax.FetchAbsolute, "RELATIVE": syntax.FetchRelative,
		}[c.Current().Upper]
		if ok {
			c.Next()
			s.Direction = direction
			if direction >= syntax.FetchAbsolute {
				s.Offset = query.Expr(c)
			}
			c.Expect("FROM")
		}
	}
	c.Accept("FROM")
	s.Cursor = query.CursorRef(c)
	if c.Accept("INTO") {
		s.Into = []string{term.Variable(c)}
		for c.Accept(",") {
			s.Into = append(s.Into, term.Variable(c))
		}
	}
	return s
}
