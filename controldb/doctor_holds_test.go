package controldb_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/doctor"
	"github.com/jobagent/jobagent/controldb/holds"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv"
)

// The doctor tells of windows of databases that do not open, and of pauses that were forgotten.
func TestExamineHolds(t *testing.T) {
	testenv.Long(t)
	each(t, func(t *testing.T, c *control) {
		require.Equal(t, doctor.SeverityOK, doctor.Worst(c.findings(t, doctor.CodeTargetWindows)))
		require.NoError(t, timetable.On(c.Store).AddCalendar(t.Context(), "past", `{"dates": ["2001-01-01"]}`))
		require.NoError(t, timetable.On(c.Store).AddCalendar(t.Context(), "days", `{"monthDays": [1, 15, -1]}`))
		set := func(name, calendar, blackouts string) {
			t.Helper()
			require.NoError(t, holds.On(c.Store).SetWindow(t.Context(), holds.Window{
				Name: name, TagFilter: "tier = 'gold'", Calendar: calendar, Blackouts: blackouts, Zone: "Asia/Tokyo",
			}))
		}
		set("w1", "days", "past")
		set("w2", "", "past")
		require.Equal(t, doctor.SeverityOK, doctor.Worst(c.findings(t, doctor.CodeTargetWindows)))
		set("w3", "past", "")
		set("w4", "days", "days")
		c.exec(t, `UPDATE c SET c.spec = N'{"dates": 1}' FROM jobs_internal.calendars AS c WHERE c.name = N'past';`)
		found := c.findings(t, doctor.CodeTargetWindows)
		require.Len(t, found, 1)
		require.Equal(t, doctor.SeverityWarning, found[0].Severity)
		require.Contains(t, found[0].Found, "4 windows of databases do not open within a year: w1 (", "its calendar is broken")
		c.exec(t, `UPDATE c SET c.spec = N'{"dates": ["2001-01-01"]}' FROM jobs_internal.calendars AS c WHERE c.name = N'past';`)
		require.Contains(t, c.findings(t, doctor.CodeTargetWindows)[0].Found, "2 windows of databases do not open within a year: w3; w4")

		for _, name := range []string{"forgotten", "ends", "new"} {
			require.NoError(t, holds.On(c.Store).SetPause(t.Context(), holds.Pause{Server: "s", Database: name}))
		}
		c.exec(t, `UPDATE p SET p.ends_at = CASE WHEN p.database_name = N'ends' THEN DATEADD(DAY, 1, SYSUTCDATETIME()) END,
    p.paused_at = CASE WHEN p.database_name = N'new' THEN p.paused_at ELSE '2020-02-03' END
FROM jobs_internal.target_pauses AS p;`)
		found = c.findings(t, doctor.CodeTargetPauses)
		require.Len(t, found, 1)
		require.Equal(t, doctor.SeverityWarning, found[0].Severity)
		require.Contains(t, found[0].Found, "1 database has been paused for 30 days without an end: s/forgotten since 2020-02-03 by ")
		require.NoError(t, holds.On(c.Store).Resume(t.Context(), "s", "forgotten", targets.TargetID("s", "forgotten")))
		require.Equal(t, doctor.SeverityOK, doctor.Worst(c.findings(t, doctor.CodeTargetPauses)))
	})
}
