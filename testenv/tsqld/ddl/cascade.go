package ddl

import (
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// cascades are the foreign keys whose action, for DELETE or for UPDATE, changes rows of their own
// table, by the table to which they refer.
type cascades map[*catalog.Table][]cascade

// cascade is a foreign key with such an action.
type cascade struct {
	own  *catalog.Table
	goes bool // the action is CASCADE, so that foreign keys that refer to the own table act in turn
}

// reached adds to seen the tables whose rows a change of a table t may change. It returns false if
// there are two ways to one of them, or a way back to t.
func (c cascades) reached(t *catalog.Table, seen map[*catalog.Table]bool) bool {
	for _, k := range c[t] {
		if seen[k.own] {
			return false
		}
		seen[k.own] = true
		if k.goes && !c.reached(k.own, seen) {
			return false
		}
	}
	return true
}

// checkCascades reports error 1785 if, with a new foreign key of the table to ref, a table may
// appear twice in the list of cascading actions ("Cascading referential integrity").
func (b *builder) checkCascades(fk *catalog.ForeignKey, ref *catalog.Table) error {
	for _, action := range []func(*catalog.ForeignKey) catalog.Action{
		func(k *catalog.ForeignKey) catalog.Action { return k.OnDelete },
		func(k *catalog.ForeignKey) catalog.Action { return k.OnUpdate },
	} {
		if action(fk) == catalog.NoAction {
			continue
		}
		tables := b.d.Tables()
		if err := b.work(len(tables)); err != nil {
			return err
		}
		byID := map[int32]*catalog.Table{}
		for i, t := range tables {
			if t.ObjectID == b.t.ObjectID {
				tables[i] = b.t
			}
			byID[t.ObjectID] = tables[i]
		}
		if byID[b.t.ObjectID] == nil {
			tables = append(tables, b.t)
		}
		if known := byID[ref.ObjectID]; known != nil {
			ref = known
		}
		found := cascades{ref: {{b.t, action(fk) == catalog.Cascade}}}
		for _, t := range tables {
			for _, k := range t.ForeignKeys {
				to := byID[k.Referenced]
				if k.Referenced == 0 {
					to = t
				}
				if action(k) != catalog.NoAction {
					found[to] = append(found[to], cascade{t, action(k) == catalog.Cascade})
				}
			}
		}
		for _, t := range tables {
			if !found.reached(t, map[*catalog.Table]bool{t: true}) {
				return mserr.CascadePaths(fk.Name, b.label)
			}
		}
	}
	return nil
}
