package syntax

import "github.com/jobagent/jobagent/testenv/tsqld/mserr"

// implicitExec reads a batch that starts with a procedure's name.
func (p *parser) implicitExec() Stmt {
	if p.i != p.first || p.depth > 1 {
		p.fail()
		return nil
	}
	s := &ExecStmt{Implicit: true, Module: p.objectName()}
	p.moduleNumber(s)
	s.Args = p.execArgs()
	p.execWith(s)
	return s
}

// moduleNumber reads ;n behind a procedure's name.
func (p *parser) moduleNumber(s *ExecStmt) {
	if p.at(";") && p.ahead(1).kind == tokInt {
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

// execTail reads what stands behind EXEC.
func (p *parser) execTail() *ExecStmt {
	s := &ExecStmt{}
	t := p.tok()
	switch {
	case p.at("("):
		p.execText(s)
		return s
	case t.kind == tokVar && p.ahead(1).is("="):
		p.next()
		p.next()
		s.ReturnVar = t.text
		if t = p.tok(); t.kind == tokVar {
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
	p.want("(")
	s.Text = p.expr()
	for p.got(",") {
		s.TextArgs = append(s.TextArgs, p.execArg())
	}
	p.want(")")
	if p.got("AS") {
		s.AsLogin = p.wantAny("USER", "LOGIN") == "LOGIN"
		p.want("=")
		if l := p.literal(); l != nil {
			s.As = l.Text
		} else {
			p.fail()
		}
	}
	if p.got("AT") {
		s.At = p.ident()
	}
	p.execWith(s)
}

// execArgs reads arguments; the list may be empty.
func (p *parser) execArgs() []*ExecArg {
	t := p.tok()
	_, constant := literalKinds[t.kind]
	if !constant && t.kind != tokVar && t.kind != tokGlobal && !t.is("-") && !t.is("+") && !t.is("DEFAULT") && !t.is("NULL") && !(atIdent(t) && !p.ahead(1).is(":")) && !t.is("{") {
		return nil
	}
	var args []*ExecArg
	named := false
	for {
		a := p.execArg()
		args = append(args, a)
		if a.Name == "" && named {
			p.errorAt(p.last(), mserr.NamedThenPositional(len(args)))
		}
		named = named || a.Name != ""
		if !p.got(",") {
			return args
		}
	}
}

// execArg reads one argument: constants, variables, DEFAULT and bare words only.
func (p *parser) execArg() *ExecArg {
	a := &ExecArg{node: p.here()}
	if k := p.tok().kind; (k == tokVar || k == tokGlobal) && p.ahead(1).is("=") {
		a.Name = p.next().text
		p.next()
	}
	t := p.tok()
	e := expr{p.here()}
	switch {
	case p.at("DEFAULT"):
		a.Value = p.exprOrDefault()
	case p.got("NULL"):
		a.Value = &Literal{expr: e, Kind: NullLit}
	case t.kind == tokVar:
		p.next()
		a.Value = &VarRef{expr: e, Name: t.text}
	case t.kind == tokGlobal:
		p.next()
		a.Value = &GlobalRef{expr: e, Name: t.up}
	case p.atAny("-", "+"):
		op := p.infix(unaryOps)
		l := p.literal()
		if l == nil || l.Kind > MoneyLit {
			p.fail()
			return a
		}
		a.Value = &UnaryExpr{expr: e, Op: op, X: l}
	case p.at("{"):
		a.Value = p.odbc()
	case atIdent(t):
		a.Value = &Literal{expr: e, Kind: StringLit, Text: p.ident().Name, Bare: true}
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
	if p.gotAny("OUTPUT", "OUT") != "" {
		a.Output = true
		switch a.Value.(type) {
		case *VarRef:
		case *Literal, *UnaryExpr:
			p.errorAt(p.last(), mserr.OutputOfConstant())
		}
	}
	return a
}

// execWith reads WITH RECOMPILE and WITH RESULT SETS.
func (p *parser) execWith(s *ExecStmt) {
	if !p.at("WITH") || !(p.ahead(1).is("RECOMPILE") || p.ahead(1).is("RESULT")) {
		return
	}
	p.next()
	for {
		switch {
		case p.got("RECOMPILE"):
			s.Recompile = true
		case p.at("RESULT", "SETS"):
			s.ResultSets = p.resultSets()
		default:
			p.fail()
			return
		}
		if !p.got(",") {
			return
		}
	}
}

// resultSets reads RESULT SETS.
func (p *parser) resultSets() *ResultSets {
	r := &ResultSets{node: p.here()}
	p.want("RESULT", "SETS")
	if r.Kind = p.gotAny("UNDEFINED", "NONE"); r.Kind != "" {
		return r
	}
	p.want("(")
	for {
		if p.at("AS") {
			p.reject("WITH RESULT SETS of objects and types")
			return r
		}
		p.want("(")
		var set []*ColumnDef
		for {
			c := &ColumnDef{node: p.here(), Name: p.ident(), Type: p.typeRef()}
			if p.got("COLLATE") {
				c.Collation = p.ident().Name
			}
			c.Null = p.nullSpec()
			set = append(set, c)
			if !p.got(",") {
				break
			}
		}
		p.want(")")
		r.Sets = append(r.Sets, set)
		if !p.got(",") {
			break
		}
	}
	p.want(")")
	return r
}

// nullSpec reads NULL or NOT NULL if it comes.
func (p *parser) nullSpec() NullSpec {
	switch {
	case p.got("NOT", "NULL"):
		return NotNull
	case p.got("NULL"):
		return NullAllowed
	}
	return NullUnspecified
}

// executeAs reads EXECUTE AS behind EXECUTE.
func (p *parser) executeAs() Stmt {
	p.want("AS")
	s := &ExecuteAsStmt{}
	if p.got("CALLER") {
		s.Caller = true
	} else {
		s.Login = p.wantAny("USER", "LOGIN") == "LOGIN"
		p.want("=")
		s.Name = p.expr()
	}
	if p.got("WITH") {
		if p.got("NO", "REVERT") {
			s.NoRevert = true
		} else {
			p.want("COOKIE", "INTO")
			s.Cookie = p.variable()
		}
	}
	return s
}
