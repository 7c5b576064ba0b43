package schedule

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// This file computes due instants a second time: it walks over real time and checks at each step
// whether the wall clock of the zone matches. It shares no code with the package. Dates, weekdays
// and offsets are those of time.Time.

// wallMatch reports whether a wall clock matches. The wall clock is given as a time in UTC.
type wallMatch func(wall time.Time) bool

// clockRules are the rules for changes of clocks.
type clockRules struct {
	shift bool // clock times in a gap are shifted
	once  bool // the second of two equal wall clocks does not count
}

// walk returns the due instants of a match in [from, to), in steps of a second or a minute.
func walk(zone *time.Location, from, to time.Time, step time.Duration, rules clockRules, match wallMatch) []time.Time {
	due := map[int64]bool{}
	seen := map[int64]bool{}
	wallOf := func(t time.Time) time.Time {
		l := t.In(zone)
		y, m, d := l.Date()
		return time.Date(y, m, d, l.Hour(), l.Minute(), l.Second(), 0, time.UTC)
	}
	// The walk begins earlier than from, so that it sees preceding changes of offset.
	at := from.Add(-48 * time.Hour).Truncate(step)
	last := wallOf(at.Add(-step))
	for ; at.Before(to); at = at.Add(step) {
		w := wallOf(at)
		if rules.shift {
			for missing := last.Add(step); missing.Before(w); missing = missing.Add(step) {
				if match(missing) {
					due[at.Add(missing.Sub(last)-step).Unix()] = true
				}
			}
		}
		if match(w) && (!rules.once || !seen[w.Unix()]) {
			due[at.Unix()] = true
		}
		if last = w; rules.once {
			seen[w.Unix()] = true
		}
	}
	var list []time.Time
	for unix := range due {
		if t := time.Unix(unix, 0).UTC(); !t.Before(from) && t.Before(to) {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, time.Time.Compare)
	return list
}

// places holds zones, each with a start near changes of its offset.
var places = []struct{ zone, from string }{
	{"UTC", "2024-02-10T00:00:00Z"},
	{"Europe/Berlin", "2026-03-20T00:00:00Z"},
	{"Europe/Berlin", "2026-10-15T00:00:00Z"},
	{"America/New_York", "2026-03-01T00:00:00Z"},
	{"America/New_York", "2026-10-25T00:00:00Z"},
	{"Australia/Lord_Howe", "2026-09-25T00:00:00Z"},
	{"Australia/Lord_Howe", "2026-03-28T00:00:00Z"},
	{"America/Sao_Paulo", "2018-10-28T00:00:00Z"}, // gap at midnight
	{"America/Sao_Paulo", "2018-02-10T00:00:00Z"}, // overlap at midnight
	{"Pacific/Apia", "2011-12-20T00:00:00Z"},      // a day is missing
	{"Africa/Casablanca", "2026-02-10T00:00:00Z"},
	{"Europe/Dublin", "2026-03-20T00:00:00Z"},
	{"Asia/Kolkata", "2026-12-20T00:00:00Z"},
	{"Antarctica/Troll", "2026-03-20T00:00:00Z"}, // two hours
}

// draw is a random field: its text in a dialect, and the values that it matches.
type draw struct {
	text     string
	has      func(n int) bool
	literal  bool // contains a wildcard, step or range
	anything bool
}

// drawField returns a random field with values from low to high. sign is the range operator.
func drawField(r *rand.Rand, low, high int, sign string, divisible bool) draw {
	n := func() int { return low + r.IntN(high-low+1) }
	switch r.IntN(6) {
	case 0:
		return draw{"*", func(int) bool { return true }, true, true}
	case 1:
		step := 1 + r.IntN(high-1)
		base := low
		if divisible {
			base = 0
		}
		return draw{fmt.Sprintf("*/%d", step), func(n int) bool { return (n-base)%step == 0 }, true, step == 1}
	case 2:
		a, b := n(), n()
		a, b = min(a, b), max(a, b)
		return draw{fmt.Sprintf("%d%s%d", a, sign, b), func(n int) bool { return n >= a && n <= b }, true, false}
	case 3:
		a, b := n(), n()
		a, b = min(a, b), max(a, b)
		step := 1 + r.IntN(7)
		if step >= high {
			step = 1
		}
		return draw{fmt.Sprintf("%d%s%d/%d", a, sign, b, step), func(n int) bool { return n >= a && n <= b && (n-a)%step == 0 }, true, false}
	case 4:
		a, b, c := n(), n(), n()
		return draw{fmt.Sprintf("%d,%d,%d", a, b, c), func(n int) bool { return n == a || n == b || n == c }, false, false}
	}
	a := n()
	return draw{fmt.Sprint(a), func(n int) bool { return n == a }, false, false}
}

// The length of each walk in days, and the number of schedules drawn at each place.
const (
	walkDays = 24
	drawn    = 4
)

// lengthOf returns the number of days in a wall clock's month.
func lengthOf(w time.Time) int {
	return time.Date(w.Year(), w.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// against compares a schedule with the walk. If fixed is true, clock times in a gap are shifted,
// and the second of two equal wall clocks does not count.
func against(t *testing.T, r *rand.Rand, kind Kind, spec string, o Options, zone *time.Location, from time.Time, step time.Duration, fixed bool, match wallMatch) {
	t.Helper()
	againstRules(t, r, kind, spec, o, zone, from, step, clockRules{shift: fixed, once: fixed}, match)
}

// againstRules compares a schedule with the walk, and also calls Next at random instants.
func againstRules(t *testing.T, r *rand.Rand, kind Kind, spec string, o Options, zone *time.Location, from time.Time, step time.Duration, rules clockRules, match wallMatch) {
	t.Helper()
	plan, err := Parse(kind, []byte(spec), o)
	if err != nil {
		require.ErrorContains(t, err, "matches none", "%s: %s", kind, spec)
		return
	}
	to := from.AddDate(0, 0, walkDays)
	if step == time.Second {
		to = from.AddDate(0, 0, 1)
	}
	want := walk(zone, from, to, step, rules, match)
	var got []time.Time
	for at, ok := plan.Next(from.Add(-time.Nanosecond)); ok && at.Before(to); at, ok = plan.Next(at) {
		got = append(got, at)
		i := len(got) - 1
		require.Less(t, i, len(want), "%s %s in %s from %s: too many, the last %s", kind, spec, zone, from, at)
		require.Equal(t, want[i], at, "%s %s in %s from %s", kind, spec, zone, from)
	}
	require.Len(t, got, len(want), "%s %s in %s from %s", kind, spec, zone, from)
	for range 20 {
		after := from.Add(time.Duration(r.Int64N(int64(to.Sub(from)))))
		next, ok := plan.Next(after)
		i, _ := slices.BinarySearchFunc(want, after, time.Time.Compare)
		for i < len(want) && !want[i].After(after) {
			i++
		}
		if i < len(want) {
			require.True(t, ok)
			require.Equal(t, want[i], next, "%s %s in %s after %s", kind, spec, zone, after)
		} else if ok {
			require.False(t, next.Before(to))
		}
	}
}

// everywhere runs a test at each place with its own random source.
func everywhere(t *testing.T, test func(t *testing.T, r *rand.Rand, zone *time.Location, from time.Time)) {
	t.Helper()
	t.Parallel()
	for i, place := range places {
		t.Run(place.zone+"/"+place.from[:7], func(t *testing.T) {
			t.Parallel()
			zone, err := LoadZone(place.zone)
			require.NoError(t, err)
			r := rand.New(rand.NewPCG(uint64(i), 5))
			for range drawn {
				test(t, r, zone, instant(t, place.from))
			}
		})
	}
}

func TestSAPCronAgainstWalk(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rand.Rand, zone *time.Location, from time.Time) {
		h, m := drawField(r, 0, 23, ":", true), drawField(r, 0, 59, ":", true)
		month := drawField(r, 1, 12, ":", true)
		if r.IntN(3) > 0 {
			month = draw{"*", func(int) bool { return true }, true, true}
		}
		day := drawField(r, 1, 31, ":", true)
		a, b := 1+r.IntN(10), 1+r.IntN(10)
		dayOK := func(w time.Time) bool { return day.has(w.Day()) }
		if r.IntN(2) == 0 {
			day = draw{text: fmt.Sprintf("%d:-%d", a, b)}
			dayOK = func(w time.Time) bool { return w.Day() >= a && w.Day() <= lengthOf(w)+1-b }
		}
		weekday, weekdayOK := "*", func(time.Time) bool { return true }
		n := 1 + r.IntN(5)
		switch r.IntN(4) {
		case 0:
			weekday = "tue:sat/2"
			weekdayOK = func(w time.Time) bool {
				return w.Weekday() == time.Tuesday || w.Weekday() == time.Thursday || w.Weekday() == time.Saturday
			}
		case 1:
			weekday = fmt.Sprintf("%d.sun,mon", n)
			weekdayOK = func(w time.Time) bool {
				return w.Weekday() == time.Monday || w.Weekday() == time.Sunday && (w.Day()+6)/7 == n
			}
		case 2:
			weekday = fmt.Sprintf("-%d.Fri", n)
			weekdayOK = func(w time.Time) bool {
				return w.Weekday() == time.Friday && (lengthOf(w)-w.Day())/7+1 == n
			}
		}
		step, s := time.Minute, draw{text: "0", has: func(n int) bool { return n == 0 }}
		if r.IntN(4) == 0 {
			step, s = time.Second, drawField(r, 0, 59, ":", true)
		}
		spec := fmt.Sprintf(`{"cron": "* %s %s %s %s %s %s", "timeZone": %q}`, month.text, day.text, weekday, h.text, m.text, s.text, zone)
		against(t, r, KindSAP, spec, Options{}, zone, from, step, !h.literal && !m.literal && !s.literal, func(w time.Time) bool {
			return month.has(int(w.Month())) && dayOK(w) && weekdayOK(w) && h.has(w.Hour()) && m.has(w.Minute()) && s.has(w.Second())
		})
	})
}

func TestCronAgainstWalk(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rand.Rand, zone *time.Location, from time.Time) {
		h, m := drawField(r, 0, 23, "-", false), drawField(r, 0, 59, "-", false)
		day, weekday := drawField(r, 1, 31, "-", false), drawField(r, 0, 7, "-", false)
		kind, line := KindCron5, fmt.Sprintf("%s %s %s * %s", m.text, h.text, day.text, weekday.text)
		step, s := time.Minute, draw{text: "0", has: func(n int) bool { return n == 0 }}
		if r.IntN(3) == 0 {
			if r.IntN(3) == 0 {
				step, s = time.Second, drawField(r, 0, 59, "-", false)
			}
			kind, line = KindCron6, s.text+" "+line
		}
		fixed := h.text[0] != '*' && m.text[0] != '*' // the rule of cronie (D-Z6)
		against(t, r, kind, line, Options{Zone: zone.String()}, zone, from, step, fixed, func(w time.Time) bool {
			sunday := weekday.has(0) || weekday.has(7) && !strings.HasPrefix(weekday.text, "*")
			byDay, byWeekday := day.has(w.Day()), w.Weekday() > 0 && weekday.has(int(w.Weekday())) || w.Weekday() == 0 && sunday
			days := byDay && byWeekday
			if day.text[0] != '*' && weekday.text[0] != '*' {
				days = byDay || byWeekday
			}
			return days && h.has(w.Hour()) && m.has(w.Minute()) && s.has(w.Second())
		})
	})
}

func TestQuartzAgainstWalk(t *testing.T) {
	nearestWorkday := func(w time.Time, day int) bool {
		if day < 1 || day > lengthOf(w) {
			return false
		}
		best, distance := 0, 9
		for d := 1; d <= lengthOf(w); d++ {
			weekday := time.Date(w.Year(), w.Month(), d, 0, 0, 0, 0, time.UTC).Weekday()
			away := max(d-day, day-d)
			if weekday != time.Saturday && weekday != time.Sunday && away < distance {
				best, distance = d, away
			}
		}
		return w.Day() == best
	}
	everywhere(t, func(t *testing.T, r *rand.Rand, zone *time.Location, from time.Time) {
		h, m := drawField(r, 0, 23, "-", false), drawField(r, 0, 59, "-", false)
		if r.IntN(4) == 0 {
			h = draw{"22-2", func(n int) bool { return n >= 22 || n <= 2 }, true, false}
		}
		n := 1 + r.IntN(5)
		d := 1 + r.IntN(31)
		days := []struct {
			text string
			ok   func(w time.Time) bool
		}{
			{"L * ?", func(w time.Time) bool { return w.Day() == lengthOf(w) }},
			{fmt.Sprintf("L-%d * ?", n), func(w time.Time) bool { return w.Day() == lengthOf(w)-n }},
			{"LW * ?", func(w time.Time) bool { return nearestWorkday(w, lengthOf(w)) }},
			{fmt.Sprintf("%dW * ?", d), func(w time.Time) bool { return nearestWorkday(w, d) }},
			{fmt.Sprintf("%d/%d * ?", d, n), func(w time.Time) bool { return w.Day() >= d && (w.Day()-d)%n == 0 }},
			{fmt.Sprintf("? * 6#%d", n), func(w time.Time) bool { return w.Weekday() == time.Friday && (w.Day()+6)/7 == n }},
			{"? * 2L", func(w time.Time) bool { return w.Weekday() == time.Monday && w.Day()+7 > lengthOf(w) }},
			{"LW-2 * ?", func(w time.Time) bool {
				next := w.AddDate(0, 0, 2)
				return next.Month() == w.Month() && nearestWorkday(next, lengthOf(w))
			}},
			{"1,15 * TUE", func(w time.Time) bool { return w.Day() == 1 || w.Day() == 15 || w.Weekday() == time.Tuesday }},
			{"* * THU", func(w time.Time) bool { return w.Weekday() == time.Thursday }},
			{"? * FRI-MON", func(w time.Time) bool { return w.Weekday() >= time.Friday || w.Weekday() <= time.Monday }},
			{"? * 1,SAT", func(w time.Time) bool { return w.Weekday() == time.Sunday || w.Weekday() == time.Saturday }},
			{"* * ? 2011-2026", func(w time.Time) bool { return w.Year() >= 2011 && w.Year() <= 2026 }},
		}
		day := days[r.IntN(len(days))]
		againstRules(t, r, KindQuartz, "0 "+m.text+" "+h.text+" "+day.text, Options{Zone: zone.String()}, zone, from, time.Minute,
			clockRules{shift: true, once: !h.literal && !m.literal}, func(w time.Time) bool { return w.Second() == 0 && day.ok(w) && h.has(w.Hour()) && m.has(w.Minute()) })
	})
}

// mondayOf returns the Monday of a wall clock's week, at midnight.
func mondayOf(w time.Time) time.Time {
	d := time.Date(w.Year(), w.Month(), w.Day(), 0, 0, 0, 0, time.UTC)
	for d.Weekday() != time.Monday {
		d = d.AddDate(0, 0, -1)
	}
	return d
}

func TestAzureAgainstWalk(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rand.Rand, zone *time.Location, from time.Time) {
		start := from.AddDate(0, 0, -r.IntN(100)).Add(time.Duration(r.IntN(1440)) * time.Minute)
		local := start.In(zone)
		first := time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, time.UTC)
		interval := 1 + r.IntN(3)
		var hours, minutes []int
		if r.IntN(3) > 0 {
			for range 1 + r.IntN(3) {
				hours = append(hours, r.IntN(24))
			}
		}
		if r.IntN(3) > 0 {
			for range 1 + r.IntN(3) {
				minutes = append(minutes, r.IntN(60))
			}
		}
		object := map[string]any{}
		if hours != nil {
			object["hours"] = hours
		}
		if minutes != nil {
			object["minutes"] = minutes
		}
		var frequency string
		var onDay wallMatch
		switch r.IntN(4) {
		case 0:
			frequency = "Day"
			onDay = func(w time.Time) bool { return int(w.Sub(first).Hours()/24)%interval == 0 }
		case 1:
			frequency = "Week"
			weekdays := []time.Weekday{local.Weekday()}
			if r.IntN(2) == 0 {
				weekdays = []time.Weekday{time.Weekday(r.IntN(7)), time.Weekday(r.IntN(7))}
				object["weekDays"] = []string{weekdays[0].String(), strings.ToLower(weekdays[1].String())}
			}
			onDay = func(w time.Time) bool {
				return slices.Contains(weekdays, w.Weekday()) && int(mondayOf(w).Sub(mondayOf(first)).Hours()/24/7)%interval == 0
			}
		default:
			frequency = "Month"
			inDay := func(w time.Time) bool { return w.Day() == min(first.Day(), lengthOf(w)) }
			n := 1 + r.IntN(5)
			switch r.IntN(3) {
			case 0:
				object["monthDays"] = []int{n * 6, -n}
				inDay = func(w time.Time) bool { return w.Day() == n*6 || w.Day() == lengthOf(w)+1-n }
			case 1:
				object["monthlyOccurrences"] = []any{map[string]any{"day": "Tuesday", "Occurrence": -n}, map[string]any{"day": "sunday"}}
				inDay = func(w time.Time) bool {
					return w.Weekday() == time.Sunday || w.Weekday() == time.Tuesday && (lengthOf(w)-w.Day())/7+1 == n
				}
			}
			onDay = func(w time.Time) bool {
				months := (w.Year()-first.Year())*12 + int(w.Month()) - int(first.Month())
				return months >= 0 && months%interval == 0 && inDay(w)
			}
		}
		spec := map[string]any{"frequency": frequency, "interval": interval, "timeZone": zone.String()}
		if len(object) > 0 {
			spec["schedule"] = object
		}
		text, err := json.Marshal(spec)
		require.NoError(t, err)
		everyHour := hours == nil && minutes != nil
		match := func(w time.Time) bool {
			if w.Second() != 0 || w.Before(first) || !onDay(w) {
				return false
			}
			h := slices.Contains(hours, w.Hour()) || hours == nil && (everyHour || w.Hour() == local.Hour())
			return h && (slices.Contains(minutes, w.Minute()) || minutes == nil && w.Minute() == local.Minute())
		}
		against(t, r, KindAzureScheduler, string(text), Options{Start: start}, zone, from.AddDate(0, 0, 1), time.Minute, !everyHour,
			func(w time.Time) bool { return match(w) && !w.Before(first.AddDate(0, 0, -1)) && afterStart(w, local) })
	})
}

// afterStart reports whether the wall clock w is at or after the minute of the wall clock local.
func afterStart(w, local time.Time) bool {
	start := time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), 0, 0, time.UTC)
	return !w.Before(start)
}

func TestElapsedAgainstSteps(t *testing.T) {
	t.Parallel()
	start := instant(t, "2026-03-28T22:30:00Z")
	for spec, step := range map[string]time.Duration{
		`{"frequency": "Hour", "interval": 5, "timeZone": "Europe/Berlin"}`:    5 * time.Hour,
		`{"frequency": "minute", "interval": 45, "timeZone": "Europe/Berlin"}`: 45 * time.Minute,
	} {
		plan, err := Parse(KindAzureScheduler, []byte(spec), Options{Start: start})
		require.NoError(t, err)
		requireSteps(t, plan, start, step)
	}
	plan, err := Parse(KindSAP, []byte(`{"repeatInterval": "11 hours", "timeZone": "Europe/Berlin"}`), Options{Start: start})
	require.NoError(t, err)
	requireSteps(t, plan, start, 11*time.Hour)
}

func requireSteps(t *testing.T, s Schedule, start time.Time, step time.Duration) {
	t.Helper()
	after := start.Add(-time.Hour)
	for k := range 50 {
		next, ok := s.Next(after)
		require.True(t, ok)
		require.Equal(t, start.Add(time.Duration(k)*step), next)
		after = next
	}
}

func TestRepeatAtAgainstWalk(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rand.Rand, zone *time.Location, from time.Time) {
		h, m := r.IntN(24), r.IntN(60)
		if r.IntN(2) == 0 {
			h = r.IntN(4)
		}
		spec := fmt.Sprintf(`{"repeatAt": "%d.%02d", "timeZone": %q}`, h, m, zone)
		against(t, r, KindSAP, spec, Options{}, zone, from, time.Minute, true,
			func(w time.Time) bool { return w.Hour() == h && w.Minute() == m && w.Second() == 0 })
	})
}
