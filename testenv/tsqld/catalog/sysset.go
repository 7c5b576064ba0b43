package catalog

import (
	"context"
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// SystemTable is a system view whose rows the server computes from snapshots and running sessions.
// Before a query that reads it, [SystemTable.Materialize] puts the rows into a temporary table.
type SystemTable struct {
	ObjectID int32 // negative
	Schema   string
	Name     string
	Columns  []types.Column
	live     bool // depends on more than definitions: its rows are computed anew for each statement
	rows     func(ctx context.Context, env *Env) ([]row, error)
}

// SystemView is a system view written in T-SQL over system tables and other system views.
type SystemView struct {
	ObjectID int32 // negative
	Schema   string
	Name     string
	Text     string // CREATE VIEW
	Memo     Memo   // its parsed form
	Shape    Memo   // its columns
}

// Env is what system tables are computed from.
type Env struct {
	Server    string // name of the instance
	Started   int64  // when the instance started, a datetime
	Snapshot  *Snapshot
	Database  *Database // whose view is read; the session's own version of it
	Principal int       // of the session in Database, for the visibility of metadata
	SeeAll    bool      // the session is a sysadmin
	// SeeSessions: the session has VIEW SERVER STATE, or since SQL Server 2022 VIEW SERVER PERFORMANCE STATE.
	SeeSessions bool
	Login       *Login // of the session
	Conn        *store.Conn
	Sessions    []SessionRow // all of the instance; the session's own is first
	Locks       []LockInfo
	Settings    map[int64]Setting // options that differ from their defaults, by configuration_id
	Temporary   []TempTable       // of the session, when Database is tempdb with them
	// Path is the file of a database.
	Path func(database int) string
	// Shape yields the columns of a system view, which the compiler knows.
	Shape func(v *SystemView) ([]types.Column, error)
}

// SessionRow is a client session as sys.dm_exec_sessions, _requests and _connections show it. Times are
// datetime values.
type SessionRow struct {
	ID               int
	LoginTime        int64
	Host             string
	Program          string
	Library          string // client library's name
	PID              int    // of the client's process
	Version          int64  // of TDS
	Login            string
	OriginalLogin    string
	SID              []byte
	Status           string // running, sleeping
	DatabaseID       int
	OpenTransactions int
	Options          SessionOptions
	RowCount         int64
	LastRequestStart int64
	LastRequestEnd   int64 // 0 while a request runs
	Address          string
	PacketSize       int
	Encrypted        bool
	ConnectionID     []byte // stored form of a uniqueidentifier
	// Of the running request; Command is "" when there is none.
	Command       string // SELECT, EXECUTE...
	BlockedBy     int
	WaitType      string
	WaitTime      int64 // milliseconds
	WaitResource  string
	Elapsed       int64  // milliseconds
	Text          string // of the running batch, or of sp_executesql
	TransactionID int64
	// TransactionName and TransactionStart, a datetime, are those of the open transaction.
	TransactionName  string
	TransactionStart int64
}

// SessionOptions are the SET options of a session that the views show.
type SessionOptions struct {
	Isolation        int // 1 to 5
	LockTimeout      int64
	DeadlockPriority int
	TextSize         int64
	DateFirst        int
	Language         string
	DateFormat       string
	ContextInfo      []byte // nil if none was set
	QuotedIdentifier bool
	ArithAbort       bool
	AnsiNullDefault  bool
	AnsiWarnings     bool
	AnsiPadding      bool
	AnsiNulls        bool
	ConcatNull       bool
	CursorClose      bool // CURSOR_CLOSE_ON_COMMIT
	Implicit         bool // IMPLICIT_TRANSACTIONS
}

// LockInfo is a lock as sys.dm_tran_locks shows it.
type LockInfo struct {
	DatabaseID  int
	App         bool   // an application lock; a database's writer lock otherwise
	Application string // name of an application lock
	Principal   int
	Mode        string // S, X...
	Waiting     bool
	SessionID   int
	Owner       string // SESSION or TRANSACTION
}

// row is a row of a system table by column name; what is missing is NULL, or zero in a column that is not nullable.
type row map[string]types.Value

// files holds the system views in T-SQL, and the list of the views that are always empty.
//
//go:embed sysviews/*.sql sysviews/absent.txt
var files embed.FS

// functionFiles holds the table-valued functions of the server in T-SQL, by their folded names.
//
//go:embed sysfuncs/*.sql
var functionFiles embed.FS

// system is the registry of system tables and views.
type system struct {
	entries map[string]*entry // by "schema.name", folded
	names   []string          // folded, in order of object ids -1, -2...
}

// entry is a system table or view, whose declaration is read when it is first used: starting a server costs the names only.
type entry struct {
	schema, name string
	id           int32
	declared     declaration // of a table; "" in name for a view
	once         sync.Once
	table        *SystemTable
	view         *SystemView
}

// isTable reports whether the rows are the server's, not those of a query.
func (e *entry) isTable() bool { return e.declared.name != "" }

// read makes the table or view of the entry.
func (e *entry) read() *entry {
	e.once.Do(func() {
		if e.isTable() {
			e.table = e.declared.table(e)
			return
		}
		text, err := files.ReadFile("sysviews/" + e.schema + "." + e.name + ".sql")
		if err != nil { // the name is that of an embedded file
			panic(err)
		}
		e.view = &SystemView{ObjectID: e.id, Schema: e.schema, Name: e.name, Text: string(text)}
	})
	return e
}

// loaded is the registry, once registry has been called.
var loaded struct {
	once   sync.Once
	system *system
}

// registry is filled on first use, from what the files of this package declare.
func registry() *system {
	loaded.once.Do(func() { loaded.system = loadSystem() })
	return loaded.system
}

// loadSystem collects the names of all system tables and views.
func loadSystem() *system {
	s := &system{entries: map[string]*entry{}}
	add := func(full string, d declaration) {
		schema, name, _ := strings.Cut(full, ".")
		s.entries[Fold(full)] = &entry{schema: schema, name: name, declared: d}
		s.names = append(s.names, Fold(full))
	}
	for _, sets := range [][]declaration{serverSets(), settingSets(), objectSets(), tableSets(), indexSets(), storageSets(), securitySets(), dependencySets(), usageSets(), spaceSets(), absentSets()} {
		for _, d := range sets {
			add(d.name, d)
		}
	}
	views, err := files.ReadDir("sysviews")
	if err != nil { // the directory is embedded
		panic(err)
	}
	for _, f := range views {
		if full, ok := strings.CutSuffix(f.Name(), ".sql"); ok {
			add(full, declaration{})
		}
	}
	slices.Sort(s.names)
	for i, name := range s.names {
		s.entries[name].id = -int32(i) - 1
	}
	return s
}

// find finds an entry by schema and name; nil if there is none.
func (s *system) find(schema, name string) *entry { return s.entries[Fold(schema+"."+name)] }

// FindSystemTable finds a system table by schema and name; nil if there is none.
func FindSystemTable(schema, name string) *SystemTable {
	if e := registry().find(schema, name); e != nil {
		return e.read().table
	}
	return nil
}

// FindSystemView finds a system view that is written in T-SQL; nil if there is none.
func FindSystemView(schema, name string) *SystemView {
	if e := registry().find(schema, name); e != nil {
		return e.read().view
	}
	return nil
}

// SystemSchema is the schema of a system table or view that a query of a database names with the given schema, which may be
// "". The compatibility views of sys, such as sysobjects, are found without a schema and in dbo as well ("Mapping system
// tables to system views"); spt_values is in dbo, and in master only.
func SystemSchema(db *Database, schema, name string) string {
	folded := Fold(name)
	switch Fold(schema) {
	case "", "dbo":
	case "sys", "information_schema":
		return schema
	default:
		return ""
	}
	switch {
	case db.ID == DatabaseMaster && registry().entries["dbo."+folded] != nil:
		return "dbo"
	case db.ID == DatabaseMSDB && registry().entries[msdbSchema+"."+folded] != nil:
		return msdbSchema
	}
	if strings.HasPrefix(folded, "sys") && registry().entries["sys."+folded] != nil {
		return "sys"
	}
	return ""
}

// msdbSchema stands for the schema dbo of msdb in the names of declarations, as dbo stands for that of master.
const msdbSchema = "msdb"

// inCatalog reports a system table or view that every database has, and lists as its own.
func (e *entry) inCatalog() bool { return e.schema != "dbo" && e.schema != msdbSchema }

// SystemObjectID is the object id of a system table or view; 0 if there is none of that name.
func SystemObjectID(schema, name string) int32 {
	if e := registry().find(schema, name); e != nil {
		return e.id
	}
	return 0
}

// SystemObjectName is the opposite of SystemObjectID; ok is false if there is none.
func SystemObjectName(id int32) (schema, name string, ok bool) {
	s := registry()
	if id >= 0 || -int64(id) > int64(len(s.names)) {
		return "", "", false
	}
	e := s.entries[s.names[-id-1]]
	return e.schema, e.name, true
}

// SystemNames yields the folded schema.name of all system tables and views, in order.
func SystemNames() []string { return slices.Clone(registry().names) }

// declaration is a system table as the files of this package write it down.
type declaration struct {
	name    string // schema.name
	columns string // "name type, ...": a type followed by '?' is nullable
	live    bool
	rows    func(ctx context.Context, env *Env) ([]row, error) // nil: the view is always empty
}

// absentSets returns the views of features that do not exist here, which are empty as on a server that does not use
// the feature. They are lines "schema.name: columns" of absent.txt.
func absentSets() []declaration {
	text, err := files.ReadFile("sysviews/absent.txt")
	if err != nil { // the file is embedded
		panic(err)
	}
	var out []declaration
	for line := range strings.Lines(string(text)) {
		name, columns, ok := strings.Cut(line, ": ")
		if ok && !strings.HasPrefix(line, "#") {
			out = append(out, declaration{name: name, columns: strings.TrimSpace(columns)})
		}
	}
	return out
}

// table parses a declaration. A mistake in one shows in the tests, which read all, so it panics.
func (d declaration) table(e *entry) *SystemTable {
	t := &SystemTable{ObjectID: e.id, Schema: e.schema, Name: e.name, live: d.live, rows: d.rows}
	depth, start := 0, 0
	text := inherited.Replace(d.columns) + ","
	for i := range len(text) {
		switch text[i] {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				t.Columns = append(t.Columns, parseColumn(strings.TrimSpace(text[start:i])))
				start = i + 1
			}
		}
	}
	return t
}

// inherited stands for the columns that many views begin with.
var inherited = strings.NewReplacer("{object}", objectColumns, "{column}", columnColumns, "{index}", indexColumns, "{type}", typeColumns)

// Empty reports whether the table never has rows.
func (t *SystemTable) Empty() bool { return t.rows == nil }

// parseColumn parses "name type" or "name type?".
func parseColumn(s string) types.Column {
	name, spec, _ := strings.Cut(s, " ")
	spec, nullable := strings.CutSuffix(spec, "?")
	base, args, _ := strings.Cut(strings.TrimSuffix(spec, ")"), "(")
	var numbers []int
	for a := range strings.SplitSeq(args, ",") {
		switch n, err := strconv.Atoi(a); {
		case a == "":
		case a == "max":
			numbers = append(numbers, types.Max)
		case err == nil:
			numbers = append(numbers, n)
		}
	}
	t, err := types.Named(base, numbers...)
	if err != nil {
		panic(fmt.Sprintf("catalog: column %q of a system table: %v", s, err))
	}
	return types.Column{Name: name, Type: t, Nullable: nullable}
}

// bit is a bool as T-SQL has it.
func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// orNull is NULL for the zero value.
func orNull[T comparable](v T) types.Value {
	var zero T
	if v == zero {
		return nil
	}
	switch x := any(v).(type) {
	case int:
		return int64(x)
	case int32:
		return int64(x)
	}
	return v
}

// materialized is what a connection remembers of a filled temporary table.
type materialized struct {
	database, principal      int
	version, instanceVersion int64
	all                      bool
}

// Materialize makes the temporary table temp.<name> hold the rows of t as env sees them. The table is made once
// per connection, with SQLite columns c1, c2... in the order of Columns; it is filled again only if
// something that the rows depend on has changed.
func (t *SystemTable) Materialize(ctx context.Context, env *Env, name string) error {
	c := env.Conn
	if err := c.EnsureTemp(ctx, name, t.createSQL(name)); err != nil {
		return err
	}
	key := "system:" + name
	want := materialized{env.Database.ID, env.Principal, env.Database.Version, env.Snapshot.Version, env.SeeAll}
	if !t.live && c.Recall(key) == want {
		return nil
	}
	if t.Empty() {
		return nil
	}
	rows, err := t.rows(ctx, env)
	if err != nil {
		return err
	}
	c.Remember(key, nil)
	if _, err := c.Exec(ctx, "DELETE FROM temp."+store.Quote(name), nil); err != nil {
		return err
	}
	insert := t.insertSQL(name)
	for _, r := range rows {
		vals, err := t.values(r)
		if err != nil {
			return err
		}
		if _, err := c.Exec(ctx, insert, vals); err != nil {
			return err
		}
	}
	c.Remember(key, want)
	return nil
}

// createSQL is the statement that makes the temporary table.
func (t *SystemTable) createSQL(name string) string {
	parts := make([]string, len(t.Columns))
	for i, col := range t.Columns {
		parts[i] = fmt.Sprintf("c%d %s", i+1, col.Type.Storage())
		if n := col.Type.CollationName(); n != "" {
			parts[i] += " COLLATE " + n
		}
	}
	return fmt.Sprintf("CREATE TEMP TABLE IF NOT EXISTS %s(%s) STRICT", store.Quote(name), strings.Join(parts, ", "))
}

// insertSQL is the statement that adds a row.
func (t *SystemTable) insertSQL(name string) string {
	marks := make([]string, len(t.Columns))
	for i := range marks {
		marks[i] = fmt.Sprintf("?%d", i+1)
	}
	return fmt.Sprintf("INSERT INTO temp.%s VALUES (%s)", store.Quote(name), strings.Join(marks, ", "))
}

// values brings a row into the order of the columns.
func (t *SystemTable) values(r row) ([]types.Value, error) {
	vals := make([]types.Value, len(t.Columns))
	used := 0
	for i, col := range t.Columns {
		v, ok := r[col.Name]
		if ok {
			used++
		}
		if v == nil && !col.Nullable {
			v = zero(col.Type)
		}
		if s, ok := v.(string); ok && col.Type.ID == types.Char {
			v = types.Pad(s, col.Type.Length)
		}
		vals[i] = v
	}
	if used != len(r) {
		return nil, fmt.Errorf("catalog: a row of %s.%s has columns that the view has not: %v", t.Schema, t.Name, r)
	}
	return vals, nil
}

// zero is the value of a column that says nothing here, such as is_published.
func zero(t types.Type) types.Value {
	switch t.Storage() {
	case "TEXT":
		return ""
	case "BLOB":
		return []byte{}
	case "REAL":
		return 0.0
	}
	return int64(0)
}
