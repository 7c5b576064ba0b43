package syntax

import "github.com/jobagent/jobagent/testenv/tsqld/mserr"

// implicitExec reads EXECUTE without the keyword, at the beginning of a batch.
func (p *parser) implicitExec() Stmt {
	if p.pos != p.firstToken || p.depth > 1 {
		p.fail()
		return nil
	}
	s := &ExecStmt{Implicit: true, Module: p.objectName()}
	p.moduleNumber(s)
	s.Args = p.execArgs()
	p.execWith(s)
	return s
}

// moduleNumber reads ;n after the name of a procedure.
func (p *parser) moduleNumber(s *ExecStmt) {
	if p.at(";") && p.peek(1).kind == tokInt {
		p.next()
		s.Number = p.integer()
	}
}

// execute reads EXECUTE of modules and text, and EXECUTE AS.
func (p *parser) execute() Stmt {
	p.next()
	if p.at("AS") {
		return p.executeAs()
	}
	return p.execTail()
}

// execTail reads the rest of a statement after EXEC.
func (p *parser) execTail() *ExecStmt {
	s := &ExecStmt{}
	t := p.current()
	switch {
	case p.at("("):
		p.execText(s)
		return s
	case t.kind == tokVar && p.peek(1).is("="):
		p.next()
		p.next()
		s.ReturnVar = t.text
		if t = p.current(); t.kind == tokVar {
			p.next()
			s.ModuleVar = t.text
		} else {
			s.Module = p.objectName()
		}
	case t.kind == tokVar:
		p.next()
		s.ModuleVar = t.text
	default:
		s.Module = p.objectName()
	}
	p.moduleNumber(s)
	s.Args = p.execArgs()
	p.execWith(s)
	return s
}

// execText reads EXEC (text).
func (p *parser) execText(s *ExecStmt) {
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
func (p *parser) execArgs() []*ExecArg {
	t := p.current()
	_, constant := literalKinds[t.kind]
	if !constant && t.kind != tokVar && t.kind != tokGlobal && !t.is("-") && !t.is("+") && !t.is("DEFAULT") &&
		!t.is("NULL") && !t.is("{") && !(atIdent(t) && !p.peek(1).is(":")) {
		return nil
	}
	var args []*ExecArg
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
func (p *parser) execArg() *ExecArg {
	a := &ExecArg{At: p.here()}
	if k := p.current().kind; (k == tokVar || k == tokGlobal) && p.peek(1).is("=") {
		a.Name = p.next().text
		p.next()
	}
	t := p.current()
	e := p.here()
	switch {
	case p.at("DEFAULT"):
		a.Value = p.exprOrDefault()
	case p.accept("NULL"):
		a.Value = &Literal{At: e, Kind: NullLit}
	case t.kind == tokVar:
		p.next()
		a.Value = &VarRef{At: e, Name: t.text}
	case t.kind == tokGlobal:
		p.next()
		a.Value = &GlobalRef{At: e, Name: t.upper}
	case p.atAny("-", "+"):
		op := p.infix(unaryOps)
		l := p.literal()
		if l == nil || l.Kind > MoneyLit {
			p.fail()
			return a
		}
		a.Value = &UnaryExpr{At: e, Op: op, X: l}
	case p.at("{"):
		a.Value = p.odbc()
	case atIdent(t):
		a.Value = &Literal{At: e, Kind: StringLit, Text: p.ident().Name, Bare: true}
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
		case *VarRef:
		case *Literal, *UnaryExpr:
			p.errorAt(p.previous(), mserr.OutputOfConstant())
		}
	}
	return a
}

// execWith reads WITH RECOMPILE and WITH RESULT SETS.
func (p *parser) execWith(s *ExecStmt) {
	if !p.at("WITH") || !(p.peek(1).is("RECOMPILE") || p.peek(1).is("RESULT")) {
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
func (p *parser) resultSets() *ResultSets {
	r := &ResultSets{At: p.here()}
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
		var set []*ColumnDef
		for {
			c := &ColumnDef{At: p.here(), Name: p.ident(), Type: p.typeRef()}
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
func (p *parser) nullSpec() NullSpec {
	switch {
	case p.accept("NOT", "NULL"):
		return NotNull
	case p.accept("NULL"):
		return NullAllowed
	}
	return NullUnspecified
}

// executeAs reads EXECUTE AS after EXECUTE.
func (p *parser) executeAs() Stmt {
	p.expect("AS")
	s := &ExecuteAsStmt{}
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
