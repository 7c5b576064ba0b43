package command_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
)

// A duration counts back from the clock of the control database, whatever the clock of this machine
// says; a time and an empty text need no clock.
func TestSince(t *testing.T) {
	t.Parallel()
	errNoClock := errors.New("no clock")
	clock := time.Date(1999, 12, 31, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"90m": clock.Add(-90 * time.Minute), "-90m": clock.Add(-90 * time.Minute), "7d": clock.AddDate(0, 0, -7), "1w12h": clock.Add(-7*24*time.Hour - 12*time.Hour),
		"2026-01-31": time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC), "2026-01-31T22:00:00+01:00": time.Date(2026, 1, 31, 21, 0, 0, 0, time.UTC), "": {},
	} {
		since, err := command.ParseSince(text)
		require.NoError(t, err, text)
		got, err := since.Time(t.Context(), func(context.Context) (time.Time, error) { return clock, nil })
		require.NoError(t, err, text)
		require.True(t, want.Equal(got), "%s: %s", text, got)
		_, err = since.Time(t.Context(), func(context.Context) (time.Time, error) { return time.Time{}, errNoClock })
		if want.Year() == 1999 {
			require.ErrorIs(t, err, errNoClock, text)
		} else {
			require.NoError(t, err, text)
		}
	}
	for _, text := range []string{"24", "yesterday", "7 days ago", "2026-13-01", "٣d", " "} {
		_, err := command.ParseSince(text)
		require.ErrorContains(t, err, "--since", text)
	}
}
