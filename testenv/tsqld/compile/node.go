package compile

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// opcode is the kind of a node.
type opcode uint8

// The kinds of nodes. Conditions are nodes of type bit whose values are 1, 0 and NULL (unknown).
const (
	opConst    opcode = iota + 1 // val
	opVar                        // a variable: name
	opCol                        // a column: src, col
	opRun                        // a value of the execution: run
	opCall                       // a pure function: key, args
	opPerRow                     // a function evaluated for each row: key, args
	opEnv                        // a function of the session: key, args
	opLocal                      // a function of the interpreter: key, args
	opConcat                     // args[0] || args[1], nothing to cut
	opReal                       // an integer as a float
	opCompare                    // args[0] name args[1], of the same type
	opDistinct                   // args[0] IS [NOT] DISTINCT FROM args[1]: name is IS or IS NOT (SQLite's, which mean the opposite)
	opAnd                        // all of args
	opOr                         // any of args
	opNot                        // args[0]
	opIsNull                     // args[0] IS NULL
	opIn                         // args[0] among args[1:]
	opCase                       // cond, value, cond, value... else
	opCoalesce                   // the first of args that is not NULL
	opScalar                     // a scalar subquery: sub
	opExists                     // EXISTS (sub)
	opInQuery                    // args[0] IN (sub)
	opAll                        // args[0] name ALL (sub)
	opAny                        // args[0] name ANY (sub)
	opAgg                        // an aggregate: agg
	opWindow                     // a window function: agg with window
	opGrouping                   // GROUPING or GROUPING_ID of args; gone after binding
	opSQL                        // args[0], if there is one, followed by the text name, in parentheses
	opField                      // a column of the row given to eval: col
	opNoIndex                    // args[0], a column, so that no index on it is used
	opRowset                     // a function of rows: key, args; only as the rowset of a source
)

// traits say what a node contains, itself included.
type traits uint16

// The traits.
const (
	hasColumn   traits = 1 << iota // a column of any source
	hasSubquery                    // a query
	hasAgg                         // an aggregate of the query to which the node belongs
	hasWindow                      // a window function
	hasPerRow                      // something that differs from row to row
	hasLocal                       // a function that the interpreter runs
	hasEnv                         // a function of the session
	hasVar                         // a variable
	hasRun                         // a value of the execution
	canFail                        // a function that may give an error
	hasSequence                    // NEXT VALUE FOR
	perPlace                       // a function that gives another value at each place where it stands (RAND)
)

// rowBound are the traits that keep a node from being computed before the statement.
const rowBound = hasColumn | hasSubquery | hasAgg | hasWindow | hasPerRow

// node is a bound expression. Nodes are immutable once built, and may be shared.
type node struct {
	op     opcode
	typ    types.Type
	null   bool // may be NULL
	label  label
	traits traits
	args   []*node
	val    types.Value
	name   string // variable or operator
	key    string // of a function
	fn     store.Func
	src    *source
	col    int
	sub    *query
	agg    *aggregate
	run    func(*Run) types.Value
	one    bool // opScalar: the query cannot give several rows
	// locale is that in which the node is converted; the zero one unless the session has another.
	locale types.Locale
	// of is the expression that this node takes for another type or collation; nil for nodes of their own.
	of *node
	// via is the column by whose name the statement means the expression, where a source shows it in place of a column of its own.
	via *sourceColumn
}

// aggregate is an aggregate or window function.
type aggregate struct {
	native   string // SQLite's function; "" for agg(key, ...)
	key      string
	distinct bool
	star     bool
	args     []*node
	order    []orderTerm // WITHIN GROUP
	window   *window     // nil for a plain aggregate
	wrap     string      // key of a function over the result; "" for none
	outer    bool        // of the rows of an outer query
}

// window is what stands behind OVER.
type window struct {
	partition []*node
	order     []orderTerm
	frame     string // SQLite's text; "" for the default
}

// orderTerm is an item of an ORDER BY.
type orderTerm struct {
	n    *node
	desc bool
}

// viaColumn is the column by whose name the statement means the expression, if a source shows it so; else nil.
func (n *node) viaColumn() *sourceColumn {
	for ; n != nil; n = n.of {
		if n.via != nil {
			return n.via
		}
	}
	return nil
}

// constant makes a literal.
func constant(v types.Value, t types.Type) *node {
	return &node{op: opConst, typ: t, val: v, null: v == nil}
}

// nullOf is a NULL of a type.
func nullOf(t types.Type) *node { return constant(nil, t) }

// isConst reports a literal that is not NULL.
func (n *node) isConst() bool { return n.op == opConst && n.val != nil }

// isNullConst reports a literal NULL.
func (n *node) isNullConst() bool { return n.op == opConst && n.val == nil }

// build makes a node over arguments, whose traits it inherits. It may be NULL when an argument may.
func build(op opcode, t types.Type, args ...*node) *node {
	n := &node{op: op, typ: t, args: args}
	for _, a := range args {
		n.traits |= a.traits
		n.null = n.null || a.null
		if t.IsCharacter() && a.typ.IsCharacter() {
			n.label = n.label.higher(a.label)
		}
	}
	return n
}

// labeled gives a new node of a character type its label.
func (n *node) labeled(l label) *node {
	if n.typ.IsCharacter() {
		n.label = l
	}
	return n
}

// call makes a pure function of a key that this package resolves.
func call(key string, t types.Type, args ...*node) (*node, error) {
	fn, err := resolveScalar(key)
	if err != nil {
		return nil, err
	}
	n := build(opCall, t, args...)
	n.key, n.fn = key, fn
	n.traits |= canFail
	return n, nil
}

// columnNode makes a reference to a column of a source.
func columnNode(src *source, i int) *node {
	c := &src.cols[i]
	n := &node{op: opCol, typ: c.typ, null: c.null, src: src, col: i, traits: hasColumn, label: c.label}
	if c.typ.IsCharacter() && n.label == labelCoercible {
		n.label = labelImplicit
	}
	return n
}

// retyped is a node taken for another type, in which its values are the same.
func (n *node) retyped(t types.Type) *node {
	r := *n
	r.typ, r.of = t, n
	return &r
}

// not negates a condition.
func not(n *node) *node { return build(opNot, types.BitType, n) }

// and joins conditions; nil ones are left out, and nil is the result of none.
func and(conds ...*node) *node {
	var args []*node
	for _, c := range conds {
		switch {
		case c == nil:
		case c.op == opAnd:
			args = append(args, c.args...)
		default:
			args = append(args, c)
		}
	}
	switch len(args) {
	case 0:
		return nil
	case 1:
		return args[0]
	}
	return build(opAnd, types.BitType, args...)
}

// isNull is IS NULL.
func isNull(n *node) *node {
	r := build(opIsNull, types.BitType, n)
	r.null = false
	return r
}

// walk visits a node and what it contains, queries excluded, until visit returns false for a branch.
func (n *node) walk(visit func(*node) bool) {
	if n == nil || !visit(n) {
		return
	}
	for _, a := range n.args {
		a.walk(visit)
	}
	if n.agg != nil {
		n.agg.eachOperand(func(a *node) { a.walk(visit) })
	}
}

// eachOperand visits the direct operands of an aggregate.
func (a *aggregate) eachOperand(visit func(*node)) {
	for _, x := range a.args {
		visit(x)
	}
	for _, o := range a.order {
		visit(o.n)
	}
	if a.window != nil {
		for _, x := range a.window.partition {
			visit(x)
		}
		for _, o := range a.window.order {
			visit(o.n)
		}
	}
}

// replace copies a node with parts exchanged: swap returns what stands for a node, or nil to go on into it.
// Queries are not entered.
func (n *node) replace(swap func(*node) *node) *node {
	if n == nil {
		return nil
	}
	if r := swap(n); r != nil {
		return r
	}
	if len(n.args) == 0 && n.agg == nil {
		return n
	}
	c := *n
	c.of = nil
	c.traits &^= rowBound | hasLocal | hasVar | hasEnv | hasRun
	c.args = make([]*node, len(n.args))
	for i, a := range n.args {
		c.args[i] = a.replace(swap)
		c.traits |= c.args[i].traits
	}
	c.traits |= n.own()
	if n.agg != nil {
		agg := *n.agg
		agg.args = make([]*node, len(n.agg.args))
		for i, a := range n.agg.args {
			agg.args[i] = a.replace(swap)
		}
		agg.order = replaceOrder(agg.order, swap)
		if agg.window != nil {
			w := *agg.window
			w.partition = make([]*node, len(n.agg.window.partition))
			for i, p := range n.agg.window.partition {
				w.partition[i] = p.replace(swap)
			}
			w.order = replaceOrder(w.order, swap)
			agg.window = &w
		}
		c.agg = &agg
	}
	return &c
}

// replaceOrder is replace over the items of an ORDER BY.
func replaceOrder(order []orderTerm, swap func(*node) *node) []orderTerm {
	out := make([]orderTerm, len(order))
	for i, o := range order {
		out[i] = orderTerm{o.n.replace(swap), o.desc}
	}
	return out
}

// own are the traits that a node has by itself, not through its arguments.
func (n *node) own() traits {
	switch n.op {
	case opCol, opSQL:
		return hasColumn
	case opVar:
		return hasVar
	case opRun:
		return hasRun
	case opCall, opRowset:
		return canFail
	case opPerRow:
		return hasPerRow | canFail
	case opEnv:
		return hasEnv
	case opLocal:
		if strings.HasPrefix(n.key, LocalSequence) || strings.HasPrefix(n.key, LocalRowVersion) || n.key == LocalIdentity {
			return hasLocal | hasPerRow | canFail
		}
		return hasLocal | canFail
	case opScalar, opExists, opInQuery, opAll, opAny:
		return hasSubquery | canFail
	case opAgg:
		if n.agg.outer {
			return hasSubquery | hasColumn | canFail
		}
		return hasAgg | hasColumn
	case opWindow:
		return hasWindow | hasColumn
	}
	return 0
}
