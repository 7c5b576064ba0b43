package apply

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/definition"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/jobs/manifest"
	"github.com/jobagent/jobagent/jobs/model"
)

// A schedule that runs once is disabled after its run. Its file still says that it is enabled, and
// an apply must not start the run again.
func TestPastRunIsNotStartedAgain(t *testing.T) {
	start := time.Date(2026, 1, 31, 22, 0, 0, 0, time.UTC)
	fields := func(file manifest.Interval, row catalog.JobDetail, lastDue time.Time) []string {
		row.Name, row.IntervalCount = "j", 1
		s, err := definition.NewState(definition.Definitions{Definitions: catalog.Definitions{Jobs: []catalog.JobDetail{row}},
			Schedules: []timetable.Schedule{{JobName: "j", ScheduleProgress: model.ScheduleProgress{LastDue: lastDue}}}})
		require.NoError(t, err)
		file.Count = 1
		o := manifest.Object{Kind: manifest.KindJob, Value: &manifest.Job{Name: "j", Schedule: &file}}
		manifest.Normalize([]manifest.Object{o})
		changes, err := plan(manifest.Set{Objects: []manifest.Object{o}}, s, false)
		require.NoError(t, err)
		require.True(t, o.Value.(*manifest.Job).Schedule.Enabled, "the files' own object stays")
		return changes[0].fields
	}
	once := manifest.Interval{Enabled: true, Interval: "Once"}
	row := catalog.JobDetail{Job: catalog.Job{IntervalType: "Once", Start: definition.NoStart, End: definition.NoEnd}}
	require.Empty(t, fields(once, row, start), "it has run")
	require.Equal(t, []string{"schedule"}, fields(once, row, time.Time{}), "it has not run yet")
	at := once
	at.Start = start
	require.NotEmpty(t, fields(at, row, start), "another start time is another run")
	row.Start = start
	require.Empty(t, fields(at, row, start))
	require.NotEmpty(t, fields(manifest.Interval{Enabled: true, Interval: "Days"}, row, start))
	row.IntervalType = "Days"
	require.NotEmpty(t, fields(once, row, start))
}
