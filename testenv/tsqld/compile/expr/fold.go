package expr

import (
	"github.com/jobagent/jobagent/testenv/tsqld/compile/eval"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
)

// Fold evaluates a function of constants. If the evaluation fails, the function stays, and
// execution reports the error.
func Fold(n *tree.Node, err error) (*tree.Node, error) {
	if err != nil || n.Op != tree.OpCall && n.Op != tree.OpConcat || IsJSON(n) {
		return n, err
	}
	for _, a := range n.Args {
		if a.Op != tree.OpConst {
			return n, nil
		}
	}
	m := foldPool.Session()
	defer m.Close()
	v, err := eval.Node(n, constantFrame{meter: m}, nil)
	if err != nil || keys.ValueBytes(v) > keys.MaxFoldedBytes {
		return n, nil
	}
	c := tree.Constant(v, n.Type)
	c.Label = n.Label
	return c, nil
}

// foldPool bounds the memory of folding one function. Each evaluation gets the minimum of a
// session.
var foldPool = meter.NewPool(1)

// constantFrame is the frame in which constants are folded. Functions of constants use only its
// meter.
type constantFrame struct {
	eval.Frame
	meter *meter.Meter
}

// Meter implements [eval.Frame].
func (f constantFrame) Meter() *meter.Meter { return f.meter }
