package tokens

import (
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// MaxDepth is the maximum nesting depth of expressions, queries and statements. People write far
// less, and a goroutine's stack allows far more.
const MaxDepth = 500

// MaxTree is the maximum depth of a statement's tree, for nesting and operator chains together. The
// tree of a chain such as a + a + a or x OR y OR z is as deep as the chain is long, and its first
// operand is at the bottom. All functions that walk a tree are recursive and rely on this limit.
const MaxTree = 5500

// Enter begins a level of nesting. Each call that returns true is paired with Leave.
func (c *Cursor) Enter() bool {
	if c.depth >= MaxDepth {
		c.ErrorAt(c.Current(), mserr.NestedTooDeeply())
		return false
	}
	c.depth++
	c.deepest = max(c.deepest, c.depth)
	return true
}

// Leave ends a level of nesting.
func (c *Cursor) Leave() { c.depth-- }

// BeginChain begins the first operand of a possible chain of operators. Its result is for EndChain.
func (c *Cursor) BeginChain() (before int) {
	before, c.deepest = c.deepest, c.depth
	return before
}

// AddOperator records that an operator follows, whose node is placed above all nodes read since
// BeginChain.
func (c *Cursor) AddOperator() {
	if c.deepest++; c.deepest > MaxTree {
		c.ErrorAt(c.Current(), mserr.NestedTooDeeply())
	}
}

// Deepest returns the depth of the deepest node of the last operand.
func (c *Cursor) Deepest() int { return c.deepest }

// Deepen records that the current operand has a node at the given depth.
func (c *Cursor) Deepen(depth int) { c.deepest = max(c.deepest, depth) }

// EndChain ends a chain that BeginChain has begun.
func (c *Cursor) EndChain(before int) { c.deepest = max(c.deepest, before) }
