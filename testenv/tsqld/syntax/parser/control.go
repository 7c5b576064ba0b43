package parser

import (
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/ddl"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/query"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/term"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// waitFor reads WAITFOR.
func waitFor(c *tokens.Cursor) syntax.Stmt {
	c.Next()
	if c.At("(") {
		c.Reject("WAITFOR of a queue")
		return nil
	}
	kind := c.ExpectAny("DELAY", "TIME")
	start := c.Current()
	value := term.ConstantOrVariable(c, scanner.String, scanner.NString)
	if l, ok := value.(*syntax.Literal); ok {
		if _, ok := syntax.Delay(l.Text); !ok {
			c.ErrorAt(start, mserr.BadWaitForTime(l.Text))
		}
	}
	return &syntax.WaitForStmt{Time: kind == "TIME", Value: value}
}

// throwFollows reports whether the current word THROW is the statement; n is the token after it.
// THROW is not a reserved word, and without a preceding semicolon it would continue the previous
// statement.
func (b *batch) throwFollows(n *scanner.Token) bool {
	if !b.terminated {
		b.Fail()
	}
	return !n.Is(":") && !n.Is(".")
}

// exprFollows reports whether a value comes after RETURN.
func exprFollows(c *tokens.Cursor) bool {
	t := c.Current()
	switch t.Kind {
	case scanner.EOF:
		return false
	case scanner.Word:
		if t.IsReserved() {
			switch t.Upper {
			case "NULL", "CASE", "COALESCE", "NULLIF", "CONVERT", "TRY_CONVERT", "LEFT", "RIGHT", "CURRENT_TIMESTAMP",
				"CURRENT_USER", "SESSION_USER", "SYSTEM_USER", "USER":
				return true
			}
			return false
		}
		n := c.Peek(1)
		return n.Is("(") || n.Is(".")
	case scanner.Quoted:
		return true
	case scanner.Operator:
		return t.Is("(") || t.Is("-") || t.Is("+") || t.Is("~") || t.Is("{")
	}
	return true
}

// ifStmt reads IF.
func (b *batch) ifStmt() syntax.Stmt {
	b.Next()
	s := &syntax.IfStmt{Cond: query.Cond(b.Cursor)}
	s.Then = b.nestedStmt()
	if b.At(";", "ELSE") {
		b.Next()
	}
	if b.Accept("ELSE") {
		s.Else = b.nestedStmt()
	}
	return s
}

// whileStmt reads WHILE.
func (b *batch) whileStmt() syntax.Stmt {
	b.Next()
	s := &syntax.WhileStmt{Cond: query.Cond(b.Cursor)}
	b.whileDepth++
	s.Body = b.nestedStmt()
	b.whileDepth--
	return s
}

// begin reads a statement that starts with BEGIN.
func (b *batch) begin() syntax.Stmt {
	b.Next()
	switch {
	case b.At("TRY"):
		return b.try()
	case b.AtAny("TRAN", "TRANSACTION"):
		return beginTran(b.Cursor)
	case b.At("DISTRIBUTED"):
		b.Next()
		b.Unsupported("BEGIN DISTRIBUTED TRANSACTION")
		return beginTran(b.Cursor)
	case b.At("DIALOG"), b.At("CONVERSATION"):
		b.Reject("BEGIN " + b.Current().Upper)
		return nil
	case b.At("ATOMIC", "WITH"):
		b.Reject("BEGIN ATOMIC")
		return nil
	}
	s := &syntax.BlockStmt{Body: b.stmts(func() bool { return b.At("END") })}
	if len(s.Body) == 0 {
		b.Fail() // SQL Server does not allow an empty block
	}
	b.Expect("END")
	return s
}

// try reads TRY ... CATCH.
func (b *batch) try() syntax.Stmt {
	end := func() bool { return b.At("END") }
	b.Expect("TRY")
	s := &syntax.TryStmt{Try: b.stmts(end)}
	if len(s.Try) == 0 {
		b.Fail() // only the CATCH block may be empty
	}
	b.Expect("END", "TRY")
	b.Expect("BEGIN", "CATCH")
	s.Catch = b.stmts(end)
	b.Expect("END", "CATCH")
	return s
}

// throw reads THROW.
func throw(c *tokens.Cursor) syntax.Stmt {
	c.Next()
	s := &syntax.ThrowStmt{}
	if !c.AtKind(scanner.Int, scanner.Variable) {
		return s
	}
	s.Number = term.ConstantOrVariable(c, scanner.Int)
	c.Expect(",")
	s.Message = term.ConstantOrVariable(c, scanner.String, scanner.NString)
	c.Expect(",")
	s.State = term.ConstantOrVariable(c, scanner.Int)
	return s
}

// raiserror reads RAISERROR.
func raiserror(c *tokens.Cursor) syntax.Stmt {
	c.Next()
	c.Expect("(")
	s := &syntax.RaiserrorStmt{Message: raised(c, scanner.Int, scanner.String, scanner.NString)}
	c.Expect(",")
	s.Severity = raised(c, scanner.Int)
	c.Expect(",")
	s.State = raised(c, scanner.Int)
	for c.Accept(",") {
		if len(s.Args) == 20 {
			c.ErrorAt(c.Current(), mserr.Of(2747))
		}
		if c.At("NULL") {
			s.Args = append(s.Args, query.Simple(c))
			continue
		}
		s.Args = append(s.Args, raised(c, scanner.Int, scanner.Decimal, scanner.Float, scanner.Money, scanner.String,
			scanner.NString, scanner.Binary, scanner.Global))
	}
	c.Expect(")")
	for ok := c.Accept("WITH"); ok; ok = c.Accept(",") {
		switch c.ExpectAny("LOG", "NOWAIT", "SETERROR") {
		case "LOG":
			s.Log = true
		case "NOWAIT":
			s.NoWait = true
		case "SETERROR":
			s.SetError = true
		}
	}
	return s
}

// raised reads an argument of RAISERROR: a variable, or a constant of one of the kinds.
func raised(c *tokens.Cursor, kinds ...scanner.Kind) syntax.Expr {
	if !c.At("-") && !c.AtKind(append(kinds, scanner.Variable)...) {
		c.Fail()
	}
	return query.Simple(c, "-")
}

// declare reads DECLARE.
func declare(c *tokens.Cursor) syntax.Stmt {
	c.Next()
	c.MarkDeclared()
	if !c.AtKind(scanner.Variable) {
		return declareCursor(c)
	}
	return &syntax.DeclareStmt{Vars: tokens.List(c, varDecl)}
}

// varDecl reads the declaration of one variable.
func varDecl(c *tokens.Cursor) *syntax.VarDecl {
	c.MarkDeclared()
	v := &syntax.VarDecl{At: c.Here(), Name: term.Variable(c)}
	c.Accept("AS")
	switch {
	case c.Accept("TABLE"):
		v.Table = ddl.TableDef(c)
	case c.Accept("CURSOR"):
		v.Cursor = true
	default:
		v.Type = term.Type(c)
		if c.Accept("=") {
			v.Init = query.Expr(c)
		}
	}
	return v
}
