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
func Implicit(c *tokens.Cursor) syntax.Stmt {
	s := &syntax.ExecStmt{Implicit: true, Module: term.Name(c)}
	moduleNumber(c, s)
	s.Args = execArgs(c)
	execWith(c, s)
	return s
}

// moduleNumber reads ;n after the name of a procedure.
func moduleNumber(c *tokens.Cursor, s *syntax.ExecStmt) {
	if c.At(";") && c.Peek(1).Kind == scanner.Int {
		c.Next()
		s.Number = term.Integer(c)
	}
}

// Execute reads EXECUTE of a module or of text.
func Execute(c *tokens.Cursor) *syntax.ExecStmt {
	c.Next()
	s := &syntax.ExecStmt{}
	t := c.Current()
	switch {
	case c.At("("):
		execText(c, s)
		return s
	case t.Kind == scanner.Variable && c.Peek(1).Is("="):
		c.Next()
		c.Next()
		s.ReturnVar = t.Text
		if t = c.Current(); t.Kind == scanner.Variable {
			c.Next()
			s.ModuleVar = t.Text
		} else {
			s.Module = term.Name(c)
		}
	case t.Kind == scanner.Variable:
		c.Next()
		s.ModuleVar = t.Text
	default:
		s.Module = term.Name(c)
	}
	moduleNumber(c, s)
	s.Args = execArgs(c)
	execWith(c, s)
	return s
}

// execText reads EXEC (text).
func execText(c *tokens.Cursor, s *syntax.ExecStmt) {
	c.Expect("(")
	s.Text = query.Expr(c)
	for c.Accept(",") {
		s.TextArgs = append(s.TextArgs, execArg(c))
	}
	c.Expect(")")
	if c.Accept("AS") {
		s.AsLogin = c.ExpectAny("USER", "LOGIN") == "LOGIN"
		c.Expect("=")
		if l := term.Literal(c); l != nil {
			s.As = l.Text
		} else {
			c.Fail()
		}
	}
	if c.Accept("AT") {
		s.At = term.Ident(c)
	}
	execWith(c, s)
}

// execArgs reads arguments. The list may be empty.
func execArgs(c *tokens.Cursor) []*syntax.ExecArg {
	t := c.Current()
	_, constant := term.LiteralKinds[t.Kind]
	if !constant && t.Kind != scanner.Variable && t.Kind != scanner.Global && !t.Is("-") && !t.Is("+") && !t.Is("DEFAULT") &&
		!t.Is("NULL") && !t.Is("{") && !(t.IsName() && !c.Peek(1).Is(":")) {
		return nil
	}
	var args []*syntax.ExecArg
	named := false
	for {
		a := execArg(c)
		args = append(args, a)
		if a.Name == "" && named {
			c.ErrorAt(c.Previous(), mserr.NamedThenPositional(len(args)))
		}
		named = named || a.Name != ""
		if !c.Accept(",") {
			return args
		}
	}
}

// execArg reads one argument: constants, variables, DEFAULT and bare words only.
func execArg(c *tokens.Cursor) *syntax.ExecArg {
	a := &syntax.ExecArg{At: c.Here()}
	if k := c.Current().Kind; (k == scanner.Variable || k == scanner.Global) && c.Peek(1).Is("=") {
		a.Name = c.Next().Text
		c.Next()
	}
	t := c.Current()
	e := c.Here()
	switch {
	case c.At("DEFAULT"):
		a.Value = query.ExprOrDefault(c)
	case c.Accept("NULL"):
		a.Value = &syntax.Literal{At: e, Kind: syntax.NullLit}
	case t.Kind == scanner.Variable:
		c.Next()
		a.Value = &syntax.VarRef{At: e, Name: t.Text}
	case t.Kind == scanner.Global:
		c.Next()
		a.Value = &syntax.GlobalRef{At: e, Name: t.Upper}
	case c.AtAny("-", "+"):
		op := query.Infix(c, query.UnaryOps)
		l := term.Literal(c)
		if l == nil || l.Kind > syntax.MoneyLit {
			c.Fail()
			return a
		}
		a.Value = &syntax.UnaryExpr{At: e, Op: op, X: l}
	case c.At("{"):
		a.Value = query.Odbc(c)
	case t.IsName():
		a.Value = &syntax.Literal{At: e, Kind: syntax.StringLit, Text: term.Ident(c).Name, Bare: true}
		if c.At(".") {
			c.Fail()
		}
	default:
		l := term.Literal(c)
		if l == nil {
			c.Fail()
			return a
		}
		a.Value = l
	}
	if c.AcceptAny("OUTPUT", "OUT") != "" {
		a.Output = true
		switch a.Value.(type) {
		case *syntax.VarRef:
		case *syntax.Literal, *syntax.UnaryExpr:
			c.ErrorAt(c.Previous(), mserr.OutputOfConstant())
		}
	}
	return a
}

// execWith reads WITH RECOMPILE and WITH RESULT SETS.
func execWith(c *tokens.Cursor, s *syntax.ExecStmt) {
	if !c.At("WITH") || !(c.Peek(1).Is("RECOMPILE") || c.Peek(1).Is("RESULT")) {
		return
	}
	c.Next()
	for {
		switch {
		case c.Accept("RECOMPILE"):
			s.Recompile = true
		case c.At("RESULT", "SETS"):
			s.ResultSets = resultSets(c)
		default:
			c.Fail()
			return
		}
		if !c.Accept(",") {
			return
		}
	}
}

// resultSets reads RESULT SETS.
func resultSets(c *tokens.Cursor) *syntax.ResultSets {
	r := &syntax.ResultSets{At: c.Here()}
	c.Expect("RESULT", "SETS")
	if r.Kind = c.AcceptAny("UNDEFINED", "NONE"); r.Kind != "" {
		return r
	}
	c.Expect("(")
	for {
		if c.At("AS") {
			c.Reject("WITH RESULT SETS of objects and types")
			return r
		}
		c.Expect("(")
		var set []*syntax.ColumnDef
		for {
			col := &syntax.ColumnDef{At: c.Here(), Name: term.Ident(c), Type: term.Type(c)}
			if c.Accept("COLLATE") {
				col.Collation = term.Ident(c).Name
			}
			col.Null = term.NullSpec(c)
			set = append(set, col)
			if !c.Accept(",") {
				break
			}
		}
		c.Expect(")")
		r.Sets = append(r.Sets, set)
		if !c.Accept(",") {
			break
		}
	}
	c.Expect(")")
	return r
}

// Escape reads {[@r =] call p[(args)]}, which is equivalent to EXECUTE.
func Escape(c *tokens.Cursor) syntax.Stmt {
	c.Expect("{")
	s := &syntax.ExecStmt{}
	if c.Current().Kind == scanner.Variable {
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
