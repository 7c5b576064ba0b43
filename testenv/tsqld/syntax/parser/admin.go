package parser

import (
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/query"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/term"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// backup reads BACKUP and RESTORE, which the server does not execute.
func backup(c *tokens.Cursor) syntax.Stmt {
	verb := c.Next().Upper
	what := verb + " "
	switch {
	case c.AtAny("DATABASE", "LOG"):
		what += c.Next().Upper
		if c.Current().Kind == scanner.Variable {
			c.Next()
		} else {
			term.Ident(c)
		}
	case verb == "RESTORE" && c.AtAny("HEADERONLY", "FILELISTONLY", "VERIFYONLY", "LABELONLY", "REWINDONLY"):
		what += c.Next().Upper
	case c.At("CERTIFICATE"), c.At("MASTER", "KEY"), c.At("SERVICE", "MASTER", "KEY"), c.At("SYMMETRIC", "KEY"):
		c.Reject(what + term.Words(c, false))
		return nil
	default:
		c.Fail()
		return nil
	}
	if c.AcceptAny("TO", "FROM") != "" {
		for {
			c.AcceptAny("DISK", "URL", "TAPE", "VIRTUAL_DEVICE")
			c.Accept("=")
			if c.Current().Kind == scanner.Variable || c.Current().IsName() {
				c.Next()
			} else {
				term.Secret(c)
			}
			if !c.Accept(",") {
				break
			}
		}
	}
	if c.Accept("WITH") {
		for {
			if c.Accept("MOVE") {
				term.Secret(c)
				c.Expect("TO")
				term.Secret(c)
			} else {
				term.Option(c, false)
			}
			if !c.Accept(",") {
				break
			}
		}
	}
	return &syntax.UnsupportedStmt{What: what}
}

// dbcc reads DBCC.
func dbcc(c *tokens.Cursor) syntax.Stmt {
	c.Expect("DBCC")
	t := c.Current()
	if t.Kind != scanner.Word {
		c.Fail()
		return nil
	}
	c.Next()
	s := &syntax.DBCCStmt{Command: t.Upper}
	if c.Accept("(") {
		for !c.At(")") {
			switch t := c.Current(); {
			case t.IsName(), t.Kind == scanner.Word && !t.Is("NULL"):
				e := c.Here()
				if t.IsName() && c.Peek(1).Is(".") {
					s.Args = append(s.Args, &syntax.ColumnRef{At: e, Parts: term.Parts(c, "object")})
				} else {
					c.Next()
					s.Args = append(
						s.Args,
						&syntax.ColumnRef{At: e, Parts: []syntax.Ident{{Name: t.Text, Quoted: t.Kind == scanner.Quoted, At: t.At}}},
					)
				}
			default:
				s.Args = append(s.Args, query.Expr(c))
			}
			if !c.Accept(",") {
				break
			}
		}
		c.Expect(")")
	}
	if c.Accept("WITH") {
		s.Options = term.OptionList(c, false)
	}
	return s
}

// kill reads KILL.
func kill(c *tokens.Cursor) syntax.Stmt {
	c.Expect("KILL")
	if c.At("STATS", "JOB") || c.At("QUERY", "NOTIFICATION") {
		c.Reject("KILL " + c.Current().Upper)
		return nil
	}
	s := &syntax.KillStmt{Session: query.Expr(c)}
	s.StatusOnly = c.Accept("WITH", "STATUSONLY")
	return s
}
