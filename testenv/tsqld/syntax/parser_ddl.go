package syntax

// create reads CREATE.
func (p *parser) create() Stmt {
	start := p.i
	p.want("CREATE")
	if p.got("OR", "ALTER") {
		if s, ok := p.module(CreateOrAlter, start); ok {
			return s
		}
		p.fail()
		return nil
	}
	if s, ok := p.module(Create, start); ok {
		return s
	}
	switch {
	case p.got("TABLE"):
		return p.createTable()
	case p.at("INDEX"), p.at("UNIQUE"), p.at("CLUSTERED"), p.at("NONCLUSTERED"), p.at("COLUMNSTORE"):
		return p.createIndex()
	case p.got("TYPE"):
		return p.createType()
	case p.got("SEQUENCE"):
		return p.sequence(Create)
	case p.got("SYNONYM"):
		s := &CreateSynonymStmt{Name: p.objectName()}
		p.want("FOR")
		s.Target = p.objectName()
		return s
	case p.at("SCHEMA"):
		return p.createSchema(start)
	case p.at("DATABASE", "SCOPED", "CREDENTIAL"), p.at("CREDENTIAL"):
		return p.credential(Create)
	case p.at("DATABASE", "AUDIT"), p.at("DATABASE", "ENCRYPTION"):
		p.reject("CREATE DATABASE " + p.ahead(1).up)
		return nil
	case p.at("FULLTEXT", "CATALOG"), p.at("FULLTEXT", "INDEX"):
		return p.fullText()
	case p.got("DATABASE"):
		return p.createDatabase()
	case p.got("STATISTICS"):
		s := &CreateStatisticsStmt{Name: p.ident()}
		p.want("ON")
		s.Table = p.objectName()
		s.Columns = p.identList()
		if p.got("WHERE") {
			s.Where = p.cond()
		}
		if p.got("WITH") {
			s.Options = p.optionList(false)
		}
		return s
	}
	return p.security(Create)
}

// fullText reads CREATE FULLTEXT CATALOG and INDEX, which scripts guard by FULLTEXTSERVICEPROPERTY: only running them is refused.
func (p *parser) fullText() Stmt {
	p.want("FULLTEXT")
	what := p.wantAny("CATALOG", "INDEX")
	s := &UnsupportedStmt{What: "CREATE FULLTEXT " + what}
	if what == "CATALOG" {
		p.ident()
		if p.got("ON", "FILEGROUP") {
			p.ident()
		}
		if p.got("IN", "PATH") {
			p.secret()
		}
		if p.got("WITH") {
			p.optionList(false)
		}
		p.got("AS", "DEFAULT")
		if p.got("AUTHORIZATION") {
			p.ident()
		}
		return s
	}
	p.want("ON")
	p.objectName()
	if p.got("(") {
		for {
			p.ident()
			if p.got("TYPE", "COLUMN") {
				p.ident()
			}
			if p.got("LANGUAGE") {
				p.expr()
			}
			p.got("STATISTICAL_SEMANTICS")
			if !p.got(",") {
				break
			}
		}
		p.want(")")
	}
	p.want("KEY", "INDEX")
	p.ident()
	if p.got("ON") {
		if p.got("(") {
			p.ident()
			if p.got(",") {
				p.got("FILEGROUP")
				p.ident()
			}
			p.want(")")
		} else {
			p.ident()
		}
	}
	if p.got("WITH") {
		joined := p.got("(")
		p.optionList(false)
		if joined {
			p.want(")")
		}
	}
	return s
}

// rejectedKinds are objects whose CREATE and ALTER are refused by Parse, as they are named behind the verb.
var rejectedKinds = [][]string{
	{"AGGREGATE"}, {"APPLICATION", "ROLE"}, {"ASSEMBLY"}, {"ASYMMETRIC", "KEY"}, {"AVAILABILITY", "GROUP"}, {"BROKER", "PRIORITY"},
	{"CERTIFICATE"}, {"COLUMN", "ENCRYPTION", "KEY"}, {"COLUMN", "MASTER", "KEY"}, {"CONTRACT"}, {"CRYPTOGRAPHIC", "PROVIDER"},
	{"DEFAULT"}, {"ENDPOINT"}, {"EVENT", "NOTIFICATION"}, {"EVENT", "SESSION"}, {"EXTERNAL"}, {"FULLTEXT"}, {"MESSAGE", "TYPE"},
	{"PARTITION", "FUNCTION"}, {"PARTITION", "SCHEME"}, {"PRIMARY", "XML"}, {"QUEUE"}, {"REMOTE", "SERVICE"}, {"RESOURCE"}, {"ROUTE"},
	{"RULE"}, {"SEARCH", "PROPERTY"}, {"SECURITY", "POLICY"}, {"SELECTIVE", "XML"}, {"SERVER", "AUDIT"}, {"SERVER", "CONFIGURATION"},
	{"SERVICE"}, {"SPATIAL", "INDEX"}, {"SYMMETRIC", "KEY"}, {"WORKLOAD"}, {"XML", "INDEX"}, {"XML", "SCHEMA"},
}

// kind fails at an unknown kind of object behind verb, and refuses the known ones that are not supported.
func (p *parser) kind(verb string) {
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
func (p *parser) alter() Stmt {
	start := p.i
	p.want("ALTER")
	if s, ok := p.module(Alter, start); ok {
		return s
	}
	switch {
	case p.got("TABLE"):
		return p.alterTable()
	case p.got("INDEX"):
		return p.alterIndex()
	case p.got("SEQUENCE"):
		return p.sequence(Alter)
	case p.got("SCHEMA"):
		s := &AlterSchemaStmt{Name: p.ident()}
		p.want("TRANSFER")
		if p.ahead(1).is("::") {
			s.Class = p.wantAny("OBJECT", "TYPE")
			p.want("::")
		}
		s.Object = p.objectName()
		return s
	case p.at("DATABASE", "SCOPED", "CREDENTIAL"), p.at("CREDENTIAL"):
		return p.credential(Alter)
	case p.at("DATABASE", "AUDIT"), p.at("DATABASE", "ENCRYPTION"):
		p.reject("ALTER DATABASE " + p.ahead(1).up)
		return nil
	case p.got("DATABASE"):
		return p.alterDatabase()
	case p.got("AUTHORIZATION"):
		return p.alterAuthorization()
	}
	return p.security(Alter)
}

// createType reads CREATE TYPE behind TYPE.
func (p *parser) createType() Stmt {
	s := &CreateTypeStmt{Name: p.objectName()}
	switch {
	case p.got("FROM"):
		s.From = p.typeRef()
		s.Null = p.nullSpec()
	case p.got("AS", "TABLE"):
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

// sequence reads CREATE SEQUENCE and ALTER SEQUENCE behind SEQUENCE.
func (p *parser) sequence(verb Verb) Stmt {
	s := &SequenceStmt{Verb: verb, Name: p.objectName()}
	for p.err == nil {
		switch {
		case verb == Create && s.Type == nil && p.got("AS"):
			s.Type = p.typeRef()
		case p.got("START", "WITH"):
			s.StartWith = p.signedInteger()
		case verb == Alter && p.got("RESTART"):
			s.Restart = true
			if p.got("WITH") {
				s.StartWith = p.signedInteger()
			}
		case p.got("INCREMENT", "BY"):
			s.Step = p.signedInteger()
		case p.got("MINVALUE"):
			s.Min = p.signedInteger()
		case p.got("MAXVALUE"):
			s.Max = p.signedInteger()
		case p.got("CYCLE"):
			s.Cycle = true
		case p.got("CACHE"):
			s.HasCache = true
			if p.tok().kind == tokInt {
				s.Cache = p.next().text
			}
		case p.got("NO", "MINVALUE"):
			s.NoMin = true
		case p.got("NO", "MAXVALUE"):
			s.NoMax = true
		case p.got("NO", "CYCLE"):
			s.NoCycle = true
		case p.got("NO", "CACHE"):
			s.NoCache = true
		default:
			return s
		}
	}
	return s
}

// createSchema reads CREATE SCHEMA; it must come first in its batch.
func (p *parser) createSchema(start int) Stmt {
	p.firstInBatch(start, "CREATE SCHEMA")
	p.want("SCHEMA")
	s := &CreateSchemaStmt{}
	if !p.at("AUTHORIZATION") {
		s.Name = p.ident()
	}
	if p.got("AUTHORIZATION") {
		s.Authorization = p.principal()
	}
	for p.err == nil {
		at := p.tok()
		var e Stmt
		switch {
		case p.at("CREATE", "TABLE"):
			p.want("CREATE", "TABLE")
			e = p.createTable()
		case p.at("CREATE", "VIEW"):
			p.want("CREATE", "VIEW")
			e = p.view(Create)
		case p.atAny("GRANT", "DENY", "REVOKE"):
			e = p.permission()
		default:
			return s
		}
		if e != nil && p.err == nil {
			e.setExtent(at.at, p.last().end)
			s.Elements = append(s.Elements, e)
		}
	}
	return s
}

// createDatabase reads CREATE DATABASE behind DATABASE.
func (p *parser) createDatabase() Stmt {
	s := &CreateDatabaseStmt{Name: p.ident()}
	for p.err == nil {
		switch {
		case p.got("CONTAINMENT", "="):
			s.Containment = p.wantAny("NONE", "PARTIAL")
		case p.got("COLLATE"):
			s.Collation = p.ident().Name
		case p.at("ON"), p.at("LOG", "ON"):
			s.Files = true
			p.files()
		case p.got("AS", "COPY", "OF"):
			s.CopyOf = p.objectName()
		case p.got("AS", "SNAPSHOT", "OF"):
			s.Snapshot = p.ident()
		case p.got("FOR", "ATTACH"), p.got("FOR", "ATTACH_REBUILD_LOG"):
			s.ForAttach = true
		case p.got("WITH"):
			s.Options = append(s.Options, p.optionList(false)...)
		case p.at("("):
			s.Options = append(s.Options, p.options(false)...)
		default:
			return s
		}
	}
	return s
}

// files passes ON ... and LOG ON ... of CREATE DATABASE: file specifications in parentheses, and filegroups.
func (p *parser) files() {
	p.got("LOG")
	p.want("ON")
	for p.err == nil {
		switch {
		case p.got("PRIMARY"):
		case p.got("FILEGROUP"):
			p.ident()
			for p.gotAny("CONTAINS", "FILESTREAM", "MEMORY_OPTIMIZED_DATA", "DEFAULT") != "" {
			}
		}
		p.fileSpec()
		if !p.got(",") {
			return
		}
	}
}

// fileSpec passes one file specification.
func (p *parser) fileSpec() {
	if !p.at("(") {
		p.fail()
		return
	}
	n := p.matching(0)
	if p.ahead(n - 1).is(")") {
		p.i += n
		return
	}
	p.i += n
	p.fail()
}

// alterDatabase reads ALTER DATABASE behind DATABASE.
func (p *parser) alterDatabase() Stmt {
	s := &AlterDatabaseStmt{}
	if p.got("SCOPED", "CONFIGURATION") {
		s.Scoped = true
		if p.got("FOR", "SECONDARY") {
			p.reject("ALTER DATABASE SCOPED CONFIGURATION FOR SECONDARY")
		}
		if p.got("CLEAR") {
			o := &Option{node: p.here(), Name: "CLEAR " + p.words(false)}
			if p.tok().kind == tokBinary {
				o.Value = p.literal()
			}
			s.Set = []*Option{o}
			return s
		}
		p.want("SET")
		s.Set = p.optionList(false)
		return s
	}
	if !p.got("CURRENT") {
		s.Name = p.ident()
	}
	switch {
	case p.got("SET"):
		s.Set = p.optionList(false)
		switch {
		case p.got("WITH", "ROLLBACK", "IMMEDIATE"):
			s.Termination = "ROLLBACK IMMEDIATE"
		case p.got("WITH", "NO_WAIT"):
			s.Termination = "NO_WAIT"
		case p.got("WITH", "ROLLBACK", "AFTER"):
			s.Termination = "ROLLBACK AFTER"
			s.After = p.integer()
			p.gotAny("SECONDS", "SECOND")
		}
	case p.got("MODIFY", "NAME", "="):
		s.NewName = p.ident()
	case p.got("COLLATE"):
		s.Collation = p.ident().Name
	case p.at("MODIFY", "("):
		p.next()
		s.Modify = p.options(false)
	case p.atAny("ADD", "MODIFY", "REMOVE"):
		s.Files = p.next().up
		switch {
		case p.at("LOG", "FILE"):
			p.next()
			p.next()
			s.Files += " LOG FILE"
		default:
			s.Files += " " + p.wantAny("FILE", "FILEGROUP")
		}
		if !p.at("(") {
			p.ident()
			p.words(false)
			return s
		}
		p.fileSpec()
		for p.got(",") {
			p.fileSpec()
		}
		if p.got("TO", "FILEGROUP") {
			p.ident()
		}
	default:
		p.fail()
	}
	return s
}

// updateStatistics reads UPDATE STATISTICS.
func (p *parser) updateStatistics() Stmt {
	p.want("UPDATE", "STATISTICS")
	s := &UpdateStatisticsStmt{Table: p.objectName()}
	if p.at("(") {
		s.Names = p.identList()
	} else if atIdent(p.tok()) {
		s.Names = []Ident{p.ident()}
	}
	if p.got("WITH") {
		s.Options = p.optionList(false)
	}
	return s
}

// droppable are the kinds of object that DROP knows with a plain list of names.
var droppable = [][]string{
	{"TABLE"}, {"VIEW"}, {"PROCEDURE"}, {"PROC"}, {"FUNCTION"}, {"TRIGGER"}, {"TYPE"}, {"SEQUENCE"}, {"SYNONYM"}, {"SCHEMA"},
	{"DATABASE", "SCOPED", "CREDENTIAL"}, {"DATABASE"}, {"USER"}, {"LOGIN"}, {"ROLE"}, {"SERVER", "ROLE"}, {"APPLICATION", "ROLE"},
	{"CREDENTIAL"}, {"STATISTICS"}, {"DEFAULT"}, {"RULE"}, {"SYMMETRIC", "KEY"}, {"ASYMMETRIC", "KEY"}, {"CERTIFICATE"}, {"ASSEMBLY"},
	{"AGGREGATE"}, {"PARTITION", "FUNCTION"}, {"PARTITION", "SCHEME"}, {"FULLTEXT", "CATALOG"}, {"XML", "SCHEMA", "COLLECTION"},
	{"EXTERNAL", "TABLE"}, {"EXTERNAL", "DATA", "SOURCE"}, {"SECURITY", "POLICY"}, {"QUEUE"}, {"SERVICE"}, {"CONTRACT"},
	{"MESSAGE", "TYPE"}, {"ROUTE"}, {"ENDPOINT"}, {"EVENT", "SESSION"},
}

// drop reads DROP.
func (p *parser) drop() Stmt {
	p.want("DROP")
	if p.got("INDEX") {
		return p.dropIndex()
	}
	if p.got("MASTER", "KEY") {
		return &DropStmt{Kind: "MASTER KEY"}
	}
	for _, words := range droppable {
		if !p.got(words...) {
			continue
		}
		s := &DropStmt{}
		for i, w := range words {
			if i > 0 {
				s.Kind += " "
			}
			s.Kind += w
		}
		if s.Kind == "PROC" {
			s.Kind = "PROCEDURE"
		}
		s.IfExists = p.got("IF", "EXISTS")
		s.Names = p.objectNames()
		if s.Kind == "TRIGGER" && p.got("ON") {
			s.OnDatabase = p.got("DATABASE")
			if !s.OnDatabase {
				p.want("ALL", "SERVER")
				s.OnServer = true
			}
		}
		return s
	}
	p.kind("DROP")
	return nil
}
