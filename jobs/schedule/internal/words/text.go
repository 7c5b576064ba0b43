package words

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
	"github.com/jobagent/jobagent/jobs/schedule/internal/engine"
)

// Text returns the rule in words, with the name of its zone at the end. It returns "" if there are
// no exact words for it.
func (r *Rule) Text(zone *time.Location) string {
	text := ""
	at := r.At
	switch {
	case !r.At.IsZero():
		text = "Once, on " + Instant(r.At, zone)
	case r.Grid != nil:
		text, at = r.elapsed(zone), time.Unix(r.Grid.Base, 0)
	default:
		text = r.wall()
	}
	if text == "" {
		return ""
	}
	if !r.Also.IsZero() {
		text += ", and once on " + Instant(r.Also, zone)
		at = r.Also
	}
	if at.IsZero() {
		at = time.Unix(0, 0)
	}
	return text + ", " + Zone(zone, at)
}

// Notes returns what may be misread, one sentence each.
func (r *Rule) Notes() []string {
	var notes []string
	d := r.Days.normal()
	monthDays, weekdays := d.MonthDays != nil || d.Workdays != nil, d.Weekdays != 0 || d.Nth != nil
	switch {
	case monthDays && weekdays && d.Either:
		notes = append(notes, "Either is enough: a day of the month or a weekday that matches.")
	case monthDays && weekdays:
		notes = append(notes, "Both must match: the day of the month and the weekday.")
	}
	if d.Workdays != nil {
		notes = append(notes, "The nearest day from Monday to Friday is searched within the month.")
	}
	if d.Weeks != nil {
		notes = append(notes, "Week 1 is the first week with four days or more in its year.")
	}
	for _, day := range d.MonthDays {
		if day.From == day.To && (day.From > 28 || day.From < -28) && !d.OrLast {
			notes = append(notes, "Months without such a day are left out.")
			break
		}
	}
	return notes
}

// wall returns a rule on the wall clock.
func (r *Rule) wall() string {
	text, listed := times(r.Times)
	days, ok := r.Days.text()
	if text == "" || !ok {
		return ""
	}
	if days == "" && listed && r.Days.Every.N <= 1 {
		days = " every day"
	}
	text += days
	if r.Positions == nil {
		return text
	}
	var places []string
	for _, n := range r.Positions {
		places = append(places, nth(n))
	}
	text = "Only the " + Join(places, "and") + " of these times in each " + r.Period + ": " + lowered(text)
	if r.Period == "week" {
		text += " (weeks begin on " + civil.WeekdayNames[r.Days.WeekStart] + ")"
	}
	return text
}

// lowered returns a sentence for the middle of another one.
func lowered(text string) string { return strings.ToLower(text[:1]) + text[1:] }

// text returns the days in words, with a space or comma before them. The text is empty for every
// day. ok is false if they cannot be described.
func (d Days) text() (text string, ok bool) {
	d = d.normal()
	if d.NthOfYear && d.Weekdays != 0 && d.Nth != nil && d.Months != 0 {
		return "", false
	}
	monthDays, weekdays := d.monthDayText(), d.weekdayText()
	switch {
	case monthDays != "" && weekdays != "" && d.Either:
		text = " " + monthDays + ", or " + weekdays
	case monthDays != "" && weekdays != "":
		text = " " + monthDays + " if it is " + d.singular()
	case monthDays+weekdays != "":
		text = " " + monthDays + weekdays
	}
	if d.YearDays != nil {
		text += " on " + Join(daysAlone(Values(d.YearDays)), "and") + " of the year"
	}
	if d.Weeks != nil {
		var weeks []string
		for _, w := range d.Weeks {
			if w < 0 {
				weeks = append(weeks, "the "+nth(w))
			} else {
				weeks = append(weeks, strconv.Itoa(w))
			}
		}
		text += " in week " + Join(weeks, "and") + " of the year (weeks begin on " + civil.WeekdayNames[d.WeekStart] + ")"
	}
	if d.Months != 0 {
		text += " in " + named(uint64(d.Months), civil.MonthNames, 1)
	}
	years, ok := d.yearText()
	return text + years + d.Every.text(), ok
}

// daysAlone returns names of days behind which "of the year" follows.
func daysAlone(list []Range) []string {
	out := days(list)
	for i, r := range list {
		if r.From > 0 {
			out[i] += " day"
		}
	}
	return out
}

// monthDayText returns "on the 1st and the last day of the month".
func (d Days) monthDayText() string {
	list := days(d.MonthDays)
	for _, n := range d.Workdays {
		if n == -1 {
			list = append(list, "the last day from Monday to Friday")
			continue
		}
		list = append(list, "the day from Monday to Friday nearest to "+day(n))
	}
	if len(list) == 0 {
		return ""
	}
	text := "on " + Join(list, "and") + " of the month"
	if d.OrLast && d.MonthDays[0].From > 28 {
		text += " (the last day of a shorter month)"
	}
	return text
}

// weekdayText returns "on Monday", "on Monday to Friday", or "on the first Monday of the month".
func (d Days) weekdayText() string {
	ranges := Set(uint64(d.Weekdays & 0x7f))
	if d.Nth == nil && len(ranges) == 1 && ranges[0].To-ranges[0].From >= 2 {
		return "on " + named(uint64(d.Weekdays), civil.WeekdayNames, 0)
	}
	if list := d.weekdayList(); len(list) > 0 {
		return "on " + Join(list, "and") + d.period()
	}
	return ""
}

// period returns the period in which Nth counts.
func (d Days) period() string {
	switch {
	case d.Nth == nil:
		return ""
	case d.NthOfYear:
		return " of the year"
	}
	return " of the month"
}

func (d Days) weekdayList() []string {
	var list []string
	for n, name := range civil.WeekdayNames {
		if d.Weekdays>>n&1 == 1 {
			if d.Nth != nil {
				name = "every " + name
			}
			list = append(list, name)
		}
	}
	for _, o := range d.Nth {
		list = append(list, "the "+nth(o.N)+" "+civil.WeekdayNames[o.Day])
	}
	return list
}

// singular returns the weekdays as a condition on one day: "a Monday or Friday".
func (d Days) singular() string {
	list := d.weekdayList()
	if d.Nth == nil {
		return "a " + Join(list, "or")
	}
	for i := range list {
		list[i] = strings.Replace(list[i], "every ", "a ", 1)
	}
	return Join(list, "or") + d.period()
}

// yearText returns ", only in 2026 and 2028 to 2030".
func (d Days) yearText() (text string, ok bool) {
	var list []string
	for _, r := range d.Years {
		if r.Step > 1 {
			if (r.To-r.From)/r.Step > 20 {
				return "", false
			}
			for y := r.From; y <= r.To; y += r.Step {
				list = append(list, strconv.Itoa(y))
			}
			continue
		}
		if r.From == r.To {
			list = append(list, strconv.Itoa(r.From))
			continue
		}
		if r.To == r.From+1 {
			list = append(list, strconv.Itoa(r.From), strconv.Itoa(r.To))
			continue
		}
		list = append(list, fmt.Sprintf("%d to %d", r.From, r.To))
	}
	for _, n := range d.DivisibleYears {
		list = append(list, fmt.Sprintf("years divisible by %d", n))
	}
	if len(list) == 0 {
		return "", true
	}
	return ", only in " + Join(list, "and"), true
}

// text returns ", every 2 weeks counted from the week of Mon 5 Jan 2026".
func (e Every) text() string {
	if e.N <= 1 {
		return ""
	}
	from := date(e.From)
	switch e.Unit {
	case "week":
		from = "the week of " + from
	case "month":
		from = civil.MonthNames[e.From.Month-1] + " " + strconv.Itoa(e.From.Year)
	case "year":
		from = strconv.Itoa(e.From.Year)
	}
	return fmt.Sprintf(", every %d %ss counted from %s", e.N, e.Unit, from)
}

// elapsed returns a rule of elapsed time.
func (r *Rule) elapsed(zone *time.Location) string {
	g := r.Grid
	if r.Moving {
		text := "Every " + each(g.Step) + ", counted from the start of the run before, first on " + Instant(time.Unix(g.Base, 0), zone)
		return text
	}
	base, text := time.Unix(g.Base, 0), ""
	switch len(g.Offsets) {
	case 0, 1:
		if len(g.Offsets) == 1 {
			base = base.Add(time.Duration(g.Offsets[0]) * time.Second)
		}
		text = "Every " + each(g.Step) + ", counted from " + Instant(base, zone)
	default:
		if len(g.Offsets) > maxListed {
			return ""
		}
		var list []string
		for _, o := range g.Offsets {
			list = append(list, offset(o))
		}
		text = Join(list, "and") + " after every " + each(g.Step) + " counted from " + Instant(base, zone)
	}
	days, ok := r.Days.text()
	if !ok {
		return ""
	}
	var only []string
	for _, u := range []struct {
		name      string
		mask, all uint64
	}{{"hour", uint64(r.Hours), uint64(allHours)}, {"minute", r.Minutes, allMinutes}, {"second", r.Seconds, allMinutes}} {
		if u.mask != 0 && u.mask != u.all {
			only = append(only, unit(u.name, u.mask, u.all))
		}
	}
	if len(only) > 0 {
		text += ", only in " + strings.Join(only, " and in ") + " of the clock"
	}
	if days != "" {
		text += ", only" + days
	}
	return text
}

// offset returns a length of time after the beginning of a step: "5 minutes", or "0:05:40".
func offset(seconds int64) string {
	if seconds%60 == 0 {
		return Length(seconds)
	}
	return fmt.Sprintf("%d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
}

// each returns a length of time behind "every": "hour", "2 hours".
func each(seconds int64) string { return strings.TrimPrefix(Length(seconds), "1 ") }

// units are the units of a length of time, the longest first.
var units = []struct {
	name    string
	seconds int64
}{{"week", 7 * civil.DaySeconds}, {"day", civil.DaySeconds}, {"hour", 3600}, {"minute", 60}, {"second", 1}}

// Length returns a length of time in the longest unit that divides it: "90 minutes".
func Length(seconds int64) string {
	if seconds == 0 {
		return "0 minutes"
	}
	for _, u := range units {
		if seconds%u.seconds == 0 {
			if seconds == u.seconds {
				return "1 " + u.name
			}
			return fmt.Sprintf("%d %ss", seconds/u.seconds, u.name)
		}
	}
	return ""
}

// Hours returns a length of time, in hours if it is whole hours: "24 hours".
func Hours(seconds int64) string {
	if seconds%3600 == 0 && seconds > 3600 {
		return fmt.Sprintf("%d hours", seconds/3600)
	}
	return Length(seconds)
}

// Steps returns the rule of a clock time every few months (engine.Steps).
func Steps(p *engine.Steps) *Rule {
	second := int(p.Second)
	return &Rule{
		Times: engine.Times{Hours: 1 << (second / 3600), Minutes: 1 << (second / 60 % 60), Seconds: 1 << (second % 60)},
		Days:  Days{MonthDays: Values([]int{p.Start.Day}), OrLast: true, Every: Every{N: int64(p.Months), Unit: "month", From: p.Start}},
	}
}

// DaysApart returns the rule of a clock time every n days in UTC.
func DaysApart(start time.Time, n int64) *Rule {
	second := int(civil.FloorMod(start.Unix(), civil.DaySeconds))
	return &Rule{
		Times: engine.Times{List: []int32{int32(second)}},
		Days:  Days{Every: Every{N: n, Unit: "day", From: civil.DateOf(civil.FloorDiv(start.Unix(), civil.DaySeconds))}},
	}
}
