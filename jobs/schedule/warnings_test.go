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

var warningRules = flag.Int("warnings.rules", 250, "number of random rules whose warnings about changes of clocks are compared with a walk")

// warningZones have gaps and overlaps of an hour and of half an hour, at midnight, twice within a
// month, and in the other half of the year.
var warningZones = []string{
	"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "America/Santiago", "Europe/Dublin",
	"Asia/Beirut", "America/Havana", "Pacific/Auckland", "Atlantic/Azores",
}

// Bounds within a change of clocks in Europe.
const (
	endBound   = `, "endTime": "2027-03-28T01:15:00Z"`
	startBound = `, "startTime": "2026-10-25T00:45:00Z"`
)

// randomClockRule returns a rule with clock times near those at which clocks change. Its instants
// are whole minutes.
func randomClockRule(random *rand.Rand) (Kind, string) {
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	minute := pick("0", "30", "15,45", "*/15", "0-45/15", "*", "*/7", "59", "0,30")
	hour := pick("2", "0", "1", "3", "23", "*", "*/2", "1-4", "0,2", "2,3", "0-23/2", "2-23")
	days := pick("* * *", "* * *", "* * 0", "* 3,10,11 *", "25-31 * *", "*/2 * *", "1-7 * *")
	rules := pick("", "", `, "gap": "skip"`, `, "gap": "shift"`, `, "gap": "at_end"`, `, "overlap": "both"`, `, "overlap": "first"`, `, "overlap": "second"`,
		`, "gap": "skip", "overlap": "both"`, `, "gap": "shift", "overlap": "both"`)
	bounds := pick("", "", "", endBound, startBound)
	n := random.IntN
	switch pick("cron5", "cron5", "cron6", "quartz", "sap", "rrule", "azure") {
	case "cron5":
		return KindCron5, fmt.Sprintf(`{"cron": "%s %s %s"%s}`, minute, hour, days, rules+bounds)
	case "cron6":
		return KindCron6, fmt.Sprintf(`{"cron": "0 %s %s %s"%s}`, minute, hour, days, rules+bounds)
	case "quartz":
		return KindQuartz, fmt.Sprintf(`{"cron": "0 %s %s %s"%s}`, minute, hour, pick("* * ?", "? * SUN", "? 3,10,11 *", "25-31 * ?"), rules+bounds)
	case "sap":
		// The fields are year month day weekday hour minute second.
		return KindSAP, fmt.Sprintf(`{"cron": "* * * %s %s %s 0"%s}`, pick("*", "*", "sun"), pick("2", "0", "*", "*/2", "1:4", "0,2"), pick("0", "30", "*/15", "*"), rules+bounds)
	case "rrule":
		text := pick("FREQ=DAILY", "FREQ=WEEKLY;BYDAY=SU", "FREQ=MONTHLY;BYDAY=-1SU", "FREQ=DAILY;BYMONTH=3,10") +
			fmt.Sprintf(";BYHOUR=%s;BYMINUTE=%s;BYSECOND=0", pick("2", "0", "1", "0,2", "2,3"), pick("0", "30", "0,15,30,45"))
		return KindRRule, fmt.Sprintf(`{"rrule": "%s", "startTime": "2026-01-01T00:00:00"%s}`, text, rules)
	default:
		return KindAzureScheduler, fmt.Sprintf(`{"startTime": "2026-01-0%dT00:00:00Z", "recurrence": {"frequency": "Day", "interval": 1, "schedule": {"hours": [%s], "minutes": [%s]}}%s}`,
			1+n(9), pick("2", "0", "0, 2", "1, 2, 3"), pick("0", "30", "0, 30"), rules)
	}
}

// clockFacts are what a change of clocks does to a schedule, by a walk.
type clockFacts struct {
	lost           []string // days
	moved, doubled []string // clock times
}

// factsOf walks over the days of a change of clocks at the instant change. named is the same rule
// in UTC and without bounds: its instants are the clock times that the rule names.
func factsOf(plan, named *Plan, zone *time.Location, change time.Time) (f clockFacts) {
	_, before := change.Add(-time.Second).In(zone).Zone()
	_, after := change.In(zone).Zone()
	shift := time.Duration(after-before) * time.Second
	civil := func(t time.Time) time.Time {
		_, offset := t.In(zone).Zone()
		return t.Add(time.Duration(offset) * time.Second).UTC()
	}
	list := func(p *Plan, from, to time.Time) map[time.Time]bool {
		all := map[time.Time]bool{}
		for at, ok := p.Next(from.Add(-time.Second)); ok && at.Before(to); at, ok = p.Next(at) {
			all[at] = true
		}
		return all
	}
	due := list(plan, change.Add(-50*time.Hour), change.Add(50*time.Hour))
	wall := change.Add(time.Duration(before) * time.Second).UTC() // the clocks when they change
	names := list(named, wall.Add(-60*time.Hour), wall.Add(60*time.Hour))
	if shift > 0 {
		// A clock time in the gap is lost with its day if nothing else is due on it, and if the
		// bounds would leave it.
		dueDays := map[string]bool{}
		for at := range due {
			dueDays[civil(at).Format(time.DateOnly)] = true
		}
		for at := range names {
			day := at.Format(time.DateOnly)
			inGap := !at.Before(wall) && at.Before(wall.Add(shift))
			instant := at.Add(-time.Duration(before) * time.Second)
			bounded := !plan.Start.IsZero() && instant.Before(plan.Start) || !plan.end.IsZero() && instant.After(plan.end)
			if inGap && !bounded && !dueDays[day] && !slices.Contains(f.lost, day) {
				f.lost = append(f.lost, day)
			}
		}
		// A moved instant is due although the rule does not name its clock time.
		for at := range due {
			if c := civil(at); !names[c] {
				f.moved = append(f.moved, c.Format("15:04"))
			}
		}
	} else {
		twice := map[time.Time]int{}
		for at := range due {
			twice[civil(at)]++
		}
		even := true
		for k := range names {
			for _, other := range []time.Time{k.Add(shift), k.Add(-shift)} {
				span := func(t time.Time) bool { return !t.Before(wall.Add(2*shift)) && t.Before(wall.Add(-shift)) }
				even = even && (!span(k) || !span(other) || names[other])
			}
		}
		for c, n := range twice {
			if n > 1 && !even {
				f.doubled = append(f.doubled, c.Format("15:04"))
			}
		}
	}
	slices.Sort(f.lost)
	slices.Sort(f.moved)
	slices.Sort(f.doubled)
	return f
}

// TestWarningsAtAreExact compares the warnings with a walk over the days of the next two changes.
func TestWarningsAtAreExact(t *testing.T) {
	random := rand.New(rand.NewPCG(18, 2))
	found := map[string]int{}
	for range *warningRules {
		kind, spec := randomClockRule(random)
		name := warningZones[random.IntN(len(warningZones))]
		plan, err := Parse(kind, []byte(spec), Options{Zone: name})
		require.NoError(t, err, spec)
		free := spec
		for _, bound := range []string{endBound, startBound} {
			free = strings.Replace(free, bound, "", 1)
		}
		named, err := Parse(kind, []byte(free), Options{Zone: "UTC"})
		require.NoError(t, err, free)
		now := time.Date(2026, time.Month(1+random.IntN(14)), 1+random.IntN(28), random.IntN(24), 0, random.IntN(60), random.IntN(1e9), time.UTC)
		zone, err := LoadZone(name)
		require.NoError(t, err)

		// Changes are found hour by hour, and then second by second.
		var changes []time.Time
		_, last := now.In(zone).Zone()
		for at := now; len(changes) < 2 && at.Before(now.Add(396*24*time.Hour)); at = at.Add(time.Hour) {
			_, offset := at.Add(time.Hour).In(zone).Zone()
			if offset == last {
				continue
			}
			change := at.Truncate(time.Second)
			for _, o := change.In(zone).Zone(); o == last; _, o = change.In(zone).Zone() {
				change = change.Add(time.Second)
			}
			changes, last = append(changes, change.UTC()), offset
		}
		warnings, until := plan.WarningsAt(now)
		context := fmt.Sprintf("%s %s %s %s\n%s", kind, spec, name, now, strings.Join(warnings, "\n"))
		require.Equal(t, changes[0], until, context)
		var want []string
		for _, change := range changes {
			_, before := change.Add(-time.Second).In(zone).Zone()
			_, after := change.In(zone).Zone()
			day := change.Add(time.Duration(min(before, after)) * time.Second).UTC().Format("Monday 2 January 2006")
			f := factsOf(plan, named, zone, change)
			for _, lost := range f.lost {
				at, err := time.Parse(time.DateOnly, lost)
				require.NoError(t, err)
				want = append(want, "lost "+at.Format("Monday 2 January 2006"))
				found["lost"]++
			}
			if len(f.moved) > 0 {
				want = append(want, fmt.Sprintf("moved %s %s", day, timesIn(f.moved)))
				found["moved"]++
			}
			if len(f.doubled) > 0 {
				want = append(want, fmt.Sprintf("doubled %s %s", day, timesIn(f.doubled)))
				found["doubled"]++
			}
		}
		require.Equal(t, want, readWarnings(warnings[min(len(plan.Warnings), len(warnings)):]), context)
		if len(want) == 0 {
			found["none"]++
		}
	}
	for _, kind := range []string{"lost", "moved", "doubled", "none"} {
		require.Greater(t, found[kind], *warningRules/100, "%v", found)
	}
}

// timesIn returns clock times as a warning names them: few by themselves, many by their number.
func timesIn(times []string) string {
	if len(times) > 4 {
		return fmt.Sprint(len(times))
	}
	return strings.Join(times, " ")
}

// readWarnings reads warnings: what happens, the day, and the clock times that result.
func readWarnings(warnings []string) []string {
	var out []string
	names := strings.NewReplacer(", ", " ", " and ", " ")
	for _, w := range warnings {
		between := func(from, to string) string {
			_, rest, _ := strings.Cut(w, from)
			text, _, _ := strings.Cut(rest, to)
			return text
		}
		first, _, _ := strings.Cut(w, " ")
		switch {
		case strings.Contains(w, " nothing is due: "):
			out = append(out, "lost "+between("On ", " nothing"))
		case strings.Contains(w, " it runs twice at "):
			out = append(out, fmt.Sprintf("doubled %s %s", between("On ", " it runs"), names.Replace(between("twice at ", ", because"))))
		case strings.Contains(w, " run twice, because"):
			out = append(out, "doubled "+between("On ", " clock"))
		case strings.Contains(w, " moved forward by "):
			out = append(out, fmt.Sprintf("moved %s %s", lastOf(w, " on "), first))
		case strings.Contains(w, " moved to "):
			out = append(out, fmt.Sprintf("moved %s %s", lastOf(w, " on "), names.Replace(between(" moved to ", " on "))))
		case strings.Contains(w, " one run at "):
			out = append(out, fmt.Sprintf("moved %s %s", lastOf(w, " on "), between(" one run at ", " on ")))
		default:
			out = append(out, w)
		}
	}
	return out
}

// lastOf returns what follows the last separator, until a comma.
func lastOf(w, separator string) string {
	text, _, _ := strings.Cut(w[strings.LastIndex(w, separator)+len(separator):], ",")
	return text
}

// TestWarningsAtIsCheap: rules with very many clock times are not listed. With -slow.measure each
// must take less than 1 ms.
func TestWarningsAtIsCheap(t *testing.T) {
	now := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	for _, spec := range []string{"* * * * * *", "* */2 * * * *", "* * 2 * * *", "*/2 1-3 0-5 * * *"} {
		for _, kind := range []Kind{KindCron6, KindQuartz} {
			if kind == KindQuartz {
				spec = strings.TrimSuffix(spec, "*") + "?"
			}
			plan, err := Parse(kind, []byte(spec), Options{Zone: "Europe/Berlin"})
			require.NoError(t, err)
			within(t, time.Millisecond, func() { plan.WarningsAt(now) }, "%s", spec)
		}
	}
}

// TestWarningsAreFew: a schedule has no warning twice, and at most 20 of them.
func TestWarningsAreFew(t *testing.T) {
	var many []string
	for i := range 40 {
		many = append(many, fmt.Sprint(i/2))
	}
	require.Len(t, fewWarnings(many, 40), 20)
	plan, err := Parse(KindCron5, []byte(`{"cron": "30 2 * * *", "gap": "skip", "overlap": "both"}`), Options{Zone: "Europe/Berlin"})
	require.NoError(t, err)
	for i := range 40 {
		plan.Warnings = append(plan.Warnings, fmt.Sprint(i))
	}
	all, _ := plan.WarningsAt(time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC))
	require.Len(t, all, 20)
	require.Contains(t, all[18], "On Sunday 28 March 2027 nothing is due")
	require.Contains(t, all[19], "On Sunday 31 October 2027 it runs twice")
}

// TestWarningsAtWithoutChanges: elapsed time and zones without changes have no such warnings.
func TestWarningsAtWithoutChanges(t *testing.T) {
	now := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		kind       Kind
		spec, zone string
	}{
		{KindCron5, "30 2 * * *", "UTC"},
		{KindCron5, "30 2 * * *", "Asia/Kolkata"},
		{KindRRule, "DTSTART:20260101T000000\nRRULE:FREQ=HOURLY", "Europe/Berlin"},
		{KindSAP, `{"repeatInterval": "2 hours", "startTime": "2026-01-01T00:30:00"}`, "Europe/Berlin"},
		{KindAzureScheduler, `{"startTime": "2026-01-01T02:30:00+01:00", "recurrence": {"frequency": "Day"}}`, ""},
	} {
		plan, err := Parse(test.kind, []byte(test.spec), Options{Zone: test.zone})
		require.NoError(t, err)
		warnings, until := plan.WarningsAt(now)
		require.Equal(t, plan.Warnings, warnings)
		require.Zero(t, until, test.spec)
	}
}

// TestWarningsAtObeyCountsAndExclusions: clock times that a count, an UNTIL or an EXDATE leaves out
// have no warning, and a day on which an RDATE is due is not lost.
func TestWarningsAtObeyCountsAndExclusions(t *testing.T) {
	now := time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC)
	const (
		lost    = "On Sunday 28 March 2027 nothing is due"
		doubled = "On Sunday 31 October 2027 it runs twice"
	)
	for _, test := range []struct {
		rule string
		want []string
	}{
		{"RRULE:FREQ=DAILY", []string{lost, doubled}},
		{"RRULE:FREQ=DAILY;COUNT=27", []string{lost}},
		{"RRULE:FREQ=DAILY;COUNT=10", nil},
		{"RRULE:FREQ=DAILY;COUNT=300\\nRDATE:20270401T110000", []string{lost, doubled}},
		{"RRULE:FREQ=DAILY;COUNT=10\\nRDATE:20270401T110000", nil},
		{"RRULE:FREQ=DAILY;UNTIL=20270601T000000Z", []string{lost}},
		{"RRULE:FREQ=DAILY;UNTIL=20270305T000000Z\\nRDATE:20270401T110000", nil},
		{"RRULE:FREQ=DAILY\\nRDATE:20270328T110000", []string{doubled}},
		{"RRULE:FREQ=DAILY\\nEXDATE:20271031T023000", []string{lost}},
		{"RRULE:FREQ=DAILY\\nRDATE:20270401T110000", []string{lost, doubled}},
	} {
		spec := fmt.Sprintf(`{"rrule": "DTSTART:20270302T023000\n%s", "gap": "skip", "overlap": "both"}`, test.rule)
		for _, uncounted := range []bool{false, true} {
			plan, err := Parse(KindRRule, []byte(spec), Options{Zone: "Europe/Berlin", Uncounted: uncounted})
			require.NoError(t, err, spec)
			if uncounted && plan.Count > 0 {
				continue // the database counts
			}
			all, _ := plan.WarningsAt(now)
			all = all[len(plan.Warnings):]
			require.Len(t, all, len(test.want), "%s %q", spec, all)
			for i, part := range test.want {
				require.Contains(t, all[i], part, spec)
			}
		}
	}
}
