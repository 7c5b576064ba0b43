package schedule

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// If clocks are moved back just after midnight, the end of the previous day is repeated, as in St.
// John's until 2011.
func TestBlackoutOfADateThatComesBack(t *testing.T) {
	t.Parallel()
	// The last instant of 27 October, then the instants from the second midnight of the 29th on.
	want := []string{"2000-10-28T02:15:00Z", "2000-10-29T03:30:00Z", "2000-10-29T03:45:00Z", "2000-10-29T04:00:00Z"}
	for _, mode := range []string{"skip", "defer"} {
		spec := `{"cron": "*/15 * * * *", "timeZone": "America/St_Johns", "blackouts": {"mode": "` + mode + `", "calendars": [{"dates": ["2000-10-28"]}]}}`
		plan, err := Parse(KindCron5, []byte(spec), Options{Created: instant(t, "2000-10-01T00:00:00Z")})
		require.NoError(t, err)
		var got []string
		for _, at := range Preview(plan, instant(t, "2000-10-28T02:00:00Z"), 4) {
			got = append(got, at.Format(time.RFC3339))
		}
		require.Equal(t, want, got, mode)
	}
}

// Faults list the allowed values in words, not in Go's list format.
func TestFaultsListWhatIsAllowed(t *testing.T) {
	named := map[string]*Calendar{"b": {}, "a": {}}
	for _, tc := range []struct {
		kind  Kind
		spec  string
		opts  Options
		wants string
	}{
		{"cron7", "* * * * *", Options{}, "one of elastic, azure-scheduler, sap, cron5, cron6, quartz, rrule"},
		{KindElastic, `{"schedule_interval_type": "Day"}`, Options{}, "one of Once, Minutes, Hours, Days, Weeks, Months"},
		{KindCron5, `{"cron": "* * * * *", "blackouts": {"calendars": ["c"]}}`, Options{}, "the name of a calendar; no calendar exists (jobs.sp_add_calendar adds one)"},
		{KindCron5, `{"cron": "* * * * *", "blackouts": {"calendars": ["c"]}}`, Options{Calendars: named}, "the name of a calendar: a, b"},
	} {
		_, err := Parse(tc.kind, []byte(tc.spec), tc.opts)
		var all *Error
		require.ErrorAs(t, err, &all)
		require.Equal(t, tc.wants, all.Faults[0].Allowed)
	}
}
