package agent_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/testenv"
)

// The end of a pause is not a due instant: the schedule of a job keeps its grid.
func TestScheduleOfAJobKeepsItsGridAfterAPause(t *testing.T) {
	testenv.Long(t)
	longBubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 1)
		f.startAgent(t, slowPolling)
		f.AddJob(t, "j", []string{"SELECT 1;"})
		began := time.Now().UTC().Truncate(time.Second)
		f.every(t, "j", 15)
		<-time.After(7 * time.Minute)
		require.NoError(t, timetable.On(f.Store).Pause(t.Context(), "j", "", true, "for a while"))
		<-time.After(30 * time.Minute)
		require.NoError(t, timetable.On(f.Store).Pause(t.Context(), "j", "", false, ""))
		<-time.After(30 * time.Minute)
		runs, err := executions.On(f.Store).List(t.Context(), executions.Query{JobName: "j"}, controldb.Page[executions.Key]{})
		require.NoError(t, err)
		var at []int
		for _, e := range runs {
			at = append(at, int(e.CreateTime.Sub(began).Round(time.Minute)/time.Minute))
		}
		require.Equal(t, []int{60, 45, 0}, at, "minutes")
		f.CheckInvariants(t, f.Control, false)
		f.CheckHistory(t, f.Control)
	})
}
