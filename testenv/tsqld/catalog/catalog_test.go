package catalog

import (
	"context"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testTime = 638000000000000000

// fixture is a catalog with a store and a connection.
type fixture struct {
	*testing.T
	store *store.Store
	cat   *Catalog
	conn  *store.Conn
}

// newFixture opens a catalog in dir ("" for a temporary one) and creates the database "jobs".
func newFixture(t *testing.T, dir string) *fixture {
	t.Helper()
	f := &fixture{T: t}
	var err error
	f.store, err = store.Open(t.Context(), store.Config{Dir: dir})
	require.NoError(t, err)
	f.cat, err = Open(t.Context(), f.store, "secret", testTime)
	require.NoError(t, err)
	if f.cat.Snapshot().Database("jobs") == nil {
		_, err = f.cat.CreateDatabase(t.Context(), "jobs", SAID, Options{Collation: DefaultCollation}, testTime)
		require.NoError(t, err)
	}
	f.conn, err = f.store.Acquire(t.Context())
	require.NoError(t, err)
	require.NoError(t, f.conn.Databases.Attach(t.Context(), f.db().ID))
	return f
}

// stop closes the connection and the store.
func (f *fixture) stop() {
	f.store.Release(f.conn)
	require.NoError(f, f.store.Close())
}

// db returns the current version of the database.
func (f *fixture) db() *Database { return f.cat.Snapshot().Database("JOBS") }

// edit applies a change in a transaction and publishes it if there is no error.
func (f *fixture) edit(change func(e *Edit) error) error {
	f.Helper()
	ctx := f.Context()
	require.NoError(f, f.conn.Begin(ctx))
	e := f.db().Edit(testTime)
	err := change(e)
	var d *Database
	if err == nil {
		d, err = e.Apply(ctx, f.conn)
	}
	if err != nil {
		return errors.Join(err, f.conn.Rollback())
	}
	require.NoError(f, f.conn.Commit())
	return f.cat.Publish(d)
}

// exec executes SQLite statements.
func (f *fixture) exec(sql string) error {
	_, err := f.conn.Exec(f.Context(), sql, nil)
	return err
}

// value returns the first column of the first row.
func (f *fixture) value(sql string) types.Value {
	f.Helper()
	row, err := f.conn.QueryRow(f.Context(), sql, nil)
	require.NoError(f, err, sql)
	require.NotEmpty(f, row, sql)
	return row[0]
}

// newColumn returns a column.
func newColumn(name string, t types.Type, nullable bool) *Column {
	return &Column{Column: types.Column{Name: name, Type: t, Nullable: nullable}}
}

// parentTable returns dbo.Parent(id int identity primary key, name nvarchar(20) unique, qty int
// check > 0 default 1).
func parentTable() *Table {
	id := newColumn("id", types.IntType, false)
	id.Auto, id.Identity = &Identity{1, 1}, true
	qty := newColumn("qty", types.IntType, false)
	qty.Default = &Default{Name: "DF_qty", Text: "((1))"}
	return &Table{
		Header:  Header{Name: "Parent", SchemaID: SchemaDBO},
		Columns: []*Column{id, newColumn("name", types.NVarCharOf(20), true), qty},
		Indexes: []*Index{
			{
				Name: "PK_Parent", Unique: true, Clustered: true, Columns: []IndexColumn{{ColumnID: 1}},
				Key: &Key{Name: "PK_Parent", Primary: true},
			},
			{Name: "UQ_name", Unique: true, Columns: []IndexColumn{{ColumnID: 2}}, Key: &Key{Name: "UQ_name"}},
			{
				Name: "IX_qty", Columns: []IndexColumn{{ColumnID: 3, Desc: true}}, Included: []int{2},
				Filter: "([qty]>(5))", FilterSQL: "c3 > 5",
			},
		},
		Checks: []*Check{{Name: "CK_qty", Text: "([qty]>(0))", SQL: "c3 > 0"}},
	}
}

// tables creates dbo.Parent, and dbo.Child with a foreign key to it.
func (f *fixture) tables() {
	f.Helper()
	require.NoError(f, f.edit(func(e *Edit) error {
		p := parentTable()
		e.AddTable(p)
		e.AddTable(&Table{
			Header:  Header{Name: "Child", SchemaID: SchemaDBO},
			Columns: []*Column{newColumn("parent", types.IntType, true)},
			ForeignKeys: []*ForeignKey{
				{
					Name: "FK_parent", Columns: []int{1}, Referenced: p.ObjectID, RefColumns: []int{1}, RefIndexID: 1,
					OnDelete: Cascade,
				},
			},
		})
		return nil
	}))
}

func TestTableLayout(t *testing.T) {
	f := newFixture(t, "")
	defer f.stop()
	f.tables()
	p, c := f.db().Table("DBO", "PARENT"), f.db().Table("dbo", "child")
	require.Equal(t, "id", p.RowIDColumn().Name)
	require.Equal(t, "id", p.IdentityColumn().Name)
	require.Equal(t, []int{1, 2, 3}, []int{p.Indexes[0].ID, p.Indexes[1].ID, p.Indexes[2].ID})
	name, child := "d5."+p.SQLName, "d5."+c.SQLName
	require.NoError(t, f.exec("INSERT INTO "+name+" VALUES (1, 'a', 1), (2, NULL, 9)"))
	require.Nil(t, f.value("SELECT last FROM d5.sys_identity"))

	for sql, kind := range map[string]store.ConstraintKind{
		"INSERT INTO " + name + " VALUES (3, NULL, 1)": store.Unique,
		"INSERT INTO " + name + " VALUES (3, 'A', 1)":  store.Unique,
		"INSERT INTO " + name + " VALUES (3, 'b', 0)":  store.Check,
		"INSERT INTO " + child + " VALUES (3)":         store.ForeignKey,
	} {
		var ce *store.ConstraintError
		require.ErrorAs(t, f.exec(sql), &ce, sql)
		require.Equal(t, kind, ce.Kind, sql)
		if kind == store.Check {
			con, ok := f.db().ConstraintByID(p.Checks[0].ObjectID)
			require.True(t, ok)
			require.Equal(t, "CK_qty", con.Name)
		}
	}
	con, ok := f.db().Constraint("dbo", "fk_PARENT")
	require.True(t, ok)
	require.Equal(t, KindForeignKey, con.Kind)
	require.True(t, f.db().Taken("dbo", "df_qty"))
}

// Unique keys of a table variable are constraints of its SQLite table, if constraints can replace
// all of them.
func TestKeysOfTableVariables(t *testing.T) {
	t.Parallel()
	table := func(name string, nullable bool) *Table {
		v := &Table{Temporary: true, Columns: []*Column{newColumn("a", types.IntType, false), newColumn("b", types.IntType, nullable)}}
		v.Name, v.SQLName = name, "x"
		v.Indexes = []*Index{
			{Name: "pk", Unique: true, Columns: []IndexColumn{{ColumnID: 1, Desc: true}, {ColumnID: 2}}},
			{Name: "ix", Columns: []IndexColumn{{ColumnID: 2}}},
		}
		Number(v)
		return v
	}
	require.Equal(t, []string{
		`CREATE TABLE main."x"(c1 INTEGER NOT NULL, c2 INTEGER NOT NULL, UNIQUE (c1 DESC, c2)) STRICT`,
		`CREATE INDEX main."i_x_3" ON "x"(c2)`,
	}, CreateSQL(store.LocalSchema, table("@x", false)))
	for _, other := range []*Table{table("@x", true), table("#x", false)} {
		sql := CreateSQL(store.LocalSchema, other)
		require.NotContains(t, sql[0], "UNIQUE")
		require.Contains(t, sql[1], "CREATE UNIQUE INDEX")
	}
}

func TestRollbackDiscardsEdit(t *testing.T) {
	f := newFixture(t, "")
	defer f.stop()
	before := f.db()
	boom := errors.New("boom")
	err := f.edit(func(e *Edit) error {
		e.AddTable(parentTable())
		d, err := e.Apply(t.Context(), f.conn)
		require.NoError(t, err)
		require.NotNil(t, d.Table("dbo", "Parent"), "the session sees its own uncommitted table")
		return boom
	})
	require.ErrorIs(t, err, boom)
	require.Same(t, before, f.db())
	require.Nil(t, before.Table("dbo", "Parent"))
	require.EqualValues(t, 0, f.value("SELECT count(*) FROM d5.sqlite_schema WHERE name GLOB 't[0-9]*'"))
}

func TestAlterTable(t *testing.T) {
	f := newFixture(t, "")
	defer f.stop()
	f.tables()
	p := f.db().Table("dbo", "Parent")
	name := "d5." + p.SQLName
	require.NoError(t, f.exec("INSERT INTO "+name+" VALUES (1, 'a', 1), (7, NULL, 9)"))
	require.NoError(t, f.exec("INSERT INTO d5."+f.db().Table("dbo", "Child").SQLName+" VALUES (7), (NULL)"))
	change := func(fill map[int]Fill, alter func(t *Table)) error {
		return f.edit(func(e *Edit) error {
			c := Clone(e.Database().Table("dbo", "Parent"))
			alter(c)
			return e.ReplaceTable(c, fill)
		})
	}
	// Altered in place: a nullable column and an index.
	root := f.value("SELECT rootpage FROM d5.sqlite_schema WHERE name = '" + p.SQLName + "'")
	require.NoError(t, change(map[int]Fill{4: {SQL: "c1 + ?", Args: []types.Value{int64(10)}}}, func(t *Table) {
		t.Columns = append(t.Columns, newColumn("extra", types.IntType, true))
		t.Indexes = append(t.Indexes, &Index{Name: "IX_extra", Columns: []IndexColumn{{ColumnID: 4}}})
	}))
	require.Equal(t, root, f.value("SELECT rootpage FROM d5.sqlite_schema WHERE name = '"+p.SQLName+"'"))
	require.EqualValues(t, 17, f.value("SELECT c4 FROM "+name+" WHERE c1 = 7"))
	require.EqualValues(t, 1, f.value("SELECT count(*) FROM d5.sqlite_schema WHERE name = 'i"+p.SQLName[1:]+"_4'"))

	// Rebuilt: another type, NOT NULL and a dropped column. The child's foreign key stays valid.
	require.NoError(t, change(map[int]Fill{
		3: {SQL: "CAST(c3 AS TEXT) || ?", Args: []types.Value{"!"}},
		4: {SQL: "c4 + ? - ?", Args: []types.Value{int64(5), int64(2)}},
	}, func(t *Table) {
		q := t.Column("qty")
		q.Type, q.SQLName = types.NVarCharOf(10), "c3_2"
		t.Checks, t.Indexes = nil, append(t.Indexes[:2:2], t.Indexes[3])
		t.Column("extra").Nullable = false
	}))
	require.Equal(t, "9!", f.value("SELECT c3_2 FROM "+name+" WHERE c1 = 7"))
	require.EqualValues(t, 20, f.value("SELECT c4 FROM "+name+" WHERE c1 = 7"))
	var ce *store.ConstraintError
	require.ErrorAs(t, f.exec("INSERT INTO d5."+f.db().Table("dbo", "Child").SQLName+" VALUES (8)"), &ce)
	require.ErrorAs(t, f.exec("INSERT INTO "+name+" VALUES (9, 'b', '', NULL)"), &ce)
	require.NoError(t, f.exec("DELETE FROM "+name+" WHERE c1 = 7"))
	require.EqualValues(t, 1, f.value("SELECT count(*) FROM d5."+f.db().Table("dbo", "Child").SQLName),
		"the update cascades to the child")

	// A constraint that existing rows violate is an error and changes nothing.
	before := f.db()
	require.ErrorAs(t, change(nil, func(t *Table) {
		t.Checks = append(t.Checks, &Check{Name: "CK_never", SQL: "c1 > 100"})
	}), &ce)
	require.Equal(t, store.Check, ce.Kind)
	require.Same(t, before, f.db())
	require.EqualValues(t, 1, f.value("SELECT count(*) FROM "+name))
	// An untrusted constraint is not checked.
	require.NoError(t, change(nil, func(t *Table) {
		t.Checks = append(t.Checks, &Check{Name: "CK_never", SQL: "c1 > 100", NotTrusted: true})
	}))
	require.ErrorAs(t, f.exec("INSERT INTO "+name+" VALUES (9, 'b', '', 1)"), &ce)
	// A foreign key that a row violates.
	require.NoError(t, f.exec("INSERT INTO "+name+" VALUES (900, '900', '', 1)"))
	require.ErrorAs(t, change(nil, func(t *Table) {
		t.ForeignKeys = append(t.ForeignKeys,
			&ForeignKey{Name: "FK_self", Columns: []int{4}, RefColumns: []int{1}, RefIndexID: 1})
	}), &ce)
	require.Equal(t, store.ForeignKey, ce.Kind)

	require.NoError(t, f.edit(func(e *Edit) error {
		e.Drop(e.Database().Table("dbo", "Child"))
		e.Drop(e.Database().Table("dbo", "Parent"))
		return nil
	}))
	require.EqualValues(t, 0, f.value("SELECT count(*) FROM d5.sqlite_schema WHERE name GLOB 't[0-9]*'"))
	require.False(t, f.db().Taken("dbo", "FK_parent"))
}

func TestPersistence(t *testing.T) {
	dir := t.TempDir()
	f := newFixture(t, dir)
	f.tables()
	require.NoError(t, f.edit(func(e *Edit) error {
		s := e.AddSchema("app", PrincipalDBO)
		u := &Principal{Name: "ann", Type: "S", SID: []byte{9}, DefaultSchema: "app"}
		e.PutPrincipal(u)
		e.AddMember(RoleDataReader, u.ID)
		p := &Procedure{
			Header: Header{Name: "p", SchemaID: s.ID, Kind: KindProcedure},
			Module: Module{Text: "CREATE PROC app.p AS SELECT 1", AnsiNulls: true},
			Params: []Param{{Name: "@a", Type: types.IntType, Default: "1", HasDefault: true}},
		}
		if err := e.Put(p); err != nil {
			return err
		}
		e.SetPermission(Permission{
			Securable: Securable{Class: ClassObject, Major: int(p.ObjectID)}, Grantee: u.ID, Grantor: PrincipalDBO,
			Name: "EXECUTE", State: 'G',
		})
		e.PutAlias(&AliasType{SchemaID: s.ID, Name: "code", Type: types.NVarCharOf(10)})
		e.PutCredential(&Credential{Name: "cred", Identity: "me"})
		if err := e.Put(&Sequence{
			Header: Header{Name: "seq", SchemaID: s.ID, Kind: KindSequence}, Type: types.BigIntType,
			Start: big.NewInt(5), Increment: big.NewInt(1), Min: big.NewInt(1), Max: big.NewInt(100),
		}); err != nil {
			return err
		}
		o := e.Database().Options
		o.ElasticPool = "pool1"
		e.SetOptions(o)
		return e.Put(&TableType{
			Header: Header{Name: "ids", SchemaID: s.ID, Kind: KindTableType},
			Table:  &Table{Columns: []*Column{newColumn("id", types.IntType, false)}},
		})
	}))
	// Logins are rows of master.
	m := f.cat.Snapshot().DatabaseByID(DatabaseMaster).Edit(testTime)
	require.NoError(t,
		m.PutLogin(&Login{Name: "ann", SID: []byte{9}, PasswordHash: HashPassword("pw"), DefaultDatabase: "jobs"}))
	require.NoError(t, f.conn.Databases.Attach(t.Context(), DatabaseMaster))
	d, err := m.Apply(t.Context(), f.conn)
	require.NoError(t, err)
	require.NoError(t, f.cat.Publish(d))

	before := f.db()
	copied := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, os.CopyFS(copied, os.DirFS(dir))) // the files of a killed process
	f.stop()

	f = newFixture(t, copied)
	defer f.stop()
	after := f.db()
	require.Equal(t, before.Version, after.Version)
	require.Equal(t, before.Options, after.Options)
	require.Equal(t, before.next, after.next)
	require.Equal(t, before.Table("dbo", "Parent"), after.Table("dbo", "Parent"))
	require.Equal(t, before.Table("dbo", "Child"), after.Table("dbo", "Child"))
	require.Equal(t, before.Procedure("app", "p"), after.Procedure("app", "p"))
	require.Equal(t, before.Sequence("app", "seq"), after.Sequence("app", "seq"))
	require.Equal(t, before.TableType("app", "ids"), after.TableType("app", "ids"))
	require.Nil(t, after.Object("app", "ids"), "types are not objects")
	require.Equal(t, before.AliasType("app", "CODE"), after.AliasType("app", "code"))
	require.Equal(t, before.Permissions, after.Permissions)
	require.Equal(t, before.Principals.Memberships, after.Principals.Memberships)
	require.Equal(t, before.Credential("cred"), after.Credential("CRED"))
	require.Equal(t, before.conByName, after.conByName)
	l := f.cat.Snapshot().Login("ANN")
	require.True(t, CheckPassword(l.PasswordHash, "pw"))
	require.False(t, CheckPassword(l.PasswordHash, "PW"))
	require.Equal(t, "ann", after.Principals.OfLogin(l.SID).Name)
	require.True(t, CheckPassword(f.cat.Snapshot().Login("sa").PasswordHash, "secret"))

	require.NoError(t, f.cat.DropDatabase(after))
	require.Nil(t, f.db())
	require.NoFileExists(t, f.store.Path(after.ID))
}

func TestDatabases(t *testing.T) {
	f := newFixture(t, "")
	defer f.stop()
	_, err := f.cat.CreateDatabase(t.Context(), "JOBS", SAID, Options{}, testTime)
	require.ErrorIs(t, err, mserr.DatabaseExists(""))
	d, err := f.cat.CreateDatabase(t.Context(), "other", SAID, Options{}, testTime)
	require.NoError(t, err)
	require.Equal(t, 6, d.ID)
	require.NoError(t, f.conn.Databases.Attach(t.Context(), d.ID))
	e := d.Edit(testTime)
	e.Rename("jobs")
	d, err = e.Apply(t.Context(), f.conn)
	require.NoError(t, err)
	require.ErrorIs(t, f.cat.Publish(d), mserr.DatabaseExists(""))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = f.cat.CreateDatabase(ctx, "late", SAID, Options{}, testTime)
	require.ErrorIs(t, err, context.Canceled)
	require.Nil(t, f.cat.Snapshot().Database("late"))
}

func TestPermissions(t *testing.T) {
	d := emptyDatabase(5, "x", testTime)
	e := d.Edit(testTime)
	s := e.AddSchema("app", PrincipalDBO)
	user := &Principal{Name: "u", Type: "S"}
	role := &Principal{Name: "r", Type: "R"}
	e.PutPrincipal(user)
	e.PutPrincipal(role)
	e.AddMember(role.ID, user.ID)
	p := &Procedure{Header: Header{Name: "p", SchemaID: s.ID, Kind: KindProcedure}}
	require.NoError(t, e.Put(p))
	d = e.Database()
	object, schema := Securable{ClassObject, int(p.ObjectID), 0}, Securable{ClassSchema, s.ID, 0}
	grant := func(on Securable, name string, state byte) {
		e := d.Edit(testTime)
		e.SetPermission(Permission{Securable: on, Grantee: role.ID, Name: name, State: state})
		d = e.Database()
	}
	require.Equal(t, Granted, d.Check(PrincipalDBO, "EXECUTE", object))
	require.Equal(t, NotGranted, d.Check(user.ID, "EXECUTE", object))
	grant(schema, "EXECUTE", 'G')
	require.Equal(t, Granted, d.Check(user.ID, "EXECUTE", object))
	require.Equal(t, NotGranted, d.Check(user.ID, "ALTER", object))
	grant(object, "EXECUTE", 'D')
	require.Equal(t, Denied, d.Check(user.ID, "EXECUTE", object))
	grant(Securable{}, "ALTER", 'G')
	require.Equal(t, Granted, d.Check(user.ID, "ALTER", object))
	require.Equal(t, Granted, d.Check(user.ID, "CREATE TABLE", Securable{}))
	e = d.Edit(testTime)
	e.AddMember(RoleDataReader, role.ID)
	e.AddMember(RoleDenyDataWriter, user.ID)
	d = e.Database()
	require.Equal(t, Granted, d.Check(user.ID, "SELECT", object))
	require.Equal(t, Denied, d.Check(user.ID, "INSERT", object))
	e = d.Edit(testTime)
	e.AddMember(RoleOwner, user.ID)
	require.Equal(t, Granted, e.Database().Check(user.ID, "INSERT", object))
	e.DropPrincipal(role)
	require.Empty(t, e.Database().Permissions)
	require.Equal(t, []Membership{{RoleDenyDataWriter, user.ID}, {RoleOwner, user.ID}}, e.Database().Principals.Memberships)
	require.Error(t, e.DropSchema(s))
}

func TestForeignKeyAt(t *testing.T) {
	f := newFixture(t, "")
	defer f.stop()
	f.tables()
	parent := f.db().Table("dbo", "Parent")
	require.NoError(t, f.edit(func(e *Edit) error {
		var keys []*ForeignKey
		for _, name := range []string{"FK_1", "FK_2", "FK_3"} {
			keys = append(keys,
				&ForeignKey{
					Name: name, Columns: []int{len(keys) + 1}, Referenced: parent.ObjectID, RefColumns: []int{1},
					RefIndexID: 1, Disabled: name == "FK_2",
				})
		}
		e.AddTable(&Table{Header: Header{Name: "Three", SchemaID: SchemaDBO}, ForeignKeys: keys,
			Columns: []*Column{
				newColumn("a", types.IntType, true), newColumn("b", types.IntType, true),
				newColumn("c", types.IntType, true),
			}})
		return nil
	}))
	three := f.db().Table("dbo", "Three")
	require.NoError(t, f.conn.Begin(t.Context()))
	for values, want := range map[string]string{"(9, 9, NULL)": "FK_1", "(NULL, 9, 9)": "FK_3"} {
		child, up, index, err := store.FindForeignKey(t.Context(), f.conn, f.db().ID, []string{three.SQLName}, func() error {
			return f.exec("INSERT INTO d5." + three.SQLName + " VALUES " + values)
		})
		require.NoError(t, err)
		require.Equal(t, three.SQLName, child)
		require.Equal(t, parent.SQLName, up)
		require.Equal(t, want, three.ForeignKeyAt(index).Name)
	}
	require.NoError(t, f.conn.Rollback())
	require.Nil(t, three.ForeignKeyAt(2))
}

func TestVersionsAreUnique(t *testing.T) {
	d := emptyDatabase(5, "x", testTime)
	require.NotEqual(t, d.Edit(testTime).Database().Version, d.Edit(testTime).Database().Version)
}

func TestSystemName(t *testing.T) {
	require.Regexp(t, `^PK__Customer__[0-9A-F]{16}$`, SystemName("PK", "Customers", "", 77))
	require.Regexp(t, `^DF__Customers__Count__[0-9A-F]{8}$`, SystemName("DF", "CustomersOld", "Counter", 77))
	require.NotEqual(t, SystemName("PK", "t", "", 1), SystemName("PK", "t", "", 2))
}

// FuzzLoadRow: a damaged file gives an error, not a panic.
func FuzzLoadRow(f *testing.F) {
	f.Add(defObject+"U", `{"ObjectID":5,"Columns":[{"Name":"a","ID":1}],"Indexes":[{"ID":1,"Key":{"Primary":true}}]}`)
	f.Add(defObject+"SO", `{"ObjectID":6,"Start":1}`)
	f.Add(defSchema, `{"ID":5,"Name":"app"}`)
	f.Add(defMember, `[{"Role":1,"Member":2}]`)
	f.Add(defLogin, `null`)
	f.Fuzz(func(_ *testing.T, kind, body string) {
		_ = loadRow(emptyDatabase(5, "x", testTime), kind, []byte(body))
	})
}

// TestCheckPasswordTakesAsLongWithoutAHash: an invalid hash takes as long as a valid one.
func TestCheckPasswordTakesAsLongWithoutAHash(t *testing.T) {
	stored := HashPassword("pw")
	password := strings.Repeat("x", 128)
	work := func(hash []byte) float64 {
		return testing.AllocsPerRun(100, func() {
			if CheckPassword(hash, password) {
				t.Error("a wrong password passes")
			}
		})
	}
	want := work(stored)
	require.NotZero(t, want)
	for name, hash := range map[string][]byte{
		"none": nil, "cut": stored[:10], "another version": append([]byte{1, 0}, stored[2:]...),
	} {
		require.Equal(t, want, work(hash), name)
	}
	require.False(t, CheckPassword(dummyHash, ""))
}
