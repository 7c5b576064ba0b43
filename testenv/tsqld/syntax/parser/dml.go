package parser

import (
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// target reads the table of a data change, without an alias.
func (p *parser) target() syntax.TableSource {
	at := p.here()
	if p.current().Kind == scanner.Variable {
		return &syntax.TableVar{At: at, Name: p.variable()}
	}
	if w := p.current(); rejectedTables[w.Upper] != "" && p.peek(1).Is("(") {
		p.reject(rejectedTables[w.Upper])
		return nil
	}
	return &syntax.TableName{At: at, Name: p.objectName(), Hints: p.withHints()}
}

// withHints reads WITH (hints). The form without WITH would be a column list here.
func (p *parser) withHints() []*syntax.TableHint {
	if !p.at("WITH", "(") {
		return nil
	}
	return p.tableHints()
}

// outputs reads up to two OUTPUT clauses, one with INTO and one without.
func (p *parser) outputs() (into, client *syntax.Output) {
	for p.at("OUTPUT") && client == nil {
		o := &syntax.Output{At: p.here()}
		p.next()
		o.Items = p.selectItems()
		if !p.accept("INTO") {
			client = o
			continue
		}
		if into != nil {
			p.fail()
		}
		at := p.here()
		if p.current().Kind == scanner.Variable {
			o.Into = &syntax.TableVar{At: at, Name: p.variable()}
		} else {
			o.Into = &syntax.TableName{At: at, Name: p.objectName()}
		}
		if p.at("(") {
			o.IntoColumns = p.identList()
		}
		into = o
	}
	return into, client
}

// insert reads INSERT.
func (p *parser) insert(with []*syntax.CTE) syntax.Stmt {
	p.expect("INSERT")
	if p.at("BULK") {
		return p.insertBulk()
	}
	s := &syntax.InsertStmt{With: with, Top: p.changeTop()}
	p.accept("INTO")
	s.Target = p.target()
	if p.at("(") && !p.peek(1).Is("SELECT") && !p.peek(1).Is("(") && !p.peek(1).Is("WITH") {
		s.Columns = p.identList()
	}
	s.OutputInto, s.Output = p.outputs()
	n := p.here()
	switch {
	case p.at("VALUES"):
		s.Source = &syntax.InsertValues{At: n, Rows: p.insertRows()}
	case p.accept("DEFAULT", "VALUES"):
		s.Source = &syntax.InsertDefaults{At: n}
	case p.atAny("EXEC", "EXECUTE"):
		start := p.current()
		p.next()
		e := p.execTail()
		e.SetExtent(start.At, p.previous().End)
		s.Source = &syntax.InsertExec{At: n, Exec: e}
	case p.atAny("SELECT", "("):
		s.Source = &syntax.InsertQuery{At: n, Query: p.query()}
	default:
		p.fail()
	}
	s.Hints = p.queryHints()
	return s
}

// maxRows is the maximum number of rows in the VALUES of an INSERT.
const maxRows = 1000

// insertRows reads the rows of INSERT ... VALUES and checks their number and lengths.
func (p *parser) insertRows() [][]syntax.Expr {
	start := p.current()
	rows := p.values()
	if len(rows) > maxRows {
		p.errorAt(start, mserr.TooManyRowValues(maxRows))
	}
	for _, r := range rows {
		if len(r) != len(rows[0]) {
			p.errorAt(start, mserr.RowConstructorCount())
		}
	}
	return rows
}

// insertBulk reads INSERT BULK after INSERT.
func (p *parser) insertBulk() syntax.Stmt {
	p.expect("BULK")
	s := &syntax.InsertBulkStmt{Table: p.objectName()}
	if p.accept("(") {
		for {
			c := &syntax.BulkColumn{At: p.here(), Name: p.ident(), Type: p.typeRef()}
			if p.accept("COLLATE") {
				c.Collation = p.ident().Name
			}
			c.Null = p.nullSpec()
			s.Columns = append(s.Columns, c)
			if !p.accept(",") {
				break
			}
		}
		p.expect(")")
	}
	if p.at("WITH", "(") {
		p.next()
		s.Options = p.bulkOptions()
	}
	return s
}

// bulkOptions reads the options of INSERT BULK. ORDER takes a list of columns with directions.
func (p *parser) bulkOptions() []*syntax.Option {
	p.expect("(")
	var list []*syntax.Option
	for {
		if p.at("ORDER", "(") {
			o := &syntax.Option{At: p.here(), Name: "ORDER"}
			p.next()
			p.next()
			for {
				c := &syntax.Option{At: p.here(), Value: &syntax.ColumnRef{At: p.here(), Parts: []syntax.Ident{p.ident()}}}
				c.Name = p.acceptAny("ASC", "DESC")
				o.Sub = append(o.Sub, c)
				if !p.accept(",") {
					break
				}
			}
			p.expect(")")
			list = append(list, o)
		} else {
			list = append(list, p.option(false))
		}
		if !p.accept(",") {
			break
		}
	}
	p.expect(")")
	return list
}

// setClauses reads the assignments after SET.
func (p *parser) setClauses() []*syntax.SetClause {
	p.expect("SET")
	list := []*syntax.SetClause{p.setClause()}
	for p.accept(",") {
		list = append(list, p.setClause())
	}
	return list
}

// setClause reads one assignment.
func (p *parser) setClause() *syntax.SetClause {
	s := &syntax.SetClause{At: p.here()}
	if p.current().Kind == scanner.Variable {
		s.Var = p.variable()
		if s.Op = p.assign(); s.Op != syntax.OpNone || !p.columnAssigned() {
			s.Value = p.expr()
			return s
		}
	}
	e := p.here()
	s.Column = &syntax.ColumnRef{At: e, Parts: p.parts("column")}
	if p.at("(") && len(s.Column.Parts) == 2 && scanner.Upper(s.Column.Column()) == "WRITE" {
		s.Column.Parts = s.Column.Parts[:1]
		p.next()
		s.Write = p.exprList()
		p.expect(")")
		if len(s.Write) != 3 {
			p.fail()
		}
		return s
	}
	if p.at("(") && len(s.Column.Parts) == 2 {
		method := s.Column.Column()
		s.Column = &syntax.ColumnRef{At: e, Parts: s.Column.Parts[:1]}
		m := &syntax.MethodCall{At: e, X: s.Column, Method: method, Mutator: true}
		p.next()
		if !p.at(")") {
			m.Args = p.exprList()
		}
		p.expect(")")
		s.Value = m
		return s
	}
	s.Op = p.assign()
	s.Value = p.exprOrDefault()
	return s
}

// columnAssigned reports whether "column =" follows, as in SET @v = column = value.
func (p *parser) columnAssigned() bool {
	n := 0
	for p.peek(n).IsName() && p.peek(n+1).Is(".") {
		n += 2
	}
	return p.peek(n).IsName() && atAssign(p.peek(n+1))
}

// where reads WHERE of UPDATE and DELETE.
func (p *parser) where() (syntax.Cond, *syntax.CursorRef) {
	if !p.accept("WHERE") {
		return nil, nil
	}
	if p.accept("CURRENT", "OF") {
		return nil, p.cursorRef()
	}
	return p.cond(), nil
}

// update reads UPDATE.
func (p *parser) update(with []*syntax.CTE) syntax.Stmt {
	p.expect("UPDATE")
	s := &syntax.UpdateStmt{With: with, Top: p.changeTop(), Target: p.target()}
	s.Sets = p.setClauses()
	s.OutputInto, s.Output = p.outputs()
	if p.accept("FROM") {
		s.From = p.tableSources()
	}
	s.Where, s.CurrentOf = p.where()
	s.Hints = p.queryHints()
	return s
}

// deleteStmt reads DELETE.
func (p *parser) deleteStmt(with []*syntax.CTE) syntax.Stmt {
	p.expect("DELETE")
	s := &syntax.DeleteStmt{With: with, Top: p.changeTop()}
	p.accept("FROM")
	s.Target = p.target()
	s.OutputInto, s.Output = p.outputs()
	if p.accept("FROM") {
		s.From = p.tableSources()
	}
	s.Where, s.CurrentOf = p.where()
	s.Hints = p.queryHints()
	return s
}

// merge reads MERGE, which must end with a semicolon.
func (p *parser) merge(with []*syntax.CTE) syntax.Stmt {
	p.expect("MERGE")
	s := &syntax.MergeStmt{With: with, Top: p.changeTop()}
	p.accept("INTO")
	at := p.here()
	if p.current().Kind == scanner.Variable {
		s.Target = &syntax.TableVar{At: at, Name: p.variable(), Alias: p.mergeAlias()}
	} else {
		s.Target = &syntax.TableName{At: at, Name: p.objectName(), Hints: p.withHints(), Alias: p.mergeAlias()}
	}
	p.expect("USING")
	s.Using = p.tableSource()
	p.expect("ON")
	s.On = p.cond()
	if !p.at("WHEN") {
		p.fail()
	}
	for p.at("WHEN") {
		s.Whens = append(s.Whens, p.mergeWhen())
	}
	s.OutputInto, s.Output = p.outputs()
	s.Hints = p.queryHints()
	if !p.at(";") {
		p.errorAt(p.previous(), mserr.MergeSemicolon())
	}
	return s
}

// mergeAlias reads the alias of the target of MERGE, which cannot be USING without AS.
func (p *parser) mergeAlias() syntax.Ident {
	if p.at("USING") {
		return syntax.Ident{}
	}
	return p.tableAlias()
}

// mergeWhen reads a WHEN branch of MERGE.
func (p *parser) mergeWhen() *syntax.MergeWhen {
	w := &syntax.MergeWhen{At: p.here()}
	p.expect("WHEN")
	not := p.accept("NOT")
	p.expect("MATCHED")
	if not {
		w.Match = syntax.NotMatchedByTarget
		if p.accept("BY", "SOURCE") {
			w.Match = syntax.NotMatchedBySource
		} else {
			p.accept("BY", "TARGET")
		}
	}
	if p.accept("AND") {
		w.And = p.cond()
	}
	p.expect("THEN")
	switch {
	case w.Match != syntax.NotMatchedByTarget && p.accept("UPDATE"):
		w.Action = syntax.MergeUpdate
		w.Sets = p.setClauses()
	case w.Match != syntax.NotMatchedByTarget && p.accept("DELETE"):
		w.Action = syntax.MergeDelete
	case w.Match == syntax.NotMatchedByTarget && p.accept("INSERT"):
		w.Action = syntax.MergeInsert
		w.Columns = p.optionalIdentList()
		if p.accept("DEFAULT", "VALUES") {
			return w
		}
		p.expect("VALUES", "(")
		w.Values = []syntax.Expr{p.exprOrDefault()}
		for p.accept(",") {
			w.Values = append(w.Values, p.exprOrDefault())
		}
		p.expect(")")
	default:
		p.fail()
	}
	return w
}
