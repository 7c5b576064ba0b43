package xquery

import (
	"math"
	"math/big"
	"strings"
	"unicode/utf8"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// function is a function of the library ("XQuery functions against the xml data type").
type function struct {
	name     string
	min, max int
	// context is set if the context item stands for a missing argument.
	context bool
	// check returns the type of the result from those of the arguments.
	check func(c *checker, f *function, args []static) static
	eval  func(e *evaluator, at focus, args [][]item) ([]item, error)
}

// functions are the functions by name.
var functions = byName(nodeFunctions, textFunctions, numberFunctions)

// byName joins the lists of functions.
func byName(lists ...[]*function) map[string]*function {
	m := map[string]*function{}
	for _, list := range lists {
		for _, f := range list {
			m[f.name] = f
		}
	}
	return m
}

// callExpr is the call of a function.
type callExpr struct {
	f    *function
	args []expr
}

func (x *callExpr) check(c *checker) static {
	name := x.f.name + "()"
	if len(x.args) == 0 && x.f.context {
		x.args = []expr{&contextExpr{}}
	}
	switch {
	case len(x.args) < x.f.min:
		c.fail(mserr.XQueryFewArguments, name)
		return emptyType
	case len(x.args) > x.f.max:
		c.fail(mserr.XQueryManyArguments, name)
		return emptyType
	}
	if x.f.name == "not" {
		c.condition(x.args[0])
		return values(typeBoolean, one)
	}
	args := make([]static, len(x.args))
	for i, a := range x.args {
		args[i] = a.check(c)
		c.notMade(name, args[i])
	}
	return x.f.check(c, x.f, args)
}

func (x *callExpr) eval(e *evaluator, f focus) ([]item, error) {
	if x.f.name == "not" {
		ok, err := e.truth(x.args[0], f)
		return list(boolAtom(!ok)), err
	}
	args := make([][]item, len(x.args))
	for i, a := range x.args {
		var err error
		if args[i], err = a.eval(e, f); err != nil {
			return nil, err
		}
		if err := e.charge(len(args[i])); err != nil {
			return nil, err
		}
	}
	return x.f.eval(e, f, args)
}

// returns makes the check of a function whose arguments may be any sequences.
func returns(t atomType) func(*checker, *function, []static) static {
	return func(*checker, *function, []static) static { return values(t, one) }
}

// position makes the check of position() and last(). Error 2371 outside predicates.
func position(c *checker, f *function, _ []static) static {
	if !c.positions {
		c.fail(mserr.XQueryPosition, f.name+"()")
	}
	return values(typeInteger, one)
}

// nodeFunctions are the functions of sequences and nodes.
var nodeFunctions = []*function{
	{name: "count", min: 1, max: 1, check: returns(typeInteger), eval: func(_ *evaluator, _ focus, args [][]item) ([]item, error) {
		return list(intAtom(len(args[0]))), nil
	}},
	{name: "empty", min: 1, max: 1, check: returns(typeBoolean), eval: func(_ *evaluator, _ focus, args [][]item) ([]item, error) {
		return list(boolAtom(len(args[0]) == 0)), nil
	}},
	{name: "not", min: 1, max: 1},
	{name: "true", check: returns(typeBoolean), eval: func(*evaluator, focus, [][]item) ([]item, error) {
		return list(boolAtom(true)), nil
	}},
	{name: "false", check: returns(typeBoolean), eval: func(*evaluator, focus, [][]item) ([]item, error) {
		return list(boolAtom(false)), nil
	}},
	{name: "position", check: position, eval: func(_ *evaluator, f focus, _ [][]item) ([]item, error) {
		return list(intAtom(f.position)), nil
	}},
	{name: "last", check: position, eval: func(_ *evaluator, f focus, _ [][]item) ([]item, error) {
		return list(intAtom(f.size)), nil
	}},
	{name: "data", min: 1, max: 1, check: func(c *checker, _ *function, args []static) static {
		return args[0].atoms()
	}, eval: func(_ *evaluator, _ focus, args [][]item) ([]item, error) {
		out := make([]item, len(args[0]))
		for i, x := range args[0] {
			out[i] = data(x)
		}
		return out, nil
	}},
	{name: "distinct-values", min: 1, max: 1, check: func(_ *checker, _ *function, args []static) static {
		return args[0].atoms()
	}, eval: distinctValues},
	{name: "local-name", min: 1, max: 1, context: true, check: nameOf(typeString), eval: func(_ *evaluator, _ focus, args [][]item) ([]item, error) {
		return list(textAtom(typeString, firstName(args[0]).Local)), nil
	}},
	{name: "namespace-uri", min: 1, max: 1, context: true, check: nameOf(typeURI), eval: func(_ *evaluator, _ focus, args [][]item) ([]item, error) {
		return list(textAtom(typeURI, firstName(args[0]).Space)), nil
	}},
}

// nameOf makes the check of a function of one node.
func nameOf(t atomType) func(*checker, *function, []static) static {
	return func(c *checker, f *function, args []static) static {
		if !args[0].isNodes() {
			c.fail(mserr.XQueryNodes, f.name+"()")
		}
		c.single(f.name+"()", args[0])
		return values(t, one)
	}
}

// firstName returns the name of the first node of a sequence.
func firstName(items []item) Name {
	if len(items) > 0 {
		if n, ok := items[0].(*Node); ok {
			return n.name
		}
	}
	return Name{}
}

// distinctValues returns the atomized items without duplicates.
func distinctValues(e *evaluator, _ focus, args [][]item) ([]item, error) {
	var out []item
	seen := map[string]bool{}
	for _, x := range args[0] {
		a := data(x)
		key := a.String()
		if a.typ.isNumeric() {
			key = floatText(a.number(), 17)
		}
		if err := e.charge(len(key)/itemBytes + 4); err != nil {
			return nil, err
		}
		if !seen[key] {
			seen[key] = true
			out = append(out, a)
		}
	}
	return out, nil
}

// textArguments makes the check of a function of texts. Errors 2389 and 2364.
func textArguments(t atomType, texts int) func(*checker, *function, []static) static {
	return func(c *checker, f *function, args []static) static {
		for i, s := range args {
			s = s.atoms()
			c.single(f.name+"()", s)
			switch a := s.atom(); {
			case i < texts && a != 0 && !a.isText():
				c.fail(mserr.XQueryImplicit, s.String(), "xs:string")
			case i >= texts && a != 0 && a != typeUntyped && !a.isNumeric():
				c.fail(mserr.XQueryImplicit, s.String(), "xs:decimal")
			}
		}
		return values(t, one)
	}
}

// maxArguments is the maximum number of arguments of concat.
const maxArguments = 1 << 15

// textOf returns the text of an argument, "" for the empty sequence.
func textOf(items []item) string {
	if len(items) == 0 {
		return ""
	}
	return data(items[0]).String()
}

// ofText makes the evaluation of a function from a text to a text.
func ofText(f func(string) string) func(*evaluator, focus, [][]item) ([]item, error) {
	return func(e *evaluator, _ focus, args [][]item) ([]item, error) {
		s := textOf(args[0])
		if err := e.charge(len(s) / itemBytes); err != nil {
			return nil, err
		}
		return list(textAtom(typeString, f(s))), nil
	}
}

// textFunctions are the functions of texts.
var textFunctions = []*function{
	{name: "string", min: 1, max: 1, context: true, check: func(c *checker, f *function, args []static) static {
		c.single(f.name+"()", args[0])
		return values(typeString, one)
	}, eval: ofText(func(s string) string { return s })},
	{name: "concat", min: 2, max: maxArguments, check: textArguments(typeString, maxArguments), eval: func(e *evaluator, _ focus, args [][]item) ([]item, error) {
		var b strings.Builder
		for _, a := range args {
			s := textOf(a)
			if err := e.charge(len(s) / itemBytes); err != nil {
				return nil, err
			}
			b.WriteString(s)
		}
		return list(textAtom(typeString, b.String())), nil
	}},
	{name: "contains", min: 2, max: 2, check: textArguments(typeBoolean, 2), eval: func(_ *evaluator, _ focus, args [][]item) ([]item, error) {
		return list(boolAtom(strings.Contains(textOf(args[0]), textOf(args[1])))), nil
	}},
	{name: "string-length", min: 1, max: 1, context: true, check: textArguments(typeInteger, 1), eval: func(_ *evaluator, _ focus, args [][]item) ([]item, error) {
		return list(intAtom(utf8.RuneCountInString(textOf(args[0])))), nil
	}},
	{name: "upper-case", min: 1, max: 1, check: textArguments(typeString, 1), eval: ofText(strings.ToUpper)},
	{name: "lower-case", min: 1, max: 1, check: textArguments(typeString, 1), eval: ofText(strings.ToLower)},
	{name: "substring", min: 2, max: 3, check: textArguments(typeString, 1), eval: substring},
}

// substring returns the characters from a position, whose number is rounded.
func substring(_ *evaluator, _ focus, args [][]item) ([]item, error) {
	s := []rune(textOf(args[0]))
	bounds := []float64{0, math.Inf(1)}
	for i, a := range args[1:] {
		if len(a) == 0 {
			return list(textAtom(typeString, "")), nil
		}
		n, ok := cast(data(a[0]), typeDouble)
		if !ok {
			return nil, nil
		}
		bounds[i] = math.Floor(n.float + 0.5)
	}
	var b strings.Builder
	for i, c := range s {
		if at := float64(i + 1); at >= bounds[0] && at < bounds[0]+bounds[1] {
			b.WriteRune(c)
		}
	}
	return list(textAtom(typeString, b.String())), nil
}

// aggregateArgument makes the check of an aggregate. Untyped values count as xs:double. A mixture
// of types is error 9308.
func aggregateArgument(texts bool, result func(atomType) atomType, empty static) func(*checker, *function, []static) static {
	return func(c *checker, f *function, args []static) static {
		s := args[0].atoms()
		t := s.atom()
		switch {
		case t == 0:
			return empty
		case t == typeUntyped:
			t = typeDouble
		case !t.isNumeric() && (!texts || t == typeBase64 || t == typeHex):
			c.fail(mserr.XQueryArithmetic, f.name+"()", s.String())
		}
		n := optional
		if f.name == "sum" {
			n = one
		}
		return values(result(t), n)
	}
}

// same returns its argument.
func same(t atomType) atomType { return t }

// oneNumber makes the check of a function of one number.
func oneNumber(c *checker, f *function, args []static) static {
	s := args[0].atoms()
	c.single(f.name+"()", s)
	t := s.atom()
	switch {
	case t == 0:
		return emptyType
	case t == typeUntyped:
		t = typeDouble
	case !t.isNumeric():
		c.fail(mserr.XQueryArithmetic, f.name+"()", s.String())
	}
	return values(t, optional)
}

// numberFunctions are the functions of numbers.
var numberFunctions = []*function{
	{name: "number", min: 1, max: 1, context: true, check: func(c *checker, f *function, args []static) static {
		if !args[0].isNodes() {
			c.fail(mserr.XQueryNodes, f.name+"()")
		}
		c.single(f.name+"()", args[0])
		return values(typeDouble, optional)
	}, eval: func(_ *evaluator, _ focus, args [][]item) ([]item, error) {
		if len(args[0]) == 0 {
			return nil, nil
		}
		a, ok := cast(data(args[0][0]), typeDouble)
		if !ok {
			return nil, nil
		}
		return list(a), nil
	}},
	{name: "sum", min: 1, max: 1, check: aggregateArgument(false, same, values(typeInteger, one)), eval: func(e *evaluator, _ focus, args [][]item) ([]item, error) {
		total, _, err := sum(e, args[0])
		return list(total), err
	}},
	{name: "avg", min: 1, max: 1, check: aggregateArgument(false, func(t atomType) atomType {
		if t.isExact() {
			return typeDecimal
		}
		return t
	}, emptyType), eval: average},
	{name: "min", min: 1, max: 1, check: aggregateArgument(true, same, emptyType), eval: extreme(-1)},
	{name: "max", min: 1, max: 1, check: aggregateArgument(true, same, emptyType), eval: extreme(1)},
	{name: "floor", min: 1, max: 1, check: oneNumber, eval: rounding(math.Floor)},
	{name: "ceiling", min: 1, max: 1, check: oneNumber, eval: rounding(math.Ceil)},
	{name: "round", min: 1, max: 1, check: oneNumber, eval: rounding(func(f float64) float64 { return math.Floor(f + 0.5) })},
}

// numbers returns the items of an aggregate as numbers, untyped ones as xs:double. Items that are
// no numbers are ignored.
func numbers(items []item) []*atom {
	var out []*atom
	for _, x := range items {
		a := data(x)
		if a.typ == typeUntyped {
			var ok bool
			if a, ok = cast(a, typeDouble); !ok {
				continue
			}
		}
		out = append(out, a)
	}
	return out
}

// sum adds numbers and counts them. Zero of no numbers has the type of the items.
func sum(e *evaluator, items []item) (*atom, int, error) {
	all := numbers(items)
	if err := e.charge(len(all)); err != nil {
		return nil, 0, err
	}
	t := typeInteger
	if len(all) > 0 {
		t = all[0].typ
	} else if len(items) > 0 {
		t = typeDouble
	}
	exact, float := new(big.Rat), 0.0
	for _, a := range all {
		if t.isNumeric() {
			t = promote(t, a.typ)
		}
		float += a.number()
		if a.typ.isExact() {
			exact.Add(exact, a.exact)
		}
	}
	if t.isExact() {
		return &atom{typ: t, exact: exact}, len(all), nil
	}
	return floatAtom(t, float), len(all), nil
}

// averageDigits is the number of fractional digits of an average of exact numbers.
const averageDigits = 10

// average implements avg.
func average(e *evaluator, _ focus, args [][]item) ([]item, error) {
	total, n, err := sum(e, args[0])
	if n == 0 || err != nil {
		return nil, err
	}
	if total.typ.isExact() {
		v := new(big.Rat).Quo(total.exact, new(big.Rat).SetInt64(int64(n)))
		return list(&atom{typ: typeDecimal, exact: truncated(v, averageDigits)}), nil
	}
	return list(floatAtom(total.typ, total.float/float64(n))), nil
}

// extreme makes min (sign -1) and max (sign 1).
func extreme(sign int) func(*evaluator, focus, [][]item) ([]item, error) {
	return func(e *evaluator, _ focus, args [][]item) ([]item, error) {
		all := numbers(args[0])
		if err := e.charge(len(all)); err != nil || len(all) == 0 {
			return nil, err
		}
		best := all[0]
		for _, a := range all[1:] {
			if c, ok := compareAtoms(a, best); ok && c*sign > 0 {
				best = a
			}
		}
		return list(best), nil
	}
}

// rounding makes floor, ceiling and round.
func rounding(round func(float64) float64) func(*evaluator, focus, [][]item) ([]item, error) {
	return func(_ *evaluator, _ focus, args [][]item) ([]item, error) {
		all := numbers(args[0])
		if len(all) == 0 {
			return nil, nil
		}
		a := all[0]
		if !a.typ.isExact() {
			return list(floatAtom(a.typ, round(a.float))), nil
		}
		if a.exact.IsInt() {
			return list(a), nil
		}
		whole := new(big.Int).Div(a.exact.Num(), a.exact.Denom()) // towards minus infinity
		fraction, _ := new(big.Rat).Sub(a.exact, new(big.Rat).SetInt(whole)).Float64()
		whole.Add(whole, big.NewInt(int64(round(fraction))))
		return list(&atom{typ: a.typ, exact: new(big.Rat).SetInt(whole)}), nil
	}
}
