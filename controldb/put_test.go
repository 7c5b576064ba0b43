package controldb_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/caller"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
)

// TestPutReadsInItsTransaction: a call that sets an object reads it in the same transaction, so
// that nothing is left of the object if it cannot be read.
func TestPutReadsInItsTransaction(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.exec(t, `DROP VIEW jobs.job_details`)
		for name, by := range map[string]*caller.Caller{
			"login": nil, "cli": {Door: caller.DoorCLI}, "role": {Role: "jobs_author", Door: caller.DoorREST, Name: "a"},
		} {
			ctx := t.Context()
			if by != nil {
				ctx = caller.With(ctx, *by)
			}
			_, err := catalog.On(c.Store).SetJob(ctx, model.JobSpec{Name: name}, nil)
			require.ErrorContains(t, err, "job_details", name)
			require.Empty(t, c.rows(t, `SELECT job_name FROM jobs.jobs`), name)
		}
	})
}

// TestPutWithCallers: whoever calls gets the object as the call left it.
func TestPutWithCallers(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		for name, by := range map[string]caller.Caller{
			"cli": {Door: caller.DoorCLI}, "role": {Role: "jobs_author", Door: caller.DoorREST, Name: "a"},
		} {
			ctx := caller.With(t.Context(), by)
			members := []targets.Member{{Kind: "SqlDatabase", Server: "s", Database: "b"}, {Kind: "SqlDatabase", Server: "s", Database: "a"}}
			group, err := targetgroups.On(c.Store).Set(ctx, name, members, nil)
			require.NoError(t, err)
			require.True(t, group.Created)
			read, err := targetgroups.On(c.Store).Get(ctx, name)
			require.NoError(t, err)
			require.Equal(t, read, group.Object)
			require.Len(t, read.Members, 2)

			job, err := catalog.On(c.Store).SetJob(ctx, model.JobSpec{Name: name, Description: ptr("about 'it'")}, nil)
			require.NoError(t, err)
			require.True(t, job.Created)
			step, err := catalog.On(c.Store).SetJobStep(ctx, model.StepSpec{JobName: name, StepName: ptr("s"), Command: new("SELECT 1"), TargetGroup: new(name)}, nil)
			require.NoError(t, err)
			require.True(t, step.Created)
			readStep, err := catalog.On(c.Store).JobStep(ctx, name, nil, "s")
			require.NoError(t, err)
			require.Equal(t, readStep, step.Object)
			readJob, err := catalog.On(c.Store).JobDetail(ctx, name)
			require.NoError(t, err)
			require.Greater(t, readJob.Revision, job.Object.Revision, "the step is a change of the job")
			job.Object.Revision, job.Object.Version = readJob.Revision, readJob.Version
			require.Equal(t, readJob, job.Object)
		}
	})
}
