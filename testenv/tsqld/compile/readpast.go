package compile

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
)

// READPAST skips rows that other sessions have locked. This server locks whole databases, so a
// source with READPAST returns all its rows or none. The result without these rows is known at
// compile time: either the statement has no rows to return or change (rewrite.NeedsPastRows), or a
// second plan is compiled in which the source is empty.

// readPast marks a source of FROM as READPAST. The hint applies to all tables of a view or common
// table expression. It has no effect on temporary tables and table variables, which no other
// session can lock.
func (b *binder) readPast(src *tree.Source) {
	if src.Query != nil {
		b.readPastQuery(src.Query)
		return
	}
	if src.Base == nil || src.DatabaseID == 0 {
		return
	}
	src.ReadPast, src.Empty = true, b.emptyPast
	if !slices.Contains(b.needs.ReadPast, src.DatabaseID) {
		b.needs.ReadPast = append(b.needs.ReadPast, src.DatabaseID)
	}
}

// readPastQuery applies readPast to the tables of a query, but not to those of subqueries in its
// expressions.
func (b *binder) readPastQuery(q *tree.Query) {
	switch {
	case q == nil:
	case q.Core != nil:
		b.readPastFrom(q.Core.From)
	case q.Set != nil:
		b.readPastQuery(q.Set.X)
		b.readPastQuery(q.Set.Y)
	case q.Recursive != nil:
		b.readPastQuery(q.Recursive.Anchor)
		for _, s := range q.Recursive.Steps {
			b.readPastQuery(s)
		}
	}
}

// readPastFrom applies readPast to an item of FROM.
func (b *binder) readPastFrom(f tree.From) {
	switch f := f.(type) {
	case *tree.Source:
		b.readPast(f)
	case *tree.Join:
		b.readPastFrom(f.Left)
		b.readPastFrom(f.Right)
	}
}

// forEmptyPast returns a compiler of plans in which sources with READPAST are empty.
func (c *Compiler) forEmptyPast() *Compiler {
	r := *c
	r.emptyPast = true
	return &r
}

// needsPastPlan reports whether a second plan is needed: a source has READPAST, and no other source
// asks for locks, which the second plan would not take.
func (c *Compiler) needsPastPlan(n *plan.Needs) bool {
	return !c.emptyPast && len(n.ReadPast) > 0 && !n.OtherLocks
}

// addPastPlan compiles the second plan of a statement that changes temporary tables or table
// variables. Statements that change other tables always wait for the lock to write.
func (c *Compiler) addPastPlan(d *plan.DML, again func(*Compiler) (*plan.DML, error)) (err error) {
	if d.NeedsPastRows || d.Database != 0 || d.IntoDatabase != 0 || !c.needsPastPlan(&d.Needs) {
		return nil
	}
	d.PastPlan, err = again(c.forEmptyPast())
	return err
}

// noteLock records that a source asks for locks.
func (b *binder) noteLock(past bool) {
	b.needs.Locks = !b.emptyPast
	b.needs.OtherLocks = b.needs.OtherLocks || !past
}
