package compile

import "github.com/jobagent/jobagent/testenv/tsqld/types"

// opcode is the kind of a node.
type opcode uint8

const opConst opcode = iota + 1

// node is a bound expression.
type node struct {
	op  opcode
	typ types.Type
}

// eval computes a node without SQLite.
func (n *node) eval(f Frame, row []types.Value) (types.Value, error) { return nil, nil }
