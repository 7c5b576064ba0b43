package syntax

import "github.com/jobagent/jobagent/testenv/tsqld/mserr"

// target reads the table of a data change, without an alias.
func (p *parser) target() TableSource {
	at := p.here()
	if p.current().kind == tokVar {
		return &TableVar{At: at, Name: p.variable()}
	}
	if w := p.current(); rejectedTables[w.upper] != "" && p.peek(1).is("(") {
		p.reject(rejectedTables[w.upper])
		return nil
	}
	return &TableName{At: at, Name: p.objectName(), Hints: p.withHints()}
}

// withHints reads WITH (hints). The form without WITH would be a column list here.
func (p *parser) withHints() []*TableHint {
	if !p.at("WITH", "(") {
		return nil
	}
	return p.tableHints()
}

// outputs reads up to two OUTPUT clauses, one with INTO and one without.
func (p *parser) outputs() (into, client *Output) {
	for p.at("OUTPUT") && client == nil {
		o := &Output{At: p.here()}
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
		if p.current().kind == tokVar {
			o.Into = &TableVar{At: at, Name: p.variable()}
		} else {
			o.Into = &TableName{At: at, Name: p.objectName()}
		}
		if p.at("(") {
			o.IntoColumns = p.identList()
		}
		into = o
	}
	return into, client
}

// insert reads INSERT.
func (p *parser) insert(with []*CTE) Stmt {
	p.expect("INSERT")
	if p.at("BULK") {
		return p.insertBulk()
	}
	s := &InsertStmt{With: with, Top: p.changeTop()}
	p.accept("INTO")
	s.Target = p.target()
	if p.at("(") && !p.peek(1).is("SELECT") && !p.peek(1).is("(") && !p.peek(1).is("WITH") {
		s.Columns = p.identList()
	}
	s.OutputInto, s.Output = p.outputs()
	n := p.here()
	switch {
	case p.at("VALUES"):
		s.Source = &InsertValues{At: n, Rows: p.insertRows()}
	case p.accept("DEFAULT", "VALUES"):
		s.Source = &InsertDefaults{At: n}
	case p.atAny("EXEC", "EXECUTE"):
		start := p.current()
		p.next()
		e := p.execTail()
		e.SetExtent(start.at, p.previous().end)
		s.Source = &InsertExec{At: n, Exec: e}
	case p.atAny("SELECT", "("):
		s.Source = &InsertQuery{At: n, Query: p.query()}
	default:
		p.fail()
	}
	s.Hints = p.queryHints()
	return s
}

// maxRows is the maximum number of rows in the VALUES of an INSERT.
const maxRows = 1000

// insertRows reads the rows of INSERT ... VALUES and checks their number and lengths.
func (p *parser) insertRows() [][]Expr {
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
func (p *parser) insertBulk() Stmt {
	p.expect("BULK")
	s := &InsertBulkStmt{Table: p.objectName()}
	if p.accept("(") {
		for {
			c := &BulkColumn{At: p.here(), Name: p.ident(), Type: p.typeRef()}
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
func (p *parser) bulkOptions() []*Option {
	p.expect("(")
	var list []*Option
	for {
		if p.at("ORDER", "(") {
			o := &Option{At: p.here(), Name: "ORDER"}
			p.next()
			p.next()
			for {
				c := &Option{At: p.here(), Value: &ColumnRef{At: p.here(), Parts: []Ident{p.ident()}}}
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
func (p *parser) setClauses() []*SetClause {
	p.expect("SET")
	list := []*SetClause{p.setClause()}
	for p.accept(",") {
		list = append(list, p.setClause())
	}
	return list
}

// setClause reads one assignment.
func (p *parser) setClause() *SetClause {
	s := &SetClause{At: p.here()}
	if p.current().kind == tokVar {
		s.Var = p.variable()
		if s.Op = p.assign(); s.Op != OpNone || !p.columnAssigned() {
			s.Value = p.expr()
			return s
		}
	}
	e := p.here()
	s.Column = &ColumnRef{At: e, Parts: p.parts("column")}
	if p.at("(") && len(s.Column.Parts) == 2 && upper(s.Column.Column()) == "WRITE" {
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
		s.Column = &ColumnRef{At: e, Parts: s.Column.Parts[:1]}
		m := &MethodCall{At: e, X: s.Column, Method: method, Mutator: true}
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
	for atIdent(p.peek(n)) && p.peek(n+1).is(".") {
		n += 2
	}
	return atIdent(p.peek(n)) && atAssign(p.peek(n+1))
}

// where reads WHERE of UPDATE and DELETE.
func (p *parser) where() (Cond, *CursorRef) {
	if !p.accept("WHERE") {
		return nil, nil
	}
	if p.accept("CURRENT", "OF") {
		return nil, p.cursorRef()
	}
	return p.cond(), nil
}

// update reads UPDATE.
func (p *parser) update(with []*CTE) Stmt {
	p.expect("UPDATE")
	s := &UpdateStmt{With: with, Top: p.changeTop(), Target: p.target()}
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
func (p *parser) deleteStmt(with []*CTE) Stmt {
	p.expect("DELETE")
	s := &DeleteStmt{With: with, Top: p.changeTop()}
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
func (p *parser) merge(with []*CTE) Stmt {
	p.expect("MERGE")
	s := &MergeStmt{With: with, Top: p.changeTop()}
	p.accept("INTO")
	at := p.here()
	p.mergeAlias = true
	if p.current().kind == tokVar {
		s.Target = &TableVar{At: at, Name: p.variable(), Alias: p.tableAlias()}
	} else {
		t := &TableName{At: at, Name: p.objectName(), Hints: p.withHints()}
		t.Alias = p.tableAlias()
		s.Target = t
	}
	p.mergeAlias = false
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
	if !p.at(";") && p.err == nil {
		p.errorAt(p.previous(), mserr.MergeSemicolon())
	}
	return s
}

// mergeWhen reads a WHEN branch of MERGE.
func (p *parser) mergeWhen() *MergeWhen {
	w := &MergeWhen{At: p.here()}
	p.expect("WHEN")
	not := p.accept("NOT")
	p.expect("MATCHED")
	if not {
		w.Match = NotMatchedByTarget
		if p.accept("BY", "SOURCE") {
			w.Match = NotMatchedBySource
		} else {
			p.accept("BY", "TARGET")
		}
	}
	if p.accept("AND") {
		w.And = p.cond()
	}
	p.expect("THEN")
	switch {
	case w.Match != NotMatchedByTarget && p.accept("UPDATE"):
		w.Action = MergeUpdate
		w.Sets = p.setClauses()
	case w.Match != NotMatchedByTarget && p.accept("DELETE"):
		w.Action = MergeDelete
	case w.Match == NotMatchedByTarget && p.accept("INSERT"):
		w.Action = MergeInsert
		w.Columns = p.optionalIdentList()
		if p.accept("DEFAULT", "VALUES") {
			return w
		}
		p.expect("VALUES", "(")
		w.Values = []Expr{p.exprOrDefault()}
		for p.accept(",") {
			w.Values = append(w.Values, p.exprOrDefault())
		}
		p.expect(")")
	default:
		p.fail()
	}
	return w
}
