package sqlprinter

import (
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/printer"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// stmt writes a statement with its semicolon.
func stmt(w *printer.Writer, s syntax.Stmt) {
	if l, ok := s.(*syntax.LabelStmt); ok {
		w.Put(syntax.Ident{Name: l.Label}, ":")
		return
	}
	if s == nil {
		return
	}
	switch s := s.(type) {
	case *syntax.IfStmt:
		w.Put("IF ", s.Cond)
		nested(w, s.Then)
		if s.Else != nil {
			w.Line()
			w.Text("ELSE")
			nested(w, s.Else)
		}
		return
	case *syntax.WhileStmt:
		w.Put("WHILE ", s.Cond)
		nested(w, s.Body)
		return
	case *syntax.BlockStmt:
		w.Text("BEGIN")
		stmts(w, s.Body)
		w.Line()
		w.Text("END;")
		return
	case *syntax.TryStmt:
		w.Text("BEGIN TRY")
		stmts(w, s.Try)
		w.Line()
		w.Text("END TRY")
		w.Line()
		w.Text("BEGIN CATCH")
		stmts(w, s.Catch)
		w.Line()
		w.Text("END CATCH;")
		return
	case *syntax.CreateProcedureStmt:
		procedure(w, s)
		return
	case *syntax.CreateTriggerStmt:
		createTrigger(w, s)
		return
	}
	simple(w, s)
	w.Text(";")
}

// nested writes the statement of IF, ELSE and WHILE: blocks at the same depth, others indented.
func nested(w *printer.Writer, s syntax.Stmt) {
	if _, ok := s.(*syntax.BlockStmt); ok {
		w.Line()
		stmt(w, s)
		return
	}
	w.Indent++
	w.Line()
	stmt(w, s)
	w.Indent--
}

// stmts writes statements, each on its own line, indented.
func stmts(w *printer.Writer, list []syntax.Stmt) {
	w.Indent++
	for _, s := range list {
		w.Line()
		stmt(w, s)
	}
	w.Indent--
}

// simple writes a statement that contains no other statements, without its semicolon.
func simple(w *printer.Writer, s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.SelectStmt:
		query(w, s.Query)
		printer.Listed(w, " OPTION (", s.Hints, ")")
	case *syntax.InsertStmt:
		insert(w, s)
	case *syntax.UpdateStmt:
		update(w, s)
	case *syntax.DeleteStmt:
		deleteStmt(w, s)
	case *syntax.MergeStmt:
		merge(w, s)
	case *syntax.TruncateStmt:
		w.Put("TRUNCATE TABLE ", s.Table)
	case *syntax.InsertBulkStmt:
		insertBulk(w, s)
	case *syntax.DeclareStmt:
		printer.List(w, "DECLARE ", s.Vars)
	case *syntax.DeclareCursorStmt:
		w.Put("DECLARE ", s.Name)
		w.TextIf(s.Cursor.Insensitive, " INSENSITIVE")
		w.TextIf(s.Cursor.Insensitive && s.Cursor.Scroll, " SCROLL")
		w.Put(" ", s.Cursor)
	case *syntax.BreakStmt:
		w.Text("BREAK")
	case *syntax.ContinueStmt:
		w.Text("CONTINUE")
	case *syntax.GotoStmt:
		w.Put("GOTO ", syntax.Ident{Name: s.Label})
	case *syntax.ReturnStmt:
		w.Text("RETURN")
		printer.Opt(w, " ", s.Value)
	case *syntax.PrintStmt:
		w.Put("PRINT ", s.X)
	case *syntax.ThrowStmt:
		w.Text("THROW")
		if s.Number != nil {
			w.Text(" ")
			printer.Nodes(w, []syntax.Expr{s.Number, s.Message, s.State})
		}
	case *syntax.RaiserrorStmt:
		raiserror(w, s)
	case *syntax.ExecStmt:
		exec(w, s)
	case *syntax.WaitForStmt:
		w.Put("WAITFOR ", printer.Either(s.Time, "TIME ", "DELAY "), s.Value)
	case *syntax.UseStmt:
		w.Put("USE ", s.Database)
	case *syntax.UnsupportedStmt:
		w.Text(s.Text)
	case *syntax.NoEffectStmt:
		w.Text(s.Text)
	default:
		control(w, s)
	}
}

// control writes SET, transactions and cursors.
func control(w *printer.Writer, s syntax.Stmt) {
	onOff := map[bool]string{true: " ON", false: " OFF"}
	switch s := s.(type) {
	case *syntax.SetVarStmt:
		if m, ok := s.Value.(*syntax.MethodCall); ok && m.Mutator {
			w.Put("SET ", m)
			return
		}
		w.Text("SET ", s.Name)
		switch {
		case s.Cursor != nil:
			w.Put(" = ", s.Cursor)
		default:
			printer.Assign(w, s.Op)
			w.Put(s.Value)
		}
	case *syntax.SetOptionStmt:
		w.Text("SET ")
		words(w, s.Options)
		w.Text(onOff[s.On])
	case *syntax.SetStatisticsStmt:
		w.Text("SET STATISTICS ")
		words(w, s.Options)
		w.Text(onOff[s.On])
	case *syntax.SetValueStmt:
		w.Put("SET ", s.Option, " ", s.Value)
	case *syntax.SetIsolationStmt:
		w.Text("SET TRANSACTION ISOLATION LEVEL ", s.Level.String())
	case *syntax.SetIdentityInsertStmt:
		w.Put("SET IDENTITY_INSERT ", s.Table, onOff[s.On])
	case *syntax.BeginTranStmt:
		w.Text("BEGIN TRANSACTION")
		printer.Opt(w, " ", s.Name)
		w.TextIf(s.HasMark, " WITH MARK")
		printer.Opt(w, " ", s.Mark)
	case *syntax.CommitStmt:
		w.Text("COMMIT TRANSACTION")
		printer.Opt(w, " ", s.Name)
		w.TextIf(s.Durable != "", " WITH (DELAYED_DURABILITY = ", s.Durable, ")")
	case *syntax.RollbackStmt:
		w.Text("ROLLBACK TRANSACTION")
		printer.Opt(w, " ", s.Name)
	case *syntax.SaveTranStmt:
		w.Text("SAVE TRANSACTION")
		printer.Opt(w, " ", s.Name)
	case *syntax.OpenStmt:
		w.Put("OPEN ", s.Cursor)
	case *syntax.CloseStmt:
		w.Put("CLOSE ", s.Cursor)
	case *syntax.DeallocateStmt:
		w.Put("DEALLOCATE ", s.Cursor)
	case *syntax.FetchStmt:
		fetch(w, s)
	default:
		ddl(w, s)
	}
}

// fetch writes FETCH.
func fetch(w *printer.Writer, s *syntax.FetchStmt) {
	w.Text("FETCH ", map[syntax.FetchDirection]string{
		syntax.FetchNext: "NEXT", syntax.FetchPrior: "PRIOR", syntax.FetchFirst: "FIRST", syntax.FetchLast: "LAST",
		syntax.FetchAbsolute: "ABSOLUTE", syntax.FetchRelative: "RELATIVE",
	}[s.Direction])
	printer.Opt(w, " ", s.Offset)
	w.Put(" FROM ", s.Cursor)
	if len(s.Into) > 0 {
		w.Text(" INTO ")
		words(w, s.Into)
	}
}

// varDecl writes a variable's declaration.
func varDecl(w *printer.Writer, v *syntax.VarDecl) {
	w.Text(v.Name, " ")
	switch {
	case v.Table != nil:
		w.Put("TABLE ", v.Table)
	case v.Cursor:
		w.Text("CURSOR")
	default:
		w.Put(v.Type)
		printer.Opt(w, " = ", v.Init)
	}
}

// cursorRef writes the name of a cursor.
func cursorRef(w *printer.Writer, c *syntax.CursorRef) {
	w.TextIf(c.Global, "GLOBAL ")
	if c.Name != "" && c.Name[0] == '@' {
		w.Text(c.Name)
		return
	}
	w.Put(syntax.Ident{Name: c.Name, Quoted: scanner.Upper(c.Name) == "GLOBAL"})
}

// cursorDef writes CURSOR and the clauses after it. INSENSITIVE precedes CURSOR, and so does SCROLL
// beside it (error 1049).
func cursorDef(w *printer.Writer, c *syntax.CursorDef) {
	w.Text("CURSOR")
	w.TextIf(c.Scope != "", " ", c.Scope)
	w.TextIf(c.ForwardOnly, " FORWARD_ONLY")
	w.TextIf(c.Scroll && !c.Insensitive, " SCROLL")
	w.TextIf(c.Kind != "", " ", c.Kind)
	w.TextIf(c.Concurrency != "", " ", c.Concurrency)
	w.TextIf(c.TypeWarning, " TYPE_WARNING")
	w.Put(" FOR ", c.Query)
	w.TextIf(c.ReadOnly, " FOR READ ONLY")
	if c.ForUpdate {
		w.Text(" FOR UPDATE")
		if len(c.UpdateColumns) > 0 {
			w.Text(" OF ")
			identList(w, c.UpdateColumns)
		}
	}
	printer.Listed(w, " OPTION (", c.Hints, ")")
}

// raiserror writes RAISERROR.
func raiserror(w *printer.Writer, s *syntax.RaiserrorStmt) {
	w.Text("RAISERROR (")
	printer.Nodes(w, append([]syntax.Expr{s.Message, s.Severity, s.State}, s.Args...))
	w.Text(")")
	var with []string
	if s.Log {
		with = append(with, "LOG")
	}
	if s.NoWait {
		with = append(with, "NOWAIT")
	}
	if s.SetError {
		with = append(with, "SETERROR")
	}
	if with != nil {
		w.Text(" WITH ")
		words(w, with)
	}
}

// exec writes EXECUTE.
func exec(w *printer.Writer, s *syntax.ExecStmt) {
	w.TextIf(!s.Implicit, "EXECUTE ")
	w.TextIf(s.ReturnVar != "", s.ReturnVar, " = ")
	if s.Text != nil {
		w.Put("(", s.Text, ")")
		if s.As != "" {
			w.Text(printer.Either(s.AsLogin, " AS LOGIN = ", " AS USER = "), printer.QuoteString(s.As))
		}
	} else {
		w.Put(s.ModuleVar, s.Module)
		printer.Listed(w, " ", s.Args)
	}
	sep := " WITH "
	if s.Recompile {
		w.Text(sep, "RECOMPILE")
		sep = ", "
	}
	if s.ResultSets != nil {
		w.Put(sep, s.ResultSets)
	}
}

// execArg writes an argument.
func execArg(w *printer.Writer, a *syntax.ExecArg) {
	w.TextIf(a.Name != "", a.Name, " = ")
	w.Put(a.Value)
	w.TextIf(a.Output, " OUTPUT")
}

// resultSets writes RESULT SETS.
func resultSets(w *printer.Writer, r *syntax.ResultSets) {
	w.Text("RESULT SETS ")
	if r.Kind != "" {
		w.Text(r.Kind)
		return
	}
	w.Text("(")
	printer.Each(w, r.Sets, func(set []*syntax.ColumnDef) {
		printer.List(w, "(", set, ")")
	})
	w.Text(")")
}
