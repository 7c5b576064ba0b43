package parser

import (
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// tableDef reads a table definition in parentheses.
func (p *parser) tableDef() *syntax.TableDef {
	d := &syntax.TableDef{At: p.here()}
	p.expect("(")
	for {
		p.tableElement(d)
		if !p.accept(",") || p.at(")") { // a trailing comma is allowed
			break
		}
	}
	p.expect(")")
	return d
}

// tableElement reads a column, constraint or index into d.
func (p *parser) tableElement(d *syntax.TableDef) {
	switch {
	case p.atAny("CONSTRAINT", "PRIMARY", "UNIQUE", "FOREIGN", "CHECK"):
		d.Constraints = append(d.Constraints, p.constraint(false))
	case p.at("INDEX"):
		d.Indexes = append(d.Indexes, p.inlineIndex(false))
	case p.at("PERIOD", "FOR", "SYSTEM_TIME"):
		p.reject("a system-versioned table")
	default:
		d.Columns = append(d.Columns, p.columnDef())
	}
}

// columnDef reads a column.
func (p *parser) columnDef() *syntax.ColumnDef {
	c := &syntax.ColumnDef{At: p.here(), Name: p.ident()}
	switch {
	case p.accept("AS"):
		c.Computed = p.expr()
		if p.accept("PERSISTED") {
			c.Persisted = true
			c.Null = p.nullSpec()
		}
	case p.atAny(",", ")") && lower(c.Name.Name) == "timestamp":
		return c
	default:
		c.Type = p.typeRef()
	}
	for p.columnOption(c) {
	}
	return c
}

// columnOption reads one attribute of a column, and reports whether there was one.
func (p *parser) columnOption(c *syntax.ColumnDef) bool {
	switch {
	case p.accept("COLLATE"):
		c.Collation = p.ident().Name
	case p.at("NULL"), p.at("NOT", "NULL"):
		c.Null = p.nullSpec()
	case p.at("IDENTITY"):
		id := &syntax.IdentitySpec{At: p.here(), Seed: "1", Increment: "1"}
		p.next()
		if p.accept("(") {
			id.Seed = p.signedInteger()
			p.expect(",")
			id.Increment = p.signedInteger()
			p.expect(")")
		}
		id.NotForReplication = p.accept("NOT", "FOR", "REPLICATION")
		c.Identity = id
	case p.accept("ROWGUIDCOL"):
		c.RowGUIDCol = true
	case p.accept("SPARSE"):
		c.Sparse = true
	case p.accept("PERSISTED"):
		c.Persisted = true
	case p.at("DEFAULT"), p.at("CONSTRAINT") && p.peek(2).Is("DEFAULT"):
		c.Default, _ = p.constraint(true).(*syntax.DefaultConstraint)
	case p.atAny("CONSTRAINT", "PRIMARY", "UNIQUE", "FOREIGN", "REFERENCES", "CHECK"):
		c.Constraints = append(c.Constraints, p.constraint(true))
	case p.at("INDEX"):
		c.Index = p.inlineIndex(true)
	case p.at("GENERATED", "ALWAYS"):
		p.reject("a generated column (GENERATED ALWAYS)")
	case p.at("MASKED", "WITH"):
		p.reject("a masked column (MASKED WITH)")
	case p.at("ENCRYPTED", "WITH"):
		p.reject("an encrypted column (ENCRYPTED WITH)")
	case p.at("FILESTREAM"):
		p.reject("a FILESTREAM column")
	case p.at("COLUMN_SET"):
		p.reject("a column set")
	default:
		return false
	}
	return true
}

// constraint reads a constraint. column is set for a constraint on a column.
func (p *parser) constraint(column bool) syntax.Constraint {
	c := syntax.ConstraintBase{At: p.here()}
	if p.accept("CONSTRAINT") {
		c.Name = p.ident()
	}
	switch {
	case p.at("PRIMARY", "KEY"), p.at("UNIQUE"):
		k := &syntax.KeyConstraint{ConstraintBase: c, Primary: p.at("PRIMARY")}
		if p.next().Upper == "PRIMARY" {
			p.next()
		}
		k.Clustering = p.clustering()
		if p.at("(") {
			k.Columns = p.indexColumns()
		} else if !column {
			p.fail()
		}
		k.Options = p.indexOptions()
		k.On = p.filegroup()
		return k
	case p.at("CHECK"):
		p.next()
		k := &syntax.CheckConstraint{ConstraintBase: c, NotForReplication: p.accept("NOT", "FOR", "REPLICATION")}
		p.expect("(")
		k.Cond = p.cond()
		p.expect(")")
		return k
	case p.at("DEFAULT"):
		p.next()
		k := &syntax.DefaultConstraint{ConstraintBase: c, Value: p.expr()}
		if !column {
			p.expect("FOR")
			k.Column = p.ident()
		}
		k.WithValues = p.accept("WITH", "VALUES")
		return k
	}
	k := &syntax.ForeignKeyConstraint{ConstraintBase: c}
	if p.accept("FOREIGN", "KEY") && (!column || p.at("(")) {
		k.Columns = p.identList()
	}
	p.expect("REFERENCES")
	k.RefTable = p.objectName()
	k.RefColumns = p.optionalIdentList()
	for {
		switch {
		case p.accept("ON", "DELETE"):
			k.OnDelete = p.refAction()
		case p.accept("ON", "UPDATE"):
			k.OnUpdate = p.refAction()
		case p.accept("NOT", "FOR", "REPLICATION"):
			k.NotForReplication = true
		default:
			return k
		}
	}
}

// refAction reads the action of a foreign key.
func (p *parser) refAction() syntax.RefAction {
	switch {
	case p.accept("NO", "ACTION"):
	case p.accept("CASCADE"):
		return syntax.Cascade
	case p.accept("SET", "NULL"):
		return syntax.SetNull
	case p.accept("SET", "DEFAULT"):
		return syntax.SetDefault
	default:
		p.fail()
	}
	return syntax.NoAction
}

// clustering reads an optional CLUSTERED or NONCLUSTERED.
func (p *parser) clustering() syntax.Clustering {
	if p.at("NONCLUSTERED", "HASH") {
		p.reject("a hash index")
	}
	switch p.acceptAny("CLUSTERED", "NONCLUSTERED") {
	case "CLUSTERED":
		return syntax.Clustered
	case "NONCLUSTERED":
		return syntax.NonClustered
	}
	return syntax.ClusteringDefault
}

// indexColumns reads columns with their directions, in parentheses.
func (p *parser) indexColumns() []*syntax.IndexColumn {
	p.expect("(")
	var list []*syntax.IndexColumn
	for {
		c := &syntax.IndexColumn{At: p.here(), Name: p.ident()}
		c.Desc = p.acceptAny("ASC", "DESC") == "DESC"
		list = append(list, c)
		if !p.accept(",") {
			break
		}
	}
	p.expect(")")
	return list
}

// oldIndexOptions are the options allowed after WITH without parentheses, as before SQL Server
// 2005.
var oldIndexOptions = scanner.WordSet(`FILLFACTOR PAD_INDEX IGNORE_DUP_KEY DROP_EXISTING STATISTICS_NORECOMPUTE
	SORT_IN_TEMPDB`)

// indexOptions reads WITH (options) and the old WITH FILLFACTOR = n, PAD_INDEX; it returns nil if
// there are none.
func (p *parser) indexOptions() []*syntax.Option {
	if p.at("WITH", "(") {
		p.next()
		return p.options(false)
	}
	if !p.at("WITH") || p.peek(1).Kind != scanner.Word || !oldIndexOptions[p.peek(1).Upper] {
		return nil
	}
	p.next()
	var list []*syntax.Option
	for {
		o := &syntax.Option{At: p.here(), Name: p.current().Upper, Equals: true}
		p.next()
		if o.Name == "FILLFACTOR" {
			p.expect("=")
			o.Value = p.expr()
		} else {
			o.Value = &syntax.Keyword{At: o.At, Name: "ON"}
		}
		list = append(list, o)
		if !p.at(",") || !oldIndexOptions[p.peek(1).Upper] { // the comma may separate the columns of a table
			return list
		}
		p.next()
	}
}

// filegroup reads an optional ON name. ON scheme(column) is a partition scheme.
func (p *parser) filegroup() syntax.Ident {
	if !p.at("ON") || p.peek(1).Is("DELETE") || p.peek(1).Is("UPDATE") {
		return syntax.Ident{}
	}
	p.next()
	id := p.alias()
	p.partitionScheme()
	return id
}

// inlineIndex reads an INDEX inside a table definition.
func (p *parser) inlineIndex(column bool) *syntax.IndexDef {
	d := &syntax.IndexDef{At: p.here()}
	p.expect("INDEX")
	d.Name = p.ident()
	d.Unique = p.accept("UNIQUE")
	d.Clustering = p.clustering()
	d.Columnstore = p.accept("COLUMNSTORE")
	if p.at("(") {
		d.Columns = p.indexColumns()
	} else if !column && !d.Columnstore {
		p.fail()
	}
	p.indexTail(d)
	return d
}

// indexTail reads INCLUDE, WHERE, WITH and ON.
func (p *parser) indexTail(d *syntax.IndexDef) {
	if p.accept("INCLUDE") {
		d.Include = p.identList()
	}
	if p.accept("WHERE") {
		d.Where = p.cond()
	}
	d.Options = p.indexOptions()
	d.On = p.filegroup()
	if p.at("FILESTREAM_ON") {
		p.reject("FILESTREAM_ON")
	}
}

// createTable reads CREATE TABLE after TABLE.
func (p *parser) createTable() syntax.Stmt {
	s := &syntax.CreateTableStmt{Name: p.objectName()}
	if p.at("AS") {
		p.reject("CREATE TABLE AS " + p.peek(1).Text)
		return nil
	}
	s.Def = p.tableDef()
	for {
		switch {
		case p.at("AS"):
			p.reject("a graph table (AS NODE, AS EDGE)")
		case p.at("ON"):
			if s.On = p.filegroup(); s.On.Name == "" { // ON DELETE without a foreign key
				p.next()
				p.fail()
			}
		case p.accept("TEXTIMAGE_ON"):
			s.TextImageOn = p.alias()
		case p.at("FILESTREAM_ON"):
			p.reject("FILESTREAM_ON")
		case p.at("WITH", "("):
			p.next()
			s.Options = p.options(false)
		default:
			return s
		}
	}
}

// createIndex reads CREATE INDEX after CREATE.
func (p *parser) createIndex() syntax.Stmt {
	d := &syntax.IndexDef{At: p.here()}
	s := &syntax.CreateIndexStmt{Def: d}
	d.Unique = p.accept("UNIQUE")
	d.Clustering = p.clustering()
	d.Columnstore = p.accept("COLUMNSTORE")
	p.expect("INDEX")
	d.Name = p.ident()
	p.expect("ON")
	s.Table = p.objectName()
	if p.at("(") {
		d.Columns = p.indexColumns()
	} else if !d.Columnstore {
		p.fail()
	}
	if d.Columnstore && p.accept("ORDER") {
		p.unsupported("an ordered columnstore index")
		p.identList()
	}
	p.indexTail(d)
	return s
}

// alterIndex reads ALTER INDEX after INDEX.
func (p *parser) alterIndex() syntax.Stmt {
	s := &syntax.AlterIndexStmt{}
	if !p.accept("ALL") {
		s.Name = p.ident()
	}
	p.expect("ON")
	s.Table = p.objectName()
	s.Action = p.expectAny("REBUILD", "REORGANIZE", "DISABLE", "SET", "RESUME", "PAUSE", "ABORT")
	s.Partition = p.partition()
	switch {
	case s.Action == "SET":
		s.Options = p.options(false)
	case p.at("WITH", "("):
		p.next()
		s.Options = p.options(false)
	}
	return s
}

// partition reads PARTITION = n or ALL; it returns nil if there is none.
func (p *parser) partition() syntax.Expr {
	if !p.accept("PARTITION") {
		return nil
	}
	p.expect("=")
	e := p.here()
	if p.accept("ALL") {
		return &syntax.Keyword{At: e, Name: "ALL"}
	}
	return p.expr()
}

// dropIndexOptions reads the options of DROP INDEX in parentheses, including MOVE TO filegroup.
func (p *parser) dropIndexOptions() []*syntax.Option {
	p.expect("(")
	var list []*syntax.Option
	for {
		o := &syntax.Option{At: p.here()}
		switch {
		case p.accept("MOVE", "TO"):
			o.Name = "MOVE TO"
			o.Value = &syntax.ColumnRef{At: o.At, Parts: []syntax.Ident{p.alias()}}
			p.partitionScheme()
		case p.accept("FILESTREAM_ON"):
			p.reject("FILESTREAM_ON")
		default:
			o = p.option(false)
		}
		list = append(list, o)
		if !p.accept(",") {
			break
		}
	}
	p.expect(")")
	return list
}

// dropIndex reads DROP INDEX after INDEX: "ix ON t" and the old form "t.ix".
func (p *parser) dropIndex() syntax.Stmt {
	s := &syntax.DropIndexStmt{IfExists: p.accept("IF", "EXISTS")}
	for {
		d := &syntax.DropIndexItem{At: p.here()}
		name := p.objectName()
		if p.accept("ON") {
			if len(name.Parts) > 1 {
				p.failAt(p.previous())
			}
			d.Index = name.Parts[0]
			d.Table = p.objectName()
			if p.accept("WITH") {
				d.Options = p.dropIndexOptions()
			}
		} else {
			if len(name.Parts) < 2 {
				p.fail()
				return s
			}
			d.Index = name.Parts[len(name.Parts)-1]
			d.Table = &syntax.ObjectName{At: name.At, Parts: name.Parts[:len(name.Parts)-1]}
		}
		s.Items = append(s.Items, d)
		if !p.accept(",") {
			return s
		}
	}
}

// alterTable reads ALTER TABLE after TABLE.
func (p *parser) alterTable() syntax.Stmt {
	s := &syntax.AlterTableStmt{Table: p.objectName()}
	n := p.here()
	mode := syntax.CheckDefault
	switch {
	case p.accept("WITH", "CHECK"):
		mode = syntax.WithCheck
	case p.accept("WITH", "NOCHECK"):
		mode = syntax.WithNoCheck
	}
	switch {
	case p.accept("ADD"):
		d := &syntax.TableDef{At: p.here()}
		for {
			if p.at("DEFAULT") || p.at("CONSTRAINT") {
				d.Constraints = append(d.Constraints, p.constraint(false))
			} else {
				p.tableElement(d)
			}
			if !p.accept(",") {
				break
			}
		}
		s.Action = &syntax.AlterAdd{At: n, Mode: mode, Def: d}
	case p.atAny("CHECK", "NOCHECK"):
		a := &syntax.AlterCheck{At: n, Mode: mode, Enable: p.next().Upper == "CHECK"}
		p.expect("CONSTRAINT")
		a.Names = p.allOrIdents()
		s.Action = a
	case mode != syntax.CheckDefault:
		p.fail()
	case p.accept("DROP"):
		s.Action = p.alterDrop(n)
	case p.accept("ALTER", "COLUMN"):
		s.Action = p.alterColumn(n)
	case p.atAny("ENABLE", "DISABLE") && p.peek(1).Is("TRIGGER"):
		a := &syntax.AlterTrigger{At: n, Enable: p.next().Upper == "ENABLE"}
		p.expect("TRIGGER")
		a.Names = p.allOrIdents()
		s.Action = a
	case p.atAny("ENABLE", "DISABLE") && p.peek(1).Is("CHANGE_TRACKING"):
		p.reject("change tracking")
	case p.accept("SET"):
		s.Action = &syntax.AlterSet{At: n, Options: p.options(false)}
	case p.accept("REBUILD"):
		a := &syntax.AlterRebuild{At: n, Partition: p.partition()}
		if p.at("WITH", "(") {
			p.next()
			a.Options = p.options(false)
		}
		s.Action = a
	case p.accept("SWITCH"):
		a := &syntax.AlterSwitch{At: n}
		if p.accept("PARTITION") {
			a.Partition = p.expr()
		}
		p.expect("TO")
		a.To = p.objectName()
		if p.accept("PARTITION") {
			a.ToPartition = p.expr()
		}
		s.Action = a
	default:
		p.fail()
	}
	return s
}

// allOrIdents reads ALL, for which it returns nil, or names.
func (p *parser) allOrIdents() []syntax.Ident {
	if p.accept("ALL") {
		return nil
	}
	ids := []syntax.Ident{p.ident()}
	for p.accept(",") {
		ids = append(ids, p.ident())
	}
	return ids
}

// alterDrop reads the columns and constraints after DROP. The words COLUMN and CONSTRAINT apply to
// all names that follow.
func (p *parser) alterDrop(n syntax.At) syntax.AlterTableAction {
	a := &syntax.AlterDrop{At: n}
	column, exists := false, false
	for {
		i := &syntax.AlterDropItem{At: p.here()}
		switch {
		case p.accept("COLUMN"):
			column, exists = true, p.accept("IF", "EXISTS")
		case p.accept("CONSTRAINT"):
			column, exists = false, p.accept("IF", "EXISTS")
		case p.at("PERIOD", "FOR"):
			p.reject("a system-versioned table")
		}
		i.Column, i.IfExists, i.Name = column, exists, p.ident()
		if p.at("WITH", "(") {
			p.next()
			p.options(false)
		}
		a.Items = append(a.Items, i)
		if !p.accept(",") {
			return a
		}
	}
}

// alterColumn reads ALTER COLUMN after COLUMN.
func (p *parser) alterColumn(n syntax.At) syntax.AlterTableAction {
	a := &syntax.AlterColumn{At: n, Column: &syntax.ColumnDef{At: p.here(), Name: p.ident()}}
	if w := p.acceptAny("ADD", "DROP"); w != "" {
		what := ""
		switch {
		case p.accept("NOT", "FOR", "REPLICATION"):
			what = "NOT FOR REPLICATION"
		case p.at("MASKED"):
			p.reject("a masked column (MASKED WITH)")
		default:
			what = p.expectAny("ROWGUIDCOL", "PERSISTED", "SPARSE", "HIDDEN")
		}
		if w == "ADD" {
			a.Add = what
		} else {
			a.Drop = what
		}
		return a
	}
	a.Column.Type = p.typeRef()
	if p.accept("COLLATE") {
		a.Column.Collation = p.ident().Name
	}
	a.Column.Null = p.nullSpec()
	a.Column.Sparse = p.accept("SPARSE")
	if p.at("WITH", "(") {
		p.next()
		p.options(false)
	}
	return a
}
