package drift

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/jobs/tsql"
)

// Kind is the kind of an object of a schema.
type Kind string

// The kinds, in the order in which a database is built.
const (
	KindSchema          Kind = "schema"
	KindType            Kind = "type"
	KindSequence        Kind = "sequence"
	KindTable           Kind = "table"
	KindColumn          Kind = "column"
	KindDefault         Kind = "default"
	KindCheck           Kind = "check constraint"
	KindPrimaryKey      Kind = "primary key"
	KindUnique          Kind = "unique constraint"
	KindIndex           Kind = "index"
	KindForeignKey      Kind = "foreign key"
	KindSynonym         Kind = "synonym"
	KindFunction        Kind = "function"
	KindView            Kind = "view"
	KindProcedure       Kind = "procedure"
	KindAssemblyModule  Kind = "module of an assembly"
	KindTrigger         Kind = "trigger"
	KindDatabaseTrigger Kind = "database trigger"
	KindRole            Kind = "role"
	KindMember          Kind = "role member"
	KindPermission      Kind = "permission"
)

// kinds are all kinds in order.
var kinds = []Kind{
	KindSchema, KindType, KindSequence, KindTable, KindColumn, KindDefault, KindCheck, KindPrimaryKey, KindUnique, KindIndex, KindForeignKey,
	KindSynonym, KindFunction, KindView, KindProcedure, KindAssemblyModule, KindTrigger, KindDatabaseTrigger, KindRole, KindMember, KindPermission,
}

// rank returns the place of a kind in the order.
func (k Kind) rank() int { return slices.Index(kinds, k) }

// constraint reports whether the objects of a kind are constraints, whose names the system may
// give.
func (k Kind) constraint() bool {
	switch k {
	case KindDefault, KindCheck, KindPrimaryKey, KindUnique, KindForeignKey:
		return true
	}
	return false
}

// module reports whether the objects of a kind are modules with a text.
func (k Kind) module() bool {
	switch k {
	case KindFunction, KindView, KindProcedure, KindTrigger, KindDatabaseTrigger:
		return true
	}
	return false
}

// Names of properties. Their values are parts of T-SQL, such as "[a], [b] DESC" or "nvarchar(20)",
// so that they can be shown and put into statements as they are. A property that is off is absent.
const (
	PropertyType             = "type"
	PropertyCollation        = "collation"
	PropertyNull             = "nullability"
	PropertyIdentity         = "identity"
	PropertyComputed         = "computed"
	PropertyDefinition       = "definition"
	PropertyColumn           = "column"       // of a default
	PropertyColumnOrder      = "column order" // of a table
	PropertyKey              = "key"
	PropertyInclude          = "included columns"
	PropertyFilter           = "filter"
	PropertyUnique           = "unique"
	PropertyClustered        = "clustered"
	PropertyIndexType        = "index type"
	PropertyFillFactor       = "fill factor"
	PropertyPadded           = "padded"
	PropertyIgnoreDuplicates = "ignore_dup_key"
	PropertyNoRowLocks       = "no row locks"
	PropertyNoPageLocks      = "no page locks"
	PropertyReferences       = "references"
	PropertyOnDelete         = "on delete"
	PropertyOnUpdate         = "on update"
	PropertyDisabled         = "disabled"
	PropertyNotTrusted       = "not trusted"
	PropertyNFR              = "not for replication"
	PropertyText             = "text"
	PropertyNullsOff         = "ansi_nulls off"
	PropertyQuotedOff        = "quoted_identifier off"
	PropertyEncrypted        = "encrypted"
	PropertyFunction         = "kind of function"
	PropertyTemporal         = "temporal" // sys.tables.temporal_type_desc
	PropertyName             = "name"     // of a primary key and a default, which the table and the column identify
)

// HistoryTable is the value of the property temporal of a history table.
const HistoryTable = "HISTORY_TABLE"

// On is the value of a property that is only on or absent.
const On = "yes"

// Property is one property of an object.
type Property struct{ Name, Value string }

// Properties are the properties of an object, ordered by name.
type Properties []Property

// Get returns the value of a property; "" if it is absent.
func (p Properties) Get(name string) string {
	if i, ok := p.find(name); ok {
		return p[i].Value
	}
	return ""
}

func (p Properties) find(name string) (int, bool) {
	return slices.BinarySearchFunc(p, name, func(x Property, name string) int { return cmp.Compare(x.Name, name) })
}

// MarshalJSON implements json.Marshaler: an object with a member for each property.
func (p Properties) MarshalJSON() ([]byte, error) {
	all := make(map[string]string, len(p))
	for _, x := range p {
		all[x.Name] = x.Value
	}
	return json.Marshal(all)
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *Properties) UnmarshalJSON(text []byte) error {
	var all map[string]string
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	*p = nil
	for name, value := range all {
		*p = append(*p, Property{name, value})
	}
	slices.SortFunc(*p, func(x, y Property) int { return cmp.Compare(x.Name, y.Name) })
	return nil
}

// Object is one object of a schema.
type Object struct {
	Kind   Kind   `json:"kind"`
	Schema string `json:"schema,omitempty"`
	// Table is the table or view to which the object belongs: a column, an index, a constraint or a
	// trigger.
	Table string `json:"table,omitempty"`
	Name  string `json:"name,omitempty"`
	// SystemNamed says that the system gave the name of a constraint. It contains a number that is
	// another one in each database.
	SystemNamed bool       `json:"system_named,omitempty"`
	Properties  Properties `json:"properties,omitempty"`
}

// Set sets a property. An empty value removes it.
func (o *Object) Set(name, value string) {
	i, ok := o.Properties.find(name)
	switch {
	case value == "" && ok:
		o.Properties = slices.Delete(o.Properties, i, i+1)
	case value == "":
	case ok:
		o.Properties[i].Value = value
	default:
		o.Properties = slices.Insert(o.Properties, i, Property{name, value})
	}
}

// Flag sets a property that is only on or absent.
func (o *Object) Flag(name string, on bool) {
	if on {
		o.Set(name, On)
	}
}

// size returns about how many bytes an object takes.
func (o *Object) size() (n int64) {
	n = int64(128 + len(o.Schema) + len(o.Table) + len(o.Name))
	for _, p := range o.Properties {
		n += int64(32 + len(p.Value))
	}
	return n
}

// Key identifies an object within its database.
type Key struct {
	Kind                Kind
	Schema, Table, Name string
	// Number tells constraints apart that are alike but for what their keys do not say: 0 is the
	// first one.
	Number int
}

// compareKeys orders keys by kind, then by names.
func compareKeys(x, y Key) int {
	return cmp.Or(
		cmp.Compare(x.Kind.rank(), y.Kind.rank()), cmp.Compare(x.Schema, y.Schema), cmp.Compare(x.Table, y.Table),
		cmp.Compare(x.Name, y.Name), cmp.Compare(x.Number, y.Number))
}

// plain reports whether a name can stand without brackets, so that words stay readable.
func plain(name string) bool {
	return name != "" && strings.IndexFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r < 0x80
	}) < 0
}

// shown returns a name as words show it: in brackets if it has unusual characters.
func shown(parts ...string) string {
	all := make([]string, len(parts))
	for i, p := range parts {
		if all[i] = p; !plain(p) {
			all[i] = tsql.Name(p)
		}
	}
	return strings.Join(all, ".")
}

// String names an object in words: "index IX_Orders_Date on dbo.Orders".
func (k Key) String() string {
	table := shown(k.Schema, k.Table)
	switch k.Kind {
	case KindPrimaryKey:
		return string(k.Kind) + " of " + table
	case KindDefault:
		return "default of column " + shown(k.Name) + " of " + table
	case KindColumn:
		return "column " + shown(k.Name) + " of " + table
	case KindCheck, KindUnique, KindForeignKey:
		name := k.Name
		if !strings.HasPrefix(name, "(") { // else the constraint has no name of its own
			name = shown(name)
		}
		return string(k.Kind) + " " + name + " of " + table
	case KindIndex, KindTrigger:
		return string(k.Kind) + " " + shown(k.Name) + " on " + table
	case KindPermission, KindMember:
		return string(k.Kind) + " " + k.Name
	case KindSchema, KindRole, KindDatabaseTrigger:
		return string(k.Kind) + " " + shown(k.Name)
	}
	return string(k.Kind) + " " + shown(k.Schema, k.Name)
}
