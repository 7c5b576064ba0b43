package parser

import (
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/query"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/term"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// Options are the session settings that affect parsing. The zero value is not the default: see
// [DefaultOptions].
type Options struct {
	QuotedIdentifier bool // "x" is a name, otherwise a string
	// Meter is charged for the tree; it may be nil. Parsing stops when the meter's request is
	// cancelled or out of memory; the error is then the cause of cancellation or error 701.
	Meter *meter.Meter
}

// DefaultOptions are the settings of a new session.
var DefaultOptions = Options{QuotedIdentifier: true}

// Parse parses a batch. The error is a *mserr.Error with its line set, or an error of the meter;
// after an error, no statement of the batch may run.
func Parse(src string, opt Options) (*syntax.Batch, error) {
	c, err := tokens.New(src, opt.QuotedIdentifier, opt.Meter)
	if err != nil {
		return nil, err
	}
	b := &batch{Cursor: c, labels: map[string]bool{}}
	tree := &syntax.Batch{Source: src, Stmts: b.all()}
	b.checkLabels()
	if b.showPlan != nil && !isSetOption(tree.Stmts) {
		b.ErrorAt(b.showPlan, mserr.ShowPlanNotAlone())
	}
	if c.Err() != nil {
		return nil, c.Err()
	}
	tree.Bytes, err = c.Settle()
	return tree, err
}

// isSetOption reports whether the only statement sets options.
func isSetOption(stmts []syntax.Stmt) bool {
	if len(stmts) != 1 {
		return false
	}
	_, ok := stmts[0].(*syntax.SetOptionStmt)
	return ok
}

// ParseExpr parses an expression that is the whole of src, such as the stored text of a default.
func ParseExpr(src string, opt Options) (syntax.Expr, error) {
	return parseWhole(src, opt, query.Expr)
}

// ParseCond parses a condition that is the whole of src, such as the stored text of a check
// constraint.
func ParseCond(src string, opt Options) (syntax.Cond, error) {
	return parseWhole(src, opt, query.Cond)
}

// ParseType parses a type with its arguments that is the whole of src.
func ParseType(src string, opt Options) (*syntax.TypeRef, error) {
	return parseWhole(src, opt, term.Type)
}

// ParseName parses a name of up to four parts that is the whole of src, such as the argument of
// OBJECT_ID.
func ParseName(src string) (*syntax.ObjectName, error) {
	return parseWhole(src, DefaultOptions, term.Name)
}

// ParseParams parses a list of parameters, such as the second argument of sp_executesql. An empty
// text is an empty list.
func ParseParams(src string, opt Options) ([]*syntax.Param, error) {
	return parseWhole(src, opt, func(c *tokens.Cursor) []*syntax.Param {
		var ps []*syntax.Param
		for !c.AtKind(scanner.EOF) {
			ps = append(ps, param(c))
			if !c.Accept(",") {
				break
			}
		}
		return ps
	})
}

// parseWhole parses a construct that is the whole of src.
func parseWhole[T any](src string, opt Options, read func(*tokens.Cursor) T) (T, error) {
	var zero T
	c, err := tokens.New(src, opt.QuotedIdentifier, opt.Meter)
	if err != nil {
		return zero, err
	}
	x := read(c)
	c.ExpectEOF()
	if c.Err() != nil {
		return zero, c.Err()
	}
	return x, c.Lacking()
}
