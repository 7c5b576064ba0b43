package schedule

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestLastDayOfLeapYear covers an error of package time: the last day of a leap year beyond 2037
// (see engine.SegmentAt).
func TestLastDayOfLeapYear(t *testing.T) {
	t.Parallel()
	plan, err := Parse(KindCron5, []byte("30 2 * * *"), Options{Zone: "Europe/Berlin"})
	require.NoError(t, err)
	after := instant(t, "2040-12-29T12:00:00Z")
	var got []string
	for _, due := range Preview(plan, after, 4) {
		got = append(got, due.Format(time.RFC3339))
	}
	require.Equal(t, []string{"2040-12-30T01:30:00Z", "2040-12-31T01:30:00Z", "2041-01-01T01:30:00Z", "2041-01-02T01:30:00Z"}, got)
}

func TestGapAndOverlapOptions(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, options, after, due string }{
		{"shift", ``, "2026-03-28T12:00:00Z", "2026-03-29T01:30:00Z"},
		{"skip", `, "gap": "skip"`, "2026-03-28T12:00:00Z", "2026-03-30T00:30:00Z"},
		{"at_end", `, "gap": "at_end"`, "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z"},
		{"first", ``, "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"},
		{"first only", ``, "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"},
		{"second", `, "overlap": "second"`, "2026-10-24T12:00:00Z", "2026-10-25T01:30:00Z"},
		{"both", `, "overlap": "both"`, "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"},
	}
	for _, c := range cases {
		spec := `{"cron": "* * * * 2 30 0", "timeZone": "Europe/Berlin"` + c.options + `}`
		plan, err := Parse(KindSAP, []byte(spec), Options{})
		require.NoError(t, err)
		next, ok := plan.Next(instant(t, c.after))
		require.True(t, ok)
		require.Equal(t, c.due, next.Format(time.RFC3339), c.name)
	}
}
