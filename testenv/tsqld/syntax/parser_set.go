package syntax

import "github.com/jobagent/jobagent/testenv/tsqld/mserr"

// onOffOptions are the options of SET with the values ON and OFF.
var onOffOptions = wordSet(`
	ANSI_DEFAULTS ANSI_NULLS ANSI_NULL_DFLT_OFF ANSI_NULL_DFLT_ON ANSI_PADDING ANSI_WARNINGS ARITHABORT
	ARITHIGNORE CONCAT_NULL_YIELDS_NULL CURSOR_CLOSE_ON_COMMIT DISABLE_DEF_CNST_CHK FMTONLY FORCEPLAN
	IMPLICIT_TRANSACTIONS NOCOUNT NOEXEC NO_BROWSETABLE NUMERIC_ROUNDABORT PARSEONLY QUOTED_IDENTIFIER
	REMOTE_PROC_TRANSACTIONS RESULT_SET_CACHING SHOWPLAN_ALL SHOWPLAN_TEXT SHOWPLAN_XML XACT_ABORT`)

// valueOptions are the options of SET with other values.
var valueOptions = wordSet(`CONTEXT_INFO DATEFIRST DATEFORMAT DEADLOCK_PRIORITY LANGUAGE LOCK_TIMEOUT
	QUERY_GOVERNOR_COST_LIMIT ROWCOUNT TEXTSIZE`)

// set reads SET.
func (p *parser) set() Stmt {
	p.next()
	t := p.current()
	switch {
	case t.kind == tokVar:
		return p.setVar()
	case p.atAny("TRAN", "TRANSACTION"):
		return p.setIsolation()
	case p.accept("IDENTITY_INSERT"):
		s := &SetIdentityInsertStmt{Table: p.objectName()}
		s.On = p.onOff()
		return s
	case p.accept("STATISTICS"):
		s := &SetStatisticsStmt{Options: []string{p.expectAny("IO", "TIME", "PROFILE", "XML")}}
		for p.accept(",") {
			s.Options = append(s.Options, p.expectAny("IO", "TIME", "PROFILE", "XML"))
		}
		s.On = p.onOff()
		return s
	case p.accept("OFFSETS"):
		for p.err == nil && !p.atAny("ON", "OFF") {
			if p.current().kind != tokWord && !p.at(",") {
				p.fail()
				return nil
			}
			p.next()
		}
		p.onOff()
		return &UnsupportedStmt{What: "SET OFFSETS"}
	case p.accept("FIPS_FLAGGER"):
		if p.acceptAny("ON", "OFF") == "" {
			p.wordOrExpr()
		}
		return &UnsupportedStmt{What: "SET FIPS_FLAGGER"}
	case t.kind == tokWord && valueOptions[t.upper]:
		p.next()
		return &SetValueStmt{Option: t.upper, Value: p.wordOrExpr()}
	}
	s := &SetOptionStmt{}
	for {
		t := p.current()
		if t.kind != tokWord || reserved[t.upper] {
			p.fail()
			return nil
		}
		if !onOffOptions[t.upper] {
			p.errorAt(t, mserr.NotRecognized(t.text, "SET option"))
			return nil
		}
		if t.upper == "SHOWPLAN_XML" {
			p.showPlan = t
		}
		p.next()
		s.Options = append(s.Options, t.upper)
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
func (p *parser) wordOrExpr() Expr {
	if atIdent(p.current()) {
		e := p.here()
		return &Literal{At: e, Kind: StringLit, Text: p.ident().Name, Bare: true}
	}
	return p.expr()
}

// setVar reads SET @v ...
func (p *parser) setVar() Stmt {
	s := &SetVarStmt{Name: p.variable()}
	if p.at(".") {
		p.next()
		at := p.here()
		m := &MethodCall{At: at, X: &VarRef{At: at, Name: s.Name}, Method: p.ident().Name, Mutator: true}
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
		s.Cursor = &CursorDef{At: p.here()}
		p.cursorDef(s.Cursor)
		return s
	}
	s.Value = p.expr()
	return s
}

// setIsolation reads SET TRANSACTION ISOLATION LEVEL.
func (p *parser) setIsolation() Stmt {
	p.expectAny("TRAN", "TRANSACTION") // SET TRAN is not documented, but Hangfire sends it
	p.expect("ISOLATION", "LEVEL")
	s := &SetIsolationStmt{}
	switch {
	case p.accept("READ", "UNCOMMITTED"):
		s.Level = ReadUncommitted
	case p.accept("READ", "COMMITTED"):
		s.Level = ReadCommitted
	case p.accept("REPEATABLE", "READ"):
		s.Level = RepeatableRead
	case p.accept("SERIALIZABLE"):
		s.Level = Serializable
	case p.accept("SNAPSHOT"):
		s.Level = Snapshot
	default:
		p.fail()
	}
	return s
}
