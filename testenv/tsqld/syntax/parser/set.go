package parser

import (
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// onOffOptions are the options of SET with the values ON and OFF.
var onOffOptions = scanner.WordSet(`
	ANSI_DEFAULTS ANSI_NULLS ANSI_NULL_DFLT_OFF ANSI_NULL_DFLT_ON ANSI_PADDING ANSI_WARNINGS ARITHABORT
	ARITHIGNORE CONCAT_NULL_YIELDS_NULL CURSOR_CLOSE_ON_COMMIT DISABLE_DEF_CNST_CHK FMTONLY FORCEPLAN
	IMPLICIT_TRANSACTIONS NOCOUNT NOEXEC NO_BROWSETABLE NUMERIC_ROUNDABORT PARSEONLY QUOTED_IDENTIFIER
	REMOTE_PROC_TRANSACTIONS RESULT_SET_CACHING SHOWPLAN_ALL SHOWPLAN_TEXT SHOWPLAN_XML XACT_ABORT`)

// valueOptions are the options of SET with other values.
var valueOptions = scanner.WordSet(`CONTEXT_INFO DATEFIRST DATEFORMAT DEADLOCK_PRIORITY LANGUAGE LOCK_TIMEOUT
	QUERY_GOVERNOR_COST_LIMIT ROWCOUNT TEXTSIZE`)

// set reads SET.
func (p *parser) set() syntax.Stmt {
	p.next()
	t := p.current()
	switch {
	case t.Kind == scanner.Variable:
		return p.setVar()
	case p.atAny("TRAN", "TRANSACTION"):
		return p.setIsolation()
	case p.accept("IDENTITY_INSERT"):
		s := &syntax.SetIdentityInsertStmt{Table: p.objectName()}
		s.On = p.onOff()
		return s
	case p.accept("STATISTICS"):
		s := &syntax.SetStatisticsStmt{Options: []string{p.expectAny("IO", "TIME", "PROFILE", "XML")}}
		for p.accept(",") {
			s.Options = append(s.Options, p.expectAny("IO", "TIME", "PROFILE", "XML"))
		}
		s.On = p.onOff()
		return s
	case p.accept("OFFSETS"):
		for !p.atAny("ON", "OFF") {
			if p.current().Kind != scanner.Word && !p.at(",") {
				p.fail()
				return nil
			}
			p.next()
		}
		p.onOff()
		return &syntax.UnsupportedStmt{What: "SET OFFSETS"}
	case p.accept("FIPS_FLAGGER"):
		if p.acceptAny("ON", "OFF") == "" {
			p.wordOrExpr()
		}
		return &syntax.UnsupportedStmt{What: "SET FIPS_FLAGGER"}
	case t.Kind == scanner.Word && valueOptions[t.Upper]:
		p.next()
		return &syntax.SetValueStmt{Option: t.Upper, Value: p.wordOrExpr()}
	}
	s := &syntax.SetOptionStmt{}
	for {
		t := p.current()
		if t.Kind != scanner.Word || t.IsReserved() {
			p.fail()
			return nil
		}
		if !onOffOptions[t.Upper] {
			p.errorAt(t, mserr.NotRecognized(t.Text, "SET option"))
			return nil
		}
		if t.Upper == "SHOWPLAN_XML" {
			p.showPlan = t
		}
		p.next()
		s.Options = append(s.Options, t.Upper)
		if !p.accept(",") {
			break
		}
	}
	s.On = p.onOff()
	return s
}

// onOff reads ON or OFF.
func (p *parser) onOff() bool { return p.expectAny("ON", "OFF") == "ON" }

// wordOrExpr reads a value. A word without quotes is a string.
func (p *parser) wordOrExpr() syntax.Expr {
	if p.current().IsName() {
		e := p.here()
		return &syntax.Literal{At: e, Kind: syntax.StringLit, Text: p.ident().Name, Bare: true}
	}
	return p.expr()
}

// setVar reads SET @v ...
func (p *parser) setVar() syntax.Stmt {
	s := &syntax.SetVarStmt{Name: p.variable()}
	if p.at(".") {
		p.next()
		at := p.here()
		m := &syntax.MethodCall{At: at, X: &syntax.VarRef{At: at, Name: s.Name}, Method: p.ident().Name, Mutator: true}
		s.Value = m
		if p.accept("=") {
			p.reject("assignment to a property")
			return nil
		}
		p.expect("(")
		if !p.at(")") {
			m.Args = p.exprList()
		}
		p.expect(")")
		return s
	}
	s.Op = p.assign()
	if p.at("CURSOR") {
		s.Cursor = &syntax.CursorDef{At: p.here()}
		p.cursorDef(s.Cursor)
		return s
	}
	s.Value = p.expr()
	return s
}

// setIsolation reads SET TRANSACTION ISOLATION LEVEL.
func (p *parser) setIsolation() syntax.Stmt {
	p.expectAny("TRAN", "TRANSACTION") // SET TRAN is not documented, but Hangfire sends it
	p.expect("ISOLATION", "LEVEL")
	s := &syntax.SetIsolationStmt{}
	switch {
	case p.accept("READ", "UNCOMMITTED"):
		s.Level = syntax.ReadUncommitted
	case p.accept("READ", "COMMITTED"):
		s.Level = syntax.ReadCommitted
	case p.accept("REPEATABLE", "READ"):
		s.Level = syntax.RepeatableRead
	case p.accept("SERIALIZABLE"):
		s.Level = syntax.Serializable
	case p.accept("SNAPSHOT"):
		s.Level = syntax.Snapshot
	default:
		p.fail()
	}
	return s
}
