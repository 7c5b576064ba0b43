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

// This file computes rules a second time: it tests every day of some years, lists the clock times
// of each period, and selects from the list by BYSETPOS. Dates are those of time.Time.

var ruleDayNames = []string{"SU", "MO", "TU", "WE", "TH", "FR", "SA"}

// ruleCase is a random rule: its parts, the days that match them, and the name of the period of a
// day.
type ruleCase struct {
	parts  []string
	day    func(d time.Time) bool
	period func(d time.Time) string
}

func drawRule(r *rand.Rand, start time.Time) ruleCase {
	interval := 1 + r.IntN(3)
	midnight := time.Date(start.Year(), start.Month(), start.Day(), 0, 0, 0, 0, time.UTC)
	c := ruleCase{}
	var filters []func(d time.Time) bool
	part := func(name string, value any) { c.parts = append(c.parts, fmt.Sprintf("%s=%v", name, value)) }
	months := []time.Month{time.Month(1 + r.IntN(12)), time.Month(1 + r.IntN(12))}
	byMonth := r.IntN(3) == 0
	if byMonth {
		part("BYMONTH", fmt.Sprintf("%d,%d", months[0], months[1]))
		filters = append(filters, func(d time.Time) bool { return slices.Contains(months, d.Month()) })
	}
	weekdays := []time.Weekday{time.Weekday(r.IntN(7)), time.Weekday(r.IntN(7))}
	onWeekday := func(d time.Time) bool { return slices.Contains(weekdays, d.Weekday()) }
	day, n := 1+r.IntN(31), 1+r.IntN(5)
	last := func(d time.Time) int { return time.Date(d.Year(), d.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day() }
	byMonthDay := func() {
		part("BYMONTHDAY", fmt.Sprintf("%d,-%d", day, n))
		filters = append(filters, func(d time.Time) bool { return d.Day() == day || d.Day() == last(d)+1-n })
	}
	byWeekday := func() {
		part("BYDAY", ruleDayNames[weekdays[0]]+","+ruleDayNames[weekdays[1]])
		filters = append(filters, onWeekday)
	}
	switch r.IntN(4) {
	case 0:
		part("FREQ", "YEARLY")
		c.period = func(d time.Time) string { return d.Format("2006") }
		filters = append(filters, func(d time.Time) bool { return (d.Year()-start.Year())%interval == 0 })
		switch r.IntN(4) {
		case 0:
			part("BYYEARDAY", fmt.Sprintf("%d,-%d", day*10, n*20))
			filters = append(filters, func(d time.Time) bool {
				length := time.Date(d.Year(), 12, 31, 0, 0, 0, 0, time.UTC).YearDay()
				return d.YearDay() == day*10 || d.YearDay() == length+1-n*20
			})
		case 1:
			part("BYWEEKNO", fmt.Sprintf("%d,%d,1", day, n+48))
			filters = append(filters, func(d time.Time) bool {
				_, w := d.ISOWeek()
				return (w == day || w == n+48 || w == 1) && d.Weekday() == start.Weekday()
			})
		case 2:
			part("BYDAY", fmt.Sprintf("-%d%s", n, ruleDayNames[weekdays[0]]))
			filters = append(filters, func(d time.Time) bool {
				if byMonth {
					return d.Weekday() == weekdays[0] && (last(d)-d.Day())/7+1 == n
				}
				length := time.Date(d.Year(), 12, 31, 0, 0, 0, 0, time.UTC).YearDay()
				return d.Weekday() == weekdays[0] && (length-d.YearDay())/7+1 == n
			})
		default:
			filters = append(filters, func(d time.Time) bool {
				return d.Day() == start.Day() && (byMonth || d.Month() == start.Month())
			})
		}
	case 1:
		part("FREQ", "MONTHLY")
		c.period = func(d time.Time) string { return d.Format("2006-01") }
		filters = append(filters, func(d time.Time) bool {
			return ((d.Year()-start.Year())*12+int(d.Month())-int(start.Month()))%interval == 0
		})
		switch r.IntN(4) {
		case 0:
			byMonthDay()
		case 1:
			byWeekday()
		case 2:
			part("BYDAY", fmt.Sprintf("%d%s,%s", n, ruleDayNames[weekdays[0]], ruleDayNames[weekdays[1]]))
			filters = append(filters, func(d time.Time) bool {
				return d.Weekday() == weekdays[1] || d.Weekday() == weekdays[0] && (d.Day()+6)/7 == n
			})
		default:
			filters = append(filters, func(d time.Time) bool { return d.Day() == start.Day() })
		}
	case 2:
		part("FREQ", "WEEKLY")
		weekStart := time.Weekday(r.IntN(7))
		part("WKST", ruleDayNames[weekStart])
		weekOf := func(d time.Time) time.Time {
			for d.Weekday() != weekStart {
				d = d.AddDate(0, 0, -1)
			}
			return d
		}
		c.period = func(d time.Time) string { return weekOf(d).Format(time.DateOnly) }
		filters = append(filters, func(d time.Time) bool {
			return int(weekOf(d).Sub(weekOf(midnight)).Hours()/24/7)%interval == 0
		})
		if r.IntN(2) == 0 {
			byWeekday()
		} else {
			filters = append(filters, func(d time.Time) bool { return d.Weekday() == start.Weekday() })
		}
	default:
		part("FREQ", "DAILY")
		c.period = func(d time.Time) string { return d.Format(time.DateOnly) }
		filters = append(filters, func(d time.Time) bool { return int(d.Sub(midnight).Hours()/24)%interval == 0 })
		if r.IntN(3) == 0 {
			byMonthDay()
		}
		if r.IntN(3) == 0 {
			byWeekday()
		}
	}
	part("INTERVAL", interval)
	c.day = func(d time.Time) bool {
		for _, f := range filters {
			if !f(d) {
				return false
			}
		}
		return true
	}
	return c
}

func TestRulesAgainstListing(t *testing.T) {
	t.Parallel()
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 7))
		start := time.Date(2023, time.Month(1+r.IntN(12)), 1+r.IntN(31), r.IntN(24), r.IntN(60), r.IntN(60), 0, time.UTC)
		c := drawRule(r, start)
		hours, minutes := []int{start.Hour()}, []int{start.Minute()}
		if r.IntN(2) == 0 {
			hours = []int{r.IntN(24), r.IntN(24)}
			c.parts = append(c.parts, fmt.Sprintf("BYHOUR=%d,%d", hours[0], hours[1]))
		}
		if r.IntN(2) == 0 {
			minutes = []int{r.IntN(60), r.IntN(60)}
			c.parts = append(c.parts, fmt.Sprintf("BYMINUTE=%d,%d", minutes[0], minutes[1]))
		}
		var positions []int
		if r.IntN(3) == 0 && strings.Contains(strings.Join(c.parts, ";"), "BY") {
			positions = []int{1 + r.IntN(3), -1 - r.IntN(3)}
			c.parts = append(c.parts, fmt.Sprintf("BYSETPOS=%d,%d", positions[0], positions[1]))
		}
		body := strings.Join(c.parts, ";")
		end := time.Date(2032, 1, 1, 0, 0, 0, 0, time.UTC)

		var want, list []time.Time
		period := ""
		flush := func() {
			for i, at := range list {
				if positions == nil || slices.Contains(positions, i+1) || slices.Contains(positions, i-len(list)) {
					want = append(want, at)
				}
			}
			list = nil
		}
		// The walk begins before the start, because BYSETPOS numbers a whole period.
		for d := time.Date(2022, 1, 1, 0, 0, 0, 0, time.UTC); d.Before(end.AddDate(0, 1, 0)); d = d.AddDate(0, 0, 1) {
			if name := c.period(d); name != period {
				flush()
				period = name
			}
			if !c.day(d) {
				continue
			}
			for minute := range 1440 {
				if slices.Contains(hours, minute/60) && slices.Contains(minutes, minute%60) {
					list = append(list, d.Add(time.Duration(minute)*time.Minute+time.Duration(start.Second())*time.Second))
				}
			}
		}
		want = slices.DeleteFunc(want, func(at time.Time) bool { return at.Before(start) || !at.Before(end) })

		plan, err := Parse(KindRRule, []byte(body), Options{Start: start})
		if err != nil {
			require.ErrorContains(t, err, "matches none", body)
			require.Empty(t, want, body)
			continue
		}
		after := start.Add(-time.Second)
		for i, at := range want {
			next, ok := plan.Next(after)
			require.True(t, ok, body)
			require.Equal(t, at, next, "%s from %s, number %d", body, start, i)
			after = next
		}
		if next, ok := plan.Next(after); ok {
			require.False(t, next.Before(end), "%s from %s: %s", body, start, next)
		}
		if len(want) > 3 {
			// COUNT ends at the same instant, and is found without enumeration.
			n := 1 + r.IntN(len(want)-1)
			counted, err := Parse(KindRRule, []byte(fmt.Sprintf("%s;COUNT=%d", body, n)), Options{Start: start})
			require.NoError(t, err)
			next, ok := counted.Next(want[n-1].Add(-time.Second))
			require.True(t, ok, body)
			require.Equal(t, want[n-1], next, body)
			_, ok = counted.Next(want[n-1])
			require.False(t, ok, "%s COUNT=%d", body, n)
		}
	}
}

// TestRuleExamples checks the examples of RFC 5545, section 3.8.5.3, in UTC.
func TestRuleExamples(t *testing.T) {
	t.Parallel()
	start := "1997-09-02T09:00:00Z"
	cases := []struct{ rule, start, due string }{
		{"FREQ=DAILY;COUNT=3", start, "09-02 09-03 09-04"},
		{"FREQ=WEEKLY;INTERVAL=2;COUNT=4;WKST=SU;BYDAY=TU,TH", start, "09-02 09-04 09-16 09-18"},
		{"FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO", "1997-08-05T09:00:00Z", "08-05 08-10 08-19 08-24"},
		{"FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU", "1997-08-05T09:00:00Z", "08-05 08-17 08-19 08-31"},
		{"FREQ=MONTHLY;COUNT=3;BYDAY=TU,WE,TH;BYSETPOS=3", "1997-09-04T09:00:00Z", "09-04 10-07 11-06"},
		{"FREQ=MONTHLY;BYMONTHDAY=-3;COUNT=3", "1997-09-28T09:00:00Z", "09-28 10-29 11-28"},
		{"FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13;COUNT=3", start, "02-13 03-13 11-13"},
		{"FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8;COUNT=3", "1996-11-05T09:00:00Z", "11-05 11-07 11-02"},
		{"FREQ=YEARLY;BYDAY=20MO;COUNT=3", "1997-05-19T09:00:00Z", "05-19 05-18 05-17"},
		{"FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO;COUNT=3", "1997-05-12T09:00:00Z", "05-12 05-11 05-17"},
		{"FREQ=MONTHLY;BYMONTHDAY=15,30;COUNT=5", "2007-01-15T09:00:00Z", "01-15 01-30 02-15 03-15 03-30"},
		{"DTSTART:19970902T090000Z\r\nRRULE:FREQ=MONTHLY;COUNT=2;BYDAY=-2MO", "", "09-22 10-20"},
	}
	for _, c := range cases {
		got, err := PreviewSpec(KindRRule, []byte(c.rule), PreviewOptions{Start: c.start})
		require.NoError(t, err, c.rule)
		var due []string
		for _, at := range got.Due {
			require.Equal(t, 9, at.Hour())
			due = append(due, at.Format("01-02"))
		}
		require.Equal(t, c.due, strings.Join(due, " "), c.rule)
		require.True(t, got.Exhausted)
	}
}
