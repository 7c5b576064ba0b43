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
