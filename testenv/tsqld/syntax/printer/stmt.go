package printer

import (
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
	"strconv"
)

// stmt writes a statement with its semicolon.
func (w *printer) stmt(s syntax.Stmt) {
	if l, ok := s.(*syntax.LabelStmt); ok {
		w.ident(syntax.Ident{Name: l.Label})
		w.text(":")
		return
	}
	if s == nil {
		return
	}
	switch s := s.(type) {
	case *syntax.IfStmt:
		w.text("IF ")
		w.cond(s.Cond)
		w.nested(s.Then)
		if s.Else != nil {
			w.line()
			w.text("ELSE")
			w.nested(s.Else)
		}
		return
	case *syntax.WhileStmt:
		w.text("WHILE ")
		w.cond(s.Cond)
		w.nested(s.Body)
		return
	case *syntax.BlockStmt:
		w.text("BEGIN")
		w.stmts(s.Body)
		w.line()
		w.text("END;")
		return
	case *syntax.TryStmt:
		w.text("BEGIN TRY")
		w.stmts(s.Try)
		w.line()
		w.text("END TRY")
		w.line()
		w.text("BEGIN CATCH")
		w.stmts(s.Catch)
		w.line()
		w.text("END CATCH;")
		return
	case *syntax.CreateProcedureStmt:
		w.procedure(s)
		return
	case *syntax.CreateTriggerStmt:
		w.createTrigger(s)
		return
	}
	w.simple(s)
	w.text(";")
}

// nested writes the statement of IF, ELSE and WHILE: blocks at the same depth, others indented.
func (w *printer) nested(s syntax.Stmt) {
	if _, ok := s.(*syntax.BlockStmt); ok {
		w.line()
		w.stmt(s)
		return
	}
	w.indent++
	w.line()
	w.stmt(s)
	w.indent--
}

// stmts writes statements, each on its own line, indented.
func (w *printer) stmts(list []syntax.Stmt) {
	w.indent++
	for _, s := range list {
		w.line()
		w.stmt(s)
	}
	w.indent--
}

// simple writes a statement that contains no other statements, without its semicolon.
func (w *printer) simple(s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.SelectStmt:
		w.query(s.Query)
		w.hints(s.Hints)
	case *syntax.InsertStmt:
		w.insert(s)
	case *syntax.UpdateStmt:
		w.update(s)
	case *syntax.DeleteStmt:
		w.deleteStmt(s)
	case *syntax.MergeStmt:
		w.merge(s)
	case *syntax.TruncateStmt:
		w.text("TRUNCATE TABLE ")
		w.name(s.Table)
	case *syntax.InsertBulkStmt:
		w.insertBulk(s)
	case *syntax.DeclareStmt:
		w.text("DECLARE ")
		nodes(w, s.Vars)
	case *syntax.DeclareCursorStmt:
		w.text("DECLARE ")
		w.ident(s.Name)
		w.textIf(s.Cursor.Insensitive, " INSENSITIVE")
		w.text(" ")
		w.cursorDef(s.Cursor)
	case *syntax.BreakStmt:
		w.text("BREAK")
	case *syntax.ContinueStmt:
		w.text("CONTINUE")
	case *syntax.GotoStmt:
		w.text("GOTO ")
		w.ident(syntax.Ident{Name: s.Label})
	case *syntax.ReturnStmt:
		w.text("RETURN")
		w.optional(" ", s.Value)
	case *syntax.PrintStmt:
		w.text("PRINT ")
		w.expr(s.X)
	case *syntax.ThrowStmt:
		w.text("THROW")
		if s.Number != nil {
			w.text(" ")
			w.exprs([]syntax.Expr{s.Number, s.Message, s.State})
		}
	case *syntax.RaiserrorStmt:
		w.raiserror(s)
	case *syntax.ExecStmt:
		w.exec(s)
	case *syntax.WaitForStmt:
		w.text("WAITFOR ", map[bool]string{true: "TIME ", false: "DELAY "}[s.Time])
		w.expr(s.Value)
	case *syntax.UseStmt:
		w.text("USE ")
		w.ident(s.Database)
	case *syntax.UnsupportedStmt:
		w.text(s.Text)
	default:
		w.control(s)
	}
}

// optional writes before and x, or nothing if x is nil.
func (w *printer) optional(before string, x syntax.Expr) {
	if x != nil {
		w.text(before)
		w.expr(x)
	}
}

// control writes SET, transactions and cursors.
func (w *printer) control(s syntax.Stmt) {
	onOff := map[bool]string{true: " ON", false: " OFF"}
	switch s := s.(type) {
	case *syntax.SetVarStmt:
		if m, ok := s.Value.(*syntax.MethodCall); ok && m.Mutator {
			w.text("SET ")
			w.expr(m)
			return
		}
		w.text("SET ", s.Name)
		switch {
		case s.Cursor != nil:
			w.text(" = ")
			w.cursorDef(s.Cursor)
		default:
			w.assign(s.Op)
			w.expr(s.Value)
		}
	case *syntax.SetOptionStmt:
		w.text("SET ")
		writeList(w, s.Options, func(o string) { w.text(o) })
		w.text(onOff[s.On])
	case *syntax.SetStatisticsStmt:
		w.text("SET STATISTICS ")
		writeList(w, s.Options, func(o string) { w.text(o) })
		w.text(onOff[s.On])
	case *syntax.SetValueStmt:
		w.text("SET ", s.Option, " ")
		w.expr(s.Value)
	case *syntax.SetIsolationStmt:
		w.text("SET TRANSACTION ISOLATION LEVEL ", s.Level.String())
	case *syntax.SetIdentityInsertStmt:
		w.text("SET IDENTITY_INSERT ")
		w.name(s.Table)
		w.text(onOff[s.On])
	case *syntax.BeginTranStmt:
		w.text("BEGIN ")
		w.textIf(s.Distributed, "DISTRIBUTED ")
		w.text("TRANSACTION")
		w.optional(" ", s.Name)
		w.textIf(s.HasMark, " WITH MARK")
		w.optional(" ", s.Mark)
	case *syntax.CommitStmt:
		w.text("COMMIT TRANSACTION")
		w.optional(" ", s.Name)
		w.textIf(s.Durable != "", " WITH (DELAYED_DURABILITY = ", s.Durable, ")")
	case *syntax.RollbackStmt:
		w.text("ROLLBACK TRANSACTION")
		w.optional(" ", s.Name)
	case *syntax.SaveTranStmt:
		w.text("SAVE TRANSACTION")
		w.optional(" ", s.Name)
	case *syntax.OpenStmt:
		w.text("OPEN ")
		w.cursorRef(s.Cursor)
	case *syntax.CloseStmt:
		w.text("CLOSE ")
		w.cursorRef(s.Cursor)
	case *syntax.DeallocateStmt:
		w.text("DEALLOCATE ")
		w.cursorRef(s.Cursor)
	case *syntax.FetchStmt:
		w.fetch(s)
	default:
		w.ddl(s)
	}
}

// fetch writes FETCH.
func (w *printer) fetch(s *syntax.FetchStmt) {
	w.text("FETCH ", map[syntax.FetchDirection]string{
		syntax.FetchNext: "NEXT", syntax.FetchPrior: "PRIOR", syntax.FetchFirst: "FIRST", syntax.FetchLast: "LAST",
		syntax.FetchAbsolute: "ABSOLUTE", syntax.FetchRelative: "RELATIVE",
	}[s.Direction])
	w.optional(" ", s.Offset)
	w.text(" FROM ")
	w.cursorRef(s.Cursor)
	if len(s.Into) > 0 {
		w.text(" INTO ")
		writeList(w, s.Into, func(v string) { w.text(v) })
	}
}

// varDecl writes a variable's declaration.
func (w *printer) varDecl(v *syntax.VarDecl) {
	w.text(v.Name, " ")
	switch {
	case v.Table != nil:
		w.text("TABLE ")
		w.tableDef(v.Table)
	case v.Cursor:
		w.text("CURSOR")
	default:
		w.typeRef(v.Type)
		w.optional(" = ", v.Init)
	}
}

// cursorRef writes the name of a cursor.
func (w *printer) cursorRef(c *syntax.CursorRef) {
	w.textIf(c.Global, "GLOBAL ")
	if c.Name != "" && c.Name[0] == '@' {
		w.text(c.Name)
		return
	}
	w.ident(syntax.Ident{Name: c.Name, Quoted: scanner.Upper(c.Name) == "GLOBAL"})
}

// cursorDef writes CURSOR and the clauses after it; INSENSITIVE precedes CURSOR.
func (w *printer) cursorDef(c *syntax.CursorDef) {
	w.text("CURSOR")
	w.textIf(c.Scope != "", " ", c.Scope)
	w.textIf(c.ForwardOnly, " FORWARD_ONLY")
	w.textIf(c.Scroll, " SCROLL")
	w.textIf(c.Kind != "", " ", c.Kind)
	w.textIf(c.Concurrency != "", " ", c.Concurrency)
	w.textIf(c.TypeWarning, " TYPE_WARNING")
	w.text(" FOR ")
	w.query(c.Query)
	w.textIf(c.ReadOnly, " FOR READ ONLY")
	if c.ForUpdate {
		w.text(" FOR UPDATE")
		if len(c.UpdateColumns) > 0 {
			w.text(" OF ")
			writeList(w, c.UpdateColumns, w.ident)
		}
	}
	w.hints(c.Hints)
}

// raiserror writes RAISERROR.
func (w *printer) raiserror(s *syntax.RaiserrorStmt) {
	w.text("RAISERROR (")
	w.exprs(append([]syntax.Expr{s.Message, s.Severity, s.State}, s.Args...))
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
		writeList(w, with, func(o string) { w.text(o) })
	}
}

// exec writes EXECUTE.
func (w *printer) exec(s *syntax.ExecStmt) {
	w.textIf(!s.Implicit, "EXECUTE ")
	w.textIf(s.ReturnVar != "", s.ReturnVar, " = ")
	if s.Text != nil {
		w.text("(")
		w.expr(s.Text)
		for _, a := range s.TextArgs {
			w.text(", ")
			w.execArg(a)
		}
		w.text(")")
		if s.As != "" {
			w.text(map[bool]string{true: " AS LOGIN = ", false: " AS USER = "}[s.AsLogin], quoteString(s.As))
		}
		if s.At.Name != "" {
			w.text(" AT ")
			w.ident(s.At)
		}
	} else {
		w.text(s.ModuleVar)
		w.name(s.Module)
		w.textIf(s.Number != 0, ";", strconv.Itoa(s.Number))
		if len(s.Args) > 0 {
			w.text(" ")
			nodes(w, s.Args)
		}
	}
	sep := " WITH "
	if s.Recompile {
		w.text(sep, "RECOMPILE")
		sep = ", "
	}
	if s.ResultSets != nil {
		w.text(sep)
		w.resultSets(s.ResultSets)
	}
}

// execArg writes an argument.
func (w *printer) execArg(a *syntax.ExecArg) {
	w.textIf(a.Name != "", a.Name, " = ")
	w.expr(a.Value)
	w.textIf(a.Output, " OUTPUT")
}

// resultSets writes RESULT SETS.
func (w *printer) resultSets(r *syntax.ResultSets) {
	w.text("RESULT SETS ")
	if r.Kind != "" {
		w.text(r.Kind)
		return
	}
	w.text("(")
	writeList(w, r.Sets, func(set []*syntax.ColumnDef) {
		w.text("(")
		nodes(w, set)
		w.text(")")
	})
	w.text(")")
}
