package compile

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/sqlprinter"
	"github.com/jobagent/jobagent/testenv/tsqld/builtin"
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// fixture is a scope and frame over temporary tables of a real store.
type fixture struct {
	t      testing.TB
	conn   *store.Conn
	db     *catalog.Database
	tables map[string]*catalog.Table
	vars   map[string]types.Type
	vals   map[string]types.Value
	ids    map[*catalog.Table]int64
}

// newFixture opens a store and creates the tables of a script of CREATE TABLE and INSERT
// statements.
func newFixture(t testing.TB, script string) *fixture {
	ctx := context.Background()
	st, err := store.Open(ctx, store.Config{Functions: keys.Functions()})
	require.NoError(t, err)
	conn, err := st.Acquire(ctx)
	require.NoError(t, err)
	t.Cleanup(func() {
		st.Release(conn)
		require.NoError(t, st.Close())
	})
	cat, err := catalog.Open(ctx, st, "", 0)
	require.NoError(t, err)
	db, err := cat.CreateDatabase(ctx, "db", nil, catalog.Options{}, 0)
	require.NoError(t, err)
	require.NoError(t, conn.Databases.Attach(ctx, db.ID))
	b := &fixture{t: t, conn: conn, db: db, tables: map[string]*catalog.Table{},
		vars: map[string]types.Type{}, vals: map[string]types.Value{}, ids: map[*catalog.Table]int64{}}
	conn.SetLocal(func(key string) (store.Func, error) {
		if strings.HasPrefix(key, keys.LocalRowVersion) {
			return func(*meter.Meter, []types.Value) (types.Value, error) { return []byte{0, 0, 0, 0, 0, 0, 0, 7}, nil }, nil
		}
		return keys.EnvFunc(nil, key)
	})
	b.run(script)
	return b
}

func (b *fixture) Database(name string) (*catalog.Database, error) {
	if name == "" || strings.EqualFold(name, b.db.Name) {
		return b.db, nil
	}
	return nil, mserr.NoDatabase(name)
}

func (b *fixture) DefaultSchema() string { return "dbo" }

func (b *fixture) Variable(name string) (types.Type, bool) {
	t, ok := b.vars[catalog.Fold(name)]
	return t, ok
}

func (b *fixture) LocalTable(name string) *catalog.Table { return b.tables[catalog.Fold(name)] }

func (b *fixture) Truncates() bool { return false }

func (b *fixture) IdentityInsert(*catalog.Table) bool { return false }

func (b *fixture) Locale() types.Locale { return types.Locale{} }

func (b *fixture) FunctionDepth() int { return 0 }

func (b *fixture) FiringInstead() int32 { return 0 }

func (b *fixture) Meter() *meter.Meter { return nil }

// frame implements Frame for a fixture. It is a type of its own because Frame.Variable and
// Scope.Variable have different signatures.
type frame struct{ *fixture }

func (f frame) Variable(name string) types.Value { return f.vals[catalog.Fold(name)] }

func (f frame) Env() builtin.Env { return nil }

func (f frame) Meter() *meter.Meter { return nil }

func (f frame) Call(key string, _ []types.Value) (types.Value, error) {
	return nil, mserr.NotSupported("the function %s", key)
}

// declare declares a variable.
func (b *fixture) declare(name, typ, value string) {
	t, err := types.ParseType(typ)
	require.NoError(b.t, err)
	b.vars[name] = t
	if value != "NULL" {
		v, err := types.Convert(value, types.NVarCharMax, t, types.NoStyle)
		require.NoError(b.t, err)
		b.vals[name] = v
	}
}

// run executes batches separated by GO and returns their output: rows of queries, and errors.
func (b *fixture) run(script string) string {
	var out strings.Builder
	for text := range strings.SplitSeq(script, "\nGO\n") {
		batch, err := parser.Parse(text, parser.DefaultOptions)
		require.NoError(b.t, err, text)
		for _, s := range batch.Stmts {
			rows, err := b.exec(s)
			if err != nil {
				var e *mserr.Error
				require.ErrorAs(b.t, err, &e, text)
				rows = fmt.Sprintf("error %d: %s\n", e.Number, e.Message)
			}
			out.WriteString(rows)
		}
	}
	return out.String()
}

// exec runs one statement.
func (b *fixture) exec(s syntax.Stmt) (string, error) {
	c := New(b)
	switch s := s.(type) {
	case *syntax.CreateTableStmt:
		b.create(s)
		return "", nil
	case *syntax.CreateViewStmt:
		cols, err := c.View(s.Name.Last(), s.Query, s.Columns, nil)
		if err != nil {
			return "", err
		}
		b.edit(func(e *catalog.Edit) {
			require.NoError(
				b.t,
				e.Put(
					&catalog.View{
						Header: catalog.Header{
							Name:     s.Name.Last(),
							SchemaID: catalog.SchemaDBO,
							Kind:     catalog.KindView,
						},
						Module:  catalog.Module{Text: sqlText(s), QuotedIdentifier: true},
						Columns: cols,
					},
				),
			)
		})
		return "", nil
	case *syntax.CreateFunctionStmt:
		return "", b.createFunction(s)
	case *syntax.SelectStmt:
		p, err := c.Select(s.Query, s.Hints)
		if err != nil {
			return "", err
		}
		return b.query(p)
	}
	return b.change(s)
}

// edit changes the database.
func (b *fixture) edit(f func(*catalog.Edit)) {
	e := b.db.Edit(0)
	f(e)
	db, err := e.Apply(context.Background(), b.conn)
	require.NoError(b.t, err)
	b.db = db
}

// createFunction creates an inline function.
func (b *fixture) createFunction(s *syntax.CreateFunctionStmt) error {
	c := New(b)
	f := &catalog.Function{
		Header: catalog.Header{Name: s.Name.Last(), SchemaID: catalog.SchemaDBO, Kind: catalog.KindInlineFunction},
		Module: catalog.Module{Text: sqlText(s), QuotedIdentifier: true},
	}
	for _, p := range s.Params {
		t, _, _, err := c.Type(p.Type)
		if err != nil {
			return err
		}
		f.Params = append(
			f.Params,
			catalog.Param{Name: p.Name, Type: t, HasDefault: p.Default != nil, Default: sqlText(p.Default)},
		)
	}
	cols, err := c.View(f.Name, s.Query, nil, f.Params)
	if err != nil {
		return err
	}
	f.Columns = cols
	b.edit(func(e *catalog.Edit) { require.NoError(b.t, e.Put(f)) })
	return nil
}

// query runs a plan and prints its rows.
func (b *fixture) query(p *plan.Plan) (string, error) {
	args, err := p.Args(frame{b}, nil)
	if err != nil {
		return "", err
	}
	for _, s := range p.System {
		require.Fail(b.t, "system table "+s.Temp)
	}
	rows, err := b.conn.Query(context.Background(), p.SQL, args)
	if err != nil {
		return "", fmt.Errorf("%s: %w", p.SQL, err)
	}
	defer func() { require.NoError(b.t, rows.Close()) }()
	var out strings.Builder
	for rows.Next() {
		if len(p.Assign) > 0 {
			for i := range p.Assign {
				v, err := p.Assign[i].Value(frame{b}, rows.Row())
				if err != nil {
					return "", err
				}
				b.vals[catalog.Fold(p.Assign[i].Variable)] = v
			}
			continue
		}
		for i, v := range rows.Row() {
			if i > 0 {
				out.WriteString("|")
			}
			out.WriteString(show(v, p.Columns[i].Type))
		}
		out.WriteString("\n")
	}
	return out.String(), rows.Err()
}

// show prints a value as text.
func show(v types.Value, t types.Type) string {
	if v == nil {
		return "NULL"
	}
	if b, ok := v.([]byte); ok && t.ID != types.UniqueIdentifier && t.ID != types.DateTimeOffset &&
		t.ID != types.Variant {
		return fmt.Sprintf("0x%X", b)
	}
	s, err := types.Convert(v, t, types.NVarCharMax, types.NoStyle)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(s)
}

// create creates a table from a CREATE TABLE statement.
func (b *fixture) create(s *syntax.CreateTableStmt) {
	c := New(b)
	name := s.Name.Last()
	t := &catalog.Table{Header: catalog.Header{Name: name}}
	if strings.HasPrefix(name, "#") {
		t.ObjectID, t.Temporary = int32(len(b.tables)+1), true
		t.SQLName = "t" + strconv.Itoa(int(t.ObjectID))
	} else {
		t.SchemaID = catalog.SchemaDBO
	}
	for _, d := range s.Def.Columns {
		col := &catalog.Column{Column: types.Column{Name: d.Name.Name, Nullable: true}}
		t.Columns = append(t.Columns, col)
		if d.Computed != nil {
			catalog.Number(t)
			text := sqlText(d.Computed)
			typ, null, sql, err := c.Formula(t, d.Computed)
			require.NoError(b.t, err)
			col.Type, col.Nullable, col.Computed = typ, null, true
			col.Formula = &catalog.Formula{Text: text, SQL: sql, Persisted: d.Persisted}
			continue
		}
		typ, _, _, err := c.Type(d.Type)
		require.NoError(b.t, err)
		col.Type = typ
		if d.Collation != "" {
			col.Type.Collation, _ = types.CollationByName(d.Collation)
		}
		col.Nullable = d.Null != syntax.NotNull
		if d.Identity != nil {
			col.Auto, col.Identity, col.Nullable = &catalog.Identity{Seed: 1, Increment: 1}, true, false
		}
		if d.Default != nil {
			col.Default = &catalog.Default{Text: sqlText(d.Default.Value)}
		}
		for _, k := range d.Constraints {
			if key, ok := k.(*syntax.KeyConstraint); ok {
				col.Nullable = !key.Primary && col.Nullable
				t.Indexes = append(
					t.Indexes,
					&catalog.Index{
						Unique:    true,
						Clustered: key.Primary,
						Key:       &catalog.Key{Primary: key.Primary},
						Columns:   []catalog.IndexColumn{{ColumnID: len(t.Columns)}},
					},
				)
			}
		}
	}
	for _, ix := range s.Def.Indexes {
		index := &catalog.Index{Name: ix.Name.Name, Unique: ix.Unique}
		for _, col := range ix.Columns {
			for i, c := range t.Columns {
				if c.Name == col.Name.Name {
					index.Columns = append(index.Columns, catalog.IndexColumn{ColumnID: i + 1, Desc: col.Desc})
				}
			}
		}
		if ix.Where != nil {
			catalog.Number(t)
			sql, err := c.Filter(t, ix.Where)
			require.NoError(b.t, err)
			index.Filter, index.FilterSQL = sqlText(ix.Where), sql
		}
		t.Indexes = append(t.Indexes, index)
	}
	catalog.Number(t)
	for _, k := range s.Def.Constraints {
		if check, ok := k.(*syntax.CheckConstraint); ok {
			sql, err := c.Check(t, check.Cond)
			require.NoError(b.t, err)
			t.Checks = append(t.Checks, &catalog.Check{ObjectID: 99, SQL: sql})
		}
	}
	if !t.Temporary {
		b.edit(func(e *catalog.Edit) { e.AddTable(t) })
		return
	}
	for _, sql := range catalog.CreateSQL(store.LocalSchema, t) {
		_, err := b.conn.Exec(context.Background(), sql, nil)
		require.NoError(b.t, err, sql)
	}
	b.tables[catalog.Fold(name)] = t
}

// sqlText returns the text of a node.
func sqlText(e syntax.Node) string { return sqlprinter.Print(e) }

// change runs a DML statement.
func (b *fixture) change(s syntax.Stmt) (string, error) {
	c := New(b)
	var d *plan.DML
	var err error
	switch s := s.(type) {
	case *syntax.InsertStmt:
		d, err = c.Insert(s)
	case *syntax.UpdateStmt:
		d, err = c.Update(s, false)
	case *syntax.DeleteStmt:
		d, err = c.Delete(s, false)
	case *syntax.MergeStmt:
		d, err = c.Merge(s)
	default:
		require.Failf(b.t, "statement", "%T", s)
	}
	if err != nil {
		return "", err
	}
	return b.apply(d, nil)
}

// apply runs a DML plan as the interpreter does.
func (b *fixture) apply(d *plan.DML, row []types.Value) (string, error) {
	ctx := context.Background()
	run := &tree.Run{Row: row}
	if d.Spool != nil {
		require.NoError(b.t, b.conn.Temps.Ensure(ctx, d.Spool.Name, d.Spool.DDL))
	}
	var n int64
	step := func(st *plan.Statement) error {
		args, err := st.Args(frame{b}, run)
		if err != nil {
			return err
		}
		k, err := b.conn.Exec(ctx, st.SQL, args)
		if err != nil {
			return fmt.Errorf("%s: %w", st.SQL, err)
		}
		n = k
		return nil
	}
	steps := func(list []plan.Statement) error {
		for i := range list {
			if err := step(&list[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if err := steps(d.Prepare); err != nil {
		return "", err
	}
	count := n
	if d.Identity != nil {
		run.Identity = b.ids[d.Target] + 1
		b.conn.Count(run.Identity, d.Identity.Increment)
	}
	out := ""
	if !d.OutputRows {
		if err := steps(d.Apply); err != nil {
			return "", err
		}
		if len(d.Prepare) == 0 {
			count = n
		}
	}
	if d.Output != nil {
		args, err := d.Output.Args(frame{b}, run)
		if err != nil {
			return "", err
		}
		rows, err := b.conn.Query(ctx, d.Output.SQL, args)
		if err != nil {
			return "", fmt.Errorf("%s: %w", d.Output.SQL, err)
		}
		for rows.Next() {
			var vals []string
			for i, v := range rows.Row() {
				vals = append(vals, show(v, d.Output.Columns[i].Type))
			}
			out += strings.Join(vals, "|") + "\n"
			if d.OutputRows {
				count++
			}
		}
		if err := rows.Err(); err != nil {
			return "", err
		}
	}
	if len(d.Assign) > 0 {
		args, err := d.AssignFrom.Args(frame{b}, run)
		require.NoError(b.t, err)
		rows, err := b.conn.Query(ctx, d.AssignFrom.SQL, args)
		require.NoError(b.t, err, d.AssignFrom.SQL)
		for rows.Next() {
			for i := range d.Assign {
				v, err := d.Assign[i].Value(frame{b}, rows.Row())
				require.NoError(b.t, err)
				b.vals[catalog.Fold(d.Assign[i].Variable)] = v
			}
		}
		require.NoError(b.t, rows.Err())
	}
	if d.Identity != nil {
		b.ids[d.Target] += count * d.Identity.Increment
	}
	return out, steps(d.Finish)
}

// parseTarget returns the node of a table name.
func parseTarget(name string) syntax.TableSource {
	n, err := parser.ParseName(name)
	if err != nil {
		panic(err)
	}
	return &syntax.TableName{Name: n}
}
