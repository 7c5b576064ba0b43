package bind

import (
	"fmt"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// IsTransition reports whether a name is that of one of the tables of a trigger.
func IsTransition(name string) bool {
	return strings.EqualFold(name, "inserted") || strings.EqualFold(name, "deleted")
}

// Transition returns the table inserted or deleted of the running trigger, or nil.
func (b *Resolver) Transition(name *syntax.ObjectName) *catalog.Table {
	if len(name.Parts) != 1 || !IsTransition(name.Last()) {
		return nil
	}
	return b.LocalTable(name.Last())
}

// transitionSource returns inserted or deleted as a source. Error 311 for text, ntext and image
// columns, which only INSTEAD OF triggers can read.
func (b *fromBinder) transitionSource(t *catalog.Table) *tree.Source {
	src := b.tableOf(nil, t)
	for i := range src.Columns {
		if src.Columns[i].Type.IsLOB() && b.Scope.FiringInstead() == 0 {
			src.Columns[i].Expand = func() (*tree.Node, error) { return nil, mserr.TransitionLOB() }
		}
	}
	return src
}

// updated binds UPDATE(column). Errors: 140 outside a trigger, 207, 2114.
func (b *scalarBinder) updated(c *syntax.UpdatedCond, l *Level) (*tree.Node, error) {
	t := b.LocalTable("inserted")
	if t == nil {
		return nil, mserr.UpdateOutsideTrigger()
	}
	column := t.Column(c.Column.Name)
	if column == nil {
		return nil, mserr.InvalidColumn(c.Column.Name)
	}
	if column.Formula != nil {
		return nil, mserr.UpdateOfComputed(column.Name)
	}
	b.NeedLocal(t)
	bit := column.ID - 1
	cond, err := syntax.ParseCond(
		fmt.Sprintf("CAST(SUBSTRING(COLUMNS_UPDATED(), %d, 1) AS int) & %d <> 0", bit/8+1, 1<<(bit%8)), syntax.DefaultOptions)
	if err != nil {
		return nil, err
	}
	return b.Cond(cond, l)
}
