package compile

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// opcode is the kind of a node.
type opcode uint8

// The kinds of nodes, with the fields that each uses. Conditions are nodes of type bit with the
// values 1, 0 and NULL (unknown).
const (
	opConst    opcode = iota + 1 // val
	opVar                        // a variable: name
	opCol                        // a column: src, col
	opRun                        // a value of the execution: run
	opCall                       // a pure function: key, args
	opPerRow                     // a function evaluated for each row: key, args
	opEnv                        // a function of the session: key, args
	opLocal                      // a function of the interpreter: key, args
	opConcat                     // args[0] || args[1], where the result needs no truncation
	opReal                       // an integer as a float
	opCompare                    // args[0] name args[1], both of the same type
	opDistinct                   // IS [NOT] DISTINCT FROM of args; name is SQLite's IS (not distinct) or IS NOT (distinct)
	opAnd                        // args joined by AND
	opOr                         // args joined by OR
	opNot                        // NOT args[0]
	opIsNull                     // args[0] IS NULL
	opIn                         // args[0] IN (args[1:])
	opCase                       // CASE: condition, value, condition, value, ..., value of ELSE
	opCoalesce                   // the first of args that is not NULL
	opScalar                     // a scalar subquery: sub
	opExists                     // EXISTS (sub)
	opInQuery                    // args[0] IN (sub)
	opAll                        // args[0] name ALL (sub)
	opAny                        // args[0] name ANY (sub)
	opAgg                        // an aggregate: agg
	opWindow                     // a window function: agg with window
	opGrouping                   // GROUPING or GROUPING_ID of args; binding replaces it
	opSQL                        // SQL text in parentheses: args[0], if present, then name
	opField                      // a column of the row given to eval: col
	opNoIndex                    // args[0], a column, written so that SQLite uses no index on it
	opRowset                     // a table-valued function: key, args; only as the rowset of a source
)

// traits describe the contents of a node, including the node itself.
type traits uint16

// The traits.
const (
	hasColumn   traits = 1 << iota // a column of any source
	hasSubquery                    // a query
	hasAgg                         // an aggregate of the query that contains the node
	hasWindow                      // a window function
	hasPerRow                      // a value that differs from row to row
	hasLocal                       // a function of the interpreter
	hasEnv                         // a function of the session
	hasVar                         // a variable
	hasRun                         // a value of the execution
	canFail                        // a function that may return an error
	hasSequence                    // NEXT VALUE FOR
	perPlace                       // a function that returns a different value at each place in a statement (RAND)
)

// rowBound are the traits of nodes that cannot be computed before the statement runs.
const rowBound = hasColumn | hasSubquery | hasAgg | hasWindow | hasPerRow

// node is a bound expression. Nodes are immutable once built and may be shared.
type node struct {
	op        opcode
	typ       types.Type
	null      bool // the value may be NULL
	label     label
	traits    traits
	args      []*node
	val       types.Value
	name      string // variable or operator
	key       string // the key of a function
	fn        store.Func
	src       *source
	col       int
	sub       *query
	agg       *aggregate
	run       func(*Run) types.Value
	singleRow bool     // opScalar: the query returns at most one row
	deduced   *Deduced // opVar: a parameter without a declaration
	// locale is the locale of the node's conversions; zero unless the session has another.
	locale types.Locale
	// original is the original expression of a node that was retyped; nil for other nodes.
	original *node
	// via is the column that the statement names, if a derived table or view replaces that column
	// by this expression; otherwise nil.
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
	wrap     string      // key of a function applied to the result; "" for none
	outer    bool        // an aggregate of an outer query's rows
}

// window is an OVER clause.
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

// viaColumn returns the column by which the statement names the expression, or nil.
func (n *node) viaColumn() *sourceColumn {
	for ; n != nil; n = n.original {
		if n.via != nil {
			return n.via
		}
	}
	return nil
}

// constant returns a literal.
func constant(v types.Value, t types.Type) *node {
	return &node{op: opConst, typ: t, val: v, null: v == nil}
}

// nullOf returns a NULL of a type.
func nullOf(t types.Type) *node { return constant(nil, t) }

// isConst reports whether a node is a literal that is not NULL.
func (n *node) isConst() bool { return n.op == opConst && n.val != nil }

// isNullConst reports whether a node is a literal NULL.
func (n *node) isNullConst() bool { return n.op == opConst && n.val == nil }

// build returns a node over arguments and inherits their traits. The result may be NULL if an
// argument may be NULL.
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

// labeled sets the collation label of a new node of a character type.
func (n *node) labeled(l label) *node {
	if n.typ.IsCharacter() {
		n.label = l
	}
	return n
}

// call returns a call of the pure function with a key of this package.
func call(key string, t types.Type, args ...*node) (*node, error) {
	fn, err := keys.ScalarFunc(key)
	if err != nil {
		return nil, err
	}
	n := build(opCall, t, args...)
	n.key, n.fn = key, fn
	n.traits |= canFail
	return n, nil
}

// columnNode returns a reference to a column of a source.
func columnNode(src *source, i int) *node {
	c := &src.cols[i]
	return &node{op: opCol, typ: c.typ, null: c.null, src: src, col: i, traits: hasColumn, label: referenceLabel(c)}
}

// referenceLabel returns the label of a reference to a column. Columns of FROM are Implicit at
// least. Only the operands that the compiler itself makes of queries have other labels.
func referenceLabel(c *sourceColumn) label {
	if c.typ.IsCharacter() && c.label == labelCoercible {
		return labelImplicit
	}
	return c.label
}

// retyped returns a copy of a node with another type. The values must be valid in that type
// unchanged.
func (n *node) retyped(t types.Type) *node {
	r := *n
	r.typ, r.original = t, n
	return &r
}

// not negates a condition.
func not(n *node) *node { return build(opNot, types.BitType, n) }

// and joins conditions with AND and ignores nil ones. The result is nil if all are nil.
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

// isNull returns the condition "n IS NULL".
func isNull(n *node) *node {
	r := build(opIsNull, types.BitType, n)
	r.null = false
	return r
}

// walk visits a node and its operands, but not subqueries. It does not descend into a node for
// which visit returns false.
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

// replace returns a copy of a node with parts replaced. swap returns the replacement of a node, or
// nil to descend into the node. Subqueries are not visited.
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
	c.original = nil
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

// replaceOrder applies replace to the items of an ORDER BY.
func replaceOrder(order []orderTerm, swap func(*node) *node) []orderTerm {
	out := make([]orderTerm, len(order))
	for i, o := range order {
		out[i] = orderTerm{o.n.replace(swap), o.desc}
	}
	return out
}

// own returns the traits of the node itself, without those of its arguments.
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
		if strings.HasPrefix(n.key, keys.LocalSequence) || strings.HasPrefix(n.key, keys.LocalRowVersion) ||
			n.key == keys.LocalIdentity {
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
