package xquery

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// axis is the direction of a step.
type axis uint8

// The axes.
const (
	childAxis axis = iota + 1
	attributeAxis
	selfAxis
	parentAxis
	descendantAxis
	descendantOrSelfAxis
)

// axes are the axes by name.
var axes = map[string]axis{
	"child": childAxis, "attribute": attributeAxis, "self": selfAxis, "parent": parentAxis,
	"descendant": descendantAxis, "descendant-or-self": descendantOrSelfAxis,
}

// refusedAxes are the axes that SQL Server knows but does not support (error 9335).
var refusedAxes = map[string]bool{
	"ancestor": true, "ancestor-or-self": true, "following": true, "following-sibling": true,
	"preceding": true, "preceding-sibling": true,
}

// test says which nodes of an axis a step selects.
type test struct {
	kind     Kind // 0 for any node, if isNamed is not set
	isNamed  bool // a test of names: elements, or attributes on the axis attribute
	name     Name
	anyLocal bool   // * or p:*
	anySpace bool   // * or *:n
	target   string // of processing-instruction("target"); "" for any
}

// step is a step of a path.
type step struct {
	axis  axis
	test  test
	preds []*predicate
}

// predicate is a condition in brackets.
type predicate struct {
	x          expr
	positional bool // a number: set by the check
}

// path reads a path.
func (p *parser) path() expr {
	x := &pathExpr{}
	switch {
	case p.accept("//"):
		x.fromRoot = true
		x.steps = append(x.steps, anyDescendant())
		p.relative(x)
	case p.accept("/"):
		x.fromRoot = true
		if p.atStep() {
			p.relative(x)
		}
	default:
		return p.firstStep()
	}
	return x
}

// anyDescendant returns the step for which // stands.
func anyDescendant() *step { return &step{axis: descendantOrSelfAxis} }

// atStep reports whether a step of an axis comes next.
func (p *parser) atStep() bool {
	rest := p.rest()
	return rest != "" && (strings.ContainsRune("@*.", rune(rest[0])) || nameLength(rest) > 0)
}

// firstStep reads a path that does not begin at the root.
func (p *parser) firstStep() expr {
	start := p.primary()
	x := &pathExpr{start: start}
	if start == nil {
		if !p.atStep() {
			p.syntax()
			return x
		}
		x.steps = append(x.steps, p.step())
	} else {
		x.preds = p.predicates()
	}
	p.moreSteps(x)
	if len(x.steps) == 0 && len(x.preds) == 0 {
		return start
	}
	return x
}

// relative reads the steps of a path.
func (p *parser) relative(x *pathExpr) {
	x.add(p.step())
	p.moreSteps(x)
}

// moreSteps reads the steps after the first one.
func (p *parser) moreSteps(x *pathExpr) {
	for p.err == nil {
		switch {
		case p.accept("//"):
			x.steps = append(x.steps, anyDescendant())
		case p.accept("/"):
		default:
			return
		}
		if !p.atStep() {
			p.syntax()
			return
		}
		x.add(p.step())
	}
}

// add appends a step. A step to children after // without predicates becomes one step to all
// descendants, which selects the same nodes.
func (x *pathExpr) add(s *step) {
	if n := len(x.steps); n > 0 && s.axis == childAxis && len(s.preds) == 0 {
		last := x.steps[n-1]
		if last.axis == descendantOrSelfAxis && last.test == (test{}) && len(last.preds) == 0 {
			s.axis = descendantAxis
			x.steps[n-1] = s
			return
		}
	}
	x.steps = append(x.steps, s)
}

// step reads a step.
func (p *parser) step() *step {
	s := &step{axis: childAxis}
	switch {
	case p.accept(".."):
		s.axis = parentAxis
	case p.accept("."):
		s.axis = selfAxis
	case p.accept("@"):
		s.axis = attributeAxis
		s.test = p.nodeTest(s.axis)
	default:
		if name := p.axisName(); name != "" {
			switch s.axis = axes[name]; {
			case refusedAxes[name]:
				p.fail(mserr.XQueryUnsupported, name)
			case s.axis == 0:
				p.fail(mserr.XQueryAxis, name)
			}
		}
		s.test = p.nodeTest(s.axis)
	}
	s.preds = p.predicates()
	return s
}

// axisName reads the name of an axis and "::". It returns "" if none comes next.
func (p *parser) axisName() string {
	rest := p.rest()
	n := nameLength(rest)
	if n == 0 || !strings.HasPrefix(rest[n:], "::") {
		return ""
	}
	p.pos += n + 2
	return rest[:n]
}

// nodeTest reads the test of a step.
func (p *parser) nodeTest(a axis) test {
	if p.accept("*") {
		t := test{isNamed: true, anyLocal: true, anySpace: true}
		if rest := p.src[p.pos:]; strings.HasPrefix(rest, ":") && nameLength(rest[1:]) > 0 {
			p.pos++
			t.anyLocal, t.name.Local = false, p.ncName()
		}
		return t
	}
	n := p.qName()
	if n.Prefix == "" && nodeTests[n.Local] && p.at("(") {
		return p.kindTest(n.Local)
	}
	if rest := p.src[p.pos:]; n.Prefix == "" && strings.HasPrefix(rest, ":*") {
		p.pos += 2
		return test{isNamed: true, anyLocal: true, name: p.resolve(Name{Prefix: n.Local}, true)}
	}
	return test{isNamed: true, name: p.resolve(n, a != attributeAxis)}
}

// kindTest reads the parentheses of a test of the kind of a node.
func (p *parser) kindTest(name string) test {
	p.expect("(")
	var t test
	switch name {
	case "text":
		t.kind = Text
	case "comment":
		t.kind = Comment
	case "processing-instruction":
		t.kind = Instruction
		if p.atString() {
			t.target = p.stringLiteral()
		} else if nameLength(p.rest()) > 0 {
			t.target = p.ncName()
		}
	case "node":
	default:
		p.fail(mserr.XQueryUnsupported, name+"()")
	}
	p.expect(")")
	return t
}

// predicates reads conditions in brackets.
func (p *parser) predicates() []*predicate {
	var list []*predicate
	for p.accept("[") {
		list = append(list, &predicate{x: p.single()})
		p.expect("]")
	}
	return list
}
