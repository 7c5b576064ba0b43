package controldb_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs/model"
)

// TestStepFields: a new step has the defaults of package model, and jobs.sp_add_jobstep,
// jobs.sp_update_jobstep and jobs.sp_set_jobstep_options take each setting.
func TestStepFields(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		other := model.StepSettings{
			Attempts: model.Attempts{RetryAttempts: 3, RetryErrors: "Transient", ToleratedFailures: "5%", InitialRetryInterval: 4, MaximumRetryInterval: 5,
				RetryIntervalMultiplier: 1.5, Timeout: 6},
			StepOptions: model.StepOptions{RunWhen: "Finished", OnTargets: "Succeeded", OnUnknownOutcome: "Fail", AtMostOnce: true,
				AgentOptions: model.AgentOptions{BindParameters: true}},
		}
		for i := range model.StepFields {
			f := &model.StepFields[i]
			require.True(t, f.Value(&other) == nil || !f.IsDefault(&other), "the test needs another value of %s", f.Name)
		}
		settings := func(name string) model.StepSettings {
			step, err := c.JobStep(ctx, "j", nil, name)
			require.NoError(t, err)
			return step.StepSettings
		}
		c.job(t, "j", nil)
		for _, name := range []string{"plain", "added", "updated", "options"} {
			spec := controldb.StepSpec{}
			if name == "added" {
				spec = model.StepChanges(other, model.DefaultStep)
			}
			spec.JobName, spec.StepName, spec.Command, spec.TargetGroup = "j", &name, new("SELECT 1;"), new("g")
			_, err := c.AddJobStep(ctx, spec)
			require.NoError(t, err)
		}
		require.Equal(t, model.DefaultStep, settings("plain"))
		require.Equal(t, other, settings("added"))

		update := model.StepChanges(other, model.DefaultStep)
		update.JobName, update.StepName = "j", new("updated")
		_, err := c.UpdateJobStep(ctx, update)
		require.NoError(t, err)
		require.Equal(t, other, settings("updated"))

		extensions := controldb.StepSpec{JobName: "j", StepName: new("options")}
		want := model.DefaultStep
		want.StepOptions, want.RetryErrors, want.ToleratedFailures = other.StepOptions, other.RetryErrors, other.ToleratedFailures
		for i := range model.StepFields {
			if f := &model.StepFields[i]; f.Extension && f.Value(&other) != nil {
				f.Take(&extensions, &other)
			}
		}
		_, err = c.SetJobStepOptions(ctx, extensions)
		require.NoError(t, err)
		require.Equal(t, want, settings("options"))

		none, err := c.UpdateJobStep(ctx, controldb.StepSpec{JobName: "j", StepName: new("updated")})
		require.NoError(t, err)
		job, err := c.Jobs(ctx, "j")
		require.NoError(t, err)
		require.Equal(t, job[0].Version, none, "an update without a field makes no version")
		require.Equal(t, other, settings("updated"))
	})
}
