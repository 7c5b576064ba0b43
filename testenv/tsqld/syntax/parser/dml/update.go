package dml

import (
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/query"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/term"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// target reads the table of a data change, without an alias.
func target(c *tokens.Cursor) syntax.TableSource {
	at := c.Here()
	if c.Current().Kind == scanner.Variable {
		return &syntax.TableVar{At: at, Name: term.Variable(c)}
	}
	if w := c.Current(); query.RejectedTables[w.Upper] != "" && c.Peek(1).Is("(") {
		c.Reject(query.RejectedTables[w.Upper])
		return nil
	}
	return &syntax.TableName{At: at, Name: term.Name(c), Hints: withHints(c)}
}

// withHints reads WITH (hints). The form without WITH would be a column list here.
func withHints(c *tokens.Cursor) []*syntax.TableHint {
	if !c.At("WITH", "(") {
		return nil
	}
	return query.TableHints(c)
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
		at := c.Here()
		if c.Current().Kind == scanner.Variable {
			o.Into = &syntax.TableVar{At: at, Name: term.Variable(c)}
		} else {
			o.Into = &syntax.TableName{At: at, Name: term.Name(c)}
		}
		if c.At("(") {
			o.IntoColumns = term.Idents(c)
		}
		into = o
	}
	return into, client
}

// setClauses reads the assignments after SET.
func setClauses(c *tokens.Cursor) []*syntax.SetClause {
	c.Expect("SET")
	list := []*syntax.SetClause{setClause(c)}
	for c.Accept(",") {
		list = append(list, setClause(c))
	}
	return list
}

// setClause reads one assignment.
func setClause(c *tokens.Cursor) *syntax.SetClause {
	s := &syntax.SetClause{At: c.Here()}
	if c.Current().Kind == scanner.Variable {
		s.Var = term.Variable(c)
		if s.Op = query.Assign(c); s.Op != syntax.OpNone || !columnAssigned(c) {
			s.Value = query.Expr(c)
			return s
		}
	}
	e := c.Here()
	s.Column = &syntax.ColumnRef{At: e, Parts: term.Parts(c, "column")}
	if c.At("(") && len(s.Column.Parts) == 2 && scanner.Upper(s.Column.Column()) == "WRITE" {
		s.Column.Parts = s.Column.Parts[:1]
		c.Next()
		s.Write = query.Exprs(c)
		c.Expect(")")
		if len(s.Write) != 3 {
			c.Fail()
		}
		return s
	}
	if c.At("(") && len(s.Column.Parts) == 2 {
		method := s.Column.Column()
		s.Column = &syntax.ColumnRef{At: e, Parts: s.Column.Parts[:1]}
		m := &syntax.MethodCall{At: e, X: s.Column, Method: method, Mutator: true}
		c.Next()
		if !c.At(")") {
			m.Args = query.Exprs(c)
		}
		c.Expect(")")
		s.Value = m
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
	s.Hints = query.Hints(c)
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
	s.Hints = query.Hints(c)
	return s
}
