package xquery

import (
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// pathExpr is a path.
type pathExpr struct {
	fromRoot bool
	start    expr         // the first operand; nil for the context item
	preds    []*predicate // of start
	steps    []*step
}

func (x *pathExpr) check(c *checker) static {
	s := c.focus
	switch {
	case x.fromRoot:
		c.all = true
		s = nodes(Document, "", one)
	case x.start != nil:
		s = x.start.check(c)
		if len(x.preds) > 0 {
			c.notMade("'[]'", s)
		}
		s = c.predicates(x.preds, s)
	}
	c.goesUp(x.steps)
	for _, st := range x.steps {
		c.notMade("'/'", s)
		if !s.isNodes() {
			c.fail(mserr.XQueryNodes, "'/'")
		}
		s = c.step(st, s)
	}
	return s
}

// goesUp records the steps of a path to parents.
func (c *checker) goesUp(steps []*step) {
	levels, plain := 0, true
	for i, st := range steps {
		switch {
		case st.axis == parentAxis:
			levels++
		case st.axis == selfAxis && levels > 0:
		case st.axis == attributeAxis && i == len(steps)-1:
		default:
			plain = plain && levels == 0
		}
		plain = plain && (levels == 0 || len(st.preds) == 0)
	}
	if levels > 0 {
		c.levels += levels
		c.inner = c.inner || !plain || steps[len(steps)-1].axis != attributeAxis
	}
}

// step returns the type of a step from nodes of a type.
func (c *checker) step(st *step, from static) static {
	name := ""
	if st.test.isNamed && !st.test.anyLocal {
		name = st.test.name.String()
	}
	var s static
	switch {
	case st.axis == attributeAxis && !st.test.isNamed && st.test.kind != 0:
		return emptyType
	case st.axis == attributeAxis && name != "" && !st.test.anySpace:
		s = nodes(Attribute, name, optional)
	case st.axis == attributeAxis:
		s = nodes(Attribute, name, many)
	case st.axis == parentAxis:
		s = nodes(0, "", optional)
		if st.test.isNamed {
			s = nodes(Element, name, optional)
		}
	case st.axis == selfAxis && st.test == (test{}):
		s = from.with(one)
	default:
		s = nodes(st.test.kind, "", many)
		if st.test.isNamed {
			s = nodes(Element, name, many)
		}
		if st.axis == selfAxis {
			s.count = optional
		}
	}
	s = c.predicates(st.preds, s)
	return s.with(from.count.times(s.count))
}

// predicates returns the type of a sequence after predicates. A number selects one item. Error
// 2203.
func (c *checker) predicates(preds []*predicate, s static) static {
	for _, p := range preds {
		saved, positions := c.focus, c.positions
		c.focus, c.positions = s.with(one), true
		t := p.x.check(c)
		c.focus, c.positions = saved, positions
		switch {
		case len(t.kinds) > 0 && t.isAtomic() && t.atom().isNumeric() && t.count.isSingle():
			p.positional = true
			s.count = optional.times(s.count.orNone())
			if _, most := s.count.bounds(); most > 1 {
				s.count = optional
			}
		case t.isNodes(), t.isAtomic() && t.atom() == typeBoolean:
			s.count = s.count.orNone()
			if selectsPosition(p.x) {
				s.count = optional
			}
		default:
			c.fail(mserr.XQueryPredicate, t.String())
		}
	}
	return s
}

// selectsPosition reports whether a condition is position() = n.
func selectsPosition(x expr) bool {
	c, ok := x.(*compareExpr)
	if !ok || c.op != "=" && c.op != "eq" {
		return false
	}
	call, ok := c.x.(*callExpr)
	return ok && call.f.name == "position" && integerLiteral(c.y) > 0
}

func (x *pathExpr) eval(e *evaluator, f focus) ([]item, error) {
	items, err := x.first(e, f)
	if err != nil || len(x.steps) == 0 {
		return items, err
	}
	at := make([]*Node, 0, len(items))
	for _, y := range items {
		if n, ok := y.(*Node); ok {
			at = append(at, n)
		}
	}
	for _, st := range x.steps {
		if at, err = e.step(st, at); err != nil {
			return nil, err
		}
	}
	items = make([]item, len(at))
	for i, n := range at {
		items[i] = n
	}
	return items, nil
}

// first returns the items from which the steps go.
func (x *pathExpr) first(e *evaluator, f focus) ([]item, error) {
	switch {
	case x.fromRoot:
		n, ok := f.item.(*Node)
		if !ok {
			return nil, nil
		}
		return []item{n.root()}, nil
	case x.start == nil:
		return []item{f.item}, nil
	}
	items, err := x.start.eval(e, f)
	for _, p := range x.preds {
		if err != nil {
			return nil, err
		}
		items, err = e.filter(p, items)
	}
	return items, err
}

// step takes a step from nodes. The result is in document order, without duplicates.
func (e *evaluator) step(st *step, from []*Node) ([]*Node, error) {
	var out []*Node
	for _, n := range from {
		found := e.axis(st, n)
		if err := e.charge(len(found)); err != nil {
			return nil, err
		}
		for _, p := range st.preds {
			var err error
			if found, err = e.filterNodes(p, found); err != nil {
				return nil, err
			}
		}
		out = append(out, found...)
	}
	if err := e.charge(0); err != nil {
		return nil, err
	}
	return documentOrder(out), nil
}

// axis returns the nodes of a step from one node, in document order.
func (e *evaluator) axis(st *step, n *Node) []*Node {
	var out []*Node
	take := func(x *Node) {
		if st.matches(x) {
			out = append(out, x)
		}
	}
	switch st.axis {
	case childAxis:
		for _, c := range n.children {
			take(c)
		}
	case attributeAxis:
		for _, a := range n.attrs {
			take(a)
		}
	case selfAxis:
		take(n)
	case parentAxis:
		if n.parent != nil {
			take(n.parent)
		}
	case descendantOrSelfAxis:
		take(n)
		n.below(take)
	case descendantAxis:
		n.below(take)
	}
	return out
}

// below visits the nodes below a node in document order.
func (n *Node) below(visit func(*Node)) {
	for _, c := range n.children {
		visit(c)
		c.below(visit)
	}
}

// matches reports whether a node passes the test of a step.
func (st *step) matches(n *Node) bool {
	t := &st.test
	switch {
	case t.isNamed:
		principal := Element
		if st.axis == attributeAxis {
			principal = Attribute
		}
		return n.kind == principal && (t.anyLocal || n.name.Local == t.name.Local) && (t.anySpace || n.name.Space == t.name.Space)
	case t.kind == 0:
		return true
	}
	return n.kind == t.kind && (t.target == "" || n.name.Local == t.target)
}

// filterNodes applies a predicate to nodes.
func (e *evaluator) filterNodes(p *predicate, list []*Node) ([]*Node, error) {
	if n := integerLiteral(p.x); n != 0 {
		if n < 1 || n > len(list) {
			return nil, nil
		}
		return list[n-1 : n], nil
	}
	var out []*Node
	for i, n := range list {
		ok, err := e.selects(p, focus{n, i + 1, len(list)})
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, n)
		}
	}
	return out, nil
}

// filter applies a predicate to a sequence.
func (e *evaluator) filter(p *predicate, list []item) ([]item, error) {
	if n := integerLiteral(p.x); n != 0 {
		if n < 1 || n > len(list) {
			return nil, nil
		}
		return list[n-1 : n], nil
	}
	var out []item
	for i, x := range list {
		ok, err := e.selects(p, focus{x, i + 1, len(list)})
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, x)
		}
	}
	return out, nil
}

// selects reports whether a predicate selects an item.
func (e *evaluator) selects(p *predicate, f focus) (bool, error) {
	if err := e.m.Work(itemWork); err != nil {
		return false, err
	}
	if !p.positional {
		return e.truth(p.x, f)
	}
	a, err := e.atom(p.x, f)
	return a != nil && a.number() == float64(f.position), err
}
