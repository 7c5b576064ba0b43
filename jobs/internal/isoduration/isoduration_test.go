package isoduration

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Duration{
		"P1Y2M3W4DT5H6M7S": {Years: 1, Months: 2, Weeks: 3, Days: 4, Hours: 5, Minutes: 6, Seconds: 7},
		"PT90S":            {Seconds: 90},
		"P1M":              {Months: 1},
		"PT1M":             {Minutes: 1},
		"P0D":              {},
	} {
		got, ok := Parse(text)
		require.True(t, ok, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "P", "PT", "P1DT", "1D", "p1d", "P1H", "PT1D", "P1D1D", "P1D1W", "PT1S1M", "P-1D", "P1.5D", "PT", "P1", "PTS", "P99999999999999999999D"} {
		_, ok := Parse(text)
		require.False(t, ok, text)
	}
}
