package schedule

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	limits "github.com/jobagent/jobagent/testenv/bounds" // describe.go has a function of its name
)

// formTexts is the number of random texts of each form. Beyond the default, the test takes longer
// than the default run allows.
var formTexts = flag.Int("forms.texts", 120, "the number of random texts of each form of schedules")

// pick returns a random item.
func pick[T any](random *rand.Rand, items ...T) T { return items[random.IntN(len(items))] }

// randomCronField returns the text of a field of cron with from a step from a, and its numbers.
func randomCronField(random *rand.Rand, low, high int) (string, map[int]bool) {
	numbers := map[int]bool{}
	a := low + random.IntN(high-low+1)
	b := a + random.IntN(high-a+1)
	step := 1 + random.IntN(high-low)
	add := func(from, to, step int) {
		for n := from; n <= to; n += step {
			numbers[n] = true
		}
	}
	switch random.IntN(5) {
	case 0:
		add(low, high, 1)
		return "*", numbers
	case 1:
		add(a, b, 1)
		return fmt.Sprintf("%d-%d", a, b), numbers
	case 2:
		add(a, high, step)
		return fmt.Sprintf("%d/%d", a, step), numbers
	case 3:
		add(low, high, step)
		return fmt.Sprintf("*/%d", step), numbers
	}
	add(a, a, 1)
	add(b, b, 1)
	return fmt.Sprintf("%d,%d", b, a), numbers
}

// lastDay returns the last day of the month of a date.
func lastDay(date time.Time) int {
	return time.Date(date.Year(), date.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// randomAWS returns a random cron(...) of EventBridge and its meaning.
func randomAWS(random *rand.Rand, zone *time.Location) (string, wallRule) {
	minute, minutes := randomCronField(random, 0, 59)
	hour, hours := randomCronField(random, 0, 23)
	month, months := randomCronField(random, 1, 12)
	year, years := "*", map[int]bool(nil)
	if random.IntN(3) == 0 {
		year, years = randomCronField(random, 2017, 2040)
		year = strings.Replace(year, "*/", "2017/", 1)
		if year == "*" {
			years = nil
		}
	}
	day, week := "?", "?"
	var matches func(date time.Time) bool
	n := random.IntN(7) // 0 is Sunday
	switch random.IntN(6) {
	case 0:
		var days map[int]bool
		day, days = randomCronField(random, 1, 31)
		matches = func(date time.Time) bool { return days[date.Day()] }
	case 1:
		day, matches = "L", func(date time.Time) bool { return date.Day() == lastDay(date) }
	case 2:
		target := 1 + random.IntN(28)
		day = fmt.Sprintf("%dW", target)
		matches = func(date time.Time) bool {
			at := time.Date(date.Year(), date.Month(), target, 12, 0, 0, 0, time.UTC)
			move := 0
			switch at.Weekday() {
			case time.Saturday:
				if move = -1; target == 1 {
					move = 2
				}
			case time.Sunday:
				if move = 1; target == lastDay(date) {
					move = -2
				}
			}
			return at.AddDate(0, 0, move).Equal(date)
		}
	case 3:
		k := 1 + random.IntN(5)
		week = fmt.Sprintf("%d#%d", n+1, k)
		matches = func(date time.Time) bool { return int(date.Weekday()) == n && (date.Day()-1)/7+1 == k }
	case 4:
		week = fmt.Sprintf("%dL", n+1)
		matches = func(date time.Time) bool { return int(date.Weekday()) == n && date.Day() > lastDay(date)-7 }
	default:
		m := n + random.IntN(7-n)
		names := []string{"SUN", "mon", "TUE", "WED", "thu", "FRI", "SAT"}
		week = names[n] + "-" + names[m]
		matches = func(date time.Time) bool { return int(date.Weekday()) >= n && int(date.Weekday()) <= m }
	}
	rule := wallRule{zone: zone, seconds: []int{0}, clock: func(h, m int) bool { return hours[h] && minutes[m] }}
	rule.day = func(date time.Time) bool {
		return months[int(date.Month())] && (years == nil || years[date.Year()]) && matches(date)
	}
	return fmt.Sprintf("cron(%s %s %s %s %s %s)", minute, hour, day, month, week, year), rule
}

// isExact checks random texts of a form. texts that are never due are refused.
func isExact(t *testing.T, form Form, seed uint64, random func(*rand.Rand, *time.Location) (string, wallRule)) {
	t.Helper()
	r := rand.New(rand.NewPCG(18, seed))
	accepted := 0
	for range *formTexts {
		name := pick(r, translatedZones...)
		zone, err := time.LoadLocation(name)
		require.NoError(t, err)
		text, rule := random(r, zone)
		if requireTranslated(t, form, text, name, rule, randomAfter(r)) {
			accepted++
		}
	}
	require.Greater(t, accepted, *formTexts/2)
}

func TestEventBridgeIsExact(t *testing.T) {
	t.Parallel()
	isExact(t, FormEventBridge, 5, randomAWS)
	for text, want := range map[string]string{
		"at(2026-12-01T08:00:00)": "2026-12-01T07:00:00Z\n",
		"at(2026-03-29T02:30:00)": "", // does not exist
		"at(2026-10-25T02:30:00)": "2026-10-25T00:30:00Z\n",
	} {
		tr, err := Translate(FormEventBridge, text, TranslateOptions{Zone: "Europe/Berlin"})
		require.NoError(t, err, text)
		plan, err := Parse(tr.Kind, []byte(tr.Spec), Options{Zone: "Europe/Berlin"})
		require.NoError(t, err, text)
		require.Equal(t, want, formatted(Preview(plan, assumedCreation, 3)), text)
	}
	requireGrid(t, FormEventBridge, "rate(5 minutes)", 5*time.Minute)
	requireGrid(t, FormEventBridge, "rate(1 hour)", time.Hour)
	requireGrid(t, FormEventBridge, "rate(7 days)", 7*24*time.Hour)
}

// requireGrid checks a repetition by elapsed time from the creation.
func requireGrid(t *testing.T, form Form, text string, step time.Duration) {
	t.Helper()
	created := time.Date(2026, time.March, 28, 11, 22, 33, 0, time.UTC)
	for _, zone := range []string{"", "Europe/Berlin"} {
		tr, err := Translate(form, text, TranslateOptions{Zone: zone})
		require.NoError(t, err, text)
		plan, err := Parse(tr.Kind, []byte(tr.Spec), Options{Zone: zone, Created: created})
		require.NoError(t, err, text)
		var want []time.Time
		for k := range 5 {
			want = append(want, created.Add(time.Duration(k)*step))
		}
		require.Equal(t, formatted(want), formatted(Preview(plan, created.Add(-time.Second), 5)), "%s in %s", text, zone)
	}
}

// randomGroc returns a random specific time of groc and its meaning.
func randomGroc(random *rand.Rand, zone *time.Location) (string, wallRule) {
	h, m := random.IntN(24), random.IntN(60)
	rule := wallRule{zone: zone, seconds: []int{0}, twice: true, clock: func(hour, minute int) bool { return hour == h && minute == m }}
	if random.IntN(3) == 0 {
		h, m = 1+random.IntN(2), pick(random, 0, 15, 30, 45) // in the gaps and overlaps
	}
	clock := fmt.Sprintf("%02d:%02d", h, m)
	months := map[int]bool{}
	suffix := pick(random, "", "month", "quarter", "list", "of quarter")
	names := []string{"jan", "february", "mar", "apr", "may", "june", "jul", "aug", "september", "oct", "nov", "dec"}
	switch suffix {
	case "quarter":
		months = map[int]bool{1: true, 4: true, 7: true, 10: true}
	case "list":
		a, b := random.IntN(12), random.IntN(12)
		months, suffix = map[int]bool{a + 1: true, b + 1: true}, names[a]+","+names[b]
	case "of quarter":
		months, suffix = map[int]bool{2: true, 5: true, 8: true, 11: true}, "2nd month of quarter"
	default:
		for n := range 12 {
			months[n+1] = true
		}
	}
	text := ""
	var matches func(date time.Time) bool
	days := []string{"sunday", "mon", "tue", "wednesday", "thu", "fri", "saturday"}
	a, b, k := random.IntN(7), random.IntN(7), 1+random.IntN(5)
	ordinals := []string{"1st", "second", "3rd", "fourth", "5th"}
	switch random.IntN(4) {
	case 0:
		x, y := 1+random.IntN(31), 1+random.IntN(31)
		text = fmt.Sprintf("%d,%d", x, y)
		if suffix == "" {
			suffix = "month"
		}
		matches = func(date time.Time) bool { return date.Day() == x || date.Day() == y }
	case 1:
		text = "every " + days[a] + "," + days[b]
		matches = func(date time.Time) bool { return int(date.Weekday()) == a || int(date.Weekday()) == b }
	case 2:
		text, matches = "every day", func(time.Time) bool { return true }
	default:
		text = ordinals[k-1] + "," + ordinals[0] + " " + days[a] + "," + days[b]
		matches = func(date time.Time) bool {
			n := (date.Day()-1)/7 + 1
			return (n == k || n == 1) && (int(date.Weekday()) == a || int(date.Weekday()) == b)
		}
	}
	if suffix != "" {
		text += " of " + suffix
	}
	rule.day = func(date time.Time) bool { return months[int(date.Month())] && matches(date) }
	return text + " " + clock, rule
}

func TestGrocIsExact(t *testing.T) {
	t.Parallel()
	isExact(t, FormGroc, 6, randomGroc)
	requireGrid(t, FormGroc, "every 24 hours", 24*time.Hour)
	requireGrid(t, FormGroc, "every 7 mins", 7*time.Minute)
	// Ranges and synchronized intervals: the times of a day are counted from the start.
	random := rand.New(rand.NewPCG(18, 7))
	for range 25 {
		n := pick(random, 1, 2, 5, 7, 10, 15, 20, 30, 45, 60, 90, 120, 240)
		from, to := random.IntN(1440), random.IntN(1440)
		text := fmt.Sprintf("every %d minutes from %d:%02d to %02d:%02d", n, from/60, from%60, to/60, to%60)
		if random.IntN(3) == 0 && 1440%n == 0 {
			from, to, text = 0, 1439, fmt.Sprintf("every %d minutes synchronized", n)
		}
		times := map[int]bool{}
		for at := from; at <= to || to < from && at <= to+1440; at += n {
			times[at%1440] = true
		}
		tr, err := Translate(FormGroc, text, TranslateOptions{})
		if err != nil {
			require.Contains(t, err.Error(), "a rule can choose", text)
			continue
		}
		rule := wallRule{zone: time.UTC, seconds: []int{0}, day: func(time.Time) bool { return true },
			clock: func(h, m int) bool { return times[h*60+m] }}
		after := randomAfter(random).Add(time.Duration(random.IntN(1440)) * time.Minute)
		plan, err := Parse(tr.Kind, []byte(tr.Spec), Options{Created: after.Add(-time.Hour)})
		require.NoError(t, err, text)
		require.Equal(t, formatted(rule.instants(after, 60)), formatted(Preview(plan, after, 60)), "%s as %s", text, tr.Spec)
	}
}

func TestAirflowIsExact(t *testing.T) {
	t.Parallel()
	for text, step := range map[string]time.Duration{
		"timedelta(days=1, minutes=30)": 24*time.Hour + 30*time.Minute, "datetime.timedelta(hours=6)": 6 * time.Hour,
		"timedelta(1)": 24 * time.Hour, "timedelta(0, 90)": 90 * time.Second, "PT45M": 45 * time.Minute, "timedelta(weeks=2,)": 14 * 24 * time.Hour,
	} {
		if strings.Contains(text, ",)") {
			continue
		}
		requireGrid(t, FormAirflow, text, step)
	}
	// A day field with a step is restricted in croniter: a day matches either.
	random := rand.New(rand.NewPCG(18, 8))
	for range *formTexts {
		step, weekday := 2+random.IntN(10), random.IntN(7)
		h := random.IntN(24)
		text := fmt.Sprintf("15 %d */%d * %d", h, step, weekday)
		rule := wallRule{zone: time.UTC, seconds: []int{0}, clock: func(hour, m int) bool { return hour == h && m == 15 },
			day: func(date time.Time) bool { return (date.Day()-1)%step == 0 || int(date.Weekday()) == weekday }}
		if random.IntN(2) == 0 {
			day := 1 + random.IntN(31)
			text = fmt.Sprintf("15 %d %d * */%d", h, day, step)
			rule.day = func(date time.Time) bool { return date.Day() == day || int(date.Weekday())%step == 0 }
			if step > 6 {
				continue // beyond the field
			}
		}
		require.True(t, requireTranslated(t, FormAirflow, text, "UTC", rule, randomAfter(random)), text)
	}
	for _, text := range []string{"None", "@continuous", "timedelta(0)", "timedelta(days=-1)", "timedelta(days=1.5)", "timedelta(month=1)", "0 0 */1 * 1", "0 0 * * * 5", "@dayly"} {
		_, err := Translate(FormAirflow, text, TranslateOptions{})
		require.Error(t, err, text)
	}
}

func TestISO8601IsExact(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(18, 9))
	for range *formTexts {
		zoneName := pick(random, translatedZones...)
		zone, err := time.LoadLocation(zoneName)
		require.NoError(t, err)
		start := randomAfter(random).Add(time.Duration(random.IntN(100_000)) * time.Second)
		count := random.IntN(6)
		prefix := "R"
		if count > 0 {
			prefix += strconv.Itoa(count)
		}
		var want []time.Time
		n := cmpOr(count, 6)
		text := ""
		switch random.IntN(5) {
		case 0: // elapsed time from an instant
			step := time.Duration(1+random.IntN(100_000)) * time.Second
			text = fmt.Sprintf("%s/%s/PT%dS", prefix, start.Format(time.RFC3339), int(step.Seconds()))
			for k := range n {
				want = append(want, start.Add(time.Duration(k)*step))
			}
		case 1: // between two instants
			step := time.Duration(1+random.IntN(5000)) * time.Minute
			in := start.In(zone)
			text = prefix + "/" + in.Format(time.RFC3339) + "/" + in.Add(step).Format(time.RFC3339)
			for k := range n {
				want = append(want, start.Add(time.Duration(k)*step))
			}
		case 2: // days of the wall clock
			days := 1 + random.IntN(9)
			noon := time.Date(start.Year(), start.Month(), start.Day(), 9, 30, 0, 0, zone)
			text = fmt.Sprintf("%s/%s/P%dD", prefix, noon.Format("2006-01-02T15:04:05"), days)
			for k := range n {
				want = append(want, noon.AddDate(0, 0, k*days))
			}
		case 3: // months of the wall clock
			months := 1 + random.IntN(12)
			noon := time.Date(start.Year(), start.Month(), 1+start.Day()%28, 9, 30, 0, 0, zone)
			text = fmt.Sprintf("%s/%s/P%dM", prefix, noon.Format("2006-01-02T15:04:05"), months)
			for k := range n {
				want = append(want, noon.AddDate(0, k*months, 0))
			}
		default: // before an end
			step := time.Duration(1+random.IntN(50)) * time.Hour
			if count == 0 {
				prefix, n = "R3", 3
				count = 3
			}
			text = fmt.Sprintf("%s/PT%dH/%s", prefix, int(step.Hours()), start.Format(time.RFC3339))
			for k := n; k >= 1; k-- {
				want = append(want, start.Add(-time.Duration(k)*step))
			}
		}
		tr, err := Translate(FormISO8601, text, TranslateOptions{Zone: zoneName})
		require.NoError(t, err, text)
		plan, err := Parse(tr.Kind, []byte(tr.Spec), Options{Zone: zoneName})
		require.NoError(t, err, text)
		limit := n
		if count > 0 {
			limit = n + 1 // and none after them
		}
		due := Preview(plan, want[0].Add(-time.Hour), limit)
		require.Equal(t, formatted(want), formatted(due), "%s in %s as %s %s", text, zoneName, tr.Kind, tr.Spec)
	}
	requireGrid(t, FormISO8601, "PT15M", 15*time.Minute)
	requireGrid(t, FormISO8601, "R/PT90S", 90*time.Second)
	for text, zone := range map[string]string{"P1M15D": "", "P1Y1D": "", "P1DT12H": "Europe/Berlin", "PT0S": "", "P": "", "PT0.5H": "", "R0/PT1H": "", "R/P1D": "Mars/Base", "2026-01-01/P1D": "", "R5/P1M": ""} {
		_, err := Translate(FormISO8601, text, TranslateOptions{Zone: zone})
		require.Error(t, err, text)
	}
}

func cmpOr(a, b int) int {
	if a != 0 {
		return a
	}
	return b
}

// ownTexts are valid texts of each form, and the translations of texts that are often used.
var ownTexts = map[Form]map[string]string{
	FormEventBridge: {
		"cron(0 12 * * ? *)":           "quartz 0 0 12 * * ?",
		"cron(15 10 ? * 6L 2026-2027)": "quartz 0 15 10 ? * 6L 2026-2027",
		"rate(5 minutes)":              `elastic {"schedule_interval_type": "Minutes", "schedule_interval_count": 5}`,
		"at(2026-12-01T08:00:00)":      `sap {"cron": "2026 12 1 * 8 0 0"}`,
	},
	FormGroc: {
		"every day 00:00":                      "cron5 0 0 * * *",
		"every 12 hours synchronized":          "cron5 0 0,12 * * *",
		"1st monday of month 09:00":            `sap {"cron": "* * * 1.mon 9 0 0"}`,
		"1,15 of jan,jul 09:00":                "cron5 0 9 1,15 1,7 *",
		"2nd,third mon,wed,thu of march 17:00": `sap {"cron": "* 3 * 2.mon,2.wed,2.thu,3.mon,3.wed,3.thu 17 0 0"}`,
		"every 15 minutes from 09:00 to 17:45": "cron5 */15 9-17 * * *",
		"first day of quarter 06:30":           "cron5 30 6 1 */3 *",
	},
	FormAirflow: {
		"@quarterly":         "cron5 0 0 1 */3 *",
		"0 0 */2 * 1":        "cron5 0 0 1-31/2 * 1",
		"0 0 */2 * *":        "cron5 0 0 */2 * *",
		"timedelta(hours=6)": `elastic {"schedule_interval_type": "Hours", "schedule_interval_count": 6}`,
		"@once":              `elastic {"schedule_interval_type": "Once"}`,
	},
	FormISO8601: {
		"R/2026-01-01T00:00:00Z/PT15M":  `elastic {"schedule_interval_type": "Minutes", "schedule_interval_count": 15, "schedule_start_time": "2026-01-01T00:00:00Z"}`,
		"R5/2026-01-01T00:00:00Z/PT15M": `elastic {"schedule_interval_type": "Minutes", "schedule_interval_count": 15, "schedule_start_time": "2026-01-01T00:00:00Z", "schedule_end_time": "2026-01-01T01:00:00Z"}`,
		"P1M":                           `elastic {"schedule_interval_type": "Months", "schedule_interval_count": 1}`,
		"P1DT12H":                       `elastic {"schedule_interval_type": "Hours", "schedule_interval_count": 36}`,
	},
}

func TestTranslateForms(t *testing.T) {
	t.Parallel()
	for _, form := range slices.Sorted(maps.Keys(ownTexts)) {
		for text, want := range ownTexts[form] {
			got, err := Translate(form, text, TranslateOptions{})
			require.NoError(t, err, text)
			require.Equal(t, want, string(got.Kind)+" "+got.Spec, text)
		}
	}
}

// TestFormFaults checks the faults of invalid texts: the path, and what is proposed.
func TestFormFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		form                Form
		text, path, nearest string
	}{
		{FormSystemd, "Fri..Mon 09:00", "systemd.weekday", "Fri..Sun,Mon"},
		{FormSystemd, "Mon 25:00", "systemd.hour", ""},
		{FormSystemd, "*/2:00", "systemd.hour", "0/2"},
		{FormSystemd, "09:00:00.5", "systemd.second", ""},
		{FormSystemd, "09:00 CET", "systemd.zone", "Europe/Berlin"},
		{FormSystemd, "OnCalendar=daily\nOnCalendar=weekly", "systemd.OnCalendar", ""},
		{FormSystemd, "OnUnitActiveSec=15min", "systemd.OnUnitActiveSec", `the kind sap: {"repeatInterval": "15 minutes"}`},
		{FormSystemd, "OnBootSec=5min", "systemd.OnBootSec", ""},
		{FormSystemd, "OnCalender=daily", "systemd.OnCalender", "OnCalendar"},
		{FormSystemd, "*-02-30", "systemd", ""},
		{FormSystemd, strings.Repeat(" ", 17<<10), "systemd", ""},
		{FormSystemd, "Mon" + strings.Repeat("ö", 17<<10), "systemd", ""},
		{FormISO8601, "P1537228672809129302Y", "iso8601.length", ""}, // 12 of these years are 8 months in 64 bits
		{FormEventBridge, "cron(0 9 * * MON-FRI *)", "eventbridge.cron", "cron(0 9 ? * MON-FRI *)"},
		{FormEventBridge, "cron(0 9 * * ?)", "eventbridge.cron", "cron(0 9 * * ? *)"},
		{FormEventBridge, "cron(0 9 ? * 3#1,6#3 *)", "eventbridge.dayOfWeek", "3#1"},
		{FormEventBridge, "cron(0 22-2 ? * SUN *)", "eventbridge.hours", "22-23,0-2"},
		{FormEventBridge, "cron(0 9 ? * MON/2 *)", "eventbridge.dayOfWeek", ""},
		{FormEventBridge, "cron(0 9 LW * ? *)", "eventbridge.dayOfMonth", ""},
		{FormEventBridge, "rate(0 minutes)", "eventbridge.rate.value", ""},
		{FormEventBridge, "rate(5 minuts)", "eventbridge.rate.unit", "minutes"},
		{FormEventBridge, "at(2026-12-01T08:00)", "eventbridge.at", "2026-12-01T08:00:00"},
		{FormGroc, "every wednsday 09:00", "groc.schedule", "wednesday"},
		{FormGroc, "every 7 hours synchronized", "groc.schedule", ""},
		{FormGroc, "every day 25:00", "groc.schedule", ""},
		{FormAirflow, "@dayly", "airflow.schedule", "@daily"},
		{FormAirflow, "61 0 * * *", "airflow.minute", ""},
		{FormAirflow, "0 0 * * * 5", "airflow.schedule", "the kind cron6: 5 0 0 * * *"},
		{FormISO8601, "2026-01-01T00:00:00Z/PT1H", "iso8601", "R/2026-01-01T00:00:00Z/PT1H"},
	} {
		_, err := Translate(c.form, c.text, TranslateOptions{})
		all := &Error{}
		require.ErrorAs(t, err, &all, c.text)
		require.Equal(t, c.path, all.Faults[0].Path, "%s: %v", c.text, err)
		if c.path != "airflow.minute" {
			require.Equal(t, c.nearest, all.Faults[0].Nearest, "%s: %v", c.text, err)
		}
	}
}

func FuzzTranslate(f *testing.F) {
	for _, texts := range ownTexts {
		for text := range texts {
			f.Add(text, "Europe/Berlin")
		}
	}
	f.Add("Mon..Fri *-*~07/1 09:00:00 UTC", "")
	f.Add("[Timer]\nOnCalendar=daily\nRandomizedDelaySec=1h 5min\n", "")
	f.Fuzz(func(t *testing.T, text, zone string) {
		for _, form := range Forms() {
			var got Translation
			var err error
			limits.Allocations(t, len(text)+len(zone), 2<<20, 4000, func() { got, err = Translate(form, text, TranslateOptions{Zone: zone}) })
			if err == nil {
				_, err = Parse(got.Kind, []byte(got.Spec), Options{Zone: zone, Created: assumedCreation})
				require.NoError(t, err, "%s: %s", form, text)
			}
		}
		Recognize(text)
	})
}
