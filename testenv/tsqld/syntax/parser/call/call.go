package call

import (
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/query"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/term"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// Implicit reads EXECUTE without the keyword, at the beginning of a batch.
func Implicit(c *tokens.Cursor) *syntax.ExecStmt {
	return execModule(c, &syntax.ExecStmt{Implicit: true, Module: term.Name(c)})
}

// Execute reads EXECUTE of a module or of text.
func Execute(c *tokens.Cursor) *syntax.ExecStmt {
	c.Next()
	s := &syntax.ExecStmt{}
	if c.At("(") {
		return execText(c, s)
	}
	if c.AtKind(scanner.Variable) && c.Peek(1).Is("=") {
		s.ReturnVar = term.Variable(c)
		c.Next()
	}
	if c.AtKind(scanner.Variable) {
		s.ModuleVar = term.Variable(c)
	} else {
		s.Module = term.Name(c)
	}
	return execModule(c, s)
}

// execModule reads what follows the name of a module.
func execModule(c *tokens.Cursor, s *syntax.ExecStmt) *syntax.ExecStmt {
	term.ProcedureNumber(c)
	s.Args = execArgs(c)
	return execWith(c, s)
}

// execText reads EXEC (text).
func execText(c *tokens.Cursor, s *syntax.ExecStmt) *syntax.ExecStmt {
	c.Expect("(")
	s.Text = query.Expr(c)
	for c.Accept(",") {
		execArg(c)
		c.Unsupported("EXECUTE of a text with arguments")
	}
	c.Expect(")")
	if c.Accept("AS") {
		s.AsLogin = c.ExpectAny("USER", "LOGIN") == "LOGIN"
		c.Expect("=")
		s.As = term.Constant(c).Text
	}
	if c.Accept("AT") {
		term.Ident(c)
		c.Unsupported("EXECUTE AT")
	}
	return execWith(c, s)
}

// execArgs reads arguments. The list may be empty.
func execArgs(c *tokens.Cursor) []*syntax.ExecArg {
	if !term.AtLiteral(c) && !c.AtKind(scanner.Variable, scanner.Global) && !c.AtAny("-", "+", "DEFAULT", "NULL", "{") &&
		!(c.Current().IsName() && !c.Peek(1).Is(":")) {
		return nil
	}
	named, n := false, 0
	return tokens.List(c, func(c *tokens.Cursor) *syntax.ExecArg {
		a := execArg(c)
		n++
		if a.Name == "" && named {
			c.ErrorAt(c.Previous(), mserr.NamedThenPositional(n))
		}
		named = named || a.Name != ""
		return a
	})
}

// execArg reads one argument.
func execArg(c *tokens.Cursor) *syntax.ExecArg {
	a := &syntax.ExecArg{At: c.Here()}
	if c.AtKind(scanner.Variable, scanner.Global) && c.Peek(1).Is("=") {
		a.Name = c.Next().Text
		c.Next()
	}
	if c.At("DEFAULT") {
		a.Value = query.ExprOrDefault(c)
	} else {
		a.Value = query.Simple(c, "-", "+")
	}
	if c.AcceptAny("OUTPUT", "OUT") != "" {
		a.Output = true
		switch a.Value.(type) {
		case *syntax.Literal, *syntax.UnaryExpr:
			c.ErrorAt(c.Previous(), mserr.OutputOfConstant())
		}
	}
	return a
}

// execWith reads WITH RECOMPILE and WITH RESULT SETS into s, and returns s.
func execWith(c *tokens.Cursor, s *syntax.ExecStmt) *syntax.ExecStmt {
	if !c.At("WITH", "RECOMPILE") && !c.At("WITH", "RESULT") {
		return s
	}
	for ok := c.Accept("WITH"); ok; ok = c.Accept(",") {
		switch {
		case c.Accept("RECOMPILE"):
			s.Recompile = true
		case c.At("RESULT", "SETS"):
			s.ResultSets = resultSets(c)
		default:
			c.Fail()
		}
	}
	return s
}

// resultSets reads RESULT SETS.
func resultSets(c *tokens.Cursor) *syntax.ResultSets {
	r := &syntax.ResultSets{At: c.Here()}
	c.Expect("RESULT", "SETS")
	if r.Kind = c.AcceptAny("UNDEFINED", "NONE"); r.Kind != "" {
		return r
	}
	r.Sets = tokens.ParenList(c, func(c *tokens.Cursor) []*syntax.ColumnDef {
		if c.At("AS") {
			c.Reject("WITH RESULT SETS AS OBJECT or AS TYPE")
		}
		return tokens.ParenList(c, term.TypedColumn)
	})
	return r
}

// Escape reads {[@r =] call p[(args)]}, which is equivalent to EXECUTE.
func Escape(c *tokens.Cursor) syntax.Stmt {
	c.Expect("{")
	s := &syntax.ExecStmt{}
	if c.AtKind(scanner.Variable) {
		s.ReturnVar = term.Variable(c)
		c.Expect("=")
	}
	c.Expect("CALL")
	s.Module = term.Name(c)
	if c.Accept("(") {
		if !c.At(")") {
			s.Args = execArgs(c)
		}
		c.Expect(")")
	}
	c.Expect("}")
	return s
}
