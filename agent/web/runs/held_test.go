package runs

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/testenv/pagetest"
)

// The head of a run says how many targets pauses and windows hold, and until when as far as that is
// known.
func TestHeldTargets(t *testing.T) {
	w := newWatch(uuid.New(), 1)
	w.head = executions.Run{JobName: "j", Lifecycle: jobs.WaitingForChildJobExecutions, Active: true, CreateTime: pagetest.Now.Add(-time.Hour), Now: pagetest.Now, Held: 2}
	shown := func() string {
		v := w.view()
		return pagetest.Render(t, files, "run-head", &v)
	}
	html := shown()
	require.Contains(t, html, "targets wait, because their databases are paused or outside of a window; it is not known until when")
	require.NotContains(t, html, " left")

	w.head.HeldFrom = pagetest.Now.Add(2 * time.Hour)
	require.Contains(t, shown(), ", and of others it is not known")
	require.NotContains(t, shown(), " left", "the last one may wait for ever")

	w.head.HeldUntil = pagetest.Now.Add(5 * time.Hour)
	html = shown()
	require.Contains(t, html, ", the last at ")
	require.Contains(t, html, ", at least ")
	require.Equal(t, 5*time.Hour, w.view().Left)

	w.head.HeldUntil = w.head.HeldFrom
	require.NotContains(t, shown(), "the last at")
	w.head.Held = 0
	require.NotContains(t, shown(), "outside of a window")
}
