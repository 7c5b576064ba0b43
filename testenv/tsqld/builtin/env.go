package builtin

import "github.com/jobagent/jobagent/testenv/tsqld/types"

// Env gives functions access to the session. The interpreter implements it. Its methods are never
// called concurrently for the same session.
type Env interface {
	Clock
	Connection
	State
	Objects
	Security
}

// The parts of a session that functions get.
func ofClock(e Env) Clock           { return e }
func ofConnection(e Env) Connection { return e }
func ofState(e Env) State           { return e }
func ofObjects(e Env) Objects       { return e }
func ofSecurity(e Env) Security     { return e }
func ofNothing(Env) struct{}        { return struct{}{} }

// Clock is the statement's clock. All calls within one statement must return the same instant.
type Clock interface {
	// Now returns the statement's time, UTC, in ticks of 100 ns since 0001-01-01.
	Now() int64
	// LocalOffset returns the server's offset from UTC in minutes, usually 0.
	LocalOffset() int
	// Random returns a number in [0,1) from the session's generator; a non-nil seed restarts the
	// generator.
	Random(seed *int64) float64
}

// Connection describes the connection and its login.
type Connection interface {
	SPID() int
	HostName() string
	AppName() string
	// OriginalDatabase returns the name of the database that the client has named at login, or that
	// the login has by default.
	OriginalDatabase() string
	// HostProcess returns the id of the client's process, 0 if the client has sent none.
	HostProcess() int64
	// Login returns the current login of the session (after EXECUTE AS).
	Login() string
	// OriginalLogin returns the login of the connection.
	OriginalLogin() string
	// ServerName returns the name of the instance.
	ServerName() string
	// ServerProperty returns a property of SERVERPROPERTY by its name in any case; ok is false for
	// an unknown one.
	ServerProperty(name string) (v types.Value, t types.Type, ok bool)
	// ConnectionProperty returns a property of CONNECTIONPROPERTY.
	ConnectionProperty(name string) (v types.Value, t types.Type, ok bool)
}

// State is the state of the session.
type State interface {
	// RowCount returns @@ROWCOUNT.
	RowCount() int64
	// LastError returns @@ERROR, the number of the last statement's error, 0 after success.
	LastError() int32
	// Caught returns the error of the innermost CATCH block; nil outside of CATCH blocks.
	Caught() *Caught
	// Identity returns the last identity value of the session (scope false) or of the current
	// scope, a decimal(38,0); nil for none.
	Identity(scope bool) types.Value
	// TranCount returns @@TRANCOUNT.
	TranCount() int
	// XactState returns 1, 0 or -1 (uncommittable).
	XactState() int
	// TransactionID returns CURRENT_TRANSACTION_ID.
	TransactionID() int64
	// NestLevel returns @@NESTLEVEL.
	NestLevel() int
	// ProcID returns the object id of the running module, 0 in a batch.
	ProcID() int32
	// TriggerNestLevel returns TRIGGER_NESTLEVEL: the number of running triggers. object, if not 0,
	// is the object id of the trigger to count; instead is set to count INSTEAD OF triggers only,
	// and after for AFTER triggers only.
	TriggerNestLevel(object int32, instead, after bool) int
	// ColumnsUpdated returns COLUMNS_UPDATED; ok is false outside a trigger.
	ColumnsUpdated() (bits []byte, ok bool)
	// FetchStatus returns @@FETCH_STATUS, and CursorRows @@CURSOR_ROWS.
	FetchStatus() int
	CursorRows() int
	// CursorStatus returns CURSOR_STATUS of a cursor by scope ("local", "global", "variable") and
	// name.
	CursorStatus(scope, name string) int
	// LastRowVersion returns @@DBTS: the rowversion that the current database has used last.
	LastRowVersion() ([]byte, error)
	// Options returns the bit mask of @@OPTIONS.
	Options() int
	// Option returns the value of a numeric SET option: "LOCK_TIMEOUT" (ms, -1 for no limit),
	// "TEXTSIZE", "DATEFIRST" (1 to 7).
	Option(name string) int
	// Locale returns the language and the date order of the session.
	Locale() types.Locale
	// SessionContext returns the value of a key as a sql_variant; nil for none.
	SessionContext(key string) types.Value
	// ContextInfo returns the bytes of SET CONTEXT_INFO; nil for none.
	ContextInfo() []byte
	// ApplockMode returns the mode of principal's lock on a resource ("NoLock" for none); owner is
	// "Session" or "Transaction".
	ApplockMode(principal, resource, owner string) string
	// ApplockTest reports whether the lock could be acquired at once.
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

// Object is an object of a database, for the metadata functions.
type Object struct {
	ID       int32
	Name     string
	Schema   string
	SchemaID int32
	Kind     string // sys.objects.type without blanks: U, V, P, FN, IF, TF, PK, UQ, F, C, D, SO, SN, TT, TR, S
}

// Column is a column of a table or view, or a parameter of a module, for the metadata functions.
type Column struct {
	ID            int32
	Name          string
	Type          types.Type
	Nullable      bool
	Identity      bool
	Computed      bool
	Output        bool // parameter declared OUTPUT
	RowGUID       bool
	Sparse        bool
	Deterministic bool // of a computed column: its value may be stored
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

// Objects resolves names and ids. A database id of 0 is the current database.
type Objects interface {
	// DatabaseByName returns the id of a database, "" for the current one, and DatabaseByID its
	// name; ok is false for an unknown database.
	DatabaseByName(name string) (id int, ok bool)
	DatabaseByID(id int) (name string, ok bool)
	// DatabaseProperty returns a property of DATABASEPROPERTYEX; ok is false for an unknown
	// property or database.
	DatabaseProperty(database, property string) (v types.Value, t types.Type, ok bool)
	// ObjectByName finds an object by its name of one to three parts. The empty schema is the
	// user's default schema.
	ObjectByName(database, schema, name string) (Object, bool)
	ObjectByID(database int, id int32) (Object, bool)
	// ObjectDefinition returns the text of a module; ok is false if there is none.
	ObjectDefinition(id int32) (string, bool)
	// Columns returns the columns of a table or view, or the parameters of a module (id from 1), in
	// order.
	Columns(database int, id int32) []Column
	// IndexProperty returns a property of INDEXPROPERTY by index and property name; nil for none.
	IndexProperty(object int32, index, property string) types.Value
	// IndexColumn returns a key column of an index, both from 1; ok is false if there is none.
	IndexColumn(object int32, index, column int) (k KeyColumn, ok bool)
	// Files returns the files of the current database, the data file first.
	Files() []File
	// ObjectFlag returns a property of OBJECTPROPERTY that depends on the definition, such as
	// TableHasIdentity or ExecIsQuotedIdentOn.
	ObjectFlag(id int32, property string) (v int, ok bool)
	// SchemaByName and SchemaByID find a schema; "" is the user's default schema.
	SchemaByName(name string) (id int32, ok bool)
	SchemaByID(id int32) (name string, ok bool)
	// TypeByName finds a type by its name, with or without a schema: its user type id and, for an
	// alias type, the base type.
	TypeByName(schema, name string) (id int32, t types.Type, ok bool)
	// TypeAllowsNull reports whether an alias type is NULL.
	TypeAllowsNull(id int32) bool
	// TypeByID is the inverse of TypeByName. It is not called for system types.
	TypeByID(id int32) (name string, ok bool)
	// IdentCurrent returns the last identity value of a table in any session, a decimal(38,0), with
	// its seed and increment; ok is false for a table without an identity column.
	IdentCurrent(schema, table string) (last, seed, increment types.Value, ok bool)
	// DefaultSchema returns the user's default schema.
	DefaultSchema() string
}

// Security finds principals and checks permissions.
type Security interface {
	// UserByName and UserByID find database principals; "" and 0 are the current one.
	UserByName(name string) (id int32, ok bool)
	UserByID(id int32) (name string, ok bool)
	// LoginByName and LoginByID find server principals; "" and 0 are the current one.
	LoginByName(name string) (id int32, sid []byte, ok bool)
	LoginByID(id int32) (name string, ok bool)
	LoginBySID(sid []byte) (name string, ok bool)
	// LoginProperty returns a property of LOGINPROPERTY; ok is false for an unknown login or
	// property.
	LoginProperty(login, property string) (v types.Value, t types.Type, ok bool)
	// IsRoleMember and IsServerRoleMember report membership; principal "" is the current one. known
	// is false for an unknown role or principal.
	IsRoleMember(role, principal string) (is, known bool)
	IsServerRoleMember(role, login string) (is, known bool)
	// HasPermission implements HAS_PERMS_BY_NAME: securable "" is the current database or the
	// server. known is false for an unknown name, class or permission.
	HasPermission(securable, class, permission, column string) (has, known bool)
	// HasDatabaseAccess reports whether the login may use a database; known is false for an unknown
	// one.
	HasDatabaseAccess(database string) (has, known bool)
}

// localEnv is the Env of pure functions in a session with another language than us_english.
type localEnv struct {
	Env
	locale types.Locale
}

// Locale implements [State].
func (e localEnv) Locale() types.Locale { return e.locale }

// InLocale returns the Env of pure functions in a locale. Only its method Locale may be called.
func InLocale(l types.Locale) Env { return localEnv{locale: l} }

// localeOf returns the locale of an environment, the default for a nil one.
func localeOf(env Env) types.Locale {
	if env == nil {
		return types.Locale{}
	}
	return env.Locale()
}

// convertIn converts an argument with the rules of an assignment, in the session's locale.
func convertIn(env Env, v types.Value, from, to types.Type) (types.Value, error) {
	return types.ConvertIn(v, from, to, types.NoStyle, localeOf(env))
}
