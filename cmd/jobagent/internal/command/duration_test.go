package command

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

func TestParseDuration(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"5": 5 * time.Second, "5s": 5 * time.Second, "30m": 30 * time.Minute, "1h30m": 90 * time.Minute, "90d": 90 * 24 * time.Hour, "2w": 14 * 24 * time.Hour,
		"1d12h": 36 * time.Hour, "0": 0, "-1": -time.Second, "250ms": 250 * time.Millisecond,
	} {
		d, err := ParseDuration(text)
		require.NoError(t, err, text)
		require.Equal(t, want, d, text)
	}
	for _, text := range []string{"", "d", "5x", "1y", "99999w", "99999999999999999999", "9223372036854775807", "1d-2h", "5 m"} {
		_, err := ParseDuration(text)
		require.Error(t, err, text)
	}
}

// A period needs a unit.
func TestParsePeriod(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"5m": 5 * time.Minute, "7d": 7 * 24 * time.Hour, "0": 0, "-1h": -time.Hour} {
		d, err := ParsePeriod(text)
		require.NoError(t, err, text)
		require.Equal(t, want, d, text)
	}
	for _, text := range []string{"5", " 90 ", "-1"} {
		_, err := ParsePeriod(text)
		require.ErrorContains(t, err, "want a unit, such as "+strings.TrimSpace(text)+"m, ")
	}
	_, err := ParsePeriod("soon")
	require.Error(t, err)
	flags := pflag.NewFlagSet("x", pflag.ContinueOnError)
	var d time.Duration
	AddPeriod(flags, &d, "for", time.Hour, "")
	require.ErrorContains(t, flags.Parse([]string{"--for=5"}), "want a unit")
	require.NoError(t, flags.Parse([]string{"--for=2d"}))
	require.Equal(t, 48*time.Hour, d)
}

// A flag takes and shows durations; one in seconds has whole ones.
func TestDurationFlags(t *testing.T) {
	t.Parallel()
	flags := pflag.NewFlagSet("x", pflag.ContinueOnError)
	var d time.Duration
	var seconds int
	AddDuration(flags, &d, "wait", time.Minute, "")
	AddSeconds(flags, &seconds, "timeout", 43200, "")
	require.Equal(t, "1m", flags.Lookup("wait").DefValue)
	require.Equal(t, "12h", flags.Lookup("timeout").DefValue)
	require.NoError(t, flags.Parse([]string{"--wait=5", "--timeout", "30m"}))
	require.Equal(t, 5*time.Second, d)
	require.Equal(t, 1800, seconds)
	require.ErrorContains(t, flags.Parse([]string{"--timeout=1500ms"}), "want whole seconds")
	require.ErrorContains(t, flags.Parse([]string{"--timeout=99999d"}), "want at most")
}
