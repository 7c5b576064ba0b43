package scalar

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
func (b *Binder) nextValue(e *syntax.NextValueExpr) (*tree.Node, error) {
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
