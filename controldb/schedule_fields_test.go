package controldb_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/jobs/schedule"
	sqlfs "github.com/jobagent/jobagent/sql"
)

// TestListsOfSchedules: the procedures and tables have the values of package model and of package
// schedule.
func TestListsOfSchedules(t *testing.T) {
	var intervals []string
	for _, i := range schedule.Intervals() {
		intervals = append(intervals, string(i))
	}
	objects, err := sqlfs.Objects()
	require.NoError(t, err)
	text := map[string]string{}
	for _, o := range objects {
		text[o.Name] = o.Text
	}
	for column, names := range map[string][]string{"overlap": model.OverlapNames(), "interval_type": intervals} {
		check := "CHECK (" + column + " IN (N'" + strings.Join(names, "', N'") + "'))"
		require.Contains(t, text["jobs_internal.schedules"], check)
		last := len(names) - 1
		procedure := map[string]string{"overlap": "check_overlap", "interval_type": "check_schedule"}[column]
		require.Contains(t, text["jobs_internal."+procedure], "want "+strings.Join(names[:last], ", ")+" or "+names[last]+".")
	}
	for _, kind := range schedule.Kinds() {
		if o := model.DefaultOverlap(string(kind)); o != model.DefaultOverlap("") {
			require.Contains(t, text["jobs_internal.check_overlap"], "WHEN @kind = N'"+string(kind)+"' THEN N'"+o+"'")
		}
	}
	require.Contains(t, text["jobs_internal.check_overlap"], "ELSE N'"+model.DefaultOverlap("")+"'")
	require.Contains(t, text["jobs.sp_backfill_schedule"], "COALESCE(@overlap, N'"+model.OverlapBufferAll+"')")
}
