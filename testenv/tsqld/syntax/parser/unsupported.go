package parser

import (
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// unsupported records that the current statement has a construct which the parser reads but the
// embedded server does not support. The statement then becomes an [syntax.UnsupportedStmt]: it is
// refused when it is executed, so a branch that is not taken and a procedure that does not run may
// have it.
func (p *parser) unsupported(what string) {
	if p.lacks == "" {
		p.lacks = what
	}
}

// supported returns a statement, or the UnsupportedStmt in its place if it has an unsupported
// construct.
func (p *parser) supported(s syntax.Stmt) syntax.Stmt {
	if p.lacks == "" || s == nil {
		return s
	}
	return &syntax.UnsupportedStmt{What: p.lacks}
}

// lacking returns error 40517 for an unsupported construct outside a statement, or nil.
func (p *parser) lacking() error {
	if p.lacks == "" {
		return nil
	}
	return mserr.NotSupported("%s", p.lacks)
}

// partitionStmt reads the rest of CREATE and ALTER PARTITION FUNCTION and SCHEME.
func (p *parser) partitionStmt(verb string) syntax.Stmt {
	p.expect("PARTITION")
	kind := p.expectAny("FUNCTION", "SCHEME")
	p.ident()
	switch verb + " " + kind {
	case "CREATE FUNCTION":
		p.expect("(")
		p.typeRef()
		p.expect(")", "AS", "RANGE")
		p.acceptAny("LEFT", "RIGHT")
		p.expect("FOR", "VALUES", "(")
		if !p.at(")") {
			p.exprList()
		}
		p.expect(")")
	case "CREATE SCHEME":
		p.expect("AS", "PARTITION")
		p.ident()
		p.accept("ALL")
		p.expect("TO", "(")
		p.alias()
		for p.accept(",") {
			p.alias()
		}
		p.expect(")")
	case "ALTER FUNCTION":
		p.expect("(", ")")
		p.expectAny("SPLIT", "MERGE")
		p.expect("RANGE", "(")
		p.expr()
		p.expect(")")
	default:
		p.expect("NEXT", "USED")
		if p.current().IsName() && !p.atStatement() {
			p.ident()
		}
	}
	return &syntax.UnsupportedStmt{What: verb + " PARTITION " + kind}
}

// atStatement reports whether the next word begins a statement rather than names something.
func (p *parser) atStatement() bool {
	t := p.current()
	return t.IsReserved()
}

// partitionScheme reads (column) after the name of a partition scheme.
func (p *parser) partitionScheme() {
	if p.accept("(") {
		p.unsupported("a partition scheme")
		p.closedIdents()
	}
}

// closedIdents reads the names before a closing parenthesis, and the parenthesis.
func (p *parser) closedIdents() {
	p.ident()
	for p.accept(",") {
		p.ident()
	}
	p.expect(")")
}

// partitionNumber reads $PARTITION.function(value).
func (p *parser) partitionNumber(e syntax.At) syntax.Expr {
	p.unsupported("$PARTITION")
	p.expect(".")
	p.ident()
	p.expect("(")
	p.exprList()
	p.expect(")")
	return &syntax.Literal{At: e, Kind: syntax.NullLit}
}

// partitionRanges reads (PARTITIONS (1, 2 TO 4)) of TRUNCATE TABLE.
func (p *parser) partitionRanges() {
	p.unsupported("TRUNCATE TABLE with partitions")
	p.expect("WITH", "(", "PARTITIONS", "(")
	for {
		p.expr()
		if p.accept("TO") {
			p.expr()
		}
		if !p.accept(",") {
			break
		}
	}
	p.expect(")", ")")
}

// alterFullText reads ALTER FULLTEXT CATALOG, INDEX and STOPLIST.
func (p *parser) alterFullText() syntax.Stmt {
	p.expect("FULLTEXT")
	what := p.expectAny("CATALOG", "INDEX", "STOPLIST")
	s := &syntax.UnsupportedStmt{What: "ALTER FULLTEXT " + what}
	switch what {
	case "CATALOG":
		p.ident()
		switch p.expectAny("REBUILD", "REORGANIZE", "AS") {
		case "AS":
			p.expect("DEFAULT")
		case "REBUILD":
			if p.accept("WITH") {
				p.optionList(false)
			}
		}
	case "INDEX":
		p.expect("ON")
		p.objectName()
		p.fullTextAction()
		p.accept("WITH", "NO", "POPULATION")
	case "STOPLIST":
		p.ident()
		if p.expectAny("ADD", "DROP") == "DROP" && p.accept("ALL") {
			if p.accept("LANGUAGE") {
				p.expr()
			}
			return s
		}
		p.expr()
		p.expect("LANGUAGE")
		p.expr()
	}
	return s
}

// fullTextAction reads what ALTER FULLTEXT INDEX does.
func (p *parser) fullTextAction() {
	switch p.expectAny("ENABLE", "DISABLE", "SET", "ADD", "ALTER", "DROP", "START", "STOP", "PAUSE", "RESUME") {
	case "SET":
		switch p.expectAny("CHANGE_TRACKING", "STOPLIST", "SEARCH") {
		case "CHANGE_TRACKING":
			p.accept("=")
			p.expectAny("MANUAL", "AUTO", "OFF")
		case "SEARCH":
			p.expect("PROPERTY", "LIST")
			p.accept("=")
			p.ident()
		default:
			p.accept("=")
			p.alias()
		}
	case "ADD":
		p.fullTextColumns()
	case "ALTER":
		p.expect("COLUMN")
		p.ident()
		p.expectAny("ADD", "DROP")
		p.expect("STATISTICAL_SEMANTICS")
	case "DROP":
		p.expect("(")
		p.closedIdents()
	case "START":
		p.expectAny("FULL", "INCREMENTAL", "UPDATE")
		p.expect("POPULATION")
	case "STOP", "PAUSE", "RESUME":
		p.expect("POPULATION")
	}
}

// fullTextColumns reads the columns of a full-text index.
func (p *parser) fullTextColumns() {
	p.expect("(")
	for {
		p.ident()
		if p.accept("TYPE", "COLUMN") {
			p.ident()
		}
		if p.accept("LANGUAGE") {
			p.expr()
		}
		p.accept("STATISTICAL_SEMANTICS")
		if !p.accept(",") {
			break
		}
	}
	p.expect(")")
}

// createStoplist reads CREATE FULLTEXT STOPLIST.
func (p *parser) createStoplist() syntax.Stmt {
	p.expect("FULLTEXT", "STOPLIST")
	p.ident()
	if p.accept("FROM") && !p.accept("SYSTEM", "STOPLIST") {
		p.objectName()
	}
	if p.accept("AUTHORIZATION") {
		p.ident()
	}
	return &syntax.UnsupportedStmt{What: "CREATE FULLTEXT STOPLIST"}
}

// dropFullText reads DROP FULLTEXT INDEX and STOPLIST.
func (p *parser) dropFullText() syntax.Stmt {
	p.expect("FULLTEXT")
	what := p.expectAny("INDEX", "STOPLIST")
	if what == "INDEX" {
		p.expect("ON")
	}
	p.objectName()
	return &syntax.UnsupportedStmt{What: "DROP FULLTEXT " + what}
}

// fullTextPredicate reads CONTAINS and FREETEXT. Its result stands for any condition, because the
// statement is not supported.
func (p *parser) fullTextPredicate(c syntax.At) syntax.Node {
	name := p.next().Upper
	p.unsupported("the full-text predicate " + name)
	p.expect("(")
	p.fullTextArguments()
	p.expect(")")
	return &syntax.IsNullCond{At: c, X: &syntax.Literal{At: c, Kind: syntax.NullLit}}
}

// fullTextArguments reads the columns, the condition and the language of a full-text search.
func (p *parser) fullTextArguments() {
	switch {
	case p.accept("*"):
	case p.accept("("):
		if p.accept("*") {
			p.expect(")")
		} else {
			for {
				p.parts("column")
				if !p.accept(",") {
					break
				}
			}
			p.expect(")")
		}
	case p.at("PROPERTY", "("):
		p.next()
		p.next()
		p.parts("column")
		p.expect(",")
		p.expr()
		p.expect(")")
	default:
		p.parts("column")
		if p.accept(".") {
			p.expect("*")
		}
	}
	p.expect(",")
	p.expr()
	for p.accept(",") {
		p.accept("LANGUAGE")
		p.expr()
	}
}

// fullTextTable reads CONTAINSTABLE and FREETEXTTABLE.
func (p *parser) fullTextTable(at syntax.At) syntax.TableSource {
	name := p.next().Upper
	p.unsupported(name)
	p.expect("(")
	p.objectName()
	p.expect(",")
	p.fullTextArguments()
	p.expect(")")
	f := &syntax.TableFunc{At: at}
	f.Call = &syntax.FuncCall{At: at, Name: &syntax.ObjectName{At: at, Parts: []syntax.Ident{{Name: name, At: at.Pos()}}}}
	f.Alias = p.tableAlias()
	f.Columns = p.optionalIdentList()
	return f
}
