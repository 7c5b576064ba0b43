package schedule

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var wordRules = flag.Int("words.rules", 400, "the number of random rules whose words are read back")

// The words of schedules of every kind.
func TestDescribe(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 8, 27, 40, 0, time.UTC)
	for _, c := range []struct {
		kind       Kind
		spec, zone string
		want       string
	}{
		{KindCron5, "0 2,14 * * 1#1", "", ""},
		{KindQuartz, "0 0 2,14 ? * MON#1", "Europe/Berlin", "At 02:00 and 14:00 on the first Monday of the month, Europe/Berlin"},
		{KindQuartz, "0 0 9 LW * ?", "", "At 09:00 on the last working day of the month, UTC"},
		{KindQuartz, "0 0 9 15W,L-2 1-3 ? 2027", "", "At 09:00 on the 3rd-to-last day and the working day nearest to the 15th of the month in January to March, only in 2027, UTC"},
		{KindCron5, "*/15 9-17 * * 1-5", "Europe/Berlin", "Every 15 minutes from 09:00 to 17:45 on Monday to Friday, Europe/Berlin"},
		{KindCron5, "5 */2 * * *", "", "Every 2 hours from 00:05 to 22:05, UTC"},
		{KindCron5, "7 * * * *", "", "Every hour at :07, UTC"},
		{KindCron5, "*/7 3,9 * * *", "", "Every 7th minute from 0 to 56 of hours 3 and 9, UTC"},
		{KindCron5, "0 0 13 * fri", "", "At 00:00 on the 13th of the month, or on Friday, UTC"},
		{KindCron5, "0 0 */2 * fri", "", "At 00:00 on every 2nd day from the 1st to the 31st of the month if it is a Friday, UTC"},
		{KindCron6, "*/10 * * * * *", "", "Every 10 seconds, UTC"},
		{KindSAP, `{"cron": "* * 13 fri 0 0 0"}`, "", "At 00:00 on the 13th of the month if it is a Friday, UTC"},
		{KindSAP, `{"repeatInterval": "90 minutes"}`, "", "Every 90 minutes, counted from the start of the run before, first on Thu 1 Jan 2026 08:27:40, UTC"},
		{KindRRule, "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR;BYHOUR=9;BYMINUTE=0;BYSECOND=0", "", "At 09:00 on Monday and Friday, every 2 weeks counted from the week of Mon 29 Dec 2025, UTC; from Thu 1 Jan 2026 08:27:40"},
		{KindRRule, "FREQ=HOURLY;INTERVAL=2;BYHOUR=9,10,11", "Europe/Berlin", "At 09:27:40 and 11:27:40 every day, Europe/Berlin; from Thu 1 Jan 2026 09:27:40"},
		{KindRRule, "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;COUNT=3", "", "At 08:27:40 on the last working day of the month, UTC; from Thu 1 Jan 2026 08:27:40; 3 runs"},
		{KindAzureScheduler, `{"frequency": "Hour", "interval": 2, "schedule": {"minutes": [5, 35]}}`, "", "Every 2 hours, counted from Thu 1 Jan 2026 08:00, each time 5 minutes 40 seconds and 35 minutes 40 seconds later, UTC; from Thu 1 Jan 2026 08:27:40"},
		{KindElastic, `{"schedule_interval_type": "Months", "schedule_interval_count": 3, "schedule_start_time": "2026-01-31T08:00:00Z"}`, "", "At 08:00 on the 31st of the month (the last day of a shorter month), every 3 months counted from January 2026, UTC; from Sat 31 Jan 2026 08:00"},
		{KindElastic, `{"schedule_interval_type": "Minutes", "schedule_interval_count": 15, "schedule_start_time": "2026-01-31T08:00:00Z"}`, "", "Every 15 minutes, counted from Sat 31 Jan 2026 08:00, UTC"},
	} {
		o := Options{Zone: c.zone}
		if c.kind != KindCron5 && c.kind != KindQuartz && c.kind != KindCron6 && !strings.Contains(c.spec, "cron") {
			o.Start = start
		}
		d, err := Describe(c.kind, []byte(c.spec), o)
		if c.want == "" {
			assert.Error(t, err)
			continue
		}
		require.NoError(t, err, c.spec)
		assert.Equal(t, c.want, d.Text)
		assert.True(t, d.Exact)
	}
}

// wordsOf are the figures of a kind.
type wordsOf struct{ parsed, exact, read int }

// The words of random rules, read by a second reader, mean the same instants as the rules.
func TestWordsMeanTheRule(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(18, uint64(*wordRules)))
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo"}
	figures, unread, inexact := map[Kind]*wordsOf{}, map[string]int{}, map[string]int{}
	for range *wordRules {
		kind, spec := randomSpec(rng)
		start := time.Date(2026, time.Month(1+rng.IntN(12)), 1+rng.IntN(31), rng.IntN(24), rng.IntN(60), rng.IntN(2)*rng.IntN(60), 0, time.UTC)
		o := Options{Zone: zones[rng.IntN(len(zones))], Start: start, Uncounted: true}
		plan, err := Parse(kind, []byte(spec), o)
		if err != nil {
			continue
		}
		if kind == KindRRule && rng.IntN(3) == 0 {
			spec, o.Uncounted = withDates(rng, plan, spec, start), false
			plan, err = Parse(kind, []byte(spec), o)
			require.NoError(t, err, spec)
		}
		f := figures[kind]
		if f == nil {
			f = &wordsOf{}
			figures[kind] = f
		}
		f.parsed++
		d := plan.Describe()
		if !d.Exact {
			inexact[fmt.Sprintf("%s %s: %s", kind, spec, d.Text)]++
			continue
		}
		f.exact++
		reader, err := readWords(d)
		if err != nil {
			unread[err.Error()+" in "+d.Text]++
			continue
		}
		f.read++
		for _, after := range []time.Time{start.Add(-time.Hour), time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC), time.Date(2026, 10, 3, 12, 0, 0, 0, time.UTC), time.Date(2026, 10, 24, 12, 0, 0, 0, time.UTC)} {
			requireSame(t, plan, reader, after, fmt.Sprintf("%s %s in %s from %s\n%s\n%s", kind, spec, o.Zone, start, d.Text, d.Clocks))
		}
	}
	for kind, f := range figures {
		t.Logf("%s: %d rules; %d have exact words, %d of these are read", kind, f.parsed, f.exact, f.read)
		require.GreaterOrEqual(t, f.exact*100, f.parsed*99, "%s: rules without exact words: %v", kind, shorter(inexact))
	}
	require.Empty(t, shorter(unread), "words that the reader does not know")
}

// The reader finds a wrong word: sentences of random rules, in which one word is changed, mean
// other instants.
func TestWordsThatAreWrongAreFound(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(19, uint64(*wordRules)))
	start := time.Date(2026, 1, 31, 8, 27, 40, 0, time.UTC)
	tried, found := map[string]int{}, map[string]int{}
	for range *wordRules / 4 {
		kind, spec := randomSpec(rng)
		plan, err := Parse(kind, []byte(spec), Options{Start: start, Zone: "Europe/Berlin", Uncounted: true})
		if err != nil {
			continue
		}
		d := plan.Describe()
		for _, change := range [][2]string{
			{"Monday", "Tuesday"}, {"the first ", "the second "}, {"the last ", "the first "}, {" and ", " to "}, {"hours", "minutes"}, {"minutes", "hours"},
			{"of the month, or on", "of the month if it is"}, {" if it is a ", ", or on "}, {"minute ", "second "}, {" in January", " in March"},
			{"every 2 ", "every 3 "}, {", only in 2026", ", only in 2027"}, {" the 1st", " the 2nd"}, {":0", ":1"}, {"the first time", "both times"},
		} {
			wrong := d
			if wrong.Text = strings.Replace(d.Text, change[0], change[1], 1); change[1] == "both times" {
				wrong.Text, wrong.Clocks = d.Text, strings.Replace(d.Clocks, change[0], change[1], 1)
			}
			if wrong.Text == d.Text && wrong.Clocks == d.Clocks {
				continue
			}
			tried[change[0]]++
			if !means(plan, wrong, start) {
				found[change[0]]++
			}
		}
	}
	total := [2]int{}
	for change, n := range tried {
		total[0], total[1] = total[0]+n, total[1]+found[change]
		require.True(t, n < 10 || found[change]*5 > n, "%q: %d of %d were found", change, found[change], n)
	}
	require.Greater(t, total[1]*10, total[0]*8)
	t.Logf("changed %v, found %v: %d of %d", tried, found, total[1], total[0])
}

// means reports whether words can be read and have the instants of a plan.
func means(plan *Plan, d Description, start time.Time) (ok bool) {
	defer func() {
		if recover() != nil { // a date that is none
			ok = false
		}
	}()
	reader, err := readWords(d)
	return err == nil && reallySame(plan, reader, start.Add(-time.Hour)) && reallySame(plan, reader, time.Date(2026, 10, 24, 12, 0, 0, 0, time.UTC))
}

// withDates adds RDATE, EXDATE and a limit to a rule. Some exclusions are instants of the rule.
func withDates(rng *rand.Rand, plan *Plan, spec string, start time.Time) string {
	text := func(list []time.Time) string {
		var out []string
		for _, at := range list {
			out = append(out, at.UTC().Format("20060102T150405Z"))
		}
		return strings.Join(out, ",")
	}
	next := Preview(plan, start.Add(-time.Second), 6)
	limit, added := "", []time.Time{start.Add(time.Duration(rng.IntN(1e6)) * time.Second)}
	switch rng.IntN(4) {
	case 0:
		limit = fmt.Sprintf(";COUNT=%d", 1+rng.IntN(8))
	case 1:
		limit = ";UNTIL=" + text([]time.Time{start.Add(time.Duration(1+rng.IntN(3e7)) * time.Second)})
	}
	lines := "RRULE:" + spec + limit
	if rng.IntN(2) == 0 {
		added = append(added, start.Add(time.Duration(rng.IntN(3e7))*time.Second))
		lines += "\nRDATE:" + text(added)
	}
	if len(next) > 2 && rng.IntN(2) == 0 {
		lines += "\nEXDATE:" + text(next[1:2]) + "\nEXDATE:" + text(added[:1])
	}
	if rng.IntN(10) == 0 {
		return "RDATE:" + text(added)
	}
	return lines
}

// shorter returns a few keys.
func shorter(m map[string]int) []string {
	keys := slices.Sorted(maps.Keys(m))
	return keys[:min(len(keys), 20)]
}

// requireSame compares the next instants of a plan with those of its words.
func requireSame(t *testing.T, plan *Plan, reader *wordReader, after time.Time, what string) {
	t.Helper()
	if !reallySame(plan, reader, after) {
		want, got := bothInstants(plan, reader, after)
		require.Equal(t, want, got, "after %s\n%s", after, what)
	}
}

func reallySame(plan *Plan, reader *wordReader, after time.Time) bool {
	want, got := bothInstants(plan, reader, after)
	return slices.EqualFunc(want, got, time.Time.Equal)
}

// bothInstants returns the next instants of a plan and of its words.
func bothInstants(plan *Plan, reader *wordReader, after time.Time) (want, got []time.Time) {
	const most = 8
	horizon := after.AddDate(1, 6, 0)
	if reader.step > 0 && reader.step < time.Minute { // the reader looks at each step
		horizon = after.AddDate(0, 0, 40)
	}
	want = []time.Time{}
	for at, ok := plan.Next(after); ok && at.Before(horizon) && len(want) < most; at, ok = plan.Next(at) {
		want = append(want, at)
	}
	return want, reader.between(after, horizon, most)
}

// randomSpec returns a random text of a kind. It is not always valid.
func randomSpec(rng *rand.Rand) (Kind, string) {
	pick := func(options ...string) string { return options[rng.IntN(len(options))] }
	list := func(low, high, most int) string {
		var items []string
		for range 1 + rng.IntN(most) {
			items = append(items, fmt.Sprint(low+rng.IntN(high-low+1)))
		}
		return strings.Join(items, ",")
	}
	field := func(low, high int) string {
		a := low + rng.IntN(high-low+1)
		switch rng.IntN(7) {
		case 0, 1:
			return "*"
		case 2:
			return fmt.Sprintf("*/%d", 1+rng.IntN(min(high, 30)))
		case 3:
			return fmt.Sprintf("%d-%d", a, a+rng.IntN(high-a+1))
		case 4:
			return fmt.Sprintf("%d-%d/%d", a, a+rng.IntN(high-a+1), 1+rng.IntN(5))
		}
		return list(low, high, 3)
	}
	policies := pick("", "", "", `, "jitter": "90s"`)
	if rng.IntN(4) == 0 {
		policies += fmt.Sprintf(`, "gap": %q, "overlap": %q`, pick("shift", "skip", "at_end"), pick("first", "second", "both"))
	}
	switch rng.IntN(7) {
	case 0:
		return KindCron5, fmt.Sprintf(`{"cron": "%s %s %s %s %s"%s}`, pick("5", field(0, 59)), field(0, 23), field(1, 31), field(1, 12), field(0, 7), policies)
	case 1:
		return KindCron6, fmt.Sprintf(`{"cron": "%s %s %s %s %s %s"%s}`, field(0, 59), field(0, 59), field(0, 23), field(1, 31), field(1, 12), field(0, 6), policies)
	case 2:
		days, weekdays := pick(field(1, 31), "L", "L-3", "LW", "LW-2", "15W,1", "1W", "31W", "L-2W,5"), pick(field(1, 7), "MON#1", "6L", "2#5,3", "L", "MON-FRI", "FRI#3,2L")
		switch rng.IntN(5) {
		case 0, 1:
			weekdays = "?"
		case 2, 3:
			days = "?"
		}
		return KindQuartz, fmt.Sprintf(`{"cron": "%s %s %s %s %s %s%s"%s}`, pick("0", field(0, 59)), field(0, 59), field(0, 23), days, field(1, 12), weekdays, pick("", " *", " 2026-2027", " 2026/2"), policies)
	case 3:
		switch rng.IntN(5) {
		case 0:
			return KindSAP, fmt.Sprintf(`{"repeatInterval": "%d %s", "anchor": "start"}`, 1+rng.IntN(90), pick("minutes", "hours", "days", "seconds", "weeks"))
		case 1:
			return KindSAP, fmt.Sprintf(`{"repeatAt": "%d.%02d"}`, rng.IntN(24), rng.IntN(60))
		}
		colon := func(text string) string { return strings.ReplaceAll(text, "-", ":") }
		return KindSAP, fmt.Sprintf(`{"cron": "%s %s %s %s %s %s %s"%s}`, pick("*", "2026", "2026:2027", "*/2", "2026,2028"), colon(field(1, 12)),
			pick(colon(field(1, 31)), "-1", "3:-2", "-5:-1", "-7:-1/2,15", "20:-3", "-20:15", "5:-1/4", "31"), pick("*", "*", "mon", "mon,fri", "1.mon", "-1.fri,3.tue,wed", "mon:fri", "*/2"),
			colon(field(0, 23)), colon(field(0, 59)), pick("0", colon(field(0, 59))), policies)
	case 4:
		return KindElastic, fmt.Sprintf(`{"schedule_interval_type": %q, "schedule_interval_count": %d}`, pick("Once", "Minutes", "Hours", "Days", "Weeks", "Months"), 1+rng.IntN(40))
	case 5:
		spec := ""
		frequency := pick("Minute", "Hour", "Day", "Week", "Month", "Year")
		var parts []string
		add := func(text string) { parts = append(parts, text) }
		if frequency != "Minute" && frequency != "Year" && rng.IntN(3) > 0 {
			add(`"minutes": [` + list(0, 59, 4) + `]`)
		}
		if strings.Contains("Day Week Month", frequency) && rng.IntN(2) == 0 {
			add(`"hours": [` + list(0, 23, 4) + `]`)
		}
		if frequency == "Week" && rng.IntN(2) == 0 {
			add(`"weekDays": [` + pick(`"monday"`, `"monday", "sunday"`, `"tuesday", "wednesday", "thursday"`) + `]`)
		}
		if frequency == "Month" && rng.IntN(2) == 0 {
			add(`"monthDays": [` + pick("1, 14", "-1", "31", "29, 30, 31, -1") + `]`)
		}
		if frequency == "Month" && rng.IntN(3) == 0 {
			add(`"monthlyOccurrences": [` + pick(`{"day": "friday", "occurrence": -1}`, `{"day": "monday", "occurrence": 1}, {"day": "sunday"}`) + `]`)
		}
		if len(parts) > 0 {
			spec = `, "schedule": {` + strings.Join(parts, ", ") + `}`
		}
		return KindAzureScheduler, fmt.Sprintf(`{"frequency": %q, "interval": %d%s%s}`, frequency, map[bool]int{true: 1, false: 1 + rng.IntN(12)}[frequency == "Year"], spec, policies)
	}
	frequency := pick("YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY")
	interval := 1 + rng.IntN(4)
	if rng.IntN(4) == 0 {
		interval = 1 + rng.IntN(100)
	}
	spec := fmt.Sprintf("FREQ=%s;INTERVAL=%d", frequency, interval)
	add := func(odds int, text string) {
		if rng.IntN(odds) == 0 {
			spec += ";" + text
		}
	}
	add(3, "BYMONTH="+list(1, 12, 4))
	add(3, "BYDAY="+pick("MO", "MO,TU,WE,TH,FR", "SA,SU", "MO,WE,SU", "1MO", "-1FR,2TU", "TU,3FR", "20MO", "-2SU,WE"))
	add(4, "BYMONTHDAY="+pick("1", "13", "-1", "1,15,-2", "29,30,31", "-31", "1,2,3,4,5,6,7"))
	add(2, "BYHOUR="+list(0, 23, 4))
	add(2, "BYMINUTE="+list(0, 59, 4))
	add(3, "BYSECOND="+list(0, 59, 2))
	add(6, "BYYEARDAY="+pick("1", "100,200", "-1", "366", "-366"))
	add(6, "BYWEEKNO="+pick("1", "20,53", "-1", "10,11,12"))
	add(3, "BYSETPOS="+pick("1", "-1", "1,-1", "2,3", "-2"))
	add(4, "WKST="+pick("SU", "WE"))
	return KindRRule, spec
}

func TestDescribeElastic(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC)
	require.Equal(t, "At 08:00, every 2 days counted from Sat 31 Jan 2026, UTC; until Sun 1 Feb 2026 08:00",
		DescribeElastic(Elastic{Interval: Days, Count: 2, Start: start, End: start.AddDate(0, 0, 1)}).Text)
	require.Equal(t, "Once, on Sat 31 Jan 2026 08:00, UTC", DescribeElastic(Elastic{Interval: Once, Start: start}).Text)
	require.False(t, DescribeElastic(Elastic{Interval: "Fortnights", Count: 2, Start: start}).Exact)
}
