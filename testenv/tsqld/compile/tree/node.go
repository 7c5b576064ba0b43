package tree

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Op is the kind of a node.
type Op uint8

// The kinds of nodes, with the fields that each uses. Conditions are nodes of type bit with the
// values 1, 0 and NULL (unknown).
const (
	OpConst    Op = iota + 1 // Value
	OpVar                    // a variable: Name
	OpCol                    // a column: Source, Column
	OpRun                    // a value of the execution: Run
	OpCall                   // a pure function: Key, Args
	OpPerRow                 // a function evaluated for each row: Key, Args
	OpEnv                    // a function of the session: Key, Args
	OpLocal                  // a function of the interpreter: Key, Args
	OpConcat                 // Args[0] || Args[1], where the result needs no truncation
	OpReal                   // an integer as a float
	OpCompare                // Args[0] Name Args[1], both of the same type
	OpDistinct               // IS [NOT] DISTINCT FROM of Args; Name is SQLite's IS (not distinct) or IS NOT (distinct)
	OpAnd                    // Args joined by AND
	OpOr                     // Args joined by OR
	OpNot                    // NOT Args[0]
	OpIsNull                 // Args[0] IS NULL
	OpIn                     // Args[0] IN (Args[1:])
	OpCase                   // CASE: condition, value, condition, value, ..., value of ELSE
	OpCoalesce               // the first of Args that is not NULL
	OpScalar                 // a scalar subquery: Query
	OpExists                 // EXISTS (Query)
	OpInQuery                // Args[0] IN (Query)
	OpAll                    // Args[0] Name ALL (Query)
	OpAny                    // Args[0] Name ANY (Query)
	OpAgg                    // an aggregate: Aggregate
	OpWindow                 // a window function: Aggregate with Window
	OpGrouping               // GROUPING or GROUPING_ID of Args; binding replaces it
	OpSQL                    // SQL text in parentheses: Args[0], if present, then Name
	OpField                  // a column of the row given to eval: Column
	OpNoIndex                // Args[0], a column, written so that SQLite uses no index on it
	OpRowset                 // a table-valued function: Key, Args; only as the rowset of a source
)

// Traits describe the contents of a node, including the node itself.
type Traits uint16

// The traits.
const (
	HasColumn   Traits = 1 << iota // a column of any source
	HasSubquery                    // a query
	HasAgg                         // an aggregate of the query that contains the node
	HasWindow                      // a window function
	HasPerRow                      // a value that differs from row to row
	HasLocal                       // a function of the interpreter
	HasEnv                         // a function of the session
	HasVar                         // a variable
	HasRun                         // a value of the execution
	CanFail                        // a function that may return an error
	HasSequence                    // NEXT VALUE FOR
	PerPlace                       // a function that returns a different value at each place in a statement (RAND)
)

// RowBound are the traits of nodes that cannot be computed before the statement runs.
const RowBound = HasColumn | HasSubquery | HasAgg | HasWindow | HasPerRow

// Node is a bound expression. Nodes are immutable once built and may be shared.
type Node struct {
	Op        Op         // the kind, which tells the fields that the node uses
	Type      types.Type // of the value
	Null      bool       // the value may be NULL
	Loose     bool       // the metadata call the value nullable, although it may be never NULL
	Label     Label      // collation label; zero for types other than characters
	Traits    Traits     // of the node and its arguments
	Args      []*Node    // the operands
	Value     types.Value
	Name      string     // variable or operator
	Key       string     // the key of a function
	Func      store.Func // OpCall, OpPerRow: the function of Key
	Source    *Source    // OpCol
	Column    int        // OpCol: an index of Source.Columns, or PackedColumn; OpField: an index of the row
	Query     *Query     // a subquery
	Aggregate *Aggregate
	Run       func(*Run) types.Value // OpRun: the value in one execution
	SingleRow bool                   // OpScalar: the query returns at most one row
	Deduced   *Deduced               // OpVar: a parameter without a declaration
	// Locale is the locale of the node's conversions; zero unless the session has another.
	Locale types.Locale
	// Original is the original expression of a node that was retyped; nil for other nodes.
	Original *Node
	// Via is the column that the statement names, if a derived table or view replaces that column
	// by this expression; otherwise nil.
	Via *SourceColumn
}

// Aggregate is an aggregate or window function.
type Aggregate struct {
	Native   string // SQLite's function; "" for agg(key, ...)
	Key      string // key of agg(key, ...), if Native is ""
	Distinct bool   // DISTINCT
	Star     bool   // COUNT(*)
	Args     []*Node
	Order    []OrderTerm // WITHIN GROUP
	Window   *Window     // nil for a plain aggregate
	Wrap     string      // key of a function applied to the result; "" for none
	Outer    bool        // an aggregate of an outer query's rows
}

// Window is an OVER clause.
type Window struct {
	Partition []*Node     // PARTITION BY
	Order     []OrderTerm // ORDER BY
	Frame     string      // SQLite's text; "" for the default
}

// OrderTerm is an item of an ORDER BY.
type OrderTerm struct {
	Node *Node
	Desc bool // descending
}

// ViaColumn returns the column by which the statement names the expression, or nil.
func (n *Node) ViaColumn() *SourceColumn {
	for ; n != nil; n = n.Original {
		if n.Via != nil {
			return n.Via
		}
	}
	return nil
}

// Constant returns a literal.
func Constant(v types.Value, t types.Type) *Node {
	return &Node{Op: OpConst, Type: t, Value: v, Null: v == nil}
}

// NullOf returns a NULL of a type.
func NullOf(t types.Type) *Node { return Constant(nil, t) }

// IsConst reports whether a node is a literal that is not NULL.
func (n *Node) IsConst() bool { return n.Op == OpConst && n.Value != nil }

// IsNullConst reports whether a node is a literal NULL.
func (n *Node) IsNullConst() bool { return n.Op == OpConst && n.Value == nil }

// Build returns a node over arguments and inherits their traits. The result may be NULL if an
// argument may be NULL.
func Build(op Op, t types.Type, args ...*Node) *Node {
	n := &Node{Op: op, Type: t, Args: args}
	for _, a := range args {
		n.Traits |= a.Traits
		n.Null = n.Null || a.Null
		if t.IsCharacter() && a.Type.IsCharacter() {
			n.Label = n.Label.Higher(a.Label)
		}
	}
	return n
}

// Labeled sets the collation label of a new node of a character type.
func (n *Node) Labeled(l Label) *Node {
	if n.Type.IsCharacter() {
		n.Label = l
	}
	return n
}

// Call returns a call of the pure function with a key of package keys. Errors: those of an unknown
// key.
func Call(key string, t types.Type, args ...*Node) (*Node, error) {
	fn, err := keys.ScalarFunc(key)
	if err != nil {
		return nil, err
	}
	n := Build(OpCall, t, args...)
	n.Key, n.Func = key, fn
	n.Traits |= CanFail
	return n, nil
}

// ColumnNode returns a reference to a column of a source.
func ColumnNode(src *Source, i int) *Node {
	c := &src.Columns[i]
	return &Node{Op: OpCol, Type: c.Type, Null: c.Null, Loose: c.Loose, Source: src, Column: i, Traits: HasColumn, Label: referenceLabel(c)}
}

// referenceLabel returns the label of a reference to a column. Columns of tables, views and
// functions are Implicit. Columns of derived tables and common table expressions have the label of
// their expression, explicit and coercible-default too (SQL Server 2025, recorded).
func referenceLabel(c *SourceColumn) Label {
	if !c.Own && c.Type.IsCharacter() && c.Label == LabelCoercible {
		return LabelImplicit
	}
	return c.Label
}

// Retyped returns a copy of a node with another type. The values must be valid in that type
// unchanged.
func (n *Node) Retyped(t types.Type) *Node {
	r := *n
	r.Type, r.Original = t, n
	return &r
}

// Not negates a condition.
func Not(n *Node) *Node { return Build(OpNot, types.BitType, n) }

// And joins conditions with AND and ignores nil ones. The result is nil if all are nil.
func And(conds ...*Node) *Node {
	var args []*Node
	for _, c := range conds {
		switch {
		case c == nil:
		case c.Op == OpAnd:
			args = append(args, c.Args...)
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
	return Build(OpAnd, types.BitType, args...)
}

// IsNull returns the condition "n IS NULL".
func IsNull(n *Node) *Node {
	r := Build(OpIsNull, types.BitType, n)
	r.Null = false
	return r
}

// Own returns the traits of the node itself, without those of its arguments.
func (n *Node) Own() Traits {
	switch n.Op {
	case OpCol, OpSQL:
		return HasColumn
	case OpVar:
		return HasVar
	case OpRun:
		return HasRun
	case OpCall, OpRowset:
		return CanFail
	case OpPerRow:
		return HasPerRow | CanFail
	case OpEnv:
		return HasEnv
	case OpLocal:
		if strings.HasPrefix(n.Key, keys.LocalSequence) || strings.HasPrefix(n.Key, keys.LocalRowVersion) ||
			n.Key == keys.LocalIdentity {
			return HasLocal | HasPerRow | CanFail
		}
		return HasLocal | CanFail
	case OpScalar, OpExists, OpInQuery, OpAll, OpAny:
		return HasSubquery | CanFail
	case OpAgg:
		if n.Aggregate.Outer {
			return HasSubquery | HasColumn | CanFail
		}
		return HasAgg | HasColumn
	case OpWindow:
		return HasWindow | HasColumn
	}
	return 0
}
