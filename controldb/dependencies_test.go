package controldb_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/callbacks"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/oracle"
)

// drawGraph draws the dependencies of n steps. order is an order in which each step follows those
// that come before it.
func drawGraph(rt *rapid.T, n int) (g oracle.Graph, order []int) {
	indices := make([]int, n)
	for i := range indices {
		indices[i] = i
	}
	order = rapid.Permutation(indices).Draw(rt, "order")
	g = make(oracle.Graph, n)
	for place, i := range order {
		s := &g[i]
		usual := i == 0 || slices.Contains(order[:place], i-1)
		if !usual || rapid.Bool().Draw(rt, "after is given") {
			s.After = []int{}
			for _, p := range order[:place] {
				if rapid.IntRange(0, 2).Draw(rt, "after") > 0 {
					s.After = append(s.After, p)
				}
			}
		}
		s.When = oracle.WhenSucceeded
		first := s.After == nil && i == 0 || s.After != nil && len(s.After) == 0
		conditions := []oracle.Condition{oracle.WhenSucceeded, oracle.WhenFinished}
		if !first {
			conditions = append(conditions, oracle.WhenFailed)
		}
		s.When = rapid.SampledFrom(conditions).Draw(rt, "run when")
		s.OnFailed = !first && s.When != oracle.WhenSucceeded && rapid.Bool().Draw(rt, "on failed")
		s.OnSucceeded = !first && !s.OnFailed && rapid.Bool().Draw(rt, "on succeeded")
	}
	return g, order
}

// drawWorld draws what happens to the targets, from the oracle's point of view the same in whatever
// order things happen.
func drawWorld(rt *rapid.T, n int, databases []string) oracle.World {
	states := []oracle.State{
		oracle.StateSucceeded, oracle.StateSucceeded, oracle.StateSucceeded, oracle.StateFailed, oracle.StateTimedOut, oracle.StateUnknown,
	}
	outcomes := make([]map[string]oracle.State, n)
	resolves := make([]bool, n)
	for i := range n {
		resolves[i] = rapid.IntRange(0, 7).Draw(rt, "resolves") > 0
		outcomes[i] = map[string]oracle.State{}
		calm := rapid.Bool().Draw(rt, "succeeds")
		for _, d := range databases {
			outcomes[i][d] = oracle.StateSucceeded
			if !calm {
				outcomes[i][d] = rapid.SampledFrom(states).Draw(rt, "outcome")
			}
		}
	}
	return oracle.World{
		Targets:  databases,
		Resolves: func(step int) bool { return resolves[step] },
		Outcome:  func(step int, target string) oracle.State { return outcomes[step][target] },
	}
}

// addGraph creates a job whose steps have the dependencies of g.
func (c *control) addGraph(t *testing.T, name string, g oracle.Graph, order []int) {
	t.Helper()
	once := func(s *model.StepSpec) { s.RetryAttempts = ptr(0) }
	c.job(t, name, slices.Repeat([]func(*model.StepSpec){once}, len(g))...)
	for _, i := range order {
		o := model.StepSpec{JobName: name, StepID: ptr(i + 1)}
		if s := g[i]; s.After != nil {
			names := []string{}
			for _, p := range s.After {
				names = append(names, fmt.Sprintf("step %d", p+1))
			}
			text, err := json.Marshal(names)
			require.NoError(t, err)
			o.After = ptr(string(text))
		}
		o.RunWhen = ptr(string(g[i].When))
		if g[i].OnFailed {
			o.OnTargets = ptr("Failed")
		}
		if g[i].OnSucceeded {
			o.OnTargets = ptr("Succeeded")
		}
		_, err := catalog.On(c.Store).UpdateJobStep(t.Context(), o)
		require.NoError(t, err)
	}
}

// play lets a run happen in the world w, with tasks that end in the order that rt draws.
func (c *control) play(t *testing.T, rt *rapid.T, term controldb.TermID, run uuid.UUID, w oracle.World) {
	t.Helper()
	var held []controldb.Task
	for range 500 {
		held = append(held, c.pass(t, term).Tasks...)
		if len(held) == 0 {
			rows, err := executions.On(c.Store).List(t.Context(), executions.Query{ID: run}, controldb.Page[executions.Key]{})
			require.NoError(t, err)
			if !rows[0].Active {
				return
			}
			continue
		}
		ends := rapid.IntRange(1, len(held)).Draw(rt, "ends")
		for range ends {
			i := rapid.IntRange(0, len(held)-1).Draw(rt, "task")
			task := held[i]
			held = slices.Delete(held, i, i+1)
			if task.Kind == controldb.TaskResolve {
				r := controldb.Resolution{Attempt: task.Attempt, Failure: "no such group"}
				if w.Resolves(task.StepID - 1) {
					r.Failure = ""
					for _, d := range w.Targets {
						r.Targets = append(r.Targets, targets.NewTarget("s", d, ""))
					}
				}
				require.NoError(t, c.CompleteResolution(t.Context(), term, task.ID, r))
				continue
			}
			c.complete(t, term, targets.Outcome(w.Outcome(task.StepID-1, task.Target.Database)), "", task)
		}
	}
	require.FailNow(rt, "the run never ends")
}

// describe returns a run of the control database as text.
func (c *control) describe(t *testing.T, run uuid.UUID) string {
	t.Helper()
	rows, err := executions.On(c.Store).Rows(t.Context(), run)
	require.NoError(t, err)
	var lines []string
	for _, e := range rows {
		switch {
		case e.StepID == nil:
			lines = append(lines, fmt.Sprintf("0 run %s", e.Lifecycle))
		case e.Database == "":
			lines = append(lines, fmt.Sprintf("%d %s", *e.StepID, e.Lifecycle))
		default:
			state := oracle.State(e.Lifecycle)
			if e.OutcomeUnknown {
				state = oracle.StateUnknown
			}
			lines = append(lines, fmt.Sprintf("%d on %s %s", *e.StepID, e.Database, state))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// describeOracle returns a run of the oracle in the form of describe.
func describeOracle(r oracle.Run) string {
	lines := []string{fmt.Sprintf("0 run %s", r.Lifecycle)}
	for i, s := range r.Steps {
		if s.Lifecycle == "" {
			continue
		}
		lines = append(lines, fmt.Sprintf("%d %s", i+1, s.Lifecycle))
		for _, d := range slices.Sorted(maps.Keys(s.Targets)) {
			lines = append(lines, fmt.Sprintf("%d on %s %s", i+1, d, s.Targets[d]))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestDependencies compares runs and reruns of random graphs with the oracle.
func TestDependencies(t *testing.T) {
	testenv.Long(t)
	each(t, func(t *testing.T, c *control) {
		term := c.term(t)
		jobNumber := 0
		rapid.Check(t, func(rt *rapid.T) {
			jobNumber++
			name := fmt.Sprintf("j%d", jobNumber)
			g, order := drawGraph(rt, rapid.IntRange(2, 5).Draw(rt, "steps"))
			c.addGraph(t, name, g, order)
			databases := []string{"a", "b"}[:rapid.IntRange(1, 2).Draw(rt, "databases")]
			w := drawWorld(rt, len(g), databases)
			run := c.start(t, name)
			c.play(t, rt, term, run, w)
			want := g.Run(w)
			require.Equal(rt, describeOracle(want), c.describe(t, run))

			if !g.HasOptions() {
				return // the model of testenv/sim has reruns of these
			}
			for again := range 2 {
				states := []oracle.State{oracle.StateFailed, oracle.StateTimedOut, oracle.StateUnknown}
				only := states
				if rapid.Bool().Draw(rt, "some states") {
					only = rapid.SliceOfNDistinct(rapid.SampledFrom(states), 1, 2, rapid.ID).Draw(rt, "only")
				}
				text := ""
				for _, s := range only {
					text += "," + string(s)
				}
				w = drawWorld(rt, len(g), databases)
				rerun, err := executions.On(c.Store).Rerun(t.Context(), executions.RerunRequest{Origin: run, Only: text[1:]})
				if err != nil {
					require.Equal(rt, int32(50115), dberror.NumberOf(err), err)
					return
				}
				c.play(t, rt, term, rerun, w)
				want = g.Rerun(w, want, only)
				require.Equal(rt, describeOracle(want), c.describe(t, rerun), "rerun %d for %s", again+1, text)
				run = rerun
			}
		})
	})
}

// TestDependenciesBesideACallback: a step that waits for a callback does not hold up the steps
// beside it.
func TestDependenciesBesideACallback(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		c.job(t, "unused") // makes the target group
		c.httpJob(t, "j", func(s *model.StepSpec) { s.StepName, s.RetryAttempts = ptr("call"), ptr(0) })
		for _, s := range []struct{ name, after, when string }{
			{"beside", "", "Succeeded"}, {"then", "beside", "Succeeded"}, {"end", "call, then", "Finished"},
		} {
			_, err := catalog.On(c.Store).AddJobStep(ctx, model.StepSpec{
				JobName: "j", StepName: ptr(s.name), Command: new("SELECT 1"), TargetGroup: new("g"),
				After: ptr(s.after), RunWhen: ptr(s.when),
			})
			require.NoError(t, err)
		}
		term := c.actionTerm(t)
		run := c.start(t, "j")
		token := callbacks.HashToken("a secret token")
		// work runs all tasks of the T-SQL steps, and lets the action wait.
		var steps []int
		work := func() {
			for range 4 {
				for _, task := range c.pass(t, term).Tasks {
					switch {
					case task.Kind == controldb.TaskResolve:
						target := targets.NewTarget("s", "a", "")
						if task.StepID == 1 {
							target = targets.NewTarget("h", "", "")
						}
						require.NoError(t, c.CompleteResolution(ctx, term, task.ID, controldb.Resolution{
							Attempt: task.Attempt, Targets: []targets.Target{target},
						}))
					case task.StepID == 1:
						c.begin(t, term, task, &token)
						c.complete(t, term, targets.Accepted, "202", task)
					default:
						steps = append(steps, task.StepID)
						c.complete(t, term, targets.Succeeded, "", task)
					}
				}
			}
		}
		work()
		work()
		require.Equal(t, []int{2, 3}, steps)
		require.Equal(t, []string{"true|true"}, c.parked(t, run), "only the action is left")
		require.NoError(t, callbacks.On(c.Store).Report(ctx, token, callbacks.Report{Message: "it failed", By: "test"}))
		work()
		require.Equal(t, []int{2, 3, 4}, steps)
		require.Equal(t, "0 run Failed\n1 Failed\n1 Failed\n2 Succeeded\n2 on a Succeeded\n3 Succeeded\n3 on a Succeeded\n4 Succeeded\n4 on a Succeeded",
			c.describe(t, run))
	})
}

// TestErrorStepsReachNoTargets: an error step that reaches its target says nothing about the
// targets of the job, all of which are unreachable.
func TestErrorStepsReachNoTargets(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		term := c.term(t)
		once := func(s *model.StepSpec) { s.RetryAttempts = ptr(0) }
		c.job(t, "j", once, func(s *model.StepSpec) {
			once(s)
			s.RunWhen = ptr("Failed")
		})
		// run lets a scheduled run end; main is the outcome of the first step.
		run := func(main controldb.Outcome) {
			id := c.start(t, "j")
			c.exec(t, `UPDATE e SET e.schedule_id = s.schedule_id, e.due_at = e.create_time, e.unaccounted = 1
FROM jobs_internal.job_executions AS e
INNER JOIN jobs_internal.schedules AS s ON s.job_id = e.job_id
WHERE e.job_execution_id = @p1;`, id.String())
			for range 8 {
				for _, task := range c.pass(t, term).Tasks {
					switch {
					case task.Kind == controldb.TaskResolve:
						require.NoError(t, c.CompleteResolution(t.Context(), term, task.ID, controldb.Resolution{
							Attempt: task.Attempt, Targets: []targets.Target{targets.NewTarget("s", "a", "")},
						}))
					case task.StepID == 1:
						main.Task, main.Attempt = task.ID, task.Attempt
						refused, err := c.CompleteTasks(t.Context(), term, []controldb.Outcome{main})
						require.NoError(t, err)
						require.Empty(t, refused)
					default:
						c.complete(t, term, targets.Succeeded, "", task)
					}
				}
			}
			require.Equal(t, "0 run Failed\n1 Failed\n1 on a Failed\n2 Succeeded\n2 on a Succeeded", c.describe(t, id))
		}
		const since = `SELECT CASE WHEN unreachable_since IS NULL THEN 0 ELSE 1 END FROM jobs_internal.jobs WHERE name = N'j'`
		run(controldb.Outcome{Outcome: targets.Failed, Message: "no connection", Unreached: true})
		require.Equal(t, 1, get[int](t, c, since))
		run(controldb.Outcome{Outcome: targets.Failed, Message: "no"})
		require.Equal(t, 0, get[int](t, c, since))
	})
}

// TestRerunNeedsGroupsOfSkippedSteps: a step that its condition skipped may run in a rerun, so its
// target group must still exist.
func TestRerunNeedsGroupsOfSkippedSteps(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.exec(t, `EXEC jobs.sp_add_target_group N'g'; EXEC jobs.sp_add_target_group N'h';`)
		once := func(s *model.StepSpec) { s.RetryAttempts = ptr(0) }
		c.job(t, "j", once, func(s *model.StepSpec) { s.TargetGroup, s.After = ptr("h"), ptr("step 1") })
		term := c.term(t)
		run := c.start(t, "j")
		tasks := c.pass(t, term).Tasks
		require.Len(t, tasks, 1)
		require.NoError(t, c.CompleteResolution(t.Context(), term, tasks[0].ID, controldb.Resolution{Attempt: 1, Failure: "no"}))
		c.pass(t, term)
		require.Equal(t, "0 run Failed\n1 Failed\n2 Skipped", c.describe(t, run))
		c.exec(t, `EXEC jobs.sp_delete_jobstep N'j', 2; EXEC jobs.sp_delete_target_group N'h';`)
		_, err := executions.On(c.Store).Rerun(t.Context(), executions.RerunRequest{Origin: run})
		require.Equal(t, int32(50117), dberror.NumberOf(err), "%v", err)
		require.ErrorContains(t, err, "Step 2 of version 2 needs the target group 'h', which was deleted")
	})
}
