package dml

import (
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/call"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/query"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/term"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
)

// Insert reads INSERT.
func Insert(c *tokens.Cursor, with []*syntax.CTE) syntax.Stmt {
	c.Expect("INSERT")
	if c.At("BULK") {
		return insertBulk(c)
	}
	s := &syntax.InsertStmt{With: with, Top: query.ChangeTop(c)}
	c.Accept("INTO")
	s.Target = target(c)
	if c.At("(") && !c.Peek(1).Is("SELECT") && !c.Peek(1).Is("(") && !c.Peek(1).Is("WITH") {
		s.Columns = term.Idents(c)
	}
	s.OutputInto, s.Output = outputs(c)
	n := c.Here()
	switch {
	case c.At("VALUES"):
		s.Source = &syntax.InsertValues{At: n, Rows: insertRows(c)}
	case c.Accept("DEFAULT", "VALUES"):
		s.Source = &syntax.InsertDefaults{At: n}
	case c.AtAny("EXEC", "EXECUTE"):
		start, words := c.Current().At, c.Words()
		e := call.Execute(c)
		e.SetExtent(start, c.Previous().End, words)
		s.Source = &syntax.InsertExec{At: n, Exec: e}
	case c.AtAny("SELECT", "("):
		s.Source = &syntax.InsertQuery{At: n, Query: query.Query(c)}
	default:
		c.Fail()
	}
	s.Hints = term.QueryHints(c)
	return s
}

// maxRows is the maximum number of rows in the VALUES of an INSERT.
const maxRows = 1000

// insertRows reads the rows of INSERT ... VALUES and checks their number and lengths.
func insertRows(c *tokens.Cursor) [][]syntax.Expr {
	start := c.Current()
	rows := query.Values(c)
	if len(rows) > maxRows {
		c.ErrorAt(start, mserr.TooManyRowValues(maxRows))
	}
	for _, r := range rows {
		if len(r) != len(rows[0]) {
			c.ErrorAt(start, mserr.RowConstructorCount())
		}
	}
	return rows
}

// insertBulk reads INSERT BULK after INSERT.
func insertBulk(c *tokens.Cursor) syntax.Stmt {
	c.Expect("BULK")
	s := &syntax.InsertBulkStmt{Table: term.Name(c)}
	if c.At("(") {
		s.Columns = tokens.ParenList(c, term.TypedColumn)
	}
	if c.At("WITH", "(") {
		c.Next()
		s.Options = tokens.ParenList(c, bulkOption)
	}
	return s
}

// bulkOption reads an option of INSERT BULK. ORDER takes a list of columns with directions.
func bulkOption(c *tokens.Cursor) *syntax.Option {
	if !c.At("ORDER", "(") {
		return term.Option(c)
	}
	o := &syntax.Option{At: c.Here(), Name: c.Next().Upper}
	o.Sub = tokens.ParenList(c, func(c *tokens.Cursor) *syntax.Option {
		at := c.Here()
		column := &syntax.ColumnRef{At: at, Parts: []syntax.Ident{term.Ident(c)}}
		return &syntax.Option{At: at, Value: column, Name: c.AcceptAny("ASC", "DESC")}
	})
	return o
}

// TruncateTable reads TRUNCATE TABLE.
func TruncateTable(c *tokens.Cursor) syntax.Stmt {
	c.Expect("TRUNCATE", "TABLE")
	s := &syntax.TruncateStmt{Table: term.Name(c)}
	if c.Accept("WITH", "(") {
		c.Unsupported("TRUNCATE TABLE with partitions")
		c.Expect("PARTITIONS")
		tokens.ParenList(c, func(c *tokens.Cursor) syntax.Expr {
			first := query.Expr(c)
			if c.Accept("TO") {
				query.Expr(c)
			}
			return first
		})
		c.Expect(")")
	}
	return s
}
