package printer

import (
	"strconv"

	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// stmt writes a statement with its semicolon.
func stmt(w *writer, s syntax.Stmt) {
	if l, ok := s.(*syntax.LabelStmt); ok {
		w.put(syntax.Ident{Name: l.Label}, ":")
		return
	}
	if s == nil {
		return
	}
	switch s := s.(type) {
	case *syntax.IfStmt:
		w.put("IF ", s.Cond)
		nested(w, s.Then)
		if s.Else != nil {
			w.line()
			w.text("ELSE")
			nested(w, s.Else)
		}
		return
	case *syntax.WhileStmt:
		w.put("WHILE ", s.Cond)
		nested(w, s.Body)
		return
	case *syntax.BlockStmt:
		w.text("BEGIN")
		stmts(w, s.Body)
		w.line()
		w.text("END;")
		return
	case *syntax.TryStmt:
		w.text("BEGIN TRY")
		stmts(w, s.Try)
		w.line()
		w.text("END TRY")
		w.line()
		w.text("BEGIN CATCH")
		stmts(w, s.Catch)
		w.line()
		w.text("END CATCH;")
		return
	case *syntax.CreateProcedureStmt:
		procedure(w, s)
		return
	case *syntax.CreateTriggerStmt:
		createTrigger(w, s)
		return
	}
	simple(w, s)
	w.text(";")
}

// nested writes the statement of IF, ELSE and WHILE: blocks at the same depth, others indented.
func nested(w *writer, s syntax.Stmt) {
	if _, ok := s.(*syntax.BlockStmt); ok {
		w.line()
		stmt(w, s)
		return
	}
	w.indent++
	w.line()
	stmt(w, s)
	w.indent--
}

// stmts writes statements, each on its own line, indented.
func stmts(w *writer, list []syntax.Stmt) {
	w.indent++
	for _, s := range list {
		w.line()
		stmt(w, s)
	}
	w.indent--
}

// simple writes a statement that contains no other statements, without its semicolon.
func simple(w *writer, s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.SelectStmt:
		query(w, s.Query)
		listed(w, " OPTION (", s.Hints, ")")
	case *syntax.InsertStmt:
		insert(w, s)
	case *syntax.UpdateStmt:
		update(w, s)
	case *syntax.DeleteStmt:
		deleteStmt(w, s)
	case *syntax.MergeStmt:
		merge(w, s)
	case *syntax.TruncateStmt:
		w.put("TRUNCATE TABLE ", s.Table)
	case *syntax.InsertBulkStmt:
		insertBulk(w, s)
	case *syntax.DeclareStmt:
		list(w, "DECLARE ", s.Vars)
	case *syntax.DeclareCursorStmt:
		w.put("DECLARE ", s.Name)
		w.textIf(s.Cursor.Insensitive, " INSENSITIVE")
		w.put(" ", s.Cursor)
	case *syntax.BreakStmt:
		w.text("BREAK")
	case *syntax.ContinueStmt:
		w.text("CONTINUE")
	case *syntax.GotoStmt:
		w.put("GOTO ", syntax.Ident{Name: s.Label})
	case *syntax.ReturnStmt:
		w.text("RETURN")
		opt(w, " ", s.Value)
	case *syntax.PrintStmt:
		w.put("PRINT ", s.X)
	case *syntax.ThrowStmt:
		w.text("THROW")
		if s.Number != nil {
			w.text(" ")
			nodes(w, []syntax.Expr{s.Number, s.Message, s.State})
		}
	case *syntax.RaiserrorStmt:
		raiserror(w, s)
	case *syntax.ExecStmt:
		exec(w, s)
	case *syntax.WaitForStmt:
		w.put("WAITFOR ", either(s.Time, "TIME ", "DELAY "), s.Value)
	case *syntax.UseStmt:
		w.put("USE ", s.Database)
	case *syntax.UnsupportedStmt:
		w.text(s.Text)
	default:
		control(w, s)
	}
}

// control writes SET, transactions and cursors.
func control(w *writer, s syntax.Stmt) {
	onOff := map[bool]string{true: " ON", false: " OFF"}
	switch s := s.(type) {
	case *syntax.SetVarStmt:
		if m, ok := s.Value.(*syntax.MethodCall); ok && m.Mutator {
			w.put("SET ", m)
			return
		}
		w.text("SET ", s.Name)
		switch {
		case s.Cursor != nil:
			w.put(" = ", s.Cursor)
		default:
			assign(w, s.Op)
			expr(w, s.Value)
		}
	case *syntax.SetOptionStmt:
		w.text("SET ")
		words(w, s.Options)
		w.text(onOff[s.On])
	case *syntax.SetStatisticsStmt:
		w.text("SET STATISTICS ")
		words(w, s.Options)
		w.text(onOff[s.On])
	case *syntax.SetValueStmt:
		w.put("SET ", s.Option, " ", s.Value)
	case *syntax.SetIsolationStmt:
		w.text("SET TRANSACTION ISOLATION LEVEL ", s.Level.String())
	case *syntax.SetIdentityInsertStmt:
		w.put("SET IDENTITY_INSERT ", s.Table, onOff[s.On])
	case *syntax.BeginTranStmt:
		w.text("BEGIN ")
		w.textIf(s.Distributed, "DISTRIBUTED ")
		w.text("TRANSACTION")
		opt(w, " ", s.Name)
		w.textIf(s.HasMark, " WITH MARK")
		opt(w, " ", s.Mark)
	case *syntax.CommitStmt:
		w.text("COMMIT TRANSACTION")
		opt(w, " ", s.Name)
		w.textIf(s.Durable != "", " WITH (DELAYED_DURABILITY = ", s.Durable, ")")
	case *syntax.RollbackStmt:
		w.text("ROLLBACK TRANSACTION")
		opt(w, " ", s.Name)
	case *syntax.SaveTranStmt:
		w.text("SAVE TRANSACTION")
		opt(w, " ", s.Name)
	case *syntax.OpenStmt:
		w.put("OPEN ", s.Cursor)
	case *syntax.CloseStmt:
		w.put("CLOSE ", s.Cursor)
	case *syntax.DeallocateStmt:
		w.put("DEALLOCATE ", s.Cursor)
	case *syntax.FetchStmt:
		fetch(w, s)
	default:
		ddl(w, s)
	}
}

// fetch writes FETCH.
func fetch(w *writer, s *syntax.FetchStmt) {
	w.text("FETCH ", map[syntax.FetchDirection]string{
		syntax.FetchNext: "NEXT", syntax.FetchPrior: "PRIOR", syntax.FetchFirst: "FIRST", syntax.FetchLast: "LAST",
		syntax.FetchAbsolute: "ABSOLUTE", syntax.FetchRelative: "RELATIVE",
	}[s.Direction])
	opt(w, " ", s.Offset)
	w.put(" FROM ", s.Cursor)
	if len(s.Into) > 0 {
		w.text(" INTO ")
		words(w, s.Into)
	}
}

// varDecl writes a variable's declaration.
func varDecl(w *writer, v *syntax.VarDecl) {
	w.text(v.Name, " ")
	switch {
	case v.Table != nil:
		w.put("TABLE ", v.Table)
	case v.Cursor:
		w.text("CURSOR")
	default:
		typeRef(w, v.Type)
		opt(w, " = ", v.Init)
	}
}

// cursorRef writes the name of a cursor.
func cursorRef(w *writer, c *syntax.CursorRef) {
	w.textIf(c.Global, "GLOBAL ")
	if c.Name != "" && c.Name[0] == '@' {
		w.text(c.Name)
		return
	}
	ident(w, syntax.Ident{Name: c.Name, Quoted: scanner.Upper(c.Name) == "GLOBAL"})
}

// cursorDef writes CURSOR and the clauses after it; INSENSITIVE precedes CURSOR.
func cursorDef(w *writer, c *syntax.CursorDef) {
	w.text("CURSOR")
	w.textIf(c.Scope != "", " ", c.Scope)
	w.textIf(c.ForwardOnly, " FORWARD_ONLY")
	w.textIf(c.Scroll, " SCROLL")
	w.textIf(c.Kind != "", " ", c.Kind)
	w.textIf(c.Concurrency != "", " ", c.Concurrency)
	w.textIf(c.TypeWarning, " TYPE_WARNING")
	w.put(" FOR ", c.Query)
	w.textIf(c.ReadOnly, " FOR READ ONLY")
	if c.ForUpdate {
		w.text(" FOR UPDATE")
		if len(c.UpdateColumns) > 0 {
			w.text(" OF ")
			identList(w, c.UpdateColumns)
		}
	}
	listed(w, " OPTION (", c.Hints, ")")
}

// raiserror writes RAISERROR.
func raiserror(w *writer, s *syntax.RaiserrorStmt) {
	w.text("RAISERROR (")
	nodes(w, append([]syntax.Expr{s.Message, s.Severity, s.State}, s.Args...))
	w.text(")")
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
		w.text(" WITH ")
		words(w, with)
	}
}

// exec writes EXECUTE.
func exec(w *writer, s *syntax.ExecStmt) {
	w.textIf(!s.Implicit, "EXECUTE ")
	w.textIf(s.ReturnVar != "", s.ReturnVar, " = ")
	if s.Text != nil {
		w.put("(", s.Text)
		for _, a := range s.TextArgs {
			w.put(", ", a)
		}
		w.text(")")
		if s.As != "" {
			w.text(either(s.AsLogin, " AS LOGIN = ", " AS USER = "), quoteString(s.As))
		}
		named(w, " AT ", s.At)
	} else {
		w.put(s.ModuleVar, s.Module)
		w.textIf(s.Number != 0, ";", strconv.Itoa(s.Number))
		listed(w, " ", s.Args)
	}
	sep := " WITH "
	if s.Recompile {
		w.text(sep, "RECOMPILE")
		sep = ", "
	}
	if s.ResultSets != nil {
		w.put(sep, s.ResultSets)
	}
}

// execArg writes an argument.
func execArg(w *writer, a *syntax.ExecArg) {
	w.textIf(a.Name != "", a.Name, " = ")
	expr(w, a.Value)
	w.textIf(a.Output, " OUTPUT")
}

// resultSets writes RESULT SETS.
func resultSets(w *writer, r *syntax.ResultSets) {
	w.text("RESULT SETS ")
	if r.Kind != "" {
		w.text(r.Kind)
		return
	}
	w.text("(")
	writeList(w, r.Sets, func(set []*syntax.ColumnDef) {
		list(w, "(", set, ")")
	})
	w.text(")")
}
