package scalar

import (
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/names"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/expr"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// collate binds COLLATE. Errors: 447 for a type without collation, 448 for an unknown name, 445 and
// 449 for two COLLATE clauses without parentheses between them, 4191 for a char or varchar value
// without a collation. In parentheses, the outer COLLATE decides (SQL Server 2025, recorded).
func (b *Binder) collate(e *syntax.CollateExpr, l *names.Level) (*tree.Node, error) {
	c, err := b.CollationNamed(e.Collation)
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
		return nil, mserr.InvalidCollateType(expr.TypeName(x.Type))
	}
	_, twice := e.X.(*syntax.CollateExpr)
	switch {
	case twice && x.Type.Collation == c:
		return nil, mserr.CollateTwice()
	case twice:
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
