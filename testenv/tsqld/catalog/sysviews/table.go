package sysviews

import (
	"context"
	"maps"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// lockEscalations are the values of sys.tables.lock_escalation_desc, by lock_escalation.
var lockEscalations = [...]string{"TABLE", "DISABLE", "AUTO"}

// tableSets returns the system tables about tables and their columns.
func tableSets() []declaration {
	return []declaration{
		{name: "sys.tables", rows: rowsOf(tablesRows)},
		{name: "sys.columns", rows: adding(columnRows)},
		{name: "sys.system_columns", rows: systemColumns},
		{name: "sys.identity_columns", live: true, rows: identityColumns},
		{name: "sys.computed_columns", rows: adding(computedColumnsRows)},
		{name: "sys.default_constraints", rows: adding(defaultConstraintsRows)},
		{name: "sys.check_constraints", rows: adding(checkConstraintsRows)},
		{name: "sys.foreign_keys", rows: adding(foreignKeysRows)},
		{name: "sys.foreign_key_columns", rows: adding(foreignKeyColumnsRows)},
		{name: "sys.triggers", rows: adding(triggersRows)},
	}
}

// tablesRows returns the rows of sys.tables for one object.
func tablesRows(_ *Env, t *catalog.Table) []row {
	return []row{{
		"max_column_id_used": int64(t.NextColumnID), "lock_escalation": int64(t.LockEscalation),
		"lock_escalation_desc": lockEscalations[t.LockEscalation],
	}}
}

// computedColumnsRows are the rows of sys.computed_columns.
func computedColumnsRows(env *Env, add func(row)) {
	for _, t := range env.tables() {
		for _, c := range t.Columns {
			if c.Formula == nil {
				continue
			}
			r := columnRow(env.Database, t.ObjectID, c)
			r["definition"], r["is_persisted"] = c.Formula.Text, bit(c.Formula.Persisted)
			add(r)
		}
	}
}

// defaultConstraintsRows are the rows of sys.default_constraints.
func defaultConstraintsRows(env *Env, add func(row)) {
	for _, t := range env.indexed() {
		for _, c := range t.Columns {
			if d := c.Default; d != nil {
				r := childRow(&t.Header, catalog.Constraint{ObjectID: d.ObjectID, Name: d.Name, Kind: catalog.KindDefault}, d.Created)
				r["parent_column_id"] = int64(c.ID)
				r["definition"] = d.Text
				r["is_system_named"] = bit(d.System)
				add(r)
			}
		}
	}
}

// checkConstraintsRows are the rows of sys.check_constraints.
func checkConstraintsRows(env *Env, add func(row)) {
	for _, t := range env.indexed() {
		for _, c := range t.Checks {
			r := childRow(&t.Header, catalog.Constraint{ObjectID: c.ObjectID, Name: c.Name, Kind: catalog.KindCheck}, c.Created)
			maps.Copy(r, row{
				"is_disabled": bit(c.Disabled), "is_not_trusted": bit(c.NotTrusted),
				"parent_column_id": int64(c.ColumnID), "definition": c.Text, "is_system_named": bit(c.System),
			})
			add(r)
		}
	}
}

// foreignKeysRows are the rows of sys.foreign_keys.
func foreignKeysRows(env *Env, add func(row)) {
	for _, t := range env.tables() {
		for _, f := range t.ForeignKeys {
			r := childRow(&t.Header, catalog.Constraint{ObjectID: f.ObjectID, Name: f.Name, Kind: catalog.KindForeignKey}, f.Created)
			maps.Copy(r, row{
				"referenced_object_id": int64(f.Referenced), "key_index_id": int64(f.RefIndexID),
				"is_disabled": bit(f.Disabled), "is_not_trusted": bit(f.NotTrusted || f.Disabled),
				"delete_referential_action":      int64(f.OnDelete),
				"delete_referential_action_desc": f.OnDelete.Description(),
				"update_referential_action":      int64(f.OnUpdate),
				"update_referential_action_desc": f.OnUpdate.Description(), "is_system_named": bit(f.System),
			})
			add(r)
		}
	}
}

// foreignKeyColumnsRows are the rows of sys.foreign_key_columns.
func foreignKeyColumnsRows(env *Env, add func(row)) {
	for _, t := range env.tables() {
		for _, f := range t.ForeignKeys {
			for i, id := range f.Columns {
				add(row{
					"constraint_object_id": int64(f.ObjectID), "constraint_column_id": int64(i + 1),
					"parent_object_id": int64(t.ObjectID), "parent_column_id": int64(id),
					"referenced_object_id": int64(f.Referenced),
					"referenced_column_id": int64(f.RefColumns[i]),
				})
			}
		}
	}
}

// triggersRows are the rows of sys.triggers.
func triggersRows(env *Env, add func(row)) {
	for _, o := range env.objects() {
		for _, tr := range catalog.Triggers(o) {
			add(row{
				"name": tr.Name, "object_id": int64(tr.ObjectID), "parent_id": int64(o.Head().ObjectID),
				"type": string(catalog.KindTrigger), "type_desc": catalog.KindTrigger.Description(),
				"create_date": tr.Created, "modify_date": tr.Modified, "is_disabled": bit(tr.Disabled),
				"is_not_for_replication": bit(tr.NotReplicated), "is_instead_of_trigger": bit(tr.InsteadOf),
			})
		}
	}
}

// tables returns the tables that the session may see.
func (env *Env) tables() []*catalog.Table {
	var out []*catalog.Table
	for _, o := range env.objects() {
		if t, ok := o.(*catalog.Table); ok {
			out = append(out, t)
		}
	}
	return out
}

// typeRow returns the columns about the type of a column that all views share.
func typeRow(t types.Type, user int) row {
	if user == 0 {
		user = t.UserTypeID()
	}
	return row{
		"system_type_id": int64(t.SystemTypeID()), "user_type_id": int64(user), "max_length": int64(t.MaxLength()),
		"precision": int64(t.SysPrecision()), "scale": int64(t.SysScale()),
	}
}

// columnRow returns the row of sys.columns for a column of a table.
func columnRow(d *catalog.Database, object int32, c *catalog.Column) row {
	r := typeRow(c.Type, c.UserTypeID)
	maps.Copy(r, row{
		"object_id": int64(object), "name": c.Name, "column_id": int64(c.ID), "is_nullable": bit(c.Nullable),
		"is_ansi_padded": bit(c.Type.IsString() || c.Type.IsBinary()), "is_rowguidcol": bit(c.RowGUID),
		"is_identity": bit(c.Auto != nil), "is_computed": bit(c.Formula != nil),
		"is_sparse": bit(c.Sparse),
	})
	if c.Default != nil {
		r["default_object_id"] = int64(c.Default.ObjectID)
	}
	if c.Type.IsCharacter() {
		r["collation_name"] = d.Options.Collation
		if c.Collation != "" {
			r["collation_name"] = c.Collation
		}
	}
	return r
}

// shapeRows returns the rows of sys.columns for a view or function.
func shapeRows(d *catalog.Database, object int32, cols []types.Column) []row {
	out := make([]row, len(cols))
	for i, c := range cols {
		out[i] = columnRow(d, object,
			&catalog.Column{Column: types.Column{Name: c.Name, Type: c.Type, Nullable: c.Nullable}, ID: i + 1})
	}
	return out
}

// columnRows are the rows of sys.columns: columns of tables, views, functions and table types.
func columnRows(env *Env, add func(row)) {
	for _, o := range env.objects() {
		switch o := o.(type) {
		case *catalog.Table:
			for _, c := range o.Columns {
				add(columnRow(env.Database, o.ObjectID, c))
			}
		case *catalog.TableType:
			for _, c := range o.Table.Columns {
				add(columnRow(env.Database, o.ObjectID, c))
			}
		case *catalog.View:
			for _, r := range shapeRows(env.Database, o.ObjectID, o.Columns) {
				add(r)
			}
		case *catalog.Function:
			for _, r := range shapeRows(env.Database, o.ObjectID, o.Columns) {
				add(r)
			}
		}
	}
}

// systemColumns are the rows of sys.system_columns: columns of the system views.
func systemColumns(_ context.Context, env *Env) ([]row, error) {
	var out []row
	for _, full := range registry().names {
		e := registry().entries[full].read()
		if !e.inCatalog() {
			continue
		}
		if e.table != nil {
			out = append(out, shapeRows(env.Database, e.id, e.table.Columns)...)
			continue
		}
		cols, err := env.Shape(e.view)
		if err != nil {
			return nil, err
		}
		out = append(out, shapeRows(env.Database, e.id, cols)...)
	}
	return out, nil
}

// identityColumns are the rows of sys.identity_columns. The last value is read from SQLite.
func identityColumns(ctx context.Context, env *Env) ([]row, error) {
	var out []row
	for _, t := range env.tables() {
		c := t.IdentityColumn()
		if c == nil {
			continue
		}
		if err := env.Conn.Databases.Attach(ctx, env.Database.ID); err != nil {
			return nil, err
		}
		last := []types.Value{env.lastIdentity(t)}
		if !t.Temporary {
			var err error
			if last, err = env.Conn.QueryRow(ctx,
				"SELECT last FROM "+env.Database.SQLName()+"."+catalog.IdentityTable+" WHERE object_id = ?1",
				[]types.Value{int64(t.ObjectID)}); err != nil {
				return nil, err
			}
		}
		var err error
		r := columnRow(env.Database, t.ObjectID, c)
		r["is_not_for_replication"] = int64(0)
		if r["seed_value"], err = variant(scaled(c.Auto.Seed, c.Type), c.Type); err != nil {
			return nil, err
		}
		if r["increment_value"], err = variant(scaled(c.Auto.Increment, c.Type), c.Type); err != nil {
			return nil, err
		}
		if len(last) > 0 && last[0] != nil {
			if r["last_value"], err = variant(scaled(last[0].(int64), c.Type), c.Type); err != nil {
				return nil, err
			}
		}
		out = append(out, r)
	}
	return out, nil
}
