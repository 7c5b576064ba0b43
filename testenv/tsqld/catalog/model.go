package catalog

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// IDs that are the same in every database (sys.schemas, sys.database_principals, sys.databases).
const (
	SchemaDBO               = 1
	SchemaGuest             = 2
	SchemaInformationSchema = 3
	SchemaSys               = 4

	DatabaseMaster = 1
	DatabaseTemp   = 2
	DatabaseModel  = 3
	DatabaseMSDB   = 4
)

// Fold returns the lookup key of a name that ignores case. [Names] has the rule of a database.
func Fold(name string) string {
	for i := range len(name) {
		if c := name[i]; 'A' <= c && c <= 'Z' || c >= 0x80 {
			return strings.ToLower(name)
		}
	}
	return name
}

// EqualNames reports whether two names that ignore case are equal.
func EqualNames(a, b string) bool { return a == b || Fold(a) == Fold(b) }

// Kind is the type of an object as in sys.objects.type, without trailing blanks.
type Kind string

// The kinds of objects.
const (
	KindTable             Kind = "U"
	KindView              Kind = "V"
	KindProcedure         Kind = "P"
	KindScalarFunction    Kind = "FN"
	KindInlineFunction    Kind = "IF"
	KindTableFunction     Kind = "TF"
	KindTableType         Kind = "TT"
	KindSequence          Kind = "SO"
	KindSynonym           Kind = "SN"
	KindTrigger           Kind = "TR"
	KindPrimaryKey        Kind = "PK"
	KindUnique            Kind = "UQ"
	KindForeignKey        Kind = "F"
	KindCheck             Kind = "C"
	KindDefault           Kind = "D"
	KindSystemTable       Kind = "S"
	KindExtendedProcedure Kind = "X"
)

// Header is the common part of all objects. Times are datetime values ([types.DateTime]: 100 ns
// ticks).
type Header struct {
	ObjectID int32
	SchemaID int
	Name     string
	Kind     Kind
	OwnerID  int   // owning principal; 0 means the owner of the schema
	Created  int64 // create_date
	Modified int64 // modify_date
	System   bool  // shipped with the server (is_ms_shipped)
}

// Head returns the header itself, so that every type that embeds it is an [Object].
func (h *Header) Head() *Header { return h }

// Object is an object with a schema, a name and an object ID: *Table, *View, *Procedure, *Function,
// *TableType, *Sequence or *Synonym. Constraints and defaults belong to their table;
// [Database.Constraint] returns them.
type Object interface{ Head() *Header }

// Schema is a namespace of a database.
type Schema struct {
	ID      int
	Name    string
	OwnerID int // principal
}

// Options are the settings of ALTER DATABASE ... SET. Settings without an effect here are stored as
// text in Other.
type Options struct {
	Collation              string // name; SQL_Latin1_General_CP1_CI_AS by default
	CompatibilityLevel     int    // 160
	ReadCommittedSnapshot  bool   // true, as in Azure; reads never wait in either case
	AllowSnapshotIsolation bool
	ReadOnly               bool
	SingleUser             bool // only one session at a time (924)
	RestrictedUser         bool // only for the owner and members of dbcreator and sysadmin (923)
	Offline                bool // sessions get error 942
	RecursiveTriggers      bool
	AnsiNulls              bool
	Trustworthy            bool
	ElasticPool            string // shown in sys.database_service_objectives; set by tests
	Other                  map[string]string
}

// Database is one version of one database. It is immutable; for changes see [Edit].
type Database struct {
	ID   int
	Name string
	// increases with every change and is never reused; (ID, Version) is a key for caches that
	// depend on definitions
	Version int64
	Created int64 // datetime
	OwnerID []byte
	Options Options

	names       Names              // of the collation
	schemas     map[string]*Schema // by names.Fold(name)
	objects     map[int32]Object
	byName      map[objectKey]Object
	constraints map[int32]Constraint
	conByName   map[objectKey]Constraint
	aliases     map[objectKey]*AliasType
	Principals  Principals
	Permissions []Permission // all granted and denied ones, in order of creation; not to be changed
	Properties  []Property   // the extended properties; not to be changed
	credentials map[string]*Credential
	logins      map[string]*Login // only in master
	stored      bool              // the file has its system tables
	next        counters
}

// objectKey identifies an object by schema and name.
type objectKey struct {
	schema int
	name   string // folded
}

// counters are the next free IDs of a database. They never decrease, so that IDs are not reused.
type counters struct {
	Object    int32
	Schema    int
	Principal int
	UserType  int
	Login     int
}

// SQLName returns the name under which sessions attach the database to SQLite: d<ID>.
func (d *Database) SQLName() string { return SQLName(d.ID) }

// Schema finds a schema by name; nil if there is none.
func (d *Database) Schema(name string) *Schema { return d.schemas[d.names.Fold(name)] }

// SchemaByID finds a schema by id; nil if there is none.
func (d *Database) SchemaByID(id int) *Schema {
	for _, s := range d.schemas {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// Schemas returns all schemas by id.
func (d *Database) Schemas() []*Schema {
	return slices.SortedFunc(maps.Values(d.schemas), func(a, b *Schema) int { return cmp.Compare(a.ID, b.ID) })
}

// Object returns the object with a schema and a name, or nil. It does not return constraints. The
// schema must not be empty: only the caller knows the default schema of its user.
func (d *Database) Object(schema, name string) Object {
	s := d.Schema(schema)
	if s == nil {
		return nil
	}
	return d.byName[objectKey{s.ID, d.names.Fold(name)}]
}

// ObjectByID returns the object with an ID, or nil. It does not return constraints.
func (d *Database) ObjectByID(id int32) Object { return d.objects[id] }

// Objects yields all objects except constraints, ordered by object ID.
func (d *Database) Objects() iter.Seq[Object] {
	return func(yield func(Object) bool) {
		for _, id := range slices.Sorted(maps.Keys(d.objects)) {
			if !yield(d.objects[id]) {
				return
			}
		}
	}
}

// Tables returns the user tables, ordered by object ID.
func (d *Database) Tables() []*Table { return Pick[*Table](d) }

// Pick returns the objects of one Go type, ordered by object ID.
func Pick[T Object](d *Database) []T {
	var out []T
	for o := range d.Objects() {
		if t, ok := o.(T); ok {
			out = append(out, t)
		}
	}
	return out
}

// find returns the object with a schema and a name if it has the Go type T, or else the zero value.
func find[T Object](d *Database, schema, name string) T {
	t, _ := d.Object(schema, name).(T)
	return t
}

// Table returns a user table, or nil.
func (d *Database) Table(schema, name string) *Table { return find[*Table](d, schema, name) }

// TableByID returns the user table with an object ID, or nil.
func (d *Database) TableByID(id int32) *Table {
	t, _ := d.objects[id].(*Table)
	return t
}

// Procedure returns a stored procedure, or nil.
func (d *Database) Procedure(schema, name string) *Procedure {
	return find[*Procedure](d, schema, name)
}

// Sequence returns a sequence, or nil.
func (d *Database) Sequence(schema, name string) *Sequence { return find[*Sequence](d, schema, name) }

// TableType returns a user-defined table type, or nil. Types have a namespace of their own: a table
// may have the same name.
func (d *Database) TableType(schema, name string) *TableType {
	s := d.Schema(schema)
	if s == nil {
		return nil
	}
	t, _ := d.byName[objectKey{s.ID, typePrefix + d.names.Fold(name)}].(*TableType)
	return t
}

// typePrefix separates the names of table types from those of objects. Identifiers cannot contain
// NUL.
const typePrefix = "\x00type:"

// AliasType returns an alias type (CREATE TYPE ... FROM), or nil.
func (d *Database) AliasType(schema, name string) *AliasType {
	s := d.Schema(schema)
	if s == nil {
		return nil
	}
	return d.aliases[objectKey{s.ID, d.names.Fold(name)}]
}

// AliasTypes returns the alias types, ordered by user_type_id.
func (d *Database) AliasTypes() []*AliasType {
	return slices.SortedFunc(maps.Values(d.aliases), func(a, b *AliasType) int {
		return cmp.Compare(a.UserTypeID, b.UserTypeID)
	})
}

// QualifiedName returns schema.name of an object of this database for messages.
func (d *Database) QualifiedName(o Object) string {
	h := o.Head()
	if s := d.SchemaByID(h.SchemaID); s != nil {
		return s.Name + "." + h.Name
	}
	return h.Name
}

// Owner returns the principal that owns an object: the owner of the object itself or of its schema.
// Ownership chains compare owners.
func (d *Database) Owner(o Object) int {
	h := o.Head()
	if h.OwnerID != 0 {
		return h.OwnerID
	}
	if s := d.SchemaByID(h.SchemaID); s != nil {
		return s.OwnerID
	}
	return PrincipalDBO
}

// Credential is a database-scoped credential without its secret, which is not stored.
type Credential struct {
	ID       int
	Name     string
	Identity string
	Created  int64
	Modified int64
}

// Credential finds a database-scoped credential by name; nil if there is none.
func (d *Database) Credential(name string) *Credential { return d.credentials[Fold(name)] }

// Credentials returns the database-scoped credentials by id.
func (d *Database) Credentials() []*Credential {
	return slices.SortedFunc(maps.Values(d.credentials), func(a, b *Credential) int { return cmp.Compare(a.ID, b.ID) })
}

// Memo caches one value derived from an immutable object, such as the parsed form of its text, for
// all sessions. The zero Memo is empty.
type Memo struct {
	done atomic.Bool
	mu   sync.Mutex
	val  any
}

// Get returns the cached value. The first call computes it. Errors are not cached, because they may
// be specific to a request that was canceled or has exceeded its memory.
func (m *Memo) Get(compute func() (any, error)) (any, error) {
	if m.done.Load() {
		return m.val, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.done.Load() {
		return m.val, nil
	}
	v, err := compute()
	if err != nil {
		return nil, err
	}
	m.val = v
	m.done.Store(true)
	return v, nil
}

// Param is a parameter of a procedure or function.
type Param struct {
	Name        string // with '@'
	Type        types.Type
	UserTypeID  int    // of an alias or table type, otherwise 0
	TableTypeID int32  // object ID of the table type of a table-valued parameter, otherwise 0
	Default     string // text of the default, "" when HasDefault is false
	HasDefault  bool
	Output      bool
	ReadOnly    bool
	Nullable    bool // false only for NOT NULL parameters of native modules
}
