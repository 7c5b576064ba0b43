package mssql_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

func names(found []targets.Target) []string {
	list := []string{}
	for _, t := range found {
		list = append(list, t.String())
	}
	return list
}

func TestResolveOnAServer(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	f.exec(t, "master", "CREATE DATABASE control; CREATE DATABASE [B a];")
	self := f.query(t, "control", "SELECT @@SERVERNAME")[0]
	r := mssql.NewResolver(f.servers, mssql.Instance{Server: self, Database: "CONTROL"})

	found, err := r.Resolve(t.Context(), []targets.Member{{Kind: targets.SQLServer, Server: "s"}})
	require.NoError(t, err)
	require.Equal(t, []string{"s/B a", "s/d", "s/out"}, names(found))

	found, err = r.Resolve(t.Context(), []targets.Member{
		{Kind: targets.SQLServer, Server: "s"},
		{Membership: targets.Exclude, Kind: targets.SQLDatabase, Server: "S", Database: "D"},
		{Kind: targets.SQLDatabase, Server: "s", Database: "control"},
		{Kind: targets.SQLDatabase, Server: "s", Database: "master"},
	})
	require.NoError(t, err)
	require.Equal(t, []string{"s/B a", "s/control", "s/master", "s/out"}, names(found))

	members := []targets.Member{
		{Kind: targets.SQLDatabase, Server: "s", Database: "?*"},
		{Membership: targets.Exclude, Kind: targets.SQLDatabase, Server: "S", Database: "b*"},
		{Membership: targets.Exclude, Kind: targets.SQLDatabase, Server: "s", Database: "Cust*"},
	}
	found, counts, err := r.Explain(t.Context(), members)
	require.NoError(t, err)
	require.Equal(t, []string{"s/d", "s/out"}, names(found), "a pattern stands for no system database and not for the control database")
	require.Equal(t, []int{3, 1, 0}, counts)
	require.Equal(t, []string{"the member excluded SqlDatabase s/Cust* excludes no database now"}, mssql.WithoutEffect(members, counts))

	// A database that was created since is found.
	f.exec(t, "master", "CREATE DATABASE later;")
	found, err = r.Resolve(t.Context(), []targets.Member{{Kind: targets.SQLServer, Server: "s"}})
	require.NoError(t, err)
	require.Contains(t, names(found), "s/later")

	_, err = r.Resolve(t.Context(), []targets.Member{{Kind: targets.SQLElasticPool, Server: "s", ElasticPool: "p"}})
	require.ErrorContains(t, err, "elastic pools exist on Azure SQL Database only")
	_, err = r.Resolve(t.Context(), []targets.Member{{Kind: targets.SQLServer, Server: "s", RefreshCredential: "missing"}})
	require.ErrorContains(t, err, `credential "missing"`)
}

func TestResolveShardMap(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	f.exec(t, "d", "CREATE SCHEMA __ShardManagement")
	f.exec(t, "d", `CREATE TABLE __ShardManagement.ShardMapsGlobal (ShardMapId uniqueidentifier NOT NULL, Name nvarchar(50) NOT NULL);
CREATE TABLE __ShardManagement.ShardsGlobal (ShardId uniqueidentifier NOT NULL, Readable bit NOT NULL, ShardMapId uniqueidentifier NOT NULL,
 Protocol int NOT NULL, ServerName nvarchar(128) NOT NULL, Port int NOT NULL, DatabaseName nvarchar(128) NOT NULL, Status int NOT NULL);
DECLARE @m uniqueidentifier = NEWID(), @other uniqueidentifier = NEWID();
INSERT INTO __ShardManagement.ShardMapsGlobal VALUES (@m, N'map'), (@other, N'other');
INSERT INTO __ShardManagement.ShardsGlobal VALUES (NEWID(), 1, @m, 0, N'a.example.com', 0, N'shard2', 1), (NEWID(), 1, @m, 0, N'a.example.com', 1444, N'shard1', 1),
 (NEWID(), 0, @m, 0, N'a.example.com', 0, N'gone', 1), (NEWID(), 1, @other, 0, N'a.example.com', 0, N'elsewhere', 1);`)
	r := mssql.NewResolver(f.servers, mssql.Instance{})
	m := targets.Member{Kind: targets.SQLShardMap, Server: "s", Database: "d", ShardMap: "map"}
	found, err := r.Resolve(t.Context(), []targets.Member{m})
	require.NoError(t, err)
	require.Equal(t, []string{"a.example.com/shard2", "a.example.com,1444/shard1"}, names(found))

	f.exec(t, "d", "DELETE FROM __ShardManagement.ShardsGlobal WHERE DatabaseName = N'shard2'")
	found, err = r.Resolve(t.Context(), []targets.Member{m})
	require.NoError(t, err)
	require.Equal(t, []string{"a.example.com,1444/shard1"}, names(found))

	m.ShardMap = "none"
	_, err = r.Resolve(t.Context(), []targets.Member{m})
	require.ErrorContains(t, err, `no shard map "none"`)
}

// TestResolveQuery: a member of the kind Query stands for what its batch returns, in a session that
// may not enter the control database, and leaves nothing behind.
func TestResolveQuery(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	f.exec(t, "d", "CREATE TABLE dbo.tenants (server_name NVARCHAR(128) NULL, database_name NVARCHAR(128) NULL, tier INT NOT NULL); INSERT INTO dbo.tenants VALUES (NULL, N't1', 1), (N'other', N't2', 1), (N' s ', N' t3 ', 2);")
	r := mssql.NewResolver(f.servers, mssql.Instance{})
	query := func(text string) ([]targets.Target, error) {
		return r.Resolve(t.Context(), []targets.Member{{Kind: targets.Query, Server: "s", Database: "d", Query: text}})
	}
	for text, want := range map[string][]string{
		"SELECT Database_Name, tier, server_name FROM dbo.tenants;":                        {"other/t2", "s/t1", "s/t3"},
		"SELECT database_name FROM dbo.tenants WHERE tier = 1;":                            {"s/t1", "s/t2"},
		"SELECT database_name FROM dbo.tenants WHERE tier = 9;":                            {},
		"DECLARE @t INT = 2; SELECT database_name FROM dbo.tenants WHERE tier = @t;":       {"s/t3"},
		"DELETE FROM dbo.tenants; SELECT N'x*' AS database_name;":                          {"s/x*"}, // rolled back, and no pattern
		"SELECT name AS database_name FROM sys.databases WHERE name IN (N'd', N'master');": {"s/d", "s/master"},
	} {
		found, err := query(text)
		require.NoError(t, err, text)
		require.Equal(t, want, names(found), text)
	}
	require.Equal(t, []string{"3"}, f.query(t, "d", "SELECT CAST(COUNT(*) AS NVARCHAR(10)) FROM dbo.tenants;"))
	for text, fault := range map[string]string{
		"SELECT server_name FROM dbo.tenants;":                        "the query returns no column database_name",
		"PRINT N'nothing';":                                           "the query returns no column database_name",
		"SELECT CAST(NULL AS NVARCHAR(10)) AS database_name;":         "row 1 that the query returns: the column database_name is NULL or empty",
		"SELECT N'a,b' AS server_name, N'd' AS database_name;":        "invalid server_name \"a,b\"",
		"SELECT N'a' + NCHAR(8203) AS database_name;":                 "row 1 that the query returns",
		"SELECT database_name FROM dbo.none;":                         "Invalid object name 'dbo.none'",
		"SELECT N'a' AS database_name; SELECT N'b' AS database_name;": "the query returns more than one result set: want one",
		"SELECT N'a' AS database_name; RAISERROR (N'broken', 16, 1);": "broken",
		"SELECT REPLICATE(N'x', 129) AS database_name;":               "129 characters",
		"SELECT N'a' AS database_name WHERE 1 = 1/0;":                 "Divide by zero",
		"WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 33000) SELECT N'a' AS database_name FROM n OPTION (MAXRECURSION 0);": "more than 32767 databases",
	} {
		_, err := query(text)
		require.ErrorContains(t, err, fault, text)
	}
}

// TestResolveAvailabilityGroups: the query of INVENTORY.md names the databases of availability
// groups by their listeners. It has the same answer on each replica, so that a failover changes no
// target, however many replicas are asked. The embedded server has no availability groups: tables
// have what the catalog views return.
func TestResolveAvailabilityGroups(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	page, err := os.ReadFile("../../cmd/jobagent/INVENTORY.md")
	require.NoError(t, err)
	_, rest, _ := strings.Cut(strings.ReplaceAll(string(page), "\r\n", "\n"), "cat > listeners.sql <<'EOF'\n")
	text, _, ok := strings.Cut(rest, "EOF\n")
	require.True(t, ok)
	const crm, erp, none = "11111111-0000-0000-0000-000000000000", "22222222-0000-0000-0000-000000000000", "33333333-0000-0000-0000-000000000000"
	// One group has two listeners, and one a listener without a port, which was made outside of SQL
	// Server; the third one has none.
	tables := fmt.Sprintf(`CREATE TABLE dbo.availability_group_listeners (group_id UNIQUEIDENTIFIER NULL, dns_name NVARCHAR(63) NULL, port INT NULL);
INSERT INTO dbo.availability_group_listeners VALUES ('%[1]s', N'crm-b', 1433), ('%[1]s', N'crm-a', 14330), ('%[2]s', N'erp', NULL);
CREATE TABLE dbo.availability_databases_cluster (group_id UNIQUEIDENTIFIER NULL, database_name SYSNAME NOT NULL);
INSERT INTO dbo.availability_databases_cluster VALUES ('%[1]s', N'crm1'), ('%[1]s', N'crm2'), ('%[2]s', N'erp'), ('%[3]s', N'lone');
`, crm, erp, none)
	r := mssql.NewResolver(f.servers, mssql.Instance{})
	var members []targets.Member
	for _, replica := range []string{"replica1", "replica2"} {
		f.exec(t, "master", "CREATE DATABASE "+replica+";")
		f.exec(t, replica, tables)
		members = append(members, targets.Member{
			Kind: targets.Query, Server: "s", Database: replica, Query: strings.NewReplacer("sys.availability", "dbo.availability").Replace(text),
		})
	}
	want := []string{"crm-a,14330/crm1", "crm-a,14330/crm2", "erp/erp"}
	for _, asked := range [][]targets.Member{members, members[:1], members[1:]} {
		found, err := r.Resolve(t.Context(), asked)
		require.NoError(t, err)
		require.Equal(t, want, names(found))
		require.Equal(t, targets.TargetID("CRM-A,14330", "crm1"), found[0].ID)
	}
	// A replica that does not answer is no group without databases.
	members[1].Database = "away"
	_, err = r.Resolve(t.Context(), members)
	require.Error(t, err)
}

// TestResolveTags: columns tag_NAME of a member's query are tags of the databases that the group is
// resolved to.
func TestResolveTags(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	r := mssql.NewResolver(f.servers, mssql.Instance{})
	resolve := func(membership targets.MembershipType, texts ...string) ([]string, error) {
		var members []targets.Member
		for i, text := range texts {
			m := targets.Member{Kind: targets.Query, Server: "s", Database: "d", Query: text}
			if i > 0 {
				m.Membership = membership
			}
			members = append(members, m)
		}
		_, tags, err := r.ResolveTags(t.Context(), members)
		var list []string
		for _, of := range tags {
			require.Equal(t, targets.TargetID(of.Target.Server, of.Target.Database), of.Target.ID)
			for _, name := range slices.Sorted(maps.Keys(of.Values)) {
				value := "NULL"
				if v := of.Values[name]; v != nil {
					value = *v
				}
				list = append(list, of.Target.Database+"."+name+"="+value)
			}
		}
		return list, err
	}
	const two = "SELECT database_name, tag_Tier, TAG_paid, tag_size, other FROM (VALUES (N'a', N'gold', CAST(1 AS BIT), 5, 1), (N'b', NULL, CAST(0 AS BIT), -7, 2)) AS v (database_name, tag_Tier, TAG_paid, tag_size, other);"
	for _, c := range []struct {
		membership targets.MembershipType
		texts      []string
		want       []string
	}{
		{"", []string{two}, []string{"a.Tier=gold", "a.paid=true", "a.size=5", "b.Tier=NULL", "b.paid=false", "b.size=-7"}},
		{targets.Exclude, []string{two, "SELECT N'a' AS database_name;"}, []string{"b.Tier=NULL", "b.paid=false", "b.size=-7"}},
		{targets.Intersect, []string{two, "SELECT N'A' AS database_name, N'gold' AS tag_tier, N'eu' AS tag_region;"}, []string{"a.Tier=gold", "a.paid=true", "a.region=eu", "a.size=5"}},
		{"", []string{"SELECT N'a' AS database_name, N'' AS tag_empty;"}, []string{"a.empty="}},
		{"", []string{"SELECT N'a' AS database_name;"}, nil},
	} {
		got, err := resolve(c.membership, c.texts...)
		require.NoError(t, err, c.texts)
		require.Equal(t, c.want, got, c.texts)
	}
	for text, fault := range map[string]string{
		"SELECT N'a' AS database_name, N'' AS tag_;":                                        `the query returns a column "tag_": want a name`,
		"SELECT N'a' AS database_name, 1 AS [tag_a b];":                                     `the query returns a column "tag_a b": want a name of 128 characters or less`,
		"SELECT N'a' AS database_name, 1 AS tag_a, 2 AS TAG_A;":                             `the query returns the column "TAG_A" twice`,
		"SELECT N'a' AS database_name, CAST(1.5 AS DECIMAL(5, 2)) AS tag_a;":                "row 1 that the query returns: the column tag_a has a type that a tag cannot have: CAST it to NVARCHAR(256)",
		"SELECT N'a' AS database_name, REPLICATE(N'x', 257) AS tag_a;":                      "the column tag_a has a value of 257 characters: want at most 256",
		"SELECT N'a' AS database_name, N'x' AS tag_a UNION ALL SELECT N'A', N'y' AS tag_a;": `the tag a of s/A has two values: "x" and "y"`,
		"SELECT N'a' AS database_name, N'x' AS tag_a UNION ALL SELECT N'a', NULL AS tag_a;": `the tag a of s/a has two values: "x" and NULL`,
		"SELECT N'a' AS database_name, CAST('2026-01-01' AS DATE) AS tag_since;":            "the column tag_since has a type that a tag cannot have",
	} {
		_, err := resolve("", text)
		require.ErrorContains(t, err, fault, text)
	}
}

// TestResolveQueryIsGuarded: no query of a member runs where a control database can be reached
// (I13).
func TestResolveQueryIsGuarded(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	f.exec(t, "master", "CREATE DATABASE control;")
	f.exec(t, "control", "CREATE SCHEMA jobs_internal;")
	f.exec(t, "control", "CREATE TABLE jobs_internal.schema_versions (i INT);")
	r := mssql.NewResolver(f.servers, mssql.Instance{})
	_, err := r.Resolve(t.Context(), []targets.Member{{Kind: targets.Query, Server: "s", Database: "control", Query: "SELECT N'd' AS database_name;"}})
	require.ErrorContains(t, err, "on which no script of a job may have rights")
}
