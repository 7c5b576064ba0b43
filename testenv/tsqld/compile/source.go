package compile

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// source is a named set of rows: an item of FROM, or inserted and deleted of OUTPUT.
type source struct {
	alias string // alias in the SQL; "" for columns without a qualifier (CHECK constraints)
	name  string // qualifier of its columns: the alias, or the table's name
	// db and schema may also qualify the name of a table without an alias.
	db, schema string
	cols       []sourceColumn

	// Exactly one of these is set, or none for rows that SQLite provides otherwise (spools,
	// inserted and deleted).
	table  string // SQLite's table name, with its schema
	query  *query // a derived table
	rowset *node  // a table-valued function, or an expression that returns encoded rows

	xmlNodes   *xmlNodes      // set if the rows are those of the xml method nodes
	base       *catalog.Table // the table, if the source is one
	clientName []string       // the table's name as reported to clients
	view       *catalog.View  // the view, if the source is one
	databaseID int            // id of its database, 0 for temporary tables
	used       bool           // a column of the source was resolved
	readPast   bool           // WITH (READPAST)
	empty      bool           // has no rows: see [binder.readPast]
	// lineage is the SELECT of a view, CTE or derived table through which rows can be changed; nil
	// otherwise.
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
	owner  *source       // the source that is the table of base
	origin *sourceColumn // for a derived table: the table column behind it, or nil
	expr   bool          // for a derived table: the column is an expression
	// expand returns the expression of a column that SQLite does not store: a computed column, or
	// an expression over other sources. It is nil for ordinary columns.
	expand func() (*node, error)
}

// level is one level of name resolution: the sources of a SELECT. Names that are not found are
// looked up in the parent.
type level struct {
	parent  *level
	sources []*source
	// agg says whether aggregates are allowed here, and records those found; nil outside a SELECT.
	agg *aggregation
	// noSubquery and noColumns refuse subqueries and columns in CHECK constraints, VALUES and the
	// like.
	noSubquery bool
	noColumns  bool
	windows    []*syntax.WindowDef
}

// aggregation is the state of aggregates and window functions of one SELECT.
type aggregation struct {
	allowed     bool  // aggregates are allowed here
	refusal     error // the error if aggregates are not allowed
	windows     bool  // window functions are allowed here
	inArguments bool  // inside the arguments of an aggregate
	inWindow    bool  // inside a window function
	found       bool  // the SELECT has an aggregate
	grouped     bool  // the SELECT has a GROUP BY
	// named is the innermost SELECT whose columns the current aggregate has named so far; nil for
	// none.
	named *level
}

// columnByName returns the index of a column; -1 if there is none, -2 if the name is ambiguous.
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

// resolve returns the node of a column of a source.
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
	if named.typ.IsCharacter() {
		named.label = referenceLabel(&s.cols[i])
	}
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

// width returns the number of columns that a name may have to be compared with.
func (l *level) width() (n int) {
	for at := l; at != nil; at = at.parent {
		for _, src := range at.sources {
			n += len(src.cols)
		}
	}
	return n
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

// name records that an expression of this level names a column of the level at, which is l or an
// outer level.
func (l *level) name(at *level) {
	if l.agg == nil || !l.agg.inArguments {
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

// unqualified looks up a name without a qualifier among the sources of one level. It returns a nil
// source if there is none.
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

// exposed returns the source with an exposed name (the qualifier of its columns), or nil.
func (l *level) exposed(name string) *source {
	for _, src := range l.sources {
		if strings.EqualFold(src.name, name) {
			return src
		}
	}
	return nil
}
