package words

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
	"github.com/jobagent/jobagent/jobs/schedule/internal/engine"
)

// condition is a condition on days: "on the 13th and the 15th of the month", or behind "if it is":
// "the 13th or the 15th of the month".
type condition struct{ on, is string }

// text returns the days in words, with a space or comma before them. head is what must stand before
// the whole sentence.
func (d Days) text() (head, text string) {
	d = d.normal()
	var conditions []condition
	add := func(c condition) {
		if c.on != "" {
			conditions = append(conditions, c)
		}
	}
	months, listed := d.monthText()
	if d.YearDays != nil {
		list := daysAlone(inOrder(d.YearDays))
		add(condition{on: "on " + Join(list, "and") + " of the year", is: Join(list, "or") + " of the year"})
	}
	add(d.monthDayCondition())
	add(d.weekdayCondition())
	if d.Either {
		// Months and years concern both, so that they stand before both.
		head = strings.TrimPrefix(months, " ")
		if head == "" {
			head = strings.TrimPrefix(d.yearText(), ", ")
		} else {
			head += d.yearText()
		}
		return sentenceCase(head), " " + conditions[0].on + ", or " + conditions[1].on
	}
	for i, c := range conditions {
		switch i {
		case 0:
			text = " " + c.on
			if of := "of the month"; listed && strings.HasSuffix(text, of) {
				text, months = strings.TrimSuffix(text, of)+"of"+strings.TrimPrefix(months, " in"), ""
			}
			if i+1 < len(conditions) {
				text, months = text+months+" if it is ", ""
			}
		case 1:
			text += c.is
		default:
			text += " and " + c.is
		}
	}
	if d.OrLast && text != "" && d.MonthDays[0].From > 28 {
		text += " (the last day of a shorter month)"
	}
	if d.Weeks != nil {
		var weeks []string
		for _, w := range inOrder(d.Weeks) {
			if w < 0 {
				weeks = append(weeks, "the "+nth(w)+" week")
			} else {
				weeks = append(weeks, "week "+strconv.Itoa(w))
			}
		}
		text += " in " + Join(weeks, "and") + " of the year"
		if d.WeekStart != 0 {
			text += " (weeks begin on " + civil.WeekdayNames[d.WeekStart] + ")"
		}
	}
	return "", text + months + d.yearText() + d.Every.text()
}

func sentenceCase(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// monthText returns " in January and June". listed reports whether it has no range.
func (d Days) monthText() (text string, listed bool) {
	if d.Months == 0 {
		return "", false
	}
	list, ranges := named(uint64(d.Months)>>1, civil.MonthNames)
	return " in " + Join(list, "and"), !ranges
}

// daysAlone returns names of days behind which "of the year" follows.
func daysAlone(numbers []int) []string {
	out := days(Values(numbers))
	for i, n := range numbers {
		if n > 0 {
			out[i] += " day"
		}
	}
	return out
}

// monthDayCondition returns "on the 1st and the last day of the month".
func (d Days) monthDayCondition() condition {
	list := days(d.MonthDays)
	for _, n := range d.Workdays {
		if n == -1 {
			list = append(list, "the last working day")
			continue
		}
		list = append(list, "the working day nearest to "+day(n))
	}
	for _, n := range d.BeforeLastWorkday {
		if n == 1 {
			list = append(list, "the day before the last working day")
			continue
		}
		list = append(list, fmt.Sprintf("the %s day before the last working day", ordinal(n)))
	}
	if len(list) == 0 {
		return condition{}
	}
	return condition{on: "on " + Join(list, "and") + " of the month", is: Join(list, "or") + " of the month"}
}

// weekdayCondition returns "on Monday", "on Monday to Friday", or "on the first Monday of the
// month".
func (d Days) weekdayCondition() condition {
	names, _ := named(uint64(d.Weekdays&0x7f), civil.WeekdayNames)
	if d.Nth == nil {
		if len(names) == 0 {
			return condition{}
		}
		single := make([]string, len(names))
		for i, name := range names {
			if single[i] = "a " + name; strings.Contains(name, " to ") {
				single[i] = "from " + name
			}
		}
		return condition{on: "on " + Join(names, "and"), is: Join(single, "or")}
	}
	var list, single []string
	for n, name := range civil.WeekdayNames {
		if d.Weekdays>>n&1 == 1 {
			list, single = append(list, "every "+name), append(single, "a "+name)
		}
	}
	for _, o := range d.Nth {
		text := "the " + nth(o.N) + " " + civil.WeekdayNames[o.Day]
		list, single = append(list, text), append(single, text)
	}
	period := " of the month"
	if d.NthOfYear {
		period = " of the year"
	}
	return condition{on: "on " + Join(list, "and") + period, is: Join(single, "or") + period}
}

// yearText returns ", only in 2026 and 2028 to 2030".
func (d Days) yearText() string {
	var list []string
	for _, r := range d.Years {
		switch {
		case r.Step > 1 && (r.To-r.From)/r.Step >= minRun-1:
			list = append(list, fmt.Sprintf("every %s year from %d to %d", ordinal(r.Step), r.From, r.To))
		case r.Step > 1 || r.To-r.From < 2:
			for y := r.From; y <= r.To; y += max(1, r.Step) {
				list = append(list, strconv.Itoa(y))
			}
		default:
			list = append(list, fmt.Sprintf("%d to %d", r.From, r.To))
		}
	}
	for _, n := range d.DivisibleYears {
		list = append(list, fmt.Sprintf("years divisible by %d", n))
	}
	if len(list) == 0 {
		return ""
	}
	return ", only in " + Join(list, "and")
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

// normal returns d without conditions that every day fulfils, and with days of the month in
// ascending order and as ranges.
func (d Days) normal() Days {
	if d.Months&0x1ffe == 0x1ffe {
		d.Months = 0
	}
	d.MonthDays = ordered(d.MonthDays)
	anyDay := d.MonthDays == nil && d.Workdays == nil && d.BeforeLastWorkday == nil
	for _, r := range d.MonthDays {
		anyDay = anyDay || (r.From == 1 && (r.To >= 31 || r.To == -1) || r.From == -31 && r.To == -1) && r.Step <= 1
	}
	anyWeekday := d.Weekdays == 0 && d.Nth == nil || d.Weekdays&0x7f == 0x7f
	if d.Either && (anyDay || anyWeekday) {
		anyDay, anyWeekday, d.Either = true, true, false
	}
	if anyDay {
		d.MonthDays, d.Workdays, d.BeforeLastWorkday, d.OrLast = nil, nil, nil, false
	}
	if anyWeekday {
		d.Weekdays, d.Nth = 0, nil
	}
	return d
}

// ordered returns the days of a month: those from the beginning as ranges in ascending order, then
// the others.
func ordered(list []Range) []Range {
	var mask uint64
	var rest []Range
	for _, r := range list {
		if r.From < 1 || r.To < 1 {
			rest = append(rest, r)
			continue
		}
		for n := r.From; n <= min(r.To, 31); n += max(1, r.Step) {
			mask |= 1 << n
		}
	}
	if mask == 0 {
		return rest
	}
	return append(stepped(mask), rest...)
}

// chosenDays returns the days of a rule with Positions in every month or year as occurrences of
// days: "the last working day of the month". ok is false if there are no such words: the rule has
// more than one clock time a day, or other conditions.
func (r *Rule) chosenDays() (text string, ok bool) {
	d := r.Days.normal()
	if d.MonthDays != nil || d.Workdays != nil || d.BeforeLastWorkday != nil || d.Nth != nil || d.YearDays != nil || d.Weeks != nil || d.Years != nil || d.DivisibleYears != nil {
		return "", false
	}
	if count(r.Times) != 1 || r.Period != "month" && (r.Period != "year" || d.Months != 0) {
		return "", false
	}
	noun := map[uint8]string{0: "day", 0x1f: "working day", 0x60: "weekend day"}[d.Weekdays]
	for n, name := range civil.WeekdayNames {
		if d.Weekdays == 1<<n {
			noun = name
		}
	}
	if noun == "" {
		return "", false
	}
	var places []string
	for _, n := range inOrder(r.Positions) {
		places = append(places, "the "+nth(n)+" "+noun)
	}
	months, listed := d.monthText()
	text = " on " + Join(places, "and") + " of the " + r.Period
	if listed {
		text, months = " on "+Join(places, "and")+" of"+strings.TrimPrefix(months, " in"), ""
	}
	return text + months + d.Every.text(), true
}

// count returns the number of clock times of a day.
func count(t engine.Times) int { return len(t.All()) }

// inOrder returns numbers in their order: from the beginning, then from the end.
func inOrder(list []int) []int {
	key := func(n int) int {
		if n < 0 {
			return n + 1000 // all are below 367
		}
		return n
	}
	return slices.SortedFunc(slices.Values(list), func(a, b int) int { return key(a) - key(b) })
}
