package ddl

import (
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/query"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/term"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
)

// alterTable reads ALTER TABLE after TABLE.
func alterTable(c *tokens.Cursor) syntax.Stmt {
	s := &syntax.AlterTableStmt{Table: term.Name(c)}
	n := c.Here()
	mode := syntax.CheckDefault
	switch {
	case c.Accept("WITH", "CHECK"):
		mode = syntax.WithCheck
	case c.Accept("WITH", "NOCHECK"):
		mode = syntax.WithNoCheck
	}
	switch {
	case c.Accept("ADD"):
		d := &syntax.TableDef{At: c.Here()}
		for {
			if c.At("DEFAULT") || c.At("CONSTRAINT") {
				d.Constraints = append(d.Constraints, constraint(c, false))
			} else {
				tableElement(c, d)
			}
			if !c.Accept(",") {
				break
			}
		}
		s.Action = &syntax.AlterAdd{At: n, Mode: mode, Def: d}
	case c.AtAny("CHECK", "NOCHECK"):
		a := &syntax.AlterCheck{At: n, Mode: mode, Enable: c.Next().Upper == "CHECK"}
		c.Expect("CONSTRAINT")
		a.Names = term.AllOrIdents(c)
		s.Action = a
	case mode != syntax.CheckDefault:
		c.Fail()
	case c.Accept("DROP"):
		s.Action = alterDrop(c, n)
	case c.Accept("ALTER", "COLUMN"):
		s.Action = alterColumn(c, n)
	case c.AtAny("ENABLE", "DISABLE") && c.Peek(1).Is("TRIGGER"):
		a := &syntax.AlterTrigger{At: n, Enable: c.Next().Upper == "ENABLE"}
		c.Expect("TRIGGER")
		a.Names = term.AllOrIdents(c)
		s.Action = a
	case c.AtAny("ENABLE", "DISABLE") && c.Peek(1).Is("CHANGE_TRACKING"):
		c.Reject("change tracking")
	case c.Accept("SET"):
		s.Action = &syntax.AlterSet{At: n, Options: term.Options(c, false)}
	case c.Accept("REBUILD"):
		a := &syntax.AlterRebuild{At: n, Partition: partition(c)}
		if c.At("WITH", "(") {
			c.Next()
			a.Options = term.Options(c, false)
		}
		s.Action = a
	case c.Accept("SWITCH"):
		a := &syntax.AlterSwitch{At: n}
		if c.Accept("PARTITION") {
			a.Partition = query.Expr(c)
		}
		c.Expect("TO")
		a.To = term.Name(c)
		if c.Accept("PARTITION") {
			a.ToPartition = query.Expr(c)
		}
		s.Action = a
	default:
		c.Fail()
	}
	return s
}

// alterDrop reads the columns and constraints after DROP. The words COLUMN and CONSTRAINT apply to
// all names that follow.
func alterDrop(c *tokens.Cursor, n syntax.At) syntax.AlterTableAction {
	a := &syntax.AlterDrop{At: n}
	column, exists := false, false
	for {
		i := &syntax.AlterDropItem{At: c.Here()}
		switch {
		case c.Accept("COLUMN"):
			column, exists = true, c.Accept("IF", "EXISTS")
		case c.Accept("CONSTRAINT"):
			column, exists = false, c.Accept("IF", "EXISTS")
		case c.At("PERIOD", "FOR"):
			c.Reject("a system-versioned table")
		}
		i.Column, i.IfExists, i.Name = column, exists, term.Ident(c)
		if c.At("WITH", "(") {
			c.Next()
			term.Options(c, false)
		}
		a.Items = append(a.Items, i)
		if !c.Accept(",") {
			return a
		}
	}
}

// alterColumn reads ALTER COLUMN after COLUMN.
func alterColumn(c *tokens.Cursor, n syntax.At) syntax.AlterTableAction {
	a := &syntax.AlterColumn{At: n, Column: &syntax.ColumnDef{At: c.Here(), Name: term.Ident(c)}}
	if w := c.AcceptAny("ADD", "DROP"); w != "" {
		what := ""
		switch {
		case c.Accept("NOT", "FOR", "REPLICATION"):
			what = "NOT FOR REPLICATION"
		case c.At("MASKED"):
			c.Reject("a masked column (MASKED WITH)")
		default:
			what = c.ExpectAny("ROWGUIDCOL", "PERSISTED", "SPARSE", "HIDDEN")
		}
		if w == "ADD" {
			a.Add = what
		} else {
			a.Drop = what
		}
		return a
	}
	a.Column.Type = term.Type(c)
	if c.Accept("COLLATE") {
		a.Column.Collation = term.Ident(c).Name
	}
	a.Column.Null = term.NullSpec(c)
	a.Column.Sparse = c.Accept("SPARSE")
	if c.At("WITH", "(") {
		c.Next()
		term.Options(c, false)
	}
	return a
}
