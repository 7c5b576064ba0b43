package mssql

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
)

// world is the content of servers, pools and shard maps, for a ListFunc.
type world map[string][]targets.Target

func (w world) list(_ context.Context, m targets.Member) ([]targets.Target, error) {
	found, ok := w[m.Server+"/"+m.ElasticPool+m.ShardMap]
	if !ok {
		return nil, errors.New("no such server")
	}
	return found, nil
}

func testWorld() world {
	return world{
		"a/": {{Server: "a", Database: "x", ElasticPool: "p1"}, {Server: "a", Database: "y", ElasticPool: "p2"},
			{Server: "a", Database: "z"}},
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
	server := func(name string) targets.Member { return targets.Member{Kind: targets.SQLServer, Server: name} }
	database := func(s, d string) targets.Member {
		return targets.Member{Kind: targets.SQLDatabase, Server: s, Database: d}
	}
	pool := func(s, p string) targets.Member {
		return targets.Member{Kind: targets.SQLElasticPool, Server: s, ElasticPool: p}
	}
	shardMap := targets.Member{Kind: targets.SQLShardMap, Server: "a", Database: "smm", ShardMap: "map"}
	not := func(m targets.Member) targets.Member { m.Membership = targets.Exclude; return m }
	cases := map[string]struct {
		members []targets.Member
		want    []string
	}{
		"None":     {nil, []string{}},
		"Server":   {[]targets.Member{server("a")}, []string{"a/x p1", "a/y p2", "a/z "}},
		"Pool":     {[]targets.Member{pool("a", "p2")}, []string{"a/y p2"}},
		"ShardMap": {[]targets.Member{shardMap}, []string{"a/x ", "b,1444/s1 "}},
		"Databases": {[]targets.Member{database("b", "master"), database("a", "gone")},
			[]string{"a/gone ", "b/master "}},
		"ServerLessDatabase": {[]targets.Member{not(database("A", "X")), server("a")}, []string{"a/y p2", "a/z "}},
		"ServerLessPool":     {[]targets.Member{server("a"), not(pool("a", "p1"))}, []string{"a/y p2", "a/z "}},
		"AllLessServer":      {[]targets.Member{server("a"), server("b"), not(server("A"))}, []string{"b/w ", "b/X "}},
		"ServerLessShardMap": {[]targets.Member{server("a"), not(shardMap)}, []string{"a/y p2", "a/z "}},
		"NamedAndExcluded": {[]targets.Member{database("a", "x"), not(database("a", "x")), database("a", "x")},
			[]string{}},
		"ExcludedElsewhere": {[]targets.Member{database("a", "x"), not(database("server1", "MappingDB"))},
			[]string{"a/x "}},
		"ExcludedPoolUnlisted": {[]targets.Member{database("a", "x"), not(pool("down", "p"))}, []string{"a/x "}},
		"NamedInExcludedPool":  {[]targets.Member{database("a", "x"), not(pool("a", "p1"))}, []string{}},
		"Duplicates": {[]targets.Member{server("a"), database("A", "Z"), pool("a", "p1"), database("a", "z")},
			[]string{"a/x p1", "a/y p2", "A/Z "}},
		"SameServerName": {[]targets.Member{server("a"), database("tcp:a,1433", "z")},
			[]string{"a/x p1", "a/y p2", "a/z "}},
		"PoolIsKept": {[]targets.Member{database("A", "X"), server("a")}, []string{"A/X p1", "a/y p2", "a/z "}},
		"Empty":      {[]targets.Member{server("empty")}, []string{}},
		"Pattern":    {[]targets.Member{database("a", "?"), database("b", "X*")}, []string{"a/x p1", "a/y p2", "a/z ", "b/X "}},
		"ServerLessPattern": {[]targets.Member{server("a"), server("b"), not(database("tcp:A", "[xy]")), not(database("a", "*Y*")), not(database("b", "?"))},
			[]string{"a/x p1", "a/z "}},
		"PatternOfNothing": {[]targets.Member{server("a"), not(database("a", "Cust*"))}, []string{"a/x p1", "a/y p2", "a/z "}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 5 { // in any order
				members := slices.Clone(c.members)
				rand.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
				found, _, err := Resolve(t.Context(), members, testWorld().list)
				require.NoError(t, err)
				got := []string{}
				for _, target := range found {
					require.Equal(t, targets.TargetID(target.Server, target.Database), target.ID)
					got = append(got, target.String()+" "+target.ElasticPool)
				}
				require.Equal(t, c.want, got)
			}
		})
	}
}

// A panic while a member is listed reaches the caller, who can recover it: otherwise it would end
// the process.
func TestResolvePanics(t *testing.T) {
	t.Parallel()
	defer func() {
		text, _ := recover().(string)
		require.Contains(t, text, "boom\n")
		require.Contains(t, text, "resolve_test.go", "the stack of the panic")
	}()
	members := []targets.Member{{Kind: targets.SQLServer, Server: "a"}, {Kind: targets.SQLServer, Server: "b"}}
	_, _, err := Resolve(t.Context(), members, func(_ context.Context, m targets.Member) ([]targets.Target, error) {
		if m.Server == "a" {
			panic("boom")
		}
		return nil, nil
	})
	require.NoError(t, err)
	require.Fail(t, "the panic was lost")
}

func TestResolveErrors(t *testing.T) {
	t.Parallel()
	down := targets.Member{Kind: targets.SQLServer, Server: "down"}
	_, _, err := Resolve(t.Context(),
		[]targets.Member{{Kind: targets.SQLServer, Server: "a"}, down,
			{Kind: targets.SQLServer, Server: "gone"}}, testWorld().list)
	var member *targets.MemberError
	require.ErrorAs(t, err, &member)
	require.Equal(t, down, member.Member)
	require.ErrorContains(t, err, "SqlServer down")
	require.ErrorContains(t, err, "SqlServer gone")

	_, _, err = Resolve(t.Context(),
		[]targets.Member{{Kind: targets.SQLServer, Server: "a"},
			{Membership: targets.Exclude, Kind: targets.SQLElasticPool, Server: "a", ElasticPool: "gone"}}, testWorld().list)
	require.ErrorContains(t, err, "excluded SqlElasticPool a/gone")

	_, _, err = Resolve(t.Context(),
		[]targets.Member{{Kind: targets.SQLDatabase, Server: "a"}, {Kind: "TargetGroup", Server: "a"}}, testWorld().list)
	require.ErrorContains(t, err, "database name is missing")
	require.ErrorContains(t, err, "TargetGroup")

	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(targets.ErrStopRequested)
	_, _, err = Resolve(ctx, []targets.Member{down}, testWorld().list)
	require.ErrorIs(t, err, targets.ErrStopRequested)
}

// A server whose collation is case-sensitive may have two databases that a target group does not
// distinguish. The resolution fails, because one of them would be left out without a word. The
// names in a shard map or from several members may be spellings of one database.
func TestResolveDatabasesThatAreAlike(t *testing.T) {
	t.Parallel()
	list := func(_ context.Context, m targets.Member) ([]targets.Target, error) {
		return []targets.Target{{Server: "s", Database: "sales"}, {Server: "s", Database: "other"}, {Server: "s", Database: "SALES"}}, nil
	}
	for _, m := range []targets.Member{
		{Kind: targets.SQLServer, Server: "s"}, {Kind: targets.SQLDatabase, Server: "s", Database: "S*"},
		{Kind: targets.SQLElasticPool, Server: "s", ElasticPool: "p"},
	} {
		_, _, err := Resolve(t.Context(), []targets.Member{m}, list)
		var member *targets.MemberError
		require.ErrorAs(t, err, &member)
		require.Equal(t, m, member.Member)
		require.ErrorContains(t, err, `the databases "sales" and "SALES"`)
	}
	for _, m := range []targets.Member{
		{Kind: targets.SQLDatabase, Server: "s", Database: "o*"}, {Kind: targets.SQLShardMap, Server: "s", Database: "smm", ShardMap: "map"},
	} {
		_, _, err := Resolve(t.Context(), []targets.Member{m, {Kind: targets.SQLDatabase, Server: "S", Database: "Sales"}}, list)
		require.NoError(t, err)
	}
}

func TestResolveManyMembers(t *testing.T) {
	t.Parallel()
	var members []targets.Member
	for i := range 300 {
		members = append(members, targets.Member{Kind: targets.SQLServer, Server: fmt.Sprintf("s%03d", i)})
	}
	found, _, err := Resolve(t.Context(), members, func(_ context.Context, m targets.Member) ([]targets.Target, error) {
		return []targets.Target{{Server: m.Server, Database: "d"}, {Server: m.Server, Database: "c"}}, nil
	})
	require.NoError(t, err)
	require.Len(t, found, 600)
	require.Equal(t, "s000/c", found[0].String())
	require.Equal(t, "s299/d", found[599].String())
}

// Each member is counted by what it adds, or takes away from the others.
func TestResolveCounts(t *testing.T) {
	t.Parallel()
	database := func(s, d string) targets.Member {
		return targets.Member{Kind: targets.SQLDatabase, Server: s, Database: d}
	}
	not := func(m targets.Member) targets.Member { m.Membership = targets.Exclude; return m }
	_, counts, err := Resolve(t.Context(), []targets.Member{
		{Kind: targets.SQLServer, Server: "a"}, database("A", "x"), database("a", "?"), database("a", "q*"),
		not(database("a", "[xy]")), not(database("a", "?")), not(database("a", "X")), not(database("a", "Cust*")), not(database("b", "*")),
		not(targets.Member{Kind: targets.SQLServer, Server: "b"}), not(targets.Member{Kind: targets.SQLElasticPool, Server: "a", ElasticPool: "p2"}),
	}, testWorld().list)
	require.NoError(t, err)
	require.Equal(t, []int{3, 1, 3, 0, 0, 3, 1, 0, 0, 0, 1}, counts)
}
