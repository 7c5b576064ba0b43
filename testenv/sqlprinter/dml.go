package sqlprinter

import (
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/printer"
)

// outputs writes both OUTPUT clauses.
func outputs(w *printer.Writer, into, client *syntax.Output) {
	for _, o := range []*syntax.Output{into, client} {
		printer.Opt(w, " ", o)
	}
}

// output writes OUTPUT.
func output(w *printer.Writer, o *syntax.Output) {
	printer.List(w, "OUTPUT ", o.Items)
	if o.Into != nil {
		w.Put(" INTO ", o.Into)
		idents(w, o.IntoColumns)
	}
}

// insert writes INSERT.
func insert(w *printer.Writer, s *syntax.InsertStmt) {
	printer.Listed(w, "WITH ", s.With, " ")
	w.Text("INSERT ")
	top(w, s.Top)
	w.Put("INTO ", s.Target)
	idents(w, s.Columns)
	outputs(w, s.OutputInto, s.Output)
	w.Put(" ", s.Source)
	printer.Listed(w, " OPTION (", s.Hints, ")")
}

// insertSource writes the source of the rows.
func insertSource(w *printer.Writer, s syntax.InsertSource) {
	switch s := s.(type) {
	case *syntax.InsertValues:
		rows(w, s.Rows)
	case *syntax.InsertQuery:
		query(w, s.Query)
	case *syntax.InsertExec:
		exec(w, s.Exec)
	case *syntax.InsertDefaults:
		w.Text("DEFAULT VALUES")
	}
}

// setClause writes an assignment.
func setClause(w *printer.Writer, s *syntax.SetClause) {
	if m, ok := s.Value.(*syntax.MethodCall); ok && m.Mutator {
		w.Put(m)
		return
	}
	w.Text(s.Var)
	if s.Column != nil {
		w.TextIf(s.Var != "", " = ")
		w.Put(s.Column)
	}
	if s.Write != nil {
		printer.List(w, ".WRITE(", s.Write, ")")
		return
	}
	printer.Assign(w, s.Op)
	w.Put(s.Value)
}

// update writes UPDATE.
func update(w *printer.Writer, s *syntax.UpdateStmt) {
	printer.Listed(w, "WITH ", s.With, " ")
	w.Text("UPDATE ")
	top(w, s.Top)
	w.Put(s.Target, " ")
	printer.List(w, "SET ", s.Sets)
	outputs(w, s.OutputInto, s.Output)
	printer.Listed(w, " FROM ", s.From)
	where(w, s.Where, s.CurrentOf)
	printer.Listed(w, " OPTION (", s.Hints, ")")
}

// deleteStmt writes DELETE.
func deleteStmt(w *printer.Writer, s *syntax.DeleteStmt) {
	printer.Listed(w, "WITH ", s.With, " ")
	w.Text("DELETE ")
	top(w, s.Top)
	w.Put("FROM ", s.Target)
	outputs(w, s.OutputInto, s.Output)
	printer.Listed(w, " FROM ", s.From)
	where(w, s.Where, s.CurrentOf)
	printer.Listed(w, " OPTION (", s.Hints, ")")
}

// merge writes MERGE.
func merge(w *printer.Writer, s *syntax.MergeStmt) {
	printer.Listed(w, "WITH ", s.With, " ")
	w.Text("MERGE ")
	top(w, s.Top)
	w.Text("INTO ")
	if t, ok := s.Target.(*syntax.TableName); ok { // hints precede the alias here
		table(w, &syntax.TableName{Name: t.Name, Hints: t.Hints})
		named(w, " AS ", t.Alias)
	} else {
		table(w, s.Target)
	}
	w.Put(" USING ", s.Using, " ON ", s.On)
	for _, m := range s.Whens {
		w.Put(" ", m)
	}
	outputs(w, s.OutputInto, s.Output)
	printer.Listed(w, " OPTION (", s.Hints, ")")
}

// mergeWhen writes a branch of MERGE.
func mergeWhen(w *printer.Writer, m *syntax.MergeWhen) {
	w.Text(map[syntax.MergeMatch]string{
		syntax.Matched:            "WHEN MATCHED",
		syntax.NotMatchedByTarget: "WHEN NOT MATCHED BY TARGET",
		syntax.NotMatchedBySource: "WHEN NOT MATCHED BY SOURCE",
	}[m.Match])
	printer.Opt(w, " AND ", m.And)
	w.Text(" THEN ")
	switch m.Action {
	case syntax.MergeUpdate:
		w.Text("UPDATE ")
		printer.List(w, "SET ", m.Sets)
	case syntax.MergeDelete:
		w.Text("DELETE")
	case syntax.MergeInsert:
		w.Text("INSERT")
		idents(w, m.Columns)
		if m.Values == nil {
			w.Text(" DEFAULT VALUES")
			return
		}
		printer.List(w, " VALUES (", m.Values, ")")
	}
}

// insertBulk writes INSERT BULK.
func insertBulk(w *printer.Writer, s *syntax.InsertBulkStmt) {
	w.Put("INSERT BULK ", s.Table)
	printer.Listed(w, " (", s.Columns, ")")
	if s.Options == nil {
		return
	}
	w.Text(" WITH (")
	printer.Each(w, s.Options, func(o *syntax.Option) {
		if o.Name != "ORDER" {
			option(w, o)
			return
		}
		w.Text("ORDER (")
		printer.Each(w, o.Sub, func(c *syntax.Option) {
			w.Put(c.Value)
			w.TextIf(c.Name != "", " ", c.Name)
		})
		w.Text(")")
	})
	w.Text(")")
}

// null writes a blank and NULL or NOT NULL.
func null(w *printer.Writer, n syntax.NullSpec) {
	w.TextIf(n == syntax.NotNull, " NOT NULL")
	w.TextIf(n == syntax.NullAllowed, " NULL")
}
