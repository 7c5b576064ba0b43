package parser

import (
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// implicitExec reads EXECUTE without the keyword, at the beginning of a batch.
func (p *parser) implicitExec() syntax.Stmt {
	if p.current().At != p.first {
		p.fail()
		return nil
	}
	s := &syntax.ExecStmt{Implicit: true, Module: p.objectName()}
	p.moduleNumber(s)
	s.Args = p.execArgs()
	p.execWith(s)
	return s
}

// moduleNumber reads ;n after the name of a procedure.
func (p *parser) moduleNumber(s *syntax.ExecStmt) {
	if p.at(";") && p.peek(1).Kind == scanner.Int {
		p.next()
		s.Number = p.integer()
	}
}

// execute reads EXECUTE of modules and text, and EXECUTE AS.
func (p *parser) execute() syntax.Stmt {
	p.next()
	if p.at("AS") {
		return p.executeAs()
	}
	return p.execTail()
}

// execTail reads the rest of a statement after EXEC.
func (p *parser) execTail() *syntax.ExecStmt {
	s := &syntax.ExecStmt{}
	t := p.current()
	switch {
	case p.at("("):
		p.execText(s)
		return s
	case t.Kind == scanner.Variable && p.peek(1).Is("="):
		p.next()
		p.next()
		s.ReturnVar = t.Text
		if t = p.current(); t.Kind == scanner.Variable {
			p.next()
			s.ModuleVar = t.Text
		} else {
			s.Module = p.objectName()
		}
	case t.Kind == scanner.Variable:
		p.next()
		s.ModuleVar = t.Text
	default:
		s.Module = p.objectName()
	}
	p.moduleNumber(s)
	s.Args = p.execArgs()
	p.execWith(s)
	return s
}

// execText reads EXEC (text).
func (p *parser) execText(s *syntax.ExecStmt) {
	p.expect("(")
	s.Text = p.expr()
	for p.accept(",") {
		s.TextArgs = append(s.TextArgs, p.execArg())
	}
	p.expect(")")
	if p.accept("AS") {
		s.AsLogin = p.expectAny("USER", "LOGIN") == "LOGIN"
		p.expect("=")
		if l := p.literal(); l != nil {
			s.As = l.Text
		} else {
			p.fail()
		}
	}
	if p.accept("AT") {
		s.At = p.ident()
	}
	p.execWith(s)
}

// execArgs reads arguments. The list may be empty.
func (p *parser) execArgs() []*syntax.ExecArg {
	t := p.current()
	_, constant := literalKinds[t.Kind]
	if !constant && t.Kind != scanner.Variable && t.Kind != scanner.Global && !t.Is("-") && !t.Is("+") && !t.Is("DEFAULT") &&
		!t.Is("NULL") && !t.Is("{") && !(t.IsName() && !p.peek(1).Is(":")) {
		return nil
	}
	var args []*syntax.ExecArg
	named := false
	for {
		a := p.execArg()
		args = append(args, a)
		if a.Name == "" && named {
			p.errorAt(p.previous(), mserr.NamedThenPositional(len(args)))
		}
		named = named || a.Name != ""
		if !p.accept(",") {
			return args
		}
	}
}

// execArg reads one argument: constants, variables, DEFAULT and bare words only.
func (p *parser) execArg() *syntax.ExecArg {
	a := &syntax.ExecArg{At: p.here()}
	if k := p.current().Kind; (k == scanner.Variable || k == scanner.Global) && p.peek(1).Is("=") {
		a.Name = p.next().Text
		p.next()
	}
	t := p.current()
	e := p.here()
	switch {
	case p.at("DEFAULT"):
		a.Value = p.exprOrDefault()
	case p.accept("NULL"):
		a.Value = &syntax.Literal{At: e, Kind: syntax.NullLit}
	case t.Kind == scanner.Variable:
		p.next()
		a.Value = &syntax.VarRef{At: e, Name: t.Text}
	case t.Kind == scanner.Global:
		p.next()
		a.Value = &syntax.GlobalRef{At: e, Name: t.Upper}
	case p.atAny("-", "+"):
		op := p.infix(unaryOps)
		l := p.literal()
		if l == nil || l.Kind > syntax.MoneyLit {
			p.fail()
			return a
		}
		a.Value = &syntax.UnaryExpr{At: e, Op: op, X: l}
	case p.at("{"):
		a.Value = p.odbc()
	case t.IsName():
		a.Value = &syntax.Literal{At: e, Kind: syntax.StringLit, Text: p.ident().Name, Bare: true}
		if p.at(".") {
			p.fail()
		}
	default:
		l := p.literal()
		if l == nil {
			p.fail()
			return a
		}
		a.Value = l
	}
	if p.acceptAny("OUTPUT", "OUT") != "" {
		a.Output = true
		switch a.Value.(type) {
		case *syntax.VarRef:
		case *syntax.Literal, *syntax.UnaryExpr:
			p.errorAt(p.previous(), mserr.OutputOfConstant())
		}
	}
	return a
}

// execWith reads WITH RECOMPILE and WITH RESULT SETS.
func (p *parser) execWith(s *syntax.ExecStmt) {
	if !p.at("WITH") || !(p.peek(1).Is("RECOMPILE") || p.peek(1).Is("RESULT")) {
		return
	}
	p.next()
	for {
		switch {
		case p.accept("RECOMPILE"):
			s.Recompile = true
		case p.at("RESULT", "SETS"):
			s.ResultSets = p.resultSets()
		default:
			p.fail()
			return
		}
		if !p.accept(",") {
			return
		}
	}
}

// resultSets reads RESULT SETS.
func (p *parser) resultSets() *syntax.ResultSets {
	r := &syntax.ResultSets{At: p.here()}
	p.expect("RESULT", "SETS")
	if r.Kind = p.acceptAny("UNDEFINED", "NONE"); r.Kind != "" {
		return r
	}
	p.expect("(")
	for {
		if p.at("AS") {
			p.reject("WITH RESULT SETS of objects and types")
			return r
		}
		p.expect("(")
		var set []*syntax.ColumnDef
		for {
			c := &syntax.ColumnDef{At: p.here(), Name: p.ident(), Type: p.typeRef()}
			if p.accept("COLLATE") {
				c.Collation = p.ident().Name
			}
			c.Null = p.nullSpec()
			set = append(set, c)
			if !p.accept(",") {
				break
			}
		}
		p.expect(")")
		r.Sets = append(r.Sets, set)
		if !p.accept(",") {
			break
		}
	}
	p.expect(")")
	return r
}

// nullSpec reads an optional NULL or NOT NULL.
func (p *parser) nullSpec() syntax.NullSpec {
	switch {
	case p.accept("NOT", "NULL"):
		return syntax.NotNull
	case p.accept("NULL"):
		return syntax.NullAllowed
	}
	return syntax.NullUnspecified
}

// executeAs reads EXECUTE AS after EXECUTE.
func (p *parser) executeAs() syntax.Stmt {
	p.expect("AS")
	s := &syntax.ExecuteAsStmt{}
	if p.accept("CALLER") {
		s.Caller = true
	} else {
		s.Login = p.expectAny("USER", "LOGIN") == "LOGIN"
		p.expect("=")
		s.Name = p.expr()
	}
	if p.accept("WITH") {
		if p.accept("NO", "REVERT") {
			s.NoRevert = true
		} else {
			p.expect("COOKIE", "INTO")
			s.Cookie = p.variable()
		}
	}
	return s
}
