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
	p.first = p.i
	list := p.stmts(func() bool { return p.tok().kind == tokEOF || p.alone })
	p.wantEOF()
	return list
}

// stmts reads statements until end reports that they are over, or the text is.
func (p *parser) stmts(end func() bool) []Stmt {
	var list []Stmt
	p.terminated = true
	for p.err == nil {
		for p.got(";") {
			p.terminated = true
		}
		if p.tok().kind == tokEOF || end() {
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

// inner reads the one statement behind IF, ELSE and WHILE; it may start with WITH or THROW without a semicolon before.
func (p *parser) inner() Stmt {
	p.terminated = true
	return p.stmt()
}

// stmt reads a statement and records where it lies.
func (p *parser) stmt() Stmt {
	if !p.enter() {
		return nil
	}
	defer p.leave()
	start := p.tok()
	s := p.statement()
	if p.err != nil || s == nil {
		return nil
	}
	s.setExtent(start.at, p.last().end)
	if u, ok := s.(*UnsupportedStmt); ok {
		u.Text = p.src[s.Start():s.End()]
	}
	return s
}

// statement reads a statement by its first words.
func (p *parser) statement() Stmt {
	t := p.tok()
	if t.kind == tokQuoted {
		return p.implicitExec()
	}
	if t.kind != tokWord {
		if p.at("(") {
			return p.selectStmt()
		}
		if p.at("{") {
			return p.callEscape()
		}
		p.fail()
		return nil
	}
	switch t.up {
	case "SELECT":
		return p.selectStmt()
	case "WITH":
		return p.withStmt()
	case "INSERT":
		return p.insert(nil)
	case "UPDATE":
		if p.ahead(1).is("STATISTICS") {
			return p.updateStatistics()
		}
		return p.update(nil)
	case "DELETE":
		return p.delete(nil)
	case "MERGE":
		return p.merge(nil)
	case "TRUNCATE":
		p.next()
		p.want("TABLE")
		s := &TruncateStmt{Table: p.objectName()}
		if p.at("WITH", "(") {
			p.reject("TRUNCATE TABLE with partitions")
		}
		return s
	case "CREATE":
		return p.create()
	case "ALTER":
		return p.alter()
	case "DROP":
		return p.drop()
	case "DECLARE":
		return p.declare()
	case "SET":
		return p.set()
	case "IF":
		return p.ifStmt()
	case "WHILE":
		return p.whileStmt()
	case "BEGIN":
		return p.begin()
	case "BREAK":
		p.next()
		if p.loops == 0 {
			p.errorAt(t, mserr.BreakOutsideWhile())
		}
		return &BreakStmt{}
	case "CONTINUE":
		p.next()
		if p.loops == 0 {
			p.errorAt(t, mserr.ContinueOutsideWhile())
		}
		return &ContinueStmt{}
	case "GOTO":
		p.next()
		id := p.ident()
		p.gotos = append(p.gotos, label{id.Name, t.at.Line})
		return &GotoStmt{Label: id.Name}
	case "RETURN":
		p.next()
		s := &ReturnStmt{}
		if p.exprFollows() {
			s.Value = p.expr()
		}
		return s
	case "PRINT":
		p.next()
		return &PrintStmt{X: p.expr()}
	case "RAISERROR":
		return p.raiserror()
	case "EXEC", "EXECUTE":
		return p.execute()
	case "WAITFOR":
		p.next()
		if p.at("(") {
			p.reject("WAITFOR of a queue")
			return nil
		}
		s := &WaitForStmt{Time: p.wantAny("DELAY", "TIME") == "TIME"}
		s.Value = p.constantOrVariable(tokString, tokNString)
		return s
	case "COMMIT", "ROLLBACK", "SAVE":
		return p.transaction()
	case "OPEN", "CLOSE", "DEALLOCATE", "FETCH":
		return p.cursor()
	case "USE":
		p.next()
		return &UseStmt{Database: p.ident()}
	case "REVERT":
		p.next()
		s := &RevertStmt{}
		if p.got("WITH", "COOKIE") {
			p.want("=")
			s.Cookie = p.expr()
		}
		return s
	case "GRANT", "DENY", "REVOKE":
		return p.permission()
	case "BACKUP", "RESTORE":
		return p.backup()
	case "DBCC":
		return p.dbcc()
	case "CHECKPOINT":
		p.next()
		s := &CheckpointStmt{}
		if p.tok().kind == tokInt {
			s.Duration = p.literal()
		}
		return s
	case "RECONFIGURE":
		p.next()
		return &ReconfigureStmt{Override: p.got("WITH", "OVERRIDE")}
	case "KILL":
		return p.kill()
	case "SHUTDOWN":
		p.next()
		return &ShutdownStmt{NoWait: p.got("WITH", "NOWAIT")}
	case "SETUSER":
		p.next()
		p.literal()
		p.got("WITH", "NORESET")
		return &UnsupportedStmt{What: "SETUSER"}
	case "LINENO":
		p.next()
		p.integer()
		return &UnsupportedStmt{What: "LINENO"}
	case "BULK":
		p.reject("BULK INSERT")
		return nil
	case "READTEXT", "WRITETEXT", "UPDATETEXT":
		p.reject(t.up)
		return nil
	case "THROW":
		if n := p.ahead(1); p.throwFollows(n) {
			return p.throw()
		}
	case "ENABLE", "DISABLE":
		if p.ahead(1).is("TRIGGER") {
			return p.trigger()
		}
	}
	if reserved[t.up] {
		p.fail()
		return nil
	}
	if p.atLabel() {
		return p.label()
	}
	return p.implicitExec()
}

// throwFollows reports whether THROW is the statement, n being the token behind it: THROW is no reserved word, and
// without a semicolon before it the previous statement would have run on.
func (p *parser) throwFollows(n *token) bool {
	if !p.terminated {
		p.fail()
	}
	return !n.is(":") && !n.is(".")
}

// withStmt reads a statement that starts with common table expressions. Error 319 where the previous statement has no
// semicolon.
func (p *parser) withStmt() Stmt {
	if !p.terminated {
		p.errorAt(p.tok(), mserr.SyntaxWith())
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
		return p.delete(with)
	case p.at("MERGE"):
		return p.merge(with)
	case p.at("SELECT"), p.at("("):
		s := p.selectStmt()
		if q, ok := s.(*SelectStmt); ok {
			q.Query.With, q.Query.node = with, at
		}
		return s
	}
	p.fail()
	return nil
}

// atLabel reports whether a label comes: a name with its colon right behind it.
func (p *parser) atLabel() bool {
	t, n := p.tok(), p.ahead(1)
	return atIdent(t) && n.is(":") && n.at.Offset == t.end
}

// label reads "name:".
func (p *parser) label() Stmt {
	t := p.tok()
	id := p.ident()
	p.want(":")
	key := lower(id.Name)
	if p.labels[key] {
		p.errorAt(t, mserr.DuplicateLabel(id.Name))
	}
	p.labels[key] = true
	return &LabelStmt{Label: id.Name}
}

// checkLabels answers GOTOs without a label.
func (p *parser) checkLabels() {
	for _, g := range p.gotos {
		if !p.labels[lower(g.name)] && p.err == nil {
			e := mserr.UnknownLabel(g.name)
			e.Line = g.line
			p.err = e
		}
	}
}

// exprFollows reports whether a value comes, behind RETURN.
func (p *parser) exprFollows() bool {
	t := p.tok()
	switch t.kind {
	case tokEOF:
		return false
	case tokWord:
		if reserved[t.up] {
			switch t.up {
			case "NULL", "CASE", "COALESCE", "NULLIF", "CONVERT", "TRY_CONVERT", "LEFT", "RIGHT", "CURRENT_TIMESTAMP",
				"CURRENT_USER", "SESSION_USER", "SYSTEM_USER", "USER":
				return true
			}
			return false
		}
		n := p.ahead(1)
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
	s.Then = p.inner()
	if p.at(";", "ELSE") {
		p.next()
	}
	if p.got("ELSE") {
		s.Else = p.inner()
	}
	return s
}

// whileStmt reads WHILE.
func (p *parser) whileStmt() Stmt {
	p.next()
	s := &WhileStmt{Cond: p.cond()}
	p.loops++
	s.Body = p.inner()
	p.loops--
	return s
}

// begin reads what starts with BEGIN.
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
		p.reject("BEGIN " + p.tok().up)
		return nil
	case p.at("ATOMIC", "WITH"):
		p.reject("BEGIN ATOMIC")
		return nil
	}
	s := &BlockStmt{Body: p.stmts(func() bool { return p.at("END") })}
	if len(s.Body) == 0 && p.err == nil {
		p.fail() // SQL Server allows no empty block
	}
	p.want("END")
	return s
}

// try reads TRY ... CATCH.
func (p *parser) try() Stmt {
	end := func() bool { return p.at("END") }
	p.want("TRY")
	s := &TryStmt{Try: p.stmts(end)}
	if len(s.Try) == 0 && p.err == nil {
		p.fail() // only the CATCH block may be empty
	}
	p.want("END", "TRY")
	p.want("BEGIN", "CATCH")
	s.Catch = p.stmts(end)
	p.want("END", "CATCH")
	return s
}

// tranName reads the name of a transaction or savepoint; nil if there is none.
func (p *parser) tranName() Expr {
	const maxTranName = 32 // "BEGIN TRANSACTION"
	t := p.tok()
	e := expr{p.here()}
	switch {
	case t.kind == tokVar:
		p.next()
		return &VarRef{expr: e, Name: t.text}
	case atIdent(t) && !p.ahead(1).is(":"):
		if name := []rune(t.text); len(name) > maxTranName { // variables are cut instead
			p.errorAt(t, mserr.IdentifierTooLong(string(name[:maxTranName]), maxTranName))
		}
		return &Literal{expr: e, Kind: StringLit, Text: p.ident().Name, Bare: true}
	}
	return nil
}

// beginTran reads BEGIN TRANSACTION behind BEGIN.
func (p *parser) beginTran(distributed bool) Stmt {
	p.wantAny("TRAN", "TRANSACTION")
	s := &BeginTranStmt{Distributed: distributed, Name: p.tranName()}
	if p.got("WITH", "MARK") {
		s.HasMark = true
		if l := p.literal(); l != nil {
			s.Mark = l
		}
	}
	return s
}

// transaction reads COMMIT, ROLLBACK and SAVE.
func (p *parser) transaction() Stmt {
	verb := p.next().up
	var name Expr
	tran := p.gotAny("TRAN", "TRANSACTION") != ""
	switch {
	case tran:
		name = p.tranName()
	case verb == "SAVE":
		p.fail()
	default:
		p.got("WORK")
	}
	switch verb {
	case "COMMIT":
		s := &CommitStmt{Name: name}
		if p.got("WITH", "(", "DELAYED_DURABILITY", "=") {
			s.Durable = p.wantAny("ON", "OFF")
			p.want(")")
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
	t := p.tok()
	if t.kind != tokInt && t.kind != tokVar {
		return s
	}
	s.Number = p.constantOrVariable(tokInt)
	p.want(",")
	s.Message = p.constantOrVariable(tokString, tokNString)
	p.want(",")
	s.State = p.constantOrVariable(tokInt)
	return s
}

// constantOrVariable reads a constant of one of some kinds or a variable, where the grammar has no expression.
func (p *parser) constantOrVariable(kinds ...tokenKind) Expr {
	t := p.tok()
	e := expr{p.here()}
	switch {
	case t.kind == tokVar:
		p.next()
		return &VarRef{expr: e, Name: t.text}
	case slices.Contains(kinds, t.kind):
		return p.literal()
	}
	p.fail()
	return nil
}

// raiserror reads RAISERROR.
func (p *parser) raiserror() Stmt {
	p.next()
	p.want("(")
	s := &RaiserrorStmt{Message: p.expr()}
	p.want(",")
	s.Severity = p.expr()
	p.want(",")
	s.State = p.expr()
	for p.got(",") {
		s.Args = append(s.Args, p.expr())
	}
	p.want(")")
	if p.got("WITH") {
		for {
			switch p.wantAny("LOG", "NOWAIT", "SETERROR") {
			case "LOG":
				s.Log = true
			case "NOWAIT":
				s.NoWait = true
			case "SETERROR":
				s.SetError = true
			}
			if !p.got(",") {
				break
			}
		}
	}
	return s
}

// variable reads the name of a variable.
func (p *parser) variable() string {
	t := p.tok()
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
	p.declared()
	if p.tok().kind != tokVar {
		return p.declareCursor()
	}
	s := &DeclareStmt{}
	for {
		p.declared()
		v := &VarDecl{node: p.here(), Name: p.variable()}
		p.got("AS")
		switch {
		case p.got("TABLE"):
			v.Table = p.tableDef()
		case p.got("CURSOR"):
			v.Cursor = true
		default:
			v.Type = p.typeRef()
			if p.got("=") {
				v.Init = p.expr()
			}
		}
		s.Vars = append(s.Vars, v)
		if !p.got(",") {
			return s
		}
	}
}

// declareCursor reads DECLARE name CURSOR.
func (p *parser) declareCursor() Stmt {
	s := &DeclareCursorStmt{Name: p.ident()}
	c := &CursorDef{node: p.here()}
	for p.err == nil && !p.at("CURSOR") {
		switch p.wantAny("INSENSITIVE", "SCROLL") {
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
	p.want("CURSOR")
	for p.err == nil && !p.at("FOR") {
		t := p.next()
		switch t.up {
		case "LOCAL", "GLOBAL":
			c.Scope = t.up
		case "FORWARD_ONLY":
			c.ForwardOnly = true
		case "SCROLL":
			c.Scroll = true
		case "STATIC", "KEYSET", "DYNAMIC", "FAST_FORWARD":
			c.Kind = t.up
		case "READ_ONLY", "SCROLL_LOCKS", "OPTIMISTIC":
			c.Concurrency = t.up
		case "TYPE_WARNING":
			c.TypeWarning = true
		default:
			p.failAt(t)
			return
		}
	}
	p.want("FOR")
	c.Query = p.query()
	switch {
	case p.got("FOR", "READ", "ONLY"), p.got("FOR", "READ_ONLY"):
		c.ReadOnly = true
	case p.got("FOR", "UPDATE"):
		c.ForUpdate = true
		if p.got("OF") {
			c.UpdateColumns = []Ident{p.ident()}
			for p.got(",") {
				c.UpdateColumns = append(c.UpdateColumns, p.ident())
			}
		}
	}
	c.Hints = p.queryHints()
}

// cursorRef reads a cursor's name.
func (p *parser) cursorRef() *CursorRef {
	c := &CursorRef{node: p.here()}
	if p.tok().kind == tokVar {
		c.Name = p.next().text
		return c
	}
	if p.at("GLOBAL") && atIdent(p.ahead(1)) {
		p.next()
		c.Global = true
	}
	c.Name = p.ident().Name
	return c
}

// cursor reads OPEN, CLOSE, DEALLOCATE and FETCH, and the keys that are opened and closed.
func (p *parser) cursor() Stmt {
	verb := p.next().up
	if verb != "FETCH" {
		switch {
		case p.at("SYMMETRIC", "KEY"):
			p.next()
			p.next()
			p.ident()
			if verb == "OPEN" {
				p.want("DECRYPTION", "BY")
				if p.wantAny("CERTIFICATE", "PASSWORD", "SYMMETRIC", "ASYMMETRIC") == "PASSWORD" {
					p.want("=")
					p.literal()
				} else {
					p.got("KEY")
					p.ident()
					if p.got("WITH", "PASSWORD", "=") {
						p.literal()
					}
				}
			}
			return &UnsupportedStmt{What: verb + " SYMMETRIC KEY"}
		case p.at("ALL", "SYMMETRIC"):
			p.want("ALL", "SYMMETRIC", "KEYS")
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
	if p.tok().kind == tokWord && !p.ahead(1).is("INTO") {
		direction, ok := map[string]FetchDirection{
			"NEXT": FetchNext, "PRIOR": FetchPrior, "FIRST": FetchFirst, "LAST": FetchLast,
			"ABSOLUTE": FetchAbsolute, "RELATIVE": FetchRelative,
		}[p.tok().up]
		if ok {
			p.next()
			s.Direction = direction
			if direction >= FetchAbsolute {
				s.Offset = p.expr()
			}
			p.want("FROM")
		}
	}
	p.got("FROM")
	s.Cursor = p.cursorRef()
	if p.got("INTO") {
		s.Into = []string{p.variable()}
		for p.got(",") {
			s.Into = append(s.Into, p.variable())
		}
	}
	return s
}
