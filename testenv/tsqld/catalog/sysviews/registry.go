package sysviews

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// SystemTable is a system view whose rows the server computes from snapshots and sessions. Before a
// query reads it, [SystemTable.Materialize] writes the rows to a temporary table.
type SystemTable struct {
	ObjectID int32 // negative
	Schema   string
	Name     string
	Columns  []types.Column
	values   map[string]types.Value // values of columns in rows that have none
	live     bool                   // rows depend on more than definitions and are computed for each statement
	rows     func(ctx context.Context, env *Env) ([]row, error)
}

// SystemView is a system view written in T-SQL over system tables and other system views.
type SystemView struct {
	ObjectID int32 // negative
	Schema   string
	Name     string
	Text     string       // CREATE VIEW
	Memo     catalog.Memo // parsed form
	Shape    catalog.Memo // columns
}

// row is a row of a system table by column name. A missing value is that of columns.txt, otherwise
// NULL, or zero in a column that is not nullable.
type row map[string]types.Value

// viewFiles contains the system views in T-SQL, and the columns of the system tables: of those that
// this package computes (columns.txt), and of those that are always empty (absent.txt).
//
//go:embed *.sql columns.txt absent.txt
var viewFiles embed.FS

// functionFiles contains the table-valued system functions in T-SQL by folded name.
//
//go:embed sysfuncs/*.sql
var functionFiles embed.FS

// system is the registry of system tables and views.
type system struct {
	entries map[string]*entry // by "schema.name", folded
	names   []string          // folded, in order of object ids -1, -2...
}

// entry is a system table or view. Its declaration is parsed on first use, so that a server starts
// fast.
type entry struct {
	schema, name string
	id           int32
	declared     declaration // declaration of a table; its name is "" for a view
	once         sync.Once
	table        *SystemTable
	view         *SystemView
}

// isTable reports whether the server computes the rows itself, without a query.
func (e *entry) isTable() bool { return e.declared.name != "" }

// read parses the declaration of the entry once.
func (e *entry) read() *entry {
	e.once.Do(func() {
		if e.isTable() {
			e.table = e.declared.table(e)
			return
		}
		text, err := viewFiles.ReadFile(e.schema + "." + e.name + ".sql")
		if err != nil { // cannot fail: the file is embedded
			panic(err)
		}
		e.view = &SystemView{ObjectID: e.id, Schema: e.schema, Name: e.name, Text: string(text)}
	})
	return e
}

// loaded holds the registry after the first call of registry.
var loaded struct {
	once   sync.Once
	system *system
}

// registry returns the registry. The first call fills it from the declarations in this package.
func registry() *system {
	loaded.once.Do(func() { loaded.system = loadSystem() })
	return loaded.system
}

// loadSystem collects the names of all system tables and views.
func loadSystem() *system {
	s := &system{entries: map[string]*entry{}}
	add := func(full string, d declaration) {
		schema, name, _ := strings.Cut(full, ".")
		s.entries[catalog.Fold(full)] = &entry{schema: schema, name: name, declared: d}
		s.names = append(s.names, catalog.Fold(full))
	}
	columns, absent := readColumns("columns.txt"), readColumns("absent.txt")
	var pairs []string
	for name, list := range columns {
		if strings.HasPrefix(name, "{") {
			pairs = append(pairs, name, list)
		}
	}
	inherited := strings.NewReplacer(pairs...)
	for _, sets := range [][]declaration{
		serverSets(), settingSets(), objectSets(), tableSets(), indexSets(), storageSets(), securitySets(),
		dependencySets(), usageSets(), spaceSets(),
	} {
		for _, d := range sets {
			d.columns = inherited.Replace(columns[d.name])
			add(d.name, d)
		}
	}
	for name, list := range absent {
		add(name, declaration{name: name, columns: inherited.Replace(list)})
	}
	views, err := viewFiles.ReadDir(".")
	if err != nil { // cannot fail: the directory is embedded
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

// find returns the entry with a schema and a name, or nil.
func (s *system) find(schema, name string) *entry { return s.entries[catalog.Fold(schema+"."+name)] }

// FindSystemTable returns the system table with a schema and a name, or nil.
func FindSystemTable(schema, name string) *SystemTable {
	if e := registry().find(schema, name); e != nil {
		return e.read().table
	}
	return nil
}

// FindSystemView returns the system view in T-SQL with a schema and a name, or nil.
func FindSystemView(schema, name string) *SystemView {
	if e := registry().find(schema, name); e != nil {
		return e.read().view
	}
	return nil
}

// SystemSchema returns the schema of the system table or view to which a name in a query refers, or
// "". schema is the schema in the query and may be "". The compatibility views of sys, such as
// sysobjects, can be named without a schema and with dbo as well ("Mapping system tables to system
// views"). spt_values exists only in dbo of master.
func SystemSchema(db *catalog.Database, schema, name string) string {
	folded := catalog.Fold(name)
	switch catalog.Fold(schema) {
	case "", "dbo":
	case "sys", "information_schema":
		return schema
	default:
		return ""
	}
	switch {
	case db.ID == catalog.DatabaseMaster && registry().entries["dbo."+folded] != nil:
		return "dbo"
	case db.ID == catalog.DatabaseMSDB && registry().entries[msdbSchema+"."+folded] != nil:
		return msdbSchema
	}
	if strings.HasPrefix(folded, "sys") && registry().entries["sys."+folded] != nil {
		return "sys"
	}
	return ""
}

// msdbSchema is the schema of objects in msdb.dbo in declarations. Declarations with the schema dbo
// are objects of master.
const msdbSchema = "msdb"

// inCatalog reports whether every database has the system table or view and lists it as its own.
func (e *entry) inCatalog() bool { return e.schema != "dbo" && e.schema != msdbSchema }

// SystemObjectID returns the object ID of a system table or view, or 0.
func SystemObjectID(schema, name string) int32 {
	if e := registry().find(schema, name); e != nil {
		return e.id
	}
	return 0
}

// SystemObjectName returns the schema and name of the system table or view with an object ID.
func SystemObjectName(id int32) (schema, name string, ok bool) {
	s := registry()
	if id >= 0 || -int64(id) > int64(len(s.names)) {
		return "", "", false
	}
	e := s.entries[s.names[-id-1]]
	return e.schema, e.name, true
}

// SystemNames returns the folded schema.name of all system tables and views, in order. Tests of
// other packages use it.
func SystemNames() []string { return slices.Clone(registry().names) }

// SystemFunction returns the text of a table-valued system function, which is written in T-SQL over
// the system views.
func SystemFunction(name string) (text string, ok bool) {
	b, err := functionFiles.ReadFile("sysfuncs/" + strings.ToLower(name) + ".sql")
	return string(b), err == nil
}

// declaration is the source form of a system table in this package.
type declaration struct {
	name    string // schema.name
	columns string // as in columns.txt
	live    bool
	rows    func(ctx context.Context, env *Env) ([]row, error) // nil if the view is always empty
}

// adding makes declaration.rows of a function that adds rows and cannot fail.
func adding(rows func(env *Env, add func(row))) func(context.Context, *Env) ([]row, error) {
	return func(_ context.Context, env *Env) ([]row, error) {
		var out []row
		rows(env, func(r row) { out = append(out, r) })
		return out, nil
	}
}

// readColumns reads columns.txt or absent.txt, whose lines are "schema.name: columns".
func readColumns(file string) map[string]string {
	text, err := viewFiles.ReadFile(file)
	if err != nil { // cannot fail: the file is embedded
		panic(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, columns, ok := strings.Cut(line, ": ")
		if ok && !strings.HasPrefix(line, "#") {
			out[name] = strings.TrimSpace(columns)
		}
	}
	return out
}

// table parses a declaration. It panics on an invalid one; the tests parse all of them.
func (d declaration) table(e *entry) *SystemTable {
	t := &SystemTable{ObjectID: e.id, Schema: e.schema, Name: e.name, values: map[string]types.Value{}, live: d.live, rows: d.rows}
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
				t.addColumn(strings.TrimSpace(text[start:i]))
				start = i + 1
			}
		}
	}
	return t
}

// Empty reports whether the table never has rows.
func (t *SystemTable) Empty() bool { return t.rows == nil }

// addColumn adds the column of "name type", "name type?", or one of these and "=value".
func (t *SystemTable) addColumn(s string) {
	name, spec, _ := strings.Cut(s, " ")
	spec, value, ok := strings.Cut(spec, "=")
	if n, err := strconv.ParseInt(value, 10, 64); err == nil {
		t.values[name] = n
	} else if ok {
		t.values[name] = value
	}
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
	typ, err := types.Named(base, numbers...)
	if err != nil {
		panic(fmt.Sprintf("sysviews: column %q of a system table: %v", s, err))
	}
	t.Columns = append(t.Columns, types.Column{Name: name, Type: typ, Nullable: nullable})
}

// bit is the short name of [types.BitOf] in the rows of the views.
func bit(b bool) int64 { return types.BitOf(b) }

// orNull returns NULL for the zero value.
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

// materialized is the state on which the rows of a filled temporary table depend. The connection
// remembers it.
type materialized struct {
	database, principal      int
	version, instanceVersion int64
	all, logins              bool
	login                    int // ID of the session's login; 0 without one
}

// Materialize fills the temporary table temp.<name> with the rows of t for env. The table is
// created once for a connection, with SQLite columns c1, c2... in the order of Columns. It is
// filled again only if the state on which the rows depend has changed.
func (t *SystemTable) Materialize(ctx context.Context, env *Env, name string) error {
	c := env.Conn
	if err := c.Temps.Ensure(ctx, name, t.createSQL(name)); err != nil {
		return err
	}
	key := "system:" + name
	want := materialized{env.Database.ID, env.Principal, env.Database.Version, env.Snapshot.Version, env.SeeAll,
		env.SeeLogins, 0}
	if env.Login != nil {
		want.login = env.Login.ID
	}
	if !t.live && c.Temps.Recall(key) == want {
		return nil
	}
	if t.Empty() {
		return nil
	}
	rows, err := t.rows(ctx, env)
	if err != nil {
		return err
	}
	c.Temps.Remember(key, nil)
	if err := t.fill(ctx, c, name, rows); err != nil {
		return err
	}
	c.Temps.Remember(key, want)
	return nil
}

// fill replaces the rows of the temporary table. Outside of a transaction it begins one, because
// each commit costs as much as there are pages of temporary tables.
func (t *SystemTable) fill(ctx context.Context, c *store.Conn, name string, rows []row) (err error) {
	if !c.InTransaction() {
		// A savepoint outside of a transaction is one, for this connection's temporary tables only.
		if _, err := c.Exec(ctx, "SAVEPOINT fill", nil); err != nil {
			return err
		}
		defer func() {
			if err != nil {
				err = errors.Join(err, c.RollbackTo("fill"))
			}
			err = errors.Join(err, c.ReleaseSavepoint("fill"))
		}()
	}
	if _, err := c.Exec(ctx, "DELETE FROM "+store.LocalTable(name), nil); err != nil {
		return err
	}
	insert := t.insertSQL(name)
	for _, r := range rows {
		vals, err := t.rowValues(r)
		if err != nil {
			return err
		}
		if _, err := c.Exec(ctx, insert, vals); err != nil {
			return err
		}
	}
	return nil
}

// createSQL returns the statement that creates the temporary table.
func (t *SystemTable) createSQL(name string) string {
	parts := make([]string, len(t.Columns))
	for i, col := range t.Columns {
		parts[i] = fmt.Sprintf("c%d %s", i+1, col.Type.Storage())
		if n := col.Type.CollationName(); n != "" {
			parts[i] += " COLLATE " + n
		}
	}
	return fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s(%s) STRICT", store.LocalTable(name), strings.Join(parts, ", "))
}

// insertSQL returns the statement that inserts a row.
func (t *SystemTable) insertSQL(name string) string {
	marks := make([]string, len(t.Columns))
	for i := range marks {
		marks[i] = fmt.Sprintf("?%d", i+1)
	}
	return fmt.Sprintf("INSERT INTO %s VALUES (%s)", store.LocalTable(name), strings.Join(marks, ", "))
}

// rowValues returns the values of a row in the order of the columns.
func (t *SystemTable) rowValues(r row) ([]types.Value, error) {
	vals := make([]types.Value, len(t.Columns))
	used := 0
	for i, col := range t.Columns {
		v, ok := r[col.Name]
		if ok {
			used++
		} else {
			v = t.values[col.Name]
		}
		if v == nil && !col.Nullable {
			v = zeroValue(col.Type)
		}
		if s, ok := v.(string); ok && col.Type.ID == types.Char {
			v = types.Pad(s, col.Type.Length)
		}
		vals[i] = v
	}
	if used != len(r) {
		return nil, fmt.Errorf("sysviews: a row of %s.%s has columns that are not in the view: %v", t.Schema, t.Name, r)
	}
	return vals, nil
}

// zeroValue returns the value of a column that has no meaning here, such as is_published.
func zeroValue(t types.Type) types.Value {
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
