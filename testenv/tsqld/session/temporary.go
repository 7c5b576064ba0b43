package session

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"strings"
	"sync/atomic"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// TempTables maps folded names to the temporary tables that a session sees. A TempTables is
// immutable: adding or dropping a table creates a new map, so that an old map can be restored.
type TempTables map[string]*catalog.Table

// With returns a copy of the map with a table added or replaced.
func (t TempTables) With(name string, table *catalog.Table) TempTables {
	c := maps.Clone(t)
	if c == nil {
		c = TempTables{}
	}
	c[catalog.Fold(name)] = table
	return c
}

// Without returns a copy of the map without a table.
func (t TempTables) Without(name string) TempTables {
	c := maps.Clone(t)
	delete(c, catalog.Fold(name))
	return c
}

// TempProcedure is a local temporary procedure (#name). It is visible only to its session and
// exists until it is dropped or the session is reset or closed (documentation of CREATE PROCEDURE).
// It runs in the database in which it was created, with the permissions of the caller.
type TempProcedure struct {
	*catalog.Procedure
	Database int
}

// Temporaries are the temporary tables and table variables of a session, which are tables in the
// schema [store.LocalSchema] of its connection.
type Temporaries struct {
	Security
	temps     TempTables
	leftovers []*catalog.Table // of table variables, see dropLeftovers
	// Variables returns the table variables of all activations, which a rollback does not change.
	Variables func() []*catalog.Table
}

// localIDs counts the object IDs of temporary tables and table variables. The IDs are negative and
// below those of system views.
var localIDs atomic.Int32

// FirstLocalID is above the IDs of temporary tables and below those of system objects.
const FirstLocalID = -1_000_000

// NewLocalID returns an object ID for a temporary table.
func NewLocalID() int32 { return FirstLocalID - localIDs.Add(1) }

// TempNumber returns the number in the name of a temporary table in tempdb.
func TempNumber(t *catalog.Table) int32 { return FirstLocalID - t.ObjectID }

// CreateTemp creates a temporary table in SQLite and adds it to the tables of the session.
func (s *Temporaries) CreateTemp(ctx context.Context, t *catalog.Table) error {
	if err := s.createLocal(ctx, t); err != nil {
		return err
	}
	s.SetTemp(t)
	return nil
}

// Temp returns the temporary table with a name, or nil.
func (s *Temporaries) Temp(name string) *catalog.Table { return s.temps[catalog.Fold(name)] }

// TempByID returns the temporary table with an object ID, or nil.
func (s *Temporaries) TempByID(id int32) *catalog.Table {
	for _, t := range s.temps {
		if t.ObjectID == id {
			return t
		}
	}
	return nil
}

// TempTables returns the temporary tables that the session sees, for [Temporaries.DropTemps].
func (s *Temporaries) TempTables() TempTables { return s.temps }

// SetTemp adds or replaces a temporary table, which exists in SQLite.
func (s *Temporaries) SetTemp(t *catalog.Table) { s.temps = s.temps.With(t.Name, t) }

// ForgetTemp removes a temporary table, which the caller drops in SQLite.
func (s *Temporaries) ForgetTemp(name string) { s.temps = s.temps.Without(name) }

// Shadows reports whether the visible temporary table with a name is one of outer, the tables of
// the caller. The current activation may then create its own table with the same name.
func (s *Temporaries) Shadows(name string, outer TempTables) bool {
	key := catalog.Fold(name)
	t := s.temps[key]
	return t != nil && outer[key] == t
}

// createLocal creates the SQLite table of a temporary table. It drops an existing table with the
// same name, which can only be a leftover that a rollback has restored.
func (s *Temporaries) createLocal(ctx context.Context, t *catalog.Table) error {
	if err := s.recreateTable(ctx, t); err != nil {
		return err
	}
	s.Server.ResetCounter(CounterKey{session: s.id, Object: t.ObjectID})
	return nil
}

// recreateTable creates the SQLite table of a temporary table, in place of an existing one.
func (s *Temporaries) recreateTable(ctx context.Context, t *catalog.Table) error {
	if _, err := s.Conn.Exec(ctx, "DROP TABLE IF EXISTS "+store.LocalTable(t.SQLName), nil); err != nil {
		return err
	}
	for _, sql := range catalog.CreateSQL(store.LocalSchema, t) {
		if _, err := s.Conn.Exec(ctx, sql, nil); err != nil {
			return err
		}
	}
	return nil
}

// maxKeptVariables limits the number of SQLite tables that a connection keeps for table variables.
const maxKeptVariables = 200

// CreateVariable creates the empty SQLite table of a table variable, or reuses the table of an
// earlier variable with the same name, depth and shape. Reuse is faster: after a table has been
// created or dropped, SQLite prepares each statement on temporary tables again.
func (s *Temporaries) CreateVariable(ctx context.Context, t *catalog.Table) error {
	s.Server.ResetCounter(CounterKey{session: s.id, Object: t.ObjectID})
	return s.ensureVariable(ctx, t)
}

// ensureVariable is CreateVariable without a reset of the identity values.
func (s *Temporaries) ensureVariable(ctx context.Context, t *catalog.Table) error {
	quoted := store.LocalTable(t.SQLName)
	if !s.Conn.Temps.Has(t.SQLName) {
		if s.Conn.Temps.Len() >= maxKeptVariables {
			if err := s.dropLeftovers(ctx); err != nil {
				return err
			}
			return s.createLocal(ctx, t)
		}
		// An existing table is a leftover that a rollback has restored.
		ddl := "DROP TABLE IF EXISTS " + quoted + ";" + strings.Join(catalog.CreateSQL(store.LocalSchema, t), ";")
		return s.Conn.Temps.Ensure(ctx, t.SQLName, ddl)
	}
	empty := emptyVariable + t.SQLName
	if s.Conn.Temps.Recall(empty) != nil {
		s.Conn.Temps.Remember(empty, nil)
		return nil
	}
	_, err := s.Conn.Exec(ctx, "DELETE FROM "+quoted, nil) // rows that a rollback has restored
	return err
}

// emptyVariable is the prefix of a key under which the connection remembers that the kept table of
// a dropped table variable is empty. A rollback, which may restore rows, clears the key.
const emptyVariable = "empty variable "

// DropVariable releases the SQLite table of a table variable. After ctx has ended, it leaves a
// table that is not kept to dropLeftovers: a batch may have declared thousands, and SQLite needs
// longer to drop them than an attention may take.
func (s *Temporaries) DropVariable(ctx context.Context, t *catalog.Table) error {
	if !s.Conn.Temps.Has(t.SQLName) {
		if ctx.Err() == nil {
			return s.DropLocal(context.WithoutCancel(ctx), t)
		}
		s.Server.ResetCounter(CounterKey{session: s.id, Object: t.ObjectID})
		s.leftovers = append(s.leftovers, t)
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	s.Server.ResetCounter(CounterKey{session: s.id, Object: t.ObjectID})
	// Most variables of a procedure that finds nothing to do stay empty. To read that is cheaper
	// than DELETE, which writes the table's first page.
	quoted := store.LocalTable(t.SQLName)
	row, err := s.Conn.QueryRow(ctx, "SELECT 1 FROM "+quoted+" LIMIT 1", nil)
	if err == nil && row != nil {
		_, err = s.Conn.Exec(ctx, "DELETE FROM "+quoted, nil)
	}
	if err == nil {
		s.Conn.Temps.Remember(emptyVariable+t.SQLName, true)
	}
	return err
}

// dropLeftovers drops the tables of table variables of canceled batches. The next variable that
// needs a table of its own waits for it, so that there are never more than one batch has declared.
func (s *Temporaries) dropLeftovers(ctx context.Context) error {
	for len(s.leftovers) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		last := len(s.leftovers) - 1
		if err := s.DropLocal(context.WithoutCancel(ctx), s.leftovers[last]); err != nil {
			return err
		}
		s.leftovers = s.leftovers[:last]
	}
	return nil
}

// DropLocal drops the SQLite table of a temporary table.
func (s *Temporaries) DropLocal(ctx context.Context, t *catalog.Table) error {
	s.Server.ResetCounter(CounterKey{session: s.id, Object: t.ObjectID})
	_, err := s.Conn.Exec(ctx, "DROP TABLE IF EXISTS "+store.LocalTable(t.SQLName), nil)
	return err
}

// DropTemps drops the temporary tables that are not in keep. The session then sees only the tables
// in keep.
func (s *Temporaries) DropTemps(ctx context.Context, keep TempTables) error {
	var errs []error
	for name, t := range s.temps {
		if keep[name] != t {
			errs = append(errs, s.DropLocal(context.WithoutCancel(ctx), t))
		}
	}
	s.temps = keep
	return errors.Join(errs...)
}

// LocalName returns the SQLite name of a temporary table or table variable. The name depends only
// on the name in T-SQL and the depth of calls, so that plans and prepared statements can be reused.
// The name needs no quotes.
func LocalName(name string, level int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "l%d", level)
	for _, c := range []byte(catalog.Fold(name)) {
		if 'a' <= c && c <= 'z' || '0' <= c && c <= '9' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	return b.String()
}

// VariableName returns the SQLite name of a table variable with a complete definition. Unlike the
// name of a temporary table it contains a hash of the shape, because the SQLite table outlives the
// variable.
func VariableName(t *catalog.Table, level int) string {
	h := fnv.New64a()
	for _, sql := range catalog.CreateSQL(store.LocalSchema, t) {
		_, _ = h.Write([]byte(sql)) // never fails
	}
	return fmt.Sprintf("%s_%016x", LocalName(t.Name, level), h.Sum64())
}

// preserveTableVars calls rollback and then restores the contents of table variables, which are not
// part of transactions.
func (s *Temporaries) preserveTableVars(rollback func() error) error {
	if !s.Tran.begun {
		return rollback()
	}
	type contents struct {
		table *catalog.Table
		rows  [][]types.Value
	}
	ctx := context.Background()
	var all []contents
	for _, t := range s.Variables() {
		rows, err := s.contents(ctx, t)
		if err != nil {
			return errors.Join(err, rollback())
		}
		all = append(all, contents{t, rows})
	}
	err := rollback()
	for _, c := range all {
		if cerr := s.ensureVariable(ctx, c.table); cerr != nil {
			err = errors.Join(err, cerr)
			continue
		}
		err = errors.Join(err, s.Fill(ctx, c.table, c.rows))
	}
	return err
}

// storedColumns returns the SQLite columns of a table that are not generated.
func storedColumns(t *catalog.Table) []string {
	var cols []string
	for _, c := range t.Columns {
		if c.Formula == nil {
			cols = append(cols, store.Quote(c.SQLName))
		}
	}
	return cols
}

// contents reads the stored columns of a temporary table.
func (s *Temporaries) contents(ctx context.Context, t *catalog.Table) ([][]types.Value, error) {
	return s.selectTemp(ctx, t, storedColumns(t), nil)
}

// Reshape changes the definition of a temporary table. Indexes change in place; other changes copy
// the rows. fill has the values of columns in existing rows, by column ID.
func (s *Temporaries) Reshape(ctx context.Context, old, changed *catalog.Table, fill map[int]catalog.Fill) error {
	if sql, ok := catalog.IndexChanges(store.LocalSchema, old, changed); ok && len(fill) == 0 {
		for _, text := range sql {
			if _, err := s.Conn.Exec(ctx, text, nil); err != nil {
				return err
			}
		}
		s.SetTemp(changed)
		return nil
	}
	exprs, args := convertedColumns(old, changed, fill)
	reshaped := store.LocalTable("reshaped")
	steps := []string{
		"CREATE TABLE " + reshaped + " AS SELECT " + strings.Join(exprs, ", ") + " FROM " + store.LocalTable(old.SQLName) + " ORDER BY rowid",
		"", // creates the table again
		"INSERT INTO " + store.LocalTable(changed.SQLName) + "(" + strings.Join(storedColumns(changed), ", ") + ") SELECT * FROM " + reshaped + " ORDER BY rowid",
		"DROP TABLE " + reshaped,
	}
	for _, sql := range steps {
		var err error
		if sql == "" {
			err = s.recreateTable(ctx, changed)
		} else {
			_, err = s.Conn.Exec(ctx, sql, args)
		}
		if err != nil {
			return err
		}
		args = nil
	}
	s.SetTemp(changed)
	return nil
}

// Restore creates a temporary table again, possibly with a new shape, and inserts rows.
func (s *Temporaries) Restore(ctx context.Context, t *catalog.Table, rows [][]types.Value) error {
	if err := s.recreateTable(ctx, t); err != nil {
		return err
	}
	return s.Fill(ctx, t, rows)
}

// Fill inserts rows into a temporary table unchanged.
func (s *Temporaries) Fill(ctx context.Context, t *catalog.Table, rows [][]types.Value) error {
	cols := storedColumns(t)
	marks := make([]string, len(cols))
	for i := range marks {
		marks[i] = fmt.Sprintf("?%d", i+1)
	}
	sql := fmt.Sprintf("INSERT INTO %s(%s) VALUES (%s)", store.LocalTable(t.SQLName), strings.Join(cols, ", "),
		strings.Join(marks, ", "))
	if len(cols) == 0 { // only computed columns
		sql = "INSERT INTO " + store.LocalTable(t.SQLName) + " DEFAULT VALUES"
	}
	for _, row := range rows {
		if _, err := s.Conn.Exec(ctx, sql, row); err != nil {
			return err
		}
	}
	return nil
}

// convertedColumns returns the expressions over a temporary table that are the stored columns of a
// changed table, and their arguments: columns in fill are computed, new columns are NULL.
func convertedColumns(old, changed *catalog.Table, fill map[int]catalog.Fill) ([]string, []types.Value) {
	var exprs []string
	var args []types.Value
	for _, c := range changed.Columns {
		if c.Formula != nil {
			continue
		}
		was := old.ColumnByID(c.ID)
		f, filled := fill[c.ID]
		switch {
		case filled:
			exprs, args = append(exprs, f.SQL), append(args, f.Args...)
		case was != nil:
			exprs = append(exprs, store.Quote(was.SQLName))
		default:
			exprs = append(exprs, "NULL")
		}
	}
	return exprs, args
}

// AllColumns reads all columns of a temporary table in order, including computed ones.
func (s *Temporaries) AllColumns(ctx context.Context, t *catalog.Table) ([][]types.Value, error) {
	var cols []string
	for _, c := range t.Columns {
		if c.SQLName == "" {
			return nil, mserr.NotSupported("a computed column that is not deterministic in the result of a function")
		}
		cols = append(cols, store.Quote(c.SQLName))
	}
	return s.selectTemp(ctx, t, cols, nil)
}

// selectTemp reads expressions over a temporary table, in the order of insertion.
func (s *Temporaries) selectTemp(
	ctx context.Context, t *catalog.Table, exprs []string, args []types.Value,
) ([][]types.Value, error) {
	sql := "SELECT " + strings.Join(exprs, ", ") + " FROM " + store.LocalTable(t.SQLName) + " ORDER BY rowid"
	return CopyRows(ctx, s.Conn, s.meter, sql, args)
}

// CopyRows returns copies of the rows of a query, which are on the account m.
func CopyRows(ctx context.Context, c *store.Conn, m *meter.Meter, sql string, args []types.Value) (out [][]types.Value, err error) {
	err = c.Each(ctx, sql, args, func(row []types.Value) error {
		row, err := CopyRow(m, row)
		out = append(out, row)
		return err
	})
	return out, err
}

const (
	// RowOverhead and ValueOverhead are the approximate sizes of a row and of a value in it,
	// without texts and binaries, in bytes.
	RowOverhead   = 64
	ValueOverhead = 24
)

// PayloadSize returns the total length of the texts and binaries among values, in bytes.
func PayloadSize(vals ...types.Value) int {
	n := 0
	for _, v := range vals {
		switch v := v.(type) {
		case string:
			n += len(v)
		case []byte:
			n += len(v)
		}
	}
	return n
}

// CopyRow copies a row that is needed until the end of the statement. The error is 701.
func CopyRow(m *meter.Meter, row []types.Value) ([]types.Value, error) {
	if err := m.Take(RowOverhead + len(row)*ValueOverhead + PayloadSize(row...)); err != nil {
		return nil, err
	}
	return append([]types.Value(nil), row...), nil
}

// Temporary returns the temporary tables of the session.
func (s *Temporaries) Temporary() []catalog.TempTable {
	var out []catalog.TempTable
	for _, t := range s.temps {
		temp := catalog.TempTable{Table: t, Number: TempNumber(t)}
		s.Server.mu.Lock()
		if c := s.Server.counters[s.Counters.IdentityKey(0, t)]; c != nil && c.Used {
			temp.Identity = c.Last
		}
		s.Server.mu.Unlock()
		out = append(out, temp)
	}
	return out
}
