package agent_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zaptest"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv"
)

// fixture is a control database with target databases db1, db2, … and a target group "all" of them.
type fixture struct {
	*testenv.Env
	store   *controldb.Store
	control string
}

// newFixture makes one with n target databases.
func newFixture(t *testing.T, env *testenv.Env, n int) *fixture {
	t.Helper()
	f := &fixture{Env: env}
	f.store, f.control = env.Control(t)
	_, err := f.store.AddTargetGroup(t.Context(), "all")
	require.NoError(t, err)
	for i := range n {
		name := env.CreateDatabase(t, fmt.Sprintf("db%d", i+1))
		_, err := f.store.AddTargetGroupMember(t.Context(), "all", targets.Member{
			Membership: targets.Include, Kind: targets.SQLDatabase, Server: env.ServerName, Database: name,
		})
		require.NoError(t, err)
	}
	return f
}

// startAgent runs an agent until the returned function is called, which waits for its end. The test's end stops it too.
func (f *fixture) startAgent(t *testing.T, cfg agent.Config) (stop func()) {
	t.Helper()
	hosting, err := agent.New(cfg, f.store, f.Tools(t, f.store), nil, zaptest.NewLogger(t))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- hosting.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		require.NoError(t, <-ended)
	}
	t.Cleanup(stop)
	return stop
}

// job makes a job with one step per script, each on the group "all". Options change each step.
func (f *fixture) job(t *testing.T, name string, scripts []string, options ...func(*controldb.StepSpec)) {
	t.Helper()
	_, err := f.store.AddJob(t.Context(), controldb.JobSpec{Name: name})
	require.NoError(t, err)
	for i, script := range scripts {
		stepName := fmt.Sprintf("step %d", i+1)
		spec := controldb.StepSpec{JobName: name, StepName: &stepName, Command: script, TargetGroup: "all"}
		for _, option := range options {
			option(&spec)
		}
		_, err := f.store.AddJobStep(t.Context(), spec)
		require.NoError(t, err)
	}
}

// retries sets how often, and how long apart.
func retries(attempts, seconds int) func(*controldb.StepSpec) {
	return func(s *controldb.StepSpec) { s.RetryAttempts, s.InitialRetryInterval = &attempts, &seconds }
}

// timeout sets the step's time limit.
func timeout(seconds int) func(*controldb.StepSpec) {
	return func(s *controldb.StepSpec) { s.Timeout = &seconds }
}

// start starts a run.
func (f *fixture) start(t *testing.T, job string) uuid.UUID {
	t.Helper()
	id, err := f.store.StartJob(t.Context(), job, uuid.Nil)
	require.NoError(t, err)
	return id
}

// run reads the rows of a run.
func (f *fixture) run(t *testing.T, id uuid.UUID) []controldb.Execution {
	t.Helper()
	rows, err := f.store.Executions(t.Context(), controldb.ExecutionFilter{ID: id})
	require.NoError(t, err)
	require.NotEmpty(t, rows)
	return rows
}

// until looks at a run every 50 ms until ok, for at most limit.
func (f *fixture) until(t *testing.T, id uuid.UUID, limit time.Duration, ok func([]controldb.Execution) bool) []controldb.Execution {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		rows := f.run(t, id)
		if ok(rows) {
			return rows
		}
		select {
		case <-ctx.Done():
			for _, e := range rows {
				t.Logf("step %v %s/%s %s: %s", e.StepID, e.Server, e.Database, e.Lifecycle, e.LastMessage)
			}
			t.Fatalf("run %s is not where it should be after %s", id, limit)
		case <-tick.C:
		}
	}
}

// ended waits for the end of a run and checks the invariants.
func (f *fixture) ended(t *testing.T, id uuid.UUID, limit time.Duration) []controldb.Execution {
	t.Helper()
	rows := f.until(t, id, limit, func(rows []controldb.Execution) bool { return !rows[0].Active })
	f.CheckInvariants(t, f.control, false)
	f.CheckHistory(t, f.control)
	return rows
}

// lifecycles are those of the target rows of a step, by database.
func lifecycles(rows []controldb.Execution, step int) map[string]jobs.Lifecycle {
	m := map[string]jobs.Lifecycle{}
	for _, e := range rows {
		if e.TargetType == "SqlDatabase" && *e.StepID == step {
			m[e.Database] = e.Lifecycle
		}
	}
	return m
}
