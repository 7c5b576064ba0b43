package parser

import (
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/call"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/ddl"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/dml"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/query"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/security"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/term"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// batch reads the statements of a batch. The other statements, those that contain no statements,
// need only the cursor.
type batch struct {
	*tokens.Cursor
	first        syntax.Pos      // the position of the first token other than a semicolon
	terminated   bool            // the previous statement ended with a semicolon, or there is none
	mustEndBatch bool            // the last statement must end the batch: a view or function
	inModule     bool            // in the body of a procedure, function or trigger
	whileDepth   int             // number of enclosing WHILE statements
	labels       map[string]bool // in lower case
	gotos        []jump
	showPlan     *scanner.Token // SHOWPLAN_XML, if the batch sets it
}

// jump is a GOTO statement.
type jump struct {
	at    *scanner.Token // its first token
	label string
}

// all reads all statements.
func (b *batch) all() []syntax.Stmt {
	for b.At(";") {
		b.Next()
	}
	b.first = b.Current().At
	list := b.stmts(func() bool { return b.AtKind(scanner.EOF) || b.mustEndBatch })
	b.ExpectEOF()
	return list
}

// stmts reads statements until end returns true or the text ends.
func (b *batch) stmts(end func() bool) []syntax.Stmt {
	var list []syntax.Stmt
	b.terminated = true
	for {
		for b.Accept(";") {
			b.terminated = true
		}
		if b.AtKind(scanner.EOF) || end() {
			return list
		}
		s := b.stmt()
		if s == nil {
			return list
		}
		list = append(list, s)
		_, b.terminated = s.(*syntax.LabelStmt)
	}
}

// nestedStmt reads the statement after IF, ELSE or WHILE. It may start with WITH or THROW without a
// preceding semicolon.
func (b *batch) nestedStmt() syntax.Stmt {
	b.terminated = true
	return b.stmt()
}

// stmt reads a statement and records its position.
func (b *batch) stmt() syntax.Stmt {
	if !b.Enter() {
		return nil
	}
	defer b.Leave()
	return b.Supported(b.statement)
}

// statement reads a statement. Its first word decides which one.
func (b *batch) statement() syntax.Stmt {
	t := b.Current()
	switch {
	case t.Kind == scanner.Quoted:
		return b.implicit()
	case b.At("("):
		return query.Select(b.Cursor)
	case b.At("{"):
		return call.Escape(b.Cursor)
	case t.Kind != scanner.Word:
		b.Fail()
		return nil
	}
	if s, ok := b.dataStmt(t); ok {
		return s
	}
	if s, ok := b.controlStmt(t); ok {
		return s
	}
	if s, ok := b.adminStmt(t); ok {
		return s
	}
	switch {
	case t.IsReserved():
		b.Fail()
		return nil
	case query.AtLabel(b.Cursor):
		return b.label()
	}
	return b.implicit()
}

// implicit reads EXECUTE without the keyword, which is allowed at the beginning of a batch.
func (b *batch) implicit() syntax.Stmt {
	if b.Current().At != b.first {
		b.Fail()
		return nil
	}
	return call.Implicit(b.Cursor)
}

// dataStmt reads a statement that reads, changes or defines data; false if t starts no such
// statement.
func (b *batch) dataStmt(t *scanner.Token) (syntax.Stmt, bool) {
	switch t.Upper {
	case "SELECT":
		return query.Select(b.Cursor), true
	case "WITH":
		return b.withStmt(), true
	case "INSERT":
		return dml.Insert(b.Cursor, nil), true
	case "UPDATE":
		if b.Peek(1).Is("STATISTICS") {
			return ddl.UpdateStatistics(b.Cursor), true
		}
		return dml.Update(b.Cursor, nil), true
	case "DELETE":
		return dml.Delete(b.Cursor, nil), true
	case "MERGE":
		return dml.Merge(b.Cursor, nil), true
	case "TRUNCATE":
		return dml.TruncateTable(b.Cursor), true
	case "CREATE":
		return b.create(), true
	case "ALTER":
		return b.alter(), true
	case "DROP":
		return ddl.Drop(b.Cursor), true
	case "BULK":
		b.Reject("BULK INSERT")
		return nil, true
	case "READTEXT", "WRITETEXT", "UPDATETEXT":
		b.Reject(t.Upper)
		return nil, true
	}
	return nil, false
}

// controlStmt reads a statement of the procedural language; false if t starts no such statement.
func (b *batch) controlStmt(t *scanner.Token) (syntax.Stmt, bool) {
	switch t.Upper {
	case "DECLARE":
		return declare(b.Cursor), true
	case "SET":
		return b.set(), true
	case "IF":
		return b.ifStmt(), true
	case "WHILE":
		return b.whileStmt(), true
	case "BEGIN":
		return b.begin(), true
	case "BREAK":
		b.Next()
		if b.whileDepth == 0 {
			b.ErrorAt(t, mserr.BreakOutsideWhile())
		}
		return &syntax.BreakStmt{}, true
	case "CONTINUE":
		b.Next()
		if b.whileDepth == 0 {
			b.ErrorAt(t, mserr.ContinueOutsideWhile())
		}
		return &syntax.ContinueStmt{}, true
	case "GOTO":
		b.Next()
		s := &syntax.GotoStmt{Label: term.Ident(b.Cursor).Name}
		b.gotos = append(b.gotos, jump{t, s.Label})
		return s, true
	case "RETURN":
		b.Next()
		s := &syntax.ReturnStmt{}
		if exprFollows(b.Cursor) {
			s.Value = query.Expr(b.Cursor)
		}
		return s, true
	case "PRINT":
		b.Next()
		return &syntax.PrintStmt{X: query.Expr(b.Cursor)}, true
	case "RAISERROR":
		return raiserror(b.Cursor), true
	case "THROW":
		if b.throwFollows(b.Peek(1)) {
			return throw(b.Cursor), true
		}
	case "EXEC", "EXECUTE":
		if b.Peek(1).Is("AS") {
			return security.ExecuteAs(b.Cursor), true
		}
		return call.Execute(b.Cursor), true
	case "WAITFOR":
		return waitFor(b.Cursor), true
	case "COMMIT", "ROLLBACK", "SAVE":
		return transaction(b.Cursor), true
	case "OPEN", "CLOSE", "DEALLOCATE":
		return cursor(b.Cursor), true
	case "FETCH":
		return fetch(b.Cursor), true
	}
	return nil, false
}

// adminStmt reads a statement on the session, permissions or the server; false if t starts no such
// statement.
func (b *batch) adminStmt(t *scanner.Token) (syntax.Stmt, bool) {
	switch t.Upper {
	case "USE":
		if b.inModule {
			b.ErrorAt(t, mserr.NotAllowedIn("a USE database statement", "procedure, function or trigger"))
		}
		b.Next()
		return &syntax.UseStmt{Database: term.Ident(b.Cursor)}, true
	case "REVERT":
		b.Next()
		if b.Accept("WITH", "COOKIE") {
			b.Expect("=")
			query.Expr(b.Cursor)
			b.Unsupported("REVERT WITH COOKIE")
		}
		return &syntax.RevertStmt{}, true
	case "GRANT", "DENY", "REVOKE":
		return security.Permission(b.Cursor), true
	case "BACKUP", "RESTORE":
		return backup(b.Cursor), true
	case "DBCC":
		return dbcc(b.Cursor), true
	case "CHECKPOINT":
		b.Next()
		if b.AtKind(scanner.Int) {
			term.Literal(b.Cursor)
		}
		return &syntax.NoEffectStmt{}, true
	case "RECONFIGURE":
		b.Next()
		return &syntax.ReconfigureStmt{Override: b.Accept("WITH", "OVERRIDE")}, true
	case "KILL":
		return kill(b.Cursor), true
	case "SHUTDOWN":
		b.Next()
		b.Accept("WITH", "NOWAIT")
		return &syntax.UnsupportedStmt{What: "SHUTDOWN"}, true
	case "SETUSER":
		b.Next()
		term.Literal(b.Cursor)
		b.Accept("WITH", "NORESET")
		return &syntax.UnsupportedStmt{What: "SETUSER"}, true
	case "LINENO":
		b.Next()
		term.Integer(b.Cursor)
		return &syntax.UnsupportedStmt{What: "LINENO"}, true
	case "ENABLE", "DISABLE":
		if b.Peek(1).Is("TRIGGER") {
			return trigger(b.Cursor), true
		}
	}
	return nil, false
}

// withStmt reads a statement that starts with common table expressions. Error 319 if the previous
// statement has no semicolon.
func (b *batch) withStmt() syntax.Stmt {
	if !b.terminated {
		b.ErrorAt(b.Current(), mserr.SyntaxWith())
		return nil
	}
	at := b.Here()
	with := query.With(b.Cursor)
	switch {
	case b.At("INSERT"):
		return dml.Insert(b.Cursor, with)
	case b.At("UPDATE"):
		return dml.Update(b.Cursor, with)
	case b.At("DELETE"):
		return dml.Delete(b.Cursor, with)
	case b.At("MERGE"):
		return dml.Merge(b.Cursor, with)
	case b.At("SELECT"), b.At("("):
		s := query.Select(b.Cursor)
		s.Query.With, s.Query.At = with, at
		return s
	}
	b.Fail()
	return nil
}

// label reads "name:".
func (b *batch) label() syntax.Stmt {
	t := b.Current()
	id := term.Ident(b.Cursor)
	b.Expect(":")
	key := query.Lower(id.Name)
	if b.labels[key] {
		b.ErrorAt(t, mserr.DuplicateLabel(id.Name))
	}
	b.labels[key] = true
	return &syntax.LabelStmt{Label: id.Name}
}

// checkLabels reports an error for a GOTO without a label.
func (b *batch) checkLabels() {
	for _, g := range b.gotos {
		if !b.labels[query.Lower(g.label)] {
			b.ErrorAt(g.at, mserr.UnknownLabel(g.label))
		}
	}
}
