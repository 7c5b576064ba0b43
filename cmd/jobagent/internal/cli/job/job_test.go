package job

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/clitest"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeStopper fails for some runs.
type fakeStopper map[uuid.UUID]error

// Stop implements stopper.
func (f fakeStopper) Stop(_ context.Context, id uuid.UUID) error { return f[id] }

// After an error with one run, the other runs are still asked to stop, and the result names them.
func TestStopRunsContinuesAfterError(t *testing.T) {
	t.Parallel()
	a, b, c := uuid.New(), uuid.New(), uuid.New()
	broken := errors.New("broken")
	stopped, err := stopRuns(t.Context(), fakeStopper{b: broken}, []uuid.UUID{a, b, c})
	require.Equal(t, []uuid.UUID{a, c}, stopped)
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, b.String())
}

// A job whose name looks like an execution ID can be stopped by its name.
func TestRunsToStopOfAJobNamedLikeAnID(t *testing.T) {
	t.Parallel()
	server := clitest.Server(t)
	name := uuid.NewString()
	_, err := catalog.On(server.Store).AddJob(t.Context(), model.JobSpec{Name: name})
	require.NoError(t, err)
	_, err = targetgroups.On(server.Store).Add(t.Context(), "g")
	require.NoError(t, err)
	_, err = catalog.On(server.Store).AddJobStep(t.Context(), model.StepSpec{JobName: name, Command: new("SELECT 1;"),
		TargetGroup: new("g")})
	require.NoError(t, err)
	run, err := executions.On(server.Store).StartJob(t.Context(), name, uuid.Nil)
	require.NoError(t, err)

	ids, _, err := runsToStop(t.Context(), server.Store, name)
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{run}, ids)
	ids, _, err = runsToStop(t.Context(), server.Store, run.String())
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{run}, ids)
	n, err := executions.On(server.Store).Count(t.Context(), executions.HistoryFilter{JobName: name, Active: true}, 5)
	require.NoError(t, err)
	require.Equal(t, 1, n)

	// Neither a run that has ended nor a job without active runs is an error.
	agentless := "the job " + name + " has no active run"
	require.NoError(t, executions.On(server.Store).Stop(t.Context(), run))
	term, err := server.Store.StartTerm(t.Context(), controldb.Agent{ID: uuid.New()}, time.Minute)
	require.NoError(t, err)
	for range 3 {
		_, err = server.Store.Pass(t.Context(), controldb.PassRequest{Term: term.ID, MaxConcurrentTargets: 1})
		require.NoError(t, err)
	}
	ids, nothing, err := runsToStop(t.Context(), server.Store, run.String())
	require.NoError(t, err)
	require.Empty(t, ids)
	require.Contains(t, nothing, "run "+run.String()+" of the job "+name+" ended as Canceled at ")
	ids, nothing, err = runsToStop(t.Context(), server.Store, name)
	require.NoError(t, err)
	require.Empty(t, ids)
	require.Equal(t, agentless, nothing)
	n, err = executions.On(server.Store).Count(t.Context(), executions.HistoryFilter{JobName: name, Before: time.Now().Add(time.Hour)}, 5)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	n, err = executions.On(server.Store).Count(t.Context(), executions.HistoryFilter{JobName: name, Before: time.Unix(0, 0)}, 5)
	require.NoError(t, err)
	require.Zero(t, n)
}

// job show says which schedule starts no runs, because its parameters do not fit.
func TestJobShowTellsUnfitParameters(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	require.NoError(t, printJob(&b, output.Job{Job: catalog.Job{Name: "j"}, JobPlan: catalog.JobPlan{Named: 1, ParametersFault: "on: tenant is missing"}}))
	require.Contains(t, b.String(), "starts no runs: on: tenant is missing\n")
}
