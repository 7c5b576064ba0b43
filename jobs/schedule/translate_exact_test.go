package schedule

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// wallRule is the meaning of a text of a form on the wall clock, for the test of translations. It
// uses package time only, and shares no code with the translation.
type wallRule struct {
	zone *time.Location
	// day reports whether a date matches; its time is noon in UTC.
	day func(date time.Time) bool
	// clock reports whether hour and minute match; seconds are the matching seconds.
	clock   func(hour, minute int) bool
	seconds []int
	// twice reports whether a clock time that occurs twice counts both times. A clock time that
	// does not exist never counts.
	twice bool
}

// instants returns the first n instants after a time, at most those of the following six years.
func (w wallRule) instants(after time.Time, n int) (due []time.Time) {
	first := after.In(w.zone)
	date := time.Date(first.Year(), first.Month(), first.Day(), 12, 0, 0, 0, time.UTC).AddDate(0, 0, -2)
	for end := date.AddDate(6, 0, 0); date.Before(end); date = date.AddDate(0, 0, 1) {
		if !w.day(date) {
			continue
		}
		// Every minute of real time that can have this date on its wall clock.
		for at := date.Add(-28 * time.Hour); at.Before(date.Add(28 * time.Hour)); at = at.Add(time.Minute) {
			local := at.In(w.zone)
			if local.Day() != date.Day() || local.Month() != date.Month() || !w.clock(local.Hour(), local.Minute()) {
				continue
			}
			if !w.twice && w.second(at) {
				continue
			}
			for _, second := range w.seconds {
				if s := at.Add(time.Duration(second) * time.Second); s.After(after) {
					if due = append(due, s); len(due) == n {
						return due
					}
				}
			}
		}
	}
	return due
}

// second reports whether the wall clock has shown the time of an instant before. Clocks go back by
// half an hour to two hours.
func (w wallRule) second(at time.Time) bool {
	text := at.In(w.zone).Format("15:04")
	for back := 30 * time.Minute; back <= 2*time.Hour; back += 30 * time.Minute {
		if at.Add(-back).In(w.zone).Format("15:04") == text {
			return true
		}
	}
	return false
}

// translatedZones are zones with changes of different lengths, and at midnight.
var translatedZones = []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo"}

// changesOf are times shortly before changes of clocks in the zones above.
var changesOf = []string{
	"2026-03-28T20:00:00Z", "2026-10-24T20:00:00Z", "2026-03-08T01:00:00Z", "2026-11-01T01:00:00Z", "2026-04-04T10:00:00Z",
	"2026-10-03T10:00:00Z", "2017-10-14T22:00:00Z", "2018-02-17T20:00:00Z", "2025-12-30T00:00:00Z", "2024-02-27T00:00:00Z",
}

func randomAfter(random *rand.Rand) time.Time {
	at, err := time.Parse(time.RFC3339, changesOf[random.IntN(len(changesOf))])
	if err != nil {
		panic(err)
	}
	return at
}

// requireTranslated checks that the translation of a text has the instants of its meaning. It
// reports whether the form accepts the text.
func requireTranslated(t *testing.T, form Form, text, zone string, rule wallRule, after time.Time) bool {
	t.Helper()
	o := TranslateOptions{Zone: zone}
	got, err := Translate(form, text, o)
	if err != nil {
		require.Empty(t, rule.instants(after, 1), "%s %q: %v", form, text, err)
		return false
	}
	plan, err := Parse(got.Kind, []byte(got.Spec), Options{Zone: zone})
	require.NoError(t, err, text)
	want := rule.instants(after, 8)
	last := after.AddDate(5, 0, 0) // before the end of the rule's search
	if len(want) == 8 {
		last = want[7]
	}
	var due []time.Time
	for _, at := range Preview(plan, after, 8) {
		if !at.After(last) {
			due = append(due, at)
		}
	}
	want = slices.DeleteFunc(want, func(at time.Time) bool { return at.After(last) })
	require.Equal(t, formatted(want), formatted(due), "%s %q in %s as %s %s", form, text, zone, got.Kind, got.Spec)
	return true
}

func formatted(list []time.Time) string {
	var b strings.Builder
	for _, at := range list {
		b.WriteString(at.UTC().Format(time.RFC3339) + "\n")
	}
	return b.String()
}

// randomChain returns the text of a field of a calendar event, and the numbers that it means.
func randomChain(random *rand.Rand, low, high int, open bool) (text string, numbers map[int]bool) {
	numbers = map[int]bool{}
	if random.IntN(3) == 0 {
		for n := low; n <= high; n++ {
			numbers[n] = true
		}
		return "*", numbers
	}
	var parts []string
	for range 1 + random.IntN(3) {
		a := low + random.IntN(high-low+1)
		switch random.IntN(4) {
		case 0:
			b := a + random.IntN(high-a+1)
			parts = append(parts, fmt.Sprintf("%d..%d", a, b))
			for n := a; n <= b; n++ {
				numbers[n] = true
			}
		case 1:
			if open && a < high {
				step := 1 + random.IntN(high-a)
				parts = append(parts, fmt.Sprintf("%02d/%d", a, step))
				for n := a; n <= high; n += step {
					numbers[n] = true
				}
				continue
			}
			fallthrough
		case 2:
			if a < high {
				b := a + 1 + random.IntN(high-a)
				step := 1 + random.IntN(high-low)
				parts = append(parts, fmt.Sprintf("%d..%d/%d", a, b, step))
				for n := a; n <= b; n += step {
					numbers[n] = true
				}
				continue
			}
			fallthrough
		default:
			parts = append(parts, fmt.Sprintf("%02d", a))
			numbers[a] = true
		}
	}
	return strings.Join(parts, ","), numbers
}

// randomCalendar returns a random calendar event of systemd and its meaning.
func randomCalendar(random *rand.Rand, zone *time.Location) (text string, rule wallRule) {
	var parts []string
	weekdays := map[time.Weekday]bool{}
	names := []string{"Mon", "Tuesday", "wed", "Thu", "Fri", "Sat", "Sunday"}
	if random.IntN(2) == 0 {
		a := random.IntN(7)
		b := a + random.IntN(7-a)
		for n := a; n <= b; n++ {
			weekdays[time.Weekday((n+1)%7)] = true
		}
		c := random.IntN(7)
		weekdays[time.Weekday((c+1)%7)] = true
		parts = append(parts, names[a]+".."+names[b]+","+names[c])
	} else {
		for n := range 7 {
			weekdays[time.Weekday(n)] = true
		}
	}
	all := map[int]bool{}
	for n := range 2300 {
		all[n] = true
	}
	months, days, years := all, all, all
	fromEnd := false
	if random.IntN(3) > 0 {
		var year, month, day string
		if month, months = randomChain(random, 1, 12, true); random.IntN(2) == 0 {
			month, months = "*", all
		}
		date := ""
		if random.IntN(3) == 0 {
			year, years = randomChain(random, 2015, 2040, false)
			date = year + "-"
		} else if random.IntN(2) == 0 {
			date = "*-"
		}
		if fromEnd = random.IntN(3) == 0; fromEnd {
			day, days = randomChain(random, 1, 28, false)
			if fromEnd = day != "*"; !fromEnd {
				days = all
			}
			date += month + "~" + day
		} else {
			day, days = randomChain(random, 1, 31, true)
			date += month + "-" + day
		}
		parts = append(parts, date)
	}
	rule = wallRule{zone: zone, seconds: []int{0}, clock: func(h, m int) bool { return h == 0 && m == 0 }}
	rule.day = func(date time.Time) bool {
		day := date.Day()
		if fromEnd {
			last := time.Date(date.Year(), date.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
			day = last - date.Day() + 1
		}
		return weekdays[date.Weekday()] && months[int(date.Month())] && days[day] && years[date.Year()]
	}
	if len(parts) == 0 || random.IntN(4) > 0 {
		hour, hours := randomChain(random, 0, 23, true)
		minute, minutes := randomChain(random, 0, 59, true)
		clock := hour + ":" + minute
		if random.IntN(3) == 0 {
			second, seconds := randomChain(random, 0, 59, true)
			clock += ":" + second
			rule.seconds = nil
			for n := range 60 {
				if seconds[n] {
					rule.seconds = append(rule.seconds, n)
				}
			}
		}
		rule.clock = func(h, m int) bool { return hours[h] && minutes[m] }
		parts = append(parts, clock)
	}
	return strings.Join(parts, " "), rule
}

func TestSystemdIsExact(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(18, 4))
	accepted := 0
	for range *formTexts {
		name := translatedZones[random.IntN(len(translatedZones))]
		zone, err := time.LoadLocation(name)
		require.NoError(t, err)
		text, rule := randomCalendar(random, zone)
		given := name
		if random.IntN(2) == 0 {
			text, given = text+" "+name, ""
		}
		if requireTranslated(t, FormSystemd, text, given, rule, randomAfter(random)) {
			accepted++
		}
	}
	require.Greater(t, accepted, *formTexts/2)
}
