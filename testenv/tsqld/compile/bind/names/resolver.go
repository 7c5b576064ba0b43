package names

import (
	"errors"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
	"github.com/jobagent/jobagent/testenv/tsqld/xquery"
)

// maxExpansion is the maximum nesting depth of views, functions and common table expressions. SQL
// Server's limit for views is 32.
const maxExpansion = 32

// Resolver resolves the names of one statement, and notes what the statement needs to run.
type Resolver struct {
	Scope     Scope
	Needs     plan.Needs
	dbs       map[int]bool
	lastAlias int // number of the last alias
	Place     Place
	depth     int // current nesting depth of expansions
	// Locale is the session's locale. It is zero inside system views and in SQL stored in a schema.
	Locale types.Locale
	// EmptyPast makes sources with READPAST empty tables.
	EmptyPast bool
	Meter     *meter.Meter // of the session; may be nil
	deduction *Deduction   // parameters without a declaration; nil for none
}

const (
	// nodeBytes is the approximate memory of one expression or condition during compilation: the
	// node and its SQL text.
	nodeBytes = 512
	// NodeWork is the cost of compiling one expression or condition, in steps of
	// [meter.Meter.Work].
	NodeWork = 400
)

// Limits of SQLite: tables in one FROM clause, and columns in one select list.
const (
	MaxTables   = 64
	MaxElements = 2000
)

// Limits of the lists of one query, before parts of them are merged or removed. Some loops compare
// each element with each other, or with each element of another list; the limits bound their time.
const (
	mostTables   = 256  // SQL Server's limit
	mostElements = 4096 // SQL Server's limit of a select list; here also of other clauses, of which SQLite takes fewer
)

// CheckElements refuses a clause, other than the select list, with too many elements: error 8623.
func CheckElements(n int) error {
	if n > mostElements {
		return mserr.InternalResources()
	}
	return nil
}

// Charge charges the session's meter for one expression or condition. Error 701 when the session is
// out of memory, or the cause of cancellation when the request was cancelled.
func (b *Resolver) Charge() error {
	if err := b.Meter.Work(NodeWork); err != nil {
		return err
	}
	return b.Meter.Take(nodeBytes)
}

// Place is the context of name resolution. It changes inside views and functions.
type Place struct {
	DB      *catalog.Database     // nil: the current database of the scope
	Schemas []string              // searched in this order for names without a schema
	Params  map[string]*tree.Node // parameters of the inline function being expanded, by folded name
	CTEs    *CTEScope
	Spaces  []xquery.Binding // the namespaces of WITH XMLNAMESPACES
	// Owner is the principal whose objects in DB need no further permission (ownership chaining);
	// -1 for none.
	Owner  int
	System bool // inside a system view, which may name the server's row sets
}

// New returns a resolver for one statement, whose names are resolved in the current
// database. With emptyPast, sources with READPAST are empty tables. deduction has the parameters
// without a declaration; nil for none. Errors: 911 and 916 for the current database.
func New(scope Scope, emptyPast bool, deduction *Deduction) (Resolver, error) {
	r := Resolver{Scope: scope, dbs: map[int]bool{}, Locale: scope.Locale(), Meter: scope.Meter(),
		EmptyPast: emptyPast, deduction: deduction}
	r.Needs.EmptyPast = emptyPast
	db, err := scope.Database("")
	if err != nil {
		return r, err
	}
	r.needSnapshot(db)
	r.Place = Place{DB: db, Schemas: schemasFrom(scope.DefaultSchema()), Owner: -1}
	return r, nil
}

// Names returns the rule for the names in the database in which names are resolved.
func (b *Resolver) Names() catalog.Names { return b.Place.DB.Names() }

// schemasFrom returns the schemas that are searched for a name without a schema.
func schemasFrom(schema string) []string {
	if schema == "" || strings.EqualFold(schema, "dbo") {
		return []string{"dbo"}
	}
	return []string{schema, "dbo"}
}

// needSnapshot records a database in which names were looked up.
func (b *Resolver) needSnapshot(db *catalog.Database) {
	for _, s := range b.Needs.Snapshots {
		if s == db {
			return
		}
	}
	b.Needs.Snapshots = append(b.Needs.Snapshots, db)
}

// NeedDatabase records a database that must be attached before the statement runs.
func (b *Resolver) NeedDatabase(id int) {
	if id != 0 && !b.dbs[id] {
		b.dbs[id] = true
		b.Needs.Databases = append(b.Needs.Databases, id)
	}
}

// Alias returns a new table alias, unique in the statement.
func (b *Resolver) Alias(prefix string) string {
	b.lastAlias++
	return prefix + strconv.Itoa(b.lastAlias)
}

// TempDatabase is the database of global temporary tables.
const TempDatabase = "tempdb"

// NeedPermission records a permission that the session needs, unless the ownership chain covers the
// object. All sessions may use global temporary tables.
func (b *Resolver) NeedPermission(db *catalog.Database, o catalog.Object, permission string) {
	if catalog.IsGlobalTemp(o.Head().Name) {
		return
	}
	if b.Place.System || b.Place.Owner >= 0 && db == b.Place.DB && db.Owner(o) == b.Place.Owner {
		return
	}
	for _, u := range b.Needs.Uses {
		if u.DatabaseID == db.ID && u.Object == o && u.Permission == permission {
			return
		}
	}
	b.Needs.Uses = append(b.Needs.Uses, plan.Use{DatabaseID: db.ID, Object: o, Permission: permission})
}

// NeedLocal records a temporary table or table variable that the statement uses.
func (b *Resolver) NeedLocal(t *catalog.Table) {
	for _, s := range b.Needs.Local {
		if s == t {
			return
		}
	}
	b.Needs.Local = append(b.Needs.Local, t)
}

// Within calls f with another place for name resolution, for example that of a view. Error 217 when
// expansions nest too deeply.
func (b *Resolver) Within(p Place, f func() error) error {
	if b.depth++; b.depth > maxExpansion {
		return mserr.NestingLevel(maxExpansion)
	}
	saved := b.Place
	b.Place = p
	err := f()
	b.Place = saved
	b.depth--
	return err
}

// ModuleScope returns the place in which the names inside a view or function are resolved.
func (b *Resolver) ModuleScope(db *catalog.Database, o catalog.Object) Place {
	schema := ""
	if s := db.SchemaByID(o.Head().SchemaID); s != nil {
		schema = s.Name
	}
	return Place{DB: db, Schemas: schemasFrom(schema), Owner: db.Owner(o)}
}

// Object resolves the name of an object and follows synonyms. If the object does not exist, it
// returns the database searched and a nil object. Errors are those of resolving the database; a
// database that does not exist makes the whole name invalid (error 208), as in SQL Server.
func (b *Resolver) Object(name *syntax.ObjectName) (*catalog.Database, catalog.Object, error) {
	db, o, err := b.ObjectAt(name.Server(), name.Database(), name.Schema(), name.Last(), 0)
	if errors.Is(err, mserr.NoDatabase("")) {
		err = mserr.InvalidObject(name.String())
	}
	return db, o, err
}

// ObjectAt resolves an object by the parts of its name. hops counts the synonyms followed so far.
func (b *Resolver) ObjectAt(server, database, schema, name string, hops int) (*catalog.Database, catalog.Object, error) {
	if server != "" {
		return nil, nil, mserr.NoServer(server)
	}
	if catalog.IsGlobalTemp(name) {
		database, schema = TempDatabase, "dbo"
	}
	db := b.Place.DB
	if database != "" {
		var err error
		if db, err = b.Scope.Database(database); err != nil {
			return nil, nil, err
		}
		b.needSnapshot(db)
	}
	schemas := b.Place.Schemas
	if schema != "" {
		schemas = []string{schema}
	}
	for _, s := range schemas {
		o := db.Object(s, name)
		if o == nil {
			continue
		}
		syn, ok := o.(*catalog.Synonym)
		if !ok || hops > 8 {
			return db, o, nil
		}
		base, err := parser.ParseName(syn.Base)
		if err != nil {
			return db, nil, err
		}
		in := base.Database()
		if in == "" && db != b.Place.DB {
			in = db.Name
		}
		target, o, err := b.ObjectAt(base.Server(), in, base.Schema(), base.Last(), hops+1)
		if hops == 0 && (err == nil && o == nil || errors.Is(err, mserr.NoDatabase(""))) {
			err = mserr.InvalidSynonym(strings.TrimLeft(database+"."+schema+"."+name, "."))
		}
		return target, o, err
	}
	return db, nil, nil
}

// Variable returns the node of a variable or parameter. Error 137 for an undeclared one.
func (b *Resolver) Variable(name string) (*tree.Node, error) {
	if n, ok := b.Place.Params[catalog.Fold(name)]; ok {
		return n, nil
	}
	if b.Place.Params == nil && b.Place.Owner < 0 {
		if n := b.deduction.Variable(name); n != nil {
			return n, nil
		}
		if t, ok := b.Scope.Variable(name); ok {
			return &tree.Node{Op: tree.OpVar, Type: t, Null: true, Name: name, Traits: tree.HasVar}, nil
		}
	}
	return nil, mserr.UndeclaredVariable(name)
}

// TypeOf resolves a type as written. defaults is types.Named or types.NamedForCast: the two differ
// in the length of a type without a length.
func (b *Resolver) TypeOf(ref *syntax.TypeRef, defaults func(string, ...int) (types.Type, error)) (types.Type, error) {
	t, _, table, err := b.AnyType(ref, defaults)
	if err == nil && table != nil {
		err = mserr.UnknownSystemType(ref.Name.Last())
	}
	return t, err
}

// AnyType resolves a type that may also be a table type.
func (b *Resolver) AnyType(
	ref *syntax.TypeRef,
	defaults func(string, ...int) (types.Type, error),
) (types.Type, *catalog.AliasType, *catalog.TableType, error) {
	name := ref.Name.Last()
	schema := ref.Name.Schema()
	if (schema == "" || strings.EqualFold(schema, "sys")) && types.Known(name) {
		args := ref.Args
		if ref.Max {
			args = []int{types.Max}
		}
		t, err := defaults(name, args...)
		return b.OfDatabase(t), nil, nil, err
	}
	schemas := b.Place.Schemas
	if schema != "" {
		schemas = []string{schema}
	}
	for _, s := range schemas {
		if a := b.Place.DB.AliasType(s, name); a != nil {
			return b.OfDatabase(a.Type), a, nil, nil
		}
		if tt := b.Place.DB.TableType(s, name); tt != nil {
			return types.Type{}, nil, tt, nil
		}
	}
	if schema != "" {
		name = schema + "." + name
	}
	return types.Type{}, nil, nil, mserr.UnknownSystemType(name)
}
