package eval

import (
	"github.com/jobagent/jobagent/testenv/tsqld/builtin"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// RunFrame is the frame of one execution of a DML plan.
type RunFrame struct {
	Frame
	Run *tree.Run
}

// Frame is the view that expressions have of a session at run time. The interpreter implements it.
type Frame interface {
	// Variable returns the value of a variable. name is spelled as in the statement.
	Variable(name string) types.Value
	// Env returns the environment of the session's built-in functions.
	Env() builtin.Env
	// Meter returns the session's meter; it may be nil.
	Meter() *meter.Meter
	// Call computes a function that only the interpreter can compute; its keys are the Local
	// constants.
	Call(key string, args []types.Value) (types.Value, error)
}
