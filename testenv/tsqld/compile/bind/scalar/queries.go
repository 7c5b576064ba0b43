package scalar

import (
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/names"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// Queries binds the queries inside expressions and FROM clauses.
type Queries interface {
	// Subquery binds a query in an expression. Error 1046 where subqueries are not allowed.
	Subquery(q *syntax.Query, l *names.Level, exists bool) (*tree.Query, error)
	// Query binds a query of FROM.
	Query(q *syntax.Query, parent *names.Level, use QueryUse) (*tree.Query, error)
}

// QueryUse describes the place of a query, where a rule depends on the place.
type QueryUse struct {
	Exists   bool // EXISTS: the select list is ignored
	Top      bool // a statement: ORDER BY needs no TOP, and assignments are allowed
	Set      bool // an operand of a set operation
	Browse   bool // browse mode: key columns are added
	Ordered  bool // the order of rows is kept although the query is not a statement: INSERT ... SELECT
	Assigned *[]Assignment
}

// Assignment is an item of SELECT @a = ....
type Assignment struct {
	Variable string
	Value    *tree.Node
}
