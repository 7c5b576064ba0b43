package sysviews

import (
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser"
)

// usageSets returns the system table about the columns in views for
// INFORMATION_SCHEMA.VIEW_COLUMN_USAGE. SQL Server does not have it.
func usageSets() []declaration {
	return []declaration{
		{name: "sys.spt_view_columns", rows: adding(viewColumns)},
	}
}

// viewColumns are the columns of tables and views that occur in the queries of views, without
// duplicates.
func viewColumns(env *Env, add func(row)) {
	for _, v := range catalog.Pick[*catalog.View](env.Database) {
		if !env.visible(v) {
			continue
		}
		b, err := parser.Parse(v.Text, parser.Options{QuotedIdentifier: v.QuotedIdentifier})
		if err != nil {
			continue // damaged definition; its use reports the error
		}
		u := usage{db: env.Database, schema: v.DefaultSchema, ctes: map[string]bool{}, seen: map[usedColumn]bool{}}
		for _, st := range b.Stmts {
			u.walk(st)
		}
		for _, c := range u.found {
			add(row{"view_id": int64(v.ObjectID), "object_id": int64(c.object), "name": c.name})
		}
	}
}

// usage collects the columns that occur in a query.
type usage struct {
	db     *catalog.Database
	schema string // schema of names without one
	ctes   map[string]bool
	scopes [][]usedSource // sources of the enclosing query blocks; the innermost is last
	seen   map[usedColumn]bool
	found  []usedColumn
}

// usedColumn is a column of a table or view.
type usedColumn struct {
	object int32
	name   string
}

// usedSource is a source of a query block.
type usedSource struct {
	alias   string            // folded
	object  int32             // 0 for derived tables and similar sources
	columns map[string]string // names by folded name; nil for derived tables and similar sources
	order   []string          // names in order
}

// walk visits a node and its descendants.
func (u *usage) walk(root syntax.Node) {
	syntax.Walk(root, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CTE:
			u.ctes[catalog.Fold(n.Name.Name)] = true
		case *syntax.Select:
			u.scopes = append(u.scopes, u.sources(n.From))
		case *syntax.SelectStar:
			u.star(n)
		case *syntax.ColumnRef:
			u.column(n)
		case *syntax.FuncCall: // possibly a method of an xml column
			if last := len(n.Name.Parts) - 1; last > 0 {
				u.column(&syntax.ColumnRef{Parts: n.Name.Parts[:last]})
			}
		}
		return true
	}, func(n syntax.Node) {
		if _, ok := n.(*syntax.Select); ok {
			u.scopes = u.scopes[:len(u.scopes)-1]
		}
	})
}

// sources returns the sources of a FROM clause.
func (u *usage) sources(from []syntax.TableSource) []usedSource {
	var out []usedSource
	for _, f := range from {
		syntax.Inspect(f, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.TableName:
				out = append(out, u.source(n))
			case *syntax.TableFunc:
				out = append(out, usedSource{alias: catalog.Fold(n.Alias.Name)})
			case *syntax.MethodTable:
				out = append(out, usedSource{alias: catalog.Fold(n.Alias.Name)})
			case *syntax.OpenJSON:
				out = append(out, usedSource{alias: catalog.Fold(n.Alias.Name)})
			case *syntax.ValuesTable:
				out = append(out, usedSource{alias: catalog.Fold(n.Alias.Name)})
			case *syntax.DerivedTable:
				out = append(out, usedSource{alias: catalog.Fold(n.Alias.Name)})
				return false
			case *syntax.Select:
				return false
			}
			return true
		})
	}
	return out
}

// source returns a table or view of FROM.
func (u *usage) source(n *syntax.TableName) usedSource {
	s := usedSource{alias: catalog.Fold(n.Alias.Name)}
	if s.alias == "" {
		s.alias = catalog.Fold(n.Name.Last())
	}
	schema := n.Name.Schema()
	if n.Name.Server() != "" || n.Name.Database() != "" && catalog.Fold(n.Name.Database()) != catalog.Fold(u.db.Name) ||
		schema == "" && u.ctes[catalog.Fold(n.Name.Last())] {
		return s
	}
	var o catalog.Object
	if schema != "" {
		o = u.db.Object(schema, n.Name.Last())
	} else if o = u.db.Object(u.schema, n.Name.Last()); o == nil {
		o = u.db.Object("dbo", n.Name.Last())
	}
	switch o := o.(type) {
	case *catalog.Table:
		for _, c := range o.Columns {
			s.order = append(s.order, c.Name)
		}
	case *catalog.View:
		for _, c := range o.Columns {
			s.order = append(s.order, c.Name)
		}
	default:
		return s
	}
	s.object, s.columns = o.Head().ObjectID, map[string]string{}
	for _, name := range s.order {
		s.columns[catalog.Fold(name)] = name
	}
	return s
}

// add records a column.
func (u *usage) add(s usedSource, name string) {
	c := usedColumn{s.object, name}
	if s.object != 0 && !u.seen[c] {
		u.seen[c] = true
		u.found = append(u.found, c)
	}
}

// star records the columns of * or t.* in the innermost query block.
func (u *usage) star(n *syntax.SelectStar) {
	if len(u.scopes) == 0 {
		return
	}
	for _, s := range u.scopes[len(u.scopes)-1] {
		if q := n.Qualifier; len(q) > 0 && catalog.Fold(q[len(q)-1].Name) != s.alias {
			continue
		}
		for _, name := range s.order {
			u.add(s, name)
		}
	}
}

// column resolves a name to a column of the innermost query block with such a column. If no table
// of a block has the column and the block reads a derived table, the column is assumed to be one of
// the derived table.
func (u *usage) column(n *syntax.ColumnRef) {
	name, qualifier := catalog.Fold(n.Column()), ""
	if len(n.Parts) > 1 {
		qualifier = catalog.Fold(n.Parts[len(n.Parts)-2].Name)
	}
	for i := len(u.scopes) - 1; i >= 0; i-- {
		opaque := false
		for _, s := range u.scopes[i] {
			if qualifier != "" && qualifier != s.alias {
				continue
			}
			if column, ok := s.columns[name]; ok {
				u.add(s, column)
				return
			}
			opaque = opaque || s.columns == nil
		}
		if opaque {
			return
		}
	}
}
