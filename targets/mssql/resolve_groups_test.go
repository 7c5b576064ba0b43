package mssql

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
)

func TestResolveGroups(t *testing.T) {
	t.Parallel()
	server := func(name string) targets.Member { return targets.Member{Kind: targets.SQLServer, Server: name} }
	database := func(s, d string) targets.Member {
		return targets.Member{Kind: targets.SQLDatabase, Server: s, Database: d}
	}
	group := func(members ...targets.Member) targets.Member {
		return targets.Member{Kind: targets.TargetGroup, Group: "g", Stands: &targets.Stands{Members: members}}
	}
	tag := func(list ...targets.Target) targets.Member {
		return targets.Member{Kind: targets.Tag, TagFilter: "f", Stands: &targets.Stands{Databases: list}}
	}
	not := func(m targets.Member) targets.Member { m.Membership = targets.Exclude; return m }
	only := func(m targets.Member) targets.Member { m.Membership = targets.Intersect; return m }
	loop := targets.Member{Kind: targets.TargetGroup, Group: "g", Stands: &targets.Stands{Loop: true}}
	cases := map[string]struct {
		members []targets.Member
		want    []string
		counts  []int
		fault   string
	}{
		"Union":            {members: []targets.Member{group(server("a")), database("b", "w")}, want: []string{"a/x", "a/y", "a/z", "b/w"}, counts: []int{3, 1}},
		"Difference":       {members: []targets.Member{server("a"), not(group(database("A", "X"), database("q", "r")))}, want: []string{"a/y", "a/z"}, counts: []int{3, 1}},
		"Intersection":     {members: []targets.Member{server("a"), only(group(database("a", "x"), database("q", "r")))}, want: []string{"a/x"}, counts: []int{3, 1}},
		"Intersections":    {members: []targets.Member{only(group(server("a"), not(database("a", "y")))), server("a"), only(tag(targets.Target{Server: "a", Database: "y"}, targets.Target{Server: "tcp:A,1433", Database: "Z"}))}, want: []string{"a/z"}, counts: []int{2, 3, 1}},
		"ExcludedInside":   {members: []targets.Member{group(server("a"), not(database("a", "x"))), database("a", "x")}, want: []string{"a/x", "a/y", "a/z"}, counts: []int{2, 1}},
		"EmptyIntersect":   {members: []targets.Member{server("a"), only(group())}, want: []string{}, counts: []int{3, 0}},
		"EmptyTags":        {members: []targets.Member{server("a"), only(tag())}, want: []string{}, counts: []int{3, 0}},
		"IntersectAlone":   {members: []targets.Member{only(server("a"))}, want: []string{}, counts: []int{0}},
		"IntersectServer":  {members: []targets.Member{database("a", "x"), database("b", "w"), only(server("b"))}, want: []string{"b/w"}, counts: []int{1, 1, 1}},
		"IntersectPattern": {members: []targets.Member{server("a"), only(database("a", "[xy]*")), only(database("a", "?"))}, want: []string{}, counts: []int{3, 0, 0}},
		"StarInATaggedName": {members: []targets.Member{server("a"), only(tag(targets.Target{Server: "a", Database: "*"}))},
			want: []string{}, counts: []int{3, 0}},
		"Loop":        {members: []targets.Member{server("a"), not(group(loop))}, fault: "the group is a member of itself, directly or not"},
		"FaultInside": {members: []targets.Member{server("a"), not(group(server("none")))}, fault: "no such server"},
		"NotEvaluated": {members: []targets.Member{server("a"), not(targets.Member{Kind: targets.Tag, TagFilter: "f"})},
			fault: "no such server"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, counts, err := Resolve(t.Context(), c.members, testWorld().list)
			if c.fault != "" {
				require.ErrorContains(t, err, c.fault)
				require.Nil(t, found)
				return
			}
			require.NoError(t, err)
			list := []string{}
			for _, f := range found {
				list = append(list, f.String())
			}
			require.Equal(t, c.want, list)
			require.Equal(t, c.counts, counts)
		})
	}
}

// TestResolveGroupsOnce: groups that are members of each other by many ways are resolved once each,
// and more members than places wait for each other without a deadlock.
func TestResolveGroupsOnce(t *testing.T) {
	t.Parallel()
	lists := make(chan struct{}, 100)
	list := func(context.Context, targets.Member) ([]targets.Target, error) {
		lists <- struct{}{}
		return []targets.Target{{Server: "s", Database: "d"}}, nil
	}
	members := []targets.Member{{Kind: targets.SQLServer, Server: "s"}}
	for range 30 { // 2^30 ways
		stands := &targets.Stands{Members: members}
		members = []targets.Member{
			{Kind: targets.TargetGroup, Group: "g", Stands: stands},
			{Kind: targets.TargetGroup, Group: "g", Stands: stands, Membership: targets.Intersect},
		}
	}
	found, _, err := Resolve(t.Context(), members, list)
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Len(t, lists, 1)
}
