package isoduration_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest/internal/isoduration"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		months int64
		length time.Duration
	}{
		"PT15M": {0, 15 * time.Minute}, "P1DT2H": {0, 26 * time.Hour}, "P2W": {0, 336 * time.Hour}, "P1Y2M": {14, 0}, "P1M": {1, 0},
		"pt1.5s": {0, 1500 * time.Millisecond}, "PT0,25S": {0, 250 * time.Millisecond}, "P0D": {0, 0}, "P1MT1M": {1, time.Minute},
		"PT1H30M15S": {0, time.Hour + 30*time.Minute + 15*time.Second},
	} {
		d, err := isoduration.Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want.months, d.Months.Int64(), text)
		require.Equal(t, int64(want.length), d.Nanoseconds.Int64(), text)
	}
	for _, text := range []string{"", "P", "PT", "P1DT", "1D", "-P1D", "P-1D", "P1H", "PT1D", "P1.5D", "P1D2H", "PT1M ", "P1", "PT1S1M", "P" + strings.Repeat("9", 200) + "D"} {
		_, err := isoduration.Parse(text)
		require.ErrorIs(t, err, isoduration.ErrInvalid, text)
	}
}
