package compile

import (
	"errors"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// maxExpansion bounds views, functions and common table expressions that are made of each other (SQL
// Server: 32 levels of views).
const maxExpansion = 32

// binder binds one statement.
type binder struct {
	scope Scope
	needs Needs
	dbs   map[int]bool
	next  int // aliases given out
	place place
	depth int // expansions that contain each other
	// maxRecursion is OPTION (MAXRECURSION n), 0 for no limit.
	maxRecursion int
	// inDefault says that a column's default is bound, the only place of NEWSEQUENTIALID.
	inDefault bool
	// locale is that of the session; the zero one in what is stored and in system views.
	locale types.Locale
	// emptyPast says that sources with READPAST are empty.
	emptyPast bool
	meter     *meter.Meter // of the session; nil for none
}

const (
	// nodeBytes is about what an expression or condition takes while its statement is compiled: its node, and its text.
	nodeBytes = 512
	// nodeWork is what it costs to be compiled, in steps of [meter.Meter.Work].
	nodeWork = 400
)

// charge takes what an expression or condition is going to take from the session's account. Error 701, or the cause when the
// request is to end.
func (b *binder) charge() error {
	if err := b.meter.Work(nodeWork); err != nil {
		return err
	}
	return b.meter.Take(nodeBytes)
}

// place is where names are looked up: it changes inside views and functions.
type place struct {
	db      *catalog.Database // nil: the scope's current one
	schemas []string          // for names without a schema, in order
	params  map[string]*node  // parameters of the inline function being expanded, by folded name
	ctes    *cteScope
	// owner is the principal whose objects need no further permission in db; -1 for none.
	owner  int
	system bool // inside a system view: row sets of the server may be named
}

// newBinder makes the binder of a statement in its session's scope.
func newBinder(scope Scope) (*binder, error) {
	b := &binder{scope: scope, dbs: map[int]bool{}, maxRecursion: 100, locale: scope.Locale(), meter: scope.Meter()}
	db, err := scope.Database("")
	if err != nil {
		return nil, err
	}
	b.needSnapshot(db)
	b.place = place{db: db, schemas: schemasFrom(scope.DefaultSchema()), owner: -1}
	return b, nil
}

// schemasFrom is the search path of names without a schema.
func schemasFrom(schema string) []string {
	if schema == "" || strings.EqualFold(schema, "dbo") {
		return []string{"dbo"}
	}
	return []string{schema, "dbo"}
}

// needSnapshot notes that a database was asked for names.
func (b *binder) needSnapshot(db *catalog.Database) {
	for _, s := range b.needs.Snapshots {
		if s == db {
			return
		}
	}
	b.needs.Snapshots = append(b.needs.Snapshots, db)
}

// needDatabase notes that a database must be attached.
func (b *binder) needDatabase(id int) {
	if id != 0 && !b.dbs[id] {
		b.dbs[id] = true
		b.needs.Databases = append(b.needs.Databases, id)
	}
}

// alias makes a name that is unique in the statement.
func (b *binder) alias(prefix string) string {
	b.next++
	return prefix + strconv.Itoa(b.next)
}

// needPermission notes a permission that the session needs, unless the ownership chain covers it.
func (b *binder) needPermission(db *catalog.Database, o catalog.Object, permission string) {
	if b.place.system || b.place.owner >= 0 && db == b.place.db && db.Owner(o) == b.place.owner {
		return
	}
	for _, u := range b.needs.Uses {
		if u.Database == db && u.Object == o && u.Permission == permission {
			return
		}
	}
	b.needs.Uses = append(b.needs.Uses, Use{db, o, permission})
}

// needLocal notes a temporary table or table variable.
func (b *binder) needLocal(t *catalog.Table) {
	for _, s := range b.needs.Local {
		if s == t {
			return
		}
	}
	b.needs.Local = append(b.needs.Local, t)
}

// within runs f with another place for names, as inside a view. Error 217 when expansions nest too deeply.
func (b *binder) within(p place, f func() error) error {
	if b.depth++; b.depth > maxExpansion {
		return mserr.NestingLevel(maxExpansion)
	}
	saved := b.place
	b.place = p
	err := f()
	b.place = saved
	b.depth--
	return err
}

// moduleScope is the place of names in a module of a schema.
func (b *binder) moduleScope(db *catalog.Database, o catalog.Object) place {
	schema := ""
	if s := db.SchemaByID(o.Head().SchemaID); s != nil {
		schema = s.Name
	}
	return place{db: db, schemas: schemasFrom(schema), owner: db.Owner(o)}
}

// object finds what a name stands for, synonyms followed. A nil object means that there is none; the
// database is then that in which it was looked for. Errors are those of the database name; one that does not exist
// makes the whole name invalid (208), as in SQL Server.
func (b *binder) object(name *syntax.ObjectName) (*catalog.Database, catalog.Object, error) {
	db, o, err := b.objectAt(name.Server(), name.Database(), name.Schema(), name.Last(), 0)
	if errors.Is(err, mserr.NoDatabase("")) {
		err = mserr.InvalidObject(name.String())
	}
	return db, o, err
}

// objectAt is object by the parts of a name.
func (b *binder) objectAt(server, database, schema, name string, hops int) (*catalog.Database, catalog.Object, error) {
	if server != "" {
		return nil, nil, mserr.NoServer(server)
	}
	db := b.place.db
	if database != "" {
		var err error
		if db, err = b.scope.Database(database); err != nil {
			return nil, nil, err
		}
		b.needSnapshot(db)
	}
	schemas := b.place.schemas
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
		base, err := syntax.ParseName(syn.Base)
		if err != nil {
			return db, nil, err
		}
		in := base.Database()
		if in == "" && db != b.place.db {
			in = db.Name
		}
		return b.objectAt(base.Server(), in, base.Schema(), base.Last(), hops+1)
	}
	return db, nil, nil
}

// variable is the node of a variable or parameter. Error 137.
func (b *binder) variable(name string) (*node, error) {
	if n, ok := b.place.params[catalog.Fold(name)]; ok {
		return n, nil
	}
	if b.place.params == nil && b.place.owner < 0 {
		if t, ok := b.scope.Variable(name); ok {
			return &node{op: opVar, typ: t, null: true, name: name, traits: hasVar}, nil
		}
	}
	return nil, mserr.UndeclaredVariable(name)
}

// typeOf resolves a type as written. defaults is types.Named or types.NamedForCast.
func (b *binder) typeOf(ref *syntax.TypeRef, defaults func(string, ...int) (types.Type, error)) (types.Type, error) {
	t, _, table, err := b.anyType(ref, defaults)
	if err == nil && table != nil {
		err = mserr.UnknownSystemType(ref.Name.Last())
	}
	return t, err
}

// anyType resolves a type that may also be a table type.
func (b *binder) anyType(ref *syntax.TypeRef, defaults func(string, ...int) (types.Type, error)) (types.Type, *catalog.AliasType, *catalog.TableType, error) {
	name := ref.Name.Last()
	schema := ref.Name.Schema()
	if (schema == "" || strings.EqualFold(schema, "sys")) && types.Known(name) {
		args := ref.Args
		if ref.Max {
			args = []int{types.Max}
		}
		t, err := defaults(name, args...)
		return b.ofDatabase(t), nil, nil, err
	}
	schemas := b.place.schemas
	if schema != "" {
		schemas = []string{schema}
	}
	for _, s := range schemas {
		if a := b.place.db.AliasType(s, name); a != nil {
			return b.ofDatabase(a.Type), a, nil, nil
		}
		if tt := b.place.db.TableType(s, name); tt != nil {
			return types.Type{}, nil, tt, nil
		}
	}
	if schema != "" {
		name = schema + "." + name
	}
	return types.Type{}, nil, nil, mserr.UnknownSystemType(name)
}
