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
		if c.AtKind(scanner.Variable) {
			c.Next()
		} else {
			term.Ident(c)
		}
	case verb == "RESTORE" && c.AtAny("HEADERONLY", "FILELISTONLY", "VERIFYONLY", "LABELONLY", "REWINDONLY"):
		what += c.Next().Upper
	case c.At("CERTIFICATE"), c.At("MASTER", "KEY"), c.At("SERVICE", "MASTER", "KEY"), c.At("SYMMETRIC", "KEY"):
		c.Reject(what + term.Words(c))
		return nil
	default:
		c.Fail()
		return nil
	}
	for ok := c.AcceptAny("TO", "FROM") != ""; ok; ok = c.Accept(",") {
		c.AcceptAny("DISK", "URL", "TAPE", "VIRTUAL_DEVICE")
		c.Accept("=")
		if c.AtKind(scanner.Variable) || c.Current().IsName() {
			c.Next()
		} else {
			term.Constant(c)
		}
	}
	for ok := c.Accept("WITH"); ok; ok = c.Accept(",") {
		if c.Accept("MOVE") {
			term.Constant(c)
			c.Expect("TO")
			term.Constant(c)
		} else {
			term.Option(c)
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
		for ok := !c.At(")"); ok; ok = c.Accept(",") && !c.At(")") {
			s.Args = append(s.Args, dbccArg(c))
		}
		c.Expect(")")
	}
	s.Options = term.WithOptionList(c)
	return s
}

// dbccArg reads an argument of DBCC. A word is a name, also if it is reserved.
func dbccArg(c *tokens.Cursor) syntax.Expr {
	at, t := c.Here(), c.Current()
	switch {
	case t.IsName() && c.Peek(1).Is("."):
		return &syntax.ColumnRef{At: at, Parts: term.Parts(c, "object")}
	case t.IsName(), t.Kind == scanner.Word && !t.Is("NULL"):
		c.Next()
		return &syntax.ColumnRef{At: at, Parts: []syntax.Ident{{Name: t.Text, Quoted: t.Kind == scanner.Quoted, At: t.At}}}
	}
	return query.Expr(c)
}

// kill reads KILL.
func kill(c *tokens.Cursor) syntax.Stmt {
	c.Expect("KILL")
	if c.At("STATS", "JOB") || c.At("QUERY", "NOTIFICATION") {
		c.Reject("KILL " + c.Current().Upper)
		return nil
	}
	return &syntax.KillStmt{Session: query.Expr(c), StatusOnly: c.Accept("WITH", "STATUSONLY")}
}
