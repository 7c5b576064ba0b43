package compile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// fires reports whether actions on the target can fire AFTER triggers: those of the target, or of
// tables whose foreign keys carry the change on.
func (t target) fires(actions []string) bool {
	if t.db == nil {
		return false
	}
	type change struct {
		table int32
		event string
	}
	seen := map[change]bool{}
	var visit func(table *catalog.Table, event string) bool
	visit = func(table *catalog.Table, event string) bool {
		c := change{table.ObjectID, event}
		if seen[c] {
			return false
		}
		seen[c] = true
		if len(table.After(event)) > 0 {
			return true
		}
		if event == "INSERT" {
			return false
		}
		for _, other := range t.db.Tables() {
			for _, f := range other.ForeignKeys {
				if f.Referenced != table.ObjectID {
					continue
				}
				action, next := f.OnUpdate, "UPDATE"
				if event == "DELETE" {
					action = f.OnDelete
				}
				if event == "DELETE" && action == catalog.Cascade {
					next = "DELETE"
				}
				if action != catalog.NoAction && visit(other, next) {
					return true
				}
			}
		}
		return false
	}
	return slices.ContainsFunc(actions, func(event string) bool { return visit(t.table, event) })
}

// setActions notes the actions of a statement.
func setActions(d *plan.DML, t target, actions ...string) {
	d.Actions, d.Fires = actions, t.fires(actions)
}

// noteUpdates notes the columns that a statement assigns, for UPDATE() and COLUMNS_UPDATED().
func noteUpdates(d *plan.DML, values []setting) {
	for _, v := range values {
		if v.c.Type.ID != types.RowVersion && !slices.Contains(d.Updates, v.c.ID) {
			d.Updates = append(d.Updates, v.c.ID)
		}
	}
}

// isTransition reports whether a name is that of one of the tables of a trigger.
func isTransition(name string) bool {
	return strings.EqualFold(name, "inserted") || strings.EqualFold(name, "deleted")
}

// transition returns the table inserted or deleted of the running trigger, or nil.
func (b *binder) transition(name *syntax.ObjectName) *catalog.Table {
	if len(name.Parts) != 1 || !isTransition(name.Last()) {
		return nil
	}
	return b.localTable(name.Last())
}

// transitionSource returns inserted or deleted as a source. Error 311 for text, ntext and image
// columns, which only INSTEAD OF triggers can read.
func (b *binder) transitionSource(t *catalog.Table) *tree.Source {
	src := b.tableOf(nil, t)
	for i := range src.Columns {
		if src.Columns[i].Type.IsLOB() && b.scope.FiringInstead() == 0 {
			src.Columns[i].Expand = func() (*tree.Node, error) { return nil, mserr.TransitionLOB() }
		}
	}
	return src
}

// transitionTarget returns error 286 if a source that a statement changes is inserted or deleted.
func transitionTarget(src *tree.Source) error {
	if src.Base != nil && src.Base.Temporary && isTransition(src.Base.Name) {
		return mserr.TransitionTarget()
	}
	return nil
}

// updated binds UPDATE(column). Errors: 140 outside a trigger, 207, 2114.
func (b *binder) updated(c *syntax.UpdatedCond, l *level) (*tree.Node, error) {
	t := b.localTable("inserted")
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
	b.needLocal(t)
	bit := column.ID - 1
	cond, err := syntax.ParseCond(
		fmt.Sprintf("CAST(SUBSTRING(COLUMNS_UPDATED(), %d, 1) AS int) & %d <> 0", bit/8+1, 1<<(bit%8)), syntax.DefaultOptions)
	if err != nil {
		return nil, err
	}
	return b.cond(cond, l)
}
