package runs

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
)

// While pauses and windows hold targets, a run takes at least until the last of them goes on.
func TestHeldTargets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		d := &Detail{ReadAt: now, Run: executions.Run{
			JobName: "j", Active: true, Lifecycle: jobs.WaitingForChildJobExecutions, CreateTime: now.Add(-time.Hour), Now: now, Held: 2,
			Steps: []executions.RunStep{{ID: 1, StepID: 1, StartTime: now.Add(-time.Hour), States: []executions.StateCount{
				{StepID: 1, Lifecycle: jobs.Succeeded, Total: 60}, {StepID: 1, Lifecycle: jobs.Created, Total: 2, Held: 2},
			}}},
		}}
		head := func() string {
			return strings.Join(Canvas{Width: 100, Paint: terminal.Painter{Plain: true}}.head(d, 0), "\n")
		}
		require.Contains(t, head(), "2 of these held by pauses and windows")
		require.NotContains(t, head(), " left", "nobody knows when the windows open")
		d.Run.HeldFrom, d.Run.HeldUntil = now.Add(time.Hour), now.Add(5*time.Hour)
		require.Contains(t, head(), "≥ "+terminal.Span(5*time.Hour)+" left")
		require.Contains(t, head(), ", the first until "+d.Run.HeldFrom.UTC().Format("2006-01-02 15:04 UTC"))
		d.Run.Held, d.Run.HeldFrom, d.Run.HeldUntil = 0, time.Time{}, time.Time{}
		require.NotContains(t, head(), "held")
		require.Contains(t, head(), " · "+terminal.Span(2*time.Minute)+" left", "one a minute")
	})
}
