package jobs_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/isoduration"
)

func TestParseDuration(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]isoduration.Duration{
		"P1Y2M3W4DT5H6M7S":    {Years: 1, Months: 2, Weeks: 3, Days: 4, Hours: 5, Minutes: 6, Seconds: 7},
		"PT90S":               {Seconds: 90},
		"P1M":                 {Months: 1},
		"PT1M":                {Minutes: 1},
		"P0D":                 {},
		"p1dt2h":              {Days: 1, Hours: 2},
		"PT1.5S":              {Seconds: 1, Nanoseconds: 500_000_000},
		"pt0,25s":             {Nanoseconds: 250_000_000},
		"PT0.000000001S":      {Nanoseconds: 1},
		"PT0000000000000090S": {Seconds: 90},
		"PT9999999999S":       {Seconds: 9_999_999_999},
	} {
		got, ok := isoduration.Parse(text)
		require.True(t, ok, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{
		"", "P", "PT", "P1DT", "1D", "P1H", "PT1D", "P1D1D", "P1D1W", "PT1S1M", "-P1D", "P-1D", "P1.5D", "P1", "PTS", "PT1M ", "P1D2H",
		"PT1.S", "PT0.0000000001S", "P99999999999D", "P" + strings.Repeat("9", 200) + "D",
	} {
		_, ok := isoduration.Parse(text)
		require.False(t, ok, text)
	}
}

func TestParseDurationOfSeconds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"PT30S": 30, "P1D": 86400, "PT1H30M": 5400, "P1Y2M": 425 * 86400, "P2W": 14 * 86400, "pt1.9s": 1,
		"00:01:30": 90, "2.00:00:01": 172801, "100:00:00": 360_000, "00:00:01.5000000": 1,
	} {
		got, ok := isoduration.ParseSeconds(text)
		require.True(t, ok, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "P", "PT", "PT1D", "30", "P1DT", "1:2:3", "-00:01:30", "00:01", "99999999999.00:00:00"} {
		_, ok := isoduration.ParseSeconds(text)
		require.False(t, ok, text)
	}
	got, ok := isoduration.ParseSeconds("P9999999999Y9999999999M9999999999W9999999999DT9999999999H9999999999M9999999999S")
	require.True(t, ok)
	require.Less(t, got, int64(math.MaxInt64/8), "no overflow")
	require.Positive(t, got)
}
