package ddl

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
)

// cascades are the foreign keys of a database, among them those of a table that is being created or
// altered.
type cascades struct {
	tables []*catalog.Table
	// changed stands for the table of the same ID in tables. A foreign key of it that refers to no
	// other table refers to itself.
	changed *catalog.Table
}

// cascades returns those of the builder's database.
func (b *builder) cascades() cascades {
	c := cascades{changed: b.t}
	c.tables = append(c.tables, b.t)
	for _, t := range b.d.Tables() {
		if t.ObjectID != b.t.ObjectID {
			c.tables = append(c.tables, t)
		}
	}
	return c
}

// treeless reports whether an UPDATE or DELETE of any table would reach a table twice, or the table
// itself, by the actions of foreign keys: "No table can appear more than one time in the list of
// all cascading referential actions"
// (https://learn.microsoft.com/sql/relational-databases/tables/primary-and-foreign-key-constraints).
func (c cascades) treeless() bool {
	return slices.ContainsFunc(c.tables, func(t *catalog.Table) bool {
		return c.meets(t, true, &[]*catalog.Table{t}) || c.meets(t, false, &[]*catalog.Table{t})
	})
}

// meets follows a DELETE or an UPDATE of a table to the tables that refer to it, and reports
// whether one is in seen, to which it adds them.
func (c cascades) meets(t *catalog.Table, deleted bool, seen *[]*catalog.Table) bool {
	for _, o := range c.tables {
		for _, f := range o.ForeignKeys {
			action := f.OnUpdate
			if deleted {
				action = f.OnDelete
			}
			if action == catalog.NoAction || !c.refers(f, o, t) {
				continue
			}
			if slices.Contains(*seen, o) {
				return true
			}
			*seen = append(*seen, o)
			if action == catalog.Cascade && c.meets(o, deleted, seen) {
				return true
			}
		}
	}
	return false
}

// refers reports whether a foreign key of a table refers to another one.
func (c cascades) refers(f *catalog.ForeignKey, of, to *catalog.Table) bool {
	if of == c.changed && f.Referenced == 0 {
		return to == of
	}
	return f.Referenced == to.ObjectID
}
