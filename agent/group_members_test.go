package agent_test

import (
	"fmt"
	"strings"
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

// TestMembersStandForMore: a run on a group of queries and groups runs on what these stand for when
// it begins, and a group that cannot be resolved runs nowhere.
func TestMembersStandForMore(t *testing.T) {
	testenv.Long(t)
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 5)
		f.startAgent(t, slowPolling)
		f.AddJob(t, "all", []string{"CREATE TABLE dbo.a (i INT);"})
		f.ended(t, f.Start(t, "all"), time.Minute)
		catalog := f.Targets[0]
		f.exec(t, catalog, "CREATE TABLE dbo.tenants (name NVARCHAR(128) NOT NULL, tier NVARCHAR(10) NOT NULL);")
		for i, tier := range []string{"free", "gold", "gold", "gold", "free"} {
			f.exec(t, catalog, "INSERT INTO dbo.tenants VALUES (@p1, @p2);", f.Targets[i], tier)
		}
		add := func(group string, m targets.Member) {
			t.Helper()
			_, err := targetgroups.On(f.Store).AddMember(t.Context(), group, m)
			require.NoError(t, err)
		}
		for _, name := range []string{"gold", "new", "some"} {
			_, err := targetgroups.On(f.Store).Add(t.Context(), name)
			require.NoError(t, err)
		}
		add("gold", targets.Member{Kind: targets.Query, Server: f.ServerName, Database: catalog, Query: "SELECT name AS database_name FROM dbo.tenants WHERE tier = N'gold';"})
		add("new", targets.Member{Kind: targets.SQLDatabase, Server: f.ServerName, Database: f.Targets[3]})
		add("some", targets.Member{Kind: targets.TargetGroup, Group: testenv.Group})
		add("some", targets.Member{Kind: targets.TargetGroup, Group: "gold", Membership: targets.Intersect})
		add("some", targets.Member{Kind: targets.TargetGroup, Group: "new", Membership: targets.Exclude})
		f.AddJob(t, "some", []string{"INSERT INTO dbo.a (i) VALUES (1);"}, func(s *model.StepSpec) { s.TargetGroup = new("some") })
		counts := func(want ...int) {
			t.Helper()
			for i, n := range want {
				var got int
				f.query(t, f.Targets[i], "SELECT COUNT(*) FROM dbo.a;", &got)
				require.Equal(t, n, got, f.Targets[i])
			}
		}
		rows := f.ended(t, f.Start(t, "some"), time.Minute)
		require.Equal(t, jobs.Succeeded, rows[0].Lifecycle)
		counts(0, 1, 1, 0, 0)

		f.exec(t, catalog, "UPDATE dbo.tenants SET tier = N'gold' WHERE name = @p1;", f.Targets[4])
		f.ended(t, f.Start(t, "some"), time.Minute)
		counts(0, 2, 2, 0, 1)

		// Two sessions may make groups members of each other at the same time.
		f.exec(t, f.Control, `INSERT INTO jobs_internal.target_group_members (target_group_id, target_id, membership_type, target_type, member_group_id)
SELECT n.target_group_id, NEWID(), N'Exclude', N'TargetGroup', s.target_group_id
FROM jobs_internal.target_groups AS n CROSS JOIN jobs_internal.target_groups AS s WHERE n.name = N'new' AND s.name = N'some';`)
		rows = f.ended(t, f.Start(t, "some"), time.Hour)
		require.Equal(t, jobs.Failed, rows[0].Lifecycle)
		require.Contains(t, rows[1].LastMessage, "the group is a member of itself, directly or not")
		counts(0, 2, 2, 0, 1)
	})
}

// TestTagsOfQueries: a run gives databases the tags that the query of its group returns, whatever
// they were, and a tag that cannot be set fails the run.
func TestTagsOfQueries(t *testing.T) {
	testenv.Long(t)
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 3)
		f.startAgent(t, slowPolling)
		catalog := f.Targets[0]
		f.exec(t, catalog, "CREATE TABLE dbo.tenants (name NVARCHAR(128) NOT NULL, tier NVARCHAR(300) NULL);")
		for _, name := range f.Targets[:2] {
			f.exec(t, catalog, "INSERT INTO dbo.tenants VALUES (@p1, N'gold');", name)
		}
		_, err := targetgroups.On(f.Store).Add(t.Context(), "tenants")
		require.NoError(t, err)
		_, err = targetgroups.On(f.Store).AddMember(t.Context(), "tenants", targets.Member{
			Kind: targets.Query, Server: f.ServerName, Database: catalog, Query: "SELECT name AS database_name, tier AS tag_tier FROM dbo.tenants;",
		})
		require.NoError(t, err)
		_, err = targetgroups.On(f.Store).SetTags(t.Context(), []targetgroups.TargetTags{
			{Server: f.ServerName, Database: f.Targets[0], Tags: map[string]*string{"tier": new("free"), "owner": new("ann")}},
		}, false)
		require.NoError(t, err)
		f.AddJob(t, "j", []string{"SELECT 1;"}, func(s *model.StepSpec) { s.TargetGroup = new("tenants") })
		tags := func() (list []string) {
			t.Helper()
			known, err := targetgroups.On(f.Store).KnownTargets(t.Context(), targetgroups.KnownTargetFilter{Top: 10})
			require.NoError(t, err)
			for _, k := range known {
				list = append(list, k.Tags)
			}
			return list
		}
		audited := func() (n int) {
			t.Helper()
			f.query(t, f.Control, "SELECT COUNT(*) FROM jobs.audit_log WHERE action = N'sp_set_target_tags';", &n)
			return n
		}
		rows := f.ended(t, f.Start(t, "j"), time.Minute)
		require.Equal(t, jobs.Succeeded, rows[0].Lifecycle)
		require.Equal(t, []string{`{"owner":"ann","tier":"gold"}`, `{"tier":"gold"}`}, tags())
		require.Equal(t, 2, audited())

		f.ended(t, f.Start(t, "j"), time.Minute)
		require.Equal(t, 2, audited(), "nothing changed")

		f.exec(t, catalog, "UPDATE dbo.tenants SET tier = NULL WHERE name = @p1;", f.Targets[0])
		f.ended(t, f.Start(t, "j"), time.Minute)
		require.Equal(t, []string{`{"owner":"ann"}`, `{"tier":"gold"}`}, tags())

		f.exec(t, catalog, "UPDATE dbo.tenants SET tier = REPLICATE(N'x', 257);")
		rows = f.ended(t, f.Start(t, "j"), time.Hour)
		require.Equal(t, jobs.Failed, rows[0].Lifecycle)
		require.Contains(t, rows[1].LastMessage, "the column tag_tier has a value of 257 characters")

		// What only the control database knows: the database has 50 tags already.
		f.exec(t, catalog, "UPDATE dbo.tenants SET tier = N'silver';")
		many := map[string]*string{}
		for i := range 49 {
			many[fmt.Sprintf("t%d", i)] = new("x")
		}
		_, err = targetgroups.On(f.Store).SetTags(t.Context(), []targetgroups.TargetTags{{Server: f.ServerName, Database: f.Targets[0], Tags: many}}, false)
		require.NoError(t, err)
		rows = f.ended(t, f.Start(t, "j"), time.Hour)
		require.Equal(t, jobs.Failed, rows[0].Lifecycle)
		require.Contains(t, rows[1].LastMessage, "it would have 51 tags, and may have at most 50")
	})
}

// TestMembersThatCannotBeRead: a resolution whose members cannot be read from the control database
// is retried after a wait each time, and its run continues when they can be read.
func TestMembersThatCannotBeRead(t *testing.T) {
	testenv.Long(t)
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 2)
		f.startAgent(t, agent.Config{})
		_, err := targetgroups.On(f.Store).Add(t.Context(), "others")
		require.NoError(t, err)
		_, err = targetgroups.On(f.Store).AddMember(t.Context(), "others", targets.Member{Kind: targets.TargetGroup, Group: testenv.Group})
		require.NoError(t, err)
		f.AddJob(t, "j", []string{"SELECT 1;"}, func(s *model.StepSpec) { s.TargetGroup = new("others") })
		var text string
		f.query(t, f.Control, "SELECT OBJECT_DEFINITION(OBJECT_ID(N'jobs_internal.get_members'));", &text)
		f.exec(t, f.Control, "CREATE OR ALTER PROCEDURE jobs_internal.get_members @task_id BIGINT AS THROW 50000, N'not now', 1;")
		run := f.Start(t, "j")
		began := time.Now()
		f.until(t, run, time.Hour, func([]executions.Execution) bool { return time.Since(began) > 30*time.Second })
		var tasks int
		f.query(t, f.Control, "SELECT COUNT(*) FROM jobs_internal.task_executions;", &tasks)
		require.Greater(t, tasks, 5)
		require.Less(t, tasks, 60, "at most one each half second")
		f.exec(t, f.Control, strings.Replace(text, "CREATE", "ALTER", 1))
		rows := f.ended(t, run, time.Minute)
		require.Equal(t, jobs.Succeeded, rows[0].Lifecycle)
	})
}
