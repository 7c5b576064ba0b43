package parser

import (
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// create reads CREATE.
func (p *parser) create() syntax.Stmt {
	start := p.current()
	p.expect("CREATE")
	if p.accept("OR", "ALTER") {
		if s, ok := p.module(syntax.CreateOrAlter, start); ok {
			return s
		}
		p.fail()
		return nil
	}
	if s, ok := p.module(syntax.Create, start); ok {
		return s
	}
	switch {
	case p.accept("TABLE"):
		return p.createTable()
	case p.at("INDEX"), p.at("UNIQUE"), p.at("CLUSTERED"), p.at("NONCLUSTERED"), p.at("COLUMNSTORE"):
		return p.createIndex()
	case p.accept("TYPE"):
		return p.createType()
	case p.accept("SEQUENCE"):
		return p.sequence(syntax.Create)
	case p.accept("SYNONYM"):
		s := &syntax.CreateSynonymStmt{Name: p.objectName()}
		p.expect("FOR")
		s.Target = p.objectName()
		return s
	case p.at("SCHEMA"):
		return p.createSchema(start)
	case p.at("DATABASE", "SCOPED", "CREDENTIAL"), p.at("CREDENTIAL"):
		return p.credential(syntax.Create)
	case p.at("DATABASE", "AUDIT"), p.at("DATABASE", "ENCRYPTION"):
		p.reject("CREATE DATABASE " + p.peek(1).Upper)
		return nil
	case p.at("FULLTEXT", "CATALOG"), p.at("FULLTEXT", "INDEX"):
		return p.fullText()
	case p.at("FULLTEXT", "STOPLIST"):
		return p.createStoplist()
	case p.at("PARTITION", "FUNCTION"), p.at("PARTITION", "SCHEME"):
		return p.partitionStmt("CREATE")
	case p.accept("DATABASE"):
		return p.createDatabase()
	case p.accept("STATISTICS"):
		s := &syntax.CreateStatisticsStmt{Name: p.ident()}
		p.expect("ON")
		s.Table = p.objectName()
		s.Columns = p.identList()
		if p.accept("WHERE") {
			s.Where = p.cond()
		}
		if p.accept("WITH") {
			s.Options = p.optionList(false)
		}
		return s
	}
	return p.security(syntax.Create)
}

// fullText reads CREATE FULLTEXT CATALOG and INDEX. Scripts guard them with
// FULLTEXTSERVICEPROPERTY, so only their execution is refused.
func (p *parser) fullText() syntax.Stmt {
	p.expect("FULLTEXT")
	what := p.expectAny("CATALOG", "INDEX")
	s := &syntax.UnsupportedStmt{What: "CREATE FULLTEXT " + what}
	if what == "CATALOG" {
		p.ident()
		if p.accept("ON", "FILEGROUP") {
			p.ident()
		}
		if p.accept("IN", "PATH") {
			p.secret()
		}
		if p.accept("WITH") {
			p.optionList(false)
		}
		p.accept("AS", "DEFAULT")
		if p.accept("AUTHORIZATION") {
			p.ident()
		}
		return s
	}
	p.expect("ON")
	p.objectName()
	if p.at("(") {
		p.fullTextColumns()
	}
	p.expect("KEY", "INDEX")
	p.ident()
	if p.accept("ON") {
		if p.accept("(") {
			p.ident()
			if p.accept(",") {
				p.accept("FILEGROUP")
				p.ident()
			}
			p.expect(")")
		} else {
			p.ident()
		}
	}
	if p.accept("WITH") {
		joined := p.accept("(")
		p.optionList(false)
		if joined {
			p.expect(")")
		}
	}
	return s
}

// rejectedKinds are the kinds of objects whose CREATE and ALTER are refused by Parse, by the words
// that follow the verb.
var rejectedKinds = [][]string{
	{"AGGREGATE"},
	{"APPLICATION", "ROLE"},
	{"ASSEMBLY"},
	{"ASYMMETRIC", "KEY"},
	{"AVAILABILITY", "GROUP"},
	{"BROKER", "PRIORITY"},
	{"CERTIFICATE"},
	{"COLUMN", "ENCRYPTION", "KEY"},
	{"COLUMN", "MASTER", "KEY"},
	{"CONTRACT"},
	{"CRYPTOGRAPHIC", "PROVIDER"},
	{"DEFAULT"},
	{"ENDPOINT"},
	{"EVENT", "NOTIFICATION"},
	{"EVENT", "SESSION"},
	{"EXTERNAL"},
	{"FULLTEXT"},
	{"MESSAGE", "TYPE"},
	{"PARTITION", "FUNCTION"},
	{"PARTITION", "SCHEME"},
	{"PRIMARY", "XML"},
	{"QUEUE"},
	{"REMOTE", "SERVICE"},
	{"RESOURCE"},
	{"ROUTE"},
	{"RULE"},
	{"SEARCH", "PROPERTY"},
	{"SECURITY", "POLICY"},
	{"SELECTIVE", "XML"},
	{"SERVER", "AUDIT"},
	{"SERVER", "CONFIGURATION"},
	{"SERVICE"},
	{"SPATIAL", "INDEX"},
	{"SYMMETRIC", "KEY"},
	{"WORKLOAD"},
	{"XML", "INDEX"},
	{"XML", "SCHEMA"},
}

// rejectKind refuses a known kind of object that is not supported, and fails for an unknown one.
func (p *parser) rejectKind(verb string) {
	for _, words := range rejectedKinds {
		if p.at(words...) {
			what := verb
			for _, w := range words {
				what += " " + w
			}
			p.reject(what)
			return
		}
	}
	p.fail()
}

// alter reads ALTER.
func (p *parser) alter() syntax.Stmt {
	start := p.current()
	p.expect("ALTER")
	if s, ok := p.module(syntax.Alter, start); ok {
		return s
	}
	switch {
	case p.accept("TABLE"):
		return p.alterTable()
	case p.accept("INDEX"):
		return p.alterIndex()
	case p.accept("SEQUENCE"):
		return p.sequence(syntax.Alter)
	case p.accept("SCHEMA"):
		s := &syntax.AlterSchemaStmt{Name: p.ident()}
		p.expect("TRANSFER")
		if p.peek(1).Is("::") {
			s.Class = p.expectAny("OBJECT", "TYPE")
			p.expect("::")
		}
		s.Object = p.objectName()
		return s
	case p.at("DATABASE", "SCOPED", "CREDENTIAL"), p.at("CREDENTIAL"):
		return p.credential(syntax.Alter)
	case p.at("DATABASE", "AUDIT"), p.at("DATABASE", "ENCRYPTION"):
		p.reject("ALTER DATABASE " + p.peek(1).Upper)
		return nil
	case p.accept("DATABASE"):
		return p.alterDatabase()
	case p.at("FULLTEXT", "CATALOG"), p.at("FULLTEXT", "INDEX"), p.at("FULLTEXT", "STOPLIST"):
		return p.alterFullText()
	case p.at("PARTITION", "FUNCTION"), p.at("PARTITION", "SCHEME"):
		return p.partitionStmt("ALTER")
	case p.accept("AUTHORIZATION"):
		return p.alterAuthorization()
	}
	return p.security(syntax.Alter)
}

// createType reads CREATE TYPE after TYPE.
func (p *parser) createType() syntax.Stmt {
	s := &syntax.CreateTypeStmt{Name: p.objectName()}
	switch {
	case p.accept("FROM"):
		s.From = p.typeRef()
		s.Null = p.nullSpec()
	case p.accept("AS", "TABLE"):
		s.Table = p.tableDef()
		if p.at("WITH", "(") {
			p.reject("a memory-optimized table type")
		}
	case p.at("EXTERNAL"):
		p.reject("CREATE TYPE EXTERNAL NAME")
	default:
		p.fail()
	}
	return s
}

// sequence reads CREATE SEQUENCE and ALTER SEQUENCE after SEQUENCE.
func (p *parser) sequence(verb syntax.Verb) syntax.Stmt {
	s := &syntax.SequenceStmt{Verb: verb, Name: p.objectName()}
	for {
		switch {
		case verb == syntax.Create && s.Type == nil && p.accept("AS"):
			s.Type = p.typeRef()
		case p.accept("START", "WITH"):
			s.StartWith = p.signedInteger()
		case verb == syntax.Alter && p.accept("RESTART"):
			s.Restart = true
			if p.accept("WITH") {
				s.StartWith = p.signedInteger()
			}
		case p.accept("INCREMENT", "BY"):
			s.Step = p.signedInteger()
		case p.accept("MINVALUE"):
			s.Min = p.signedInteger()
		case p.accept("MAXVALUE"):
			s.Max = p.signedInteger()
		case p.accept("CYCLE"):
			s.Cycle = true
		case p.accept("CACHE"):
			s.HasCache = true
			if p.current().Kind == scanner.Int {
				s.Cache = p.next().Text
			}
		case p.accept("NO", "MINVALUE"):
			s.NoMin = true
		case p.accept("NO", "MAXVALUE"):
			s.NoMax = true
		case p.accept("NO", "CYCLE"):
			s.NoCycle = true
		case p.accept("NO", "CACHE"):
			s.NoCache = true
		default:
			return s
		}
	}
}

// createSchema reads CREATE SCHEMA, which must be first in its batch.
func (p *parser) createSchema(start *scanner.Token) syntax.Stmt {
	p.firstInBatch(start, "CREATE SCHEMA")
	p.expect("SCHEMA")
	s := &syntax.CreateSchemaStmt{}
	if !p.at("AUTHORIZATION") {
		s.Name = p.ident()
	}
	if p.accept("AUTHORIZATION") {
		s.Authorization = p.principal()
	}
	for {
		at := p.current()
		var e syntax.Stmt
		switch {
		case p.at("CREATE", "TABLE"):
			p.expect("CREATE", "TABLE")
			e = p.createTable()
		case p.at("CREATE", "VIEW"):
			p.expect("CREATE", "VIEW")
			e = p.view(syntax.Create)
		case p.atAny("GRANT", "DENY", "REVOKE"):
			e = p.permission()
		default:
			return s
		}
		if e != nil {
			e.SetExtent(at.At, p.previous().End)
			s.Elements = append(s.Elements, e)
		}
	}
}

// createDatabase reads CREATE DATABASE after DATABASE.
func (p *parser) createDatabase() syntax.Stmt {
	s := &syntax.CreateDatabaseStmt{Name: p.ident()}
	for {
		switch {
		case p.accept("CONTAINMENT", "="):
			s.Containment = p.expectAny("NONE", "PARTIAL")
		case p.accept("COLLATE"):
			s.Collation = p.ident().Name
		case p.at("ON"), p.at("LOG", "ON"):
			s.Files = true
			p.files()
		case p.accept("AS", "COPY", "OF"):
			s.CopyOf = p.objectName()
		case p.accept("AS", "SNAPSHOT", "OF"):
			s.Snapshot = p.ident()
		case p.accept("FOR", "ATTACH"), p.accept("FOR", "ATTACH_REBUILD_LOG"):
			s.ForAttach = true
		case p.accept("WITH"):
			s.Options = append(s.Options, p.optionList(false)...)
		case p.at("("):
			s.Options = append(s.Options, p.options(false)...)
		default:
			return s
		}
	}
}

// files skips ON ... and LOG ON ... of CREATE DATABASE: file specifications in parentheses, and
// filegroups.
func (p *parser) files() {
	p.accept("LOG")
	p.expect("ON")
	for {
		switch {
		case p.accept("PRIMARY"):
		case p.accept("FILEGROUP"):
			p.ident()
			for p.acceptAny("CONTAINS", "FILESTREAM", "MEMORY_OPTIMIZED_DATA", "DEFAULT") != "" {
			}
		}
		p.fileSpec()
		if !p.accept(",") {
			return
		}
	}
}

// fileSpec skips one file specification.
func (p *parser) fileSpec() {
	if !p.at("(") {
		p.fail()
		return
	}
	p.skip(p.matching(0))
	if !p.previous().Is(")") {
		p.fail()
	}
}

// alterDatabase reads ALTER DATABASE after DATABASE.
func (p *parser) alterDatabase() syntax.Stmt {
	s := &syntax.AlterDatabaseStmt{}
	if p.accept("SCOPED", "CONFIGURATION") {
		s.Scoped = true
		if p.accept("FOR", "SECONDARY") {
			p.reject("ALTER DATABASE SCOPED CONFIGURATION FOR SECONDARY")
		}
		if p.accept("CLEAR") {
			o := &syntax.Option{At: p.here(), Name: "CLEAR " + p.words(false)}
			if p.current().Kind == scanner.Binary {
				o.Value = p.literal()
			}
			s.Set = []*syntax.Option{o}
			return s
		}
		p.expect("SET")
		s.Set = p.optionList(false)
		return s
	}
	if !p.accept("CURRENT") {
		s.Name = p.ident()
	}
	switch {
	case p.accept("SET"):
		s.Set = p.optionList(false)
		switch {
		case p.accept("WITH", "ROLLBACK", "IMMEDIATE"):
			s.Termination = "ROLLBACK IMMEDIATE"
		case p.accept("WITH", "NO_WAIT"):
			s.Termination = "NO_WAIT"
		case p.accept("WITH", "ROLLBACK", "AFTER"):
			s.Termination = "ROLLBACK AFTER"
			s.After = p.integer()
			p.acceptAny("SECONDS", "SECOND")
		}
	case p.accept("MODIFY", "NAME", "="):
		s.NewName = p.ident()
	case p.accept("COLLATE"):
		s.Collation = p.ident().Name
	case p.at("MODIFY", "("):
		p.next()
		s.Modify = p.options(false)
	case p.atAny("ADD", "MODIFY", "REMOVE"):
		s.Files = p.next().Upper
		switch {
		case p.at("LOG", "FILE"):
			p.next()
			p.next()
			s.Files += " LOG FILE"
		default:
			s.Files += " " + p.expectAny("FILE", "FILEGROUP")
		}
		if !p.at("(") {
			p.ident()
			p.words(false)
			return s
		}
		p.fileSpec()
		for p.accept(",") {
			p.fileSpec()
		}
		if p.accept("TO", "FILEGROUP") {
			p.ident()
		}
	default:
		p.fail()
	}
	return s
}

// updateStatistics reads UPDATE STATISTICS.
func (p *parser) updateStatistics() syntax.Stmt {
	p.expect("UPDATE", "STATISTICS")
	s := &syntax.UpdateStatisticsStmt{Table: p.objectName()}
	if p.at("(") {
		s.Names = p.identList()
	} else if p.current().IsName() {
		s.Names = []syntax.Ident{p.ident()}
	}
	if p.accept("WITH") {
		s.Options = p.optionList(false)
	}
	return s
}

// droppable are the kinds of objects that DROP accepts with a plain list of names.
var droppable = [][]string{
	{"TABLE"},
	{"VIEW"},
	{"PROCEDURE"},
	{"PROC"},
	{"FUNCTION"},
	{"TRIGGER"},
	{"TYPE"},
	{"SEQUENCE"},
	{"SYNONYM"},
	{"SCHEMA"},
	{"DATABASE", "SCOPED", "CREDENTIAL"},
	{"DATABASE"},
	{"USER"},
	{"LOGIN"},
	{"ROLE"},
	{"SERVER", "ROLE"},
	{"APPLICATION", "ROLE"},
	{"CREDENTIAL"},
	{"STATISTICS"},
	{"DEFAULT"},
	{"RULE"},
	{"SYMMETRIC", "KEY"},
	{"ASYMMETRIC", "KEY"},
	{"CERTIFICATE"},
	{"ASSEMBLY"},
	{"AGGREGATE"},
	{"PARTITION", "FUNCTION"},
	{"PARTITION", "SCHEME"},
	{"FULLTEXT", "CATALOG"},
	{"XML", "SCHEMA", "COLLECTION"},
	{"EXTERNAL", "TABLE"},
	{"EXTERNAL", "DATA", "SOURCE"},
	{"SECURITY", "POLICY"},
	{"QUEUE"},
	{"SERVICE"},
	{"CONTRACT"},
	{"MESSAGE", "TYPE"},
	{"ROUTE"},
	{"ENDPOINT"},
	{"EVENT", "SESSION"},
}

// drop reads DROP.
func (p *parser) drop() syntax.Stmt {
	p.expect("DROP")
	if p.accept("INDEX") {
		return p.dropIndex()
	}
	if p.at("FULLTEXT", "INDEX") || p.at("FULLTEXT", "STOPLIST") {
		return p.dropFullText()
	}
	if p.accept("MASTER", "KEY") {
		return &syntax.DropStmt{Kind: "MASTER KEY"}
	}
	for _, words := range droppable {
		if !p.accept(words...) {
			continue
		}
		s := &syntax.DropStmt{}
		for i, w := range words {
			if i > 0 {
				s.Kind += " "
			}
			s.Kind += w
		}
		if s.Kind == "PROC" {
			s.Kind = "PROCEDURE"
		}
		s.IfExists = p.accept("IF", "EXISTS")
		s.Names = p.objectNames()
		if s.Kind == "TRIGGER" && p.accept("ON") {
			s.OnDatabase = p.accept("DATABASE")
			if !s.OnDatabase {
				p.expect("ALL", "SERVER")
				s.OnServer = true
			}
		}
		return s
	}
	p.rejectKind("DROP")
	return nil
}
