package agent_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zaptest"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/agents"
)

// fixture is an installed control database with target databases db1, db2, …
type fixture struct {
	*testenv.Installation
}

// newFixture creates a fixture with n target databases.
func newFixture(t *testing.T, env *testenv.Env, n int) *fixture {
	t.Helper()
	return &fixture{Installation: env.Install(t, n)}
}

// startAgent runs an agent until the returned function is called, which waits for the agent, or
// until the test ends.
func (f *fixture) startAgent(t *testing.T, cfg agent.Config) (stop func()) {
	t.Helper()
	hosting, err := agent.New(cfg, f.Store, agents.Tools(t, f.Env, f.Store), nil, zaptest.NewLogger(t))
	require.NoError(t, err)
	return agents.Run(t, hosting)
}

// retries sets how often an attempt is retried, and the first wait in seconds.
func retries(attempts, seconds int) func(*model.StepSpec) {
	return func(s *model.StepSpec) { s.RetryAttempts, s.InitialRetryInterval = &attempts, &seconds }
}

// timeout sets the time limit of a step, in seconds.
func timeout(seconds int) func(*model.StepSpec) {
	return func(s *model.StepSpec) { s.Timeout = &seconds }
}

// endTerm ends the latest term.
const endTerm = `
DECLARE @term_id BIGINT = (SELECT MAX(t.term_id) FROM jobs_internal.terms AS t);
EXECUTE jobs_internal.end_term @term_id = @term_id;`

// every enables the schedule of a job, with an interval in minutes.
func (f *fixture) every(t *testing.T, job string, minutes int) {
	t.Helper()
	enabled, kind := true, "Minutes"
	require.NoError(t, catalog.On(f.Store).UpdateJob(t.Context(), model.JobSpec{
		Name: job, Enabled: &enabled, IntervalType: &kind, IntervalCount: &minutes,
	}))
}

// exec executes a batch in a database.
func (f *fixture) exec(t *testing.T, database, query string, args ...any) {
	t.Helper()
	_, err := f.DB(t, database).ExecContext(t.Context(), query, args...)
	require.NoError(t, err, query)
}

// query reads the only row of a result.
func (f *fixture) query(t *testing.T, database, query string, dest ...any) {
	t.Helper()
	require.NoError(t, f.DB(t, database).QueryRowContext(t.Context(), query).Scan(dest...), query)
}

// until polls a run until ok accepts it, for at most limit. It polls at most a thousand times,
// because in virtual time the polls are most of the cost of a long test.
func (f *fixture) until(
	t *testing.T, id uuid.UUID, limit time.Duration, ok func([]executions.Execution) bool,
) []executions.Execution {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	tick := time.NewTicker(max(50*time.Millisecond, limit/1000))
	defer tick.Stop()
	for {
		rows := f.Run(t, id)
		if ok(rows) {
			return rows
		}
		select {
		case <-ctx.Done():
			for _, e := range rows {
				t.Logf("step %v %s/%s %s: %s", e.StepID, e.Server, e.Database, e.Lifecycle, e.LastMessage)
			}
			t.Fatalf("run %s has not reached the expected state after %s", id, limit)
		case <-tick.C:
		}
	}
}

// ended waits until a run has ended and checks the invariants.
func (f *fixture) ended(t *testing.T, id uuid.UUID, limit time.Duration) []executions.Execution {
	t.Helper()
	rows := f.until(t, id, limit, func(rows []executions.Execution) bool { return !rows[0].Active })
	f.CheckInvariants(t, f.Control, false)
	f.CheckHistory(t, f.Control)
	return rows
}

// lifecycles returns the lifecycles of a step's target executions by database.
func lifecycles(rows []executions.Execution, step int) map[string]jobs.Lifecycle {
	m := map[string]jobs.Lifecycle{}
	for _, e := range rows {
		if e.TargetType == "SqlDatabase" && *e.StepID == step {
			m[e.Database] = e.Lifecycle
		}
	}
	return m
}

// ptr returns a pointer to v.
func ptr[T any](v T) *T { return &v }
