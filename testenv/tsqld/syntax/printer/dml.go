package printer

import (
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// outputs writes both OUTPUT clauses.
func (w *printer) outputs(into, client *syntax.Output) {
	for _, o := range []*syntax.Output{into, client} {
		if o != nil {
			w.text(" ")
			w.output(o)
		}
	}
}

// output writes OUTPUT.
func (w *printer) output(o *syntax.Output) {
	w.text("OUTPUT ")
	nodes(w, o.Items)
	if o.Into != nil {
		w.text(" INTO ")
		w.table(o.Into)
		w.idents(o.IntoColumns)
	}
}

// insert writes INSERT.
func (w *printer) insert(s *syntax.InsertStmt) {
	w.with(s.With)
	w.text("INSERT ")
	w.top(s.Top)
	w.text("INTO ")
	w.table(s.Target)
	w.idents(s.Columns)
	w.outputs(s.OutputInto, s.Output)
	w.text(" ")
	w.insertSource(s.Source)
	w.hints(s.Hints)
}

// insertSource writes the source of the rows.
func (w *printer) insertSource(s syntax.InsertSource) {
	switch s := s.(type) {
	case *syntax.InsertValues:
		w.rows(s.Rows)
	case *syntax.InsertQuery:
		w.query(s.Query)
	case *syntax.InsertExec:
		w.exec(s.Exec)
	case *syntax.InsertDefaults:
		w.text("DEFAULT VALUES")
	}
}

// setClauses writes SET.
func (w *printer) setClauses(list []*syntax.SetClause) {
	w.text("SET ")
	nodes(w, list)
}

// setClause writes an assignment.
func (w *printer) setClause(s *syntax.SetClause) {
	if m, ok := s.Value.(*syntax.MethodCall); ok && m.Mutator {
		w.expr(m)
		return
	}
	w.text(s.Var)
	if s.Column != nil {
		w.textIf(s.Var != "", " = ")
		w.expr(s.Column)
	}
	if s.Write != nil {
		w.text(".WRITE(")
		w.exprs(s.Write)
		w.text(")")
		return
	}
	w.assign(s.Op)
	w.expr(s.Value)
}

// update writes UPDATE.
func (w *printer) update(s *syntax.UpdateStmt) {
	w.with(s.With)
	w.text("UPDATE ")
	w.top(s.Top)
	w.table(s.Target)
	w.text(" ")
	w.setClauses(s.Sets)
	w.outputs(s.OutputInto, s.Output)
	w.from(s.From)
	w.where(s.Where, s.CurrentOf)
	w.hints(s.Hints)
}

// deleteStmt writes DELETE.
func (w *printer) deleteStmt(s *syntax.DeleteStmt) {
	w.with(s.With)
	w.text("DELETE ")
	w.top(s.Top)
	w.text("FROM ")
	w.table(s.Target)
	w.outputs(s.OutputInto, s.Output)
	w.from(s.From)
	w.where(s.Where, s.CurrentOf)
	w.hints(s.Hints)
}

// merge writes MERGE.
func (w *printer) merge(s *syntax.MergeStmt) {
	w.with(s.With)
	w.text("MERGE ")
	w.top(s.Top)
	w.text("INTO ")
	if t, ok := s.Target.(*syntax.TableName); ok { // hints precede the alias here
		w.table(&syntax.TableName{Name: t.Name, Hints: t.Hints})
		w.as(t.Alias)
	} else {
		w.table(s.Target)
	}
	w.text(" USING ")
	w.table(s.Using)
	w.text(" ON ")
	w.cond(s.On)
	for _, m := range s.Whens {
		w.text(" ")
		w.mergeWhen(m)
	}
	w.outputs(s.OutputInto, s.Output)
	w.hints(s.Hints)
}

// mergeWhen writes a branch of MERGE.
func (w *printer) mergeWhen(m *syntax.MergeWhen) {
	w.text(map[syntax.MergeMatch]string{
		syntax.Matched:            "WHEN MATCHED",
		syntax.NotMatchedByTarget: "WHEN NOT MATCHED BY TARGET",
		syntax.NotMatchedBySource: "WHEN NOT MATCHED BY SOURCE",
	}[m.Match])
	if m.And != nil {
		w.text(" AND ")
		w.cond(m.And)
	}
	w.text(" THEN ")
	switch m.Action {
	case syntax.MergeUpdate:
		w.text("UPDATE ")
		w.setClauses(m.Sets)
	case syntax.MergeDelete:
		w.text("DELETE")
	case syntax.MergeInsert:
		w.text("INSERT")
		w.idents(m.Columns)
		if m.Values == nil {
			w.text(" DEFAULT VALUES")
			return
		}
		w.text(" VALUES (")
		w.exprs(m.Values)
		w.text(")")
	}
}

// insertBulk writes INSERT BULK.
func (w *printer) insertBulk(s *syntax.InsertBulkStmt) {
	w.text("INSERT BULK ")
	w.name(s.Table)
	if s.Columns != nil {
		w.text(" (")
		nodes(w, s.Columns)
		w.text(")")
	}
	if s.Options == nil {
		return
	}
	w.text(" WITH (")
	writeList(w, s.Options, func(o *syntax.Option) {
		if o.Name != "ORDER" {
			w.option(o)
			return
		}
		w.text("ORDER (")
		writeList(w, o.Sub, func(c *syntax.Option) {
			w.expr(c.Value)
			w.textIf(c.Name != "", " ", c.Name)
		})
		w.text(")")
	})
	w.text(")")
}

// null writes a blank and NULL or NOT NULL.
func (w *printer) null(n syntax.NullSpec) {
	w.textIf(n == syntax.NotNull, " NOT NULL")
	w.textIf(n == syntax.NullAllowed, " NULL")
}
