package parser

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// batch reads all statements.
func (p *parser) batch() []syntax.Stmt {
	for p.at(";") {
		p.next()
	}
	p.first = p.current().At
	list := p.stmts(func() bool { return p.current().Kind == scanner.EOF || p.mustEndBatch })
	p.expectEOF()
	return list
}

// stmts reads statements until end returns true or the text ends.
func (p *parser) stmts(end func() bool) []syntax.Stmt {
	var list []syntax.Stmt
	p.terminated = true
	for {
		for p.accept(";") {
			p.terminated = true
		}
		if p.current().Kind == scanner.EOF || end() {
			return list
		}
		s := p.stmt()
		if s == nil {
			return list
		}
		list = append(list, s)
		_, p.terminated = s.(*syntax.LabelStmt)
	}
}

// nestedStmt reads the statement after IF, ELSE or WHILE. It may start with WITH or THROW without a
// preceding semicolon.
func (p *parser) nestedStmt() syntax.Stmt {
	p.terminated = true
	return p.stmt()
}

// stmt reads a statement and records its position.
func (p *parser) stmt() syntax.Stmt {
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
	s.SetExtent(start.At, p.previous().End)
	if u, ok := s.(*syntax.UnsupportedStmt); ok {
		u.Text = p.src[s.Start():s.End()]
	}
	return s
}

// statement reads a statement. Its first word decides which one.
func (p *parser) statement() syntax.Stmt {
	t := p.current()
	switch {
	case t.Kind == scanner.Quoted:
		return p.implicitExec()
	case p.at("("):
		return p.selectStmt()
	case p.at("{"):
		return p.callEscape()
	case t.Kind != scanner.Word:
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
	case t.IsReserved():
		p.fail()
		return nil
	case p.atLabel():
		return p.label()
	}
	return p.implicitExec()
}

// dataStmt reads a statement that reads, changes or defines data; false if t starts no such
// statement.
func (p *parser) dataStmt(t *scanner.Token) (syntax.Stmt, bool) {
	switch t.Upper {
	case "SELECT":
		return p.selectStmt(), true
	case "WITH":
		return p.withStmt(), true
	case "INSERT":
		return p.insert(nil), true
	case "UPDATE":
		if p.peek(1).Is("STATISTICS") {
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
		p.reject(t.Upper)
		return nil, true
	}
	return nil, false
}

// truncateTable reads TRUNCATE TABLE.
func (p *parser) truncateTable() syntax.Stmt {
	p.expect("TRUNCATE", "TABLE")
	s := &syntax.TruncateStmt{Table: p.objectName()}
	if p.at("WITH", "(") {
		p.partitionRanges()
	}
	return s
}

// controlStmt reads a statement of the procedural language; false if t starts no such statement.
func (p *parser) controlStmt(t *scanner.Token) (syntax.Stmt, bool) {
	switch t.Upper {
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
		return &syntax.BreakStmt{}, true
	case "CONTINUE":
		p.next()
		if p.whileDepth == 0 {
			p.errorAt(t, mserr.ContinueOutsideWhile())
		}
		return &syntax.ContinueStmt{}, true
	case "GOTO":
		p.next()
		p.gotos = append(p.gotos, p.current())
		return &syntax.GotoStmt{Label: p.ident().Name}, true
	case "RETURN":
		p.next()
		s := &syntax.ReturnStmt{}
		if p.exprFollows() {
			s.Value = p.expr()
		}
		return s, true
	case "PRINT":
		p.next()
		return &syntax.PrintStmt{X: p.expr()}, true
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
func (p *parser) waitFor() syntax.Stmt {
	p.next()
	if p.at("(") {
		p.reject("WAITFOR of a queue")
		return nil
	}
	s := &syntax.WaitForStmt{Time: p.expectAny("DELAY", "TIME") == "TIME"}
	s.Value = p.constantOrVariable(scanner.String, scanner.NString)
	return s
}

// adminStmt reads a statement on the session, permissions or the server; false if t starts no such
// statement.
func (p *parser) adminStmt(t *scanner.Token) (syntax.Stmt, bool) {
	switch t.Upper {
	case "USE":
		p.next()
		return &syntax.UseStmt{Database: p.ident()}, true
	case "REVERT":
		p.next()
		s := &syntax.RevertStmt{}
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
		s := &syntax.CheckpointStmt{}
		if p.current().Kind == scanner.Int {
			s.Duration = p.literal()
		}
		return s, true
	case "RECONFIGURE":
		p.next()
		return &syntax.ReconfigureStmt{Override: p.accept("WITH", "OVERRIDE")}, true
	case "KILL":
		return p.kill(), true
	case "SHUTDOWN":
		p.next()
		return &syntax.ShutdownStmt{NoWait: p.accept("WITH", "NOWAIT")}, true
	case "SETUSER":
		p.next()
		p.literal()
		p.accept("WITH", "NORESET")
		return &syntax.UnsupportedStmt{What: "SETUSER"}, true
	case "LINENO":
		p.next()
		p.integer()
		return &syntax.UnsupportedStmt{What: "LINENO"}, true
	case "ENABLE", "DISABLE":
		if p.peek(1).Is("TRIGGER") {
			return p.trigger(), true
		}
	}
	return nil, false
}

// throwFollows reports whether the current word THROW is the statement; n is the token after it.
// THROW is not a reserved word, and without a preceding semicolon it would continue the previous
// statement.
func (p *parser) throwFollows(n *scanner.Token) bool {
	if !p.terminated {
		p.fail()
	}
	return !n.Is(":") && !n.Is(".")
}

// withStmt reads a statement that starts with common table expressions. Error 319 if the previous
// statement has no semicolon.
func (p *parser) withStmt() syntax.Stmt {
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
		if q, ok := s.(*syntax.SelectStmt); ok {
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
	return t.IsName() && n.Is(":") && n.At.Offset == t.End
}

// label reads "name:".
func (p *parser) label() syntax.Stmt {
	t := p.current()
	id := p.ident()
	p.expect(":")
	key := lower(id.Name)
	if p.labels[key] {
		p.errorAt(t, mserr.DuplicateLabel(id.Name))
	}
	p.labels[key] = true
	return &syntax.LabelStmt{Label: id.Name}
}

// checkLabels reports an error for a GOTO without a label.
func (p *parser) checkLabels() {
	for _, g := range p.gotos {
		if !p.labels[lower(g.Text)] {
			p.errorAt(g, mserr.UnknownLabel(g.Text))
		}
	}
}

// exprFollows reports whether a value comes after RETURN.
func (p *parser) exprFollows() bool {
	t := p.current()
	switch t.Kind {
	case scanner.EOF:
		return false
	case scanner.Word:
		if t.IsReserved() {
			switch t.Upper {
			case "NULL", "CASE", "COALESCE", "NULLIF", "CONVERT", "TRY_CONVERT", "LEFT", "RIGHT", "CURRENT_TIMESTAMP",
				"CURRENT_USER", "SESSION_USER", "SYSTEM_USER", "USER":
				return true
			}
			return false
		}
		n := p.peek(1)
		return n.Is("(") || n.Is(".")
	case scanner.Quoted:
		return true
	case scanner.Operator:
		return t.Is("(") || t.Is("-") || t.Is("+") || t.Is("~") || t.Is("{")
	}
	return true
}

// ifStmt reads IF.
func (p *parser) ifStmt() syntax.Stmt {
	p.next()
	s := &syntax.IfStmt{Cond: p.cond()}
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
func (p *parser) whileStmt() syntax.Stmt {
	p.next()
	s := &syntax.WhileStmt{Cond: p.cond()}
	p.whileDepth++
	s.Body = p.nestedStmt()
	p.whileDepth--
	return s
}

// begin reads a statement that starts with BEGIN.
func (p *parser) begin() syntax.Stmt {
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
		p.reject("BEGIN " + p.current().Upper)
		return nil
	case p.at("ATOMIC", "WITH"):
		p.reject("BEGIN ATOMIC")
		return nil
	}
	s := &syntax.BlockStmt{Body: p.stmts(func() bool { return p.at("END") })}
	if len(s.Body) == 0 {
		p.fail() // SQL Server does not allow an empty block
	}
	p.expect("END")
	return s
}

// try reads TRY ... CATCH.
func (p *parser) try() syntax.Stmt {
	end := func() bool { return p.at("END") }
	p.expect("TRY")
	s := &syntax.TryStmt{Try: p.stmts(end)}
	if len(s.Try) == 0 {
		p.fail() // only the CATCH block may be empty
	}
	p.expect("END", "TRY")
	p.expect("BEGIN", "CATCH")
	s.Catch = p.stmts(end)
	p.expect("END", "CATCH")
	return s
}

// tranName reads the name of a transaction or savepoint; it returns nil if there is none.
func (p *parser) tranName() syntax.Expr {
	const maxTranName = 32 // "BEGIN TRANSACTION"
	t := p.current()
	e := p.here()
	switch {
	case t.Kind == scanner.Variable:
		p.next()
		return &syntax.VarRef{At: e, Name: t.Text}
	case t.IsName() && !p.peek(1).Is(":"):
		if name := []rune(t.Text); len(name) > maxTranName { // names in variables are truncated instead
			p.errorAt(t, mserr.IdentifierTooLong(string(name[:maxTranName]), maxTranName))
		}
		return &syntax.Literal{At: e, Kind: syntax.StringLit, Text: p.ident().Name, Bare: true}
	}
	return nil
}

// beginTran reads BEGIN TRANSACTION after BEGIN.
func (p *parser) beginTran(distributed bool) syntax.Stmt {
	p.expectAny("TRAN", "TRANSACTION")
	s := &syntax.BeginTranStmt{Distributed: distributed, Name: p.tranName()}
	if p.accept("WITH", "MARK") {
		s.HasMark = true
		if l := p.literal(); l != nil {
			s.Mark = l
		}
	}
	return s
}

// transaction reads COMMIT, ROLLBACK and SAVE.
func (p *parser) transaction() syntax.Stmt {
	verb := p.next().Upper
	var name syntax.Expr
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
		s := &syntax.CommitStmt{Name: name}
		if p.accept("WITH", "(", "DELAYED_DURABILITY", "=") {
			s.Durable = p.expectAny("ON", "OFF")
			p.expect(")")
		}
		return s
	case "ROLLBACK":
		return &syntax.RollbackStmt{Name: name}
	}
	if name == nil {
		p.fail()
	}
	return &syntax.SaveTranStmt{Name: name}
}

// throw reads THROW.
func (p *parser) throw() syntax.Stmt {
	p.next()
	s := &syntax.ThrowStmt{}
	t := p.current()
	if t.Kind != scanner.Int && t.Kind != scanner.Variable {
		return s
	}
	s.Number = p.constantOrVariable(scanner.Int)
	p.expect(",")
	s.Message = p.constantOrVariable(scanner.String, scanner.NString)
	p.expect(",")
	s.State = p.constantOrVariable(scanner.Int)
	return s
}

// constantOrVariable reads a constant of one of the given kinds or a variable, where the grammar
// does not allow expressions.
func (p *parser) constantOrVariable(kinds ...scanner.Kind) syntax.Expr {
	t := p.current()
	e := p.here()
	switch {
	case t.Kind == scanner.Variable:
		p.next()
		return &syntax.VarRef{At: e, Name: t.Text}
	case slices.Contains(kinds, t.Kind):
		return p.literal()
	}
	p.fail()
	return nil
}

// raiserror reads RAISERROR.
func (p *parser) raiserror() syntax.Stmt {
	p.next()
	p.expect("(")
	s := &syntax.RaiserrorStmt{Message: p.expr()}
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
	if t.Kind != scanner.Variable {
		p.fail()
		return ""
	}
	p.next()
	return t.Text
}

// declare reads DECLARE.
func (p *parser) declare() syntax.Stmt {
	p.next()
	p.markDeclared()
	if p.current().Kind != scanner.Variable {
		return p.declareCursor()
	}
	s := &syntax.DeclareStmt{}
	for {
		p.markDeclared()
		v := &syntax.VarDecl{At: p.here(), Name: p.variable()}
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
func (p *parser) declareCursor() syntax.Stmt {
	s := &syntax.DeclareCursorStmt{Name: p.ident()}
	c := &syntax.CursorDef{At: p.here()}
	for !p.at("CURSOR") {
		switch p.expectAny("INSENSITIVE", "SCROLL") {
		case "INSENSITIVE":
			c.Insensitive = true
		case "SCROLL":
			c.Scroll = true
		default:
			return s
		}
	}
	p.cursorDef(c)
	s.Cursor = c
	return s
}

// cursorDef reads CURSOR options FOR query.
func (p *parser) cursorDef(c *syntax.CursorDef) {
	p.expect("CURSOR")
	for !p.at("FOR") {
		t := p.next()
		switch t.Upper {
		case "LOCAL", "GLOBAL":
			c.Scope = t.Upper
		case "FORWARD_ONLY":
			c.ForwardOnly = true
		case "SCROLL":
			c.Scroll = true
		case "STATIC", "KEYSET", "DYNAMIC", "FAST_FORWARD":
			c.Kind = t.Upper
		case "READ_ONLY", "SCROLL_LOCKS", "OPTIMISTIC":
			c.Concurrency = t.Upper
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
			c.UpdateColumns = []syntax.Ident{p.ident()}
			for p.accept(",") {
				c.UpdateColumns = append(c.UpdateColumns, p.ident())
			}
		}
	}
	c.Hints = p.queryHints()
}

// cursorRef reads the name of a cursor.
func (p *parser) cursorRef() *syntax.CursorRef {
	c := &syntax.CursorRef{At: p.here()}
	if p.current().Kind == scanner.Variable {
		c.Name = p.next().Text
		return c
	}
	if p.at("GLOBAL") && p.peek(1).IsName() {
		p.next()
		c.Global = true
	}
	c.Name = p.ident().Name
	return c
}

// cursor reads OPEN, CLOSE, DEALLOCATE and FETCH, and also OPEN and CLOSE of keys.
func (p *parser) cursor() syntax.Stmt {
	verb := p.next().Upper
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
			return &syntax.UnsupportedStmt{What: verb + " SYMMETRIC KEY"}
		case p.at("ALL", "SYMMETRIC"):
			p.expect("ALL", "SYMMETRIC", "KEYS")
			return &syntax.UnsupportedStmt{What: verb + " ALL SYMMETRIC KEYS"}
		case p.at("MASTER", "KEY"):
			return p.masterKey(verb)
		}
	}
	switch verb {
	case "OPEN":
		return &syntax.OpenStmt{Cursor: p.cursorRef()}
	case "CLOSE":
		return &syntax.CloseStmt{Cursor: p.cursorRef()}
	case "DEALLOCATE":
		return &syntax.DeallocateStmt{Cursor: p.cursorRef()}
	}
	s := &syntax.FetchStmt{}
	if p.current().Kind == scanner.Word && !p.peek(1).Is("INTO") {
		direction, ok := map[string]syntax.FetchDirection{
			"NEXT": syntax.FetchNext, "PRIOR": syntax.FetchPrior, "FIRST": syntax.FetchFirst, "LAST": syntax.FetchLast,
			"ABSOLUTE": syntax.FetchAbsolute, "RELATIVE": syntax.FetchRelative,
		}[p.current().Upper]
		if ok {
			p.next()
			s.Direction = direction
			if direction >= syntax.FetchAbsolute {
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
