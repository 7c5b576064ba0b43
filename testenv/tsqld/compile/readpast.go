package compile

import (
	"slices"
	"strings"
)

// READPAST skips rows that other sessions have locked. This server locks whole databases, so a
// source with READPAST returns all its rows or none. The result without these rows is known at
// compile time: either the statement has no rows to return or change (needsPastRows), or a second
// plan is compiled in which the source is empty.

// readPast marks a source of FROM as READPAST. The hint applies to all tables of a view or common
// table expression. It has no effect on temporary tables and table variables, which no other
// session can lock.
func (b *binder) readPast(src *source) {
	if src.query != nil {
		b.readPastQuery(src.query)
		return
	}
	if src.base == nil || src.databaseID == 0 {
		return
	}
	src.readPast, src.empty = true, b.emptyPast
	if !slices.Contains(b.needs.ReadPast, src.databaseID) {
		b.needs.ReadPast = append(b.needs.ReadPast, src.databaseID)
	}
}

// readPastQuery applies readPast to the tables of a query, but not to those of subqueries in its
// expressions.
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

// readPastFrom applies readPast to an item of FROM.
func (b *binder) readPastFrom(f fromNode) {
	switch f := f.(type) {
	case *source:
		b.readPast(f)
	case *join:
		b.readPastFrom(f.left)
		b.readPastFrom(f.right)
	}
}

// needsPastRows reports whether a query has no rows when its sources with READPAST are empty.
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
		return false // an aggregate without groups returns one row
	}
	return fromNeedsPastRows(c.from, c.where)
}

// fromNeedsPastRows is needsPastRows for FROM and WHERE.
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

// joinNeedsPastRows is needsPastRows for an item of FROM.
func joinNeedsPastRows(f fromNode) bool {
	switch f := f.(type) {
	case *source:
		return f.readPast || f.query != nil && f.query.needsPastRows()
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

// forEmptyPast returns a compiler of plans in which sources with READPAST are empty.
func (c *Compiler) forEmptyPast() *Compiler {
	r := *c
	r.emptyPast = true
	return &r
}

// needsPastPlan reports whether a second plan is needed: a source has READPAST, and no other source
// asks for locks, which the second plan would not take.
func (c *Compiler) needsPastPlan(n *Needs) bool {
	return !c.emptyPast && len(n.ReadPast) > 0 && !n.otherLocks
}

// emptyPlan returns a plan like p that returns no rows and reads no database.
func (p *Plan) emptyPlan(columns int) *Plan {
	return &Plan{
		Statement: Statement{SQL: "SELECT NULL" + strings.Repeat(", NULL", columns-1) + " WHERE 0"},
		Needs:     Needs{Uses: p.Uses, EmptyPast: true},
		Columns:   p.Columns, Assign: p.Assign, Chunks: p.Chunks,
	}
}

// addPastPlan compiles the second plan of a statement that changes temporary tables or table
// variables. Statements that change other tables always wait for the lock to write.
func (c *Compiler) addPastPlan(d *DML, again func(*Compiler) (*DML, error)) (err error) {
	if d.NeedsPastRows || d.Database != 0 || d.IntoDatabase != 0 || !c.needsPastPlan(&d.Needs) {
		return nil
	}
	d.PastPlan, err = again(c.forEmptyPast())
	return err
}

// noteLock records that a source asks for locks.
func (b *binder) noteLock(past bool) {
	b.needs.Locks = !b.emptyPast
	b.needs.otherLocks = b.needs.otherLocks || !past
}
