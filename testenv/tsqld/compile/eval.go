package compile

import (
	"errors"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// errNeedsSQL is returned by eval for nodes that only SQLite can compute. The binder never passes
// such nodes to eval.
var errNeedsSQL = errors.New("compile: evaluate expression: needs SQLite")

// eval evaluates a node without SQLite. row holds the values of opField nodes.
func (n *node) eval(f Frame, row []types.Value) (types.Value, error) {
	switch n.op {
	case opConst:
		return n.val, nil
	case opVar:
		return f.Variable(n.name), nil
	case opField:
		return row[n.col], nil
	case opRun:
		if f, ok := f.(runFrame); ok && f.run != nil {
			return n.run(f.run), nil
		}
		return nil, errNeedsSQL
	case opCall, opPerRow, opEnv, opLocal:
		return n.evalCall(f, row)
	case opConcat, opReal, opCompare, opDistinct:
		return n.evalOperator(f, row)
	case opAnd, opOr:
		return n.evalLogic(f, row)
	case opNot:
		v, err := n.args[0].eval(f, row)
		if v == nil || err != nil {
			return nil, err
		}
		return keys.BoolValue(v == int64(0)), nil
	case opIsNull:
		v, err := n.args[0].eval(f, row)
		return keys.BoolValue(v == nil), err
	case opIn:
		return n.evalIn(f, row)
	case opCase:
		for i := 0; i+1 < len(n.args); i += 2 {
			v, err := n.args[i].eval(f, row)
			if err != nil {
				return nil, err
			}
			if v == int64(1) {
				return n.args[i+1].eval(f, row)
			}
		}
		return n.args[len(n.args)-1].eval(f, row)
	case opCoalesce:
		for _, a := range n.args {
			if v, err := a.eval(f, row); v != nil || err != nil {
				return v, err
			}
		}
		return nil, nil
	}
	return nil, errNeedsSQL
}

// evalAll evaluates the arguments.
func (n *node) evalAll(f Frame, row []types.Value) ([]types.Value, error) {
	args := make([]types.Value, len(n.args))
	for i, a := range n.args {
		v, err := a.eval(f, row)
		if err != nil {
			return nil, err
		}
		args[i] = v
	}
	return args, nil
}

// evalCall evaluates a function call.
func (n *node) evalCall(f Frame, row []types.Value) (types.Value, error) {
	args, err := n.evalAll(f, row)
	if err != nil {
		return nil, err
	}
	switch n.op {
	case opEnv:
		fn, err := keys.EnvFunc(f.Env(), n.key)
		if err != nil {
			return nil, err
		}
		return fn(f.Meter(), args)
	case opLocal:
		return f.Call(n.key, args)
	}
	return n.fn(meterOf(f), args)
}

// meterOf returns the meter of a frame. It returns nil for a nil frame, in which constants are
// evaluated.
func meterOf(f Frame) *meter.Meter {
	if f == nil {
		return nil
	}
	return f.Meter()
}

// evalOperator evaluates operators that SQL renders as SQLite operators.
func (n *node) evalOperator(f Frame, row []types.Value) (types.Value, error) {
	args, err := n.evalAll(f, row)
	if err != nil {
		return nil, err
	}
	if n.op == opReal {
		if v, ok := args[0].(int64); ok {
			return float64(v), nil
		}
		return nil, nil
	}
	a, b := args[0], args[1]
	t := n.args[0].typ
	switch n.op {
	case opConcat:
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
	case opDistinct:
		same := types.Compare(a, b, t) == 0
		return keys.BoolValue(same == (n.name == "IS")), nil
	}
	return keys.CompareValues(n.name, a, b, t), nil
}

// evalLogic evaluates AND and OR in three-valued logic and stops at the first decisive operand.
func (n *node) evalLogic(f Frame, row []types.Value) (types.Value, error) {
	decisive := int64(0)
	if n.op == opOr {
		decisive = 1
	}
	unknown := false
	for _, a := range n.args {
		v, err := a.eval(f, row)
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

// evalIn evaluates IN with a list.
func (n *node) evalIn(f Frame, row []types.Value) (types.Value, error) {
	x, err := n.args[0].eval(f, row)
	if x == nil || err != nil {
		return nil, err
	}
	unknown := false
	for _, a := range n.args[1:] {
		v, err := a.eval(f, row)
		switch {
		case err != nil:
			return nil, err
		case v == nil:
			unknown = true
		case types.Compare(x, v, n.args[0].typ) == 0:
			return int64(1), nil
		}
	}
	if unknown {
		return nil, nil
	}
	return int64(0), nil
}

// clientError converts an error of this package's exported functions to a *mserr.Error. It leaves a
// cancelled request (*meter.Stopped) unchanged.
func clientError(err error) error {
	var e *mserr.Error
	var stopped *meter.Stopped
	if err == nil || errors.As(err, &e) || errors.As(err, &stopped) {
		return err
	}
	return mserr.NotSupported("this expression (%v)", err)
}
