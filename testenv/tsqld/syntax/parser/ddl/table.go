package ddl

import (
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/query"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/term"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
)

// TableDef reads a table definition in parentheses.
func TableDef(c *tokens.Cursor) *syntax.TableDef {
	d := &syntax.TableDef{At: c.Here()}
	c.Expect("(")
	for {
		tableElement(c, d)
		if !c.Accept(",") || c.At(")") { // a trailing comma is allowed
			break
		}
	}
	c.Expect(")")
	return d
}

// tableElement reads a column, constraint or index into d.
func tableElement(c *tokens.Cursor, d *syntax.TableDef) {
	switch {
	case c.AtAny("CONSTRAINT", "PRIMARY", "UNIQUE", "FOREIGN", "CHECK"):
		d.Constraints = append(d.Constraints, constraint(c, false))
	case c.At("INDEX"):
		d.Indexes = append(d.Indexes, inlineIndex(c, false))
	case c.At("PERIOD", "FOR", "SYSTEM_TIME"):
		c.Reject("a system-versioned table")
	default:
		d.Columns = append(d.Columns, columnDef(c))
	}
}

// columnDef reads a column.
func columnDef(c *tokens.Cursor) *syntax.ColumnDef {
	col := &syntax.ColumnDef{At: c.Here(), Name: term.Ident(c)}
	switch {
	case c.Accept("AS"):
		col.Computed = query.Expr(c)
		if c.Accept("PERSISTED") {
			col.Persisted = true
			col.Null = term.NullSpec(c)
		}
	case c.AtAny(",", ")") && query.Lower(col.Name.Name) == "timestamp":
		return col
	default:
		col.Type = term.Type(c)
	}
	for columnOption(c, col) {
	}
	return col
}

// columnOption reads one attribute of a column, and reports whether there was one.
func columnOption(c *tokens.Cursor, col *syntax.ColumnDef) bool {
	switch {
	case c.Accept("COLLATE"):
		col.Collation = term.Ident(c).Name
	case c.At("NULL"), c.At("NOT", "NULL"):
		col.Null = term.NullSpec(c)
	case c.At("IDENTITY"):
		id := &syntax.IdentitySpec{At: c.Here(), Seed: "1", Increment: "1"}
		c.Next()
		if c.Accept("(") {
			id.Seed, id.Increment = term.SeedAndIncrement(c)
			c.Expect(")")
		}
		id.NotForReplication = c.Accept("NOT", "FOR", "REPLICATION")
		col.Identity = id
	case c.Accept("ROWGUIDCOL"):
		col.RowGUIDCol = true
	case c.Accept("SPARSE"):
		col.Sparse = true
	case c.Accept("PERSISTED"):
		col.Persisted = true
	case c.At("DEFAULT"), c.At("CONSTRAINT") && c.Peek(2).Is("DEFAULT"):
		col.Default, _ = constraint(c, true).(*syntax.DefaultConstraint)
	case c.AtAny("CONSTRAINT", "PRIMARY", "UNIQUE", "FOREIGN", "REFERENCES", "CHECK"):
		col.Constraints = append(col.Constraints, constraint(c, true))
	case c.At("INDEX"):
		col.Index = inlineIndex(c, true)
	case c.At("GENERATED", "ALWAYS"):
		c.Reject("a generated column (GENERATED ALWAYS)")
	case c.At("MASKED", "WITH"):
		c.Reject("a masked column (MASKED WITH)")
	case c.At("ENCRYPTED", "WITH"):
		c.Reject("an encrypted column (ENCRYPTED WITH)")
	case c.At("FILESTREAM"):
		c.Reject("a FILESTREAM column")
	case c.At("COLUMN_SET"):
		c.Reject("a column set")
	default:
		return false
	}
	return true
}

// constraint reads a constraint. column is set for a constraint on a column.
func constraint(c *tokens.Cursor, column bool) syntax.Constraint {
	base := syntax.ConstraintBase{At: c.Here()}
	if c.Accept("CONSTRAINT") {
		base.Name = term.Ident(c)
	}
	switch {
	case c.At("PRIMARY", "KEY"), c.At("UNIQUE"):
		k := &syntax.KeyConstraint{ConstraintBase: base, Primary: c.At("PRIMARY")}
		c.Next()
		c.Accept("KEY")
		k.Clustering = clustering(c)
		if c.At("(") {
			k.Columns = indexColumns(c)
		} else if !column {
			c.Fail()
		}
		k.Options = indexOptions(c)
		k.On = filegroup(c)
		return k
	case c.At("CHECK"):
		c.Next()
		k := &syntax.CheckConstraint{ConstraintBase: base, NotForReplication: c.Accept("NOT", "FOR", "REPLICATION")}
		k.Cond = tokens.Parens(c, query.Cond)
		return k
	case c.At("DEFAULT"):
		c.Next()
		k := &syntax.DefaultConstraint{ConstraintBase: base, Value: query.Expr(c)}
		if !column {
			c.Expect("FOR")
			k.Column = term.Ident(c)
		}
		k.WithValues = c.Accept("WITH", "VALUES")
		return k
	}
	k := &syntax.ForeignKeyConstraint{ConstraintBase: base}
	if c.Accept("FOREIGN", "KEY") && (!column || c.At("(")) {
		k.Columns = term.Idents(c)
	}
	c.Expect("REFERENCES")
	k.RefTable = term.Name(c)
	k.RefColumns = term.OptionalIdents(c)
	for {
		switch {
		case c.Accept("ON", "DELETE"):
			k.OnDelete = refAction(c)
		case c.Accept("ON", "UPDATE"):
			k.OnUpdate = refAction(c)
		case c.Accept("NOT", "FOR", "REPLICATION"):
			k.NotForReplication = true
		default:
			return k
		}
	}
}

// refAction reads the action of a foreign key.
func refAction(c *tokens.Cursor) syntax.RefAction {
	switch {
	case c.Accept("NO", "ACTION"):
	case c.Accept("CASCADE"):
		return syntax.Cascade
	case c.Accept("SET", "NULL"):
		return syntax.SetNull
	case c.Accept("SET", "DEFAULT"):
		return syntax.SetDefault
	default:
		c.Fail()
	}
	return syntax.NoAction
}

// CreateTable reads CREATE TABLE after TABLE.
func CreateTable(c *tokens.Cursor) syntax.Stmt {
	s := &syntax.CreateTableStmt{Name: term.Name(c)}
	if c.At("AS") {
		c.Reject("CREATE TABLE AS " + c.Peek(1).Text)
		return nil
	}
	s.Def = TableDef(c)
	for {
		switch {
		case c.At("AS"):
			c.Reject("a graph table (AS NODE, AS EDGE)")
		case c.At("ON"):
			if s.On = filegroup(c); s.On.Name == "" { // ON DELETE without a foreign key
				c.Next()
				c.Fail()
			}
		case c.Accept("TEXTIMAGE_ON"):
			s.TextImageOn = term.Alias(c)
		case c.At("FILESTREAM_ON"):
			c.Reject("FILESTREAM_ON")
		case c.At("WITH", "("):
			s.Options = term.WithOptions(c)
		default:
			return s
		}
	}
}
