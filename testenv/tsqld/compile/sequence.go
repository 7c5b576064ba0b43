package compile

import (
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// nextValue binds NEXT VALUE FOR. Errors: 208 for an unknown name, 11726 for an object that is not
// a sequence.
func (b *binder) nextValue(e *syntax.NextValueExpr) (*node, error) {
	if e.Over != nil {
		return nil, mserr.NotSupported("NEXT VALUE FOR ... OVER")
	}
	db, o, err := b.object(e.Sequence)
	if err != nil {
		return nil, err
	}
	if o == nil {
		return nil, mserr.InvalidObject(e.Sequence.String())
	}
	s, ok := o.(*catalog.Sequence)
	if !ok {
		return nil, mserr.NotSequence(e.Sequence.String())
	}
	b.needPermission(db, s, "UPDATE")
	b.needDatabase(db.ID)
	b.needs.Sequences = true
	return &node{
		op:     opLocal,
		typ:    s.Type,
		key:    keys.LocalSequence + strconv.Itoa(db.ID) + "|" + strconv.Itoa(int(s.ObjectID)),
		traits: hasLocal | hasPerRow | canFail | hasSequence,
	}, nil
}

// shareSequenceValues makes all references to one sequence among the expressions of a row return
// the same value ("NEXT VALUE FOR"). Each reference gets the number of references, so that the
// interpreter takes a new value when all of them have been computed. SQLite may compute them in any
// order, but computes all of them, because they are not allowed in conditions.
func shareSequenceValues(row []*node) []*node {
	places := map[string]int{}
	for _, n := range row {
		if n == nil || n.traits&hasSequence == 0 {
			continue
		}
		n.walk(func(x *node) bool {
			if x.isSequence() {
				places[x.sequence()]++
			}
			return true
		})
	}
	for _, n := range places {
		if n > 1 {
			return withReferenceCounts(row, places)
		}
	}
	return row
}

// withReferenceCounts adds the number of references to the keys of the references to sequences.
func withReferenceCounts(row []*node, places map[string]int) []*node {
	out := make([]*node, len(row))
	for i, n := range row {
		out[i] = n.replace(func(x *node) *node {
			if !x.isSequence() {
				return nil
			}
			r := *x
			r.key = x.sequence() + "|" + strconv.Itoa(places[x.sequence()])
			return &r
		})
	}
	return out
}

// isSequence reports whether a node is a NEXT VALUE FOR.
func (n *node) isSequence() bool {
	return n.op == opLocal && strings.HasPrefix(n.key, keys.LocalSequence)
}

// sequence returns the key of a NEXT VALUE FOR without the number of references.
func (n *node) sequence() string {
	return strings.Join(strings.SplitN(n.key, "|", 4)[:3], "|")
}

// checkSequences returns an error for a NEXT VALUE FOR at a place in a SELECT where it is not
// allowed. Errors: 11719, 11720, 11721, 11723, 11739.
func checkSequences(r *query, l *level, use queryUse) error {
	c := r.core
	for _, n := range append([]*node{c.where, c.having, r.limit, r.offset}, c.group...) {
		if n != nil && n.traits&hasSequence != 0 {
			return mserr.NextValuePlace()
		}
	}
	for _, o := range r.order {
		if o.n.traits&hasSequence != 0 {
			return mserr.NextValuePlace()
		}
	}
	for _, n := range c.items {
		switch {
		case n.traits&hasSequence == 0:
			continue
		case use.set:
			return mserr.SequenceSet()
		case l.parent != nil || !use.top && !use.ordered:
			return mserr.SequencePlace()
		case c.distinct:
			return mserr.SequenceSet()
		case len(r.order) > 0:
			return mserr.SequenceOrderBy()
		case r.limit != nil || r.offset != nil:
			return mserr.SequenceTop()
		}
	}
	return nil
}

// refuseSequences returns error 11741 for a NEXT VALUE FOR among the arguments of CASE and similar
// functions.
func refuseSequences(args []*node) error {
	for _, a := range args {
		if a.traits&hasSequence != 0 {
			return mserr.SequenceConditional()
		}
	}
	return nil
}
