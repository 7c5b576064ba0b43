package builtin

import (
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// fakeEnv is a session with one database (id 5, "shop"), one table dbo.items (id 100), and a CATCH
// block for error 50001.
type fakeEnv struct{}

func newFakeEnv() Env { return fakeEnv{} }

func (fakeEnv) Now() int64       { return types.Days(2024, 5, 6)*types.TicksPerDay + 256891234567 }
func (fakeEnv) LocalOffset() int { return 120 }
func (fakeEnv) Random(seed *int64) float64 {
	if seed != nil {
		return 0.25
	}
	return 0.5
}
func (fakeEnv) SPID() int                { return 51 }
func (fakeEnv) HostName() string         { return "host" }
func (fakeEnv) OriginalDatabase() string { return "db" }
func (fakeEnv) HostProcess() int64       { return 42 }
func (fakeEnv) AppName() string          { return "app" }
func (fakeEnv) Login() string            { return "ann" }
func (fakeEnv) OriginalLogin() string    { return "sa" }
func (fakeEnv) ServerName() string       { return "tsqld" }
func (fakeEnv) ServerProperty(name string) (types.Value, types.Type, bool) {
	if strings.EqualFold(name, "ProductVersion") {
		return "15.0.4000.0", types.SysName, true
	}
	return nil, types.Type{}, false
}
func (fakeEnv) ConnectionProperty(string) (types.Value, types.Type, bool) {
	return nil, types.Type{}, false
}
func (fakeEnv) RowCount() int64  { return 3 }
func (fakeEnv) LastError() int32 { return 0 }
func (fakeEnv) Caught() *Caught {
	return &Caught{Number: 50001, Severity: 16, State: 2, Line: 7, Message: "no"}
}
func (fakeEnv) Identity(scope bool) types.Value {
	if scope {
		return nil
	}
	return identityValue(42)
}
func (fakeEnv) TranCount() int                         { return 1 }
func (fakeEnv) XactState() int                         { return -1 }
func (fakeEnv) TransactionID() int64                   { return 99 }
func (fakeEnv) NestLevel() int                         { return 2 }
func (fakeEnv) ProcID() int32                          { return 0 }
func (fakeEnv) TriggerNestLevel(int32, bool, bool) int { return 0 }
func (fakeEnv) ColumnsUpdated() ([]byte, bool)         { return nil, false }
func (fakeEnv) FetchStatus() int                       { return -1 }
func (fakeEnv) CursorRows() int                        { return 0 }
func (fakeEnv) LastRowVersion() ([]byte, error)        { return []byte{0, 0, 0, 0, 0, 0, 7, 208}, nil }
func (fakeEnv) CursorStatus(string, string) int        { return -3 }
func (fakeEnv) Options() int                           { return 5496 }
func (fakeEnv) Option(name string) int {
	return map[string]int{"LOCK_TIMEOUT": -1, "DATEFIRST": 7}[name]
}
func (fakeEnv) Locale() types.Locale { return types.Locale{} }
func (fakeEnv) SessionContext(key string) types.Value {
	if key != "tenant" {
		return nil
	}
	v, _ := types.VariantPack("x", types.NVarCharOf(10))
	return v
}
func (fakeEnv) ContextInfo() []byte                { return nil }
func (fakeEnv) ApplockMode(_, _, _ string) string  { return "NoLock" }
func (fakeEnv) ApplockTest(_, _, _, _ string) bool { return true }
func (fakeEnv) DatabaseByName(name string) (int, bool) {
	return 5, name == "" || strings.EqualFold(name, "shop")
}
func (fakeEnv) DatabaseByID(id int) (string, bool) { return "shop", id == 0 || id == 5 }
func (fakeEnv) DatabaseProperty(_, property string) (types.Value, types.Type, bool) {
	return "ONLINE", types.SysName, strings.EqualFold(property, "Status")
}
func (fakeEnv) items() Object {
	return Object{ID: 100, Name: "items", Schema: "dbo", SchemaID: 1, Kind: "U"}
}
func (e fakeEnv) ObjectByName(_, schema, name string) (Object, bool) {
	return e.items(), (schema == "" || strings.EqualFold(schema, "dbo")) && strings.EqualFold(name, "items")
}
func (e fakeEnv) ObjectByID(_ int, id int32) (Object, bool) { return e.items(), id == 100 }
func (fakeEnv) ObjectDefinition(int32) (string, bool)       { return "", false }
func (fakeEnv) Columns(_ int, id int32) []Column {
	if id != 100 {
		return nil
	}
	return []Column{{ID: 1, Name: "id", Type: types.IntType, Identity: true}, {ID: 2, Name: "name", Type: types.NVarCharOf(20), Nullable: true}}
}
func (fakeEnv) IndexProperty(int32, string, string) types.Value { return int64(1) }
func (fakeEnv) IndexColumn(_ int32, _, column int) (KeyColumn, bool) {
	return KeyColumn{ID: 1, Name: "id"}, column == 1
}
func (fakeEnv) Files() []File {
	return []File{{ID: 1, Name: "shop"}, {ID: 2, Name: "shop_log", Log: true}}
}
func (fakeEnv) TypeAllowsNull(id int32) bool { return id == 257 }
func (fakeEnv) LoginProperty(login, property string) (types.Value, types.Type, bool) {
	return int64(0), types.IntType, login == "ann" && property == "IsLocked"
}
func (fakeEnv) ObjectFlag(_ int32, property string) (int, bool) {
	return 1, property == "TableHasIdentity"
}
func (fakeEnv) SchemaByName(name string) (int32, bool) { return 1, name == "" || name == "dbo" }
func (fakeEnv) SchemaByID(id int32) (string, bool)     { return "dbo", id == 1 }
func (fakeEnv) TypeByName(_, name string) (int32, types.Type, bool) {
	return 257, types.VarCharOf(9), name == "phone"
}
func (fakeEnv) TypeByID(id int32) (string, bool) { return "phone", id == 257 }
func (fakeEnv) IdentCurrent(_, table string) (types.Value, types.Value, types.Value, bool) {
	return identityValue(7), identityValue(1), identityValue(2), table == "items"
}
func (fakeEnv) DefaultSchema() string                { return "dbo" }
func (fakeEnv) UserByName(name string) (int32, bool) { return 5, name == "" || name == "ann" }
func (fakeEnv) UserByID(id int32) (string, bool)     { return "ann", id == 0 || id == 5 }
func (fakeEnv) LoginByName(name string) (int32, []byte, bool) {
	return 259, []byte{1, 2}, name == "" || name == "ann"
}
func (fakeEnv) LoginByID(id int32) (string, bool)              { return "ann", id == 259 }
func (fakeEnv) LoginBySID(sid []byte) (string, bool)           { return "ann", len(sid) == 2 }
func (fakeEnv) IsRoleMember(role, _ string) (bool, bool)       { return role == "db_owner", role != "nope" }
func (fakeEnv) IsServerRoleMember(role, _ string) (bool, bool) { return role == "sysadmin", true }
func (fakeEnv) HasPermission(_, _, permission, _ string) (bool, bool) {
	return permission == "SELECT", true
}
func (fakeEnv) HasDatabaseAccess(name string) (bool, bool) { return true, name == "shop" }

// TestSession covers the functions of the session, its objects and principals.
func TestSession(t *testing.T) {
	check(t, []functionCase{
		{"@@ROWCOUNT", nil, "int", "3"}, {"@@SPID", nil, "smallint", "51"}, {"@@TRANCOUNT", nil, "int", "1"},
		{"XACT_STATE", nil, "smallint", "-1"}, {"@@IDENTITY", nil, "numeric(38,0)", "42"},
		{"SCOPE_IDENTITY", nil, "numeric(38,0)", "NULL"},
		{"@@LOCK_TIMEOUT", nil, "int", "-1"}, {"@@DATEFIRST", nil, "tinyint", "7"},
		{"@@LANGUAGE", nil, "nvarchar(128)", "us_english"}, {"ERROR_NUMBER", nil, "int", "50001"},
		{"ERROR_PROCEDURE", nil, "", "NULL"}, {"ERROR_MESSAGE", nil, "nvarchar(4000)", "no"},
		{"IDENT_CURRENT", []string{"'dbo.items'"}, "numeric(38,0)", "7"},
		{"IDENT_INCR", []string{"'items'"}, "", "2"}, {"IDENT_SEED", []string{"'nope'"}, "", "NULL"},
		{"SESSION_CONTEXT", []string{"N'tenant'"}, "sql_variant", "x"},
		{"SESSION_CONTEXT", []string{"N'none'"}, "", "NULL"},
		{"SERVERPROPERTY", []string{"'productversion'"}, "sql_variant", "15.0.4000.0"},
		{"SERVERPROPERTY", []string{"'nope'"}, "", "NULL"}, {"SESSIONPROPERTY", []string{"'ANSI_NULLS'"}, "", "1"},
		{"APPLOCK_MODE", []string{"'public'", "'r'", "'Session'"}, "nvarchar(32)", "NoLock"},
		{"DB_ID", nil, "smallint", "5"}, {"DB_ID", []string{"'none'"}, "", "NULL"},
		{"DB_NAME", nil, "nvarchar(128)", "shop"}, {"DB_NAME", []string{"9"}, "", "NULL"},
		{"DATABASEPROPERTYEX", []string{"'shop'", "'Status'"}, "sql_variant", "ONLINE"},
		{"OBJECT_ID", []string{"N'dbo.items'"}, "int", "100"},
		{"OBJECT_ID", []string{"N'[dbo].[items]'", "N'U'"}, "", "100"},
		{"OBJECT_ID", []string{"N'dbo.items'", "N'P'"}, "", "NULL"},
		{"OBJECT_ID", []string{"N'dbo.nope'"}, "", "NULL"},
		{"OBJECT_NAME", []string{"100"}, "nvarchar(128)", "items"},
		{"OBJECT_SCHEMA_NAME", []string{"100"}, "", "dbo"},
		{"OBJECTPROPERTY", []string{"100", "'IsUserTable'"}, "int", "1"},
		{"OBJECTPROPERTY", []string{"100", "'IsView'"}, "", "0"},
		{"OBJECTPROPERTY", []string{"100", "'TableHasIdentity'"}, "", "1"},
		{"OBJECTPROPERTY", []string{"100", "'x'"}, "", "NULL"},
		{"OBJECTPROPERTYEX", []string{"100", "'BaseType'"}, "sql_variant", "U "}, {"SCHEMA_NAME", nil, "", "dbo"},
		{"SCHEMA_ID", []string{"'dbo'"}, "int", "1"}, {"COL_NAME", []string{"100", "2"}, "", "name"},
		{"COL_LENGTH", []string{"'dbo.items'", "'NAME'"}, "smallint", "40"},
		{"COL_LENGTH", []string{"'dbo.items'", "'x'"}, "", "NULL"},
		{"COLUMNPROPERTY", []string{"100", "'id'", "'IsIdentity'"}, "int", "1"},
		{"COLUMNPROPERTY", []string{"100", "'name'", "'AllowsNull'"}, "", "1"},
		{"COLUMNPROPERTY", []string{"100", "'name'", "'nope'"}, "", "NULL"},
		{"INDEX_COL", []string{"'dbo.items'", "1", "1"}, "", "id"},
		{"TYPE_ID", []string{"'nvarchar'"}, "int", "231"}, {"TYPE_ID", []string{"'phone'"}, "", "257"},
		{"TYPE_NAME", []string{"36"}, "", "uniqueidentifier"}, {"TYPE_NAME", []string{"257"}, "", "phone"},
		{"TYPEPROPERTY", []string{"'phone'", "'Precision'"}, "", "9"},
		{"USER_NAME", nil, "", "ann"}, {"CURRENT_USER", nil, "", "ann"}, {"SUSER_SNAME", nil, "", "ann"},
		{"SYSTEM_USER", nil, "", "ann"}, {"ORIGINAL_LOGIN", nil, "", "sa"},
		{"SUSER_SID", nil, "varbinary(85)", "0x0102"}, {"SUSER_SNAME", []string{"0x0102"}, "", "ann"},
		{"USER_ID", []string{"'nobody'"}, "", "NULL"},
		{"IS_MEMBER", []string{"'db_owner'"}, "int", "1"}, {"IS_MEMBER", []string{"'nope'"}, "", "NULL"},
		{"IS_SRVROLEMEMBER", []string{"'public'"}, "", "0"},
		{"HAS_PERMS_BY_NAME", []string{"'dbo.items'", "'OBJECT'", "'select'"}, "int", "1"},
		{"HAS_DBACCESS", []string{"'nope'"}, "", "NULL"},
		{"SQL_VARIANT_PROPERTY", []string{"1.50", "'BaseType'"}, "", "numeric"},
		{"SQL_VARIANT_PROPERTY", []string{"1.50", "'Precision'"}, "", "3"}, {"HOST_NAME", nil, "", "host"},
		{"APP_NAME", nil, "", "app"}, {"GETANSINULL", nil, "", "1"},
	})
	require.Contains(t, Version, "tsqld")
}

// TestTable checks the shape of every entry: it has a result rule, and an implementation unless it
// is an aggregate or window function; NULLs of every type cause no panic. The compiler has the
// rules of functions that do not evaluate all arguments.
func TestTable(t *testing.T) {
	all := append(types.ByID(), types.NullType)
	for name, f := range table {
		if slices.Contains([]string{"ISNULL", "COALESCE", "NULLIF", "CHOOSE"}, name) {
			require.Nil(t, f.Result, name)
			continue
		}
		require.Equal(t, strings.ToUpper(name), name)
		require.NotNil(t, f.Result, name)
		require.LessOrEqual(t, f.MinArgs, f.MaxArgs, name)
		if f.Kind != Scalar {
			continue
		}
		require.NotEqual(t, f.Eval == nil, f.Long == nil, name)
		n := f.MinArgs
		for _, typ := range all {
			ts := make([]types.Type, n)
			vs := make([]types.Value, n)
			for i := range ts {
				ts[i] = typ
			}
			if f.DatePart {
				ts[0], vs[0] = types.VarCharOf(4), "year"
			}
			r, err := f.ResultType(ts, nil)
			if err != nil {
				require.NotZero(t, errNumber(err), "%s(%v): %v", name, typ, err)
				continue
			}
			_, err = f.Call(nil, fakeEnv{}, ts, r, vs)
			if err != nil {
				require.NotZero(t, errNumber(err), "%s(%v): %v", name, typ, err)
			}
		}
	}
	_, ok := Lookup("GetDate")
	require.True(t, ok)
	require.NotEmpty(t, Names())
}

// identityValue is an identity as a decimal(38,0).
func identityValue(n int64) types.Value {
	v, _ := types.DecimalValue(big.NewInt(n), identityType)
	return v
}
