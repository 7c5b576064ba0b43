package syntax

import "strconv"

// stmt writes a statement with its semicolon.
func (w *printer) stmt(s Stmt) {
	if l, ok := s.(*LabelStmt); ok {
		w.ident(Ident{Name: l.Label})
		w.w(":")
		return
	}
	if s == nil {
		return
	}
	switch s := s.(type) {
	case *IfStmt:
		w.w("IF ")
		w.cond(s.Cond)
		w.nested(s.Then)
		if s.Else != nil {
			w.line()
			w.w("ELSE")
			w.nested(s.Else)
		}
		return
	case *WhileStmt:
		w.w("WHILE ")
		w.cond(s.Cond)
		w.nested(s.Body)
		return
	case *BlockStmt:
		w.w("BEGIN")
		w.stmts(s.Body)
		w.line()
		w.w("END;")
		return
	case *TryStmt:
		w.w("BEGIN TRY")
		w.stmts(s.Try)
		w.line()
		w.w("END TRY")
		w.line()
		w.w("BEGIN CATCH")
		w.stmts(s.Catch)
		w.line()
		w.w("END CATCH;")
		return
	case *CreateProcedureStmt:
		w.procedure(s)
		return
	case *CreateTriggerStmt:
		w.createTrigger(s)
		return
	}
	w.simple(s)
	w.w(";")
}

// nested writes the statement of IF, ELSE and WHILE: blocks at the same depth, others indented.
func (w *printer) nested(s Stmt) {
	if _, ok := s.(*BlockStmt); ok {
		w.line()
		w.stmt(s)
		return
	}
	w.indent++
	w.line()
	w.stmt(s)
	w.indent--
}

// stmts writes statements, each on a line of its own, indented.
func (w *printer) stmts(list []Stmt) {
	w.indent++
	for _, s := range list {
		w.line()
		w.stmt(s)
	}
	w.indent--
}

// simple writes a statement without other statements inside, without its semicolon.
func (w *printer) simple(s Stmt) {
	switch s := s.(type) {
	case *SelectStmt:
		w.query(s.Query)
		w.hints(s.Hints)
	case *InsertStmt:
		w.insert(s)
	case *UpdateStmt:
		w.update(s)
	case *DeleteStmt:
		w.delete(s)
	case *MergeStmt:
		w.merge(s)
	case *TruncateStmt:
		w.w("TRUNCATE TABLE ")
		w.name(s.Table)
	case *InsertBulkStmt:
		w.insertBulk(s)
	case *DeclareStmt:
		w.w("DECLARE ")
		nodes(w, s.Vars)
	case *DeclareCursorStmt:
		w.w("DECLARE ")
		w.ident(s.Name)
		w.when(s.Cursor.Insensitive, " INSENSITIVE")
		w.w(" ")
		w.cursorDef(s.Cursor)
	case *BreakStmt:
		w.w("BREAK")
	case *ContinueStmt:
		w.w("CONTINUE")
	case *GotoStmt:
		w.w("GOTO ")
		w.ident(Ident{Name: s.Label})
	case *ReturnStmt:
		w.w("RETURN")
		w.optional(" ", s.Value)
	case *PrintStmt:
		w.w("PRINT ")
		w.expr(s.X)
	case *ThrowStmt:
		w.w("THROW")
		if s.Number != nil {
			w.w(" ")
			w.exprs([]Expr{s.Number, s.Message, s.State})
		}
	case *RaiserrorStmt:
		w.raiserror(s)
	case *ExecStmt:
		w.exec(s)
	case *WaitForStmt:
		w.w("WAITFOR ", map[bool]string{true: "TIME ", false: "DELAY "}[s.Time])
		w.expr(s.Value)
	case *UseStmt:
		w.w("USE ")
		w.ident(s.Database)
	case *UnsupportedStmt:
		w.w(s.Text)
	default:
		w.control(s)
	}
}

// optional writes before and x unless x is nil.
func (w *printer) optional(before string, x Expr) {
	if x != nil {
		w.w(before)
		w.expr(x)
	}
}

// control writes SET, transactions and cursors.
func (w *printer) control(s Stmt) {
	onOff := map[bool]string{true: " ON", false: " OFF"}
	switch s := s.(type) {
	case *SetVarStmt:
		w.w("SET ", s.Name)
		switch {
		case s.Method != "":
			w.w(".")
			w.ident(Ident{Name: s.Method})
			w.w("(")
			w.exprs(s.Args)
			w.w(")")
		case s.Cursor != nil:
			w.w(" = ")
			w.cursorDef(s.Cursor)
		default:
			w.assign(s.Op)
			w.expr(s.Value)
		}
	case *SetOptionStmt:
		w.w("SET ")
		list(w, s.Options, func(o string) { w.w(o) })
		w.w(onOff[s.On])
	case *SetStatisticsStmt:
		w.w("SET STATISTICS ")
		list(w, s.Options, func(o string) { w.w(o) })
		w.w(onOff[s.On])
	case *SetValueStmt:
		w.w("SET ", s.Option, " ")
		w.expr(s.Value)
	case *SetIsolationStmt:
		w.w("SET TRANSACTION ISOLATION LEVEL ", s.Level.String())
	case *SetIdentityInsertStmt:
		w.w("SET IDENTITY_INSERT ")
		w.name(s.Table)
		w.w(onOff[s.On])
	case *BeginTranStmt:
		w.w("BEGIN ")
		w.when(s.Distributed, "DISTRIBUTED ")
		w.w("TRANSACTION")
		w.optional(" ", s.Name)
		w.when(s.HasMark, " WITH MARK")
		w.optional(" ", s.Mark)
	case *CommitStmt:
		w.w("COMMIT TRANSACTION")
		w.optional(" ", s.Name)
		w.when(s.Durable != "", " WITH (DELAYED_DURABILITY = ", s.Durable, ")")
	case *RollbackStmt:
		w.w("ROLLBACK TRANSACTION")
		w.optional(" ", s.Name)
	case *SaveTranStmt:
		w.w("SAVE TRANSACTION")
		w.optional(" ", s.Name)
	case *OpenStmt:
		w.w("OPEN ")
		w.cursorRef(s.Cursor)
	case *CloseStmt:
		w.w("CLOSE ")
		w.cursorRef(s.Cursor)
	case *DeallocateStmt:
		w.w("DEALLOCATE ")
		w.cursorRef(s.Cursor)
	case *FetchStmt:
		w.fetch(s)
	default:
		w.ddl(s)
	}
}

// String is the level as SET writes it.
func (l Isolation) String() string {
	return map[Isolation]string{
		ReadUncommitted: "READ UNCOMMITTED", ReadCommitted: "READ COMMITTED", RepeatableRead: "REPEATABLE READ",
		Serializable: "SERIALIZABLE", Snapshot: "SNAPSHOT",
	}[l]
}

// fetch writes FETCH.
func (w *printer) fetch(s *FetchStmt) {
	w.w("FETCH ", map[FetchDirection]string{
		FetchNext: "NEXT", FetchPrior: "PRIOR", FetchFirst: "FIRST", FetchLast: "LAST",
		FetchAbsolute: "ABSOLUTE", FetchRelative: "RELATIVE",
	}[s.Direction])
	w.optional(" ", s.Offset)
	w.w(" FROM ")
	w.cursorRef(s.Cursor)
	if len(s.Into) > 0 {
		w.w(" INTO ")
		list(w, s.Into, func(v string) { w.w(v) })
	}
}

// varDecl writes a variable's declaration.
func (w *printer) varDecl(v *VarDecl) {
	w.w(v.Name, " ")
	switch {
	case v.Table != nil:
		w.w("TABLE ")
		w.tableDef(v.Table)
	case v.Cursor:
		w.w("CURSOR")
	default:
		w.typeRef(v.Type)
		w.optional(" = ", v.Init)
	}
}

// cursorRef writes a cursor's name.
func (w *printer) cursorRef(c *CursorRef) {
	w.when(c.Global, "GLOBAL ")
	if c.Name != "" && c.Name[0] == '@' {
		w.w(c.Name)
		return
	}
	w.ident(Ident{Name: c.Name, Quoted: upper(c.Name) == "GLOBAL"})
}

// cursorDef writes CURSOR and what follows; INSENSITIVE stands before it.
func (w *printer) cursorDef(c *CursorDef) {
	w.w("CURSOR")
	w.when(c.Scope != "", " ", c.Scope)
	w.when(c.ForwardOnly, " FORWARD_ONLY")
	w.when(c.Scroll, " SCROLL")
	w.when(c.Kind != "", " ", c.Kind)
	w.when(c.Concurrency != "", " ", c.Concurrency)
	w.when(c.TypeWarning, " TYPE_WARNING")
	w.w(" FOR ")
	w.query(c.Query)
	w.when(c.ReadOnly, " FOR READ ONLY")
	if c.ForUpdate {
		w.w(" FOR UPDATE")
		if len(c.UpdateColumns) > 0 {
			w.w(" OF ")
			list(w, c.UpdateColumns, w.ident)
		}
	}
	w.hints(c.Hints)
}

// raiserror writes RAISERROR.
func (w *printer) raiserror(s *RaiserrorStmt) {
	w.w("RAISERROR (")
	w.exprs(append([]Expr{s.Message, s.Severity, s.State}, s.Args...))
	w.w(")")
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
		w.w(" WITH ")
		list(w, with, func(o string) { w.w(o) })
	}
}

// exec writes EXECUTE.
func (w *printer) exec(s *ExecStmt) {
	w.when(!s.Implicit, "EXECUTE ")
	w.when(s.ReturnVar != "", s.ReturnVar, " = ")
	if s.Text != nil {
		w.w("(")
		w.expr(s.Text)
		for _, a := range s.TextArgs {
			w.w(", ")
			w.execArg(a)
		}
		w.w(")")
		if s.As != "" {
			w.w(map[bool]string{true: " AS LOGIN = ", false: " AS USER = "}[s.AsLogin], quoteString(s.As))
		}
		if s.At.Name != "" {
			w.w(" AT ")
			w.ident(s.At)
		}
	} else {
		w.w(s.ModuleVar)
		w.name(s.Module)
		w.when(s.Number != 0, ";", strconv.Itoa(s.Number))
		if len(s.Args) > 0 {
			w.w(" ")
			nodes(w, s.Args)
		}
	}
	sep := " WITH "
	if s.Recompile {
		w.w(sep, "RECOMPILE")
		sep = ", "
	}
	if s.ResultSets != nil {
		w.w(sep)
		w.resultSets(s.ResultSets)
	}
}

// execArg writes an argument.
func (w *printer) execArg(a *ExecArg) {
	w.when(a.Name != "", a.Name, " = ")
	w.expr(a.Value)
	w.when(a.Output, " OUTPUT")
}

// resultSets writes RESULT SETS.
func (w *printer) resultSets(r *ResultSets) {
	w.w("RESULT SETS ")
	if r.Kind != "" {
		w.w(r.Kind)
		return
	}
	w.w("(")
	list(w, r.Sets, func(set []*ColumnDef) {
		w.w("(")
		nodes(w, set)
		w.w(")")
	})
	w.w(")")
}
