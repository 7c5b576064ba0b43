package xquery

import (
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// expr is an expression.
type expr interface {
	// check returns the static type. Errors are those of the checker.
	check(c *checker) static
	// eval returns the items.
	eval(e *evaluator, f focus) ([]item, error)
}

// checker finds the static types of a query. It keeps the first error.
type checker struct {
	method string
	err    error
	typeOf func(int, SQLRef) (types.Type, error)
	focus  static
	// positions is set inside predicates, where position() and last() are allowed.
	positions bool
	vars      []variable
	slots     int
	// all is set if a path begins at the root; levels counts the steps to parents; inner is set
	// if one of them leads to more than attributes.
	all, inner bool
	levels     int
	xmlRefs    bool // a reference may be an instance: the content of insert
}

// reach returns which nodes around the context item the checked expressions may read. The steps to
// parents of all paths together are the most that the expressions can go up.
func (c *checker) reach() Reach {
	switch {
	case c.all:
		return ReachAll
	case c.levels == 0:
		return 0
	case c.inner:
		return ReachAttributes + Reach(c.levels)*reachLevel
	}
	return ReachAttributes
}

// variable is a variable in scope.
type variable struct {
	name string
	slot int
	typ  static
}

// fail records an error.
func (c *checker) fail(problem mserr.XQueryProblem, args ...any) {
	if c.err == nil {
		c.err = problem.In(c.method, args...)
	}
}

// single checks that an operand has one item at most. Error 2389.
func (c *checker) single(what string, s static) {
	if !s.count.isSingle() {
		c.fail(mserr.XQuerySingleton, what, s.String())
	}
}

// notMade checks that an operand is no constructed XML. Error 2373.
func (c *checker) notMade(what string, s static) {
	if s.made {
		c.fail(mserr.XQueryConstructed, what)
	}
}

// data returns the type of an atomized operand.
func (c *checker) data(s static) static {
	c.notMade("data()", s)
	return s.atoms()
}

// condition checks the operand of a logical operator. Error 2204.
func (c *checker) condition(x expr) {
	s := x.check(c)
	if !s.isNodes() && (!s.isAtomic() || s.atom() != typeBoolean || !s.count.isSingle()) {
		c.fail(mserr.XQueryCondition, s.String())
	}
}

// declare adds a variable and returns its slot.
func (c *checker) declare(name string, t static) int {
	slot := c.slots
	c.slots++
	c.vars = append(c.vars, variable{name, slot, t})
	return slot
}

// evaluator evaluates a query.
type evaluator struct {
	m      *meter.Meter
	values []types.Value
	vars   [][]item
}

// focus is the context item, its position in its sequence, and the length of the sequence.
type focus struct {
	item           item
	position, size int
}

const (
	// itemWork is the cost of one item, in steps of [meter.Meter.Work].
	itemWork = 40
	// itemBytes is the memory of one item of a sequence.
	itemBytes = 16
)

// charge charges the meter for n items.
func (e *evaluator) charge(n int) error {
	if err := e.m.Work(itemWork * (n + 1)); err != nil {
		return err
	}
	return e.m.Take(itemBytes * n)
}

// truth returns the effective boolean value of a condition.
func (e *evaluator) truth(x expr, f focus) (bool, error) {
	items, err := x.eval(e, f)
	if err != nil || len(items) == 0 {
		return false, err
	}
	if a, ok := items[0].(*atom); ok && a.typ == typeBoolean {
		return a.truth, nil
	}
	return true, nil
}

// atom returns the atomized value of an operand with one item at most; nil for none.
func (e *evaluator) atom(x expr, f focus) (*atom, error) {
	items, err := x.eval(e, f)
	if err != nil || len(items) == 0 {
		return nil, err
	}
	return e.data(items[0])
}

// data returns the atomized value of an item, and charges the meter for its text.
func (e *evaluator) data(x item) (*atom, error) {
	a := data(x)
	return a, e.m.Work(itemWork + len(a.text))
}

// list returns one item as a sequence; none for nil.
func list(a *atom) []item {
	if a == nil {
		return nil
	}
	return []item{a}
}

// literalExpr is a literal.
type literalExpr struct{ a *atom }

func (x *literalExpr) check(*checker) static                  { return values(x.a.typ, one) }
func (x *literalExpr) eval(*evaluator, focus) ([]item, error) { return []item{x.a}, nil }

// contextExpr is the context item: a dot.
type contextExpr struct{}

func (*contextExpr) check(c *checker) static { return c.focus }
func (*contextExpr) eval(_ *evaluator, f focus) ([]item, error) {
	return []item{f.item}, nil
}

// parenExpr is an expression in parentheses.
type parenExpr struct{ x expr }

func (x *parenExpr) check(c *checker) static                    { return x.x.check(c) }
func (x *parenExpr) eval(e *evaluator, f focus) ([]item, error) { return x.x.eval(e, f) }

// varExpr is a reference to a variable.
type varExpr struct {
	name string
	slot int
}

func (x *varExpr) check(c *checker) static {
	for i := len(c.vars) - 1; i >= 0; i-- {
		if c.vars[i].name == x.name {
			x.slot = c.vars[i].slot
			return c.vars[i].typ
		}
	}
	c.fail(mserr.XQueryVariable, "$"+x.name)
	return emptyType
}

func (x *varExpr) eval(e *evaluator, _ focus) ([]item, error) { return e.vars[x.slot], nil }

// sequenceExpr is a list of expressions with commas.
type sequenceExpr struct{ parts []expr }

func (x *sequenceExpr) check(c *checker) static {
	all := emptyType
	for _, p := range x.parts {
		s := p.check(c)
		if !all.isNodes() && s.isNodes() && len(s.kinds) > 0 || !s.isNodes() && all.isNodes() && len(all.kinds) > 0 {
			c.mixed(all, s)
		}
		all = union(all, s, all.count.plus(s.count))
	}
	return all
}

// mixed is error 2210. The message names the atomic type first.
func (c *checker) mixed(a, b static) {
	if a.isNodes() {
		a, b = b, a
	}
	c.fail(mserr.XQueryMixed, a.String(), b.String())
}

func (x *sequenceExpr) eval(e *evaluator, f focus) ([]item, error) {
	var all []item
	for _, p := range x.parts {
		items, err := p.eval(e, f)
		if err != nil {
			return nil, err
		}
		if err := e.charge(len(items)); err != nil {
			return nil, err
		}
		all = append(all, items...)
	}
	return all, nil
}

// ifExpr is if.
type ifExpr struct{ cond, then, otherwise expr }

func (x *ifExpr) check(c *checker) static {
	c.condition(x.cond)
	a, b := x.then.check(c), x.otherwise.check(c)
	if len(a.kinds) > 0 && len(b.kinds) > 0 && a.isNodes() != b.isNodes() {
		c.mixed(a, b)
	}
	return union(a, b, a.count.either(b.count))
}

func (x *ifExpr) eval(e *evaluator, f focus) ([]item, error) {
	ok, err := e.truth(x.cond, f)
	if err != nil {
		return nil, err
	}
	if ok {
		return x.then.eval(e, f)
	}
	return x.otherwise.eval(e, f)
}

// logicExpr is and, or.
type logicExpr struct {
	op   string
	x, y expr
}

func (x *logicExpr) check(c *checker) static {
	c.condition(x.x)
	c.condition(x.y)
	return values(typeBoolean, one)
}

func (x *logicExpr) eval(e *evaluator, f focus) ([]item, error) {
	ok, err := e.truth(x.x, f)
	if err != nil {
		return nil, err
	}
	if ok == (x.op == "and") {
		if ok, err = e.truth(x.y, f); err != nil {
			return nil, err
		}
	}
	return list(boolAtom(ok)), nil
}
