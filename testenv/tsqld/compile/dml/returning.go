package dml

import (
	"errors"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/names"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/lower"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// errNotReturned is returned for a value that SQLite's RETURNING lacks: RETURNING reads the changed
// row only.
var errNotReturned = errors.New("compile: RETURNING cannot yield this value")

// returning binds an OUTPUT clause as SQLite's RETURNING, which saves the spool. All items must be
// expressions over the row after the change (for DELETE, before the change). seen reports, for
// inserted and deleted, whether that row has the value of a column. returning returns nil if OUTPUT
// needs the spool or has an error, which the spool's path then reports.
func (b *builder) returning(t target, clause *syntax.Output, seen map[string]func(c *catalog.Column) bool) *tree.Query {
	row := &tree.Source{Name: t.table.Name, Names: t.table.Names()}
	at := map[*catalog.Column]int{}
	for _, c := range t.table.Columns {
		at[c] = len(row.Columns)
		row.Columns = append(
			row.Columns,
			tree.SourceColumn{Name: c.Name, Type: c.Type, Null: c.Nullable, Label: tree.LabelImplicit, SQL: c.SQLName},
		)
	}
	l := &names.Level{Agg: &names.Aggregation{Refusal: mserr.AggregateInOutput()}, NoSubquery: true}
	for name, has := range seen {
		l.Sources = append(l.Sources, b.pseudo(name, t, func(c *catalog.Column) (*tree.Node, error) {
			if !has(c) {
				return nil, errNotReturned
			}
			return tree.ColumnNode(row, at[c]), nil
		}))
	}
	q := &tree.Query{Core: &tree.Core{}}
	for _, item := range clause.Items {
		if b.CheckItems(q) != nil {
			return nil
		}
		switch item := item.(type) {
		case *syntax.SelectStar:
			if len(item.Qualifier) == 0 || b.Star(item, q, l) != nil {
				return nil
			}
		case *syntax.SelectExpr:
			n, err := b.Expr(item.X, l)
			if err != nil {
				return nil
			}
			q.Add(n, tree.ResultColumn{Name: bind.ItemName(item), Type: n.Type, Null: n.Null, Loose: n.Loose, Label: n.Label})
		default:
			return nil
		}
	}
	return q
}

// emitReturning appends RETURNING to a statement and makes the statement the plan's Output.
func emitReturning(d *plan.DML, r *lower.Renderer, q *tree.Query) error {
	r.WriteString(" RETURNING ")
	r.Lazily(q.Core.Items...)
	st, err := r.Statement()
	d.Output, d.OutputRows = &plan.Plan{Statement: st, Columns: q.ColumnTypes()}, true
	return err
}

// emitChange ends a statement that changes the target, with RETURNING if q is not nil.
func emitChange(d *plan.DML, r *lower.Renderer, q *tree.Query) error {
	if q != nil {
		return emitReturning(d, r, q)
	}
	st, err := r.Statement()
	d.Apply = []plan.Statement{st}
	return err
}

// always is a presence test for returning that accepts every column.
func always(*catalog.Column) bool { return true }
