package sysviews

import (
	"context"
	"maps"
	"math/big"
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// objectSets returns the system tables about objects other than tables.
func objectSets() []declaration {
	return []declaration{
		{name: "sys.objects", rows: adding(objects)},
		{name: "sys.system_objects", rows: systemObjects},
		{name: "sys.system_sql_modules", rows: systemModules},
		{name: "sys.schemas", rows: adding(schemasRows)},
		{name: "sys.views", rows: rowsOf(viewsRows)},
		{name: "sys.procedures", rows: rowsOf(func(_ *Env, p *catalog.Procedure) []row { return []row{{}} })},
		{name: "sys.synonyms", rows: rowsOf(func(_ *Env, s *catalog.Synonym) []row {
			return []row{{"base_object_name": s.Base}}
		})},
		{name: "sys.sequences", live: true, rows: sequences},
		{name: "sys.sql_modules", rows: adding(modules)},
		{name: "sys.parameters", rows: parameters},
		{name: "sys.spt_defaults", rows: adding(defaultsRows)},
		{name: "sys.types", rows: adding(allTypes)},
		{name: "sys.table_types", rows: adding(tableTypesRows)},
		{name: "sys.extended_properties", rows: func(_ context.Context, env *Env) ([]row, error) { return extendedProperties(env), nil }},
	}
}

// schemasRows are the rows of sys.schemas.
func schemasRows(env *Env, add func(row)) {
	for _, s := range env.Database.Schemas() {
		add(row{"name": s.Name, "schema_id": int64(s.ID), "principal_id": int64(s.OwnerID)})
	}
}

// viewsRows returns the rows of sys.views for one object.
func viewsRows(_ *Env, v *catalog.View) []row {
	return []row{
		{
			"with_check_option": bit(v.CheckOption),
		},
	}
}

// tableTypesRows are the rows of sys.table_types.
func tableTypesRows(env *Env, add func(row)) {
	for _, tt := range catalog.Pick[*catalog.TableType](env.Database) {
		r := tableTypeRow(tt)
		r["type_table_object_id"] = int64(tt.ObjectID)
		add(r)
	}
}

// visible reports whether the session may see an object ("Metadata visibility configuration"): it
// owns the object or has a permission on it.
func (env *Env) visible(o catalog.Object) bool {
	if t, ok := o.(*catalog.Table); env.SeeAll || ok && t.Temporary || catalog.IsGlobalTemp(o.Head().Name) { // no temporary table of another session is shown
		return true
	}
	on := catalog.Securable{Class: catalog.ClassObject, Major: int(o.Head().ObjectID)}
	for _, p := range []string{
		"VIEW DEFINITION", "SELECT", "EXECUTE", "INSERT", "UPDATE", "DELETE", "REFERENCES", "ALTER",
	} {
		if env.Database.Check(env.Principal, p, on) == catalog.Granted {
			return true
		}
	}
	return false
}

// definition reports whether the session may read the text of a module.
func (env *Env) definition(o catalog.Object) bool {
	return env.SeeAll ||
		env.Database.Check(env.Principal, "VIEW DEFINITION",
			catalog.Securable{Class: catalog.ClassObject, Major: int(o.Head().ObjectID)}) == catalog.Granted
}

// objects returns the objects that the session may see.
func (env *Env) objects() []catalog.Object {
	return slices.DeleteFunc(slices.Collect(env.Database.Objects()), func(o catalog.Object) bool { return !env.visible(o) })
}

// objectRow returns the columns of sys.objects for an object.
func objectRow(h *catalog.Header) row {
	return row{
		"name": h.Name, "object_id": int64(h.ObjectID), "principal_id": orNull(h.OwnerID),
		"schema_id": int64(h.SchemaID),
		"type":      string(h.Kind), "type_desc": h.Kind.Description(), "create_date": h.Created,
		"modify_date":   h.Modified,
		"is_ms_shipped": bit(h.System),
	}
}

// childRow returns the columns of sys.objects for a constraint.
func childRow(parent *catalog.Header, c catalog.Constraint, created int64) row {
	h := *parent
	h.Name, h.ObjectID, h.Kind, h.OwnerID, h.Created, h.Modified = c.Name, c.ObjectID, c.Kind, 0, created, created
	r := objectRow(&h)
	r["parent_object_id"] = int64(parent.ObjectID)
	return r
}

// rowsOf returns the rows function of a view that extends sys.objects. For every visible object of
// one Go type it combines the rows of extra with the common columns.
func rowsOf[T catalog.Object](extra func(env *Env, o T) []row) func(context.Context, *Env) ([]row, error) {
	return func(_ context.Context, env *Env) ([]row, error) {
		var out []row
		for _, o := range env.objects() {
			t, ok := o.(T)
			if !ok {
				continue
			}
			common := objectRow(o.Head())
			for _, r := range extra(env, t) {
				full := maps.Clone(common)
				maps.Copy(full, r)
				out = append(out, full)
			}
		}
		return out, nil
	}
}

// objects are the rows of sys.objects: objects and their constraints.
func objects(env *Env, add func(row)) {
	for _, o := range env.objects() {
		h := *o.Head()
		if h.Kind == catalog.KindTableType { // listed under a generated name, in schema sys
			h.Name, h.SchemaID, h.System = catalog.TypeTableName(&h), catalog.SchemaSys, true
		}
		add(objectRow(&h))
	}
	for _, t := range env.indexed() {
		for _, c := range t.Constraints() {
			add(childRow(&t.Header, c, createdAt(t, c.ObjectID)))
		}
	}
	for _, o := range env.objects() {
		v, ok := o.(*catalog.View)
		if !ok {
			continue
		}
		for _, tr := range v.Triggers {
			c := catalog.Constraint{Table: v.ObjectID, ObjectID: tr.ObjectID, Name: tr.Name, Kind: catalog.KindTrigger}
			add(childRow(&v.Header, c, tr.Created))
		}
	}
}

// systemObjects are the rows of sys.system_objects: the system views.
func systemObjects(context.Context, *Env) ([]row, error) {
	var out []row
	for _, full := range registry().names {
		e := registry().entries[full]
		h := catalog.Header{
			Name: e.name, ObjectID: e.id, Kind: catalog.KindView, System: true, Created: catalog.Epoch, Modified: catalog.Epoch,
			SchemaID: catalog.SchemaSys,
		}
		if !e.inCatalog() {
			continue
		}
		if e.schema != "sys" {
			h.SchemaID = catalog.SchemaInformationSchema
		}
		out = append(out, objectRow(&h))
	}
	return out, nil
}

// systemModules are the rows of sys.system_sql_modules: the texts of the system views in T-SQL.
func systemModules(context.Context, *Env) ([]row, error) {
	var out []row
	for _, full := range registry().names {
		e := registry().entries[full]
		if e.isTable() {
			continue
		}
		out = append(out, row{
			"object_id": int64(e.id), "definition": e.read().view.Text, "uses_ansi_nulls": int64(1),
			"uses_quoted_identifier": int64(1), "is_schema_bound": int64(0),
		})
	}
	return out, nil
}

// createdAt returns the creation date of a constraint of t.
func createdAt(t *catalog.Table, id int32) int64 {
	for _, ix := range t.Indexes {
		if ix.Key != nil && ix.Key.ObjectID == id {
			return ix.Key.Created
		}
	}
	for _, f := range t.ForeignKeys {
		if f.ObjectID == id {
			return f.Created
		}
	}
	for _, c := range t.Checks {
		if c.ObjectID == id {
			return c.Created
		}
	}
	for _, c := range t.Columns {
		if c.Default != nil && c.Default.ObjectID == id {
			return c.Default.Created
		}
	}
	return t.Created
}

// variant packs a value for a sql_variant column.
func variant(v types.Value, t types.Type) (types.Value, error) { return types.VariantPack(v, t) }

// sequences are the rows of sys.sequences. The current values are read from SQLite.
func sequences(ctx context.Context, env *Env) ([]row, error) {
	var out []row
	for _, o := range env.objects() {
		s, ok := o.(*catalog.Sequence)
		if !ok {
			continue
		}
		if err := env.Conn.Databases.Attach(ctx, env.Database.ID); err != nil {
			return nil, err
		}
		cur, err := env.Conn.QueryRow(ctx,
			"SELECT current, used FROM "+env.Database.SQLName()+"."+catalog.SequenceTable+" WHERE object_id = ?1",
			[]types.Value{int64(s.ObjectID)})
		if err != nil {
			return nil, err
		}
		if cur == nil {
			cur = []types.Value{catalog.StoredSequence(s.Start), int64(0)}
		}
		r := objectRow(&s.Header)
		for col, n := range map[string]*big.Int{
			"start_value": s.Start, "increment": s.Increment, "minimum_value": s.Min, "maximum_value": s.Max,
			"current_value": catalog.LoadedSequence(cur[0]),
		} {
			v, err := s.Value(n)
			if err != nil {
				return nil, err
			}
			if r[col], err = variant(v, s.Type); err != nil {
				return nil, err
			}
		}
		if cur[1] == int64(1) {
			r["last_used_value"] = r["current_value"]
		}
		user := s.UserTypeID
		if user == 0 {
			user = int(s.Type.UserTypeID())
		}
		maps.Copy(r, row{
			"is_cycling": bit(s.Cycle), "is_cached": bit(s.Cache != 0), "cache_size": orNull(s.Cache),
			"system_type_id": int64(s.Type.SystemTypeID()),
			"user_type_id":   int64(user), "precision": int64(s.Type.SysPrecision()), "scale": int64(s.Type.SysScale()),
		})
		out = append(out, r)
	}
	return out, nil
}

// scaled returns an integer as a value of t, which may be a decimal stored as text.
func scaled(n int64, t types.Type) types.Value {
	if t.IsDecimalText() {
		v, err := types.Convert(n, types.BigIntType, t, 0)
		if err == nil {
			return v
		}
	}
	return n
}

// modules are the rows of sys.sql_modules.
func modules(env *Env, add func(row)) {
	for _, o := range env.objects() {
		for _, tr := range catalog.Triggers(o) {
			add(moduleRow(env, tr.ObjectID, tr.Module(), o))
		}
		m := catalog.ModuleOf(o)
		if m == nil {
			continue
		}
		r := moduleRow(env, o.Head().ObjectID, m, o)
		switch o := o.(type) {
		case *catalog.Procedure:
			r["is_recompiled"] = bit(o.Recompile)
		case *catalog.Function:
			r["null_on_null_input"] = bit(o.ReturnsNullOnNull)
		}
		add(r)
	}
}

// moduleRow returns the row of sys.sql_modules of an object, or of a trigger of o.
func moduleRow(env *Env, id int32, m *catalog.Module, o catalog.Object) row {
	r := row{
		"object_id": int64(id), "uses_ansi_nulls": bit(m.AnsiNulls),
		"uses_quoted_identifier": bit(m.QuotedIdentifier), "is_schema_bound": bit(m.SchemaBound),
	}
	if !m.Encrypted && env.definition(o) {
		r["definition"] = m.Text
	}
	switch m.ExecuteAs {
	case "":
	case "OWNER":
		r["execute_as_principal_id"] = int64(-2)
	default:
		r["execute_as_principal_id"] = int64(m.ExecuteAsID)
	}
	return r
}

// parameters are the rows of sys.parameters. Parameter 0 is the result of a scalar function.
func parameters(_ context.Context, env *Env) ([]row, error) {
	var out []row
	add := func(id int32, n int, p catalog.Param) {
		user := p.UserTypeID
		if user == 0 {
			user = int(p.Type.UserTypeID())
		}
		r := row{
			"object_id": int64(id), "name": p.Name, "parameter_id": int64(n),
			"system_type_id": int64(p.Type.SystemTypeID()), "user_type_id": int64(user),
			"max_length": int64(p.Type.MaxLength()), "precision": int64(p.Type.SysPrecision()),
			"scale": int64(p.Type.SysScale()), "is_output": bit(p.Output), "is_readonly": bit(p.ReadOnly),
		}
		if p.TableTypeID != 0 {
			r["system_type_id"], r["max_length"] = int64(tableSystemType), int64(-1)
		}
		out = append(out, r)
	}
	for _, o := range env.objects() {
		switch o := o.(type) {
		case *catalog.Procedure:
			for i, p := range o.Params {
				add(o.ObjectID, i+1, p)
			}
		case *catalog.Function:
			if o.Kind == catalog.KindScalarFunction {
				add(o.ObjectID, 0, catalog.Param{Type: o.Returns, Output: true})
			}
			for i, p := range o.Params {
				add(o.ObjectID, i+1, p)
			}
		}
	}
	return out, nil
}

// defaultsRows are the rows of sys.spt_defaults: the parameters of procedures that have a default,
// which sys.parameters shows only for CLR objects.
func defaultsRows(env *Env, add func(row)) {
	for _, o := range env.objects() {
		if p, ok := o.(*catalog.Procedure); ok {
			for i := range p.Params {
				if p.Params[i].HasDefault {
					add(row{"object_id": int64(p.ObjectID), "parameter_id": int64(i + 1)})
				}
			}
		}
	}
}

// tableSystemType is the system_type_id of table types.
const tableSystemType = 243

// allTypes are the rows of sys.types.
func allTypes(env *Env, add func(row)) {
	for _, t := range types.ByID() {
		name := types.Type{ID: t.ID, Numeric: t.Numeric}.Name()
		add(row{
			"name": name, "system_type_id": int64(t.SystemTypeID()), "user_type_id": int64(t.UserTypeID()),
			"schema_id":  int64(catalog.SchemaSys),
			"max_length": int64(t.MaxLength()), "precision": int64(t.SysPrecision()), "scale": int64(t.SysScale()),
			"collation_name": collationOf(env.Database, t), "is_nullable": int64(1),
		})
	}
	add(row{
		"name": "sysname", "system_type_id": int64(types.SysName.SystemTypeID()), "user_type_id": int64(256),
		"schema_id":  int64(catalog.SchemaSys),
		"max_length": int64(256), "collation_name": env.Database.Options.Collation, "is_nullable": int64(0),
	})
	for _, a := range env.Database.AliasTypes() {
		add(row{
			"name": a.Name, "system_type_id": int64(a.Type.SystemTypeID()), "user_type_id": int64(a.UserTypeID),
			"schema_id":  int64(a.SchemaID),
			"max_length": int64(a.Type.MaxLength()), "precision": int64(a.Type.SysPrecision()),
			"scale":          int64(a.Type.SysScale()),
			"collation_name": collationOf(env.Database, a.Type), "is_nullable": bit(a.Nullable),
			"is_user_defined": int64(1),
		})
	}
	for _, tt := range catalog.Pick[*catalog.TableType](env.Database) {
		add(tableTypeRow(tt))
	}
}

// collationOf returns the collation_name of a type: that of the database, or NULL.
func collationOf(d *catalog.Database, t types.Type) types.Value {
	if t.IsCharacter() {
		return d.Options.Collation
	}
	return nil
}

// tableTypeRow returns the row of sys.types for a table type.
func tableTypeRow(tt *catalog.TableType) row {
	return row{
		"name": tt.Name, "system_type_id": int64(tableSystemType), "user_type_id": int64(tt.UserTypeID),
		"schema_id":    int64(tt.SchemaID),
		"principal_id": orNull(tt.OwnerID), "max_length": int64(-1), "is_nullable": int64(0),
		"is_user_defined": int64(1), "is_table_type": int64(1),
	}
}
