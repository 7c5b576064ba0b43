package xquery

import (
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// flworExpr is for, let, where, order by, return.
type flworExpr struct {
	bindings []*binding
	where    expr
	order    []*orderKey
	result   expr
}

// bind checks bindings and returns the count of their combinations.
func (c *checker) bind(list []*binding, word string) count {
	n := one
	for _, b := range list {
		s := b.x.check(c)
		what := word
		if b.isLet {
			what = "let"
		}
		c.notMade("'"+what+"'", s)
		if !b.isLet {
			n = n.times(s.count)
			s.count = one
		}
		b.slot = c.declare(b.name, s)
	}
	return n
}

func (x *flworExpr) check(c *checker) static {
	scope := len(c.vars)
	n := c.bind(x.bindings, "for")
	if x.where != nil {
		c.condition(x.where)
		n = n.orNone()
	}
	for _, k := range x.order {
		s := c.data(k.x.check(c))
		c.single("order by", s)
		k.isNumeric = s.atom().isNumeric()
	}
	s := x.result.check(c)
	c.vars = c.vars[:scope]
	return s.with(n.times(s.count))
}

// ordered is a result of a FLWOR expression with its keys.
type ordered struct {
	keys  []*atom
	items []item
}

func (x *flworExpr) eval(e *evaluator, f focus) ([]item, error) {
	var out []item
	var rows []ordered
	err := e.each(x.bindings, f, func() (bool, error) {
		if x.where != nil {
			if ok, err := e.truth(x.where, f); !ok || err != nil {
				return true, err
			}
		}
		row := ordered{keys: make([]*atom, len(x.order))}
		for i, k := range x.order {
			var err error
			if row.keys[i], err = e.atom(k.x, f); err != nil {
				return false, err
			}
		}
		items, err := x.result.eval(e, f)
		if err != nil {
			return false, err
		}
		if err := e.charge(len(items) + len(row.keys)); err != nil {
			return false, err
		}
		if len(x.order) == 0 {
			out = append(out, items...)
			return true, nil
		}
		row.items = items
		rows = append(rows, row)
		return true, nil
	})
	if err != nil || len(x.order) == 0 {
		return out, err
	}
	slices.SortStableFunc(rows, func(a, b ordered) int { return compareKeys(x.order, a.keys, b.keys) })
	for _, r := range rows {
		out = append(out, r.items...)
	}
	return out, nil
}

// compareKeys compares the keys of two results. An empty key precedes all others.
func compareKeys(order []*orderKey, a, b []*atom) int {
	for i, k := range order {
		c := 0
		switch {
		case a[i] == nil || b[i] == nil:
			c = int(types.BitOf(a[i] != nil) - types.BitOf(b[i] != nil))
		case k.isNumeric:
			c, _ = compareAtoms(a[i], b[i])
		default:
			if v, ok := compareAtoms(a[i], b[i]); ok {
				c = v
			} else {
				c = strings.Compare(a[i].String(), b[i].String())
			}
		}
		if k.desc {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

// each calls body for each combination of bindings, with the variables set, until it returns false.
func (e *evaluator) each(list []*binding, f focus, body func() (bool, error)) error {
	_, err := e.eachFrom(list, f, body)
	return err
}

// eachFrom is each; it reports whether to continue.
func (e *evaluator) eachFrom(list []*binding, f focus, body func() (bool, error)) (bool, error) {
	if len(list) == 0 {
		return body()
	}
	b := list[0]
	items, err := b.x.eval(e, f)
	if err != nil {
		return false, err
	}
	if b.isLet {
		e.vars[b.slot] = items
		return e.eachFrom(list[1:], f, body)
	}
	for i := range items {
		if err := e.m.Work(itemWork); err != nil {
			return false, err
		}
		e.vars[b.slot] = items[i : i+1]
		if more, err := e.eachFrom(list[1:], f, body); !more || err != nil {
			return more, err
		}
	}
	return true, nil
}

// quantifiedExpr is some or every.
type quantifiedExpr struct {
	every    bool
	bindings []*binding
	test     expr
}

func (x *quantifiedExpr) check(c *checker) static {
	scope := len(c.vars)
	word := "some"
	if x.every {
		word = "every"
	}
	c.bind(x.bindings, word)
	c.condition(x.test)
	c.vars = c.vars[:scope]
	return values(typeBoolean, one)
}

func (x *quantifiedExpr) eval(e *evaluator, f focus) ([]item, error) {
	result := x.every
	err := e.each(x.bindings, f, func() (bool, error) {
		ok, err := e.truth(x.test, f)
		if ok != x.every {
			result = !x.every
			return false, err
		}
		return true, err
	})
	return list(boolAtom(result)), err
}

// sqlRef is sql:variable or sql:column.
type sqlRef struct {
	SQLRef
	index int
	typ   atomType
	from  sqlType
}

func (x *sqlRef) check(c *checker) static {
	if c.typeOf == nil {
		c.fail(mserr.XQueryVariable, x.Name)
		return emptyType
	}
	t, err := c.typeOf(x.index, x.SQLRef)
	if err != nil {
		if c.err == nil {
			c.err = err
		}
		return emptyType
	}
	x.from = sqlType{t}
	if x.from.isXML() {
		if !c.xmlRefs {
			c.fail(mserr.XQueryInstance)
		}
		return nodes(0, "", many)
	}
	if x.typ = x.from.atom(); x.typ == 0 {
		c.fail(mserr.XQuerySQLType, t.Name())
		return emptyType
	}
	return values(x.typ, optional)
}

func (x *sqlRef) eval(e *evaluator, _ focus) ([]item, error) {
	v := e.values[x.index]
	if v == nil {
		return nil, nil
	}
	if x.from.isXML() {
		return e.instance(v)
	}
	a, err := x.from.value(v, x.typ)
	return list(a), err
}

// instance returns the nodes of an instance, which insert adds.
func (e *evaluator) instance(v any) ([]item, error) {
	text, _ := v.(string)
	doc, err := Read(e.m, text)
	if err != nil {
		return nil, err
	}
	items := make([]item, len(doc.children))
	for i, c := range doc.children {
		items[i] = c
	}
	return items, nil
}
