package scalar

import (
	"fmt"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/names"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser"
)

// updated binds UPDATE(column). Errors: 140 outside a trigger, 207, 2114.
func (b *Binder) updated(c *syntax.UpdatedCond, l *names.Level) (*tree.Node, error) {
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
	cond, err := parser.ParseCond(
		fmt.Sprintf("CAST(SUBSTRING(COLUMNS_UPDATED(), %d, 1) AS int) & %d <> 0", bit/8+1, 1<<(bit%8)), parser.DefaultOptions)
	if err != nil {
		return nil, err
	}
	return b.Cond(cond, l)
}
