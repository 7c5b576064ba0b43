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
func path(p *cursor) expr {
	x := &pathExpr{}
	switch {
	case p.accept("//"):
		x.fromRoot = true
		x.steps = append(x.steps, anyDescendant())
		relative(p, x)
	case p.accept("/"):
		x.fromRoot = true
		if atStep(p) {
			relative(p, x)
		}
	default:
		return firstStep(p)
	}
	return x
}

// anyDescendant returns the step for which // stands.
func anyDescendant() *step { return &step{axis: descendantOrSelfAxis} }

// atStep reports whether a step of an axis comes next.
func atStep(p *cursor) bool {
	rest := p.rest()
	return rest != "" && (strings.ContainsRune("@*.", rune(rest[0])) || nameLength(rest) > 0)
}

// firstStep reads a path that does not begin at the root.
func firstStep(p *cursor) expr {
	start := primary(p)
	x := &pathExpr{start: start}
	if start == nil {
		if !atStep(p) {
			p.syntax()
			return x
		}
		x.steps = append(x.steps, axisStep(p))
	} else {
		x.preds = predicates(p)
	}
	moreSteps(p, x)
	if len(x.steps) == 0 && len(x.preds) == 0 {
		return start
	}
	return x
}

// relative reads the steps of a path.
func relative(p *cursor, x *pathExpr) {
	x.add(axisStep(p))
	moreSteps(p, x)
}

// moreSteps reads the steps after the first one.
func moreSteps(p *cursor, x *pathExpr) {
	for p.err == nil {
		switch {
		case p.accept("//"):
			x.steps = append(x.steps, anyDescendant())
		case p.accept("/"):
		default:
			return
		}
		if !atStep(p) {
			p.syntax()
			return
		}
		x.add(axisStep(p))
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

// axisStep reads a step.
func axisStep(p *cursor) *step {
	s := &step{axis: childAxis}
	switch {
	case p.accept(".."):
		s.axis = parentAxis
	case p.accept("."):
		s.axis = selfAxis
	case p.accept("@"):
		s.axis = attributeAxis
		s.test = nodeTest(p, s.axis)
	default:
		if name := axisName(p); name != "" {
			switch s.axis = axes[name]; {
			case refusedAxes[name]:
				p.fail(mserr.XQueryUnsupported, name)
			case s.axis == 0:
				p.fail(mserr.XQueryAxis, name)
			}
		}
		s.test = nodeTest(p, s.axis)
	}
	s.preds = predicates(p)
	return s
}

// axisName reads the name of an axis and "::". It returns "" if none comes next.
func axisName(p *cursor) string {
	rest := p.rest()
	n := nameLength(rest)
	if n == 0 || !strings.HasPrefix(rest[n:], "::") {
		return ""
	}
	p.pos += n + 2
	return rest[:n]
}

// nodeTest reads the test of a step.
func nodeTest(p *cursor, a axis) test {
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
		return kindTest(p, n.Local)
	}
	if rest := p.src[p.pos:]; n.Prefix == "" && strings.HasPrefix(rest, ":*") {
		p.pos += 2
		return test{isNamed: true, anyLocal: true, name: p.resolve(Name{Prefix: n.Local}, true)}
	}
	return test{isNamed: true, name: p.resolve(n, a != attributeAxis)}
}

// kindTest reads the parentheses of a test of the kind of a node.
func kindTest(p *cursor, name string) test {
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
func predicates(p *cursor) []*predicate {
	var list []*predicate
	for p.accept("[") {
		list = append(list, &predicate{x: single(p)})
		p.expect("]")
	}
	return list
}
