package syntax

// outputs writes both OUTPUT clauses.
func (w *printer) outputs(into, client *Output) {
	for _, o := range []*Output{into, client} {
		if o != nil {
			w.w(" ")
			w.output(o)
		}
	}
}

// output writes OUTPUT.
func (w *printer) output(o *Output) {
	w.w("OUTPUT ")
	nodes(w, o.Items)
	if o.Into != nil {
		w.w(" INTO ")
		w.table(o.Into)
		w.idents(o.IntoColumns)
	}
}

// insert writes INSERT.
func (w *printer) insert(s *InsertStmt) {
	w.with(s.With)
	w.w("INSERT ")
	w.top(s.Top)
	w.w("INTO ")
	w.table(s.Target)
	w.idents(s.Columns)
	w.outputs(s.OutputInto, s.Output)
	w.w(" ")
	w.insertSource(s.Source)
	w.hints(s.Hints)
}

// insertSource writes where the rows come from.
func (w *printer) insertSource(s InsertSource) {
	switch s := s.(type) {
	case *InsertValues:
		w.rows(s.Rows)
	case *InsertQuery:
		w.query(s.Query)
	case *InsertExec:
		w.exec(s.Exec)
	case *InsertDefaults:
		w.w("DEFAULT VALUES")
	}
}

// setClauses writes SET.
func (w *printer) setClauses(list []*SetClause) {
	w.w("SET ")
	nodes(w, list)
}

// setClause writes an assignment.
func (w *printer) setClause(s *SetClause) {
	w.w(s.Var)
	if s.Column != nil {
		w.when(s.Var != "", " = ")
		w.expr(s.Column)
	}
	if s.Write != nil {
		w.w(".WRITE(")
		w.exprs(s.Write)
		w.w(")")
		return
	}
	w.assign(s.Op)
	w.expr(s.Value)
}

// update writes UPDATE.
func (w *printer) update(s *UpdateStmt) {
	w.with(s.With)
	w.w("UPDATE ")
	w.top(s.Top)
	w.table(s.Target)
	w.w(" ")
	w.setClauses(s.Sets)
	w.outputs(s.OutputInto, s.Output)
	w.from(s.From)
	w.where(s.Where, s.CurrentOf)
	w.hints(s.Hints)
}

// delete writes DELETE.
func (w *printer) delete(s *DeleteStmt) {
	w.with(s.With)
	w.w("DELETE ")
	w.top(s.Top)
	w.w("FROM ")
	w.table(s.Target)
	w.outputs(s.OutputInto, s.Output)
	w.from(s.From)
	w.where(s.Where, s.CurrentOf)
	w.hints(s.Hints)
}

// merge writes MERGE.
func (w *printer) merge(s *MergeStmt) {
	w.with(s.With)
	w.w("MERGE ")
	w.top(s.Top)
	w.w("INTO ")
	if t, ok := s.Target.(*TableName); ok { // hints come before the alias here
		w.table(&TableName{Name: t.Name, Hints: t.Hints})
		w.as(t.Alias)
	} else {
		w.table(s.Target)
	}
	w.w(" USING ")
	w.table(s.Using)
	w.w(" ON ")
	w.cond(s.On)
	for _, m := range s.Whens {
		w.w(" ")
		w.mergeWhen(m)
	}
	w.outputs(s.OutputInto, s.Output)
	w.hints(s.Hints)
}

// mergeWhen writes a branch of MERGE.
func (w *printer) mergeWhen(m *MergeWhen) {
	w.w(map[MergeMatch]string{
		Matched: "WHEN MATCHED", NotMatchedByTarget: "WHEN NOT MATCHED BY TARGET", NotMatchedBySource: "WHEN NOT MATCHED BY SOURCE",
	}[m.Match])
	if m.And != nil {
		w.w(" AND ")
		w.cond(m.And)
	}
	w.w(" THEN ")
	switch m.Action {
	case MergeUpdate:
		w.w("UPDATE ")
		w.setClauses(m.Sets)
	case MergeDelete:
		w.w("DELETE")
	case MergeInsert:
		w.w("INSERT")
		w.idents(m.Columns)
		if m.Values == nil {
			w.w(" DEFAULT VALUES")
			return
		}
		w.w(" VALUES (")
		w.exprs(m.Values)
		w.w(")")
	}
}

// insertBulk writes INSERT BULK.
func (w *printer) insertBulk(s *InsertBulkStmt) {
	w.w("INSERT BULK ")
	w.name(s.Table)
	if s.Columns != nil {
		w.w(" (")
		nodes(w, s.Columns)
		w.w(")")
	}
	if s.Options == nil {
		return
	}
	w.w(" WITH (")
	list(w, s.Options, func(o *Option) {
		if o.Name != "ORDER" {
			w.option(o)
			return
		}
		w.w("ORDER (")
		list(w, o.Sub, func(c *Option) {
			w.expr(c.Value)
			w.when(c.Name != "", " ", c.Name)
		})
		w.w(")")
	})
	w.w(")")
}

// bulkColumn writes a column of INSERT BULK.
func (w *printer) bulkColumn(c *BulkColumn) {
	w.ident(c.Name)
	w.w(" ")
	w.typeRef(c.Type)
	w.when(c.Collation != "", " COLLATE ", c.Collation)
	w.null(c.Null)
}

// null writes NULL or NOT NULL with a blank before it.
func (w *printer) null(n NullSpec) {
	w.when(n == NotNull, " NOT NULL")
	w.when(n == NullAllowed, " NULL")
}
