package agent_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv"
)

// TestTagMembersAreDatabases: a run of one group makes its databases known; they get tags; and a
// run of a group with Tag members runs on those that match, and on no other.
func TestTagMembersAreDatabases(t *testing.T) {
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 5)
		f.startAgent(t, agent.Config{})
		f.AddJob(t, "all", []string{"CREATE TABLE dbo.a (i INT);"})
		run := f.Start(t, "all")
		f.ended(t, run, time.Minute)
		var known []targetgroups.KnownTarget
		f.until(t, run, time.Minute, func([]executions.Execution) bool {
			var err error
			known, err = targetgroups.On(f.Store).KnownTargets(t.Context(), targetgroups.KnownTargetFilter{Group: testenv.Group, Top: 10})
			require.NoError(t, err)
			return len(known) == 5
		})
		gold, eu := "gold", "eu"
		var list []targetgroups.TargetTags
		for i, k := range known[:3] {
			require.Equal(t, targets.TargetID(k.Server, k.Database), k.ID)
			tags := map[string]*string{"tier": &gold}
			if i == 0 {
				tags["region"] = &eu
			}
			list = append(list, targetgroups.TargetTags{Target: k.ID, Tags: tags})
		}
		_, err := targetgroups.On(f.Store).SetTags(t.Context(), list, false)
		require.NoError(t, err)

		_, err = targetgroups.On(f.Store).Add(t.Context(), "gold")
		require.NoError(t, err)
		for _, m := range []targets.Member{
			{Kind: targets.Tag, TagFilter: "tier = 'gold'"},
			{Kind: targets.Tag, TagFilter: "region = 'eu'", Membership: targets.Exclude},
		} {
			_, err = targetgroups.On(f.Store).AddMember(t.Context(), "gold", m)
			require.NoError(t, err)
		}
		f.AddJob(t, "some", []string{"INSERT INTO dbo.a (i) VALUES (1);"}, func(s *model.StepSpec) { s.TargetGroup = new("gold") })
		rows := f.ended(t, f.Start(t, "some"), time.Minute)
		require.Equal(t, jobs.Succeeded, rows[0].Lifecycle)
		require.Len(t, rows, 1+1+2)
		for i, want := range []int{0, 1, 1, 0, 0} {
			var n int
			f.query(t, known[i].Database, "SELECT COUNT(*) FROM dbo.a;", &n)
			require.Equal(t, want, n, known[i].Database)
		}
	})
}
