package tokens

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// Fail reports a syntax error at the current token: 156 for keywords, 102 for others. At the end of
// the text, the error names the last token.
func (c *Cursor) Fail() { c.FailAt(c.Current()) }

// FailAt reports a syntax error at t.
func (c *Cursor) FailAt(t *scanner.Token) {
	if c.err != nil {
		return // the text of the last token may be long
	}
	if t.Kind == scanner.EOF && c.pos > 0 {
		t = c.Previous()
		c.ErrorAt(t, mserr.Syntax(Text(t)))
		return
	}
	if t.IsReserved() {
		c.ErrorAt(t, mserr.SyntaxKeyword(t.Text))
		return
	}
	c.ErrorAt(t, mserr.Syntax(Text(t)))
}

// Text returns the text of a token for an error message. Long strings are truncated, as in SQL
// Server.
func Text(t *scanner.Token) string {
	s := t.Text
	if t.Kind == scanner.Binary {
		s = "0x" + scanner.HexDigits(s)
	}
	if r := []rune(s); len(r) > scanner.MaxIdentifier {
		s = string(r[:scanner.MaxIdentifier])
	}
	return s
}

// ErrorAt sets the parse's error unless there is one, and ends the parse. An error of the scanner
// later in the text takes precedence.
func (c *Cursor) ErrorAt(t *scanner.Token, e *mserr.Error) {
	if c.err != nil {
		return
	}
	e.Line = t.At.Line
	for !c.scanned {
		if err := c.meter.Work(tokenWork); err != nil {
			c.end(err)
			return
		}
		var t scanner.Token
		if err := c.scanner.Scan(&t); err != nil {
			c.end(err)
			return
		}
		c.scanned = t.Kind == scanner.EOF
	}
	c.end(e)
}

// Reject refuses a construct at the current token as not supported.
func (c *Cursor) Reject(what string) { c.ErrorAt(c.Current(), mserr.NotSupported("%s", what)) }

// Unsupported records that the current statement has a construct which the parser reads but the
// embedded server does not support. The statement then becomes an [syntax.UnsupportedStmt]: it is
// refused when it is executed, so a branch that is not taken and a procedure that does not run may
// have it.
func (c *Cursor) Unsupported(what string) {
	if c.lacks == "" {
		c.lacks = what
	}
}

// Supported reads a statement with read, and returns it with its position recorded, or an
// [syntax.UnsupportedStmt] in its place if it has an unsupported construct. It returns nil after an
// error.
func (c *Cursor) Supported(read func() syntax.Stmt) syntax.Stmt {
	start, words, outer := c.Current().At, c.Words(), c.lacks
	c.lacks = ""
	s := read()
	if c.lacks != "" && s != nil {
		s = &syntax.UnsupportedStmt{What: c.lacks}
	}
	c.lacks = outer
	if c.err != nil || s == nil {
		return nil
	}
	s.SetExtent(start, c.Previous().End, words)
	// The text of a module extends to the end of the batch, with the semicolons there.
	switch text := strings.TrimRight(c.src[s.Start():s.End()], "; \t\r\n"); u := s.(type) {
	case *syntax.UnsupportedStmt:
		u.Text = text
	case *syntax.NoEffectStmt:
		u.Text = text
	}
	return s
}

// Lacking returns error 40517 for an unsupported construct outside a statement, or nil.
func (c *Cursor) Lacking() error {
	if c.lacks == "" {
		return nil
	}
	return mserr.NotSupported("%s", c.lacks)
}
