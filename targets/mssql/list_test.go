package mssql_test

import (
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
