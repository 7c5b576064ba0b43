package syntax

import "github.com/jobagent/jobagent/testenv/tsqld/mserr"

// onOffOptions are the options of SET that are ON or OFF.
var onOffOptions = wordSet(`ANSI_DEFAULTS ANSI_NULLS ANSI_NULL_DFLT_OFF ANSI_NULL_DFLT_ON ANSI_PADDING ANSI_WARNINGS ARITHABORT
	ARITHIGNORE CONCAT_NULL_YIELDS_NULL CURSOR_CLOSE_ON_COMMIT DISABLE_DEF_CNST_CHK FMTONLY FORCEPLAN IMPLICIT_TRANSACTIONS
	NOCOUNT NOEXEC NO_BROWSETABLE NUMERIC_ROUNDABORT PARSEONLY QUOTED_IDENTIFIER REMOTE_PROC_TRANSACTIONS RESULT_SET_CACHING
	SHOWPLAN_ALL SHOWPLAN_TEXT SHOWPLAN_XML XACT_ABORT`)

// valueOptions are the options of SET that have a value.
var valueOptions = wordSet(`CONTEXT_INFO DATEFIRST DATEFORMAT DEADLOCK_PRIORITY LANGUAGE LOCK_TIMEOUT QUERY_GOVERNOR_COST_LIMIT
	ROWCOUNT TEXTSIZE`)

// set reads SET.
func (p *parser) set() Stmt {
	p.next()
	t := p.tok()
	switch {
	case t.kind == tokVar:
		return p.setVar()
	case p.atAny("TRAN", "TRANSACTION"):
		return p.setIsolation()
	case p.got("IDENTITY_INSERT"):
		s := &SetIdentityInsertStmt{Table: p.objectName()}
		s.On = p.onOff()
		return s
	case p.got("STATISTICS"):
		s := &SetStatisticsStmt{Options: []string{p.wantAny("IO", "TIME", "PROFILE", "XML")}}
		for p.got(",") {
			s.Options = append(s.Options, p.wantAny("IO", "TIME", "PROFILE", "XML"))
		}
		s.On = p.onOff()
		return s
	case p.got("OFFSETS"):
		for p.err == nil && !p.atAny("ON", "OFF") {
			if p.tok().kind != tokWord && !p.at(",") {
				p.fail()
				return nil
			}
			p.next()
		}
		p.onOff()
		return &UnsupportedStmt{What: "SET OFFSETS"}
	case p.got("FIPS_FLAGGER"):
		if p.gotAny("ON", "OFF") == "" {
			p.wordOrExpr()
		}
		return &UnsupportedStmt{What: "SET FIPS_FLAGGER"}
	case t.kind == tokWord && valueOptions[t.up]:
		p.next()
		return &SetValueStmt{Option: t.up, Value: p.wordOrExpr()}
	}
	s := &SetOptionStmt{}
	for {
		t := p.tok()
		if t.kind != tokWord || reserved[t.up] {
			p.fail()
			return nil
		}
		if !onOffOptions[t.up] {
			p.errorAt(t, mserr.NotRecognized(t.text, "SET option"))
			return nil
		}
		p.next()
		s.Options = append(s.Options, t.up)
		if !p.got(",") {
			break
		}
	}
	s.On = p.onOff()
	return s
}

// onOff reads ON or OFF.
func (p *parser) onOff() bool { return p.wantAny("ON", "OFF") == "ON" }

// wordOrExpr reads a value; a bare word is a string.
func (p *parser) wordOrExpr() Expr {
	if atIdent(p.tok()) {
		e := expr{p.here()}
		return &Literal{expr: e, Kind: StringLit, Text: p.ident().Name, Bare: true}
	}
	return p.expr()
}

// setVar reads SET @v ...
func (p *parser) setVar() Stmt {
	s := &SetVarStmt{Name: p.variable()}
	if p.at(".") {
		p.next()
		s.Method = p.ident().Name
		if p.got("=") {
			p.reject("assignment to a property")
			return nil
		}
		p.want("(")
		if !p.at(")") {
			s.Args = p.exprList()
		}
		p.want(")")
		return s
	}
	s.Op = p.assign()
	if p.at("CURSOR") {
		s.Cursor = &CursorDef{node: p.here()}
		p.cursorDef(s.Cursor)
		return s
	}
	s.Value = p.expr()
	return s
}

// setIsolation reads SET TRANSACTION ISOLATION LEVEL.
func (p *parser) setIsolation() Stmt {
	p.wantAny("TRAN", "TRANSACTION") // TRAN is not documented here; Hangfire sends it
	p.want("ISOLATION", "LEVEL")
	s := &SetIsolationStmt{}
	switch {
	case p.got("READ", "UNCOMMITTED"):
		s.Level = ReadUncommitted
	case p.got("READ", "COMMITTED"):
		s.Level = ReadCommitted
	case p.got("REPEATABLE", "READ"):
		s.Level = RepeatableRead
	case p.got("SERIALIZABLE"):
		s.Level = Serializable
	case p.got("SNAPSHOT"):
		s.Level = Snapshot
	default:
		p.fail()
	}
	return s
}
