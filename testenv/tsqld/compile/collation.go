package compile

import (
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// label is the collation label of a character value ("Collation Precedence"). Labels compare with
// ==.
type label struct {
	precedence precedence
	conflict   *conflict // set for values without a collation
}

// precedence orders the labels: the higher one determines the collation of a result.
type precedence uint8

// The labels of SQL Server.
const (
	precedenceDefault  precedence = iota // coercible-default
	precedenceImplicit                   // implicit
	precedenceNone                       // no-collation: the operands have different implicit collations
	precedenceExplicit                   // explicit
)

// Collation labels.
var (
	labelCoercible = label{}                               // literals, variables, results of functions over them
	labelImplicit  = label{precedence: precedenceImplicit} // columns
	labelExplicit  = label{precedence: precedenceExplicit} // COLLATE
)

// conflict is the reason why a value has no collation.
type conflict struct {
	a, b      types.Collation
	operation string // name in messages
}

// hasConflict reports whether a value has no collation. Only collation-insensitive operations take
// such a value.
func (l label) hasConflict() bool { return l.precedence == precedenceNone }

// higher returns the label with the higher precedence.
func (l label) higher(other label) label {
	if other.precedence > l.precedence {
		return other
	}
	return l
}

// combine returns the collation and label of the result of an operation. Error 468 if two explicit
// collations differ. If two implicit collations differ, the result has no collation. Without
// operands of character types the result is CI with label coercible-default.
func combine(operation string, nodes ...*node) (types.Collation, label, error) {
	var best types.Collation
	l, found := labelCoercible, false
	for _, n := range nodes {
		switch c := n.typ.Collation; {
		case !n.typ.IsCharacter():
		case !found || n.label.precedence > l.precedence:
			best, l, found = c, n.label, true
		case n.label.precedence < l.precedence || c == best || l.precedence == precedenceDefault:
		case l.precedence == precedenceExplicit:
			return 0, l, mserr.CollationConflict(c.String(), best.String(), operation)
		case l.precedence == precedenceImplicit:
			l = label{precedenceNone, &conflict{c, best, operation}}
		}
	}
	return best, l, nil
}

// collationOf returns the collation of a collation-sensitive operation. Errors if there is none:
// 446 if an operand has none, 468 if the collations of the operands differ.
func collationOf(operation string, nodes ...*node) (types.Collation, error) {
	c, l, err := combine(operation, nodes...)
	switch {
	case err != nil || !l.hasConflict():
	case slices.ContainsFunc(nodes, func(n *node) bool { return n.typ.IsCharacter() && n.label.hasConflict() }):
		err = mserr.NoCollation(operation)
	default:
		err = mserr.CollationConflict(l.conflict.a.String(), l.conflict.b.String(), operation)
	}
	return c, err
}

// checkCollation returns error 457 if a char or varchar value without a collation is assigned to a
// character type. Assignment is collation insensitive, but the conversion of char and varchar is
// not ("Collation Precedence"): the code page of the value is unknown.
func checkCollation(n *node, to types.Type) error {
	if c := n.label.conflict; c != nil && to.IsCharacter() && n.typ.IsCharacter() && !n.typ.IsUnicode() {
		return mserr.UnresolvedCollation(n.typ.Name(), to.Name(), c.a.String(), c.b.String(), c.operation)
	}
	return nil
}

// checkItemCollation returns error 451 if the i-th item (from 0) of a clause has no collation.
func checkItemCollation(n label, clause string, i int) error {
	if c := n.conflict; c != nil {
		return mserr.CollationConflictColumn(c.a.String(), c.b.String(), c.operation, clause, i+1)
	}
	return nil
}

// checkColumnCollations calls checkItemCollation for each result column of a query.
func checkColumnCollations(q *query) error {
	for i, c := range q.cols {
		if err := checkItemCollation(c.label, "SELECT", i); err != nil {
			return err
		}
	}
	return nil
}

// databaseCollation returns the collation of a database.
func databaseCollation(db *catalog.Database) types.Collation {
	if db == nil || db.Options.Collation == "" || db.Options.Collation == catalog.DefaultCollation {
		return types.CI
	}
	c, _ := types.CollationByName(db.Options.Collation)
	return c
}

// ofDatabase returns a type with the collation that literals, variables and function results have
// in the current database.
func (b *binder) ofDatabase(t types.Type) types.Type {
	if t.IsCharacter() {
		t.Collation = databaseCollation(b.place.db)
	}
	return t
}

// collate binds COLLATE. Errors: 447 for a type without collation, 448 for an unknown name, 445 and
// 449 for a value that has a COLLATE clause already, 446 for a char or varchar value without a
// collation.
func (b *binder) collate(e *syntax.CollateExpr, l *level) (*node, error) {
	c, err := b.collationNamed(e.Collation)
	if err != nil {
		return nil, err
	}
	x, err := b.expr(e.X, l)
	if err != nil {
		return nil, err
	}
	if x.typ.ID == types.Null {
		x = nullOf(types.VarCharOf(1))
	}
	if !x.typ.IsCharacter() {
		return nil, mserr.New(447, 16, "Expression type %s is invalid for COLLATE clause.", typeName(x.typ))
	}
	switch {
	case x.label == labelExplicit && x.typ.Collation == c:
		return nil, mserr.CollateTwice()
	case x.label == labelExplicit:
		return nil, mserr.CollateConflict(x.typ.Collation.String(), c.String())
	case x.label.hasConflict() && !x.typ.IsUnicode():
		return nil, mserr.NoCollation("COLLATE")
	}
	if x, err = toCodePage(x, c); err != nil {
		return nil, err
	}
	t := x.typ
	t.Collation = c
	r := x.retyped(t)
	r.label = labelExplicit
	return r, nil
}

// collationNamed returns the collation of a COLLATE clause. Error 448 for an unknown name.
func (b *binder) collationNamed(name string) (types.Collation, error) {
	if strings.EqualFold(name, "database_default") {
		return databaseCollation(b.place.db), nil
	}
	c, ok := types.CollationByName(name)
	if !ok {
		return c, mserr.InvalidCollation(name)
	}
	return c, nil
}
