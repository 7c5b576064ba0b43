package dml

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/names"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
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

// transitionTarget returns error 286 if a source that a statement changes is inserted or deleted.
func transitionTarget(src *tree.Source) error {
	if src.Base != nil && src.Base.Temporary && names.IsTransition(src.Base.Name) {
		return mserr.TransitionTarget()
	}
	return nil
}
