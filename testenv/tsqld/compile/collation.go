package compile

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// label is how firmly a character value holds its collation ("Collation Precedence"). Labels compare with ==.
type label struct {
	precedence precedence
	conflict   *conflict // of undecided labels
}

// precedence orders the labels: the greater one wins.
type precedence uint8

// What labels there are.
const (
	precedenceDefault  precedence = iota // coercible-default
	precedenceImplicit                   // implicit
	precedenceNone                       // no-collation: two columns of different collations were joined
	precedenceExplicit                   // explicit
)

// Collation labels.
var (
	labelCoercible = label{}                               // literals, variables, results of functions over them
	labelImplicit  = label{precedence: precedenceImplicit} // columns
	labelExplicit  = label{precedence: precedenceExplicit} // COLLATE
)

// conflict is how a value came to have no collation.
type conflict struct {
	a, b      types.Collation
	operation string // in messages
}

// hasConflict reports a value without a collation: it may be passed on, but neither compared nor stored.
func (l label) hasConflict() bool { return l.precedence == precedenceNone }

// higher is the firmer of two labels.
func (l label) higher(other label) label {
	if other.precedence > l.precedence {
		return other
	}
	return l
}

// combine decides which collation and label the result of an operation over nodes has. Error 468 when two explicit collations
// differ; two implicit ones that differ leave the result without a collation. Without a node of a character type the collation is
// CI and coercible.
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

// collationOf decides by which collation an operation compares nodes. Error 468 when that is undecided.
func collationOf(operation string, nodes ...*node) (types.Collation, error) {
	c, l, err := combine(operation, nodes...)
	if err == nil && l.hasConflict() {
		err = mserr.CollationConflict(l.conflict.a.String(), l.conflict.b.String(), operation)
	}
	return c, err
}

// checkCollation refuses a value without a collation where one is assigned. Error 457.
func checkCollation(n *node, to types.Type) error {
	if c := n.label.conflict; c != nil && to.IsCharacter() && n.typ.IsCharacter() {
		return mserr.UnresolvedCollation(n.typ.Name(), to.Name(), c.a.String(), c.b.String(), c.operation)
	}
	return nil
}

// checkItemCollation refuses a value without a collation as the i-th item (from 0) of a clause. Error 451.
func checkItemCollation(n label, clause string, i int) error {
	if c := n.conflict; c != nil {
		return mserr.CollationConflictColumn(c.a.String(), c.b.String(), c.operation, clause, i+1)
	}
	return nil
}

// checkColumnCollations is decidedItem for the columns that a query yields.
func checkColumnCollations(q *query) error {
	for i, c := range q.cols {
		if err := checkItemCollation(c.label, "SELECT", i); err != nil {
			return err
		}
	}
	return nil
}

// databaseCollation is the collation of a database.
func databaseCollation(db *catalog.Database) types.Collation {
	if db == nil || db.Options.Collation == "" || db.Options.Collation == catalog.DefaultCollation {
		return types.CI
	}
	c, _ := types.CollationByName(db.Options.Collation)
	return c
}

// ofDatabase is a type with the collation that literals, variables and results of functions have in the current database.
func (b *binder) ofDatabase(t types.Type) types.Type {
	if t.IsCharacter() {
		t.Collation = databaseCollation(b.place.db)
	}
	return t
}

// collate binds COLLATE. Errors: 447 for a type without collation, 448 for an unknown name.
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
	if x, err = toCodePage(x, c); err != nil {
		return nil, err
	}
	t := x.typ
	t.Collation = c
	r := x.retyped(t)
	r.label = labelExplicit
	return r, nil
}

// collationNamed finds a collation by the name that COLLATE has. Error 448.
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
