package module

import (
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// references returns the names of tables, views and functions in a statement.
func references(st syntax.Stmt) []*syntax.ObjectName {
	var names []*syntax.ObjectName
	syntax.Inspect(st, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.TableName:
			names = append(names, n.Name)
		case *syntax.FuncCall:
			if n.Name.Schema() != "" {
				names = append(names, n.Name)
			}
		}
		return true
	})
	return names
}

// SchemaBinder returns a view or function WITH SCHEMABINDING that depends on an object, or nil.
func SchemaBinder(d *catalog.Database, target catalog.Object) (catalog.Object, error) {
	for o := range d.Objects() {
		m := catalog.ModuleOf(o)
		if m == nil || !m.SchemaBound || o.Head().ObjectID == target.Head().ObjectID {
			continue
		}
		st, err := Parse(m)
		if err != nil {
			return nil, err
		}
		for _, n := range references(st) {
			if found := d.Object(n.Schema(), n.Last()); found != nil &&
				found.Head().ObjectID == target.Head().ObjectID {
				return o, nil
			}
		}
	}
	return nil, nil
}

// CheckBinding returns an error for names that are not allowed in a module WITH SCHEMABINDING. SQL
// Server requires two-part names, so that the meaning of a name does not depend on a default schema
// (documentation of CREATE VIEW). Common table expressions and local names have one part.
func CheckBinding(st *syntax.CreateViewStmt) error {
	local := map[string]bool{}
	syntax.Inspect(st, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CTE); ok {
			local[catalog.Fold(c.Name.Name)] = true
		}
		return true
	})
	for _, n := range references(st) {
		if n.Schema() == "" && local[catalog.Fold(n.Last())] {
			continue
		}
		if n.Schema() == "" || n.Database() != "" {
			return failure.At(mserr.Of(4512, st.Name.String(), n.String()), n)
		}
	}
	return nil
}
