package syntax

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// batch reads all statements.
func (p *parser) batch() []Stmt {
	for p.at(";") {
		p.next()
	}
	p.firstToken = p.pos
	list := p.stmts(func() bool { return p.current().kind == tokEOF || p.mustEndBatch })
	p.expectEOF()
	return list
}

// stmts reads statements until end returns true or the text ends.
func (p *parser) stmts(end func() bool) []Stmt {
	var list []Stmt
	p.terminated = true
	for p.err == nil {
		for p.accept(";") {
			p.terminated = true
		}
		if p.current().kind == tokEOF || end() {
			return list
		}
		s := p.stmt()
		if p.err != nil {
			return list
		}
		list = append(list, s)
		_, p.terminated = s.(*LabelStmt)
	}
	return list
}

// nestedStmt reads the statement after IF, ELSE or WHILE. It may start with WITH or THROW without a
// preceding semicolon.
func (p *parser) nestedStmt() Stmt {
	p.terminated = true
	return p.stmt()
}

// stmt reads a statement and records its position.
func (p *parser) stmt() Stmt {
	if !p.enter() {
		return nil
	}
	defer p.leave()
	start, lacks := p.current(), p.lacks
	p.lacks = ""
	s := p.supported(p.statement())
	p.lacks = lacks
	if p.err != nil || s == nil {
		return nil
	}
	s.SetExtent(start.at, p.previous().end)
	if u, ok := s.(*UnsupportedStmt); ok {
		u.Text = p.src[s.Start():s.End()]
	}
	return s
}

// statement reads a statement. Its first word decides which one.
func (p *parser) statement() Stmt {
	t := p.current()
	switch {
	case t.kind == tokQuoted:
		return p.implicitExec()
	case p.at("("):
		return p.selectStmt()
	case p.at("{"):
		return p.callEscape()
	case t.kind != tokWord:
		p.fail()
		return nil
	}
	if s, ok := p.dataStmt(t); ok {
		return s
	}
	if s, ok := p.controlStmt(t); ok {
		return s
	}
	if s, ok := p.adminStmt(t); ok {
		return s
	}
	switch {
	case reserved[t.upper]:
		p.fail()
		return nil
	case p.atLabel():
		return p.label()
	}
	return p.implicitExec()
}

// dataStmt reads a statement that reads, changes or defines data; false if t starts no such
// statement.
func (p *parser) dataStmt(t *token) (Stmt, bool) {
	switch t.upper {
	case "SELECT":
		return p.selectStmt(), true
	case "WITH":
		return p.withStmt(), true
	case "INSERT":
		return p.insert(nil), true
	case "UPDATE":
		if p.peek(1).is("STATISTICS") {
			return p.updateStatistics(), true
		}
		return p.update(nil), true
	case "DELETE":
		return p.deleteStmt(nil), true
	case "MERGE":
		return p.merge(nil), true
	case "TRUNCATE":
		return p.truncateTable(), true
	case "CREATE":
		return p.create(), true
	case "ALTER":
		return p.alter(), true
	case "DROP":
		return p.drop(), true
	case "BULK":
		p.reject("BULK INSERT")
		return nil, true
	case "READTEXT", "WRITETEXT", "UPDATETEXT":
		p.reject(t.upper)
		return nil, true
	}
	return nil, false
}

// truncateTable reads TRUNCATE TABLE.
func (p *parser) truncateTable() Stmt {
	p.expect("TRUNCATE", "TABLE")
	s := &TruncateStmt{Table: p.objectName()}
	if p.at("WITH", "(") {
		p.partitionRanges()
	}
	return s
}

// controlStmt reads a statement of the procedural language; false if t starts no such statement.
func (p *parser) controlStmt(t *token) (Stmt, bool) {
	switch t.upper {
	case "DECLARE":
		return p.declare(), true
	case "SET":
		return p.set(), true
	case "IF":
		return p.ifStmt(), true
	case "WHILE":
		return p.whileStmt(), true
	case "BEGIN":
		return p.begin(), true
	case "BREAK":
		p.next()
		if p.whileDepth == 0 {
			p.errorAt(t, mserr.BreakOutsideWhile())
		}
		return &BreakStmt{}, true
	case "CONTINUE":
		p.next()
		if p.whileDepth == 0 {
			p.errorAt(t, mserr.ContinueOutsideWhile())
		}
		return &ContinueStmt{}, true
	case "GOTO":
		p.next()
		id := p.ident()
		p.gotos = append(p.gotos, label{id.Name, t.at.Line})
		return &GotoStmt{Label: id.Name}, true
	case "RETURN":
		p.next()
		s := &ReturnStmt{}
		if p.exprFollows() {
			s.Value = p.expr()
		}
		return s, true
	case "PRINT":
		p.next()
		return &PrintStmt{X: p.expr()}, true
	case "RAISERROR":
		return p.raiserror(), true
	case "THROW":
		if p.throwFollows(p.peek(1)) {
			return p.throw(), true
		}
	case "EXEC", "EXECUTE":
		return p.execute(), true
	case "WAITFOR":
		return p.waitFor(), true
	case "COMMIT", "ROLLBACK", "SAVE":
		return p.transaction(), true
	case "OPEN", "CLOSE", "DEALLOCATE", "FETCH":
		return p.cursor(), true
	}
	return nil, false
}

// waitFor reads WAITFOR.
func (p *parser) waitFor() Stmt {
	p.next()
	if p.at("(") {
		p.reject("WAITFOR of a queue")
		return nil
	}
	s := &WaitForStmt{Time: p.expectAny("DELAY", "TIME") == "TIME"}
	s.Value = p.constantOrVariable(tokString, tokNString)
	return s
}

// adminStmt reads a statement on the session, permissions or the server; false if t starts no such
// statement.
func (p *parser) adminStmt(t *token) (Stmt, bool) {
	switch t.upper {
	case "USE":
		p.next()
		return &UseStmt{Database: p.ident()}, true
	case "REVERT":
		p.next()
		s := &RevertStmt{}
		if p.accept("WITH", "COOKIE") {
			p.expect("=")
			s.Cookie = p.expr()
		}
		return s, true
	case "GRANT", "DENY", "REVOKE":
		return p.permission(), true
	case "BACKUP", "RESTORE":
		return p.backup(), true
	case "DBCC":
		return p.dbcc(), true
	case "CHECKPOINT":
		p.next()
		s := &CheckpointStmt{}
		if p.current().kind == tokInt {
			s.Duration = p.literal()
		}
		return s, true
	case "RECONFIGURE":
		p.next()
		return &ReconfigureStmt{Override: p.accept("WITH", "OVERRIDE")}, true
	case "KILL":
		return p.kill(), true
	case "SHUTDOWN":
		p.next()
		return &ShutdownStmt{NoWait: p.accept("WITH", "NOWAIT")}, true
	case "SETUSER":
		p.next()
		p.literal()
		p.accept("WITH", "NORESET")
		return &UnsupportedStmt{What: "SETUSER"}, true
	case "LINENO":
		p.next()
		p.integer()
		return &UnsupportedStmt{What: "LINENO"}, true
	case "ENABLE", "DISABLE":
		if p.peek(1).is("TRIGGER") {
			return p.trigger(), true
		}
	}
	return nil, false
}

// throwFollows reports whether the current word THROW is the statement; n is the token after it.
// THROW is not a reserved word, and without a preceding semicolon it would continue the previous
// statement.
func (p *parser) throwFollows(n *token) bool {
	if !p.terminated {
		p.fail()
	}
	return !n.is(":") && !n.is(".")
}

// withStmt reads a statement that starts with common table expressions. Error 319 if the previous
// statement has no semicolon.
func (p *parser) withStmt() Stmt {
	if !p.terminated {
		p.errorAt(p.current(), mserr.SyntaxWith())
		return nil
	}
	at := p.here()
	with := p.with()
	switch {
	case p.at("INSERT"):
		return p.insert(with)
	case p.at("UPDATE"):
		return p.update(with)
	case p.at("DELETE"):
		return p.deleteStmt(with)
	case p.at("MERGE"):
		return p.merge(with)
	case p.at("SELECT"), p.at("("):
		s := p.selectStmt()
		if q, ok := s.(*SelectStmt); ok {
			q.Query.With, q.Query.At = with, at
		}
		return s
	}
	p.fail()
	return nil
}

// atLabel reports whether a label comes next: a name directly followed by a colon.
func (p *parser) atLabel() bool {
	t, n := p.current(), p.peek(1)
	return atIdent(t) && n.is(":") && n.at.Offset == t.end
}

// label reads "name:".
func (p *parser) label() Stmt {
	t := p.current()
	id := p.ident()
	p.expect(":")
	key := lower(id.Name)
	if p.labels[key] {
		p.errorAt(t, mserr.DuplicateLabel(id.Name))
	}
	p.labels[key] = true
	return &LabelStmt{Label: id.Name}
}

// checkLabels reports an error for a GOTO without a label.
func (p *parser) checkLabels() {
	for _, g := range p.gotos {
		if !p.labels[lower(g.name)] && p.err == nil {
			e := mserr.UnknownLabel(g.name)
			e.Line = g.line
			p.err = e
		}
	}
}

// exprFollows reports whether a value comes after RETURN.
func (p *parser) exprFollows() bool {
	t := p.current()
	switch t.kind {
	case tokEOF:
		return false
	case tokWord:
		if reserved[t.upper] {
			switch t.upper {
			case "NULL", "CASE", "COALESCE", "NULLIF", "CONVERT", "TRY_CONVERT", "LEFT", "RIGHT", "CURRENT_TIMESTAMP",
				"CURRENT_USER", "SESSION_USER", "SYSTEM_USER", "USER":
				return true
			}
			return false
		}
		n := p.peek(1)
		return n.is("(") || n.is(".")
	case tokQuoted:
		return true
	case tokOp:
		return t.is("(") || t.is("-") || t.is("+") || t.is("~") || t.is("{")
	}
	return true
}

// ifStmt reads IF.
func (p *parser) ifStmt() Stmt {
	p.next()
	s := &IfStmt{Cond: p.cond()}
	s.Then = p.nestedStmt()
	if p.at(";", "ELSE") {
		p.next()
	}
	if p.accept("ELSE") {
		s.Else = p.nestedStmt()
	}
	return s
}

// whileStmt reads WHILE.
func (p *parser) whileStmt() Stmt {
	p.next()
	s := &WhileStmt{Cond: p.cond()}
	p.whileDepth++
	s.Body = p.nestedStmt()
	p.whileDepth--
	return s
}

// begin reads a statement that starts with BEGIN.
func (p *parser) begin() Stmt {
	p.next()
	switch {
	case p.at("TRY"):
		return p.try()
	case p.atAny("TRAN", "TRANSACTION"):
		return p.beginTran(false)
	case p.at("DISTRIBUTED"):
		p.next()
		return p.beginTran(true)
	case p.at("DIALOG"), p.at("CONVERSATION"):
		p.reject("BEGIN " + p.current().upper)
		return nil
	case p.at("ATOMIC", "WITH"):
		p.reject("BEGIN ATOMIC")
		return nil
	}
	s := &BlockStmt{Body: p.stmts(func() bool { return p.at("END") })}
	if len(s.Body) == 0 && p.err == nil {
		p.fail() // SQL Server does not allow an empty block
	}
	p.expect("END")
	return s
}

// try reads TRY ... CATCH.
func (p *parser) try() Stmt {
	end := func() bool { return p.at("END") }
	p.expect("TRY")
	s := &TryStmt{Try: p.stmts(end)}
	if len(s.Try) == 0 && p.err == nil {
		p.fail() // only the CATCH block may be empty
	}
	p.expect("END", "TRY")
	p.expect("BEGIN", "CATCH")
	s.Catch = p.stmts(end)
	p.expect("END", "CATCH")
	return s
}

// tranName reads the name of a transaction or savepoint; it returns nil if there is none.
func (p *parser) tranName() Expr {
	const maxTranName = 32 // "BEGIN TRANSACTION"
	t := p.current()
	e := p.here()
	switch {
	case t.kind == tokVar:
		p.next()
		return &VarRef{At: e, Name: t.text}
	case atIdent(t) && !p.peek(1).is(":"):
		if name := []rune(t.text); len(name) > maxTranName { // names in variables are truncated instead
			p.errorAt(t, mserr.IdentifierTooLong(string(name[:maxTranName]), maxTranName))
		}
		return &Literal{At: e, Kind: StringLit, Text: p.ident().Name, Bare: true}
	}
	return nil
}

// beginTran reads BEGIN TRANSACTION after BEGIN.
func (p *parser) beginTran(distributed bool) Stmt {
	p.expectAny("TRAN", "TRANSACTION")
	s := &BeginTranStmt{Distributed: distributed, Name: p.tranName()}
	if p.accept("WITH", "MARK") {
		s.HasMark = true
		if l := p.literal(); l != nil {
			s.Mark = l
		}
	}
	return s
}

// transaction reads COMMIT, ROLLBACK and SAVE.
func (p *parser) transaction() Stmt {
	verb := p.next().upper
	var name Expr
	tran := p.acceptAny("TRAN", "TRANSACTION") != ""
	switch {
	case tran:
		name = p.tranName()
	case verb == "SAVE":
		p.fail()
	default:
		p.accept("WORK")
	}
	switch verb {
	case "COMMIT":
		s := &CommitStmt{Name: name}
		if p.accept("WITH", "(", "DELAYED_DURABILITY", "=") {
			s.Durable = p.expectAny("ON", "OFF")
			p.expect(")")
		}
		return s
	case "ROLLBACK":
		return &RollbackStmt{Name: name}
	}
	if name == nil {
		p.fail()
	}
	return &SaveTranStmt{Name: name}
}

// throw reads THROW.
func (p *parser) throw() Stmt {
	p.next()
	s := &ThrowStmt{}
	t := p.current()
	if t.kind != tokInt && t.kind != tokVar {
		return s
	}
	s.Number = p.constantOrVariable(tokInt)
	p.expect(",")
	s.Message = p.constantOrVariable(tokString, tokNString)
	p.expect(",")
	s.State = p.constantOrVariable(tokInt)
	return s
}

// constantOrVariable reads a constant of one of the given kinds or a variable, where the grammar
// does not allow expressions.
func (p *parser) constantOrVariable(kinds ...tokenKind) Expr {
	t := p.current()
	e := p.here()
	switch {
	case t.kind == tokVar:
		p.next()
		return &VarRef{At: e, Name: t.text}
	case slices.Contains(kinds, t.kind):
		return p.literal()
	}
	p.fail()
	return nil
}

// raiserror reads RAISERROR.
func (p *parser) raiserror() Stmt {
	p.next()
	p.expect("(")
	s := &RaiserrorStmt{Message: p.expr()}
	p.expect(",")
	s.Severity = p.expr()
	p.expect(",")
	s.State = p.expr()
	for p.accept(",") {
		s.Args = append(s.Args, p.expr())
	}
	p.expect(")")
	if p.accept("WITH") {
		for {
			switch p.expectAny("LOG", "NOWAIT", "SETERROR") {
			case "LOG":
				s.Log = true
			case "NOWAIT":
				s.NoWait = true
			case "SETERROR":
				s.SetError = true
			}
			if !p.accept(",") {
				break
			}
		}
	}
	return s
}

// variable reads the name of a variable.
func (p *parser) variable() string {
	t := p.current()
	if t.kind != tokVar {
		p.fail()
		return ""
	}
	p.next()
	return t.text
}

// declare reads DECLARE.
func (p *parser) declare() Stmt {
	p.next()
	p.markDeclared()
	if p.current().kind != tokVar {
		return p.declareCursor()
	}
	s := &DeclareStmt{}
	for {
		p.markDeclared()
		v := &VarDecl{At: p.here(), Name: p.variable()}
		p.accept("AS")
		switch {
		case p.accept("TABLE"):
			v.Table = p.tableDef()
		case p.accept("CURSOR"):
			v.Cursor = true
		default:
			v.Type = p.typeRef()
			if p.accept("=") {
				v.Init = p.expr()
			}
		}
		s.Vars = append(s.Vars, v)
		if !p.accept(",") {
			return s
		}
	}
}

// declareCursor reads DECLARE name CURSOR.
func (p *parser) declareCursor() Stmt {
	s := &DeclareCursorStmt{Name: p.ident()}
	c := &CursorDef{At: p.here()}
	for p.err == nil && !p.at("CURSOR") {
		switch p.expectAny("INSENSITIVE", "SCROLL") {
		case "INSENSITIVE":
			c.Insensitive = true
		case "SCROLL":
			c.Scroll = true
		}
	}
	p.cursorDef(c)
	s.Cursor = c
	return s
}

// cursorDef reads CURSOR options FOR query.
func (p *parser) cursorDef(c *CursorDef) {
	p.expect("CURSOR")
	for p.err == nil && !p.at("FOR") {
		t := p.next()
		switch t.upper {
		case "LOCAL", "GLOBAL":
			c.Scope = t.upper
		case "FORWARD_ONLY":
			c.ForwardOnly = true
		case "SCROLL":
			c.Scroll = true
		case "STATIC", "KEYSET", "DYNAMIC", "FAST_FORWARD":
			c.Kind = t.upper
		case "READ_ONLY", "SCROLL_LOCKS", "OPTIMISTIC":
			c.Concurrency = t.upper
		case "TYPE_WARNING":
			c.TypeWarning = true
		default:
			p.failAt(t)
			return
		}
	}
	p.expect("FOR")
	c.Query = p.query()
	switch {
	case p.accept("FOR", "READ", "ONLY"), p.accept("FOR", "READ_ONLY"):
		c.ReadOnly = true
	case p.accept("FOR", "UPDATE"):
		c.ForUpdate = true
		if p.accept("OF") {
			c.UpdateColumns = []Ident{p.ident()}
			for p.accept(",") {
				c.UpdateColumns = append(c.UpdateColumns, p.ident())
			}
		}
	}
	c.Hints = p.queryHints()
}

// cursorRef reads the name of a cursor.
func (p *parser) cursorRef() *CursorRef {
	c := &CursorRef{At: p.here()}
	if p.current().kind == tokVar {
		c.Name = p.next().text
		return c
	}
	if p.at("GLOBAL") && atIdent(p.peek(1)) {
		p.next()
		c.Global = true
	}
	c.Name = p.ident().Name
	return c
}

// cursor reads OPEN, CLOSE, DEALLOCATE and FETCH, and also OPEN and CLOSE of keys.
func (p *parser) cursor() Stmt {
	verb := p.next().upper
	if verb != "FETCH" {
		switch {
		case p.at("SYMMETRIC", "KEY"):
			p.next()
			p.next()
			p.ident()
			if verb == "OPEN" {
				p.expect("DECRYPTION", "BY")
				if p.expectAny("CERTIFICATE", "PASSWORD", "SYMMETRIC", "ASYMMETRIC") == "PASSWORD" {
					p.expect("=")
					p.literal()
				} else {
					p.accept("KEY")
					p.ident()
					if p.accept("WITH", "PASSWORD", "=") {
						p.literal()
					}
				}
			}
			return &UnsupportedStmt{What: verb + " SYMMETRIC KEY"}
		case p.at("ALL", "SYMMETRIC"):
			p.expect("ALL", "SYMMETRIC", "KEYS")
			return &UnsupportedStmt{What: verb + " ALL SYMMETRIC KEYS"}
		case p.at("MASTER", "KEY"):
			return p.masterKey(verb)
		}
	}
	switch verb {
	case "OPEN":
		return &OpenStmt{Cursor: p.cursorRef()}
	case "CLOSE":
		return &CloseStmt{Cursor: p.cursorRef()}
	case "DEALLOCATE":
		return &DeallocateStmt{Cursor: p.cursorRef()}
	}
	s := &FetchStmt{}
	if p.current().kind == tokWord && !p.peek(1).is("INTO") {
		direction, ok := map[string]FetchDirection{
			"NEXT": FetchNext, "PRIOR": FetchPrior, "FIRST": FetchFirst, "LAST": FetchLast,
			"ABSOLUTE": FetchAbsolute, "RELATIVE": FetchRelative,
		}[p.current().upper]
		if ok {
			p.next()
			s.Direction = direction
			if direction >= FetchAbsolute {
				s.Offset = p.expr()
			}
			p.expect("FROM")
		}
	}
	p.accept("FROM")
	s.Cursor = p.cursorRef()
	if p.accept("INTO") {
		s.Into = []string{p.variable()}
		for p.accept(",") {
			s.Into = append(s.Into, p.variable())
		}
	}
	return s
}
