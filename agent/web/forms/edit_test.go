package forms

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/controldb/message"
	"github.com/jobagent/jobagent/jobs/manifest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A parameter of a procedure belongs to a field of the form, unless it is another procedure's.
func TestFieldOf(t *testing.T) {
	t.Parallel()
	of := func(model any, noun string) func(text string) string {
		s := &subject{form: &form{noun: noun}, fields: manifest.FormFields(model)}
		return func(text string) string { return s.fieldOf(message.Parse(text)[0]) }
	}
	step, rule, group := of(manifest.Step{}, "step"), of(manifest.Alert{}, "alert rule"), of(manifest.TargetGroup{}, "target group")
	for text, want := range map[string]string{
		"@retry_attempts": "retry_attempts", "@target_group_name": "target_group", "@credential_name": "credential", "@step_name": "name",
		"@job_name": "", "@new_id": "", "'@retry_attempts'": "",
	} {
		require.Equal(t, want, step(text), text)
	}
	require.Equal(t, "name", rule("@alert_name"))
	require.Equal(t, "name", group("@target_group_name"))
	s := &subject{form: &form{noun: "step"}, fields: manifest.FormFields(manifest.Step{})}
	require.Empty(t, s.fieldOf(message.Parse("jobs.sp_update_jobstep @retry_attempts")[2]))
}
