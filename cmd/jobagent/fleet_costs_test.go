//go:build unix

package main

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/account"
	"github.com/jobagent/jobagent/controldb/alerting"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv"
)

// costs measures what calls cost the process of the control database.
type costs struct {
	*fleetRun
	term controldb.Term
}

// TestFleetCosts logs what each call of an agent costs the process of an embedded control database,
// in milliseconds of a processor. The costs of testenv/capacity come from here.
func TestFleetCosts(t *testing.T) {
	testenv.Long(t)
	f := &fleetRun{t: t}
	f.startControl()
	if len(f.processes) == 0 {
		t.Skip("the test reads the processor time of the embedded server's process")
	}
	ctx, repeat, count := t.Context(), testenv.Sample(20, 1000), testenv.Sample(200, 20_000)
	_, err := targetgroups.On(f.store).Add(ctx, "fleet")
	require.NoError(t, err)
	c := &costs{fleetRun: f}
	c.term = c.start(t, 10_000)
	pass := controldb.PassRequest{Term: c.term.ID, MaxTasks: 100, MaxConcurrentTargets: 100}
	calls := map[string]func() error{
		"controller_pass, idle": func() error { _, err := f.store.Pass(ctx, pass); return err },
		"renew_term":            func() error { _, err := f.store.RenewTerm(ctx, c.term.ID, time.Hour); return err },
		"due_schedules":         func() error { _, err := f.store.DueSchedules(ctx, 500); return err },
		"evaluate_alerts":       func() error { _, err := alerting.On(f.store).Evaluate(ctx, 4*time.Second); return err },
		"register_targets":      func() error { _, err := f.store.RegisterTargets(ctx); return err },
		"read the job agent":    func() error { _, err := account.On(f.store).Read(ctx); return err },
		"claim_alert_deliveries": func() error {
			_, err := alerting.On(f.store).ClaimDeliveries(ctx, alerting.Claim{Holder: uuid.New(), Types: "Http", Max: 8, Lease: time.Minute})
			return err
		},
	}
	for name, call := range calls {
		c.measure(t, name, repeat, func() {
			for range repeat {
				require.NoError(t, call())
			}
		})
	}
	for _, size := range []int{10, 100} {
		c.fanOut(t, fmt.Sprintf("batches of %d", size), count, size)
	}
	c.active(t, repeat, testenv.Sample(5, 100))
}

// start starts a term.
func (c *costs) start(t *testing.T, concurrency int) controldb.Term {
	t.Helper()
	term, err := c.store.StartTerm(t.Context(), controldb.Agent{ID: uuid.New(), Host: "costs", Version: "costs", MaxConcurrentTargets: concurrency}, time.Hour)
	require.NoError(t, err)
	return term
}

// measure logs the processor time of the control database's process for work on so many things.
func (c *costs) measure(t *testing.T, name string, count int, work func()) {
	t.Helper()
	var m measured
	m.add(c.processes[0].Pid, func() int {
		work()
		return count
	})
	m.log(t, name)
}

// measured is the sum of measurements.
type measured struct {
	count         int
	used, elapsed float64 // seconds
}

// add measures work, which returns how many times it has done something.
func (m *measured) add(pid int, work func() int) {
	before, began := usedSoFar(pid), time.Now()
	m.count += work()
	m.used += usedSoFar(pid) - before
	m.elapsed += time.Since(began).Seconds()
}

// log writes the averages to the log.
func (m *measured) log(t *testing.T, name string) {
	t.Helper()
	each := 1000 / float64(m.count)
	t.Logf("%8.4f ms of a processor, %8.4f ms: %s (%d)", m.used*each, m.elapsed*each, name, m.count)
}

// run creates a job of one step and starts a run of it.
func (c *costs) run(t *testing.T, name string) {
	t.Helper()
	_, err := catalog.On(c.store).AddJob(t.Context(), model.JobSpec{Name: name})
	require.NoError(t, err)
	_, err = catalog.On(c.store).AddJobStep(t.Context(), model.StepSpec{JobName: name, TargetGroup: new("fleet"), Command: new("SELECT 1;")})
	require.NoError(t, err)
	_, err = executions.On(c.store).StartJob(t.Context(), name, uuid.Nil)
	require.NoError(t, err)
}

// pass makes a pass.
func (c *costs) pass(t *testing.T, tasks int) controldb.PassResult {
	t.Helper()
	res, err := c.store.Pass(t.Context(), controldb.PassRequest{Term: c.term.ID, MaxTasks: tasks, MaxConcurrentTargets: 10_000})
	require.NoError(t, err)
	return res
}

// resolve claims the resolution of the run that was started last, and completes it with a list of
// so many targets.
func (c *costs) resolve(ctx context.Context, t *testing.T, count int) {
	t.Helper()
	list := make([]targets.Target, count)
	for i := range list {
		list[i] = targets.NewTarget(fmt.Sprintf("server%d.example.com", i%4), fmt.Sprintf("tenant%06d", i), "")
	}
	for range 5 { // a pass that creates the step may not claim its resolution
		res := c.pass(t, 1)
		if len(res.Tasks) == 0 {
			continue
		}
		task := res.Tasks[0]
		require.Equal(t, controldb.TaskResolve, task.Kind)
		require.NoError(t, c.store.CompleteResolution(ctx, c.term.ID, task.ID,
			controldb.Resolution{Attempt: task.Attempt, Claim: task.Claim, Targets: list}))
		for more := true; more; { // passes write a long list in slices
			res := c.pass(t, 0)
			more = res.More()
		}
		return
	}
	t.Fatal("no resolution")
}

// fanOut measures a run on so many targets, with so many tasks in each call.
func (c *costs) fanOut(t *testing.T, name string, count, size int) {
	c.measure(t, "start a job and resolve its targets, for each target, "+name, count, func() {
		c.run(t, name)
		c.resolve(t.Context(), t, count)
	})
	// An agent of 100 concurrent targets holds at most 200 tasks; a pass reads all of them.
	const held = 200
	var claims, completions measured
	for done := 0; done < count; {
		var outcomes []controldb.Outcome
		claims.add(c.processes[0].Pid, func() (calls int) {
			for len(outcomes) < min(held, count-done) {
				res := c.pass(t, size)
				require.NotEmpty(t, res.Tasks)
				for _, task := range res.Tasks {
					outcomes = append(outcomes, controldb.Outcome{Task: task.ID, Attempt: task.Attempt, Claim: task.Claim, Outcome: targets.Succeeded})
				}
				calls++
			}
			return calls
		})
		done += len(outcomes)
		completions.add(c.processes[0].Pid, func() (calls int) {
			for len(outcomes) > 0 {
				n := min(size, len(outcomes))
				refused, err := c.store.CompleteTasks(t.Context(), c.term.ID, outcomes[:n])
				require.NoError(t, err)
				require.Empty(t, refused)
				outcomes = outcomes[n:]
				calls++
			}
			return calls
		})
	}
	claims.log(t, "controller_pass, "+name)
	completions.log(t, "complete_tasks, "+name)
	c.measure(t, "passes that end the run, for each target, "+name, count, func() {
		for more := true; more; {
			more = c.pass(t, 1).More()
		}
	})
}

// active measures passes while so many runs are active, each with one task that another term holds.
func (c *costs) active(t *testing.T, repeat, runs int) {
	for i := range runs {
		c.run(t, fmt.Sprintf("active %d", i))
		c.resolve(t.Context(), t, 1)
		require.Len(t, c.pass(t, 1).Tasks, 1)
	}
	other := c.start(t, 100)
	c.measure(t, fmt.Sprintf("controller_pass, idle, with %d active runs", runs), repeat, func() {
		for range repeat {
			_, err := c.store.Pass(t.Context(), controldb.PassRequest{Term: other.ID, MaxTasks: 100, MaxConcurrentTargets: 100})
			require.NoError(t, err)
		}
	})
}
