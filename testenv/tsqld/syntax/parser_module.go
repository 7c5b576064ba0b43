package syntax

import "github.com/jobagent/jobagent/testenv/tsqld/mserr"

// firstInBatch answers 111 where a statement must come first in its batch and does not; start is its first token.
func (p *parser) firstInBatch(start int, name string) {
	if start != p.first || p.depth > 1 {
		p.errorAt(&p.toks[start], mserr.NotFirstInBatch(name))
	}
}

// module reads a procedure, function, view or trigger behind CREATE, ALTER or CREATE OR ALTER; false if none of them comes.
func (p *parser) module(verb Verb, start int) (Stmt, bool) {
	switch {
	case p.atAny("PROCEDURE", "PROC"):
		p.firstInBatch(start, "CREATE/ALTER PROCEDURE")
		p.next()
		return p.procedure(verb), true
	case p.at("FUNCTION"):
		p.firstInBatch(start, "CREATE FUNCTION")
		p.next()
		p.alone = true
		return p.function(verb), true
	case p.at("VIEW"):
		p.firstInBatch(start, "CREATE VIEW")
		p.next()
		p.alone = true
		return p.view(verb), true
	case p.at("TRIGGER"):
		p.firstInBatch(start, "CREATE TRIGGER")
		p.next()
		return p.createTrigger(verb), true
	}
	return nil, false
}

// param reads a parameter.
func (p *parser) param() *Param {
	a := &Param{node: p.here(), Name: p.variable()}
	p.got("AS")
	if p.got("CURSOR") {
		a.Type = &TypeRef{node: a.node, Name: &ObjectName{node: a.node, Parts: []Ident{{Name: "cursor", At: a.at}}}}
	} else {
		a.Type = p.typeRef()
	}
	a.Varying = p.got("VARYING")
	a.Null = p.nullSpec()
	if p.got("=") {
		a.Default = p.paramDefault()
	}
	for {
		switch {
		case p.gotAny("OUTPUT", "OUT") != "":
			a.Output = true
		case p.got("READONLY"):
			a.ReadOnly = true
		default:
			return a
		}
	}
}

// paramDefault reads a parameter's default: a constant, NULL, or a bare word, which is a string. It is no expression: nothing but a
// minus before a number may stand beside it (documentation of CREATE PROCEDURE: "a constant or NULL").
func (p *parser) paramDefault() Expr {
	at := expr{p.here()}
	if p.got("DEFAULT") { // SQL Server's grammar has it, its documentation does not: no value of its own
		return &Literal{expr: at, Kind: NullLit}
	}
	t := p.tok()
	switch {
	case atIdent(t):
		return p.wordOrExpr()
	case t.kind == tokVar, t.kind == tokGlobal, p.at("NULL"), p.at("{"):
		x, _ := p.primary(false).(Expr)
		return x
	case p.got("-"):
		switch p.tok().kind {
		case tokInt, tokDecimal, tokFloat, tokMoney:
			return &UnaryExpr{expr: at, Op: OpMinus, X: p.literal()}
		}
	default:
		if l := p.literal(); l != nil {
			return l
		}
	}
	p.fail()
	return nil
}

// params reads parameters up to a token that no parameter starts with.
func (p *parser) params() []*Param {
	var list []*Param
	for p.declared(); p.tok().kind == tokVar; p.declared() {
		list = append(list, p.param())
		if !p.at(",") || p.ahead(1).kind != tokVar && p.ahead(1).kind != tokGlobal {
			break
		}
		p.next()
	}
	return list
}

// moduleOptions reads the options behind WITH.
func (p *parser) moduleOptions(o *ModuleOptions) {
	for {
		switch {
		case p.got("ENCRYPTION"):
			o.Encryption = true
		case p.got("SCHEMABINDING"):
			o.SchemaBinding = true
		case p.got("RECOMPILE"):
			o.Recompile = true
		case p.got("VIEW_METADATA"):
			o.ViewMetadata = true
		case p.got("NATIVE_COMPILATION"):
			o.NativeCompiled = true
		case p.got("RETURNS", "NULL", "ON", "NULL", "INPUT"):
			o.ReturnsNull = true
		case p.got("CALLED", "ON", "NULL", "INPUT"):
			o.CalledOnNull = true
		case p.got("INLINE", "="):
			o.Inline = p.wantAny("ON", "OFF")
		case p.atAny("EXEC", "EXECUTE") && p.ahead(1).is("AS"):
			p.next()
			p.next()
			if w := p.gotAny("CALLER", "SELF", "OWNER"); w != "" {
				o.ExecuteAs = w
			} else if l := p.literal(); l != nil {
				o.ExecuteAs, o.ExecuteAsIsQuote = l.Text, true
			} else {
				p.fail()
			}
		default:
			p.fail()
			return
		}
		if !p.got(",") {
			return
		}
	}
}

// body reads the statements of a module up to the end of the batch.
func (p *parser) body() []Stmt {
	depth := p.depth
	p.depth = 1
	list := p.stmts(func() bool { return p.tok().kind == tokEOF })
	p.depth = depth
	return list
}

// procedure reads a procedure behind PROCEDURE.
func (p *parser) procedure(verb Verb) Stmt {
	s := &CreateProcedureStmt{Verb: verb, Name: p.objectName()}
	if p.at(";") && p.ahead(1).kind == tokInt {
		p.next()
		s.Number = p.integer()
	}
	if p.at("(") {
		p.next()
		s.Params = p.params()
		p.want(")")
	} else {
		s.Params = p.params()
	}
	if p.got("WITH") {
		p.moduleOptions(&s.Options)
	}
	s.ForReplication = p.got("FOR", "REPLICATION")
	p.want("AS")
	if p.at("EXTERNAL") {
		p.reject("a procedure of an assembly (EXTERNAL NAME)")
		return nil
	}
	s.Body = p.body()
	return s
}

// function reads a function behind FUNCTION.
func (p *parser) function(verb Verb) Stmt {
	s := &CreateFunctionStmt{Verb: verb, Name: p.objectName()}
	p.want("(")
	s.Params = p.params()
	p.want(")", "RETURNS")
	inline := false
	switch {
	case p.tok().kind == tokVar:
		s.TableVar = p.variable()
		p.want("TABLE")
		s.Table = p.tableDef()
	case p.got("TABLE"):
		inline = true
	default:
		s.Returns = p.typeRef()
	}
	if p.got("WITH") {
		p.moduleOptions(&s.Options)
	}
	p.got("AS")
	if p.at("EXTERNAL") {
		p.reject("a function of an assembly (EXTERNAL NAME)")
		return nil
	}
	if inline {
		p.want("RETURN")
		if p.at("(") && (p.ahead(1).is("SELECT") || p.ahead(1).is("WITH")) { // ORDER BY and WITH may stand inside
			at := p.here()
			s.Query = p.parenQuery()
			if q := s.Query; q != nil && q.With == nil && q.OrderBy == nil && q.For == nil {
				q.Body = &ParenQuery{node: at, X: q.Body}
			}
		} else {
			s.Query = p.query()
		}
		return s
	}
	if p.at("BEGIN", "ATOMIC") {
		p.reject("BEGIN ATOMIC")
		return nil
	}
	p.want("BEGIN")
	s.Body = p.stmts(func() bool { return p.at("END") })
	p.want("END")
	return s
}

// view reads a view behind VIEW.
func (p *parser) view(verb Verb) Stmt {
	s := &CreateViewStmt{Verb: verb, Name: p.objectName()}
	s.Columns = p.optionalIdentList()
	if p.got("WITH") {
		p.moduleOptions(&s.Options)
	}
	p.want("AS")
	s.Query = p.query()
	s.CheckOption = p.got("WITH", "CHECK", "OPTION")
	return s
}

// createTrigger reads a trigger behind TRIGGER.
func (p *parser) createTrigger(verb Verb) Stmt {
	s := &CreateTriggerStmt{Verb: verb, Name: p.objectName()}
	p.want("ON")
	p.triggerPlace(&s.Table, &s.OnDatabase, &s.OnServer)
	if p.got("WITH") {
		p.moduleOptions(&s.Options)
	}
	switch {
	case p.got("INSTEAD", "OF"):
		s.InsteadOf = true
	default:
		p.wantAny("FOR", "AFTER")
	}
	for {
		t := p.tok()
		if t.kind != tokWord {
			p.fail()
			return nil
		}
		p.next()
		s.Events = append(s.Events, t.up)
		if !p.got(",") {
			break
		}
	}
	p.got("WITH", "APPEND")
	s.NotForReplication = p.got("NOT", "FOR", "REPLICATION")
	p.want("AS")
	if p.at("EXTERNAL") {
		p.reject("a trigger of an assembly (EXTERNAL NAME)")
		return nil
	}
	s.Body = p.body()
	return s
}

// triggerPlace reads a table, DATABASE or ALL SERVER.
func (p *parser) triggerPlace(table **ObjectName, database, server *bool) {
	switch {
	case p.got("DATABASE"):
		*database = true
	case p.got("ALL", "SERVER"):
		*server = true
	default:
		*table = p.objectName()
	}
}

// trigger reads ENABLE TRIGGER and DISABLE TRIGGER.
func (p *parser) trigger() Stmt {
	s := &TriggerStmt{Enable: p.next().up == "ENABLE"}
	p.want("TRIGGER")
	if !p.got("ALL") {
		s.Names = p.objectNames()
	}
	p.want("ON")
	p.triggerPlace(&s.Table, &s.OnDatabase, &s.OnServer)
	return s
}
