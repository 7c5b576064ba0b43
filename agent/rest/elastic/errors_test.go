package elastic

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/message"
)

func TestInProperties(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Invalid @step_timeout_seconds 0: want 1 to 2147483.":  "Invalid executionOptions.timeoutSeconds 0: want 1 to 2147483.",
		"The job '@command' has @new_id. See jobs.x @command.": "The job '@command' has new id. See jobs.x action.value.",
		"Change it with jobs.sp_update_job @description.":      "Change it with jobs.sp_update_job description.",
	} {
		require.Equal(t, want, message.Parse(text).Words(inProperties))
	}
}
