package controldb_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/summary"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv"
)

// databases returns the names of databases in their order.
func databases(o executions.TargetOutcomes) (names []string) {
	for _, one := range o.Targets {
		names = append(names, one.Database)
	}
	return names
}

// TestTargetOutcomes asks what two jobs last did on the databases of their group: one failed on a
// database and was rerun, the other never ran.
func TestTargetOutcomes(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx, group := t.Context(), "g"
		c.job(t, "j", func(s *model.StepSpec) { s.RetryAttempts = ptr(0) })
		term := c.term(t)
		first := c.start(t, "j")
		c.resolve(t, term, "c", "a", "b")
		tasks := c.pass(t, term).Tasks
		c.complete(t, term, targets.Succeeded, "", tasks[:2]...)
		c.complete(t, term, targets.Failed, "no", tasks[2])
		c.pass(t, term)

		all, err := executions.On(c.Store).TargetOutcomes(ctx, executions.TargetFilter{Group: group, Jobs: 50})
		require.NoError(t, err)
		require.Equal(t, []string{"a", "b", "c"}, databases(all))
		require.Equal(t, first, all.Run)
		require.Equal(t, 3, all.Databases)
		require.Len(t, all.Jobs, 1)
		require.Equal(t, 3, all.Jobs[0].Ran)
		require.Len(t, all.Outcomes, 3)

		lacking, err := executions.On(c.Store).TargetOutcomes(ctx, executions.TargetFilter{Group: group, Lacking: true, Jobs: 50})
		require.NoError(t, err)
		require.Equal(t, []string{"b"}, databases(lacking))
		require.Equal(t, string(jobs.Failed), lacking.Outcomes[0].Outcome)
		require.Equal(t, "no", lacking.Outcomes[0].Message)
		require.Zero(t, lacking.Outcomes[0].LastSuccess)

		// The pages together are the list.
		var paged []string
		f := executions.TargetFilter{Top: 1, Jobs: 50}
		for {
			o, err := executions.On(c.Store).TargetOutcomes(ctx, f)
			require.NoError(t, err)
			paged = append(paged, databases(o)...)
			if o.NextServer == "" {
				break
			}
			f.After = executions.FoundTarget{Database: o.NextDatabase, Server: o.NextServer}
		}
		require.Equal(t, []string{"a", "b", "c"}, paged)

		found, err := executions.On(c.Store).TargetOutcomes(ctx, executions.TargetFilter{Search: "B"})
		require.NoError(t, err)
		require.Equal(t, []string{"b"}, databases(found))
		require.Empty(t, found.Jobs)
		b := found.Targets[0].ID

		failures, err := summary.On(c.Store).Failures(ctx, 24)
		require.NoError(t, err)
		require.Equal(t, 1, failures.Targets)

		rerun, err := executions.On(c.Store).Rerun(ctx, executions.RerunRequest{Origin: first, Only: "Failed"})
		require.NoError(t, err)
		c.pass(t, term)
		tasks = c.pass(t, term).Tasks
		if len(tasks) == 0 {
			tasks = c.pass(t, term).Tasks
		}
		c.complete(t, term, targets.Succeeded, "", tasks...)
		c.pass(t, term)
		one, err := executions.On(c.Store).TargetOutcomes(ctx, executions.TargetFilter{Target: b, Jobs: 50})
		require.NoError(t, err)
		require.Len(t, one.Outcomes, 1)
		require.False(t, one.Outcomes[0].Lacking())
		require.Equal(t, rerun, one.Outcomes[0].LastSuccess)
		lacking, err = executions.On(c.Store).TargetOutcomes(ctx, executions.TargetFilter{Group: group, Lacking: true, Jobs: 50})
		require.NoError(t, err)
		require.Empty(t, lacking.Targets)

		// What the rerun has mended is no failure any more.
		failures, err = summary.On(c.Store).Failures(ctx, 24)
		require.NoError(t, err)
		require.Zero(t, failures.Targets)
		require.Empty(t, failures.Errors)
		require.Equal(t, 1, failures.Mended)

		sums, err := executions.On(c.Store).List(ctx, executions.Query{Totals: true, Triggers: []executions.Trigger{executions.TriggerRerun, executions.TriggerManual}}, controldb.Page[executions.Key]{Top: 10})
		require.NoError(t, err)
		of := func(id uuid.UUID) executions.Run {
			return sums[slices.IndexFunc(sums, func(r executions.Run) bool { return r.ID == id })]
		}
		require.Equal(t, 3, of(first).Targets)
		require.Equal(t, 1, of(first).NotSucceeded)
		require.Equal(t, executions.TriggerRerun, of(rerun).Trigger())
		require.Equal(t, 1, of(rerun).Targets)
		require.Zero(t, of(rerun).NotSucceeded)
		skipped, err := executions.On(c.Store).List(ctx, executions.Query{Totals: true}, controldb.Page[executions.Key]{Top: 1, Skip: 1})
		require.NoError(t, err)
		require.Equal(t, sums[1].ID, skipped[0].ID)

		reruns, err := executions.On(c.Store).RerunsOf(ctx, first)
		require.NoError(t, err)
		require.Len(t, reruns, 1)
		require.Equal(t, rerun, reruns[0].ID)
		require.Equal(t, jobs.Succeeded, reruns[0].Lifecycle)
		require.NotEmpty(t, reruns[0].StartedBy)
		reruns, err = executions.On(c.Store).RerunsOf(ctx, rerun)
		require.NoError(t, err)
		require.Empty(t, reruns, "the rerun itself was not rerun")

		// A job that never ran there is lacking on all.
		c.job(t, "k", func(s *model.StepSpec) { s.TargetGroup = new(group) })
		lacking, err = executions.On(c.Store).TargetOutcomes(ctx, executions.TargetFilter{Group: group, Lacking: true, JobSearch: "K", Jobs: 50})
		require.NoError(t, err)
		require.Equal(t, []string{"a", "b", "c"}, databases(lacking))

		runs, err := executions.On(c.Store).OnTarget(ctx, b, "", uuid.Nil, 50)
		require.NoError(t, err)
		require.Equal(t, []uuid.UUID{rerun, first}, []uuid.UUID{runs[0].Run, runs[1].Run})
		require.True(t, runs[0].Rerun)
		require.NotEmpty(t, runs[0].StartedBy)
		runs, err = executions.On(c.Store).OnTarget(ctx, b, "j", rerun, 50)
		require.NoError(t, err)
		require.Len(t, runs, 1)
		require.True(t, slices.ContainsFunc(runs, func(r executions.RunOnTarget) bool { return r.Run == first }))

		_, err = executions.On(c.Store).TargetOutcomes(ctx, executions.TargetFilter{Group: "nope"})
		require.ErrorIs(t, err, dberror.ErrGroupNotFound)
	})
}

// outcomeDatabases is the size of TestManyTargetOutcomes. The figures of sql/DESIGN.md:
//
//	go test ./controldb -run TestManyTargetOutcomes -v -outcomes.databases=5000 -outcomes.jobs=50 -timeout 30m
var (
	outcomeDatabases = flag.Int("outcomes.databases", 45, "databases of TestManyTargetOutcomes")
	outcomeJobs      = flag.Int("outcomes.jobs", 3, "jobs of TestManyTargetOutcomes")
)

// All pages together have each pair of a database and a job once, and those that lack a job are
// found, however many succeeded.
func TestManyTargetOutcomes(t *testing.T) {
	testenv.Each(t, func(t *testing.T, env *testenv.Env) { // without each: invariants of so much history take minutes
		store, name := env.Control(t)
		testManyTargetOutcomes(t, &control{Store: store, env: env, name: name, db: env.DB(t, name)}, *outcomeDatabases, *outcomeJobs)
	})
}

func testManyTargetOutcomes(t *testing.T, c *control, n, k int) {
	t.Helper()
	ctx := t.Context()
	term, err := c.StartTerm(ctx, controldb.Agent{ID: uuid.New(), Host: "host", Version: "test", MaxConcurrentTargets: n}, time.Hour)
	require.NoError(t, err)
	list := make([]targets.Target, n)
	for i := range list {
		list[i] = targets.NewTarget(fmt.Sprintf("s%d", i%9), fmt.Sprintf("tenant%05d", i), "")
	}
	began := time.Now()
	for j := range k {
		name := fmt.Sprintf("job %02d", j)
		c.job(t, name, func(s *model.StepSpec) { s.RetryAttempts = ptr(0) })
		run := c.start(t, name)
		for {
			res, err := c.Pass(ctx, controldb.PassRequest{Term: term.ID, MaxTasks: n, MaxConcurrentTargets: n})
			require.NoError(t, err)
			var outcomes []controldb.Outcome
			for _, task := range res.Tasks {
				if task.Kind == controldb.TaskResolve {
					require.NoError(t, c.CompleteResolution(ctx, term.ID, task.ID, controldb.Resolution{Attempt: task.Attempt, Targets: list}))
					continue
				}
				o := controldb.Outcome{Task: task.ID, Attempt: task.Attempt, Outcome: targets.Succeeded}
				if j == 0 && strings.HasSuffix(task.Target.Database, "7") {
					o.Outcome, o.Message = targets.Failed, "no"
				}
				outcomes = append(outcomes, o)
			}
			refused, err := c.CompleteTasks(ctx, term.ID, outcomes)
			require.NoError(t, err)
			require.Empty(t, refused)
			if p, err := executions.On(c.Store).Get(ctx, run); err != nil || !p.Active {
				require.NoError(t, err)
				break
			}
		}
	}
	t.Logf("%d jobs ran on %d databases in %s", k, n, time.Since(began).Round(time.Second))

	measured := func(what string, f executions.TargetFilter, calls int) (pairs, found int) {
		t.Helper()
		began, made := time.Now(), 0
		for made < calls {
			o, err := executions.On(c.Store).TargetOutcomes(ctx, f)
			require.NoError(t, err)
			pairs, found, made = pairs+len(o.Outcomes), found+len(o.Targets), made+1
			if f.After = (executions.FoundTarget{Database: o.NextDatabase, Server: o.NextServer}); o.NextServer == "" {
				break
			}
		}
		t.Logf("%s: %d calls, %s each", what, made, (time.Since(began) / time.Duration(made)).Round(time.Millisecond))
		return pairs, found
	}
	lacking := 0
	for _, target := range list {
		if strings.HasSuffix(target.Database, "7") {
			lacking++
		}
	}
	measured("the first page of the dashboard (50 x 12)", executions.TargetFilter{Group: "g", Top: 50, Jobs: 12}, 1)
	_, found := measured("who lacks a job of 50", executions.TargetFilter{Group: "g", Lacking: true, Top: 400, Jobs: 50}, n)
	require.Equal(t, lacking, found)
	_, found = measured("who lacks one job", executions.TargetFilter{Group: "g", Lacking: true, JobSearch: "job 00", Top: 400, Jobs: 50}, n)
	require.Equal(t, lacking, found)
	pairs, _ := measured("all (400 x 50)", executions.TargetFilter{Group: "g", Top: 400, Jobs: 50}, n)
	require.Equal(t, n*min(k, 50), pairs)
	pairs, _ = measured("one database", executions.TargetFilter{Target: list[0].ID, Top: 1, Jobs: 50}, 1)
	require.Equal(t, min(k, 50), pairs)
}
