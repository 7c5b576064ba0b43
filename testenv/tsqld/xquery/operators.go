package xquery

import (
	"math"
	"math/big"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// compareExpr is a comparison: general (=), of values (eq), or of nodes (is, <<, >>).
type compareExpr struct {
	op   string
	x, y expr
}

// valueOps are the general comparisons to which those of values are equal, except that the latter
// have one item on each side.
var valueOps = map[string]string{"eq": "=", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}

func (x *compareExpr) check(c *checker) static {
	a, b := x.x.check(c), x.y.check(c)
	switch {
	case x.op == "is" || x.op == "<<" || x.op == ">>":
		c.notMade("'"+x.op+"'", a)
		c.notMade("'"+x.op+"'", b)
		if len(a.kinds) == 0 || len(b.kinds) == 0 || !a.isNodes() || !b.isNodes() {
			c.fail(mserr.XQueryOperands, x.op, a.String(), b.String())
		}
		c.single(x.op, a)
		c.single(x.op, b)
		return values(typeBoolean, optional)
	case valueOps[x.op] != "":
		a, b = c.data(a), c.data(b)
		c.single(x.op, a)
		c.single(x.op, b)
		c.comparable(x.op, a, b)
		return values(typeBoolean, a.count.times(b.count))
	}
	a, b = c.data(a), c.data(b)
	c.comparable(x.op, a, b)
	return values(typeBoolean, one)
}

// comparable checks that the items of two operands may be compared. Error 2234.
func (c *checker) comparable(op string, a, b static) {
	for _, k := range a.kinds {
		for _, l := range b.kinds {
			if comparisonType(k.atom, l.atom) == 0 {
				c.fail(mserr.XQueryOperands, op, a.String(), b.String())
				return
			}
		}
	}
}

func (x *compareExpr) eval(e *evaluator, f focus) ([]item, error) {
	a, err := x.x.eval(e, f)
	if err != nil {
		return nil, err
	}
	b, err := x.y.eval(e, f)
	if err != nil {
		return nil, err
	}
	op := x.op
	if valueOps[op] != "" || op == "is" || op == "<<" || op == ">>" {
		if len(a) == 0 || len(b) == 0 {
			return nil, nil
		}
		if valueOps[op] == "" {
			return list(boolAtom(compareNodes(op, a[0], b[0]))), nil
		}
		op = valueOps[op]
	}
	ok, err := e.anyPair(op, a, b)
	return list(boolAtom(ok)), err
}

// anyPair reports whether a comparison is true for a pair of items.
func (e *evaluator) anyPair(op string, a, b []item) (bool, error) {
	right := make([]*atom, len(b))
	for i, y := range b {
		var err error
		if right[i], err = e.data(y); err != nil {
			return false, err
		}
	}
	for _, x := range a {
		if err := e.charge(len(b)); err != nil {
			return false, err
		}
		left, err := e.data(x)
		if err != nil {
			return false, err
		}
		for _, y := range right {
			if c, ok := compareAtoms(left, y); ok && types.Holds(op, c) {
				return true, nil
			}
		}
	}
	return false, nil
}

// compareNodes compares the identity or the order of two nodes.
func compareNodes(op string, a, b item) bool {
	x, _ := a.(*Node)
	y, _ := b.(*Node)
	switch {
	case x == nil || y == nil:
		return false
	case op == "is":
		return x == y
	case op == "<<":
		return x.order < y.order
	}
	return x.order > y.order
}

// arithExpr is arithmetic.
type arithExpr struct {
	op   string
	x, y expr
	typ  atomType // of the result: set by the check
}

func (x *arithExpr) check(c *checker) static {
	a, ta := c.numeric(x.op, x.x)
	b, tb := c.numeric(x.op, x.y)
	if ta == 0 || tb == 0 { // an operand is ()
		x.typ = typeDouble
		return emptyType
	}
	x.typ = promote(ta, tb)
	if x.op == "div" && x.typ == typeInteger {
		x.typ = typeDecimal
	}
	n := a.count.times(b.count)
	if x.op == "div" || x.op == "mod" || x.typ.isExact() {
		n = n.orNone() // a division by zero and an overflow are the empty sequence
	}
	return values(x.typ, n)
}

// numeric checks an operand of arithmetic and returns its type, in which untyped values count as
// xs:double. Errors 2389 and 9308.
func (c *checker) numeric(op string, x expr) (static, atomType) {
	s := c.data(x.check(c))
	c.single(op, s)
	t := s.atom()
	switch {
	case t == typeUntyped:
		t = typeDouble
	case t != 0 && !t.isNumeric():
		c.fail(mserr.XQueryArithmetic, op, s.String())
	case t.isInteger():
		t = typeInteger
	}
	return s, t
}

func (x *arithExpr) eval(e *evaluator, f focus) ([]item, error) {
	a, err := e.atom(x.x, f)
	if a == nil || err != nil {
		return nil, err
	}
	b, err := e.atom(x.y, f)
	if b == nil || err != nil {
		return nil, err
	}
	if x.typ == typeDouble || x.typ == typeFloat {
		a, okA := cast(a, typeDouble)
		b, okB := cast(b, typeDouble)
		if !okA || !okB {
			return nil, nil
		}
		return list(floatAtom(x.typ, floatArith(x.op, a.float, b.float))), nil
	}
	return list(exactArith(x.op, a, b, x.typ)), nil
}

// floatArith computes x op y.
func floatArith(op string, x, y float64) float64 {
	switch op {
	case "+":
		return x + y
	case "-":
		return x - y
	case "*":
		return x * y
	case "div":
		return x / y
	}
	return math.Mod(x, y)
}

// productDigits is the number of fractional digits of a product or quotient of decimals.
const productDigits = 6

// exactArith computes x op y; nil for a division by zero or a result out of range. A quotient is
// cut to six fractional digits, and a product rounded to six.
func exactArith(op string, x, y *atom, t atomType) *atom {
	v := new(big.Rat)
	switch op {
	case "+":
		v.Add(x.exact, y.exact)
	case "-":
		v.Sub(x.exact, y.exact)
	case "*":
		if v.Mul(x.exact, y.exact); !v.IsInt() {
			v = rounded(v, productDigits)
		}
	default:
		if y.exact.Sign() == 0 {
			return nil
		}
		v.Quo(x.exact, y.exact)
		if op == "div" {
			v = truncated(v, productDigits)
			break
		}
		whole := new(big.Rat).SetInt(new(big.Int).Quo(v.Num(), v.Denom()))
		v.Sub(x.exact, whole.Mul(whole, y.exact))
	}
	r, ok := cast(&atom{typ: typeDecimal, exact: v}, t)
	if !ok || new(big.Rat).Abs(v).Cmp(maxExact) >= 0 {
		return nil
	}
	return r
}

// truncated cuts a number to some fractional digits.
func truncated(r *big.Rat, places int64) *big.Rat {
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(places), nil)
	n := new(big.Int).Mul(r.Num(), scale)
	return new(big.Rat).SetFrac(n.Quo(n, r.Denom()), scale)
}

// signExpr is +x or -x.
type signExpr struct {
	negative bool
	x        expr
	typ      atomType
}

func (x *signExpr) check(c *checker) static {
	op := "+"
	if x.negative {
		op = "-"
	}
	s, t := c.numeric(op, x.x)
	if t == 0 {
		x.typ = typeDouble
		return emptyType
	}
	x.typ = t
	return values(t, s.count)
}

func (x *signExpr) eval(e *evaluator, f focus) ([]item, error) {
	a, err := e.atom(x.x, f)
	if a == nil || err != nil {
		return nil, err
	}
	a, ok := cast(a, x.typ)
	switch {
	case !ok:
		return nil, nil
	case !x.negative:
		return list(a), nil
	case x.typ.isExact():
		return list(&atom{typ: x.typ, exact: new(big.Rat).Neg(a.exact)}), nil
	}
	return list(floatAtom(x.typ, -a.float)), nil
}

// castExpr is cast as, or the call of a constructor function.
type castExpr struct {
	x      expr   // of cast as
	args   []expr // of a call
	to     atomType
	name   string // of the function
	isCall bool
}

func (x *castExpr) check(c *checker) static {
	if x.isCall {
		switch {
		case len(x.args) < 1:
			c.fail(mserr.XQueryFewArguments, x.name)
			return emptyType
		case len(x.args) > 1:
			c.fail(mserr.XQueryManyArguments, x.name)
		}
		x.x = x.args[0]
	}
	s := c.data(x.x.check(c))
	if !s.count.isSingle() || s.count == none {
		c.fail(mserr.XQueryExplicit, s.String(), atomNames[x.to])
		return emptyType
	}
	if from := s.atom(); !castable(from, x.to) {
		c.fail(mserr.XQueryExplicit, s.String(), atomNames[x.to])
	}
	if l, ok := x.x.(*literalExpr); ok {
		if _, ok := cast(l.a, x.to); !ok {
			c.fail(mserr.XQueryLiteral, l.a.String())
		}
	}
	return values(x.to, optional)
}

// castable reports whether values of a type may have a form in another type.
func castable(from, to atomType) bool {
	isTime := func(t atomType) bool { return t == typeDateTime || t == typeDate || t == typeTime }
	isBinary := func(t atomType) bool { return t == typeBase64 || t == typeHex }
	isNumber := func(t atomType) bool { return t.isNumeric() || t == typeBoolean }
	switch {
	case from == to || from.isText() || to == typeString || to == typeUntyped:
		return true
	case isTime(from) && isTime(to):
		return from == typeDateTime || to == typeDateTime && from == typeDate
	}
	return isNumber(from) && isNumber(to) || isBinary(from) && isBinary(to)
}

func (x *castExpr) eval(e *evaluator, f focus) ([]item, error) {
	a, err := e.atom(x.x, f)
	if a == nil || err != nil {
		return nil, err
	}
	r, ok := cast(a, x.to)
	if !ok {
		return nil, nil
	}
	return list(r), nil
}

// instanceExpr is instance of.
type instanceExpr struct {
	x        expr
	atom     atomType // 0 for a kind of nodes
	kind     string   // the name of a node test, "item"; "" with atom 0: empty()
	name     Name     // of elements and attributes
	optional bool
}

func (x *instanceExpr) check(c *checker) static {
	s := x.x.check(c)
	c.notMade("'instance of'", s)
	c.single("instance of", s)
	return values(typeBoolean, one)
}

// kindsByName are the kinds that node tests select.
var kindsByName = map[string]Kind{
	"element": Element, "attribute": Attribute, "text": Text, "comment": Comment, "processing-instruction": Instruction,
}

func (x *instanceExpr) eval(e *evaluator, f focus) ([]item, error) {
	items, err := x.x.eval(e, f)
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return list(boolAtom(x.optional || x.atom == 0 && x.kind == "")), nil
	}
	ok := false
	switch y := items[0].(type) {
	case *atom:
		ok = x.kind == "item" || x.atom != 0 && derives(y.typ, x.atom)
	case *Node:
		ok = x.kind == "item" || x.kind == "node" || x.kind != "" && y.kind == kindsByName[x.kind] &&
			(x.name.Local == "" || y.name.is(x.name))
	}
	return list(boolAtom(ok)), nil
}

// derives reports whether a type is another one or derived from it.
func derives(t, from atomType) bool {
	return t == from || from == typeDecimal && t.isExact() || from == typeInteger && t.isInteger()
}
