package ddl

import (
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/module"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// changeTable calls fn to change the definition of a permanent or temporary table. notFound is the
// error if the table does not exist or may not be changed.
func (r tables) changeTable(n *syntax.ObjectName, verb string, notFound error, fn func(b *builder) error) error {
	s := r.s
	if old := s.Temp(n.Last()); old != nil {
		b := &builder{r: r.Executor, d: s.DatabaseByID(s.DatabaseID), t: catalog.Clone(old), label: old.Name}
		if err := fn(b); err != nil {
			return err
		}
		catalog.Number(b.t)
		err := r.s.LocalChange(r.ctx, session.Scope{Several: true}, func() error { return s.Reshape(r.ctx, old, b.t, nil) })
		return r.s.DefinitionError(r.ctx, verb, nil, b.t, err)
	}
	o, d, err := r.object(n)
	if err != nil {
		return err
	}
	t, ok := o.(*catalog.Table)
	if !ok {
		if _, isView := o.(*catalog.View); isView {
			return mserr.NotSupported("an index on a view")
		}
		return notFound
	}
	if !r.s.MayAlter(d, t) {
		return notFound
	}
	err = r.s.Alter(r.ctx, d, func(d *catalog.Database, e *catalog.Edit) error {
		old := d.TableByID(t.ObjectID)
		if old == nil {
			return notFound
		}
		b := &builder{
			r: r.Executor, d: d, e: e, t: catalog.Clone(old), sc: d.SchemaByID(old.SchemaID).Name, label: d.QualifiedName(old),
		}
		if err := fn(b); err != nil {
			return err
		}
		t = b.t
		return e.ReplaceTable(b.t, nil)
	})
	return r.s.DefinitionError(r.ctx, verb, d, t, err)
}

// createIndex executes CREATE INDEX.
func (r tables) createIndex(st *syntax.CreateIndexStmt) error {
	notFound := mserr.NoObjectOrPermission(st.Table.String()).WithState(12)
	return r.changeTable(st.Table, "CREATE INDEX", notFound, func(b *builder) error {
		if dropExisting(st.Def.Options) {
			at := slices.IndexFunc(b.t.Indexes, func(ix *catalog.Index) bool { return b.t.Names().Equal(ix.Name, st.Def.Name.Name) })
			if at < 0 {
				return mserr.Of(7999, st.Def.Name.Name, b.t.Name)
			}
			if b.t.Indexes[at].Key == nil {
				b.t.Indexes = slices.Delete(b.t.Indexes, at, at+1)
			}
		}
		if err := b.index(st.Def, ""); err != nil {
			return err
		}
		return r.s.CheckIndexOptions("CREATE INDEX", b.t)
	})
}

// dropExisting reports whether the options contain DROP_EXISTING = ON.
func dropExisting(opts []*syntax.Option) bool {
	for _, o := range opts {
		if k, ok := o.Value.(*syntax.Keyword); ok && o.Name == "DROP_EXISTING" && strings.EqualFold(k.Name, "ON") {
			return true
		}
	}
	return false
}

// alterIndex executes ALTER INDEX. REBUILD only enables disabled indexes.
func (r tables) alterIndex(st *syntax.AlterIndexStmt) error {
	notFound := mserr.NoObjectOrPermission(st.Table.String()).WithState(9)
	return r.changeTable(st.Table, "ALTER INDEX", notFound, func(b *builder) error {
		if err := r.s.CheckIndexOptions("ALTER INDEX", b.t); err != nil {
			return err
		}
		found := false
		for _, ix := range b.t.Indexes {
			if st.Name.Name != "" && !b.t.Names().Equal(ix.Name, st.Name.Name) {
				continue
			}
			found = true
			switch st.Action {
			case "REBUILD":
				if err := alteredOptions(ix, st.Options); err != nil {
					return err
				}
				ix.Disabled = false
			case "DISABLE":
				if ix.Clustered || ix.Key != nil {
					return mserr.NotSupported("ALTER INDEX DISABLE of a clustered index or a constraint")
				}
				ix.Disabled = true
			case "SET":
				if err := alteredOptions(ix, st.Options); err != nil {
					return err
				}
			case "REORGANIZE":
			default:
				return mserr.NotSupported("ALTER INDEX %s", st.Action)
			}
		}
		if !found && st.Name.Name != "" {
			return mserr.NoSuchIndex(st.Name.Name)
		}
		return nil
	})
}

// alteredOptions sets the options of ALTER INDEX. Error 1979: only CREATE TABLE, ADD CONSTRAINT and
// ALTER TABLE ... REBUILD can set IGNORE_DUP_KEY of a constraint.
func alteredOptions(ix *catalog.Index, opts []*syntax.Option) error {
	if ix.Key != nil && slices.ContainsFunc(opts, func(o *syntax.Option) bool { return o.Name == "IGNORE_DUP_KEY" }) {
		return mserr.Of(1979, ix.Name)
	}
	return indexOptions(ix, opts)
}

// rebuildTable executes ALTER TABLE ... REBUILD. Its options apply to the clustered index.
func (b *builder) rebuildTable(a *syntax.AlterRebuild) error {
	ix := b.clustered()
	if ix == nil {
		ix = &catalog.Index{Unique: true} // a heap has no keys
		if err := indexOptions(ix, a.Options); err != nil {
			return err
		}
		if ix.IgnoreDups {
			return mserr.NotSupported("ALTER TABLE ... REBUILD WITH (IGNORE_DUP_KEY = ON) of a table without a clustered index")
		}
		return nil
	}
	return indexOptions(ix, a.Options)
}

// dropIndex executes DROP INDEX.
func (r tables) dropIndex(st *syntax.DropIndexStmt) error {
	for _, item := range st.Items {
		if err := r.s.Meter().Work(module.NodeWork); err != nil {
			return err
		}
		for _, o := range item.Options {
			switch o.Name {
			case "ONLINE", "MAXDOP", "MOVE TO", "WAIT_AT_LOW_PRIORITY":
			default:
				return mserr.UnknownOption(o.Name, "DROP INDEX")
			}
		}
		full := item.Table.String() + "." + item.Index.Name
		notFound := mserr.CannotDrop("drop", "index", full)
		notFound.State = 7
		o, _, err := r.object(item.Table)
		if err != nil {
			return err
		}
		if o == nil && r.host.LocalTable(item.Table.Last()) == nil {
			if st.IfExists {
				continue
			}
			notFound.State = 6 // the table is missing, not the index (SQL Server 2025, recorded)
		}
		err = r.changeTable(item.Table, "DROP INDEX", notFound, func(b *builder) error {
			for i, ix := range b.t.Indexes {
				if !b.t.Names().Equal(ix.Name, item.Index.Name) {
					continue
				}
				if ix.Key != nil {
					kind := "UNIQUE KEY"
					if ix.Key.Primary {
						kind = "PRIMARY KEY"
					}
					return mserr.ConstraintIndex(full, kind)
				}
				if f, _ := b.referencing(ix, nil); f != nil {
					return mserr.ConstraintIndex(full, "FOREIGN KEY")
				}
				b.t.Indexes = append(b.t.Indexes[:i], b.t.Indexes[i+1:]...)
				return nil
			}
			return absent(st.IfExists, notFound)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
