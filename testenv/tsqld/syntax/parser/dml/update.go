package dml

import (
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/query"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/term"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// target reads the table of a data change, without an alias.
func target(c *tokens.Cursor) syntax.TableSource {
	if query.RejectTable(c) {
		return nil
	}
	return hintedTable(c)
}

// hintedTable reads a table variable, or the name of a table and its hints.
func hintedTable(c *tokens.Cursor) syntax.TableSource {
	t := variableOrTable(c)
	if t, ok := t.(*syntax.TableName); ok && c.At("WITH", "(") { // without WITH, a list of columns
		start := c.Current()
		t.Hints = query.TableHints(c)
		for _, h := range t.Hints {
			if h.Name == "NOLOCK" || h.Name == "READUNCOMMITTED" {
				c.ErrorAt(start, mserr.UnlockedTarget())
			}
		}
	}
	return t
}

// variableOrTable reads a table variable or the name of a table.
func variableOrTable(c *tokens.Cursor) syntax.TableSource {
	if c.AtKind(scanner.Variable) {
		return &syntax.TableVar{At: c.Here(), Name: term.Variable(c)}
	}
	return &syntax.TableName{At: c.Here(), Name: term.Name(c)}
}

// outputs reads up to two OUTPUT clauses, one with INTO and one without.
func outputs(c *tokens.Cursor) (into, client *syntax.Output) {
	for c.At("OUTPUT") && client == nil {
		o := &syntax.Output{At: c.Here()}
		c.Next()
		o.Items = query.SelectItems(c)
		if !c.Accept("INTO") {
			client = o
			continue
		}
		if into != nil {
			c.Fail()
		}
		o.Into = variableOrTable(c)
		o.IntoColumns = term.OptionalIdents(c)
		into = o
	}
	return into, client
}

// setClauses reads the assignments after SET.
func setClauses(c *tokens.Cursor) []*syntax.SetClause {
	c.Expect("SET")
	return tokens.List(c, setClause)
}

// setClause reads one assignment.
func setClause(c *tokens.Cursor) *syntax.SetClause {
	s := &syntax.SetClause{At: c.Here()}
	if c.AtKind(scanner.Variable) {
		s.Var = term.Variable(c)
		if s.Op = query.Assign(c); s.Op != syntax.OpNone || !columnAssigned(c) {
			s.Value = query.Expr(c)
			return s
		}
	}
	s.Column = term.Column(c)
	if method := s.Column.Column(); c.At("(") && len(s.Column.Parts) == 2 {
		s.Column.Parts = s.Column.Parts[:1]
		args := query.Args(c)
		switch {
		case scanner.Upper(method) != "WRITE":
			s.Value = &syntax.MethodCall{At: s.Column.At, X: s.Column, Method: method, Args: args, Mutator: true}
		case len(args) != 3:
			c.Fail()
		default:
			s.Write = args
		}
		return s
	}
	s.Op = query.Assign(c)
	s.Value = query.ExprOrDefault(c)
	return s
}

// columnAssigned reports whether "column =" follows, as in SET @v = column = value.
func columnAssigned(c *tokens.Cursor) bool {
	n := 0
	for c.Peek(n).IsName() && c.Peek(n+1).Is(".") {
		n += 2
	}
	return c.Peek(n).IsName() && query.AtAssign(c.Peek(n+1))
}

// where reads WHERE of UPDATE and DELETE.
func where(c *tokens.Cursor) (syntax.Cond, *syntax.CursorRef) {
	if !c.Accept("WHERE") {
		return nil, nil
	}
	if c.Accept("CURRENT", "OF") {
		return nil, query.CursorRef(c)
	}
	return query.Cond(c), nil
}

// Update reads UPDATE.
func Update(c *tokens.Cursor, with []*syntax.CTE) syntax.Stmt {
	c.Expect("UPDATE")
	s := &syntax.UpdateStmt{With: with, Top: query.ChangeTop(c), Target: target(c)}
	s.Sets = setClauses(c)
	s.OutputInto, s.Output = outputs(c)
	if c.Accept("FROM") {
		s.From = query.TableSources(c)
	}
	s.Where, s.CurrentOf = where(c)
	s.Hints = term.QueryHints(c)
	return s
}

// Delete reads DELETE.
func Delete(c *tokens.Cursor, with []*syntax.CTE) syntax.Stmt {
	c.Expect("DELETE")
	s := &syntax.DeleteStmt{With: with, Top: query.ChangeTop(c)}
	c.Accept("FROM")
	s.Target = target(c)
	s.OutputInto, s.Output = outputs(c)
	if c.Accept("FROM") {
		s.From = query.TableSources(c)
	}
	s.Where, s.CurrentOf = where(c)
	s.Hints = term.QueryHints(c)
	return s
}
