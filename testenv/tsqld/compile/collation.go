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
	firm     firmness
	conflict *conflict // of undecided labels
}

// firmness orders the labels: the greater one wins.
type firmness uint8

// What labels there are.
const (
	firmDefault   firmness = iota // coercible-default
	firmImplicit                  // implicit
	firmUndecided                 // no-collation: two columns of different collations were joined
	firmExplicit                  // explicit
)

// Collation labels.
var (
	coercible = label{}                   // literals, variables, results of functions over them
	implicit  = label{firm: firmImplicit} // columns
	explicit  = label{firm: firmExplicit} // COLLATE
)

// conflict is how a value came to have no collation.
type conflict struct {
	a, b      types.Collation
	operation string // in messages
}

// undecided reports a value without a collation: it may be passed on, but neither compared nor stored.
func (l label) undecided() bool { return l.firm == firmUndecided }

// firmer is the firmer of two labels.
func (l label) firmer(other label) label {
	if other.firm > l.firm {
		return other
	}
	return l
}

// combine decides which collation and label the result of an operation over nodes has. Error 468 when two explicit collations
// differ; two implicit ones that differ leave the result without a collation. Without a node of a character type the collation is
// CI and coercible.
func combine(operation string, nodes ...*node) (types.Collation, label, error) {
	var best types.Collation
	l, found := coercible, false
	for _, n := range nodes {
		switch c := n.typ.Collation; {
		case !n.typ.IsCharacter():
		case !found || n.label.firm > l.firm:
			best, l, found = c, n.label, true
		case n.label.firm < l.firm || c == best || l.firm == firmDefault:
		case l.firm == firmExplicit:
			return 0, l, mserr.CollationConflict(c.String(), best.String(), operation)
		case l.firm == firmImplicit:
			l = label{firmUndecided, &conflict{c, best, operation}}
		}
	}
	return best, l, nil
}

// collationOf decides by which collation an operation compares nodes. Error 468 when that is undecided.
func collationOf(operation string, nodes ...*node) (types.Collation, error) {
	c, l, err := combine(operation, nodes...)
	if err == nil && l.undecided() {
		err = mserr.CollationConflict(l.conflict.a.String(), l.conflict.b.String(), operation)
	}
	return c, err
}

// decided refuses a value without a collation where one is assigned. Error 457.
func decided(n *node, to types.Type) error {
	if c := n.label.conflict; c != nil && to.IsCharacter() && n.typ.IsCharacter() {
		return mserr.UnresolvedCollation(n.typ.Name(), to.Name(), c.a.String(), c.b.String(), c.operation)
	}
	return nil
}

// decidedItem refuses a value without a collation as the i-th item (from 0) of a clause. Error 451.
func decidedItem(n label, clause string, i int) error {
	if c := n.conflict; c != nil {
		return mserr.CollationConflictColumn(c.a.String(), c.b.String(), c.operation, clause, i+1)
	}
	return nil
}

// decidedColumns is decidedItem for the columns that a query yields.
func decidedColumns(q *query) error {
	for i, c := range q.cols {
		if err := decidedItem(c.label, "SELECT", i); err != nil {
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
	if x, err = inPage(x, c); err != nil {
		return nil, err
	}
	t := x.typ
	t.Collation = c
	r := x.retyped(t)
	r.label = explicit
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
