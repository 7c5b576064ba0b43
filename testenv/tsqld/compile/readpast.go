package compile

import (
	"slices"
	"strings"
)

// READPAST skips rows that other sessions have locked. Locks here are those of whole databases, so that a source with READPAST has all its
// rows or none. What a statement does when it has none is known when it is compiled: nothing at all, where no row is left
// (readsNothing), or what a second plan says, in which the source is empty.

// readPast notes that a source of FROM has READPAST, which applies to all tables of a view or common table expression, too. Temporary
// tables and table variables belong to the session alone.
func (b *binder) readPast(src *source) {
	if src.query != nil {
		b.readPastQuery(src.query)
		return
	}
	if src.base == nil || src.home == 0 {
		return
	}
	src.past, src.empty = true, b.emptyPast
	if !slices.Contains(b.needs.Past, src.home) {
		b.needs.Past = append(b.needs.Past, src.home)
	}
}

// readPastQuery is readPast for the tables of a query; not for those of subqueries in its expressions.
func (b *binder) readPastQuery(q *query) {
	switch {
	case q == nil:
	case q.core != nil:
		b.readPastFrom(q.core.from)
	case q.set != nil:
		b.readPastQuery(q.set.x)
		b.readPastQuery(q.set.y)
	case q.recursive != nil:
		b.readPastQuery(q.recursive.anchor)
		for _, s := range q.recursive.steps {
			b.readPastQuery(s)
		}
	}
}

// readPastFrom is readPast for an item of FROM.
func (b *binder) readPastFrom(f fromNode) {
	switch f := f.(type) {
	case *source:
		b.readPast(f)
	case *join:
		b.readPastFrom(f.left)
		b.readPastFrom(f.right)
	}
}

// needsPastRows reports whether a query has no rows when its sources with READPAST have none.
func (q *query) needsPastRows() bool {
	switch {
	case q.document != documentNone:
		return false
	case q.recursive != nil:
		return q.recursive.anchor.needsPastRows()
	case q.set != nil && strings.HasPrefix(q.set.op, "UNION"):
		return q.set.x.needsPastRows() && q.set.y.needsPastRows()
	case q.set != nil:
		return q.set.x.needsPastRows() || q.set.op == "INTERSECT" && q.set.y.needsPastRows()
	case q.core == nil:
		return false
	}
	c := q.core
	if c.sets != nil || len(c.group) == 0 && (c.grouped || c.having != nil) {
		return false // one row over no rows
	}
	return fromNeedsPastRows(c.from, c.where)
}

// fromNeedsPastRows is readsNothing for FROM and WHERE.
func fromNeedsPastRows(f fromNode, where *node) bool {
	if f != nil && joinNeedsPastRows(f) {
		return true
	}
	for _, n := range conjuncts(where) {
		if (n.op == opExists || n.op == opInQuery) && n.sub.needsPastRows() {
			return true
		}
	}
	return false
}

// joinNeedsPastRows is readsNothing for an item of FROM.
func joinNeedsPastRows(f fromNode) bool {
	switch f := f.(type) {
	case *source:
		return f.past || f.query != nil && f.query.needsPastRows()
	case *join:
		switch f.kind {
		case "JOIN", "CROSS JOIN":
			return joinNeedsPastRows(f.left) || joinNeedsPastRows(f.right)
		case "LEFT JOIN":
			return joinNeedsPastRows(f.left)
		case "RIGHT JOIN":
			return joinNeedsPastRows(f.right)
		case "FULL JOIN":
			return joinNeedsPastRows(f.left) && joinNeedsPastRows(f.right)
		}
	}
	return false
}

// forEmptyPast is the compiler of plans whose sources with READPAST are empty.
func (c *Compiler) forEmptyPast() *Compiler { return &Compiler{scope: c.scope, emptyPast: true} }

// needsPastPlan reports whether a second plan is wanted: a source has READPAST, and no other one asks for locks, which the second plan
// would not take.
func (c *Compiler) needsPastPlan(n *Needs) bool {
	return !c.emptyPast && len(n.Past) > 0 && !n.otherLocks
}

// emptyPlan is a plan like p without rows. It touches no database.
func (p *Plan) emptyPlan(columns int) *Plan {
	return &Plan{
		Statement: Statement{SQL: "SELECT NULL" + strings.Repeat(", NULL", columns-1) + " WHERE 0"},
		Needs:     Needs{Uses: p.Uses, Skips: true},
		Columns:   p.Columns, Assign: p.Assign, Chunks: p.Chunks,
	}
}

// addPastPlan compiles a change of temporary tables or table variables again for when the sources with READPAST have no rows; others have to
// wait until they may write.
func (c *Compiler) addPastPlan(d *DML, again func(*Compiler) (*DML, error)) (err error) {
	if d.Nothing || d.Database != 0 || d.IntoDatabase != 0 || !c.needsPastPlan(&d.Needs) {
		return nil
	}
	d.PastPlan, err = again(c.forEmptyPast())
	return err
}

// noteLock notes that a source asks for locks.
func (b *binder) noteLock(past bool) {
	b.needs.Locks = !b.emptyPast
	b.needs.otherLocks = b.needs.otherLocks || !past
}
