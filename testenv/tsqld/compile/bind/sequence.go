package bind

import (
	"strconv"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// nextValue binds NEXT VALUE FOR. Errors: 208 for an unknown name, 11726 for an object that is not
// a sequence.
func (b *scalarBinder) nextValue(e *syntax.NextValueExpr) (*tree.Node, error) {
	if e.Over != nil {
		return nil, mserr.NotSupported("NEXT VALUE FOR ... OVER")
	}
	db, o, err := b.Object(e.Sequence)
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
	b.NeedPermission(db, s, "UPDATE")
	b.NeedDatabase(db.ID)
	b.Needs.Sequences = true
	return &tree.Node{
		Op:     tree.OpLocal,
		Type:   s.Type,
		Key:    keys.LocalSequence + strconv.Itoa(db.ID) + "|" + strconv.Itoa(int(s.ObjectID)),
		Traits: tree.HasLocal | tree.HasPerRow | tree.CanFail | tree.HasSequence,
	}, nil
}

// checkSequences returns an error for a NEXT VALUE FOR at a place in a SELECT where it is not
// allowed. Errors: 11719, 11720, 11721, 11723, 11739.
func checkSequences(r *tree.Query, l *Level, use QueryUse) error {
	c := r.Core
	for _, n := range append([]*tree.Node{c.Where, c.Having, r.Limit, r.Offset}, c.Group...) {
		if n != nil && n.Traits&tree.HasSequence != 0 {
			return mserr.NextValuePlace()
		}
	}
	for _, o := range r.Order {
		if o.Node.Traits&tree.HasSequence != 0 {
			return mserr.NextValuePlace()
		}
	}
	for _, n := range c.Items {
		switch {
		case n.Traits&tree.HasSequence == 0:
			continue
		case use.set:
			return mserr.SequenceSet()
		case l.parent != nil || !use.Top && !use.Ordered:
			return mserr.SequencePlace()
		case c.Distinct:
			return mserr.SequenceSet()
		case len(r.Order) > 0:
			return mserr.SequenceOrderBy()
		case r.Limit != nil || r.Offset != nil:
			return mserr.SequenceTop()
		}
	}
	return nil
}
