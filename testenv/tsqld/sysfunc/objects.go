package sysfunc

import (
	"context"
	"strconv"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin"
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/catalog/sysviews"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Caller is the activation of a batch or module in which a function is called.
type Caller interface {
	// Context returns the context of the request.
	Context() context.Context
	// DefaultSchema returns the schema of names without one.
	DefaultSchema() string
	// Owner returns the owner of the module, -1 in batches.
	Owner() int
	// SystemColumns returns the columns of a system view.
	SystemColumns(d *catalog.Database, v *sysviews.SystemView) ([]types.Column, error)
}

// Objects has the functions over the objects of databases and their properties.
type Objects struct {
	s  *session.Session
	at Caller
}

// db returns the database with an ID. 0 means the current database.
func (e Objects) db(id int) *catalog.Database {
	if id == 0 {
		id = e.s.DatabaseID
	}
	return e.s.DatabaseByID(id)
}

// DatabaseByName implements [builtin.Objects].
func (e Objects) DatabaseByName(name string) (int, bool) {
	d := e.s.DatabaseByName(name)
	if d == nil {
		return 0, false
	}
	return d.ID, true
}

// DatabaseByID implements [builtin.Objects].
func (e Objects) DatabaseByID(id int) (string, bool) {
	d := e.db(id)
	if d == nil {
		return "", false
	}
	return d.Name, true
}

// describe returns the properties of an object for built-in functions.
func describe(d *catalog.Database, o catalog.Object) builtin.Object {
	h := o.Head()
	out := builtin.Object{ID: h.ObjectID, Name: h.Name, SchemaID: int32(h.SchemaID), Kind: string(h.Kind)}
	if sc := d.SchemaByID(h.SchemaID); sc != nil {
		out.Schema = sc.Name
	}
	return out
}

// describeConstraint returns the properties of a constraint for built-in functions.
func describeConstraint(d *catalog.Database, c catalog.Constraint) builtin.Object {
	out := builtin.Object{ID: c.ObjectID, Name: c.Name, Kind: string(c.Kind)}
	if t := d.TableByID(c.Table); t != nil {
		out.SchemaID = int32(t.SchemaID)
		if sc := d.SchemaByID(t.SchemaID); sc != nil {
			out.Schema = sc.Name
		}
	}
	return out
}

// ObjectByName implements [builtin.Objects].
func (e Objects) ObjectByName(database, schema, name string) (builtin.Object, bool) {
	if catalog.IsGlobalTemp(name) {
		if database == "" && e.s.DatabaseID != catalog.DatabaseTemp { // OBJECT_ID('tempdb..##t') finds the table
			return builtin.Object{}, false
		}
		schema = "dbo"
	}
	d := e.s.DatabaseByName(database)
	switch {
	case d == nil:
		return builtin.Object{}, false
	case catalog.IsLocalTemp(name):
		object := builtin.Object{Schema: "dbo", SchemaID: catalog.SchemaDBO}
		if t := e.s.Temp(name); t != nil {
			object.ID, object.Name, object.Kind = t.ObjectID, t.Name, "U"
		} else if p := e.s.TempProcedures[catalog.Fold(name)]; p != nil {
			object.ID, object.Name, object.Kind = p.ObjectID, p.Name, "P"
		}
		return object, object.ID != 0 && d.ID == catalog.DatabaseTemp
	}
	for _, sc := range e.s.Schemas(d, e.at.DefaultSchema(), schema) {
		if o := d.Object(sc, name); o != nil {
			return describe(d, o), e.Visible(d, o)
		}
		if c, ok := d.Constraint(sc, name); ok {
			return describeConstraint(d, c), true
		}
		if id := sysviews.SystemObjectID(sysviews.SystemSchema(d, sc, name), name); id != 0 {
			return systemObject(id)
		}
	}
	if schema == "" {
		if id := sysviews.SystemObjectID("sys", name); id != 0 {
			return systemObject(id)
		}
	}
	return builtin.Object{}, false
}

// systemObject returns the properties of a system table or view.
func systemObject(id int32) (builtin.Object, bool) {
	schema, name, ok := sysviews.SystemObjectName(id)
	return builtin.Object{ID: id, Name: name, Schema: schema, SchemaID: systemSchema(schema), Kind: "V"}, ok
}

// systemSchema returns the ID of a schema with system views.
func systemSchema(name string) int32 {
	switch {
	case catalog.EqualNames(name, "sys"):
		return catalog.SchemaSys
	case catalog.EqualNames(name, "dbo"), catalog.EqualNames(name, "msdb"):
		return catalog.SchemaDBO
	}
	return catalog.SchemaInformationSchema
}

// Visible reports whether the session may see the definition of an object, which any permission on
// the object implies.
func (e Objects) Visible(d *catalog.Database, o catalog.Object) bool {
	s := e.s
	if s.Sysadmin() || catalog.IsGlobalTemp(o.Head().Name) {
		return true
	}
	on := catalog.Securable{Class: catalog.ClassObject, Major: int(o.Head().ObjectID)}
	for _, p := range []string{
		"VIEW DEFINITION", "SELECT", "EXECUTE", "INSERT", "UPDATE", "DELETE", "REFERENCES", "ALTER", "CONTROL",
	} {
		if s.May(d, p, on) {
			return true
		}
	}
	return false
}

// ObjectByID implements [builtin.Objects].
func (e Objects) ObjectByID(database int, id int32) (builtin.Object, bool) {
	if id <= session.FirstLocalID { // objects of tempdb
		if d := e.db(database); d == nil || d.ID != catalog.DatabaseTemp {
			return builtin.Object{}, false
		}
		if t := e.s.TempByID(id); t != nil {
			return builtin.Object{
				ID: id, Name: catalog.TempName(t.Name, session.TempNumber(t)), Schema: "dbo", SchemaID: catalog.SchemaDBO,
				Kind: "U",
			}, true
		}
		return builtin.Object{}, false
	}
	if id < 0 {
		return systemObject(id)
	}
	d := e.db(database)
	if d == nil {
		return builtin.Object{}, false
	}
	if o := d.ObjectByID(id); o != nil {
		return describe(d, o), e.Visible(d, o)
	}
	if c, ok := d.ConstraintByID(id); ok {
		return describeConstraint(d, c), true
	}
	return builtin.Object{}, false
}

// ObjectDefinition implements [builtin.Objects].
func (e Objects) ObjectDefinition(id int32) (string, bool) {
	d := e.db(0)
	if d == nil {
		return "", false
	}
	if m := catalog.ModuleOf(d.ObjectByID(id)); m != nil {
		return m.Text, !m.Encrypted
	}
	c, ok := d.ConstraintByID(id)
	if !ok {
		return "", false
	}
	if tr, _ := d.Trigger(id); tr != nil {
		return tr.Text, !tr.Encrypted
	}
	t := d.TableByID(c.Table)
	if t == nil {
		return "", false
	}
	for _, k := range t.Checks {
		if k.ObjectID == id {
			return k.Text, true
		}
	}
	for _, col := range t.Columns {
		if col.Default != nil && col.Default.ObjectID == id {
			return col.Default.Text, true
		}
	}
	return "", false
}

// Columns implements [builtin.Objects].
func (e Objects) Columns(database int, id int32) []builtin.Column {
	if id <= session.FirstLocalID {
		if t := e.s.TempByID(id); t != nil {
			return tableColumns(t)
		}
		return nil
	}
	if id < 0 {
		schema, name, _ := sysviews.SystemObjectName(id)
		if t := sysviews.FindSystemTable(schema, name); t != nil {
			return shapeColumns(t.Columns)
		}
		v := sysviews.FindSystemView(schema, name)
		if d := e.db(database); d != nil && v != nil {
			if cols, err := e.at.SystemColumns(d, v); err == nil { // cannot fail: the views are tested
				return shapeColumns(cols)
			}
		}
		return nil
	}
	d := e.db(database)
	if d == nil {
		return nil
	}
	switch o := d.ObjectByID(id).(type) {
	case *catalog.Table:
		return tableColumns(o)
	case *catalog.TableType:
		return tableColumns(o.Table)
	case *catalog.View:
		return shapeColumns(o.Columns)
	case *catalog.Procedure:
		return paramColumns(o.Params)
	case *catalog.Function:
		return append(paramColumns(o.Params), shapeColumns(o.Columns)...)
	}
	return nil
}

// tableColumns returns the columns of a table for built-in functions.
func tableColumns(t *catalog.Table) []builtin.Column {
	out := make([]builtin.Column, len(t.Columns))
	for i, c := range t.Columns {
		out[i] = builtin.Column{
			ID: int32(c.ID), Name: c.Name, Type: c.Type, Nullable: c.Nullable, Identity: c.Auto != nil,
			Computed: c.Formula != nil,
			RowGUID:  c.RowGUID, Sparse: c.Sparse, Deterministic: c.Formula != nil && c.Formula.SQL != ""}
	}
	return out
}

// shapeColumns returns result columns for built-in functions.
func shapeColumns(cols []types.Column) []builtin.Column {
	out := make([]builtin.Column, len(cols))
	for i, c := range cols {
		out[i] = builtin.Column{
			ID: int32(i + 1), Name: c.Name, Type: c.Type, Nullable: c.Nullable, Identity: c.Identity,
			Computed: c.Computed,
		}
	}
	return out
}

// paramColumns returns parameters for built-in functions.
func paramColumns(params []catalog.Param) []builtin.Column {
	out := make([]builtin.Column, len(params))
	for i, p := range params {
		out[i] = builtin.Column{
			ID: int32(i + 1), Name: p.Name, Type: p.Type, Nullable: true, Output: p.Output,
		}
	}
	return out
}

// table returns a table of the current database, or a temporary table.
func (e Objects) table(id int32) *catalog.Table {
	if t := e.s.TempByID(id); t != nil {
		return t
	}
	if d := e.db(0); d != nil {
		return d.TableByID(id)
	}
	return nil
}

// IndexColumn implements [builtin.Objects].
func (e Objects) IndexColumn(object int32, index, column int) (builtin.KeyColumn, bool) {
	t := e.table(object)
	if t == nil {
		return builtin.KeyColumn{}, false
	}
	ix := t.IndexByID(index)
	if ix == nil || column < 1 || column > len(ix.Columns) {
		return builtin.KeyColumn{}, false
	}
	k := ix.Columns[column-1]
	c := t.ColumnByID(k.ColumnID)
	return builtin.KeyColumn{ID: int32(c.ID), Name: c.Name, Descending: k.Desc}, true
}

// Files implements [builtin.Objects].
func (e Objects) Files() []builtin.File {
	d := e.db(0)
	if d == nil {
		return nil
	}
	var out []builtin.File
	for i, f := range catalog.Files(d, e.s.Server.Store.Path(d.ID)) {
		out = append(out,
			builtin.File{ID: i + 1, Name: f.Name, Log: f.Log, ReadOnly: d.Options.ReadOnly, Pages: f.Pages})
	}
	return out
}

// SchemaByName implements [builtin.Objects].
func (e Objects) SchemaByName(name string) (int32, bool) {
	if name == "" {
		name = e.s.DefaultSchema()
	}
	if d := e.db(0); d != nil {
		if sc := d.Schema(name); sc != nil {
			return int32(sc.ID), true
		}
	}
	return 0, false
}

// SchemaByID implements [builtin.Objects].
func (e Objects) SchemaByID(id int32) (string, bool) {
	if d := e.db(0); d != nil {
		if sc := d.SchemaByID(int(id)); sc != nil {
			return sc.Name, true
		}
	}
	return "", false
}

// TypeByName implements [builtin.Objects].
func (e Objects) TypeByName(schema, name string) (int32, types.Type, bool) {
	d := e.db(0)
	if d == nil {
		return 0, types.Type{}, false
	}
	for _, sc := range e.s.Schemas(d, e.at.DefaultSchema(), schema) {
		if a := d.AliasType(sc, name); a != nil {
			return int32(a.UserTypeID), a.Type, true
		}
		if t := d.TableType(sc, name); t != nil {
			return int32(t.UserTypeID), types.Type{}, true
		}
	}
	return 0, types.Type{}, false
}

// TypeAllowsNull implements [builtin.Objects].
func (e Objects) TypeAllowsNull(id int32) bool {
	d := e.db(0)
	if d == nil {
		return false
	}
	for _, a := range d.AliasTypes() {
		if a.UserTypeID == int(id) {
			return a.Nullable
		}
	}
	return false
}

// TypeByID implements [builtin.Objects].
func (e Objects) TypeByID(id int32) (string, bool) {
	d := e.db(0)
	if d == nil {
		return "", false
	}
	for _, a := range d.AliasTypes() {
		if a.UserTypeID == int(id) {
			return a.Name, true
		}
	}
	for o := range d.Objects() {
		if t, ok := o.(*catalog.TableType); ok && t.UserTypeID == int(id) {
			return t.Name, true
		}
	}
	return "", false
}

// IdentCurrent implements [builtin.Objects].
func (e Objects) IdentCurrent(schema, table string) (last, seed, increment types.Value, ok bool) {
	s := e.s
	var database int // 0 for a temporary table of the session
	var t *catalog.Table
	if catalog.IsLocalTemp(table) {
		t = s.Temp(table)
	} else {
		n := &syntax.ObjectName{Parts: []syntax.Ident{{Name: schema}, {Name: table}}}
		o, d, err := s.Object(n, e.at.DefaultSchema())
		if err != nil {
			return nil, nil, nil, false
		}
		t, _ = o.(*catalog.Table)
		database = d.ID
	}
	if t == nil || t.IdentityColumn() == nil {
		return nil, nil, nil, false
	}
	auto := t.IdentityColumn().Auto
	if database != 0 && s.Conn.Databases.Attach(e.at.Context(), database) != nil {
		return nil, nil, nil, false
	}
	c, err := s.Counters.Identity(e.at.Context(), database, t)
	if err != nil {
		return nil, nil, nil, false
	}
	v := auto.Seed
	if c.Used {
		v = c.Last
	}
	text := func(n int64) types.Value { return strconv.FormatInt(n, 10) }
	return text(v), text(auto.Seed), text(auto.Increment), true
}

// DefaultSchema implements [builtin.Objects].
func (e Objects) DefaultSchema() string { return e.s.DefaultSchema() }
