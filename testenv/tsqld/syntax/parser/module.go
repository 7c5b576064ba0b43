package parser

import (
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/ddl"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/query"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/term"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// firstInBatch reports error 111 if a statement that must be first in its batch is not, and a
// syntax error at the current token in the body of a module. start is the first token of the
// statement.
func (b *batch) firstInBatch(start *scanner.Token, name string) {
	if b.inModule {
		b.Fail()
		return
	}
	if start.At != b.first {
		b.ErrorAt(start, mserr.NotFirstInBatch(name))
	}
}

// module reads a procedure, function, view or trigger after CREATE, ALTER or CREATE OR ALTER; false
// if the next word is none of these.
func (b *batch) module(verb syntax.Verb, start *scanner.Token) (syntax.Stmt, bool) {
	switch {
	case b.AtAny("PROCEDURE", "PROC"):
		b.firstInBatch(start, "CREATE/ALTER PROCEDURE")
		b.Next()
		return b.procedure(verb), true
	case b.At("FUNCTION"):
		b.firstInBatch(start, "CREATE FUNCTION")
		b.Next()
		b.mustEndBatch = true
		return b.function(verb), true
	case b.At("VIEW"):
		b.firstInBatch(start, "CREATE VIEW")
		b.Next()
		b.mustEndBatch = true
		return view(b.Cursor, verb), true
	case b.At("TRIGGER"):
		b.firstInBatch(start, "CREATE TRIGGER")
		b.Next()
		return b.createTrigger(verb), true
	}
	return nil, false
}

// param reads a parameter.
func param(c *tokens.Cursor) *syntax.Param {
	a := &syntax.Param{At: c.Here(), Name: term.Variable(c)}
	c.Accept("AS")
	if c.Accept("CURSOR") {
		c.Unsupported("a cursor parameter")
		a.Type = &syntax.TypeRef{At: a.At, Name: term.Builtin(a.At, "cursor")}
	} else {
		a.Type = term.Type(c)
	}
	c.Accept("VARYING")
	a.Null = term.NullSpec(c)
	if c.Accept("=") {
		a.Default = paramDefault(c)
	}
	for {
		switch {
		case c.AcceptAny("OUTPUT", "OUT") != "":
			a.Output = true
		case c.Accept("READONLY"):
			a.ReadOnly = true
		default:
			return a
		}
	}
}

// paramDefault reads the default of a parameter: a constant, NULL, or a word, which is a string.
// Only a minus before a number is allowed in addition (documentation of CREATE PROCEDURE: "a
// constant or NULL").
func paramDefault(c *tokens.Cursor) syntax.Expr {
	if c.At("DEFAULT") { // SQL Server's grammar has DEFAULT, its documentation does not; it has no value
		return &syntax.Literal{At: syntax.AtPos(c.Next().At), Kind: syntax.NullLit}
	}
	return query.Simple(c, "-")
}

// params reads parameters up to a token that starts no parameter.
func params(c *tokens.Cursor) []*syntax.Param {
	var list []*syntax.Param
	for c.MarkDeclared(); c.AtKind(scanner.Variable); c.MarkDeclared() {
		list = append(list, param(c))
		if !c.At(",") || c.Peek(1).Kind != scanner.Variable && c.Peek(1).Kind != scanner.Global {
			break
		}
		c.Next()
	}
	return list
}

// moduleOptions reads WITH and the options of a module, if there are any.
func moduleOptions(c *tokens.Cursor) (o syntax.ModuleOptions) {
	for ok := c.Accept("WITH"); ok; ok = c.Accept(",") {
		switch {
		case c.Accept("ENCRYPTION"):
			o.Encryption = true
		case c.Accept("SCHEMABINDING"):
			o.SchemaBinding = true
		case c.Accept("RECOMPILE"):
			o.Recompile = true
		case c.Accept("VIEW_METADATA"):
			o.ViewMetadata = true
		case c.Accept("NATIVE_COMPILATION"):
			c.Unsupported("NATIVE_COMPILATION")
		case c.Accept("RETURNS", "NULL", "ON", "NULL", "INPUT"):
			o.ReturnsNull = true
		case c.Accept("CALLED", "ON", "NULL", "INPUT"):
			o.CalledOnNull = true
		case c.Accept("INLINE", "="):
			o.Inline = c.ExpectAny("ON", "OFF")
		case c.AtAny("EXEC", "EXECUTE") && c.Peek(1).Is("AS"):
			c.Skip(2)
			if o.ExecuteAs = c.AcceptAny("CALLER", "SELF", "OWNER"); o.ExecuteAs == "" {
				o.ExecuteAs, o.ExecuteAsIsQuote = term.Constant(c).Text, true
			}
		default:
			c.Fail()
		}
	}
	return o
}

// body reads the statements of a module up to the end of the batch.
func (b *batch) body() []syntax.Stmt {
	return b.stmts(func() bool { return b.AtKind(scanner.EOF) })
}

// procedure reads a procedure after PROCEDURE.
func (b *batch) procedure(verb syntax.Verb) syntax.Stmt {
	s := &syntax.CreateProcedureStmt{Verb: verb, Name: term.Name(b.Cursor)}
	term.ProcedureNumber(b.Cursor)
	if b.At("(") {
		s.Params = tokens.Parens(b.Cursor, params)
	} else {
		s.Params = params(b.Cursor)
	}
	s.Options = moduleOptions(b.Cursor)
	if b.Accept("FOR", "REPLICATION") {
		b.Unsupported("FOR REPLICATION")
	}
	b.Expect("AS")
	if b.At("EXTERNAL") {
		b.Reject("a procedure of an assembly (EXTERNAL NAME)")
		return nil
	}
	b.inModule = true
	s.Body = b.body()
	return s
}

// function reads a function after FUNCTION.
func (b *batch) function(verb syntax.Verb) syntax.Stmt {
	s := &syntax.CreateFunctionStmt{Verb: verb, Name: term.Name(b.Cursor)}
	s.Params = tokens.Parens(b.Cursor, params)
	b.Expect("RETURNS")
	inline := false
	switch {
	case b.AtKind(scanner.Variable):
		s.TableVar = term.Variable(b.Cursor)
		b.Expect("TABLE")
		s.Table = ddl.TableDef(b.Cursor)
	case b.Accept("TABLE"):
		inline = true
	default:
		s.Returns = term.Type(b.Cursor)
	}
	s.Options = moduleOptions(b.Cursor)
	b.Accept("AS")
	if b.At("EXTERNAL") {
		b.Reject("a function of an assembly (EXTERNAL NAME)")
		return nil
	}
	if inline {
		b.Expect("RETURN")
		if b.At("(") && (b.Peek(1).Is("SELECT") || b.Peek(1).Is("WITH")) {
			at := b.Here() // ORDER BY and WITH are allowed inside the parentheses
			s.Query = query.ParenQuery(b.Cursor)
			if q := s.Query; q != nil && q.With == nil && q.OrderBy == nil && q.For == nil {
				q.Body = &syntax.ParenQuery{At: at, X: q.Body}
			}
		} else {
			s.Query = query.Query(b.Cursor)
		}
		return s
	}
	if b.At("BEGIN", "ATOMIC") {
		b.Reject("BEGIN ATOMIC")
		return nil
	}
	b.Expect("BEGIN")
	b.inModule = true
	s.Body = b.stmts(func() bool { return b.At("END") })
	b.Expect("END")
	return s
}

// view reads a view after VIEW.
func view(c *tokens.Cursor, verb syntax.Verb) syntax.Stmt {
	s := &syntax.CreateViewStmt{Verb: verb, Name: term.Name(c), Columns: term.OptionalIdents(c), Options: moduleOptions(c)}
	c.Expect("AS")
	s.Query = query.Query(c)
	s.CheckOption = c.Accept("WITH", "CHECK", "OPTION")
	return s
}

// createTrigger reads a trigger after TRIGGER.
func (b *batch) createTrigger(verb syntax.Verb) syntax.Stmt {
	s := &syntax.CreateTriggerStmt{Verb: verb, Name: term.Name(b.Cursor)}
	b.Expect("ON")
	s.Table = triggerTable(b.Cursor)
	s.Options = moduleOptions(b.Cursor)
	if s.InsteadOf = b.Accept("INSTEAD", "OF"); !s.InsteadOf {
		b.ExpectAny("FOR", "AFTER")
	}
	s.Events = tokens.List(b.Cursor, func(c *tokens.Cursor) string {
		if !c.AtKind(scanner.Word) {
			c.Fail()
		}
		return c.Next().Upper
	})
	b.Accept("WITH", "APPEND")
	s.NotForReplication = b.Accept("NOT", "FOR", "REPLICATION")
	b.Expect("AS")
	if b.At("EXTERNAL") {
		b.Reject("a trigger of an assembly (EXTERNAL NAME)")
		return nil
	}
	if b.AtKind(scanner.EOF) {
		b.Fail()
	}
	b.inModule = true
	s.Body = b.body()
	return s
}

// triggerTable reads a table, or DATABASE or ALL SERVER of a DDL trigger.
func triggerTable(c *tokens.Cursor) *syntax.ObjectName {
	if c.Accept("DATABASE") || c.Accept("ALL", "SERVER") {
		c.Unsupported("a DDL trigger")
		return nil
	}
	return term.Name(c)
}

// trigger reads ENABLE TRIGGER and DISABLE TRIGGER.
func trigger(c *tokens.Cursor) syntax.Stmt {
	s := &syntax.TriggerStmt{Enable: c.Next().Upper == "ENABLE"}
	c.Expect("TRIGGER")
	if !c.Accept("ALL") {
		s.Names = term.Names(c)
	}
	c.Expect("ON")
	s.Table = triggerTable(c)
	return s
}
