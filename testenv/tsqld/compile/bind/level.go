package bind

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// Level is one level of name resolution: the sources of a SELECT. Names that are not found are
// looked up in the parent.
type Level struct {
	parent  *Level
	Sources []*tree.Source
	// Agg says whether aggregates are allowed here, and records those found; nil outside a SELECT.
	Agg *Aggregation
	// NoSubquery and NoColumns refuse subqueries and columns in CHECK constraints, VALUES and the
	// like.
	NoSubquery bool
	NoColumns  bool
	windows    []*syntax.WindowDef
}

// Aggregation is the state of aggregates and window functions of one SELECT.
type Aggregation struct {
	allowed     bool  // aggregates are allowed here
	Refusal     error // the error if aggregates are not allowed
	windows     bool  // window functions are allowed here
	inArguments bool  // inside the arguments of an aggregate
	inWindow    bool  // inside a window function
	found       bool  // the SELECT has an aggregate
	grouped     bool  // the SELECT has a GROUP BY
	// named is the innermost SELECT whose columns the current aggregate has named so far; nil for
	// none.
	named *Level
}

// Dotted joins the parts of a name for messages.
func Dotted(parts []syntax.Ident) string {
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = p.Name
	}
	return strings.Join(names, ".")
}

// width returns the number of columns that a name may have to be compared with.
func (l *Level) width() (n int) {
	for at := l; at != nil; at = at.parent {
		for _, src := range at.Sources {
			n += len(src.Columns)
		}
	}
	return n
}

// find resolves a column name of one to four parts. Errors: 207, 209, 4104.
func (l *Level) find(parts []syntax.Ident) (*tree.Node, error) {
	name := parts[len(parts)-1].Name
	if len(parts) == 1 {
		for at := l; at != nil; at = at.parent {
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
	for at := l; at != nil; at = at.parent {
		for _, src := range at.Sources {
			if !src.Matches(q) {
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
	if l.Agg == nil || !l.Agg.inArguments {
		return
	}
	for outer := at.parent; outer != nil && l.Agg.named != nil; outer = outer.parent {
		if outer == l.Agg.named {
			l.Agg.named = nil
		}
	}
	if l.Agg.named == nil {
		l.Agg.named = at
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
		if strings.EqualFold(src.Name, name) {
			return src
		}
	}
	return nil
}
