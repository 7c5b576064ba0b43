package parser

import (
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/term"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// tranName reads the name of a transaction or savepoint; it returns nil if there is none.
func tranName(c *tokens.Cursor) syntax.Expr {
	const maxTranName = 32 // "BEGIN TRANSACTION"
	t := c.Current()
	switch {
	case t.Kind == scanner.Variable:
		return term.VarRef(c)
	case t.IsName() && !c.Peek(1).Is(":"):
		if name := []rune(t.Text); len(name) > maxTranName { // names in variables are truncated instead
			c.ErrorAt(t, mserr.IdentifierTooLong(string(name[:maxTranName]), maxTranName).WithState(2))
		}
		return term.Word(c)
	}
	return nil
}

// beginTran reads BEGIN TRANSACTION after BEGIN.
func beginTran(c *tokens.Cursor) syntax.Stmt {
	c.ExpectAny("TRAN", "TRANSACTION")
	s := &syntax.BeginTranStmt{Name: tranName(c)}
	if c.Accept("WITH", "MARK") {
		s.HasMark = true
		if l := term.Literal(c); l != nil {
			s.Mark = l
		}
	}
	return s
}

// transaction reads COMMIT, ROLLBACK and SAVE.
func transaction(c *tokens.Cursor) syntax.Stmt {
	verb := c.Next().Upper
	var name syntax.Expr
	tran := c.AcceptAny("TRAN", "TRANSACTION") != ""
	switch {
	case tran:
		name = tranName(c)
	case verb == "SAVE":
		c.Fail()
	default:
		c.Accept("WORK")
	}
	switch verb {
	case "COMMIT":
		s := &syntax.CommitStmt{Name: name}
		if c.Accept("WITH", "(", "DELAYED_DURABILITY", "=") {
			s.Durable = c.ExpectAny("ON", "OFF")
			c.Expect(")")
		}
		return s
	case "ROLLBACK":
		return &syntax.RollbackStmt{Name: name}
	}
	if name == nil {
		c.Fail()
	}
	return &syntax.SaveTranStmt{Name: name}
}
