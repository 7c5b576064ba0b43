package from

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
)

// READPAST skips rows that other sessions have locked. This server locks whole databases, so a
// source with READPAST returns all its rows or none. The result without these rows is known at
// compile time: either the statement has no rows to return or change (rewrite.NeedsPastRows), or a
// second plan is compiled in which the source is empty.

// readPast marks a source of FROM as READPAST. The hint applies to all tables of a view or common
// table expression. It has no effect on temporary tables and table variables, which no other
// session can lock.
func (b *Binder) readPast(src *tree.Source) {
	if src.Query != nil {
		b.readPastQuery(src.Query)
		return
	}
	if src.Base == nil || src.DatabaseID == 0 {
		return
	}
	src.ReadPast, src.Empty = true, b.EmptyPast
	if !slices.Contains(b.Needs.ReadPast, src.DatabaseID) {
		b.Needs.ReadPast = append(b.Needs.ReadPast, src.DatabaseID)
	}
}

// readPastQuery applies readPast to the tables of a query, but not to those of subqueries in its
// expressions.
func (b *Binder) readPastQuery(q *tree.Query) {
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
func (b *Binder) readPastFrom(f tree.From) {
	switch f := f.(type) {
	case *tree.Source:
		b.readPast(f)
	case *tree.Join:
		b.readPastFrom(f.Left)
		b.readPastFrom(f.Right)
	}
}
