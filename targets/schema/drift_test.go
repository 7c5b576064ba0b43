package schema_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/drift"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/targets/question"
	"github.com/jobagent/jobagent/targets/schema"
)

// base is a schema with one object of each kind, or more.
const base = `CREATE SCHEMA sales;
GO
CREATE TYPE dbo.Code FROM nvarchar(12) NOT NULL;
GO
CREATE TYPE dbo.IDs AS TABLE (id int NOT NULL PRIMARY KEY, note nvarchar(20) NULL);
GO
CREATE SEQUENCE dbo.Numbers AS bigint START WITH 5 INCREMENT BY 2 MINVALUE 1 MAXVALUE 1000 CACHE 10;
GO
CREATE TABLE dbo.Customers (id int IDENTITY(1, 1) NOT NULL CONSTRAINT PK_Customers PRIMARY KEY, name nvarchar(100) NOT NULL,
    code varchar(20) COLLATE Latin1_General_BIN2 NULL, CONSTRAINT UQ_Customers_name UNIQUE (name));
CREATE TABLE dbo.Orders (id bigint NOT NULL PRIMARY KEY NONCLUSTERED, customer int NOT NULL, Date datetime2(3) NOT NULL DEFAULT SYSUTCDATETIME(),
    amount decimal(18, 2) NULL, total AS (amount * 2), state tinyint NOT NULL CONSTRAINT DF_Orders_state DEFAULT 0,
    CONSTRAINT FK_Orders_Customers FOREIGN KEY (customer) REFERENCES dbo.Customers (id) ON DELETE CASCADE,
    CONSTRAINT CK_Orders_amount CHECK (amount > 0), CHECK (state < 9));
CREATE INDEX IX_Orders_Date ON dbo.Orders (Date DESC, customer) INCLUDE (amount, state) WHERE state = 1 WITH (FILLFACTOR = 80);
CREATE CLUSTERED INDEX CX_Orders ON dbo.Orders (customer);
CREATE TABLE sales.Regions (id int NOT NULL, name nvarchar(50) NULL);
CREATE UNIQUE INDEX UX_Regions ON sales.Regions (id);
CREATE SYNONYM dbo.Areas FOR sales.Regions;
GO
CREATE VIEW dbo.Open_Orders AS SELECT id, customer FROM dbo.Orders WHERE state = 1;
GO
CREATE FUNCTION dbo.Twice (@n int) RETURNS int AS BEGIN RETURN @n * 2; END;
GO
CREATE PROCEDURE dbo.GetOrder @id bigint AS
SELECT id, amount FROM dbo.Orders WHERE id = @id;
GO
CREATE TRIGGER dbo.TR_Orders ON dbo.Orders AFTER INSERT AS SET NOCOUNT ON;
GO
CREATE ROLE readers;
GRANT SELECT ON dbo.Orders TO readers;
`

// plants are changes of one database of the schema base, with the words that say so. A second line
// of words is a detail.
var plants = []struct {
	script string
	fixed  bool // the statements of the differences undo the change
	words  []string
}{
	{"CREATE SCHEMA extra", false, []string{
		"1 has schema extra in addition",
	}},
	{"DROP TYPE dbo.Code", false, []string{
		"1 lacks type dbo.Code",
	}},
	{"DROP TYPE dbo.IDs; CREATE TYPE dbo.IDs AS TABLE (id bigint NOT NULL PRIMARY KEY, note nvarchar(20) NULL)", false, []string{
		"1 has another type dbo.IDs",
		"  column id: nullability: not null; type: bigint in place of nullability: not null; type: int",
	}},
	{"ALTER SEQUENCE dbo.Numbers INCREMENT BY 3", false, []string{
		"1 has another sequence dbo.Numbers",
		"  increment: 3 in place of 2",
	}},
	{"CREATE TABLE dbo.Extra (id int NOT NULL PRIMARY KEY, n int DEFAULT 1)", false, []string{
		"1 has table dbo.Extra in addition",
	}},
	{"DROP SYNONYM dbo.Areas; DROP TABLE sales.Regions", false, []string{
		"1 lacks table sales.Regions",
		"1 lacks synonym dbo.Areas",
	}},
	{"ALTER TABLE sales.Regions ADD more int NULL", false, []string{
		"1 has column more of sales.Regions in addition",
	}},
	{"ALTER TABLE sales.Regions DROP COLUMN name", true, []string{
		"1 lacks column name of sales.Regions",
	}},
	{"ALTER TABLE sales.Regions ALTER COLUMN name nvarchar(60) NULL", false, []string{
		"1 has another column name of sales.Regions",
		"  type: nvarchar(60) in place of nvarchar(50)",
	}},
	{"ALTER TABLE sales.Regions ALTER COLUMN name nvarchar(50) NOT NULL", false, []string{
		"1 has another column name of sales.Regions",
		"  nullability: not null in place of null",
	}},
	{"ALTER TABLE dbo.Customers ALTER COLUMN code varchar(20) COLLATE Latin1_General_CI_AS NULL", false, []string{
		"1 has another column code of dbo.Customers",
		"  collation: Latin1_General_CI_AS in place of Latin1_General_BIN2",
	}},
	{"ALTER TABLE dbo.Orders DROP COLUMN total; ALTER TABLE dbo.Orders ADD total AS (amount * 3)", false, []string{
		"1 has another table dbo.Orders",
		"  column order: [id], [customer], [Date], [amount], [state], [total] in place of [id], [customer], [Date], [amount], [total], [state]",
		"1 has another column total of dbo.Orders",
		"  computed: ([amount]*(3)) in place of ([amount]*(2))",
	}},
	{"DROP SYNONYM dbo.Areas; DROP TABLE sales.Regions; CREATE TABLE sales.Regions (id int IDENTITY(5, 1) NOT NULL, name nvarchar(50) NULL); CREATE UNIQUE INDEX UX_Regions ON sales.Regions (id); CREATE SYNONYM dbo.Areas FOR sales.Regions", false, []string{
		"1 has another column id of sales.Regions",
		"  identity: (5, 1) in place of nothing",
	}},
	{"DROP SYNONYM dbo.Areas; DROP TABLE sales.Regions; CREATE TABLE sales.Regions (name nvarchar(50) NULL, id int NOT NULL); CREATE UNIQUE INDEX UX_Regions ON sales.Regions (id); CREATE SYNONYM dbo.Areas FOR sales.Regions", false, []string{
		"1 has another table sales.Regions",
		"  column order: [name], [id] in place of [id], [name]",
	}},
	{"ALTER TABLE dbo.Orders DROP CONSTRAINT DF_Orders_state", true, []string{
		"1 lacks default of column state of dbo.Orders",
	}},
	{"ALTER TABLE dbo.Orders DROP CONSTRAINT DF_Orders_state; ALTER TABLE dbo.Orders ADD CONSTRAINT DF_Orders_state DEFAULT 1 FOR state", false, []string{
		"1 has another default of column state of dbo.Orders",
		"  definition: ((1)) in place of ((0))",
	}},
	{"ALTER TABLE dbo.Orders DROP CONSTRAINT DF_Orders_state; ALTER TABLE dbo.Orders ADD CONSTRAINT DF_other DEFAULT 0 FOR state", false, []string{
		"1 has another default of column state of dbo.Orders",
		"  name: DF_other in place of DF_Orders_state",
	}},
	{"ALTER TABLE dbo.Orders DROP CONSTRAINT CK_Orders_amount", true, []string{
		"1 lacks check constraint CK_Orders_amount of dbo.Orders",
	}},
	{"ALTER TABLE dbo.Orders DROP CONSTRAINT CK_Orders_amount; ALTER TABLE dbo.Orders ADD CONSTRAINT CK_Orders_amount CHECK (amount > 1)", false, []string{
		"1 has another check constraint CK_Orders_amount of dbo.Orders",
		"  definition: ([amount]>(1)) in place of ([amount]>(0))",
	}},
	{"ALTER TABLE dbo.Orders NOCHECK CONSTRAINT CK_Orders_amount", false, []string{
		"1 has another check constraint CK_Orders_amount of dbo.Orders",
		"  disabled: yes in place of no",
		"  not trusted: yes in place of no",
	}},
	{"ALTER TABLE dbo.Orders DROP CONSTRAINT FK_Orders_Customers", true, []string{
		"1 lacks foreign key FK_Orders_Customers of dbo.Orders",
	}},
	{"ALTER TABLE dbo.Orders DROP CONSTRAINT FK_Orders_Customers; ALTER TABLE dbo.Orders ADD CONSTRAINT FK_Orders_Customers FOREIGN KEY (customer) REFERENCES dbo.Customers (id)", false, []string{
		"1 has another foreign key FK_Orders_Customers of dbo.Orders",
		"  on delete: nothing in place of CASCADE",
	}},
	{"ALTER TABLE dbo.Orders WITH NOCHECK ADD CONSTRAINT FK_2 FOREIGN KEY (customer) REFERENCES dbo.Customers (id)", false, []string{
		"1 has foreign key FK_2 of dbo.Orders in addition",
	}},
	{"ALTER TABLE dbo.Customers DROP CONSTRAINT UQ_Customers_name", true, []string{
		"1 lacks unique constraint UQ_Customers_name of dbo.Customers",
	}},
	{"ALTER TABLE sales.Regions ADD CONSTRAINT PK_Regions PRIMARY KEY (id)", false, []string{
		"1 has primary key of sales.Regions in addition",
	}},
	{"DROP INDEX IX_Orders_Date ON dbo.Orders", true, []string{
		"1 lacks index IX_Orders_Date on dbo.Orders",
	}},
	{"CREATE INDEX IX_More ON dbo.Orders (amount)", false, []string{
		"1 has index IX_More on dbo.Orders in addition",
	}},
	{"CREATE INDEX IX_Orders_Date ON dbo.Orders (Date, customer) INCLUDE (amount, state) WHERE state = 1 WITH (FILLFACTOR = 80, DROP_EXISTING = ON)", false, []string{
		"1 has another index IX_Orders_Date on dbo.Orders",
		"  key: [Date], [customer] in place of [Date] DESC, [customer]",
	}},
	{"CREATE INDEX IX_Orders_Date ON dbo.Orders (Date DESC, customer) INCLUDE (amount) WHERE state = 1 WITH (FILLFACTOR = 80, DROP_EXISTING = ON)", false, []string{
		"1 has another index IX_Orders_Date on dbo.Orders",
		"  included columns: [amount] in place of [amount], [state]",
	}},
	{"CREATE INDEX IX_Orders_Date ON dbo.Orders (Date DESC, customer) INCLUDE (state, amount) WHERE state = 2 WITH (FILLFACTOR = 80, DROP_EXISTING = ON)", false, []string{
		"1 has another index IX_Orders_Date on dbo.Orders",
		"  filter: ([state]=(2)) in place of ([state]=(1))",
	}},
	{"CREATE INDEX IX_Orders_Date ON dbo.Orders (Date DESC, customer) INCLUDE (state, amount) WHERE state = 1 WITH (FILLFACTOR = 70, DROP_EXISTING = ON)", false, []string{
		"1 has another index IX_Orders_Date on dbo.Orders",
		"  fill factor: 70 in place of 80",
	}},
	{"CREATE INDEX UX_Regions ON sales.Regions (id) WITH (DROP_EXISTING = ON)", false, []string{
		"1 has another index UX_Regions on sales.Regions",
		"  unique: no in place of yes",
	}},
	{"ALTER INDEX IX_Orders_Date ON dbo.Orders DISABLE", false, []string{
		"1 has another index IX_Orders_Date on dbo.Orders",
		"  disabled: yes in place of no",
	}},
	{"DROP SYNONYM dbo.Areas; CREATE SYNONYM dbo.Areas FOR dbo.Orders", false, []string{
		"1 has another synonym dbo.Areas",
		"  definition: [dbo].[Orders] in place of [sales].[Regions]",
	}},
	{"ALTER VIEW dbo.Open_Orders AS SELECT id, customer FROM dbo.Orders WHERE state = 2", true, []string{
		"1 has another view dbo.Open_Orders",
		"  text: line 1 is \"CREATE VIEW [dbo].[Open_Orders] AS SELECT id, customer FROM dbo.Orders WHERE state = 2\" in place of \"CREATE VIEW [dbo].[Open_Orders] AS SELECT id, customer FROM dbo.Orders WHERE state = 1;\"",
	}},
	{"DROP VIEW dbo.Open_Orders", true, []string{
		"1 lacks view dbo.Open_Orders",
	}},
	{"DROP FUNCTION dbo.Twice\nGO\nCREATE FUNCTION dbo.Twice (@n int) RETURNS TABLE AS RETURN (SELECT @n * 2 AS n)", false, []string{
		"1 has another function dbo.Twice",
		"  kind of function: inline table-valued in place of scalar",
		"  text: line 1 is \"CREATE FUNCTION [dbo].[Twice] (@n int) RETURNS TABLE AS RETURN (SELECT @n * 2 AS n)\" in place of \"CREATE FUNCTION [dbo].[Twice] (@n int) RETURNS int AS BEGIN RETURN @n * 2; END;\"",
	}},
	{"CREATE OR ALTER PROC GetOrder @id bigint AS\nSELECT id, total FROM dbo.Orders WHERE id = @id;", true, []string{
		"1 has another procedure dbo.GetOrder",
		"  text: line 2 is \"SELECT id, total FROM dbo.Orders WHERE id = @id;\" in place of \"SELECT id, amount FROM dbo.Orders WHERE id = @id;\"",
	}},
	{"SET QUOTED_IDENTIFIER OFF; EXECUTE (N'ALTER PROCEDURE dbo.GetOrder @id bigint AS\nSELECT id, amount FROM dbo.Orders WHERE id = @id;')", true, []string{
		"1 has another procedure dbo.GetOrder",
		"  quoted_identifier off: yes in place of no",
	}},
	{"DROP TRIGGER dbo.TR_Orders", true, []string{
		"1 lacks trigger TR_Orders on dbo.Orders",
	}},
	{"DISABLE TRIGGER dbo.TR_Orders ON dbo.Orders", false, []string{
		"1 has another trigger TR_Orders on dbo.Orders",
		"  disabled: yes in place of no",
	}},
	{"DENY INSERT ON dbo.Orders TO readers; REVOKE SELECT ON dbo.Orders FROM readers", false, []string{
		"1 has permission INSERT on [dbo].[Orders] to [readers] in addition",
		"1 lacks permission SELECT on [dbo].[Orders] to [readers]",
	}},
	{"CREATE USER dora WITHOUT LOGIN; ALTER ROLE readers ADD MEMBER dora", false, []string{
		"1 has role member [dora] of [readers] in addition",
	}},
	{"EXECUTE sp_rename 'dbo.GetOrder', 'FetchOrder'", false, []string{
		"1 has procedure dbo.FetchOrder in addition",
		"1 lacks procedure dbo.GetOrder",
	}},
}

// Each planted difference is found, and nothing else. Where all differences have statements, these
// make the databases alike.
func TestPlantedDifferences(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.database(t, base)
	f.database(t, base)
	o := drift.Options{Permissions: true}
	require.Empty(t, f.report(t, o).Differences)
	for _, p := range plants {
		f.list = f.list[:2]
		name := f.database(t, base)
		f.exec(t, name, p.script)
		got := f.report(t, o)
		require.Equal(t, 2, got.Alike, p.script)
		var statements []string
		for _, d := range got.Differences {
			require.Equal(t, []string{"s/" + name}, d.Databases)
			if d.TSQL != "" {
				statements = append(statements, d.TSQL)
			}
		}
		fixed := len(statements) == len(got.Differences)
		require.Equal(t, p.words, describe(got), p.script)
		require.Equal(t, p.fixed, fixed, p.script)
		if fixed {
			f.exec(t, name, strings.Join(statements, "\n"))
			require.Empty(t, f.report(t, o).Differences, "%s\n%s", p.script, statements)
		}
	}
}

// A random schema is made twice, in another order of objects, with other names of the system, and
// with texts that differ in what does not count. Nothing differs.
func TestOrderMakesNoDifference(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	f := newFixture(t)
	for range 8 {
		f.list = nil
		tables, rest := randomSchema(random)
		require.Greater(t, len(tables)+len(rest), 10)
		for other := range 2 {
			random.Shuffle(len(tables), func(i, j int) { tables[i], tables[j] = tables[j], tables[i] })
			random.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
			texts := make([]string, 0, len(tables)+len(rest))
			for _, s := range slices.Concat(tables, rest) {
				texts = append(texts, s[other%len(s)])
			}
			f.database(t, strings.Join(texts, "\nGO\n"))
		}
		// A third database has one object less.
		texts := make([]string, 0, len(tables)+len(rest))
		for _, s := range slices.Concat(tables, rest[1:]) {
			texts = append(texts, s[0])
		}
		f.database(t, strings.Join(texts, "\nGO\n"))
		for _, o := range []drift.Options{{}, {Permissions: true}, {IgnoreConstraintNames: true}} {
			got := f.report(t, o)
			require.Equal(t, 2, got.Alike, describe(got))
			require.Len(t, got.Differences, 1, describe(got))
			require.Equal(t, drift.Missing, got.Differences[0].Change)
		}
	}
}

// randomSchema returns the statements of a random schema: those that come first, and those whose
// order is free. Each statement has one or more forms that mean the same.
func randomSchema(random *rand.Rand) (tables, rest [][]string) {
	kinds := []string{"int", "bigint", "nvarchar(20)", "varchar(max)", "decimal(9, 3)", "datetime2(2)", "float", "bit", "uniqueidentifier", "varbinary(30)"}
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	for i := range 3 + random.IntN(4) {
		table := fmt.Sprintf("dbo.[table %d]", i)
		columns := []string{"id int IDENTITY NOT NULL"}
		for c := range 2 + random.IntN(5) {
			columns = append(columns, fmt.Sprintf("c%d %s %s", c, pick(kinds...), pick("NULL", "NOT NULL")))
		}
		columns = append(columns, "n int NOT NULL", "m int NULL")
		tables = append(tables, []string{"CREATE TABLE " + table + " (" + strings.Join(columns, ", ") + ")"})
		add := "ALTER TABLE " + table + " ADD "
		if random.IntN(4) > 0 {
			rest = append(rest, []string{add + "PRIMARY KEY " + pick("CLUSTERED", "NONCLUSTERED") + " (id)"})
		}
		rest = append(rest, []string{add + "DEFAULT 7 FOR n"}, []string{add + "CONSTRAINT " + fmt.Sprintf("CK%d", i) + " CHECK (n > 1)"})
		for range random.IntN(3) { // some say the same
			rest = append(rest, []string{add + "CHECK (m " + pick(">", "<") + " 5)"})
		}
		for x := range random.IntN(4) {
			rest = append(rest, []string{fmt.Sprintf("CREATE %s INDEX IX%d_%d ON %s (%s) INCLUDE (%s)", pick("", "UNIQUE"), i, x, table, pick("n", "m DESC", "n, m"), "id")})
		}
		name, select1 := fmt.Sprintf("view%d", i), "SELECT n, 'a  \r\n b' AS s"
		rest = append(rest, []string{
			"CREATE VIEW dbo." + name + " AS -- a comment\n" + select1 + "\nFROM " + table,
			"\r\n create or   alter view " + name + " AS -- a comment  \r\n" + select1 + "\t\r\nFROM " + table + "\r\n\r\n",
		})
		rest = append(rest, []string{
			fmt.Sprintf("/* x */ CREATE PROCEDURE [dbo].[p%d] @n int AS\nSELECT @n;", i),
			fmt.Sprintf("/* x */ CREATE PROC p%d @n int AS \r\nSELECT @n;", i),
		})
	}
	return tables, rest
}

// A login that does not see all objects is refused. One that does reads what an administrator does.
func TestRights(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const name = "a.b" // HAS_PERMS_BY_NAME takes such a name for two parts
	f.exec(t, "master", "CREATE DATABASE [a.b]")
	f.list = append(f.list, targets.NewTarget("s", name, ""))
	f.exec(t, name, base)
	f.exec(t, "master", "CREATE LOGIN reader WITH PASSWORD = 'Secret-12345'")
	f.exec(t, name, "CREATE USER reader FOR LOGIN reader; ALTER ROLE db_datareader ADD MEMBER reader")
	set, err := mssql.NewCredentialSet(mssql.LoginCredential("default", "reader", "Secret-12345", "*"))
	require.NoError(t, err)
	servers, err := mssql.NewServers(mssql.Config{Credentials: set, Encrypt: "disable", Dialer: f.server.Dialer()})
	require.NoError(t, err)
	defer servers.Close()
	fleet := drift.NewFleet(drift.Options{Permissions: true}, drift.DefaultBudget)
	fill := func() []question.Failure {
		return schema.Fill(t.Context(), servers, f.list, question.Options{}, schema.Options{Permissions: true}, fleet)
	}
	failed := fill()
	require.Len(t, failed, 1)
	require.ErrorIs(t, failed[0].Err, schema.ErrNoRight)
	f.exec(t, name, "GRANT VIEW DEFINITION TO reader")
	require.Empty(t, fill())
	require.Empty(t, schema.Fill(t.Context(), f.servers, f.list, question.Options{}, schema.Options{Permissions: true}, fleet))
	r, err := fleet.Majority()
	require.NoError(t, err)
	report := fleet.Compare(r)
	require.Equal(t, 2, report.Alike, describe(report))
}
