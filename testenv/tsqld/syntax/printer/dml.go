package printer

import "github.com/jobagent/jobagent/testenv/tsqld/syntax"

// outputs writes both OUTPUT clauses.
func outputs(w *writer, into, client *syntax.Output) {
	for _, o := range []*syntax.Output{into, client} {
		opt(w, " ", o)
	}
}

// output writes OUTPUT.
func output(w *writer, o *syntax.Output) {
	list(w, "OUTPUT ", o.Items)
	if o.Into != nil {
		w.put(" INTO ", o.Into)
		idents(w, o.IntoColumns)
	}
}

// insert writes INSERT.
func insert(w *writer, s *syntax.InsertStmt) {
	listed(w, "WITH ", s.With, " ")
	w.text("INSERT ")
	top(w, s.Top)
	w.put("INTO ", s.Target)
	idents(w, s.Columns)
	outputs(w, s.OutputInto, s.Output)
	w.put(" ", s.Source)
	listed(w, " OPTION (", s.Hints, ")")
}

// insertSource writes the source of the rows.
func insertSource(w *writer, s syntax.InsertSource) {
	switch s := s.(type) {
	case *syntax.InsertValues:
		rows(w, s.Rows)
	case *syntax.InsertQuery:
		query(w, s.Query)
	case *syntax.InsertExec:
		exec(w, s.Exec)
	case *syntax.InsertDefaults:
		w.text("DEFAULT VALUES")
	}
}

// setClause writes an assignment.
func setClause(w *writer, s *syntax.SetClause) {
	if m, ok := s.Value.(*syntax.MethodCall); ok && m.Mutator {
		expr(w, m)
		return
	}
	w.text(s.Var)
	if s.Column != nil {
		w.textIf(s.Var != "", " = ")
		expr(w, s.Column)
	}
	if s.Write != nil {
		list(w, ".WRITE(", s.Write, ")")
		return
	}
	assign(w, s.Op)
	expr(w, s.Value)
}

// update writes UPDATE.
func update(w *writer, s *syntax.UpdateStmt) {
	listed(w, "WITH ", s.With, " ")
	w.text("UPDATE ")
	top(w, s.Top)
	w.put(s.Target, " ")
	list(w, "SET ", s.Sets)
	outputs(w, s.OutputInto, s.Output)
	listed(w, " FROM ", s.From)
	where(w, s.Where, s.CurrentOf)
	listed(w, " OPTION (", s.Hints, ")")
}

// deleteStmt writes DELETE.
func deleteStmt(w *writer, s *syntax.DeleteStmt) {
	listed(w, "WITH ", s.With, " ")
	w.text("DELETE ")
	top(w, s.Top)
	w.put("FROM ", s.Target)
	outputs(w, s.OutputInto, s.Output)
	listed(w, " FROM ", s.From)
	where(w, s.Where, s.CurrentOf)
	listed(w, " OPTION (", s.Hints, ")")
}

// merge writes MERGE.
func merge(w *writer, s *syntax.MergeStmt) {
	listed(w, "WITH ", s.With, " ")
	w.text("MERGE ")
	top(w, s.Top)
	w.text("INTO ")
	if t, ok := s.Target.(*syntax.TableName); ok { // hints precede the alias here
		table(w, &syntax.TableName{Name: t.Name, Hints: t.Hints})
		named(w, " AS ", t.Alias)
	} else {
		table(w, s.Target)
	}
	w.put(" USING ", s.Using, " ON ", s.On)
	for _, m := range s.Whens {
		w.put(" ", m)
	}
	outputs(w, s.OutputInto, s.Output)
	listed(w, " OPTION (", s.Hints, ")")
}

// mergeWhen writes a branch of MERGE.
func mergeWhen(w *writer, m *syntax.MergeWhen) {
	w.text(map[syntax.MergeMatch]string{
		syntax.Matched:            "WHEN MATCHED",
		syntax.NotMatchedByTarget: "WHEN NOT MATCHED BY TARGET",
		syntax.NotMatchedBySource: "WHEN NOT MATCHED BY SOURCE",
	}[m.Match])
	opt(w, " AND ", m.And)
	w.text(" THEN ")
	switch m.Action {
	case syntax.MergeUpdate:
		w.text("UPDATE ")
		list(w, "SET ", m.Sets)
	case syntax.MergeDelete:
		w.text("DELETE")
	case syntax.MergeInsert:
		w.text("INSERT")
		idents(w, m.Columns)
		if m.Values == nil {
			w.text(" DEFAULT VALUES")
			return
		}
		list(w, " VALUES (", m.Values, ")")
	}
}

// insertBulk writes INSERT BULK.
func insertBulk(w *writer, s *syntax.InsertBulkStmt) {
	w.put("INSERT BULK ", s.Table)
	listed(w, " (", s.Columns, ")")
	if s.Options == nil {
		return
	}
	w.text(" WITH (")
	writeList(w, s.Options, func(o *syntax.Option) {
		if o.Name != "ORDER" {
			option(w, o)
			return
		}
		w.text("ORDER (")
		writeList(w, o.Sub, func(c *syntax.Option) {
			expr(w, c.Value)
			w.textIf(c.Name != "", " ", c.Name)
		})
		w.text(")")
	})
	w.text(")")
}

// null writes a blank and NULL or NOT NULL.
func null(w *writer, n syntax.NullSpec) {
	w.textIf(n == syntax.NotNull, " NOT NULL")
	w.textIf(n == syntax.NullAllowed, " NULL")
}
