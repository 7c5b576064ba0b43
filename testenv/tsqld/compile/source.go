package compile

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// source is something that yields rows under a name: an item of FROM, or inserted and deleted of OUTPUT.
type source struct {
	alias string // in SQLite; "" for columns without qualifier (CHECK constraints)
	name  string // by which columns are qualified: the alias, or the table's name
	// db and schema are those by which a table without alias may be qualified, too.
	db, schema string
	cols       []sourceColumn

	// What it is; exactly one is set, or none for rows that SQLite has otherwise (spools, pseudo-tables).
	table  string // SQLite's name with its schema
	query  *query // a derived table
	rowset *node  // a rowset, or what yields the text of rows: see asRowset

	base       *catalog.Table // the table, where there is one
	clientName []string       // the table's name as clients are told it
	view       *catalog.View  // the view, where it is one
	home       int            // its database, 0 for temporary ones
	used       bool           // a column was resolved
	past       bool           // WITH (READPAST)
	empty      bool           // shows no rows: see [binder.readPast]
	// lineage is the SELECT behind a view, CTE or derived table through which rows may be changed; nil otherwise.
	lineage *core
}

// sourceColumn is a column of a source.
type sourceColumn struct {
	name   string
	typ    types.Type
	null   bool
	label  label
	sql    string // SQLite's column name
	hidden bool   // cannot be named and is not part of *
	base   *catalog.Column
	owner  *source       // the source of a table, with base
	origin *sourceColumn // of a derived table: the column of a table that it shows; nil for others
	expr   bool          // of a derived table: an expression
	// expand yields the expression for a computed column that SQLite does not hold, or for a column that is an
	// expression over other sources; nil for ordinary columns.
	expand func() (*node, error)
}

// level is one level of name resolution: the sources of a SELECT. Names that are not found are looked up
// in the parent.
type level struct {
	parent  *level
	sources []*source
	// agg says whether aggregates may stand at this place, and collects that there were some.
	agg *aggregation
	// noSubquery and noColumns refuse what cannot stand in CHECK constraints, VALUES and the like.
	noSubquery bool
	noColumns  bool
	windows    []*syntax.WindowDef
}

// aggregation is the state of aggregates and window functions of one SELECT.
type aggregation struct {
	allowed bool  // aggregates may stand here
	refuse  error // what to answer otherwise
	windows bool  // window functions may stand here
	inside  bool  // within an aggregate's arguments
	over    bool  // within a window function
	found   bool  // there was an aggregate
	grouped bool  // there is a GROUP BY
	// named is the innermost SELECT whose columns the aggregate that is being bound has named so far; nil for none.
	named *level
}

// columnByName finds a column by name; -1 for none, -2 for several.
func (s *source) columnByName(name string) int {
	found := -1
	for i := range s.cols {
		if !s.cols[i].hidden && strings.EqualFold(s.cols[i].name, name) {
			if found >= 0 {
				return -2
			}
			found = i
		}
	}
	return found
}

// matches reports whether a qualifier (the parts before the column) names the source.
func (s *source) matches(q []syntax.Ident) bool {
	if s.name == "" || !strings.EqualFold(q[len(q)-1].Name, s.name) {
		return false
	}
	if len(q) == 1 {
		return true
	}
	if s.schema == "" || q[len(q)-2].Name != "" && !strings.EqualFold(q[len(q)-2].Name, s.schema) {
		return false
	}
	return len(q) == 2 || q[len(q)-3].Name == "" || strings.EqualFold(q[len(q)-3].Name, s.db)
}

// resolve is the node of a column of a source.
func (s *source) resolve(i int) (*node, error) {
	s.used = true
	expand := s.cols[i].expand
	if expand == nil {
		return columnNode(s, i), nil
	}
	n, err := expand()
	if err != nil {
		return nil, err
	}
	named := *n
	named.via = &s.cols[i]
	return &named, nil
}

// dotted joins the parts of a name for messages.
func dotted(parts []syntax.Ident) string {
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = p.Name
	}
	return strings.Join(names, ".")
}

// find resolves a column name of one to four parts. Errors: 207, 209, 4104.
func (l *level) find(parts []syntax.Ident) (*node, error) {
	name := parts[len(parts)-1].Name
	if len(parts) == 1 {
		for at := l; at != nil; at = at.parent {
			src, i, err := at.unqualified(name)
			if err != nil {
				return nil, err
			}
			if src != nil {
				l.name(at)
				return src.resolve(i)
			}
		}
		return nil, mserr.InvalidColumn(name)
	}
	q := parts[:len(parts)-1]
	for at := l; at != nil; at = at.parent {
		for _, src := range at.sources {
			if !src.matches(q) {
				continue
			}
			switch i := src.columnByName(name); i {
			case -1:
				return nil, mserr.InvalidColumn(name)
			case -2:
				return nil, mserr.AmbiguousColumn(name)
			default:
				l.name(at)
				return src.resolve(i)
			}
		}
	}
	return nil, mserr.Unbound(dotted(parts))
}

// name notes that an expression of this level names a column of itself or of an outer one.
func (l *level) name(at *level) {
	if l.agg == nil || !l.agg.inside {
		return
	}
	for outer := at.parent; outer != nil && l.agg.named != nil; outer = outer.parent {
		if outer == l.agg.named {
			l.agg.named = nil
		}
	}
	if l.agg.named == nil {
		l.agg.named = at
	}
}

// unqualified looks for a name among the sources of one level; a nil source means that there is none.
func (l *level) unqualified(name string) (*source, int, error) {
	var in *source
	at := -1
	for _, src := range l.sources {
		switch i := src.columnByName(name); {
		case i == -2, i >= 0 && in != nil:
			return nil, 0, mserr.AmbiguousColumn(name)
		case i >= 0:
			in, at = src, i
		}
	}
	return in, at, nil
}

// exposed finds a source by the name by which columns are qualified; nil for none.
func (l *level) exposed(name string) *source {
	for _, src := range l.sources {
		if strings.EqualFold(src.name, name) {
			return src
		}
	}
	return nil
}
