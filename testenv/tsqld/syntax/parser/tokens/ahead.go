package tokens

import (
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// MarkDeclared is called at the name in a declaration. If the name begins with @@, it turns that
// name's tokens from here on into variables: an undeclared @@x is a system function.
func (c *Cursor) MarkDeclared() {
	t := c.Current()
	if t.Kind != scanner.Global {
		return // the name of an ordinary variable, or already declared
	}
	if c.globals == nil {
		c.fillAll()
		c.globals = map[string][]int32{}
		for i := range c.tokens {
			if t := &c.tokens[i]; t.Kind == scanner.Global {
				c.globals[t.Upper] = append(c.globals[t.Upper], int32(i))
			}
		}
	}
	for _, i := range c.globals[t.Upper] {
		if int(i) >= c.pos {
			c.tokens[i].Kind = scanner.Variable
		}
	}
}

// Matching returns the distance to the token after the parenthesis that matches the one n tokens
// ahead, or to the end of the text.
func (c *Cursor) Matching(n int) int {
	if c.afterClosing == nil {
		c.fillAll()
		c.afterClosing = make([]int32, len(c.tokens))
		var open []int32
		for i := range c.tokens {
			switch t := &c.tokens[i]; {
			case t.Is("("):
				open = append(open, int32(i))
			case t.Is(")") && len(open) > 0:
				c.afterClosing[open[len(open)-1]] = int32(i + 1)
				open = open[:len(open)-1]
			}
		}
	}
	if behind := int(c.afterClosing[min(c.pos+n, len(c.tokens)-1)]); behind > 0 {
		return behind - c.pos
	}
	return len(c.tokens) - 1 - c.pos
}

// Parentheses returns the distance to the first token after the current one that is not an opening
// parenthesis.
func (c *Cursor) Parentheses() int {
	if c.pos >= c.parenRun.end || c.pos < c.parenRun.start {
		n := 1
		for c.Peek(n).Is("(") {
			n++
		}
		c.parenRun.start, c.parenRun.end = c.pos, c.pos+n
	}
	return c.parenRun.end - c.pos
}
