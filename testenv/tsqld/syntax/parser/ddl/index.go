package ddl

import (
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/query"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/term"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// createStatistics reads CREATE STATISTICS after STATISTICS.
func createStatistics(c *tokens.Cursor) syntax.Stmt {
	term.Ident(c)
	c.Expect("ON")
	term.Name(c)
	term.Idents(c)
	if c.Accept("WHERE") {
		query.Cond(c)
	}
	term.WithOptionList(c)
	return &syntax.NoEffectStmt{}
}

// UpdateStatistics reads UPDATE STATISTICS.
func UpdateStatistics(c *tokens.Cursor) syntax.Stmt {
	c.Expect("UPDATE", "STATISTICS")
	term.Name(c)
	if c.At("(") {
		term.Idents(c)
	} else if c.Current().IsName() {
		term.Ident(c)
	}
	term.WithOptionList(c)
	return &syntax.NoEffectStmt{}
}

// clustering reads an optional CLUSTERED or NONCLUSTERED.
func clustering(c *tokens.Cursor) syntax.Clustering {
	if c.At("NONCLUSTERED", "HASH") {
		c.Reject("a hash index")
	}
	switch c.AcceptAny("CLUSTERED", "NONCLUSTERED") {
	case "CLUSTERED":
		return syntax.Clustered
	case "NONCLUSTERED":
		return syntax.NonClustered
	}
	return syntax.ClusteringDefault
}

// indexColumns reads columns with their directions, in parentheses.
func indexColumns(c *tokens.Cursor) []*syntax.IndexColumn {
	return tokens.ParenList(c, func(c *tokens.Cursor) *syntax.IndexColumn {
		return &syntax.IndexColumn{At: c.Here(), Name: term.Ident(c), Desc: c.AcceptAny("ASC", "DESC") == "DESC"}
	})
}

// oldIndexOptions are the options allowed after WITH without parentheses, as before SQL Server
// 2005.
var oldIndexOptions = scanner.WordSet(`FILLFACTOR PAD_INDEX IGNORE_DUP_KEY DROP_EXISTING STATISTICS_NORECOMPUTE
	SORT_IN_TEMPDB`)

// indexOptions reads WITH (options) and the old WITH FILLFACTOR = n, PAD_INDEX; it returns nil if
// there are none.
func indexOptions(c *tokens.Cursor) []*syntax.Option {
	if !c.At("WITH") || !oldIndexOptions[c.Peek(1).Upper] {
		return term.WithOptions(c)
	}
	c.Next()
	var list []*syntax.Option
	for {
		o := &syntax.Option{At: c.Here(), Name: c.Next().Upper, Equals: true}
		if o.Name == "FILLFACTOR" {
			c.Expect("=")
			o.Value = query.Expr(c)
		} else {
			o.Value = &syntax.Keyword{At: o.At, Name: "ON"}
		}
		list = append(list, o)
		if !c.At(",") || !oldIndexOptions[c.Peek(1).Upper] { // the comma may separate the columns of a table
			return list
		}
		c.Next()
	}
}

// filegroup reads an optional ON name. ON scheme(column) is a partition scheme.
func filegroup(c *tokens.Cursor) syntax.Ident {
	if !c.At("ON") || c.Peek(1).Is("DELETE") || c.Peek(1).Is("UPDATE") {
		return syntax.Ident{}
	}
	c.Next()
	id := term.Alias(c)
	partitionScheme(c)
	return id
}

// indexKind reads UNIQUE, CLUSTERED and COLUMNSTORE into d, and reports whether there was
// COLUMNSTORE.
func indexKind(c *tokens.Cursor, d *syntax.IndexDef) (columnstore bool) {
	d.Unique = c.Accept("UNIQUE")
	d.Clustering = clustering(c)
	if columnstore = c.Accept("COLUMNSTORE"); columnstore {
		c.Unsupported("a columnstore index")
	}
	return columnstore
}

// inlineIndex reads an INDEX inside a table definition.
func inlineIndex(c *tokens.Cursor, column bool) *syntax.IndexDef {
	d := &syntax.IndexDef{At: c.Here()}
	c.Expect("INDEX")
	d.Name = term.Ident(c)
	columnstore := indexKind(c, d)
	if c.At("(") {
		d.Columns = indexColumns(c)
	} else if !column && !columnstore {
		c.Fail()
	}
	indexTail(c, d)
	return d
}

// indexTail reads INCLUDE, WHERE, WITH and ON.
func indexTail(c *tokens.Cursor, d *syntax.IndexDef) {
	if c.Accept("INCLUDE") {
		d.Include = term.Idents(c)
	}
	if c.Accept("WHERE") {
		d.Where = query.Cond(c)
	}
	d.Options = indexOptions(c)
	d.On = filegroup(c)
	if c.At("FILESTREAM_ON") {
		c.Reject("FILESTREAM_ON")
	}
}

// createIndex reads CREATE INDEX after CREATE.
func createIndex(c *tokens.Cursor) syntax.Stmt {
	d := &syntax.IndexDef{At: c.Here()}
	columnstore := indexKind(c, d)
	s := &syntax.CreateIndexStmt{Def: d}
	c.Expect("INDEX")
	d.Name = term.Ident(c)
	c.Expect("ON")
	s.Table = term.Name(c)
	if c.At("(") {
		d.Columns = indexColumns(c)
	} else if !columnstore {
		c.Fail()
	}
	if columnstore && c.Accept("ORDER") {
		term.Idents(c)
	}
	indexTail(c, d)
	return s
}

// alterIndex reads ALTER INDEX after INDEX.
func alterIndex(c *tokens.Cursor) syntax.Stmt {
	s := &syntax.AlterIndexStmt{}
	if !c.Accept("ALL") {
		s.Name = term.Ident(c)
	}
	c.Expect("ON")
	s.Table = term.Name(c)
	s.Action = c.ExpectAny("REBUILD", "REORGANIZE", "DISABLE", "SET", "RESUME", "PAUSE", "ABORT")
	s.Partition = partition(c)
	if s.Action == "SET" {
		s.Options = term.Options(c)
	} else {
		s.Options = term.WithOptions(c)
	}
	return s
}

// partition reads PARTITION = n or ALL; it returns nil if there is none.
func partition(c *tokens.Cursor) syntax.Expr {
	if !c.Accept("PARTITION") {
		return nil
	}
	c.Expect("=")
	if c.At("ALL") {
		return &syntax.Keyword{At: c.Here(), Name: c.Next().Upper}
	}
	return query.Expr(c)
}

// dropIndexOption reads an option of DROP INDEX, such as MOVE TO filegroup.
func dropIndexOption(c *tokens.Cursor) *syntax.Option {
	at := c.Here()
	switch {
	case c.Accept("MOVE", "TO"):
		id := term.Alias(c)
		partitionScheme(c)
		return &syntax.Option{At: at, Name: "MOVE TO", Value: &syntax.ColumnRef{At: at, Parts: []syntax.Ident{id}}}
	case c.At("FILESTREAM_ON"):
		c.Reject("FILESTREAM_ON")
	}
	return term.Option(c)
}

// dropIndex reads DROP INDEX after INDEX: "ix ON t" and the old form "t.ix".
func dropIndex(c *tokens.Cursor) syntax.Stmt {
	s := &syntax.DropIndexStmt{IfExists: c.Accept("IF", "EXISTS")}
	s.Items = tokens.List(c, func(c *tokens.Cursor) *syntax.DropIndexItem {
		d := &syntax.DropIndexItem{At: c.Here()}
		name := term.Name(c)
		last := len(name.Parts) - 1
		d.Index = name.Parts[last]
		switch {
		case c.Accept("ON"):
			if last > 0 {
				c.FailAt(c.Previous())
			}
			d.Table = term.Name(c)
			if c.Accept("WITH") {
				d.Options = tokens.ParenList(c, dropIndexOption)
			}
		case last == 0:
			c.Fail()
		default:
			d.Table = &syntax.ObjectName{At: name.At, Parts: name.Parts[:last]}
		}
		return d
	})
	return s
}
