package bind

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/expr"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

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
func (b *Resolver) ofDatabase(t types.Type) types.Type {
	if t.IsCharacter() {
		t.Collation = databaseCollation(b.Place.DB)
	}
	return t
}

// collate binds COLLATE. Errors: 447 for a type without collation, 448 for an unknown name, 445 and
// 449 for a value that has a COLLATE clause already, 446 for a char or varchar value without a
// collation.
func (b *scalarBinder) collate(e *syntax.CollateExpr, l *Level) (*tree.Node, error) {
	c, err := b.collationNamed(e.Collation)
	if err != nil {
		return nil, err
	}
	x, err := b.Expr(e.X, l)
	if err != nil {
		return nil, err
	}
	if x.Type.ID == types.Null {
		x = tree.NullOf(types.VarCharOf(1))
	}
	if !x.Type.IsCharacter() {
		return nil, mserr.New(447, 16, "Expression type %s is invalid for COLLATE clause.", expr.TypeName(x.Type))
	}
	switch {
	case x.Label == tree.LabelExplicit && x.Type.Collation == c:
		return nil, mserr.CollateTwice()
	case x.Label == tree.LabelExplicit:
		return nil, mserr.CollateConflict(x.Type.Collation.String(), c.String())
	case x.Label.HasConflict() && !x.Type.IsUnicode():
		return nil, mserr.NoCollation("COLLATE")
	}
	if x, err = expr.ToCodePage(x, c); err != nil {
		return nil, err
	}
	t := x.Type
	t.Collation = c
	r := x.Retyped(t)
	r.Label = tree.LabelExplicit
	return r, nil
}

// collationNamed returns the collation of a COLLATE clause. Error 448 for an unknown name.
func (b *Resolver) collationNamed(name string) (types.Collation, error) {
	if strings.EqualFold(name, "database_default") {
		return databaseCollation(b.Place.DB), nil
	}
	c, ok := types.CollationByName(name)
	if !ok {
		return c, mserr.InvalidCollation(name)
	}
	return c, nil
}
