package compile

import "github.com/jobagent/jobagent/testenv/tsqld/compile/tree"

// Deducing returns a compiler that accepts the parameters of d and notes their types. Its plans
// must not run.
func (c *Compiler) Deducing(d *tree.Deduction) *Compiler {
	r := *c
	r.deduction = d
	return &r
}
