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
		return &syntax.SetIdentityInsertStmt{Table: term.Name(b.Cursor), On: term.OnOff(b.Cursor)}
	case b.Accept("STATISTICS"):
		options := tokens.List(b.Cursor, func(c *tokens.Cursor) string { return c.ExpectAny("IO", "TIME", "PROFILE", "XML") })
		return &syntax.SetStatisticsStmt{Options: options, On: term.OnOff(b.Cursor)}
	case b.Accept("OFFSETS"):
		for !b.AtAny("ON", "OFF") {
			if !b.AtKind(scanner.Word) && !b.At(",") {
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
	return &syntax.SetOptionStmt{Options: tokens.List(b.Cursor, b.onOffOption), On: term.OnOff(b.Cursor)}
}

// onOffOption reads the name of an option that is ON or OFF.
func (b *batch) onOffOption(c *tokens.Cursor) string {
	t := c.Current()
	switch {
	case t.Kind != scanner.Word, t.IsReserved():
		c.Fail()
	case !onOffOptions[t.Upper]:
		c.ErrorAt(t, mserr.NotRecognized(t.Text, "SET option"))
	case t.Upper == "SHOWPLAN_XML":
		b.showPlan = t
	}
	return c.Next().Upper
}

// setVar reads SET @v ...
func setVar(c *tokens.Cursor) syntax.Stmt {
	s := &syntax.SetVarStmt{Name: term.Variable(c)}
	if c.Accept(".") {
		at, method := c.Here(), term.Ident(c).Name
		if c.Accept("=") {
			c.Reject("assignment to a property")
			return nil
		}
		s.Value = &syntax.MethodCall{At: at, X: &syntax.VarRef{At: at, Name: s.Name}, Method: method, Args: query.Args(c), Mutator: true}
		return s
	}
	s.Op = query.Assign(c)
	if c.At("CURSOR") {
		s.Cursor = cursorDef(c)
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
