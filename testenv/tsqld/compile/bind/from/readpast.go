package from

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// READPAST skips rows that other sessions have locked. Rows of parked transactions are skipped by a
// condition (keys.LocalClaim). While another session has the writer lock, all rows count as locked,
// so that a source with READPAST has no rows. The result without these rows is known at compile
// time: either the statement has no rows to return or change (rewrite.NeedsPastRows), or a second
// plan is compiled in which the source is empty.

// claims are the locks of rows that hints ask for, in ascending order of strength.
var claims = map[string]keys.Claim{"REPEATABLEREAD": "S", "UPDLOCK": "U", "XLOCK": "X"}

// claimOf returns the strongest lock of rows that hints ask for.
func claimOf(hints []*syntax.TableHint) keys.Claim {
	c := keys.ClaimNone
	for _, h := range hints {
		c = max(c, claims[h.Name]) // "-" is before the letters
	}
	return c
}

// readPast marks a source of FROM as READPAST. The hint applies to all tables of a view or common
// table expression. It has no effect on temporary tables and table variables, which no other
// session can lock.
func (b *Binder) readPast(src *tree.Source, claim keys.Claim) {
	if src.Query != nil {
		b.readPastQuery(src.Query, claim)
		return
	}
	if src.Base == nil || src.DatabaseID == 0 {
		return
	}
	src.ReadPast, src.Empty = true, b.EmptyPast
	src.Claim = max(src.Claim, claim)
	if !slices.Contains(b.Needs.ReadPast, src.DatabaseID) {
		b.Needs.ReadPast = append(b.Needs.ReadPast, src.DatabaseID)
	}
}

// readPastQuery applies readPast to the tables of a query, but not to those of subqueries in its
// expressions.
func (b *Binder) readPastQuery(q *tree.Query, claim keys.Claim) {
	switch {
	case q == nil:
	case q.Core != nil:
		b.readPastFrom(q.Core.From, claim)
	case q.Set != nil:
		b.readPastQuery(q.Set.X, claim)
		b.readPastQuery(q.Set.Y, claim)
	case q.Recursive != nil:
		b.readPastQuery(q.Recursive.Anchor, claim)
		for _, s := range q.Recursive.Steps {
			b.readPastQuery(s, claim)
		}
	}
}

// readPastFrom applies readPast to an item of FROM.
func (b *Binder) readPastFrom(f tree.From, claim keys.Claim) {
	switch f := f.(type) {
	case *tree.Source:
		b.readPast(f, claim)
	case *tree.Join:
		b.readPastFrom(f.Left, claim)
		b.readPastFrom(f.Right, claim)
	}
}
