package parser

import (
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/query"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/term"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
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
func (b *batch) set() syntax.Stmt {
	b.Next()
	t := b.Current()
	switch {
	case t.Kind == scanner.Variable:
		return setVar(b.Cursor)
	case b.AtAny("TRAN", "TRANSACTION"):
		return setIsolation(b.Cursor)
	case b.Accept("IDENTITY_INSERT"):
		s := &syntax.SetIdentityInsertStmt{Table: term.Name(b.Cursor)}
		s.On = term.OnOff(b.Cursor)
		return s
	case b.Accept("STATISTICS"):
		s := &syntax.SetStatisticsStmt{Options: []string{b.ExpectAny("IO", "TIME", "PROFILE", "XML")}}
		for b.Accept(",") {
			s.Options = append(s.Options, b.ExpectAny("IO", "TIME", "PROFILE", "XML"))
		}
		s.On = term.OnOff(b.Cursor)
		return s
	case b.Accept("OFFSETS"):
		for !b.AtAny("ON", "OFF") {
			if b.Current().Kind != scanner.Word && !b.At(",") {
				b.Fail()
				return nil
			}
			b.Next()
		}
		term.OnOff(b.Cursor)
		return &syntax.UnsupportedStmt{What: "SET OFFSETS"}
	case b.Accept("FIPS_FLAGGER"):
		if b.AcceptAny("ON", "OFF") == "" {
			query.WordOrExpr(b.Cursor)
		}
		return &syntax.UnsupportedStmt{What: "SET FIPS_FLAGGER"}
	case t.Kind == scanner.Word && valueOptions[t.Upper]:
		b.Next()
		return &syntax.SetValueStmt{Option: t.Upper, Value: query.WordOrExpr(b.Cursor)}
	}
	s := &syntax.SetOptionStmt{}
	for {
		t := b.Current()
		if t.Kind != scanner.Word || t.IsReserved() {
			b.Fail()
			return nil
		}
		if !onOffOptions[t.Upper] {
			b.ErrorAt(t, mserr.NotRecognized(t.Text, "SET option"))
			return nil
		}
		if t.Upper == "SHOWPLAN_XML" {
			b.showPlan = t
		}
		b.Next()
		s.Options = append(s.Options, t.Upper)
		if !b.Accept(",") {
			break
		}
	}
	s.On = term.OnOff(b.Cursor)
	return s
}

// setVar reads SET @v ...
func setVar(c *tokens.Cursor) syntax.Stmt {
	s := &syntax.SetVarStmt{Name: term.Variable(c)}
	if c.At(".") {
		c.Next()
		at := c.Here()
		m := &syntax.MethodCall{At: at, X: &syntax.VarRef{At: at, Name: s.Name}, Method: term.Ident(c).Name, Mutator: true}
		s.Value = m
		if c.Accept("=") {
			c.Reject("assignment to a property")
			return nil
		}
		c.Expect("(")
		if !c.At(")") {
			m.Args = query.Exprs(c)
		}
		c.Expect(")")
		return s
	}
	s.Op = query.Assign(c)
	if c.At("CURSOR") {
		s.Cursor = &syntax.CursorDef{At: c.Here()}
		cursorDef(c, s.Cursor)
		return s
	}
	s.Value = query.Expr(c)
	return s
}

// setIsolation reads SET TRANSACTION ISOLATION LEVEL.
func setIsolation(c *tokens.Cursor) syntax.Stmt {
	c.ExpectAny("TRAN", "TRANSACTION") // SET TRAN is not documented, but Hangfire sends it
	c.Expect("ISOLATION", "LEVEL")
	s := &syntax.SetIsolationStmt{}
	switch {
	case c.Accept("READ", "UNCOMMITTED"):
		s.Level = syntax.ReadUncommitted
	case c.Accept("READ", "COMMITTED"):
		s.Level = syntax.ReadCommitted
	case c.Accept("REPEATABLE", "READ"):
		s.Level = syntax.RepeatableRead
	case c.Accept("SERIALIZABLE"):
		s.Level = syntax.Serializable
	case c.Accept("SNAPSHOT"):
		s.Level = syntax.Snapshot
	default:
		c.Fail()
	}
	return s
}
