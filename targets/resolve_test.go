package targets

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// world is what servers, pools and shard maps hold, for a ListFunc.
type world map[string][]Target

func (w world) list(_ context.Context, m Member) ([]Target, error) {
	found, ok := w[m.Server+"/"+m.ElasticPool+m.ShardMap]
	if !ok {
		return nil, errors.New("no such server")
	}
	return found, nil
}

func testWorld() world {
	return world{
		"a/":      {{Server: "a", Database: "x", ElasticPool: "p1"}, {Server: "a", Database: "y", ElasticPool: "p2"}, {Server: "a", Database: "z"}},
		"a/p1":    {{Server: "a", Database: "x", ElasticPool: "p1"}},
		"a/p2":    {{Server: "a", Database: "y", ElasticPool: "p2"}},
		"b/":      {{Server: "b", Database: "X"}, {Server: "b", Database: "w"}},
		"a/map":   {{Server: "b,1444", Database: "s1"}, {Server: "a", Database: "x"}},
		"empty/":  nil,
		"empty/p": nil,
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	server := func(name string) Member { return Member{Kind: SQLServer, Server: name} }
	database := func(s, d string) Member { return Member{Kind: SQLDatabase, Server: s, Database: d} }
	pool := func(s, p string) Member { return Member{Kind: SQLElasticPool, Server: s, ElasticPool: p} }
	shardMap := Member{Kind: SQLShardMap, Server: "a", Database: "smm", ShardMap: "map"}
	not := func(m Member) Member { m.Membership = Exclude; return m }
	cases := map[string]struct {
		members []Member
		want    []string
	}{
		"None":                 {nil, []string{}},
		"Server":               {[]Member{server("a")}, []string{"a/x p1", "a/y p2", "a/z "}},
		"Pool":                 {[]Member{pool("a", "p2")}, []string{"a/y p2"}},
		"ShardMap":             {[]Member{shardMap}, []string{"a/x ", "b,1444/s1 "}},
		"Databases":            {[]Member{database("b", "master"), database("a", "gone")}, []string{"a/gone ", "b/master "}},
		"ServerLessDatabase":   {[]Member{not(database("A", "X")), server("a")}, []string{"a/y p2", "a/z "}},
		"ServerLessPool":       {[]Member{server("a"), not(pool("a", "p1"))}, []string{"a/y p2", "a/z "}},
		"AllLessServer":        {[]Member{server("a"), server("b"), not(server("A"))}, []string{"b/w ", "b/X "}},
		"ServerLessShardMap":   {[]Member{server("a"), not(shardMap)}, []string{"a/y p2", "a/z "}},
		"NamedAndExcluded":     {[]Member{database("a", "x"), not(database("a", "x")), database("a", "x")}, []string{}},
		"ExcludedElsewhere":    {[]Member{database("a", "x"), not(database("server1", "MappingDB"))}, []string{"a/x "}},
		"ExcludedPoolUnlisted": {[]Member{database("a", "x"), not(pool("down", "p"))}, []string{"a/x "}},
		"NamedInExcludedPool":  {[]Member{database("a", "x"), not(pool("a", "p1"))}, []string{}},
		"Duplicates":           {[]Member{server("a"), database("A", "Z"), pool("a", "p1"), database("a", "z")}, []string{"a/x p1", "a/y p2", "A/Z "}},
		"SameServerName":       {[]Member{server("a"), database("tcp:a,1433", "z")}, []string{"a/x p1", "a/y p2", "a/z "}},
		"PoolIsKept":           {[]Member{database("A", "X"), server("a")}, []string{"A/X p1", "a/y p2", "a/z "}},
		"Empty":                {[]Member{server("empty")}, []string{}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 5 { // in any order
				members := slices.Clone(c.members)
				rand.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
				found, err := Resolve(t.Context(), members, testWorld().list)
				require.NoError(t, err)
				got := []string{}
				for _, target := range found {
					require.Equal(t, TargetID(target.Server, target.Database), target.ID)
					got = append(got, target.String()+" "+target.ElasticPool)
				}
				require.Equal(t, c.want, got)
			}
		})
	}
}

func TestResolveErrors(t *testing.T) {
	t.Parallel()
	down := Member{Kind: SQLServer, Server: "down"}
	_, err := Resolve(t.Context(), []Member{{Kind: SQLServer, Server: "a"}, down, {Kind: SQLServer, Server: "gone"}}, testWorld().list)
	var member *MemberError
	require.ErrorAs(t, err, &member)
	require.Equal(t, down, member.Member)
	require.ErrorContains(t, err, "SqlServer down")
	require.ErrorContains(t, err, "SqlServer gone")

	_, err = Resolve(t.Context(), []Member{{Kind: SQLServer, Server: "a"}, {Membership: Exclude, Kind: SQLElasticPool, Server: "a", ElasticPool: "gone"}}, testWorld().list)
	require.ErrorContains(t, err, "excluded SqlElasticPool a/gone")

	_, err = Resolve(t.Context(), []Member{{Kind: SQLDatabase, Server: "a"}, {Kind: "TargetGroup", Server: "a"}}, testWorld().list)
	require.ErrorContains(t, err, "database name is needed")
	require.ErrorContains(t, err, "TargetGroup")

	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ErrStopRequested)
	_, err = Resolve(ctx, []Member{down}, testWorld().list)
	require.ErrorIs(t, err, ErrStopRequested)
}

func TestResolveManyMembers(t *testing.T) {
	t.Parallel()
	var members []Member
	for i := range 300 {
		members = append(members, Member{Kind: SQLServer, Server: fmt.Sprintf("s%03d", i)})
	}
	found, err := Resolve(t.Context(), members, func(_ context.Context, m Member) ([]Target, error) {
		return []Target{{Server: m.Server, Database: "d"}, {Server: m.Server, Database: "c"}}, nil
	})
	require.NoError(t, err)
	require.Len(t, found, 600)
	require.Equal(t, "s000/c", found[0].String())
	require.Equal(t, "s299/d", found[599].String())
}

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
	kind, err := ParseMemberKind("sqldatabase")
	require.NoError(t, err)
	require.Equal(t, SQLDatabase, kind)
	_, err = ParseMemberKind("Database")
	require.ErrorContains(t, err, "SqlShardMap")
	membership, err := ParseMembershipType("EXCLUDE")
	require.NoError(t, err)
	require.Equal(t, Exclude, membership)
	membership, err = ParseMembershipType("")
	require.NoError(t, err)
	require.Equal(t, Include, membership)
	_, err = ParseMembershipType("both")
	require.Error(t, err)
}

// Ids are stored: they must not change.
func TestTargetIDIsStable(t *testing.T) {
	t.Parallel()
	require.Equal(t, "841d1503-0be9-53a7-b8c2-e48725b3b94f", TargetID("server1.database.windows.net", "MappingDB").String())
	require.Equal(t, TargetID("A", "B"), TargetID("tcp:a,1433", "b"))
	require.NotEqual(t, TargetID("a", "bc"), TargetID("ab", "c"))
}
