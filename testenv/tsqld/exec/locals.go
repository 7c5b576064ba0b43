package exec

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"strings"
	"sync/atomic"
	"weak"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// tempTables maps folded names to the temporary tables that a session sees. A tempTables is
// immutable: adding or dropping a table creates a new map, so that an old map can be restored.
type tempTables map[string]*catalog.Table

// with returns a copy of the map with a table added or replaced.
func (t tempTables) with(name string, table *catalog.Table) tempTables {
	c := maps.Clone(t)
	if c == nil {
		c = tempTables{}
	}
	c[catalog.Fold(name)] = table
	return c
}

// without returns a copy of the map without a table.
func (t tempTables) without(name string) tempTables {
	c := maps.Clone(t)
	delete(c, catalog.Fold(name))
	return c
}

// localIDs counts the object IDs of temporary tables and table variables. The IDs are negative and
// below those of system views.
var localIDs atomic.Int32

// firstLocalID is above the IDs of temporary tables and below those of system objects.
const firstLocalID = -1_000_000

// newLocalID returns an object ID for a temporary table.
func newLocalID() int32 { return firstLocalID - localIDs.Add(1) }

// tempNumber returns the number in the name of a temporary table in tempdb.
func tempNumber(t *catalog.Table) int32 { return firstLocalID - t.ObjectID }

// createTemp creates a temporary table in SQLite and adds it to the tables of the session.
func (s *core) createTemp(ctx context.Context, t *catalog.Table) error {
	if err := s.createLocal(ctx, t); err != nil {
		return err
	}
	s.temps = s.temps.with(t.Name, t)
	return nil
}

// createLocal creates the SQLite table of a temporary table. It drops an existing table with the
// same name, which can only be a leftover that a rollback has restored.
func (s *core) createLocal(ctx context.Context, t *catalog.Table) error {
	if err := s.recreateTable(ctx, t); err != nil {
		return err
	}
	s.inst.resetCounter(counterKey{session: s.id, object: t.ObjectID})
	return nil
}

// recreateTable creates the SQLite table of a temporary table, in place of an existing one.
func (s *core) recreateTable(ctx context.Context, t *catalog.Table) error {
	if _, err := s.conn.Exec(ctx, "DROP TABLE IF EXISTS temp."+store.Quote(t.SQLName), nil); err != nil {
		return err
	}
	for _, sql := range catalog.CreateSQL("temp", t) {
		if _, err := s.conn.Exec(ctx, sql, nil); err != nil {
			return err
		}
	}
	return nil
}

// maxKeptVariables limits the number of SQLite tables that a connection keeps for table variables.
const maxKeptVariables = 200

// createVariable creates the empty SQLite table of a table variable, or reuses the table of an
// earlier variable with the same name, depth and shape. Reuse is faster, because creating or
// dropping a table invalidates every prepared statement of the connection.
func (s *core) createVariable(ctx context.Context, t *catalog.Table) error {
	s.inst.resetCounter(counterKey{session: s.id, object: t.ObjectID})
	return s.ensureVariable(ctx, t)
}

// ensureVariable is createVariable without a reset of the identity values.
func (s *core) ensureVariable(ctx context.Context, t *catalog.Table) error {
	quoted := "temp." + store.Quote(t.SQLName)
	if !s.conn.HasTemp(t.SQLName) {
		if s.conn.Temps() >= maxKeptVariables {
			if err := s.dropLeftovers(ctx); err != nil {
				return err
			}
			return s.createLocal(ctx, t)
		}
		// An existing table is a leftover that a rollback has restored.
		ddl := "DROP TABLE IF EXISTS " + quoted + ";" + strings.Join(catalog.CreateSQL("temp", t), ";")
		return s.conn.EnsureTemp(ctx, t.SQLName, ddl)
	}
	empty := emptyVariable + t.SQLName
	if s.conn.Recall(empty) != nil {
		s.conn.Remember(empty, nil)
		return nil
	}
	_, err := s.conn.Exec(ctx, "DELETE FROM "+quoted, nil) // rows that a rollback has restored
	return err
}

// emptyVariable is the prefix of a key under which the connection remembers that the kept table of
// a dropped table variable is empty. A rollback, which may restore rows, clears the key.
const emptyVariable = "empty variable "

// dropVariable releases the SQLite table of a table variable. After ctx has ended, it leaves a
// table that is not kept to dropLeftovers: a batch may have declared thousands, and SQLite needs
// longer to drop them than an attention may take.
func (s *core) dropVariable(ctx context.Context, t *catalog.Table) error {
	if !s.conn.HasTemp(t.SQLName) {
		if ctx.Err() == nil {
			return s.dropLocal(context.WithoutCancel(ctx), t)
		}
		s.inst.resetCounter(counterKey{session: s.id, object: t.ObjectID})
		s.leftovers = append(s.leftovers, t)
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	s.inst.resetCounter(counterKey{session: s.id, object: t.ObjectID})
	// Most variables of a procedure that finds nothing to do stay empty. To read that is cheaper
	// than DELETE, which writes the table's first page.
	quoted := "temp." + store.Quote(t.SQLName)
	row, err := s.conn.QueryRow(ctx, "SELECT 1 FROM "+quoted+" LIMIT 1", nil)
	if err == nil && row != nil {
		_, err = s.conn.Exec(ctx, "DELETE FROM "+quoted, nil)
	}
	if err == nil {
		s.conn.Remember(emptyVariable+t.SQLName, true)
	}
	return err
}

// dropLeftovers drops the tables of table variables of canceled batches. The next variable that
// needs a table of its own waits for it, so that there are never more than one batch has declared.
func (s *core) dropLeftovers(ctx context.Context) error {
	for len(s.leftovers) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		last := len(s.leftovers) - 1
		if err := s.dropLocal(context.WithoutCancel(ctx), s.leftovers[last]); err != nil {
			return err
		}
		s.leftovers = s.leftovers[:last]
	}
	return nil
}

// dropLocal drops the SQLite table of a temporary table.
func (s *core) dropLocal(ctx context.Context, t *catalog.Table) error {
	s.inst.resetCounter(counterKey{session: s.id, object: t.ObjectID})
	_, err := s.conn.Exec(ctx, "DROP TABLE IF EXISTS temp."+store.Quote(t.SQLName), nil)
	return err
}

// dropTemps drops the temporary tables that are not in keep. The session then sees only the tables
// in keep.
func (s *core) dropTemps(ctx context.Context, keep tempTables) error {
	var errs []error
	for name, t := range s.temps {
		if keep[name] != t {
			errs = append(errs, s.dropLocal(context.WithoutCancel(ctx), t))
		}
	}
	s.temps = keep
	return errors.Join(errs...)
}

// localName returns the SQLite name of a temporary table or table variable. The name depends only
// on the name in T-SQL and the depth of calls, so that plans and prepared statements can be reused.
// The name needs no quotes.
func localName(name string, level int) string {
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

// variableName returns the SQLite name of a table variable with a complete definition. Unlike the
// name of a temporary table it contains a hash of the shape, because the SQLite table outlives the
// variable.
func variableName(t *catalog.Table, level int) string {
	h := fnv.New64a()
	for _, sql := range catalog.CreateSQL("temp", t) {
		_, _ = h.Write([]byte(sql)) // never fails
	}
	return fmt.Sprintf("%s_%016x", localName(t.Name, level), h.Sum64())
}

// shape returns the definition of a temporary table or table variable that a statement declares.
// The unit caches the definition.
func (r *run) shape(node syntax.Node, build func() (*catalog.Table, error)) (*catalog.Table, error) {
	u := r.f.unit
	key := shapeKey{node: node, level: r.f.level, db: weak.Make(r.s.databaseByID(r.s.dbID))}
	u.mu.Lock()
	t := u.shapes[key]
	u.mu.Unlock()
	if t != nil {
		return t, nil
	}
	t, err := build()
	if err != nil {
		return nil, err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.shapes) > 4*maxVariants || u.shapes == nil {
		u.shapes = map[shapeKey]*catalog.Table{}
	}
	u.shapes[key] = t
	return t, nil
}

// variables declares all variables of an activation's unit, with the value NULL.
func (r *run) variables(f *frame) error {
	u := f.unit
	if len(u.decls) == 0 {
		return nil
	}
	resolved := r.resolve(f)
	for i, d := range u.decls {
		switch {
		case d.Cursor:
			f.declare(d.Name, types.Type{}, nil).isCur = true
		case d.Table != nil:
		case resolved.decls[i].err != nil:
			return errorAt(resolved.decls[i].err, d)
		case resolved.decls[i].table != nil:
		default:
			f.declare(d.Name, resolved.decls[i].typ, nil)
		}
	}
	return nil
}

// withMessage returns an error with a changed copy of the message in err. An error without a
// message, such as the cancellation of the request, is returned as it is.
func withMessage(err error, change func(*mserr.Error) error) error {
	var e *mserr.Error
	if !errors.As(err, &e) {
		return err
	}
	c := *e
	return change(&c)
}

// errorAt sets the line of the message in an error to the line of a node.
func errorAt(err error, n syntax.Node) error {
	return withMessage(err, func(e *mserr.Error) error { return atNode(e, n) })
}

// resolve returns the types of a unit's parameters and variables.
func (r *run) resolve(f *frame) *varTypes {
	u := f.unit
	key := scopeKey{db: weak.Make(r.s.databaseByID(r.s.dbID)), schema: f.schema}
	u.mu.Lock()
	vt := u.scopes[key]
	u.mu.Unlock()
	if vt != nil {
		return vt
	}
	outer := r.f
	r.f = f
	vt = &varTypes{}
	for _, p := range u.params {
		vt.params = append(vt.params, r.resolveType(p.Type))
	}
	for _, d := range u.decls {
		if err := r.s.meter.Work(nodeWork); err != nil {
			for len(vt.decls) < len(u.decls) {
				vt.decls = append(vt.decls, resolvedType{err: err})
			}
			r.f = outer
			return vt // no cache keeps a cancellation
		}
		if d.Type == nil {
			vt.decls = append(vt.decls, resolvedType{})
			continue
		}
		t := r.resolveType(d.Type)
		if t.err == nil && t.typ.IsLOB() {
			t.err = mserr.LOBVariable()
		}
		vt.decls = append(vt.decls, t)
	}
	r.f = outer
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.scopes) > maxVariants || u.scopes == nil {
		u.scopes = map[scopeKey]*varTypes{}
	}
	u.scopes[key] = vt
	return vt
}

// resolveType looks up one type.
func (r *run) resolveType(ref *syntax.TypeRef) resolvedType {
	t, _, table, err := r.compiler().Type(ref)
	if err != nil && errors.Is(err, mserr.UnknownSystemType("")) {
		err = mserr.UnknownType(1, ref.Name.String())
	}
	return resolvedType{t, table, err}
}

// declareStmt executes DECLARE: it creates table variables and evaluates initializers.
func (r *run) declareStmt(st *syntax.DeclareStmt) error {
	for _, d := range st.Vars {
		switch {
		case d.Cursor:
		case d.Table != nil:
			t, err := r.shape(d, func() (*catalog.Table, error) { return r.localDefinition(d.Name, d.Table) })
			if err != nil {
				return err
			}
			if err := r.makeTableVar(d.Name, t); err != nil {
				return err
			}
		default:
			if table := r.f.tableTypeOf(r, d); table != nil {
				t, err := r.shape(d, func() (*catalog.Table, error) {
					return copyShape(table.Table, d.Name, r.f.level), nil
				})
				if err != nil {
					return err
				}
				if err := r.makeTableVar(d.Name, t); err != nil {
					return err
				}
				continue
			}
			if d.Init == nil {
				continue
			}
			v := r.f.variable(d.Name)
			val, err := r.value(d.Init, v.typ)
			if err != nil {
				return err
			}
			if err := r.store(v, val); err != nil {
				return err
			}
			r.s.rowCount = 1
		}
	}
	return nil
}

// tableTypeOf returns the table type of a declared variable, or nil for a scalar.
func (f *frame) tableTypeOf(r *run, d *syntax.VarDecl) *catalog.TableType {
	vt := r.resolve(f)
	if i, ok := f.unit.declared[d]; ok {
		return vt.decls[i].table
	}
	return nil
}

// copyShape returns the definition of a variable of a table type.
func copyShape(t *catalog.Table, name string, level int) *catalog.Table {
	c := t.Clone()
	c.Name, c.SQLName, c.Temporary, c.ObjectID = name, localName(name, level), true, newLocalID()
	c.SQLName = variableName(c, level)
	return c
}

// makeTableVar creates a table variable unless it exists: DECLARE in a loop does not empty the
// variable.
func (r *run) makeTableVar(name string, t *catalog.Table) error {
	if r.f.tableVar(name) != nil {
		return nil
	}
	if err := r.s.createVariable(r.ctx, t); err != nil {
		return err
	}
	if r.f.tables == nil {
		r.f.tables = map[string]*tableVar{}
	}
	r.f.tables[catalog.Fold(name)] = &tableVar{name: name, table: t, created: true}
	return nil
}

// preserveTableVars calls rollback and then restores the contents of table variables, which are not
// part of transactions.
func (s *core) preserveTableVars(rollback func() error) error {
	if !s.tran.begun {
		return rollback()
	}
	type contents struct {
		table *catalog.Table
		rows  [][]types.Value
	}
	ctx := context.Background()
	var all []contents
	for _, t := range s.variables() {
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
		err = errors.Join(err, s.fill(ctx, c.table, c.rows))
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
func (s *core) contents(ctx context.Context, t *catalog.Table) ([][]types.Value, error) {
	return s.selectTemp(ctx, t, storedColumns(t), nil)
}

// restore creates a temporary table again, possibly with a new shape, and inserts rows.
func (s *core) restore(ctx context.Context, t *catalog.Table, rows [][]types.Value) error {
	if err := s.recreateTable(ctx, t); err != nil {
		return err
	}
	return s.fill(ctx, t, rows)
}

// fill inserts rows into a temporary table unchanged.
func (s *core) fill(ctx context.Context, t *catalog.Table, rows [][]types.Value) error {
	cols := storedColumns(t)
	marks := make([]string, len(cols))
	for i := range marks {
		marks[i] = fmt.Sprintf("?%d", i+1)
	}
	sql := fmt.Sprintf("INSERT INTO temp.%s(%s) VALUES (%s)", store.Quote(t.SQLName), strings.Join(cols, ", "),
		strings.Join(marks, ", "))
	if len(cols) == 0 { // only computed columns
		sql = "INSERT INTO temp." + store.Quote(t.SQLName) + " DEFAULT VALUES"
	}
	for _, row := range rows {
		if _, err := s.conn.Exec(ctx, sql, row); err != nil {
			return err
		}
	}
	return nil
}

// convertedRows reads the rows of a temporary table in the shape of a changed table: columns in
// fill are computed, new columns are NULL, dropped columns are left out.
func (s *core) convertedRows(
	ctx context.Context, old, changed *catalog.Table, fill map[int]catalog.Fill,
) ([][]types.Value, error) {
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
	return s.selectTemp(ctx, old, exprs, args)
}

// allColumns reads all columns of a temporary table in order, including computed ones.
func (s *core) allColumns(ctx context.Context, t *catalog.Table) ([][]types.Value, error) {
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
func (s *core) selectTemp(
	ctx context.Context, t *catalog.Table, exprs []string, args []types.Value,
) ([][]types.Value, error) {
	sql := "SELECT " + strings.Join(exprs, ", ") + " FROM temp." + store.Quote(t.SQLName) + " ORDER BY rowid"
	rows, err := s.conn.Query(ctx, sql, args)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out [][]types.Value
	for rows.Next() {
		row, err := copyRow(s.meter, rows.Row())
		if err != nil {
			return nil, err
		}
		out = append(out, row)
	}
	return out, rows.Err()
}

// tableVariables returns the table variables of all activations.
func (s *Session) tableVariables() []*catalog.Table {
	var out []*catalog.Table
	for f := s.top; f != nil; f = f.parent {
		for _, tv := range f.tables {
			out = append(out, tv.table)
		}
	}
	return out
}
