package schedule

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestCountAgainstNext checks that a count found by arithmetic ends at the same instant as a count
// by Next, across changes of offset.
func TestCountAgainstNext(t *testing.T) {
	t.Parallel()
	specs := []struct {
		kind Kind
		spec string
	}{
		{KindCron5, `{"cron": "*/20 * * * *"%s}`},
		{KindCron5, `{"cron": "30 2 * * *", "overlap": "both"%s}`},
		{KindCron5, `{"cron": "15,45 1-3 * * sun", "gap": "shift", "overlap": "second"%s}`},
		{KindSAP, `{"cron": "* * -1 * 2 30 0", "gap": "at_end"%s}`},
		{KindAzureScheduler, `{"frequency": "Hour", "interval": 3, "schedule": {"minutes": [5, 35]}%s}`},
		{KindAzureScheduler, `{"frequency": "Month"%s}`},
		{KindSAP, `{"repeatInterval": "7 hours", "firstRunStartedAt": "2026-03-01T09:00:00Z"%s}`},
	}
	for i, s := range specs {
		for _, zone := range []string{"Europe/Berlin", "Australia/Lord_Howe", "America/Sao_Paulo"} {
			o := Options{Start: time.Date(2017, 9, 1+i, 2, 30, 0, 0, time.UTC), Zone: zone}
			if s.kind == KindSAP && i == 6 {
				o.Start = time.Date(2026, 3, 1, 2, 30, 0, 0, time.UTC)
			}
			plan, err := Parse(s.kind, fmt.Appendf(nil, s.spec, ""), o)
			require.NoError(t, err)
			after := o.Start.Add(-time.Second)
			for n := 1; n <= 700; n++ {
				next, ok := plan.Next(after)
				require.True(t, ok)
				if after = next; n%137 != 0 {
					continue
				}
				counted, err := Parse(s.kind, fmt.Appendf(nil, s.spec, fmt.Sprintf(`, "count": %d`, n)), o)
				require.NoError(t, err)
				last, ok := counted.Next(next.Add(-time.Second))
				require.True(t, ok, "%s %s count %d", s.spec, zone, n)
				require.Equal(t, next, last)
				_, ok = counted.Next(next)
				require.False(t, ok, "%s %s count %d", s.spec, zone, n)
			}
		}
	}
}

// TestHugeCount checks that the cost of a count that is never reached depends only on the changes
// of offset until the year 9999.
func TestHugeCount(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"* * * * * *", "*/7 0-30 * * * *", "0 30 2 * * *"} {
		_, err := Parse(KindCron6, fmt.Appendf(nil, `{"cron": %q, "count": 9007199254740992}`, spec), Options{Start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Zone: "Europe/Berlin"})
		require.NoError(t, err) // to walk to the count would take years
	}
}

// TestCountAtOnce checks that an Azure schedule without a start runs at once, and that this run
// counts (D-A15).
func TestCountAtOnce(t *testing.T) {
	t.Parallel()
	for count, due := range map[int]int{1: 1, 2: 2, 9: 9} {
		got, err := PreviewSpec(KindAzureScheduler, fmt.Appendf(nil, `{"frequency": "Day", "schedule": {"hours": [5]}, "count": %d}`, count),
			PreviewOptions{After: "2026-01-01T12:00:00Z", Count: 20})
		require.NoError(t, err)
		require.Len(t, got.Due, due)
		require.True(t, got.Exhausted)
	}
}

// TestCountIsExact compares random schedules near changes of clocks with and without a count: the
// n-th instant is the last one, whether the instants are asked for in order or only at the end.
func TestCountIsExact(t *testing.T) {
	t.Parallel()
	for seed := range uint64(250) {
		r := rand.New(rand.NewPCG(seed, 181))
		place := places[r.IntN(len(places))]
		start := instant(t, place.from).Add(time.Duration(r.IntN(12*86400)) * time.Second)
		list := func(high int) string {
			var items []string
			for range 1 + r.IntN(4) {
				items = append(items, fmt.Sprint(r.IntN(high)))
			}
			return strings.Join(items, ",")
		}
		rules := fmt.Sprintf(`"gap": %q, "overlap": %q`, []Gap{GapShift, GapSkip, GapAtEnd}[r.IntN(3)], []Overlap{OverlapFirst, OverlapSecond, OverlapBoth}[r.IntN(3)])
		kind, spec := KindRRule, ""
		switch r.IntN(6) {
		case 0:
			spec = fmt.Sprintf(`{"rrule": "FREQ=DAILY;INTERVAL=%d;BYHOUR=%s;BYMINUTE=%s", %s`, 1+r.IntN(2), list(5), list(60), rules)
		case 1:
			spec = fmt.Sprintf(`{"rrule": "FREQ=WEEKLY;BYDAY=SU,MO;BYHOUR=%s;BYMINUTE=%s;BYSETPOS=1,-1,3", %s`, list(5), list(60), rules)
		case 2:
			spec = fmt.Sprintf(`{"rrule": "FREQ=MINUTELY;INTERVAL=%d;BYHOUR=%s", %s`, 1+r.IntN(40), list(5), rules)
		case 3:
			spec = fmt.Sprintf(`{"rrule": "FREQ=HOURLY;INTERVAL=%d", %s`, 1+r.IntN(40), rules)
		case 4:
			kind, spec = KindCron6, fmt.Sprintf(`{"cron": "%s %s %s * * *", %s`, list(60), list(60), list(5), rules)
		default:
			kind, spec = KindAzureScheduler, fmt.Sprintf(`{"frequency": "Day", "schedule": {"hours": [%s], "minutes": [%s]}, %s`, list(5), list(60), rules)
		}
		o := Options{Start: start, Zone: place.zone}
		plan, err := Parse(kind, []byte(spec+"}"), o)
		require.NoError(t, err, spec)
		all := Preview(plan, start.Add(-time.Second), 250)
		require.Len(t, all, 250, spec)
		n := 2 + r.IntN(len(all)-2)
		name := fmt.Sprintf("%s from %s in %s, count %d", spec, start, place.zone, n)
		for _, ask := range []string{"in order", "the end alone", "beyond the end first"} {
			counted, err := Parse(kind, fmt.Appendf(nil, `%s, "count": %d}`, spec, n), o)
			require.NoError(t, err, name)
			switch ask {
			case "in order":
				require.Equal(t, all[:n], Preview(counted, start.Add(-time.Second), 300), name)
			case "beyond the end first":
				_, more := counted.Next(all[n])
				require.False(t, more, name)
			}
			last, ok := counted.Next(all[n-2])
			require.True(t, ok, name)
			require.Equal(t, all[n-1], last, name)
			_, more := counted.Next(all[n-1])
			require.False(t, more, name)
		}
	}
}

// TestCountOfTheRuleAlone checks that COUNT beside RDATE and EXDATE limits the rule, and count the
// runs.
func TestCountOfTheRuleAlone(t *testing.T) {
	t.Parallel()
	const text = `DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY;COUNT=4\nEXDATE:20260102T090000Z\nRDATE:20260110T090000Z`
	for spec, want := range map[string]string{
		`{"rrule": "` + text + `"}`:             "01 03 04 10",
		`{"rrule": "` + text + `", "count": 3}`: "01 03 04",
	} {
		plan, err := Parse(KindRRule, []byte(spec), Options{})
		require.NoError(t, err)
		var days []string
		for _, at := range Preview(plan, plan.Start.Add(-time.Second), 9) {
			days = append(days, at.Format("02"))
		}
		require.Equal(t, want, strings.Join(days, " "), spec)
	}
	plan, err := Parse(KindRRule, []byte(`{"rrule": "`+text+`"}`), Options{Uncounted: true})
	require.NoError(t, err)
	require.Zero(t, plan.Count)
	require.Len(t, Preview(plan, plan.Start.Add(-time.Second), 9), 4)
}

// A large count of a schedule whose instants cannot be counted is refused, unless the schedule ends
// before the count.
func TestCountsThatCannotBeFound(t *testing.T) {
	t.Parallel()
	for rest, ok := range map[string]bool{
		`"count": 50000`: true,
		`"count": 50001`: false,
		`"count": 50001, "endTime": "2026-01-01T13:00:00Z"`: true,
		`"count": 50001, "endTime": "2026-01-03"`:           false,
	} {
		_, err := Parse(KindCron5, fmt.Appendf(nil, `{"cron": "* * * * *", "startTime": "2026-01-01", "blackouts": {"calendars": [{"dates": ["2026-01-05"]}]}, %s}`, rest), Options{})
		if ok {
			require.NoError(t, err, rest)
		} else {
			require.ErrorContains(t, err, "at most 50000 for a schedule of this form", rest)
		}
	}
}
