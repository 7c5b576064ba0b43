package testenv

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
)

// Group is the target group of an [Installation]. It contains all its target databases.
const Group = "all"

// Installation is a control database with a group of target databases on the same server.
type Installation struct {
	*Env
	// Store calls the control database.
	Store *controldb.Store
	// Control is the name of the control database.
	Control string
	// Targets are the names of the target databases. On the embedded server they are db1, db2, …
	Targets []string
}

// Install creates a control database, n target databases and the group that contains them. They are
// closed when the test ends.
func (e *Env) Install(t testing.TB, n int) *Installation {
	t.Helper()
	in := &Installation{Env: e}
	in.Store, in.Control = e.Control(t)
	_, err := targetgroups.On(in.Store).Add(t.Context(), Group)
	require.NoError(t, err)
	for i := range n {
		name := e.CreateDatabase(t, fmt.Sprintf("db%d", i+1))
		in.Targets = append(in.Targets, name)
		_, err = targetgroups.On(in.Store).AddMember(t.Context(), Group, targets.Member{
			Membership: targets.Include, Kind: targets.SQLDatabase, Server: e.ServerName, Database: name,
		})
		require.NoError(t, err)
	}
	return in
}

// AddJob creates a job with one step per script. Each step runs on all target databases; options
// change each step.
func (in *Installation) AddJob(t testing.TB, name string, scripts []string, options ...func(*model.StepSpec)) {
	t.Helper()
	_, err := catalog.On(in.Store).AddJob(t.Context(), model.JobSpec{Name: name})
	require.NoError(t, err)
	for i, script := range scripts {
		stepName := fmt.Sprintf("step %d", i+1)
		spec := model.StepSpec{JobName: name, StepName: &stepName, Command: new(script), TargetGroup: new(Group)}
		for _, option := range options {
			option(&spec)
		}
		_, err := catalog.On(in.Store).AddJobStep(t.Context(), spec)
		require.NoError(t, err)
	}
}

// Start starts a run of a job.
func (in *Installation) Start(t testing.TB, job string) uuid.UUID {
	t.Helper()
	id, err := executions.On(in.Store).StartJob(t.Context(), job, uuid.Nil)
	require.NoError(t, err)
	return id
}

// Run reads the executions of a run; the first is the run's own.
func (in *Installation) Run(t testing.TB, id uuid.UUID) []executions.Execution {
	t.Helper()
	rows, err := executions.On(in.Store).Rows(t.Context(), id)
	require.NoError(t, err)
	require.NotEmpty(t, rows)
	return rows
}
