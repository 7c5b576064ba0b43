package schedule

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var clockWalks = flag.Int("rrule.rules", 100, "how many random rules below the day are compared with a walk over the wall clock")

// This file computes rules below the day a second time, with package time only. It lists the clock
// times of a rule without a zone, as python-dateutil does, and then looks for the instants at which
// the clocks of the zone show them.

// clockRule is a random rule below the day with BY parts.
type clockRule struct {
	body     string
	unit     time.Duration
	interval int
	seconds  []int // offsets within a unit
	match    func(wall time.Time) bool
}

func drawClockRule(r *rand.Rand, start time.Time) clockRule {
	c := clockRule{interval: 1 + r.IntN(30)}
	if r.IntN(8) == 0 {
		c.interval = 1 + r.IntN(2000)
	}
	var parts []string
	var filters []func(time.Time) bool
	numbers := func(name string, high, n int) []int {
		var list []int
		for range 1 + r.IntN(n) {
			list = append(list, r.IntN(high))
		}
		parts = append(parts, name+"="+strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", ","), "[]"))
		return list
	}
	limit := func(list []int, value func(time.Time) int) {
		filters = append(filters, func(w time.Time) bool { return slices.Contains(list, value(w)) })
	}
	frequency := r.IntN(3)
	minutes, seconds := []int{start.Minute()}, []int{start.Second()}
	if r.IntN(2) == 0 {
		limit(numbers("BYHOUR", 24, 6), time.Time.Hour)
	}
	if r.IntN(2) == 0 {
		if minutes = numbers("BYMINUTE", 60, 4); frequency > 0 {
			limit(minutes, time.Time.Minute)
		}
	}
	if r.IntN(3) == 0 {
		if seconds = numbers("BYSECOND", 60, 3); frequency > 1 {
			limit(seconds, time.Time.Second)
		}
	}
	if r.IntN(3) == 0 || parts == nil {
		days := []time.Weekday{time.Weekday(r.IntN(7)), time.Weekday(r.IntN(7)), time.Sunday}
		parts = append(parts, fmt.Sprintf("BYDAY=%s,%s,SU", ruleDayNames[days[0]], ruleDayNames[days[1]]))
		filters = append(filters, func(w time.Time) bool { return slices.Contains(days, w.Weekday()) })
	}
	switch r.IntN(8) {
	case 0:
		n := 1 + r.IntN(31)
		parts = append(parts, fmt.Sprintf("BYMONTHDAY=%d,-%d", n, n))
		filters = append(filters, func(w time.Time) bool { return w.Day() == n || w.AddDate(0, 0, n).Day() == 1 })
	case 1:
		parts = append(parts, fmt.Sprintf("BYMONTH=%d,%d", start.Month(), start.Month()%12+1))
		filters = append(filters, func(w time.Time) bool { return w.Month() == start.Month() || w.Month() == start.Month()%12+1 })
	}
	switch frequency {
	case 0:
		c.unit = time.Hour
		for _, m := range minutes {
			for _, s := range seconds {
				c.seconds = append(c.seconds, m*60+s)
			}
		}
	case 1:
		c.unit, c.seconds = time.Minute, seconds
	default:
		c.unit, c.seconds = time.Second, []int{0}
	}
	slices.Sort(c.seconds)
	c.seconds = slices.Compact(c.seconds)
	if r.IntN(8) == 0 {
		parts = append(parts, "BYSETPOS=-1")
		c.seconds = c.seconds[len(c.seconds)-1:]
	}
	c.body = fmt.Sprintf("FREQ=%s;INTERVAL=%d;%s", []string{"HOURLY", "MINUTELY", "SECONDLY"}[frequency], c.interval, strings.Join(parts, ";"))
	c.match = func(w time.Time) bool {
		return !slices.ContainsFunc(filters, func(f func(time.Time) bool) bool { return !f(w) })
	}
	return c
}

// wallAt returns the wall clock of a zone as a time in UTC.
func wallAt(at time.Time, zone *time.Location) time.Time {
	l := at.In(zone)
	return time.Date(l.Year(), l.Month(), l.Day(), l.Hour(), l.Minute(), l.Second(), 0, time.UTC)
}

// instantsOf returns the instants at which clocks show a wall clock. In a gap it is the one of the
// clock that was not moved, with inGap set.
func instantsOf(wall time.Time, zone *time.Location) (list []time.Time, inGap bool) {
	var offsets []time.Duration
	for _, d := range []time.Duration{-30 * time.Hour, 30 * time.Hour} {
		_, offset := wall.Add(d).In(zone).Zone()
		offsets = append(offsets, time.Duration(offset)*time.Second)
	}
	for _, o := range slices.Compact(offsets) {
		if at := wall.Add(-o); wallAt(at, zone).Equal(wall) {
			list = append(list, at)
		}
	}
	if list == nil {
		return []time.Time{wall.Add(-offsets[0])}, true
	}
	slices.SortFunc(list, time.Time.Compare)
	return list, false
}

// listed returns the instants of the rule in [start, to).
func (c clockRule) listed(start, to time.Time, zone *time.Location) []time.Time {
	due := map[time.Time]bool{}
	everyHour := c.unit*time.Duration(c.interval) <= time.Hour
	first := wallAt(start, zone).Truncate(c.unit)
	for unit := first; unit.Before(to.Add(30 * time.Hour)); unit = unit.Add(c.unit * time.Duration(c.interval)) {
		for _, s := range c.seconds {
			wall := unit.Add(time.Duration(s) * time.Second)
			if !c.match(wall) {
				continue
			}
			list, inGap := instantsOf(wall, zone)
			switch {
			case !everyHour:
				list = list[:1]
			case inGap:
				list = nil
			}
			for _, at := range list {
				if !at.Before(start) && at.Before(to) {
					due[at] = true
				}
			}
		}
	}
	var list []time.Time
	for at := range due {
		list = append(list, at)
	}
	slices.SortFunc(list, time.Time.Compare)
	return list
}

// TestClockRulesAgainstWalk compares rules below the day with BY parts, in ten zones, from a week
// before a change of clocks. Rules by the hour are compared for a year, so that a rule that stops
// for a season is found (B1).
func TestClockRulesAgainstWalk(t *testing.T) {
	t.Parallel()
	refused := 0
	for seed := range uint64(*clockWalks) {
		r := rand.New(rand.NewPCG(seed, 18))
		place := places[r.IntN(len(places))]
		zone, err := LoadZone(place.zone)
		require.NoError(t, err)
		start := instant(t, place.from).Add(time.Duration(r.IntN(10*86400)) * time.Second)
		c := drawClockRule(r, start.In(zone))
		length := map[time.Duration]time.Duration{time.Hour: 400 * 24 * time.Hour, time.Minute: 40 * 24 * time.Hour, time.Second: 20 * 24 * time.Hour}[c.unit]
		if c.interval < 4 && c.unit == time.Second {
			length = 36 * time.Hour
		}
		want := c.listed(start, start.Add(length), zone)
		name := fmt.Sprintf("%s from %s in %s", c.body, start.Format(time.RFC3339), zone)
		plan, err := Parse(KindRRule, []byte(c.body), Options{Start: start, Zone: place.zone})
		if err != nil {
			require.ErrorContains(t, err, "matches none", name)
			require.Empty(t, want, name)
			refused++
			continue
		}
		after := start.Add(-time.Second)
		for i, at := range want[:min(len(want), 3000)] {
			next, ok := plan.Next(after)
			require.True(t, ok, name)
			require.Equal(t, at, next, "%s, number %d", name, i)
			after = next
		}
		next, ok := plan.Next(after)
		if len(want) <= 3000 && ok {
			require.False(t, next.Before(start.Add(length)), "%s: %s", name, next)
		}
		if n := len(want); n > 0 && n <= 3000 {
			// The n-th instant by arithmetic is the n-th of the list.
			n = 1 + r.IntN(n)
			counted, err := Parse(KindRRule, fmt.Appendf(nil, "%s;COUNT=%d", c.body, n), Options{Start: start, Zone: place.zone})
			require.NoError(t, err, name)
			_, more := counted.Next(want[n-1])
			require.False(t, more, "%s;COUNT=%d", name, n)
			last, ok := counted.Next(want[n-1].Add(-time.Second))
			require.True(t, ok, name)
			require.Equal(t, want[n-1], last, name)
		}
	}
	require.Less(t, refused, *clockWalks/4+2)
}

// TestB1 checks that an hourly rule on the wall clock goes on in the next season.
func TestB1(t *testing.T) {
	t.Parallel()
	plan, err := Parse(KindRRule, []byte("FREQ=HOURLY;INTERVAL=2;BYHOUR=9,11,13,15,17;BYDAY=MO,TU,WE,TH,FR"),
		Options{Start: instant(t, "2026-10-23T07:00:00Z"), Zone: "Europe/Berlin"})
	require.NoError(t, err)
	var got []string
	for _, at := range Preview(plan, instant(t, "2026-10-23T06:59:59Z"), 9) {
		got = append(got, at.In(plan.Zone).Format("02 15:04"))
	}
	require.Equal(t, []string{"23 09:00", "23 11:00", "23 13:00", "23 15:00", "23 17:00", "26 09:00", "26 11:00", "26 13:00", "26 15:00"}, got)
	plan, err = Parse(KindRRule, []byte("FREQ=HOURLY;INTERVAL=12;BYHOUR=9,21"), Options{Start: instant(t, "2026-10-23T07:00:00Z"), Zone: "Europe/Berlin"})
	require.NoError(t, err)
	for _, at := range Preview(plan, instant(t, "2026-10-23T06:59:59Z"), 900) {
		require.Contains(t, []int{9, 21}, at.In(plan.Zone).Hour())
	}
}

// TestB2 checks that BYWEEKNO without BYDAY takes the weekday of DTSTART (RFC 5545, 3.3.10).
func TestB2(t *testing.T) {
	t.Parallel()
	plan, err := Parse(KindRRule, []byte("FREQ=YEARLY;BYWEEKNO=20"), Options{Start: instant(t, "1997-05-12T09:00:00Z")})
	require.NoError(t, err)
	var got []string
	for _, at := range Preview(plan, instant(t, "1997-05-12T08:59:59Z"), 3) {
		got = append(got, at.Format(time.DateOnly))
	}
	require.Equal(t, []string{"1997-05-12", "1998-05-11", "1999-05-17"}, got)
}

// TestB8 checks that a rule that never matches is refused, and that one that matches very rarely is
// not.
func TestB8(t *testing.T) {
	t.Parallel()
	start := instant(t, "2026-10-22T06:00:00Z") // a Thursday
	for _, body := range []string{
		"FREQ=HOURLY;INTERVAL=168;BYDAY=TU", "FREQ=MINUTELY;INTERVAL=10080;BYDAY=FR", "FREQ=SECONDLY;INTERVAL=2;BYSECOND=11", "FREQ=MINUTELY;INTERVAL=1440;BYHOUR=5",
		"FREQ=HOURLY;BYMONTH=2;BYMONTHDAY=30", "FREQ=SECONDLY;INTERVAL=604800;BYDAY=FR", "FREQ=HOURLY;INTERVAL=1;BYMINUTE=5;BYSETPOS=2", "FREQ=HOURLY;INTERVAL=48;BYHOUR=7",
		"FREQ=HOURLY;INTERVAL=1000000;BYYEARDAY=366;BYHOUR=1", "FREQ=MINUTELY;INTERVAL=7;BYDAY=TH;BYHOUR=6;BYMONTHDAY=31;BYMONTH=4",
	} {
		begun := time.Now()
		_, err := Parse(KindRRule, []byte(body), Options{Start: start, Zone: "Europe/Berlin"})
		require.ErrorContains(t, err, "matches none", body)
		t.Log(body, time.Since(begun))
	}
	for _, body := range []string{"FREQ=HOURLY;INTERVAL=23;BYHOUR=0;BYYEARDAY=366;BYDAY=MO", "FREQ=MINUTELY;INTERVAL=1441;BYHOUR=3;BYMINUTE=3;BYMONTHDAY=13;BYDAY=FR"} {
		plan, err := Parse(KindRRule, []byte(body), Options{Start: start, Zone: "Australia/Lord_Howe"})
		require.NoError(t, err, body)
		_, ok := plan.Next(start)
		require.True(t, ok, body)
	}
}

// TestB10LordHowe checks that full hours stay full hours after a change by half an hour.
func TestB10LordHowe(t *testing.T) {
	t.Parallel()
	plan, err := Parse(KindRRule, []byte("FREQ=HOURLY;BYMINUTE=0"), Options{Start: instant(t, "2026-10-03T00:00:00Z"), Zone: "Australia/Lord_Howe"})
	require.NoError(t, err)
	for _, at := range Preview(plan, instant(t, "2026-10-03T00:00:00Z"), 100) {
		require.Zero(t, at.In(plan.Zone).Minute(), at)
	}
}
