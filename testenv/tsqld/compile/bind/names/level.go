package names

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// Level is one level of name resolution: the sources of a SELECT. Names that are not found are
// looked up in the parent.
type Level struct {
	Parent  *Level
	Sources []*tree.Source
	// Agg says whether aggregates are allowed here, and records those found; nil outside a SELECT.
	Agg *Aggregation
	// NoSubquery and NoColumns refuse subqueries and columns in CHECK constraints, VALUES and the
	// like.
	NoSubquery bool
	NoColumns  bool
	Windows    []*syntax.WindowDef
}

// Aggregation is the state of aggregates and window functions of one SELECT.
type Aggregation struct {
	Allowed     bool  // aggregates are allowed here
	Refusal     error // the error if aggregates are not allowed
	Windows     bool  // window functions are allowed here
	InArguments bool  // inside the arguments of an aggregate
	InWindow    bool  // inside a window function
	Found       bool  // the SELECT has an aggregate
	// Named is the innermost SELECT whose columns the current aggregate has named so far; nil for
	// none.
	Named *Level
}

// Dotted joins the parts of a name for messages.
func Dotted(parts []syntax.Ident) string {
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = p.Name
	}
	return strings.Join(names, ".")
}

// Matches reports whether a qualifier (the parts before the column) names a source.
func Matches(s *tree.Source, q []syntax.Ident) bool {
	if s.Name == "" || !isNamed(s, q[len(q)-1].Name) {
		return false
	}
	if len(q) == 1 {
		return true
	}
	if s.Schema == "" || q[len(q)-2].Name != "" && !s.Names.Equal(q[len(q)-2].Name, s.Schema) {
		return false
	}
	return len(q) == 2 || q[len(q)-3].Name == "" || catalog.EqualNames(q[len(q)-3].Name, s.DB)
}

// isNamed reports whether a name is that of a source. The names inserted and deleted ignore case.
func isNamed(s *tree.Source, name string) bool {
	return s.Names.Equal(name, s.Name) || IsTransition(s.Name) && catalog.EqualNames(name, s.Name)
}

// Width returns the number of columns that a name may have to be compared with.
func (l *Level) Width() (n int) {
	for at := l; at != nil; at = at.Parent {
		for _, src := range at.Sources {
			n += len(src.Columns)
		}
	}
	return n
}

// Find resolves a column name of one to four parts. Errors: 207, 209, 4104.
func (l *Level) Find(parts []syntax.Ident) (*tree.Node, error) {
	name := parts[len(parts)-1].Name
	if len(parts) == 1 {
		for at := l; at != nil; at = at.Parent {
			src, i, err := at.unqualified(name)
			if err != nil {
				return nil, err
			}
			if src != nil {
				l.name(at)
				return src.Resolve(i)
			}
		}
		return nil, mserr.InvalidColumn(name)
	}
	q := parts[:len(parts)-1]
	for at := l; at != nil; at = at.Parent {
		for _, src := range at.Sources {
			if !Matches(src, q) {
				continue
			}
			switch i := src.ColumnByName(name); i {
			case -1:
				return nil, mserr.InvalidColumn(name)
			case -2:
				return nil, mserr.AmbiguousColumn(name)
			default:
				l.name(at)
				return src.Resolve(i)
			}
		}
	}
	return nil, mserr.Unbound(Dotted(parts))
}

// name records that an expression of this level names a column of the level at, which is l or an
// outer level.
func (l *Level) name(at *Level) {
	if l.Agg == nil || !l.Agg.InArguments {
		return
	}
	for outer := at.Parent; outer != nil && l.Agg.Named != nil; outer = outer.Parent {
		if outer == l.Agg.Named {
			l.Agg.Named = nil
		}
	}
	if l.Agg.Named == nil {
		l.Agg.Named = at
	}
}

// unqualified looks up a name without a qualifier among the sources of one level. It returns a nil
// source if there is none.
func (l *Level) unqualified(name string) (*tree.Source, int, error) {
	var in *tree.Source
	at := -1
	for _, src := range l.Sources {
		switch i := src.ColumnByName(name); {
		case i == -2, i >= 0 && in != nil:
			return nil, 0, mserr.AmbiguousColumn(name)
		case i >= 0:
			in, at = src, i
		}
	}
	return in, at, nil
}

// Exposed returns the source with an exposed name (the qualifier of its columns), or nil.
func (l *Level) Exposed(name string) *tree.Source {
	for _, src := range l.Sources {
		if src.Names.Equal(src.Name, name) {
			return src
		}
	}
	return nil
}

// Aggregates returns the aggregation state of a level, or nil outside a SELECT.
func (l *Level) Aggregates() *Aggregation {
	if l == nil {
		return nil
	}
	return l.Agg
}

// CheckNested returns an error if no aggregate of any SELECT is allowed here: 147 or 130.
func (a *Aggregation) CheckNested() error {
	switch {
	case a == nil:
		return mserr.AggregateInWhere()
	case a.InArguments:
		return mserr.AggregateInAggregate()
	}
	return nil
}

// CheckAllowed returns an error if an aggregate of this SELECT's rows is not allowed here: 147,
// 4101 and others.
func (a *Aggregation) CheckAllowed() error {
	switch {
	case a == nil, !a.Allowed && a.Refusal == nil: // in FROM
		return mserr.AggregateInApply()
	case !a.Allowed:
		return a.Refusal
	}
	return nil
}

// Expose adds a source to a level. Errors: 106 for too many sources, 1011 for a duplicate alias,
// 1013 for a duplicate table.
func (l *Level) Expose(src *tree.Source, aliased bool) error {
	if len(l.Sources) >= mostTables {
		return mserr.TooManyTables(MaxTables)
	}
	if src.Name != "" {
		for _, other := range l.Sources {
			if !src.Names.Equal(other.Name, src.Name) || !other.Names.Equal(other.Name, src.Name) {
				continue
			}
			if aliased {
				return mserr.DuplicateCorrelation(src.Name)
			}
			if src.Names.Equal(other.Schema, src.Schema) && other.DB == src.DB {
				return mserr.SameExposedNames(src.Name, other.Name)
			}
		}
	}
	l.Sources = append(l.Sources, src)
	return nil
}
