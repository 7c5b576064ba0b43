package eval

import (
	"errors"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// errNeedsSQL is returned by Node for nodes that only SQLite can compute. The binders never pass
// such nodes to Node.
var errNeedsSQL = errors.New("compile: evaluate expression: needs SQLite")

// Node evaluates a node without SQLite. row holds the values of tree.OpField nodes.
func Node(n *tree.Node, f Frame, row []types.Value) (types.Value, error) {
	switch n.Op {
	case tree.OpConst:
		return n.Value, nil
	case tree.OpVar:
		return f.Variable(n.Name), nil
	case tree.OpField:
		return row[n.Column], nil
	case tree.OpRun:
		if f, ok := f.(RunFrame); ok && f.Run != nil {
			return n.Run(f.Run), nil
		}
		return nil, errNeedsSQL
	case tree.OpCall, tree.OpPerRow, tree.OpEnv, tree.OpLocal:
		return call(n, f, row)
	case tree.OpConcat, tree.OpReal, tree.OpCompare, tree.OpDistinct:
		return operator(n, f, row)
	case tree.OpAnd, tree.OpOr:
		return logic(n, f, row)
	case tree.OpNot:
		v, err := Node(n.Args[0], f, row)
		if v == nil || err != nil {
			return nil, err
		}
		return types.BitOf(v == int64(0)), nil
	case tree.OpIsNull:
		v, err := Node(n.Args[0], f, row)
		return types.BitOf(v == nil), err
	case tree.OpIn:
		return in(n, f, row)
	case tree.OpCase:
		for i := 0; i+1 < len(n.Args); i += 2 {
			v, err := Node(n.Args[i], f, row)
			if err != nil {
				return nil, err
			}
			if v == int64(1) {
				return Node(n.Args[i+1], f, row)
			}
		}
		return Node(n.Args[len(n.Args)-1], f, row)
	case tree.OpCoalesce:
		for _, a := range n.Args {
			if v, err := Node(a, f, row); v != nil || err != nil {
				return v, err
			}
		}
		return nil, nil
	}
	return nil, errNeedsSQL
}

// all evaluates the arguments.
func all(n *tree.Node, f Frame, row []types.Value) ([]types.Value, error) {
	args := make([]types.Value, len(n.Args))
	for i, a := range n.Args {
		v, err := Node(a, f, row)
		if err != nil {
			return nil, err
		}
		args[i] = v
	}
	return args, nil
}

// call evaluates a function call.
func call(n *tree.Node, f Frame, row []types.Value) (types.Value, error) {
	args, err := all(n, f, row)
	if err != nil {
		return nil, err
	}
	switch n.Op {
	case tree.OpEnv:
		fn, err := keys.EnvFunc(f.Env(), n.Key)
		if err != nil {
			return nil, err
		}
		return fn(f.Meter(), args)
	case tree.OpLocal:
		return f.Call(n.Key, args)
	}
	return n.Func(meterOf(f), args)
}

// meterOf returns the meter of a frame. It returns nil for a nil frame, in which constants are
// evaluated.
func meterOf(f Frame) *meter.Meter {
	if f == nil {
		return nil
	}
	return f.Meter()
}

// operator evaluates operators that SQL renders as SQLite operators.
func operator(n *tree.Node, f Frame, row []types.Value) (types.Value, error) {
	args, err := all(n, f, row)
	if err != nil {
		return nil, err
	}
	if n.Op == tree.OpReal {
		if v, ok := args[0].(int64); ok {
			return float64(v), nil
		}
		return nil, nil
	}
	a, b := args[0], args[1]
	t := n.Args[0].Type
	switch n.Op {
	case tree.OpConcat:
		if a == nil || b == nil {
			return nil, nil
		}
		if n := keys.ValueBytes(a) + keys.ValueBytes(b); n > meter.Small {
			if err := meterOf(f).Take(n); err != nil {
				return nil, err
			}
		}
		if x, ok := a.([]byte); ok {
			y, _ := b.([]byte)
			return append(x[:len(x):len(x)], y...), nil
		}
		x, _ := a.(string)
		y, _ := b.(string)
		return x + y, nil
	case tree.OpDistinct:
		same := types.Compare(a, b, t) == 0
		return types.BitOf(same == (n.Name == "IS")), nil
	}
	return keys.CompareValues(n.Name, a, b, t), nil
}

// logic evaluates AND and OR in three-valued logic and stops at the first decisive operand.
func logic(n *tree.Node, f Frame, row []types.Value) (types.Value, error) {
	decisive := int64(0)
	if n.Op == tree.OpOr {
		decisive = 1
	}
	unknown := false
	for _, a := range n.Args {
		v, err := Node(a, f, row)
		if err != nil {
			return nil, err
		}
		if v == nil {
			unknown = true
		} else if v == decisive {
			return v, nil
		}
	}
	if unknown {
		return nil, nil
	}
	return 1 - decisive, nil
}

// in evaluates IN with a list.
func in(n *tree.Node, f Frame, row []types.Value) (types.Value, error) {
	x, err := Node(n.Args[0], f, row)
	if x == nil || err != nil {
		return nil, err
	}
	unknown := false
	for _, a := range n.Args[1:] {
		v, err := Node(a, f, row)
		switch {
		case err != nil:
			return nil, err
		case v == nil:
			unknown = true
		case types.Compare(x, v, n.Args[0].Type) == 0:
			return int64(1), nil
		}
	}
	if unknown {
		return nil, nil
	}
	return int64(0), nil
}
