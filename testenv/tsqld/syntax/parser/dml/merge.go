package dml

import (
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/query"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/term"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
)

// Merge reads MERGE, which must end with a semicolon.
func Merge(c *tokens.Cursor, with []*syntax.CTE) syntax.Stmt {
	c.Expect("MERGE")
	s := &syntax.MergeStmt{With: with, Top: query.ChangeTop(c)}
	c.Accept("INTO")
	s.Target = hintedTable(c)
	switch t := s.Target.(type) {
	case *syntax.TableVar:
		t.Alias = mergeAlias(c)
	case *syntax.TableName:
		t.Alias = mergeAlias(c)
	}
	c.Expect("USING")
	s.Using = query.TableSource(c)
	c.Expect("ON")
	s.On = query.Cond(c)
	if !c.At("WHEN") {
		c.Fail()
	}
	for c.At("WHEN") {
		s.Whens = append(s.Whens, mergeWhen(c))
	}
	s.OutputInto, s.Output = outputs(c)
	s.Hints = term.QueryHints(c)
	if !c.At(";") {
		c.ErrorAt(c.Previous(), mserr.MergeSemicolon())
	}
	return s
}

// mergeAlias reads the alias of the target of MERGE, which cannot be USING without AS.
func mergeAlias(c *tokens.Cursor) syntax.Ident {
	if c.At("USING") {
		return syntax.Ident{}
	}
	return query.TableAlias(c)
}

// mergeWhen reads a WHEN branch of MERGE.
func mergeWhen(c *tokens.Cursor) *syntax.MergeWhen {
	w := &syntax.MergeWhen{At: c.Here()}
	c.Expect("WHEN")
	not := c.Accept("NOT")
	c.Expect("MATCHED")
	if not {
		w.Match = syntax.NotMatchedByTarget
		if c.Accept("BY", "SOURCE") {
			w.Match = syntax.NotMatchedBySource
		} else {
			c.Accept("BY", "TARGET")
		}
	}
	if c.Accept("AND") {
		w.And = query.Cond(c)
	}
	c.Expect("THEN")
	switch {
	case w.Match != syntax.NotMatchedByTarget && c.Accept("UPDATE"):
		w.Action = syntax.MergeUpdate
		w.Sets = setClauses(c)
	case w.Match != syntax.NotMatchedByTarget && c.Accept("DELETE"):
		w.Action = syntax.MergeDelete
	case w.Match == syntax.NotMatchedByTarget && c.Accept("INSERT"):
		w.Action = syntax.MergeInsert
		w.Columns = term.OptionalIdents(c)
		if c.Accept("DEFAULT", "VALUES") {
			return w
		}
		c.Expect("VALUES")
		w.Values = tokens.ParenList(c, query.ExprOrDefault)
	default:
		c.Fail()
	}
	return w
}
