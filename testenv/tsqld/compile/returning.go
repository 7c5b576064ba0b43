package compile

import (
	"errors"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
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
func (b *builder) returning(t target, clause *syntax.Output, seen map[string]func(c *catalog.Column) bool) *query {
	row := &source{name: t.table.Name}
	at := map[*catalog.Column]int{}
	for _, c := range t.table.Columns {
		at[c] = len(row.cols)
		row.cols = append(
			row.cols,
			sourceColumn{name: c.Name, typ: c.Type, null: c.Nullable, label: labelImplicit, sql: c.SQLName},
		)
	}
	l := &level{agg: &aggregation{refusal: mserr.AggregateInOutput()}, noSubquery: true}
	for name, has := range seen {
		l.sources = append(l.sources, b.pseudo(name, t, func(c *catalog.Column) (*node, error) {
			if !has(c) {
				return nil, errNotReturned
			}
			return columnNode(row, at[c]), nil
		}))
	}
	q := &query{core: &core{}}
	for _, item := range clause.Items {
		if b.checkItems(q) != nil {
			return nil
		}
		switch item := item.(type) {
		case *syntax.SelectStar:
			if len(item.Qualifier) == 0 || b.star(item, q, l) != nil {
				return nil
			}
		case *syntax.SelectExpr:
			n, err := b.expr(item.X, l)
			if err != nil {
				return nil
			}
			q.add(n, outColumn{name: itemName(item), typ: n.typ, null: n.null, label: n.label})
		default:
			return nil
		}
	}
	return q
}

// emitReturning appends RETURNING to a statement and makes the statement the plan's Output.
func (d *DML) emitReturning(r *renderer, q *query) error {
	r.WriteString(" RETURNING ")
	r.lazy++
	r.list(q.core.items)
	r.lazy--
	st, err := r.statement()
	d.Output, d.OutputRows = &Plan{Statement: st, Columns: q.columnTypes()}, true
	return err
}

// emitChange ends a statement that changes the target, with RETURNING if q is not nil.
func (d *DML) emitChange(r *renderer, q *query) error {
	if q != nil {
		return d.emitReturning(r, q)
	}
	st, err := r.statement()
	d.Apply = []Statement{st}
	return err
}

// always is a presence test for returning that accepts every column.
func always(*catalog.Column) bool { return true }
