package targets

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMemberValidate(t *testing.T) {
	t.Parallel()
	for want, m := range map[string]Member{
		"the server name is needed":               {Kind: SQLServer},
		"the database name does not belong here":  {Kind: SQLServer, Server: "a", Database: "d"},
		"the elastic pool name is needed":         {Kind: SQLElasticPool, Server: "a"},
		"the shard map name is needed":            {Kind: SQLShardMap, Server: "a", Database: "d"},
		"the shard map name does not belong here": {Kind: SQLDatabase, Server: "a", Database: "d", ShardMap: "m"},
		`membership type "x"`:                     {Membership: "x", Kind: SQLServer, Server: "a"},
	} {
		require.ErrorContains(t, m.Validate(), want)
	}
}

// IDs are stored in control databases, so they must not change.
func TestTargetIDIsStable(t *testing.T) {
	t.Parallel()
	require.Equal(t, "841d1503-0be9-53a7-b8c2-e48725b3b94f", TargetID("server1.database.windows.net", "MappingDB").String())
	require.Equal(t, TargetID("A", "B"), TargetID("tcp:a,1433", "b"))
	require.NotEqual(t, TargetID("a", "bc"), TargetID("ab", "c"))
}
