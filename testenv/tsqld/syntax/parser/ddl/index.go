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
	s := &syntax.CreateStatisticsStmt{Name: term.Ident(c)}
	c.Expect("ON")
	s.Table = term.Name(c)
	s.Columns = term.Idents(c)
	if c.Accept("WHERE") {
		s.Where = query.Cond(c)
	}
	if c.Accept("WITH") {
		s.Options = term.OptionList(c, false)
	}
	return s
}

// UpdateStatistics reads UPDATE STATISTICS.
func UpdateStatistics(c *tokens.Cursor) syntax.Stmt {
	c.Expect("UPDATE", "STATISTICS")
	s := &syntax.UpdateStatisticsStmt{Table: term.Name(c)}
	if c.At("(") {
		s.Names = term.Idents(c)
	} else if c.Current().IsName() {
		s.Names = []syntax.Ident{term.Ident(c)}
	}
	if c.Accept("WITH") {
		s.Options = term.OptionList(c, false)
	}
	return s
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
	c.Expect("(")
	var list []*syntax.IndexColumn
	for {
		col := &syntax.IndexColumn{At: c.Here(), Name: term.Ident(c)}
		col.Desc = c.AcceptAny("ASC", "DESC") == "DESC"
		list = append(list, col)
		if !c.Accept(",") {
			break
		}
	}
	c.Expect(")")
	return list
}

// oldIndexOptions are the options allowed after WITH without parentheses, as before SQL Server
// 2005.
var oldIndexOptions = scanner.WordSet(`FILLFACTOR PAD_INDEX IGNORE_DUP_KEY DROP_EXISTING STATISTICS_NORECOMPUTE
	SORT_IN_TEMPDB`)

// indexOptions reads WITH (options) and the old WITH FILLFACTOR = n, PAD_INDEX; it returns nil if
// there are none.
func indexOptions(c *tokens.Cursor) []*syntax.Option {
	if c.At("WITH", "(") {
		c.Next()
		return term.Options(c, false)
	}
	if !c.At("WITH") || c.Peek(1).Kind != scanner.Word || !oldIndexOptions[c.Peek(1).Upper] {
		return nil
	}
	c.Next()
	var list []*syntax.Option
	for {
		o := &syntax.Option{At: c.Here(), Name: c.Current().Upper, Equals: true}
		c.Next()
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

// inlineIndex reads an INDEX inside a table definition.
func inlineIndex(c *tokens.Cursor, column bool) *syntax.IndexDef {
	d := &syntax.IndexDef{At: c.Here()}
	c.Expect("INDEX")
	d.Name = term.Ident(c)
	d.Unique = c.Accept("UNIQUE")
	d.Clustering = clustering(c)
	d.Columnstore = c.Accept("COLUMNSTORE")
	if c.At("(") {
		d.Columns = indexColumns(c)
	} else if !column && !d.Columnstore {
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
	s := &syntax.CreateIndexStmt{Def: d}
	d.Unique = c.Accept("UNIQUE")
	d.Clustering = clustering(c)
	d.Columnstore = c.Accept("COLUMNSTORE")
	c.Expect("INDEX")
	d.Name = term.Ident(c)
	c.Expect("ON")
	s.Table = term.Name(c)
	if c.At("(") {
		d.Columns = indexColumns(c)
	} else if !d.Columnstore {
		c.Fail()
	}
	if d.Columnstore && c.Accept("ORDER") {
		c.Unsupported("an ordered columnstore index")
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
	switch {
	case s.Action == "SET":
		s.Options = term.Options(c, false)
	case c.At("WITH", "("):
		c.Next()
		s.Options = term.Options(c, false)
	}
	return s
}

// partition reads PARTITION = n or ALL; it returns nil if there is none.
func partition(c *tokens.Cursor) syntax.Expr {
	if !c.Accept("PARTITION") {
		return nil
	}
	c.Expect("=")
	e := c.Here()
	if c.Accept("ALL") {
		return &syntax.Keyword{At: e, Name: "ALL"}
	}
	return query.Expr(c)
}

// dropIndexOptions reads the options of DROP INDEX in parentheses, including MOVE TO filegroup.
func dropIndexOptions(c *tokens.Cursor) []*syntax.Option {
	c.Expect("(")
	var list []*syntax.Option
	for {
		o := &syntax.Option{At: c.Here()}
		switch {
		case c.Accept("MOVE", "TO"):
			o.Name = "MOVE TO"
			o.Value = &syntax.ColumnRef{At: o.At, Parts: []syntax.Ident{term.Alias(c)}}
			partitionScheme(c)
		case c.Accept("FILESTREAM_ON"):
			c.Reject("FILESTREAM_ON")
		default:
			o = term.Option(c, false)
		}
		list = append(list, o)
		if !c.Accept(",") {
			break
		}
	}
	c.Expect(")")
	return list
}

// dropIndex reads DROP INDEX after INDEX: "ix ON t" and the old form "t.ix".
func dropIndex(c *tokens.Cursor) syntax.Stmt {
	s := &syntax.DropIndexStmt{IfExists: c.Accept("IF", "EXISTS")}
	for {
		d := &syntax.DropIndexItem{At: c.Here()}
		name := term.Name(c)
		if c.Accept("ON") {
			if len(name.Parts) > 1 {
				c.FailAt(c.Previous())
			}
			d.Index = name.Parts[0]
			d.Table = term.Name(c)
			if c.Accept("WITH") {
				d.Options = dropIndexOptions(c)
			}
		} else {
			if len(name.Parts) < 2 {
				c.Fail()
				return s
			}
			d.Index = name.Parts[len(name.Parts)-1]
			d.Table = &syntax.ObjectName{At: name.At, Parts: name.Parts[:len(name.Parts)-1]}
		}
		s.Items = append(s.Items, d)
		if !c.Accept(",") {
			return s
		}
	}
}
