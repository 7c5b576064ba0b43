package parser

import (
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// firstInBatch reports error 111 if a statement that must be first in its batch is not. start is
// its first token.
func (p *parser) firstInBatch(start *scanner.Token, name string) {
	if start.At != p.first {
		p.errorAt(start, mserr.NotFirstInBatch(name))
	}
}

// module reads a procedure, function, view or trigger after CREATE, ALTER or CREATE OR ALTER; false
// if the next word is none of these.
func (p *parser) module(verb syntax.Verb, start *scanner.Token) (syntax.Stmt, bool) {
	switch {
	case p.atAny("PROCEDURE", "PROC"):
		p.firstInBatch(start, "CREATE/ALTER PROCEDURE")
		p.next()
		return p.procedure(verb), true
	case p.at("FUNCTION"):
		p.firstInBatch(start, "CREATE FUNCTION")
		p.next()
		p.mustEndBatch = true
		return p.function(verb), true
	case p.at("VIEW"):
		p.firstInBatch(start, "CREATE VIEW")
		p.next()
		p.mustEndBatch = true
		return p.view(verb), true
	case p.at("TRIGGER"):
		p.firstInBatch(start, "CREATE TRIGGER")
		p.next()
		return p.createTrigger(verb), true
	}
	return nil, false
}

// param reads a parameter.
func (p *parser) param() *syntax.Param {
	a := &syntax.Param{At: p.here(), Name: p.variable()}
	p.accept("AS")
	if p.accept("CURSOR") {
		a.Type = &syntax.TypeRef{At: a.At, Name: &syntax.ObjectName{At: a.At, Parts: []syntax.Ident{{Name: "cursor", At: a.Pos()}}}}
	} else {
		a.Type = p.typeRef()
	}
	a.Varying = p.accept("VARYING")
	a.Null = p.nullSpec()
	if p.accept("=") {
		a.Default = p.paramDefault()
	}
	for {
		switch {
		case p.acceptAny("OUTPUT", "OUT") != "":
			a.Output = true
		case p.accept("READONLY"):
			a.ReadOnly = true
		default:
			return a
		}
	}
}

// paramDefault reads the default of a parameter: a constant, NULL, or a word, which is a string.
// Only a minus before a number is allowed in addition (documentation of CREATE PROCEDURE: "a
// constant or NULL").
func (p *parser) paramDefault() syntax.Expr {
	at := p.here()
	if p.accept("DEFAULT") { // SQL Server's grammar has DEFAULT, its documentation does not; it has no value
		return &syntax.Literal{At: at, Kind: syntax.NullLit}
	}
	t := p.current()
	switch {
	case t.IsName():
		return p.wordOrExpr()
	case t.Kind == scanner.Variable, t.Kind == scanner.Global, p.at("NULL"), p.at("{"):
		x, _ := p.primary(false).(syntax.Expr)
		return x
	case p.accept("-"):
		switch p.current().Kind {
		case scanner.Int, scanner.Decimal, scanner.Float, scanner.Money:
			return &syntax.UnaryExpr{At: at, Op: syntax.OpMinus, X: p.literal()}
		}
	default:
		if l := p.literal(); l != nil {
			return l
		}
	}
	p.fail()
	return nil
}

// params reads parameters up to a token that starts no parameter.
func (p *parser) params() []*syntax.Param {
	var list []*syntax.Param
	for p.markDeclared(); p.current().Kind == scanner.Variable; p.markDeclared() {
		list = append(list, p.param())
		if !p.at(",") || p.peek(1).Kind != scanner.Variable && p.peek(1).Kind != scanner.Global {
			break
		}
		p.next()
	}
	return list
}

// moduleOptions reads the options after WITH.
func (p *parser) moduleOptions(o *syntax.ModuleOptions) {
	for {
		switch {
		case p.accept("ENCRYPTION"):
			o.Encryption = true
		case p.accept("SCHEMABINDING"):
			o.SchemaBinding = true
		case p.accept("RECOMPILE"):
			o.Recompile = true
		case p.accept("VIEW_METADATA"):
			o.ViewMetadata = true
		case p.accept("NATIVE_COMPILATION"):
			o.NativeCompiled = true
		case p.accept("RETURNS", "NULL", "ON", "NULL", "INPUT"):
			o.ReturnsNull = true
		case p.accept("CALLED", "ON", "NULL", "INPUT"):
			o.CalledOnNull = true
		case p.accept("INLINE", "="):
			o.Inline = p.expectAny("ON", "OFF")
		case p.atAny("EXEC", "EXECUTE") && p.peek(1).Is("AS"):
			p.next()
			p.next()
			if w := p.acceptAny("CALLER", "SELF", "OWNER"); w != "" {
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
		if !p.accept(",") {
			return
		}
	}
}

// body reads the statements of a module up to the end of the batch.
func (p *parser) body() []syntax.Stmt {
	return p.stmts(func() bool { return p.current().Kind == scanner.EOF })
}

// procedure reads a procedure after PROCEDURE.
func (p *parser) procedure(verb syntax.Verb) syntax.Stmt {
	s := &syntax.CreateProcedureStmt{Verb: verb, Name: p.objectName()}
	if p.at(";") && p.peek(1).Kind == scanner.Int {
		p.next()
		s.Number = p.integer()
	}
	if p.at("(") {
		p.next()
		s.Params = p.params()
		p.expect(")")
	} else {
		s.Params = p.params()
	}
	if p.accept("WITH") {
		p.moduleOptions(&s.Options)
	}
	s.ForReplication = p.accept("FOR", "REPLICATION")
	p.expect("AS")
	if p.at("EXTERNAL") {
		p.reject("a procedure of an assembly (EXTERNAL NAME)")
		return nil
	}
	s.Body = p.body()
	return s
}

// function reads a function after FUNCTION.
func (p *parser) function(verb syntax.Verb) syntax.Stmt {
	s := &syntax.CreateFunctionStmt{Verb: verb, Name: p.objectName()}
	p.expect("(")
	s.Params = p.params()
	p.expect(")", "RETURNS")
	inline := false
	switch {
	case p.current().Kind == scanner.Variable:
		s.TableVar = p.variable()
		p.expect("TABLE")
		s.Table = p.tableDef()
	case p.accept("TABLE"):
		inline = true
	default:
		s.Returns = p.typeRef()
	}
	if p.accept("WITH") {
		p.moduleOptions(&s.Options)
	}
	p.accept("AS")
	if p.at("EXTERNAL") {
		p.reject("a function of an assembly (EXTERNAL NAME)")
		return nil
	}
	if inline {
		p.expect("RETURN")
		if p.at("(") && (p.peek(1).Is("SELECT") || p.peek(1).Is("WITH")) {
			at := p.here() // ORDER BY and WITH are allowed inside the parentheses
			s.Query = p.parenQuery()
			if q := s.Query; q != nil && q.With == nil && q.OrderBy == nil && q.For == nil {
				q.Body = &syntax.ParenQuery{At: at, X: q.Body}
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
	p.expect("BEGIN")
	s.Body = p.stmts(func() bool { return p.at("END") })
	p.expect("END")
	return s
}

// view reads a view after VIEW.
func (p *parser) view(verb syntax.Verb) syntax.Stmt {
	s := &syntax.CreateViewStmt{Verb: verb, Name: p.objectName()}
	s.Columns = p.optionalIdentList()
	if p.accept("WITH") {
		p.moduleOptions(&s.Options)
	}
	p.expect("AS")
	s.Query = p.query()
	s.CheckOption = p.accept("WITH", "CHECK", "OPTION")
	return s
}

// createTrigger reads a trigger after TRIGGER.
func (p *parser) createTrigger(verb syntax.Verb) syntax.Stmt {
	s := &syntax.CreateTriggerStmt{Verb: verb, Name: p.objectName()}
	p.expect("ON")
	p.triggerPlace(&s.Table, &s.OnDatabase, &s.OnServer)
	if p.accept("WITH") {
		p.moduleOptions(&s.Options)
	}
	switch {
	case p.accept("INSTEAD", "OF"):
		s.InsteadOf = true
	default:
		p.expectAny("FOR", "AFTER")
	}
	for {
		t := p.current()
		if t.Kind != scanner.Word {
			p.fail()
			return nil
		}
		p.next()
		s.Events = append(s.Events, t.Upper)
		if !p.accept(",") {
			break
		}
	}
	p.accept("WITH", "APPEND")
	s.NotForReplication = p.accept("NOT", "FOR", "REPLICATION")
	p.expect("AS")
	if p.at("EXTERNAL") {
		p.reject("a trigger of an assembly (EXTERNAL NAME)")
		return nil
	}
	s.Body = p.body()
	return s
}

// triggerPlace reads a table, DATABASE or ALL SERVER.
func (p *parser) triggerPlace(on **syntax.ObjectName, database, server *bool) {
	switch {
	case p.accept("DATABASE"):
		*database = true
	case p.accept("ALL", "SERVER"):
		*server = true
	default:
		*on = p.objectName()
	}
}

// trigger reads ENABLE TRIGGER and DISABLE TRIGGER.
func (p *parser) trigger() syntax.Stmt {
	s := &syntax.TriggerStmt{Enable: p.next().Upper == "ENABLE"}
	p.expect("TRIGGER")
	if !p.accept("ALL") {
		s.Names = p.objectNames()
	}
	p.expect("ON")
	p.triggerPlace(&s.Table, &s.OnDatabase, &s.OnServer)
	return s
}
