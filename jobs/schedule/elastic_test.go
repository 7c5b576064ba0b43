package schedule_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/schedule/internal/elastic"
	"github.com/jobagent/jobagent/jobs/schedule/internal/engine"
	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
)

func instant(t testing.TB, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, s)
	require.NoError(t, err)
	return at
}

// first returns the first n due instants after the given one.
func first(s engine.Schedule, after time.Time, n int) []time.Time {
	var due []time.Time
	for next, ok := s.Next(after); ok && len(due) < n; next, ok = s.Next(next) {
		due = append(due, next)
	}
	return due
}

// TestElasticVectors checks the vectors of vectors.json, and further
// cases of decisions 9 to 12.
func TestElasticVectors(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		interval          elastic.Interval
		count             int
		start, end, after string
		due               []string
	}{
		"E02": {interval: elastic.Weeks, count: 1, start: "2017-03-19T22:00:00Z", due: []string{
			"2017-03-19T22:00:00Z", "2017-03-26T22:00:00Z", "2017-04-02T22:00:00Z", "2017-04-09T22:00:00Z", "2017-04-16T22:00:00Z"}},
		"E04": {interval: elastic.Months, count: 1, start: "2026-01-31T22:00:00Z", due: []string{
			"2026-01-31T22:00:00Z", "2026-02-28T22:00:00Z", "2026-03-31T22:00:00Z", "2026-04-30T22:00:00Z", "2026-05-31T22:00:00Z"}},
		"LeapDay": {interval: elastic.Months, count: 12, start: "2024-02-29T06:30:00Z", due: []string{
			"2024-02-29T06:30:00Z", "2025-02-28T06:30:00Z", "2026-02-28T06:30:00Z", "2027-02-28T06:30:00Z", "2028-02-29T06:30:00Z"}},
		"EveryTwoMonthsLater": {interval: elastic.Months, count: 2, start: "2025-12-31T00:00:00Z", after: "2026-02-28T00:00:00Z", due: []string{
			"2026-04-30T00:00:00Z", "2026-06-30T00:00:00Z"}},
		"MonthNotYetReached": {interval: elastic.Months, count: 1, start: "2026-01-31T22:00:00Z", after: "2026-04-15T00:00:00Z", due: []string{
			"2026-04-30T22:00:00Z"}},
		"MinutesFromTheYearOne": {interval: elastic.Minutes, count: 15, start: "0001-01-01T00:00:00Z", after: "2026-11-21T02:40:00Z", due: []string{
			"2026-11-21T02:45:00Z", "2026-11-21T03:00:00Z"}},
		"AnchoredNotAligned": {interval: elastic.Hours, count: 5, start: "2026-01-01T00:07:00Z", after: "2026-01-02T00:00:00Z", due: []string{
			"2026-01-02T01:07:00Z", "2026-01-02T06:07:00Z"}},
		"StrictlyAfter": {interval: elastic.Days, count: 1, start: "2026-01-01T00:00:00Z", after: "2026-01-05T00:00:00Z", due: []string{
			"2026-01-06T00:00:00Z"}},
		"EndIsIncluded": {interval: elastic.Days, count: 1, start: "2026-01-01T00:00:00Z", end: "2026-01-03T00:00:00Z", due: []string{
			"2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z"}},
		"Once":          {interval: elastic.Once, count: 1, start: "2026-01-01T00:00:00Z", due: []string{"2026-01-01T00:00:00Z"}},
		"OnceIsOver":    {interval: elastic.Once, count: 1, start: "2026-01-01T00:00:00Z", after: "2026-01-01T00:00:00Z"},
		"OnceNoCount":   {interval: elastic.Once, start: "2026-01-01T00:00:00Z", due: []string{"2026-01-01T00:00:00Z"}},
		"FractionUp":    {interval: elastic.Minutes, count: 1, start: "2026-01-01T00:00:00.25Z", due: []string{"2026-01-01T00:00:01Z", "2026-01-01T00:01:01Z"}},
		"AfterFraction": {interval: elastic.Minutes, count: 1, start: "2026-01-01T00:00:00Z", after: "2026-01-01T00:00:59.9Z", due: []string{"2026-01-01T00:01:00Z"}},
		"EndOfTime":     {interval: elastic.Months, count: 1, start: "2026-01-31T22:00:00Z", after: "9999-12-31T21:00:00Z", due: []string{"9999-12-31T22:00:00Z"}},
		"HugeSteps":     {interval: elastic.Weeks, count: 2147483647, start: "2026-01-01T00:00:00Z", due: []string{"2026-01-01T00:00:00Z"}},
		"HugeMonths":    {interval: elastic.Months, count: 2147483647, start: "2026-01-01T00:00:00Z", due: []string{"2026-01-01T00:00:00Z"}},
		"OtherZone": {interval: elastic.Hours, count: 1, start: "2026-01-01T01:00:00+01:00", after: "2026-01-01T05:30:00+05:30", due: []string{
			"2026-01-01T01:00:00Z"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := elastic.Schedule{Interval: c.interval, Count: c.count, Start: instant(t, c.start)}
			if c.end != "" {
				e.End = instant(t, c.end)
			}
			after := e.Start.Add(-time.Nanosecond)
			if c.after != "" {
				after = instant(t, c.after)
			}
			n := max(len(c.due), 1)
			if c.end != "" || c.interval == elastic.Once || strings.HasPrefix(name, "Huge") || name == "EndOfTime" {
				n++ // nothing may follow
			}
			var got []string
			for _, due := range first(e, after, n) {
				got = append(got, due.Format(time.RFC3339Nano))
			}
			require.Equal(t, c.due, got)
		})
	}
}

func TestElasticValidate(t *testing.T) {
	t.Parallel()
	start := instant(t, "2026-01-02T00:00:00Z")
	err := elastic.Schedule{Interval: "Minute", Count: 0, Start: start, End: start.Add(-time.Hour)}.Validate()
	var all *syntax.Error
	require.ErrorAs(t, err, &all)
	require.Len(t, all.Faults, 3)
	require.Equal(t, "Minutes", all.Faults[0].Nearest)
	require.Equal(t, "schedule_interval_count", all.Faults[1].Path)
	require.Contains(t, err.Error(), "2026-01-01T23:00:00Z")
	require.NoError(t, elastic.Schedule{Interval: elastic.Once, Start: start}.Validate())
	for _, e := range []elastic.Schedule{{Interval: "Minute", Count: 1}, {Interval: elastic.Days, Count: -1}, {}} {
		_, ok := e.Next(start)
		require.False(t, ok, e)
		_, ok = e.Next(start.AddDate(-3000, 0, 0))
		require.False(t, ok, e)
	}
}

func TestParseInterval(t *testing.T) {
	t.Parallel()
	got, err := elastic.ParseInterval("wEEKS")
	require.NoError(t, err)
	require.Equal(t, elastic.Weeks, got)
	_, err = elastic.ParseInterval("Year")
	require.ErrorContains(t, err, `"Year"`)
}

func TestAnchor(t *testing.T) {
	t.Parallel()
	activated := instant(t, "2026-05-05T10:00:00Z")
	require.Equal(t, activated, elastic.Anchor(time.Time{}, activated))
	start := instant(t, "2017-03-19T22:00:00Z")
	require.Equal(t, start, elastic.Anchor(start, activated))
}

// TestMonthsAgainstWalk compares Next with a walk over all days that checks whether a step from the
// anchor falls on the day.
func TestMonthsAgainstWalk(t *testing.T) {
	t.Parallel()
	for day := 1; day <= 31; day++ {
		for _, count := range []int{1, 2, 3, 5, 12} {
			start := time.Date(2023, 12, day, 13, 37, 11, 0, time.UTC)
			e := elastic.Schedule{Interval: elastic.Months, Count: count, Start: start}
			after := start.Add(-time.Second)
			for at := start; at.Year() < 2029; at = at.AddDate(0, 0, 1) {
				months := (at.Year()-2023)*12 + int(at.Month()) - 12
				lastDay := at.AddDate(0, 0, 1).Month() != at.Month()
				if months%count != 0 || at.Day() != day && !(lastDay && at.Day() < day) {
					continue
				}
				got, ok := e.Next(after)
				require.True(t, ok)
				require.Equal(t, at, got, "day %d, count %d, after %s", day, count, after)
				after = got
			}
		}
	}
}

// FuzzElasticNext checks that Next is strictly later, on the grid, and monotonic for any input.
func FuzzElasticNext(f *testing.F) {
	f.Add(uint8(5), 1, int64(0), int64(1700000000))
	f.Add(uint8(1), 15, int64(-62135596800), int64(253402300799))
	f.Add(uint8(0), 0, int64(1), int64(0))
	f.Fuzz(func(t *testing.T, interval uint8, count int, start, after int64) {
		const low, high = -62135596800, 253402300799 // the years 1 and 9999
		start, after = low+abs(start)%(high-low), low+abs(after)%(high-low)
		e := elastic.Schedule{Interval: elastic.Intervals()[int(interval)%6], Count: count, Start: time.Unix(start, 0)}
		at := time.Unix(after, 0)
		next, ok := e.Next(at)
		if !ok {
			return
		}
		if !next.After(at) || next.Before(e.Start) || next.After(engine.LastInstant) {
			t.Fatalf("%+v after %s: %s", e, at, next)
		}
		if again, ok := e.Next(next.Add(-time.Second)); !ok || !again.Equal(next) {
			t.Fatalf("%+v: %s is due after %s and not one second before itself", e, next, at)
		}
	})
}

func abs(n int64) int64 {
	if n < 0 {
		return -(n + 1)
	}
	return n
}
