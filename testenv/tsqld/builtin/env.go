package builtin

import "github.com/jobagent/jobagent/testenv/tsqld/types"

// Env is what the functions of a session see of it. The interpreter implements it. The methods are
// called between statements, never at the same time as others of the same session.
type Env interface {
	Clock
	Connection
	State
	Objects
	Security
}

// Clock tells the time; all calls within one statement must give the same instant.
type Clock interface {
	// Now is the statement's time, UTC, in ticks of 100 ns since 0001-01-01.
	Now() int64
	// LocalOffset is the server's offset from UTC in minutes, usually 0.
	LocalOffset() int
	// Random is a number in [0,1) from the session's generator; a seed, if given, restarts it.
	Random(seed *int64) float64
}

// Connection tells who is connected, and how.
type Connection interface {
	SPID() int
	HostName() string
	AppName() string
	// Login is the name of the login under which the session runs now (after EXECUTE AS).
	Login() string
	// OriginalLogin is the login of the connection.
	OriginalLogin() string
	// ServerName is the name of the instance.
	ServerName() string
	// ServerProperty is one of the properties of SERVERPROPERTY by name in any case; ok is false
	// for an unknown one.
	ServerProperty(name string) (v types.Value, t types.Type, ok bool)
	// ConnectionProperty is one of the properties of CONNECTIONPROPERTY.
	ConnectionProperty(name string) (v types.Value, t types.Type, ok bool)
}

// State is the session's own state.
type State interface {
	// RowCount is @@ROWCOUNT.
	RowCount() int64
	// LastError is @@ERROR, the number of the last statement's error, 0 after success.
	LastError() int32
	// Caught is the error that the innermost CATCH handles; nil outside.
	Caught() *Caught
	// Identity is the last identity value of the session (scope false) or of the current scope, a
	// decimal(38,0); nil for none.
	Identity(scope bool) types.Value
	// TranCount is @@TRANCOUNT.
	TranCount() int
	// XactState is 1, 0 or -1 (doomed).
	XactState() int
	// TransactionID is CURRENT_TRANSACTION_ID.
	TransactionID() int64
	// NestLevel is @@NESTLEVEL.
	NestLevel() int
	// ProcID is the object id of the running module, 0 in a batch.
	ProcID() int32
	// FetchStatus is @@FETCH_STATUS, CursorRows @@CURSOR_ROWS.
	FetchStatus() int
	CursorRows() int
	// CursorStatus is CURSOR_STATUS of a cursor by scope ("local", "global", "variable") and name.
	CursorStatus(scope, name string) int
	// Options is the bit mask of @@OPTIONS.
	Options() int
	// Option is the value of a SET option that has a number: "LOCK_TIMEOUT" (ms, -1 for ever),
	// "TEXTSIZE", "DATEFIRST" (1 to 7).
	Option(name string) int
	// Locale is the language and the date order of the session.
	Locale() types.Locale
	// SessionContext is the value of a key as a sql_variant; nil for none.
	SessionContext(key string) types.Value
	// ContextInfo is the bytes of SET CONTEXT_INFO; nil for none.
	ContextInfo() []byte
	// ApplockMode is the mode in which principal's lock on a resource is held ("NoLock" for none); owner is
	// "Session" or "Transaction".
	ApplockMode(principal, resource, owner string) string
	// ApplockTest reports whether the lock could be had at once.
	ApplockTest(principal, resource, mode, owner string) bool
}

// Caught is the error of a CATCH block.
type Caught struct {
	Number    int32
	Severity  uint8
	State     uint8
	Line      int32
	Procedure string // empty in a batch
	Message   string
}

// Object is an object of a database as the metadata functions see it.
type Object struct {
	ID       int32
	Name     string
	Schema   string
	SchemaID int32
	Kind     string // sys.objects.type without blanks: U, V, P, FN, IF, TF, PK, UQ, F, C, D, SO, SN, TT, TR, S
	Parent   int32  // object id of the table of a constraint or trigger, else 0
}

// Column is a column of a table or view, or a parameter of a module, as the metadata functions see it.
type Column struct {
	ID            int32
	Name          string
	Type          types.Type
	Nullable      bool
	Identity      bool
	Computed      bool
	Default       bool
	Output        bool // parameter declared OUTPUT
	RowGUID       bool
	Sparse        bool
	Deterministic bool // of a computed column: SQLite may keep it
}

// KeyColumn is a key column of an index.
type KeyColumn struct {
	ID         int32
	Name       string
	Descending bool
}

// File is a file of a database.
type File struct {
	ID       int
	Name     string
	Log      bool
	ReadOnly bool
	Pages    int64 // of 8 KB
}

// Objects resolves names and ids. Database ids that are 0 mean the current database.
type Objects interface {
	// Database is the id and name of a database by name ("" for the current one) or id; ok is false
	// for none.
	DatabaseByName(name string) (id int, ok bool)
	DatabaseByID(id int) (name string, ok bool)
	// DatabaseProperty is one of DATABASEPROPERTYEX; ok is false for an unknown property or database.
	DatabaseProperty(database, property string) (v types.Value, t types.Type, ok bool)
	// ObjectByName finds an object by its name of one to three parts; the empty schema is the
	// user's default one.
	ObjectByName(database, schema, name string) (Object, bool)
	ObjectByID(database int, id int32) (Object, bool)
	// ObjectDefinition is the text of a module, ok is false where there is none.
	ObjectDefinition(id int32) (string, bool)
	// Columns lists the columns of a table or view, or the parameters of a module (id from 1), in order.
	Columns(database int, id int32) []Column
	// IndexProperty is one of INDEXPROPERTY's by index and property name; nil for none.
	IndexProperty(object int32, index, property string) types.Value
	// IndexColumn is a key column of an index, both from 1; ok is false for none.
	IndexColumn(object int32, index, column int) (k KeyColumn, ok bool)
	// Files are the files of the current database, the data file first.
	Files() []File
	// ObjectFlag answers the properties of OBJECTPROPERTY that need the definition, such as
	// TableHasIdentity or ExecIsQuotedIdentOn.
	ObjectFlag(id int32, property string) (v int, ok bool)
	// SchemaByName and SchemaByID; "" is the user's default schema.
	SchemaByName(name string) (id int32, ok bool)
	SchemaByID(id int32) (name string, ok bool)
	// TypeByName finds a type by its name, qualified or not: its user type id and, for an alias
	// type, what it stands for.
	TypeByName(schema, name string) (id int32, t types.Type, ok bool)
	// TypeAllowsNull reports whether an alias type is NULL.
	TypeAllowsNull(id int32) bool
	// TypeByID is the inverse; system types are answered without asking.
	TypeByID(id int32) (name string, ok bool)
	// IdentCurrent is the last identity value of a table in any session, a decimal(38,0), with its
	// seed and increment; ok is false for a table without one.
	IdentCurrent(schema, table string) (last, seed, increment types.Value, ok bool)
	// DefaultSchema is the user's default schema.
	DefaultSchema() string
}

// Security answers for principals and permissions.
type Security interface {
	// UserByName and UserByID find database principals; "" and 0 are the current one.
	UserByName(name string) (id int32, ok bool)
	UserByID(id int32) (name string, ok bool)
	// LoginByName and LoginByID find server principals; "" and 0 are the current one.
	LoginByName(name string) (id int32, sid []byte, ok bool)
	LoginByID(id int32) (name string, ok bool)
	LoginBySID(sid []byte) (name string, ok bool)
	// LoginProperty is one of LOGINPROPERTY; ok is false for an unknown login or property.
	LoginProperty(login, property string) (v types.Value, t types.Type, ok bool)
	// IsRoleMember and IsServerRoleMember report membership; principal "" is the current one. known
	// is false for an unknown role or principal.
	IsRoleMember(role, principal string) (is, known bool)
	IsServerRoleMember(role, login string) (is, known bool)
	// HasPermission is HAS_PERMS_BY_NAME: securable "" is the current database or the server; known is false
	// for an unknown name, class or permission.
	HasPermission(securable, class, permission, column string) (has, known bool)
	// HasDatabaseAccess reports whether the login may use a database; known is false for an unknown one.
	HasDatabaseAccess(database string) (has, known bool)
}

// localEnv is what a pure function sees of a session that is not in us_english.
type localEnv struct {
	Env
	locale types.Locale
}

// Locale implements [State].
func (e localEnv) Locale() types.Locale { return e.locale }

// InLocale is the environment of pure functions in a locale; they ask it for nothing else.
func InLocale(l types.Locale) Env { return localEnv{locale: l} }

// localeOf is the locale of an environment, which pure functions need not have.
func localeOf(env Env) types.Locale {
	if env == nil {
		return types.Locale{}
	}
	return env.Locale()
}

// convertIn converts an argument as an assignment does in the session's locale.
func convertIn(env Env, v types.Value, from, to types.Type) (types.Value, error) {
	return types.ConvertIn(v, from, to, types.NoStyle, localeOf(env))
}
