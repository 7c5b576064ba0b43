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
	src.past, src.void = true, b.skipping
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

// readsNothing reports whether a query has no rows when its sources with READPAST have none.
func (q *query) readsNothing() bool {
	switch {
	case q.document != documentNone:
		return false
	case q.recursive != nil:
		return q.recursive.anchor.readsNothing()
	case q.set != nil && strings.HasPrefix(q.set.op, "UNION"):
		return q.set.x.readsNothing() && q.set.y.readsNothing()
	case q.set != nil:
		return q.set.x.readsNothing() || q.set.op == "INTERSECT" && q.set.y.readsNothing()
	case q.core == nil:
		return false
	}
	c := q.core
	if c.sets != nil || len(c.group) == 0 && (c.grouped || c.having != nil) {
		return false // one row over no rows
	}
	return fromNothing(c.from, c.where)
}

// fromNothing is readsNothing for FROM and WHERE.
func fromNothing(f fromNode, where *node) bool {
	if f != nil && joinsNothing(f) {
		return true
	}
	for _, n := range conjuncts(where) {
		if (n.op == opExists || n.op == opInQuery) && n.sub.readsNothing() {
			return true
		}
	}
	return false
}

// joinsNothing is readsNothing for an item of FROM.
func joinsNothing(f fromNode) bool {
	switch f := f.(type) {
	case *source:
		return f.past || f.query != nil && f.query.readsNothing()
	case *join:
		switch f.kind {
		case "JOIN", "CROSS JOIN":
			return joinsNothing(f.left) || joinsNothing(f.right)
		case "LEFT JOIN":
			return joinsNothing(f.left)
		case "RIGHT JOIN":
			return joinsNothing(f.right)
		case "FULL JOIN":
			return joinsNothing(f.left) && joinsNothing(f.right)
		}
	}
	return false
}

// skipping is the compiler of plans whose sources with READPAST are empty.
func (c *Compiler) skipping() *Compiler { return &Compiler{scope: c.scope, skips: true} }

// compilesPast reports whether a second plan is wanted: a source has READPAST, and no other one asks for locks, which the second plan
// would not take.
func (c *Compiler) compilesPast(n *Needs) bool {
	return !c.skips && len(n.Past) > 0 && !n.strict
}

// nothing is a plan like p without rows. It touches no database.
func (p *Plan) nothing(columns int) *Plan {
	return &Plan{
		Statement: Statement{SQL: "SELECT NULL" + strings.Repeat(", NULL", columns-1) + " WHERE 0"},
		Needs:     Needs{Uses: p.Uses, Skips: true},
		Columns:   p.Columns, Assign: p.Assign, Chunks: p.Chunks,
	}
}

// past compiles a change of temporary tables or table variables again for when the sources with READPAST have no rows; others have to
// wait until they may write.
func (c *Compiler) past(d *DML, again func(*Compiler) (*DML, error)) (err error) {
	if d.Nothing || d.Database != 0 || d.IntoDatabase != 0 || !c.compilesPast(&d.Needs) {
		return nil
	}
	d.PastPlan, err = again(c.skipping())
	return err
}

// noteLock notes that a source asks for locks.
func (b *binder) noteLock(past bool) {
	b.needs.Locks = !b.skipping
	b.needs.strict = b.needs.strict || !past
}
