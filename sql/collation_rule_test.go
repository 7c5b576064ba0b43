package sqlfs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// mixedCollations is rule "collation": texts of two collations are combined with a COLLATE that
// decides. The key of OPENJSON has a BIN2 collation and is Implicit, so its combination with
// another column has no collation, which the select list, MAX, STRING_AGG and comparisons refuse
// (https://learn.microsoft.com/sql/t-sql/statements/collation-precedence-transact-sql). A database
// of the same collation hides the conflict. A column that COLLATE made in a derived table or common
// table expression is Explicit outside of it too (SQL Server 2025, recorded), so such a column
// decides.
func mixedCollations(_ *tree, _ string, s statement) []string {
	var found []string
	for _, n := range s.own() {
		m := collationMix{}
		for m.collect(n) {
		}
		syntax.Inspect(n, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.FuncCall:
				if name := strings.ToUpper(n.Name.String()); slices.Contains([]string{"CONCAT", "CONCAT_WS", "COALESCE", "ISNULL", "STRING_AGG"}, name) {
					found = append(found, m.check(name, n.Args)...)
				}
			case *syntax.BinaryExpr:
				if n.Op == syntax.OpAdd {
					found = append(found, m.check("+", []syntax.Expr{n.X, n.Y})...)
				}
			case *syntax.CaseExpr:
				found = append(found, m.check("CASE", results(n))...)
			case *syntax.SetOp:
				for i, item := range items(n.X) {
					if other := items(n.Y); i < len(other) {
						found = append(found, m.check("UNION", []syntax.Expr{item.X, other[i].X})...)
					}
				}
			}
			return true
		})
	}
	return found
}

// collationMix knows the columns of a statement that have a collation of their own, as
// alias.column: the keys of OPENJSON (false), and the columns that COLLATE made (true).
type collationMix map[string]bool

// collect adds the columns that the known ones lead to, and reports whether there were any.
func (m collationMix) collect(n syntax.Node) bool {
	before := len(m)
	syntax.Inspect(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.OpenJSON:
			if n.Columns == nil {
				m[n.Alias.Name+".key"] = false
			}
		case *syntax.DerivedTable:
			m.columns(n.Alias.Name, n.Columns, n.Query.Body)
		case *syntax.CTE:
			m.columns(n.Name.Name, n.Columns, n.Query.Body)
		case *syntax.TableName:
			for name, collated := range m {
				if table, column, _ := strings.Cut(name, "."); table == n.Name.Last() && n.Alias.Name != "" {
					m[n.Alias.Name+"."+column] = collated
				}
			}
		}
		return true
	})
	return len(m) > before
}

// columns adds the columns of a derived table or common table expression.
func (m collationMix) columns(table string, names []syntax.Ident, body syntax.QueryBody) {
	for i, item := range items(body) {
		name := item.Alias.Name
		if c, ok := item.X.(*syntax.ColumnRef); ok && name == "" {
			name = c.Column()
		}
		if i < len(names) {
			name = names[i].Name
		}
		if p := m.parts(item.X); p.foreign != "" || p.decided {
			m[table+"."+name] = p.decided
		}
	}
}

// items returns the select list of the first SELECT of a query.
func items(body syntax.QueryBody) []*syntax.SelectExpr {
	var list []*syntax.SelectExpr
	switch b := body.(type) {
	case *syntax.SetOp:
		return items(b.X)
	case *syntax.ParenQuery:
		return items(b.X)
	case *syntax.Select:
		for _, item := range b.Items {
			x, _ := item.(*syntax.SelectExpr)
			if x == nil {
				x = &syntax.SelectExpr{}
			}
			list = append(list, x)
		}
	}
	return list
}

// results returns the results of a CASE.
func results(c *syntax.CaseExpr) []syntax.Expr {
	var list []syntax.Expr
	for _, w := range c.Whens {
		list = append(list, w.Then)
	}
	if c.Else != nil {
		list = append(list, c.Else)
	}
	return list
}

// textParts are the columns of which a text consists.
type textParts struct {
	foreign  string // a key of OPENJSON
	ordinary string // another column
	decided  bool   // COLLATE decides
}

// passing are the functions whose result has the collation of an argument.
var passing = []string{
	"CONCAT", "CONCAT_WS", "COALESCE", "ISNULL", "NULLIF", "LEFT", "RIGHT", "SUBSTRING", "REPLACE", "STUFF", "LTRIM", "RTRIM", "TRIM", "UPPER",
	"LOWER", "REVERSE", "STRING_ESCAPE", "QUOTENAME", "REPLICATE", "MAX", "MIN", "STRING_AGG", "JSON_VALUE", "JSON_QUERY", "JSON_MODIFY", "TRANSLATE",
}

// parts returns the columns of a text.
func (m collationMix) parts(x syntax.Expr) textParts {
	switch x := x.(type) {
	case *syntax.ParenExpr:
		return m.parts(x.X)
	case *syntax.CollateExpr:
		return textParts{decided: true}
	case *syntax.ColumnRef:
		var names []string
		for _, p := range x.Parts {
			names = append(names, p.Name)
		}
		name := strings.Join(names, ".")
		if collated, ok := m[name]; ok {
			return textParts{foreign: name, decided: collated}
		}
		return textParts{ordinary: name}
	case *syntax.CastExpr: // mostly of numbers, whose texts have no collation of their own
		p := m.parts(x.X)
		p.ordinary = ""
		if !strings.Contains(strings.ToUpper(x.Type.Name.Last()), "CHAR") {
			p = textParts{}
		}
		return p
	case *syntax.BinaryExpr:
		if x.Op == syntax.OpAdd {
			return m.all([]syntax.Expr{x.X, x.Y})
		}
	case *syntax.CaseExpr:
		return m.all(results(x))
	case *syntax.FuncCall:
		if slices.Contains(passing, strings.ToUpper(x.Name.String())) {
			return m.all(x.Args)
		}
	}
	return textParts{}
}

// all returns the columns of several texts.
func (m collationMix) all(list []syntax.Expr) textParts {
	var sum textParts
	for _, x := range list {
		p := m.parts(x)
		if sum.foreign == "" {
			sum.foreign = p.foreign
		}
		if sum.ordinary == "" {
			sum.ordinary = p.ordinary
		}
		sum.decided = sum.decided || p.decided
	}
	return sum
}

// check returns a finding if one of the operands has a key of OPENJSON and one of the others an
// ordinary column.
func (m collationMix) check(operation string, operands []syntax.Expr) []string {
	if m.all(operands).decided {
		return nil
	}
	for i, x := range operands {
		p := m.parts(x)
		others := m.all(append(slices.Clone(operands[:i]), operands[i+1:]...))
		if p.foreign != "" && others.ordinary != "" {
			return []string{fmt.Sprintf("%s of %s and %s needs COLLATE, because their collations differ", operation, p.foreign, others.ordinary)}
		}
	}
	return nil
}
