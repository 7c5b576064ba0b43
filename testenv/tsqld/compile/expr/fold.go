package expr

import (
	"github.com/jobagent/jobagent/testenv/tsqld/compile/eval"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Fold evaluates a function of constants. If the evaluation fails, the function stays, and
// execution reports the error.
func Fold(n *tree.Node, err error) (*tree.Node, error) {
	if err != nil {
		return n, err
	}
	c, err := Checked(n, nil)
	if err != nil {
		return n, nil
	}
	return c, nil
}

// Checked evaluates a function of constants, whose errors are errors of compilation.
func Checked(n *tree.Node, err error) (*tree.Node, error) {
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
	if err != nil {
		return nil, err
	}
	if keys.ValueBytes(v) > keys.MaxFoldedBytes {
		return n, nil
	}
	c := tree.Constant(v, n.Type)
	c.Label = n.Label
	return c, nil
}

// CheckedCount converts a count to bigint and checks it; what is TOP, OFFSET, FETCH, NTILE or LAG.
func CheckedCount(what string, n *tree.Node) (*tree.Node, error) {
	n, err := ConvertImplicit(n, types.BigIntType)
	if err != nil {
		return nil, err
	}
	return Checked(tree.Call(keys.Make(keys.Limit, what), types.BigIntType, n))
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
