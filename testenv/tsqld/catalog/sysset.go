package catalog

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
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
	Memo     Memo
}

// Env is what system tables are computed from.
type Env struct {
	Snapshot  *Snapshot
	Database  *Database // whose view is read; the session's own version of it
	Principal int       // of the session in Database, for the visibility of metadata
	SeeAll    bool      // the session is a sysadmin
	Login     *Login    // of the session
	Conn      *store.Conn
	Sessions  []Session // all of the instance; the session's own is first
	Locks     []LockInfo
	Temporary []TempTable // of the session, when Database is tempdb with them
}

// Session is a client session as sys.dm_exec_sessions, _requests and _connections show it. Times are
// datetime values.
type Session struct {
	ID               int
	LoginTime        int64
	Host             string
	Program          string
	Login            string
	OriginalLogin    string
	SID              []byte
	Status           string // running, sleeping
	DatabaseID       int
	OpenTransactions int
	Isolation        int // 1 to 5
	LockTimeout      int64
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
	Elapsed       int64 // milliseconds
	TransactionID int64
}

// LockInfo is a lock as sys.dm_tran_locks shows it.
type LockInfo struct {
	DatabaseID  int
	Application string // name of an application lock, "" for a database's writer lock
	Principal   int
	Mode        string // S, X...
	Waiting     bool
	SessionID   int
	Owner       string // SESSION or TRANSACTION
}

// row is a row of a system table by column name; what is missing is NULL, or zero in a column that is not nullable.
type row map[string]types.Value

// viewFiles holds the system views in T-SQL.
//
//go:embed sysviews/*.sql
var viewFiles embed.FS

// system is the registry of system tables and views by "schema.name", folded.
type system struct {
	tables map[string]*SystemTable
	views  map[string]*SystemView
	names  []string // in order of object ids -1, -2...
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

// loadSystem collects all system tables and views.
func loadSystem() *system {
	s := &system{tables: map[string]*SystemTable{}, views: map[string]*SystemView{}}
	for _, sets := range [][]declaration{serverSets(), objectSets(), tableSets(), indexSets(), securitySets()} {
		for _, d := range sets {
			t := d.table()
			s.tables[Fold(t.Schema+"."+t.Name)] = t
			s.names = append(s.names, Fold(t.Schema+"."+t.Name))
		}
	}
	_ = fs.WalkDir(viewFiles, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		full := strings.TrimSuffix(entry.Name(), ".sql")
		schema, name, _ := strings.Cut(full, ".")
		text, err := viewFiles.ReadFile(path)
		s.views[Fold(full)] = &SystemView{Schema: schema, Name: name, Text: string(text)}
		s.names = append(s.names, Fold(full))
		return err
	})
	slices.Sort(s.names)
	for i, name := range s.names {
		id := -int32(i) - 1
		if t := s.tables[name]; t != nil {
			t.ObjectID = id
		} else {
			s.views[name].ObjectID = id
		}
	}
	return s
}

// FindSystemTable finds a system table by schema and name; nil if there is none.
func FindSystemTable(schema, name string) *SystemTable {
	return registry().tables[Fold(schema+"."+name)]
}

// FindSystemView finds a system view that is written in T-SQL; nil if there is none.
func FindSystemView(schema, name string) *SystemView {
	return registry().views[Fold(schema+"."+name)]
}

// SystemObjectID is the object id of a system table or view; 0 if there is none of that name.
func SystemObjectID(schema, name string) int32 {
	if t := FindSystemTable(schema, name); t != nil {
		return t.ObjectID
	}
	if v := FindSystemView(schema, name); v != nil {
		return v.ObjectID
	}
	return 0
}

// SystemObjectName is the opposite of SystemObjectID; ok is false if there is none.
func SystemObjectName(id int32) (schema, name string, ok bool) {
	names := registry().names
	if id >= 0 || int(-id) > len(names) {
		return "", "", false
	}
	full := names[-id-1]
	if t := registry().tables[full]; t != nil {
		return t.Schema, t.Name, true
	}
	v := registry().views[full]
	return v.Schema, v.Name, true
}

// SystemNames yields the folded schema.name of all system tables and views, in order.
func SystemNames() []string { return slices.Clone(registry().names) }

// declaration is a system table as the files of this package write it down.
type declaration struct {
	name    string // schema.name
	columns string // "name type, ...": a type followed by '?' is nullable
	live    bool
	rows    func(ctx context.Context, env *Env) ([]row, error)
}

// table parses a declaration. A mistake in one shows in every test, so it panics.
func (d declaration) table() *SystemTable {
	schema, name, _ := strings.Cut(d.name, ".")
	t := &SystemTable{Schema: schema, Name: name, live: d.live, rows: d.rows}
	depth, start := 0, 0
	text := d.columns + ","
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
