package expr

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Combine returns the collation and label of the result of an operation. Error 468 if two explicit
// collations differ. If two implicit collations differ, the result has no collation. Without
// operands of character types the result is CI with label coercible-default.
func Combine(operation string, nodes ...*tree.Node) (types.Collation, tree.Label, error) {
	var best types.Collation
	l, found := tree.LabelCoercible, false
	for _, n := range nodes {
		switch c := n.Type.Collation; {
		case !n.Type.IsCharacter():
		case !found || n.Label.Precedence > l.Precedence:
			best, l, found = c, n.Label, true
		case n.Label.Precedence < l.Precedence || c == best || l.Precedence == tree.PrecedenceDefault:
		case l.Precedence == tree.PrecedenceExplicit:
			return 0, l, mserr.CollationConflict(c.String(), best.String(), operation)
		case l.Precedence == tree.PrecedenceImplicit:
			l = tree.Label{Precedence: tree.PrecedenceNone, Conflict: &tree.Conflict{A: c, B: best, Operation: operation}}
		}
	}
	return best, l, nil
}

// CollationOf returns the collation of a collation-sensitive operation. Errors if there is none:
// 4191 if an operand has none, 468 if the collations of the operands differ.
func CollationOf(operation string, nodes ...*tree.Node) (types.Collation, error) {
	c, l, err := Combine(operation, nodes...)
	switch {
	case err != nil || !l.HasConflict():
	case slices.ContainsFunc(nodes, func(n *tree.Node) bool { return n.Type.IsCharacter() && n.Label.HasConflict() }):
		err = mserr.NoCollation(operation)
	default:
		err = mserr.CollationConflict(l.Conflict.A.String(), l.Conflict.B.String(), operation)
	}
	return c, err
}

// CheckCollation returns an error for an implicit conversion of a value without a collation: 456 to
// sql_variant, whose values have a collation, and 457 of char and varchar to a character type.
// Assignment is collation insensitive, but the conversion of char and varchar is not ("Collation
// Precedence"): the code page of the value is unknown.
func CheckCollation(n *tree.Node, to types.Type) error {
	if c := n.Label.Conflict; c != nil && to.ID == types.Variant && n.Type.IsCharacter() {
		return mserr.UnresolvedVariant(n.Type.Name(), c.A.String(), c.B.String(), c.Operation)
	}
	if c := n.Label.Conflict; c != nil && to.IsCharacter() && n.Type.IsCharacter() && !n.Type.IsUnicode() {
		return mserr.UnresolvedCollation(n.Type.Name(), to.Name(), c.A.String(), c.B.String(), c.Operation)
	}
	return nil
}

// CheckItemCollation returns error 451 if the i-th item (from 0) of a clause has no collation.
func CheckItemCollation(n tree.Label, clause string, i int) error {
	if c := n.Conflict; c != nil {
		return mserr.CollationConflictColumn(c.A.String(), c.B.String(), c.Operation, clause, i+1)
	}
	return nil
}

// CheckColumnCollations calls CheckItemCollation for each result column of a query.
func CheckColumnCollations(q *tree.Query) error {
	for i, c := range q.Columns {
		if err := CheckItemCollation(c.Label, "SELECT", i); err != nil {
			return err
		}
	}
	return nil
}
