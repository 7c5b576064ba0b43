package sysviews

import (
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testTime = 638000000000000000

// column returns a column.
func column(name string, t types.Type, nullable bool) *catalog.Column {
	return &catalog.Column{Column: types.Column{Name: name, Type: t, Nullable: nullable}}
}

// parent returns dbo.Parent(id int identity primary key, name nvarchar(20) unique, qty int check >
// 0 default 1), with a filtered index of qty.
func parent() *catalog.Table {
	id := column("id", types.IntType, false)
	id.Auto, id.Identity = &catalog.Identity{Seed: 1, Increment: 1}, true
	qty := column("qty", types.IntType, false)
	qty.Default = &catalog.Default{Name: "DF_qty", Text: "((1))"}
	return &catalog.Table{
		Header:  catalog.Header{Name: "Parent", SchemaID: catalog.SchemaDBO},
		Columns: []*catalog.Column{id, column("name", types.NVarCharOf(20), true), qty},
		Indexes: []*catalog.Index{
			{
				Name: "PK_Parent", Unique: true, Clustered: true, Columns: []catalog.IndexColumn{{ColumnID: 1}},
				Key: &catalog.Key{Name: "PK_Parent", Primary: true},
			},
			{Name: "UQ_name", Unique: true, Columns: []catalog.IndexColumn{{ColumnID: 2}}, Key: &catalog.Key{Name: "UQ_name"}},
			{
				Name: "IX_qty", Columns: []catalog.IndexColumn{{ColumnID: 3, Desc: true}}, Included: []int{2},
				Filter: "([qty]>(5))", FilterSQL: "c3 > 5",
			},
		},
		Checks: []*catalog.Check{{Name: "CK_qty", Text: "([qty]>(0))", SQL: "c3 > 0"}},
	}
}

// define adds to a database dbo.Parent, dbo.Child with a foreign key to it, a sequence, a procedure
// and a table type.
func define(e *catalog.Edit) error {
	p := parent()
	e.AddTable(p)
	e.AddTable(&catalog.Table{
		Header:  catalog.Header{Name: "Child", SchemaID: catalog.SchemaDBO},
		Columns: []*catalog.Column{column("parent", types.IntType, true)},
		ForeignKeys: []*catalog.ForeignKey{
			{Name: "FK_parent", Columns: []int{1}, Referenced: p.ObjectID, RefColumns: []int{1}, RefIndexID: 1},
		},
	})
	for _, o := range []catalog.Object{
		&catalog.Sequence{
			Header: catalog.Header{Name: "seq", SchemaID: catalog.SchemaDBO, Kind: catalog.KindSequence}, Type: types.DecimalOf(20, 0),
			Start: big.NewInt(5), Increment: big.NewInt(1), Min: big.NewInt(1), Max: big.NewInt(100),
		},
		&catalog.Procedure{
			Header: catalog.Header{Name: "p", SchemaID: catalog.SchemaDBO, Kind: catalog.KindProcedure},
			Module: catalog.Module{Text: "CREATE PROC p"}, Params: []catalog.Param{{Name: "@a", Type: types.IntType}},
		},
		&catalog.TableType{
			Header: catalog.Header{Name: "ids", SchemaID: catalog.SchemaDBO, Kind: catalog.KindTableType}, Table: parent(),
		},
	} {
		if err := e.Put(o); err != nil {
			return err
		}
	}
	return nil
}

func TestSystemTables(t *testing.T) {
	ctx := t.Context()
	st, err := store.Open(ctx, store.Config{})
	require.NoError(t, err)
	cat, err := catalog.Open(ctx, st, "secret", testTime)
	require.NoError(t, err)
	db, err := cat.CreateDatabase(ctx, "jobs", catalog.SAID, catalog.Options{Collation: catalog.DefaultCollation}, testTime)
	require.NoError(t, err)
	conn, err := st.Acquire(ctx)
	require.NoError(t, err)
	defer func() {
		st.Release(conn)
		require.NoError(t, st.Close())
	}()
	require.NoError(t, conn.Databases.Attach(ctx, db.ID))
	require.NoError(t, conn.Begin(ctx))
	e := db.Edit(testTime)
	require.NoError(t, define(e))
	db, err = e.Apply(ctx, conn)
	require.NoError(t, err)
	require.NoError(t, conn.Commit())
	require.NoError(t, cat.Publish(db))
	value := func(sql string) types.Value {
		row, err := conn.QueryRow(ctx, sql, nil)
		require.NoError(t, err, sql)
		require.NotEmpty(t, row, sql)
		return row[0]
	}

	env := &Env{
		Snapshot: cat.Snapshot(), Database: db, SeeAll: true, SeeLogins: true, SeeSessions: true, Conn: conn,
		Sessions: func() []SessionRow {
			return []SessionRow{{ID: 51, SID: catalog.SAID, Command: "SELECT", ConnectionID: make([]byte, 16)}}
		},
		Locks: func() []LockInfo { return []LockInfo{{DatabaseID: 5, Application: "app", Mode: "X"}} },
		Path:  func(int) string { return "none" },
		Shape: func(*SystemView) ([]types.Column, error) { return nil, nil },
	}
	for _, name := range SystemNames() {
		st := registry().entries[name].read().table
		if st == nil {
			continue
		}
		require.NoError(t, st.Materialize(ctx, env, name), name)
		require.NoError(t, st.Materialize(ctx, env, name), name)
		schema, object, ok := SystemObjectName(SystemObjectID(st.Schema, st.Name))
		require.True(t, ok)
		require.Equal(t, st.Schema+"."+st.Name, schema+"."+object)
	}
	require.EqualValues(t, 7,
		value(`SELECT count(*) FROM "sys.objects" WHERE c2 > 0 AND c6 IN ('U ', 'PK', 'UQ', 'C ', 'F ', 'D ')`))
	require.EqualValues(t, 4, value(`SELECT count(*) FROM "sys.columns" c JOIN "sys.tables" t ON t.c2 = c.c1`))
	require.EqualValues(t, 2, value(`SELECT count(*) FROM "sys.tables"`))
	require.EqualValues(t, 5, value(`SELECT count(*) FROM "sys.partitions"`)) // including sqlite_schema

	// A user without permissions sees nothing: the table is filled again for the user.
	e = db.Edit(testTime)
	u := &catalog.Principal{Name: "u", Type: "S"}
	e.PutPrincipal(u)
	e.SetPermission(catalog.Permission{
		Securable: catalog.Securable{Class: catalog.ClassObject, Major: int(db.Table("dbo", "Child").ObjectID)}, Grantee: u.ID,
		Name: "SELECT", State: 'G',
	})
	env.SeeAll, env.SeeLogins, env.Principal, env.Database = false, false, u.ID, e.Database()
	require.NoError(t, FindSystemTable("sys", "tables").Materialize(ctx, env, "sys.tables"))
	require.EqualValues(t, 1, value(`SELECT count(*) FROM "sys.tables"`))
}
