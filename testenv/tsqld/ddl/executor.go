package ddl

import (
	"context"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile"
	"github.com/jobagent/jobagent/testenv/tsqld/module"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/printer"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Interpreter is what definitions need of the interpreter of T-SQL.
type Interpreter interface {
	// Compiler returns a compiler that resolves names as the running statement does.
	Compiler() *compile.Compiler
	// Value evaluates an expression and converts the result implicitly to a type.
	Value(e syntax.Expr, to types.Type) (types.Value, error)
	// Info sends an informational message to the client.
	Info(m *mserr.Error) error
	// LocalTable returns the temporary table or table variable with a name, or nil.
	LocalTable(name string) *catalog.Table
	// Shape returns the definition that build has returned for a node before, or else calls build.
	Shape(node syntax.Node, build func() (*catalog.Table, error)) (*catalog.Table, error)
	// InSchema calls do with another default schema of the activation.
	InSchema(schema string, do func() error) error
}

// Place is the activation in which a statement runs.
type Place struct {
	Text       string // of the batch, for the text of a module
	Schema     string // default schema
	Level      int    // depth of activations, from 0
	InFunction bool   // inside a user-defined function
	// Outer are the temporary tables of the caller. They are nil in a batch.
	Outer session.TempTables
}

// Executor executes statements that change definitions, in one activation.
type Executor struct {
	ctx   context.Context
	s     *session.Session
	host  Interpreter
	place Place
	// created is the schema that a running CREATE SCHEMA has created, for the names of its
	// elements; else empty.
	created string
}

// New returns an executor for a place in a session.
func New(ctx context.Context, s *session.Session, host Interpreter, p Place) *Executor {
	return &Executor{ctx: ctx, s: s, host: host, place: p}
}

// object returns the object with a name and its database, or a nil object.
func (r *Executor) object(n *syntax.ObjectName) (catalog.Object, *catalog.Database, error) {
	return r.s.Object(n, r.place.Schema)
}

// schemas returns the schemas in which a name is looked up.
func (r *Executor) schemas(d *catalog.Database, schema string) []string {
	return r.s.Schemas(d, r.place.Schema, schema)
}

// Execute executes a statement that changes definitions. Errors of the client are *mserr.Error.
func (r *Executor) Execute(st syntax.Stmt) error {
	switch st := st.(type) {
	case *syntax.CreateTableStmt:
		return tables{r}.createTable(st)
	case *syntax.AlterTableStmt:
		return tables{r}.alterTable(st)
	case *syntax.CreateIndexStmt:
		return tables{r}.createIndex(st)
	case *syntax.AlterIndexStmt:
		return tables{r}.alterIndex(st)
	case *syntax.DropIndexStmt:
		return tables{r}.dropIndex(st)
	case *syntax.DropStmt:
		return r.drop(st)
	case *syntax.CreateProcedureStmt:
		return modules{r}.createProcedure(st)
	case *syntax.CreateFunctionStmt:
		return modules{r}.createFunction(st)
	case *syntax.CreateViewStmt:
		return modules{r}.createView(st)
	case *syntax.CreateTriggerStmt:
		return modules{r}.createTrigger(st)
	case *syntax.TriggerStmt:
		return modules{r}.switchTrigger(st)
	case *syntax.CreateTypeStmt:
		return r.createType(st)
	case *syntax.SequenceStmt:
		return r.sequence(st)
	case *syntax.CreateSynonymStmt:
		return r.createSynonym(st)
	case *syntax.CreateSchemaStmt:
		return r.createSchema(st)
	case *syntax.AlterSchemaStmt:
		return r.alterSchema(st)
	case *syntax.CreateDatabaseStmt:
		return databases{r}.createDatabase(st)
	case *syntax.AlterDatabaseStmt:
		return databases{r}.alterDatabase(st)
	case *syntax.LoginStmt:
		return security{r}.login(st)
	case *syntax.UserStmt:
		return security{r}.user(st)
	case *syntax.RoleStmt:
		return security{r}.role(st)
	case *syntax.CredentialStmt:
		return security{r}.credential(st)
	case *syntax.PermissionStmt:
		return security{r}.permission(st)
	case *syntax.AlterAuthorizationStmt:
		return security{r}.alterAuthorization(st)
	case *syntax.DBCCStmt:
		return r.dbcc(st)
	}
	return mserr.NotSupported("%s", module.StatementName(st))
}

// target returns the database and the existing schema in which a statement creates an object.
func (r *Executor) target(n *syntax.ObjectName) (*catalog.Database, string, error) {
	d, err := r.s.Place(n)
	if err != nil {
		return nil, "", err
	}
	schema := n.Schema()
	if schema == "" {
		switch {
		case d.ID != r.s.DatabaseID:
			schema = "dbo"
		case r.created != "":
			schema = r.created
		default:
			schema = r.s.DefaultSchema()
		}
	}
	if catalog.IsGlobalTemp(n.Last()) {
		schema = "dbo"
	}
	sc := d.Schema(schema)
	if sc == nil || sc.ID == catalog.SchemaSys || sc.ID == catalog.SchemaInformationSchema {
		return nil, "", mserr.NoSuchSchema(schema)
	}
	return d, sc.Name, nil
}

// moduleTarget is target for modules, whose name must not contain a database.
func (r *Executor) moduleTarget(n *syntax.ObjectName, statement string) (*catalog.Database, string, error) {
	if n.Database() != "" {
		if statement == "CREATE PROCEDURE" {
			statement = "CREATE/ALTER PROCEDURE"
		}
		return nil, "", mserr.DatabaseNotAllowed(statement)
	}
	if catalog.IsGlobalTemp(n.Last()) {
		return nil, "", mserr.NotSupported("%s of a global temporary object", statement)
	}
	return r.target(n)
}

// Silent reports whether a DBCC statement has the option NO_INFOMSGS.
func Silent(st *syntax.DBCCStmt) bool { return findOption(st.Options, "NO_INFOMSGS") != nil }

// dbcc executes DBCC: CHECKIDENT, and commands without an effect here.
func (r *Executor) dbcc(st *syntax.DBCCStmt) error {
	switch st.Command {
	case "CHECKIDENT":
		return r.checkIdent(st)
	case "FREEPROCCACHE", "DROPCLEANBUFFERS", "FREESYSTEMCACHE", "FREESESSIONCACHE", "UPDATEUSAGE", "CHECKDB",
		"CHECKTABLE", "CHECKALLOC", "CHECKCATALOG", "CHECKFILEGROUP", "CLEANTABLE", "DBREINDEX", "FLUSHAUTHCACHE",
		"INDEXDEFRAG", "SHRINKDATABASE", "SHRINKFILE":
		if Silent(st) {
			return nil
		}
		return r.host.Info(mserr.CheckCompleted())
	}
	return mserr.NotSupported("DBCC %s", st.Command)
}

// checkIdent executes DBCC CHECKIDENT (table [, NORESEED | RESEED [, value]]).
func (r *Executor) checkIdent(st *syntax.DBCCStmt) error {
	if len(st.Args) == 0 {
		return mserr.Of(2560)
	}
	name := wordOf(st.Args[0])
	n := session.SplitName(name)
	database, t := 0, r.host.LocalTable(n.Last())
	if t == nil {
		o, d, err := r.object(n)
		if err != nil {
			return err
		}
		if t, _ = o.(*catalog.Table); t == nil {
			return mserr.Of(2501, name)
		}
		if !r.s.MayAlter(d, t) {
			return mserr.Of(2557, t.Name)
		}
		database = d.ID
	}
	col := t.IdentityColumn()
	if col == nil {
		return mserr.Of(7997, name)
	}
	mode := "RESEED"
	if len(st.Args) > 1 {
		mode = strings.ToUpper(wordOf(st.Args[1]))
	}
	do := func() error {
		c, err := r.s.Counters.Identity(r.ctx, database, t)
		if err != nil {
			return err
		}
		current := "NULL"
		if c.Used {
			current = strconv.FormatInt(c.Last, 10)
		}
		if mode == "NORESEED" || len(st.Args) < 3 {
			return r.host.Info(mserr.Of(7998, current))
		}
		v, err := r.host.Value(st.Args[2], types.BigIntType)
		if err != nil {
			return err
		}
		seed, _ := v.(int64)
		// The next row of a table that never had rows gets the new value itself. Otherwise it gets
		// the value after the new one (documentation: DBCC CHECKIDENT, "RESEED, new_reseed_value").
		fresh := session.Counter{Last: seed, Used: true}
		if !c.Used {
			fresh.Last -= col.Auto.Increment
		}
		r.s.Server.SetCounter(r.s.Counters.IdentityKey(database, t), fresh)
		if err := r.s.Counters.StoreIdentity(r.ctx, database, t, fresh.Last); err != nil {
			return err
		}
		return r.host.Info(mserr.Of(7998, current))
	}
	if database == 0 {
		return do()
	}
	return r.s.Atomic(r.ctx, session.Scope{Databases: []int{database}, Several: true}, do)
}

// wordOf returns the text of an argument that is a word, a name or a string.
func wordOf(e syntax.Expr) string {
	switch e := e.(type) {
	case *syntax.Literal:
		return e.Text
	case *syntax.Keyword:
		return e.Name
	case *syntax.ColumnRef:
		parts := make([]string, len(e.Parts))
		for i, p := range e.Parts {
			parts[i] = syntax.QuoteName(p.Name)
		}
		return strings.Join(parts, ".")
	}
	return printer.Print(e)
}
