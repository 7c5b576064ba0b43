package module

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser"
)

// references returns the names of tables, views and functions below a node.
func references(root syntax.Node) []*syntax.ObjectName {
	var names []*syntax.ObjectName
	syntax.Inspect(root, func(n syntax.Node) bool {
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

// Dependent returns the name of what prevents a change or the removal of an object: a view or
// function WITH SCHEMABINDING that names it or, if it is a function, a constraint or a table with a
// computed column. It returns "" if there is none.
func Dependent(d *catalog.Database, target catalog.Object) (string, error) {
	names := func(n syntax.Node) bool {
		return slices.ContainsFunc(references(n), func(n *syntax.ObjectName) bool {
			found := d.Object(n.Schema(), n.Last())
			return found != nil && found.Head().ObjectID == target.Head().ObjectID
		})
	}
	for o := range d.Objects() {
		m := catalog.ModuleOf(o)
		if m == nil || !m.SchemaBound || o.Head().ObjectID == target.Head().ObjectID {
			continue
		}
		st, err := Parse(m)
		if err != nil {
			return "", err
		}
		if names(st) {
			return o.Head().Name, nil
		}
	}
	if _, ok := target.(*catalog.Function); !ok {
		return "", nil
	}
	inText := func(text string) bool {
		n := Expression(text)
		return n != nil && names(n)
	}
	for _, t := range d.Tables() {
		for _, c := range t.Columns {
			switch {
			case c.Formula != nil && inText(c.Formula.Text):
				return t.Name, nil
			case c.Default != nil && inText(c.Default.Text):
				return c.Default.Name, nil
			}
		}
		for _, c := range t.Checks {
			if inText(c.Text) {
				return c.Name, nil
			}
		}
	}
	return "", nil
}

// Expression parses the stored text of an expression or condition. It returns nil for a damaged
// text, whose use reports the error.
func Expression(text string) syntax.Node {
	if cond, err := parser.ParseCond(text, parser.DefaultOptions); err == nil {
		return cond
	}
	if e, err := parser.ParseExpr(text, parser.DefaultOptions); err == nil {
		return e
	}
	return nil
}

// CheckBinding returns an error for names that are not allowed in a view or function WITH
// SCHEMABINDING. kind is the word for it, name its name. SQL Server requires two-part names, so
// that the meaning of a name does not depend on a default schema, and modules that are
// schema-bound themselves (documentation of CREATE VIEW). Common table expressions and local names
// have one part.
func CheckBinding(d *catalog.Database, kind string, name *syntax.ObjectName, st syntax.Stmt) error {
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
			return failure.At(mserr.Of(4512, kind, name.String(), n.String()), n)
		}
		if o := d.Object(n.Schema(), n.Last()); o != nil {
			if m := catalog.ModuleOf(o); m != nil && !m.SchemaBound {
				return failure.At(mserr.Of(4513, kind, name.String(), n.String()), n)
			}
		}
	}
	return nil
}
