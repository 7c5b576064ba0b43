package names

import (
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// CTEScope is a common table expression, linked to those declared before it. A CTE is expanded at
// each reference, as in SQL Server.
type CTEScope struct {
	Parent *CTEScope
	Def    *syntax.CTE
	Clause *CTEClause
	Number int   // position in the clause, from 0 on
	Place  Place // the place in which its names are resolved
	// Self is set while the recursive members are bound; it is the source of the expression's own
	// rows.
	Self *tree.Source
}

// CTEClause is a WITH clause. It finds names without a walk over all expressions.
type CTEClause struct {
	Outer  *CTEScope            // innermost expression of the clauses around this one
	ByName map[string]*CTEScope // by folded name
}

// Find returns the CTE with a name, or nil if there is none or the name has several parts.
func (s *CTEScope) Find(name *syntax.ObjectName) *CTEScope {
	if len(name.Parts) > 1 {
		return nil
	}
	for ; s != nil; s = s.Clause.Outer {
		rule := s.Place.DB.Names()
		folded := rule.Fold(name.Last())
		// A recursive member has a copy of its expression, which the map does not hold.
		if rule.Fold(s.Def.Name.Name) == folded {
			return s
		}
		if found := s.Clause.ByName[folded]; found != nil && found.Number <= s.Number {
			return found
		}
	}
	return nil
}
