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
		for ok := true; ok; ok = c.Accept(",") {
			if c.AtAny("DEFAULT", "CONSTRAINT") {
				d.Constraints = append(d.Constraints, constraint(c, false))
			} else {
				tableElement(c, d)
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
		s.Action = &syntax.AlterSet{At: n, Options: term.Options(c)}
	case c.Accept("REBUILD"):
		s.Action = &syntax.AlterRebuild{At: n, Partition: partition(c), Options: term.WithOptions(c)}
	case c.Accept("SWITCH"):
		c.Unsupported("ALTER TABLE SWITCH")
		if c.Accept("PARTITION") {
			query.Expr(c)
		}
		c.Expect("TO")
		term.Name(c)
		if c.Accept("PARTITION") {
			query.Expr(c)
		}
	default:
		c.Fail()
	}
	return s
}

// alterDrop reads the columns and constraints after DROP. The words COLUMN and CONSTRAINT apply to
// all names that follow.
func alterDrop(c *tokens.Cursor, n syntax.At) syntax.AlterTableAction {
	column, exists := false, false
	return &syntax.AlterDrop{At: n, Items: tokens.List(c, func(c *tokens.Cursor) *syntax.AlterDropItem {
		at := c.Here()
		if c.At("PERIOD", "FOR") {
			c.Reject("a system-versioned table")
		}
		if w := c.AcceptAny("COLUMN", "CONSTRAINT"); w != "" {
			column, exists = w == "COLUMN", c.Accept("IF", "EXISTS")
		}
		i := &syntax.AlterDropItem{At: at, Column: column, IfExists: exists, Name: term.Ident(c)}
		term.WithOptions(c)
		return i
	})}
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
	a.Column.Collation = term.Collation(c)
	a.Column.Null = term.NullSpec(c)
	a.Column.Sparse = c.Accept("SPARSE")
	term.WithOptions(c)
	return a
}
