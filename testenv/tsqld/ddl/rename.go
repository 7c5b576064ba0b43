package ddl

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// Rename executes sp_rename.
func (r *Executor) Rename(name, fresh, kind string) (int32, error) {
	s := r.s
	d := s.DatabaseByID(s.DatabaseID)
	kind = strings.ToUpper(kind)
	if fresh == "" {
		return 1, mserr.Of(15223, "newname")
	}
	missing := mserr.AmbiguousItem("OBJECT")
	if kind == "" {
		kind, missing = r.renameKind(d, name), mserr.NoItem(name, d.Name, "(null)")
	}
	var err error
	switch kind {
	case "OBJECT":
		err = r.renameObject(d, name, fresh, missing)
	case "COLUMN":
		err = r.renamePart(name, "COLUMN", func(b *builder, part string) error {
			c := b.t.Column(part)
			switch {
			case c == nil:
				return mserr.AmbiguousItem("COLUMN")
			case b.t.Column(fresh) != nil && b.t.Column(fresh) != c:
				return mserr.RenameTaken(fresh, "COLUMN")
			}
			if err := b.renameDependents(c); err != nil {
				return err
			}
			c.Name = fresh
			return nil
		})
	case "INDEX":
		err = r.renamePart(name, "INDEX", func(b *builder, part string) error {
			ix := b.t.Index(part)
			switch {
			case ix == nil:
				return mserr.AmbiguousItem("INDEX")
			case b.t.Index(fresh) != nil:
				return mserr.RenameTaken(fresh, "INDEX")
			}
			ix.Name = fresh
			if ix.Key != nil {
				ix.Key.Name, ix.Key.System = fresh, false
			}
			return nil
		})
	case "USERDATATYPE":
		err = r.renameType(d, name, fresh)
	case "DATABASE":
		other := s.DatabaseByName(name)
		if other == nil || !s.OwnsDatabase(other) {
			return 1, mserr.NoItem(name, d.Name, kind)
		}
		if other.ID <= catalog.DatabaseMSDB {
			return 1, mserr.Of(15227, other.Name)
		}
		err = r.s.Alter(r.ctx, other, func(_ *catalog.Database, e *catalog.Edit) error {
			if s.DatabaseByName(fresh) != nil {
				return mserr.DatabaseExists(fresh)
			}
			e.Rename(fresh)
			return nil
		})
	default:
		return 1, mserr.Of(15249, kind)
	}
	if err != nil {
		return 1, err
	}
	return 0, r.host.Info(mserr.RenameCaution())
}

// renameKind determines the kind of the item if sp_rename does not get it: an object, or else a
// column or index of a table.
func (r *Executor) renameKind(d *catalog.Database, name string) string {
	n := session.SplitName(name)
	if len(n.Parts) < 2 {
		return "OBJECT"
	}
	if len(n.Parts) == 2 {
		for _, schema := range r.schemas(d, n.Schema()) {
			if _, ok := d.Constraint(schema, n.Last()); ok || d.Object(schema, n.Last()) != nil {
				return "OBJECT"
			}
		}
	}
	owner := &syntax.ObjectName{Parts: n.Parts[:len(n.Parts)-1]}
	for _, schema := range r.schemas(d, owner.Schema()) {
		t, ok := d.Object(schema, owner.Last()).(*catalog.Table)
		switch {
		case !ok:
		case t.Column(n.Last()) != nil:
			return "COLUMN"
		case t.Index(n.Last()) != nil:
			return "INDEX"
		}
	}
	return "OBJECT"
}

// renameDependents returns error 15336, as SQL Server does, if the text of a check, computed column
// or filtered index contains the column to be renamed.
func (b *builder) renameDependents(c *catalog.Column) error {
	enforced := mserr.Of(15336, b.label+"."+c.Name)
	for _, k := range b.t.Checks {
		if b.mentions(k.Text, c) {
			return enforced
		}
	}
	for _, o := range b.t.Columns {
		if o.Formula != nil && b.mentions(o.Formula.Text, c) {
			return enforced
		}
	}
	for _, ix := range b.t.Indexes {
		if ix.Filter != "" && b.mentions(ix.Filter, c) {
			return enforced
		}
	}
	return nil
}

// renamePart renames a part of a table. name is [schema.]table.part.
func (r *Executor) renamePart(name, kind string, change func(b *builder, part string) error) error {
	n := session.SplitName(name)
	if len(n.Parts) < 2 {
		return mserr.AmbiguousItem(kind)
	}
	owner := &syntax.ObjectName{Parts: n.Parts[:len(n.Parts)-1]}
	return tables{r}.changeTable(owner, "ALTER TABLE", mserr.AmbiguousItem(kind), func(b *builder) error {
		return change(b, n.Last())
	})
}

// renameObject renames an object or constraint. missing is the error of a name that is none.
func (r *Executor) renameObject(d *catalog.Database, name, fresh string, missing *mserr.Error) error {
	n := session.SplitName(name)
	if n.Database() != "" && !catalog.EqualNames(n.Database(), d.Name) {
		return mserr.New(15250, 11,
			"The database name component of the object qualifier must be the name of the current database.")
	}
	for _, schema := range r.schemas(d, n.Schema()) {
		if o := d.Object(schema, n.Last()); o != nil {
			if !r.s.MayAlter(d, o) {
				return missing
			}
			return r.s.Alter(r.ctx, d, func(d *catalog.Database, e *catalog.Edit) error {
				if d.Taken(schema, fresh) && !d.Names().Equal(fresh, n.Last()) {
					return mserr.RenameTaken(fresh, "OBJECT")
				}
				return r.moveObject(e, d.ObjectByID(o.Head().ObjectID), func(h *catalog.Header) { h.Name = fresh })
			})
		}
		k, ok := d.Constraint(schema, n.Last())
		if !ok {
			continue
		}
		return r.s.Alter(r.ctx, d, func(d *catalog.Database, e *catalog.Edit) error {
			if d.Taken(schema, fresh) {
				return mserr.RenameTaken(fresh, "OBJECT")
			}
			if v, ok := d.ObjectByID(k.Table).(*catalog.View); ok {
				return e.Put(withTriggers(v, func(tr *catalog.Trigger) {
					if tr.ObjectID == k.ObjectID {
						tr.Name = fresh
					}
				}))
			}
			c := catalog.Clone(d.TableByID(k.Table))
			renameConstraint(c, k.ObjectID, fresh)
			return e.ReplaceTable(c, nil)
		})
	}
	return missing
}

// renameConstraint renames a constraint of a table.
func renameConstraint(t *catalog.Table, id int32, fresh string) {
	for _, ix := range t.Indexes {
		if ix.Key != nil && ix.Key.ObjectID == id {
			ix.Name, ix.Key.Name, ix.Key.System = fresh, fresh, false
		}
	}
	for _, k := range t.Checks {
		if k.ObjectID == id {
			k.Name, k.System = fresh, false
		}
	}
	for _, f := range t.ForeignKeys {
		if f.ObjectID == id {
			f.Name, f.System = fresh, false
		}
	}
	for _, c := range t.Columns {
		if c.Default != nil && c.Default.ObjectID == id {
			c.Default.Name, c.Default.System = fresh, false
		}
	}
	for _, tr := range t.Triggers {
		if tr.ObjectID == id {
			tr.Name = fresh
		}
	}
}

// renameType renames an alias type.
func (r *Executor) renameType(d *catalog.Database, name, fresh string) error {
	n := session.SplitName(name)
	for _, schema := range r.schemas(d, n.Schema()) {
		a := d.AliasType(schema, n.Last())
		if a == nil {
			continue
		}
		return r.s.Alter(r.ctx, d, func(d *catalog.Database, e *catalog.Edit) error {
			if d.AliasType(schema, fresh) != nil || d.TableType(schema, fresh) != nil {
				return mserr.RenameTaken(fresh, "USERDATATYPE")
			}
			c := *a
			c.Name = fresh
			e.DropAlias(a)
			e.PutAlias(&c)
			return nil
		})
	}
	return mserr.AmbiguousItem("USERDATATYPE")
}
