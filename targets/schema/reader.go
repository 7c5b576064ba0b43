package schema

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/jobs/drift"
	"github.com/jobagent/jobagent/jobs/tsql"
)

// part identifies a column or an index of an object.
type part struct{ object, number int32 }

// object is a row of sys.objects.
type object struct {
	schema, name, kind string
}

// table is a table, a table type or a view with columns.
type table struct {
	// of is the object to which columns, indexes and constraints belong. Those of a table type are
	// properties of the type.
	of        *drift.Object
	tableType bool
	columns   []int32
	history   int32 // object_id of the history table of a temporal table
}

// index is an index whose columns are being read.
type index struct {
	object  *drift.Object
	columns []indexColumn
}

// indexColumn is a row of sys.index_columns.
type indexColumn struct {
	place, key     int64
	column         int32
	desc, included bool
}

// foreignKey is a foreign key whose columns are being read.
type foreignKey struct {
	object             *drift.Object
	parent, referenced int32
	columns            []foreignColumn
}

// foreignColumn is a row of sys.foreign_key_columns.
type foreignColumn struct {
	place              int64
	parent, referenced int32
}

// dataType is a row of sys.types.
type dataType struct {
	name string // with its schema and in brackets, if the system has not defined it
	own  bool   // not of the system, so that its length is fixed
}

// reader turns rows of catalog views into objects. What belongs to objects that it does not know,
// such as those that came with the server, is dropped.
type reader struct {
	add func(*drift.Object)

	schemas     map[int32]string
	types       map[int32]dataType
	tableTypes  map[int32]*drift.Object // by user_type_id
	objects     map[int32]object
	tables      map[int32]*table
	names       map[part]string // of columns
	columns     map[part]*drift.Object
	indexes     map[part]*index
	foreignKeys map[int32]*foreignKey
	triggers    map[int32]*drift.Object
	rest        []*drift.Object // what is complete
	// historiesNamed says that all tables were read, and nameHistories has run.
	historiesNamed bool
	err            error // why nothing more is to be read
}

// newReader returns a reader that calls add with each object.
func newReader(add func(*drift.Object)) *reader {
	return &reader{
		add: add, schemas: map[int32]string{}, types: map[int32]dataType{}, tableTypes: map[int32]*drift.Object{},
		objects: map[int32]object{}, tables: map[int32]*table{}, names: map[part]string{}, columns: map[part]*drift.Object{},
		indexes: map[part]*index{}, foreignKeys: map[int32]*foreignKey{}, triggers: map[int32]*drift.Object{},
	}
}

// sets returns what reads the rows of each query of read.sql.
func (r *reader) sets() []func(row) {
	return []func(row){
		r.right, r.schema, r.dataType, r.tableType, r.object, r.table, r.column, r.identity, r.computed, r.defaultValue, r.index,
		r.indexColumn, r.key, r.check, r.foreignKey, r.foreignKeyColumn, r.sequence, r.synonym, r.trigger, r.module,
	}
}

func (r *reader) right(x row) {
	if x.int(0) != 1 {
		r.err = ErrNoRight
	}
}

// ownSchemas are the schemas that each database has: those of the system and of the fixed roles
// (https://learn.microsoft.com/sql/relational-databases/security/authentication-access/ownership-and-user-schema-separation).
var ownSchemas = []string{
	"dbo", "guest", "sys", "INFORMATION_SCHEMA", "db_owner", "db_accessadmin", "db_securityadmin", "db_ddladmin", "db_backupoperator",
	"db_datareader", "db_datawriter", "db_denydatareader", "db_denydatawriter",
}

func (r *reader) schema(x row) {
	name := x.text(1)
	r.schemas[x.id(0)] = name
	if !slices.Contains(ownSchemas, name) {
		r.rest = append(r.rest, &drift.Object{Kind: drift.KindSchema, Name: name})
	}
}

// dataType reads user_type_id, system_type_id, schema_id, name, is_user_defined, is_table_type,
// is_assembly_type, max_length, precision, scale, is_nullable. The types of the system come first:
// the query orders them so.
func (r *reader) dataType(x row) {
	id, name := x.id(0), x.text(3)
	if !x.bit(4) {
		r.types[id] = dataType{name: name}
		return
	}
	o := &drift.Object{Kind: drift.KindType, Schema: r.schemas[x.id(2)], Name: name}
	r.types[id] = dataType{name: tsql.Name(o.Schema, name), own: true}
	switch {
	case x.bit(5):
		o.Set(drift.PropertyType, "table")
		r.tableTypes[id] = o
	case x.bit(6):
		o.Set(drift.PropertyType, "of an assembly")
	default:
		o.Set(drift.PropertyType, length(r.types[x.id(1)].name, x.int(7), x.int(8), x.int(9)))
		o.Set(drift.PropertyNull, nullability(x.bit(10)))
	}
	r.rest = append(r.rest, o)
}

func (r *reader) tableType(x row) {
	if o := r.tableTypes[x.id(0)]; o != nil {
		r.tables[x.id(1)] = &table{of: o, tableType: true}
	}
}

func (r *reader) object(x row) {
	o := object{schema: r.schemas[x.id(1)], kind: strings.TrimRight(x.text(2), " "), name: x.text(3)}
	id := x.id(0)
	r.objects[id] = o
	switch o.kind {
	case "V":
		r.tables[id] = &table{of: &drift.Object{Kind: drift.KindView, Schema: o.schema, Name: o.name}}
	case "PC", "FS", "FT", "AF", "TA": // of assemblies: there is no text
		r.rest = append(r.rest, &drift.Object{Kind: drift.KindAssemblyModule, Schema: o.schema, Name: o.name})
	}
}

// table reads object_id, temporal_type_desc, history_table_id, is_memory_optimized,
// durability_desc, lock_escalation_desc, is_external, is_node, is_edge.
func (r *reader) table(x row) {
	o, ok := r.objects[x.id(0)]
	if !ok {
		return
	}
	t := &drift.Object{Kind: drift.KindTable, Schema: o.schema, Name: o.name}
	if kind := x.text(1); kind != "NON_TEMPORAL_TABLE" {
		t.Set(drift.PropertyTemporal, kind)
	}
	if x.bit(3) {
		t.Set("memory optimized", x.text(4))
	}
	if escalation := x.text(5); escalation != "TABLE" {
		t.Set("lock escalation", escalation)
	}
	t.Flag("external", x.bit(6))
	t.Flag("node", x.bit(7))
	t.Flag("edge", x.bit(8))
	r.tables[x.id(0)] = &table{of: t, history: x.id(2)}
}

// anonymousHistory begins the name of a history table to which the system gave a name with the
// object_id of its table, as it does for its index
// (https://learn.microsoft.com/sql/relational-databases/tables/creating-a-system-versioned-temporal-table).
const anonymousHistory = "MSSQL_TemporalHistoryFor_"

// nameHistories replaces the names that the system gave to history tables by ones that are the same
// in each database.
func (r *reader) nameHistories() {
	if r.historiesNamed {
		return
	}
	r.historiesNamed = true
	for _, t := range r.tables {
		h, history := r.objects[t.history], r.tables[t.history]
		if history != nil && strings.HasPrefix(h.name, anonymousHistory) {
			h.name = anonymousHistory + t.of.Name
			r.objects[t.history], history.of.Name = h, h.name
		}
	}
}

// column reads object_id, column_id, name, user_type_id, max_length, precision, scale,
// collation_name, is_nullable, is_rowguidcol, is_sparse, is_column_set, is_filestream, is_masked,
// is_hidden, generated_always_type_desc, encryption_type_desc, graph_type.
func (r *reader) column(x row) {
	r.nameHistories()
	t := r.tables[x.id(0)]
	if t == nil {
		return
	}
	at := part{x.id(0), x.id(1)}
	r.names[at] = x.text(2)
	if t.of.Kind == drift.KindView || x[17] != nil { // the names of columns of graphs have a number of their own
		return
	}
	t.columns = append(t.columns, at.number)
	c := &drift.Object{Kind: drift.KindColumn, Schema: t.of.Schema, Table: t.of.Name, Name: x.text(2)}
	r.columns[at] = c
	kind := r.types[x.id(3)]
	if c.Set(drift.PropertyType, kind.name); !kind.own {
		c.Set(drift.PropertyType, length(kind.name, x.int(4), x.int(5), x.int(6)))
	}
	c.Set(drift.PropertyCollation, x.text(7))
	c.Set(drift.PropertyNull, nullability(x.bit(8)))
	for i, name := range []string{"rowguidcol", "sparse", "column set", "filestream", "masked", "hidden"} {
		c.Flag(name, x.bit(9+i))
	}
	if generated := x.text(15); generated != "NOT_APPLICABLE" {
		c.Set("generated always", generated)
	}
	c.Set("encryption", x.text(16))
}

func (r *reader) identity(x row) {
	if c := r.columns[part{x.id(0), x.id(1)}]; c != nil {
		c.Set(drift.PropertyIdentity, "("+x.text(2)+", "+x.text(3)+")")
		c.Flag(drift.PropertyNFR, x.bit(4))
	}
}

func (r *reader) computed(x row) {
	if c := r.columns[part{x.id(0), x.id(1)}]; c != nil {
		c.Set(drift.PropertyComputed, x.text(2))
		c.Flag("persisted", x.bit(3))
	}
}

// child returns a new object that belongs to a table. ok is false if the table is unknown.
func (r *reader) child(kind drift.Kind, parent int32, name string, bySystem bool) (o *drift.Object, t *table, ok bool) {
	if t = r.tables[parent]; t == nil {
		return nil, nil, false
	}
	return &drift.Object{Kind: kind, Schema: t.of.Schema, Table: t.of.Name, Name: name, SystemNamed: bySystem}, t, true
}

// done takes a complete object of a table. What belongs to a table type becomes a property of it.
func (r *reader) done(o *drift.Object, t *table) {
	if !t.tableType {
		r.rest = append(r.rest, o)
		return
	}
	name := string(o.Kind)
	switch o.Kind {
	case drift.KindColumn, drift.KindIndex:
		name += " " + o.Name
	case drift.KindDefault:
		name += " of " + o.Properties.Get(drift.PropertyColumn)
	case drift.KindCheck:
		name += " " + o.Properties.Get(drift.PropertyDefinition)
	case drift.KindUnique:
		name += " " + o.Properties.Get(drift.PropertyKey)
	}
	values := make([]string, len(o.Properties))
	for i, p := range o.Properties {
		values[i] = p.Name + ": " + p.Value
	}
	t.of.Set(name, strings.Join(values, "; "))
}

func (r *reader) defaultValue(x row) {
	o, t, ok := r.child(drift.KindDefault, x.id(0), x.text(2), x.bit(3))
	if ok {
		o.Set(drift.PropertyColumn, r.names[part{x.id(0), x.id(1)}])
		o.Set(drift.PropertyDefinition, x.text(4))
		r.done(o, t)
	}
}

// index reads object_id, index_id, name, type_desc, is_unique, is_primary_key,
// is_unique_constraint, ignore_dup_key, fill_factor, is_padded, is_disabled, allow_row_locks,
// allow_page_locks, filter_definition.
func (r *reader) index(x row) {
	o, t, ok := r.child(drift.KindIndex, x.id(0), x.text(2), false)
	if !ok {
		return
	}
	if strings.HasPrefix(o.Name, "ix_"+anonymousHistory) {
		o.Name = "ix_" + t.of.Name
	}
	switch {
	case x.bit(5):
		o.Kind = drift.KindPrimaryKey
	case x.bit(6):
		o.Kind = drift.KindUnique
	default:
		o.Flag(drift.PropertyUnique, x.bit(4))
	}
	kind := x.text(3)
	o.Flag(drift.PropertyClustered, strings.HasPrefix(kind, "CLUSTERED"))
	if o.Kind == drift.KindIndex || kind != "CLUSTERED" && kind != "NONCLUSTERED" {
		o.Set(drift.PropertyIndexType, kind)
	}
	o.Flag(drift.PropertyIgnoreDuplicates, x.bit(7))
	if factor := x.int(8); factor != 0 && factor != 100 { // both mean full pages
		o.Set(drift.PropertyFillFactor, strconv.FormatInt(factor, 10))
	}
	o.Flag(drift.PropertyPadded, x.bit(9))
	o.Flag(drift.PropertyDisabled, x.bit(10))
	o.Flag(drift.PropertyNoRowLocks, !x.bit(11))
	o.Flag(drift.PropertyNoPageLocks, !x.bit(12))
	o.Set(drift.PropertyFilter, x.text(13))
	r.indexes[part{x.id(0), x.id(1)}] = &index{object: o}
}

func (r *reader) indexColumn(x row) {
	if i := r.indexes[part{x.id(0), x.id(1)}]; i != nil {
		i.columns = append(i.columns, indexColumn{place: x.int(2), column: x.id(3), key: x.int(4), desc: x.bit(5), included: x.bit(6)})
	}
}

func (r *reader) key(x row) {
	if i := r.indexes[part{x.id(0), x.id(1)}]; i != nil {
		i.object.SystemNamed = x.bit(2)
	}
}

// check reads parent_object_id, name, is_system_named, definition, is_disabled, is_not_trusted,
// is_not_for_replication.
func (r *reader) check(x row) {
	o, t, ok := r.child(drift.KindCheck, x.id(0), x.text(1), x.bit(2))
	if ok {
		o.Set(drift.PropertyDefinition, x.text(3))
		r.enforced(o, x[4:])
		r.done(o, t)
	}
}

// enforced reads is_disabled, is_not_trusted, is_not_for_replication.
func (r *reader) enforced(o *drift.Object, x row) {
	o.Flag(drift.PropertyDisabled, x.bit(0))
	o.Flag(drift.PropertyNotTrusted, x.bit(1))
	o.Flag(drift.PropertyNFR, x.bit(2))
}

// foreignKey reads object_id, parent_object_id, name, is_system_named, referenced_object_id,
// delete_referential_action_desc, update_referential_action_desc, and what enforced reads.
func (r *reader) foreignKey(x row) {
	o, _, ok := r.child(drift.KindForeignKey, x.id(1), x.text(2), x.bit(3))
	if !ok {
		return
	}
	for i, name := range []string{drift.PropertyOnDelete, drift.PropertyOnUpdate} {
		if action := x.text(5 + i); action != "NO_ACTION" {
			o.Set(name, strings.ReplaceAll(action, "_", " "))
		}
	}
	r.enforced(o, x[7:])
	r.foreignKeys[x.id(0)] = &foreignKey{object: o, parent: x.id(1), referenced: x.id(4)}
}

func (r *reader) foreignKeyColumn(x row) {
	if k := r.foreignKeys[x.id(0)]; k != nil {
		k.columns = append(k.columns, foreignColumn{place: x.int(1), parent: x.id(2), referenced: x.id(3)})
	}
}

// sequence reads object_id, user_type_id, precision, start_value, increment, minimum_value,
// maximum_value, is_cycling, is_cached, cache_size.
func (r *reader) sequence(x row) {
	of, ok := r.objects[x.id(0)]
	if !ok {
		return
	}
	o := &drift.Object{Kind: drift.KindSequence, Schema: of.schema, Name: of.name}
	kind := r.types[x.id(1)]
	if o.Set(drift.PropertyType, kind.name); !kind.own {
		o.Set(drift.PropertyType, length(kind.name, 0, x.int(2), 0))
	}
	for i, name := range []string{"start", "increment", "minimum", "maximum"} {
		o.Set(name, x.text(3+i))
	}
	o.Flag("cycle", x.bit(7))
	o.Flag("no cache", !x.bit(8))
	if size := x.int(9); size > 0 {
		o.Set("cache size", strconv.FormatInt(size, 10))
	}
	r.rest = append(r.rest, o)
}

func (r *reader) synonym(x row) {
	if of, ok := r.objects[x.id(0)]; ok {
		o := &drift.Object{Kind: drift.KindSynonym, Schema: of.schema, Name: of.name}
		o.Set(drift.PropertyDefinition, x.text(1))
		r.rest = append(r.rest, o)
	}
}

// trigger reads object_id, name, parent_class, parent_id, is_disabled, is_not_for_replication.
func (r *reader) trigger(x row) {
	o := &drift.Object{Kind: drift.KindDatabaseTrigger, Name: x.text(1)}
	if x.int(2) == 1 { // of a table or a view
		t := r.tables[x.id(3)]
		if t == nil {
			return
		}
		o.Kind, o.Schema, o.Table = drift.KindTrigger, t.of.Schema, t.of.Name
	}
	o.Flag(drift.PropertyDisabled, x.bit(4))
	o.Flag(drift.PropertyNFR, x.bit(5))
	r.triggers[x.id(0)] = o
}

// moduleKinds are the kinds of modules, by sys.objects.type.
var moduleKinds = map[string]drift.Kind{
	"P": drift.KindProcedure, "V": drift.KindView, "FN": drift.KindFunction, "IF": drift.KindFunction, "TF": drift.KindFunction,
}

// functionKinds are the kinds of functions, by sys.objects.type.
var functionKinds = map[string]string{"FN": "scalar", "IF": "inline table-valued", "TF": "table-valued"}

// module reads object_id, definition, uses_ansi_nulls, uses_quoted_identifier. Other objects with a
// definition, such as defaults of CREATE DEFAULT, are dropped.
func (r *reader) module(x row) {
	o := r.triggers[x.id(0)]
	if o == nil {
		of := r.objects[x.id(0)]
		kind, ok := moduleKinds[of.kind]
		if !ok {
			return
		}
		o = &drift.Object{Kind: kind, Schema: of.schema, Name: of.name}
		o.Set(drift.PropertyFunction, functionKinds[of.kind])
	}
	o.Set(drift.PropertyText, drift.NormalizeModule(x.text(1), o.Schema, o.Name))
	o.Flag(drift.PropertyEncrypted, x[1] == nil)
	o.Flag(drift.PropertyNullsOff, !x.bit(2))
	o.Flag(drift.PropertyQuotedOff, !x.bit(3))
	r.add(o)
}

// flush passes on all that is complete: all but modules.
func (r *reader) flush() {
	if r.indexes == nil { // permissions follow
		return
	}
	for at, i := range r.indexes {
		r.endIndex(at.object, i)
	}
	for _, k := range r.foreignKeys {
		r.endForeignKey(k)
	}
	for id, t := range r.tables {
		slices.Sort(t.columns)
		order := make([]string, 0, len(t.columns))
		for _, c := range t.columns {
			o := r.columns[part{id, c}]
			order = append(order, tsql.Name(o.Name))
			r.done(o, t)
		}
		t.of.Set(drift.PropertyColumnOrder, strings.Join(order, drift.ColumnSeparator))
		if t.of.Kind == drift.KindTable {
			if h, ok := r.objects[t.history]; ok {
				t.of.Set("history table", tsql.Name(h.schema, h.name))
			}
			r.rest = append(r.rest, t.of)
		}
	}
	for _, o := range r.rest {
		r.add(o)
	}
	r.rest, r.columns, r.indexes, r.foreignKeys = nil, nil, nil, nil
}

// endIndex completes an index: the key in its order, the included columns by name.
func (r *reader) endIndex(parent int32, i *index) {
	slices.SortFunc(i.columns, func(x, y indexColumn) int { return cmp.Or(cmp.Compare(x.key, y.key), cmp.Compare(x.place, y.place)) })
	var key, included []string
	kind := i.object.Properties.Get(drift.PropertyIndexType)
	if kind == "CLUSTERED COLUMNSTORE" { // it has all columns of the table
		i.columns = nil
	}
	rowstore := kind == "" || kind == "CLUSTERED" || strings.HasPrefix(kind, "NONCLUSTERED") // XML, spatial and JSON indexes have no keys
	for _, c := range i.columns {
		name := tsql.Name(r.names[part{parent, c.column}])
		switch {
		case c.included:
			included = append(included, name)
		case c.key == 0 && rowstore: // a column of the partition scheme
		case c.desc:
			key = append(key, name+" DESC")
		default:
			key = append(key, name)
		}
	}
	slices.Sort(included)
	i.object.Set(drift.PropertyKey, strings.Join(key, ", "))
	i.object.Set(drift.PropertyInclude, strings.Join(included, ", "))
	r.done(i.object, r.tables[parent])
}

// endForeignKey completes a foreign key.
func (r *reader) endForeignKey(k *foreignKey) {
	slices.SortFunc(k.columns, func(x, y foreignColumn) int { return cmp.Compare(x.place, y.place) })
	var from, to []string
	for _, c := range k.columns {
		from = append(from, tsql.Name(r.names[part{k.parent, c.parent}]))
		to = append(to, tsql.Name(r.names[part{k.referenced, c.referenced}]))
	}
	of := r.objects[k.referenced]
	k.object.Set(drift.PropertyKey, strings.Join(from, ", "))
	k.object.Set(drift.PropertyReferences, tsql.Name(of.schema, of.name)+" ("+strings.Join(to, ", ")+")")
	r.done(k.object, r.tables[k.parent])
}

func (r *reader) role(x row) {
	r.add(&drift.Object{Kind: drift.KindRole, Name: x.text(0)})
}

func (r *reader) member(x row) {
	r.add(&drift.Object{Kind: drift.KindMember, Name: tsql.Name(x.text(1)) + " of " + tsql.Name(x.text(0))})
}

// permission reads class, major_id, minor_id, permission_name, state_desc, name of the grantee.
func (r *reader) permission(x row) {
	o := &drift.Object{Kind: drift.KindPermission}
	on := "the database"
	switch x.int(0) {
	case 1:
		of, ok := r.objects[x.id(1)]
		if !ok {
			return
		}
		o.Schema = of.schema
		on = tsql.Name(of.schema, of.name)
		if column := x.id(2); column != 0 {
			on += " (" + tsql.Name(r.names[part{x.id(1), column}]) + ")"
		}
	case 3:
		o.Schema = r.schemas[x.id(1)]
		on = "schema " + tsql.Name(o.Schema)
	}
	o.Name = x.text(3) + " on " + on + " to " + tsql.Name(x.text(5))
	o.Set("state", x.text(4))
	r.add(o)
}

// nullability returns the property of a column or type.
func nullability(null bool) string {
	if null {
		return "null"
	}
	return "not null"
}

// length returns the name of a system type with its length, as CREATE TABLE has it. max_length is
// in bytes; -1 is max.
func length(name string, bytes, precision, scale int64) string {
	number := func(n int64) string { return "(" + strconv.FormatInt(n, 10) + ")" }
	switch name {
	case "nvarchar", "nchar":
		bytes /= 2 // -1 becomes 0
		fallthrough
	case "varchar", "char", "varbinary", "binary":
		if bytes <= 0 {
			return name + "(max)"
		}
		return name + number(bytes)
	case "decimal", "numeric":
		return name + "(" + strconv.FormatInt(precision, 10) + ", " + strconv.FormatInt(scale, 10) + ")"
	case "datetime2", "datetimeoffset", "time":
		return name + number(scale)
	case "float":
		if precision < 53 {
			return name + number(precision)
		}
	}
	return name
}
