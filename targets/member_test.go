package targets

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMemberValidate(t *testing.T) {
	t.Parallel()
	for want, m := range map[string]Member{
		"the server name is missing":                            {Kind: SQLServer},
		"the database name does not belong to this target type": {Kind: SQLServer, Server: "a", Database: "d"},
		"the elastic pool name is missing":                      {Kind: SQLElasticPool, Server: "a"},
		"the shard map name is missing":                         {Kind: SQLShardMap, Server: "a", Database: "d"},
		"the shard map name does not belong to this target type": {Kind: SQLDatabase, Server: "a", Database: "d",
			ShardMap: "m"},
		`membership type "x"`: {Membership: "x", Kind: SQLServer, Server: "a"},
	} {
		require.ErrorContains(t, m.Validate(), want)
	}
}

// IDs are stored in control databases, so they must not change.
func TestTargetIDIsStable(t *testing.T) {
	t.Parallel()
	require.Equal(t, "841d1503-0be9-53a7-b8c2-e48725b3b94f",
		TargetID("server1.database.windows.net", "MappingDB").String())
	require.Equal(t, TargetID("A", "B"), TargetID("tcp:a,1433", "b"))
	require.NotEqual(t, TargetID("a", "bc"), TargetID("ab", "c"))
}
