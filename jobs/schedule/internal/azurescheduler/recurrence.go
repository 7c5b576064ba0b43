package azurescheduler

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
	"github.com/jobagent/jobagent/jobs/schedule/internal/engine"
	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
	"github.com/jobagent/jobagent/jobs/schedule/internal/words"
	"github.com/jobagent/jobagent/jobs/suggest"
)

// frequencies holds the frequencies of a recurrence and their largest intervals (D-A14).
var frequencies = []struct {
	name string
	most int64
}{{"Minute", 1000}, {"Hour", 1000}, {"Day", 548}, {"Week", 78}, {"Month", 18}, {"Year", 1}}

// frequencyWords maps common words to frequencies. The keys are in lower case.
var frequencyWords = map[string]string{
	"minutely": "Minute", "minutes": "Minute", "hourly": "Hour", "hours": "Hour", "daily": "Day", "days": "Day",
	"weekly": "Week", "weeks": "Week", "monthly": "Month", "months": "Month", "yearly": "Year", "annually": "Year", "years": "Year",
}

// scheduleParts holds the element schedule of a recurrence. Nil slices are absent elements.
type scheduleParts struct {
	minutes, hours []int
	weekDays       uint8 // bit 0 Monday
	monthDays      []int
	occurrences    []engine.Occurrence
}

// elements are the names of the elements of the dialect.
var elements = []string{"recurrence", "frequency", "interval", "count", "endTime", "schedule", "startTime"}

// Dialect is the dialect of Azure Scheduler.
var Dialect = syntax.Dialect{
	Elements: elements,
	// These texts mean an Azure job without a recurrence.
	IsEmpty:     func(text string) bool { return text == "" || text == "null" || text == "(no recurrence)" },
	TakesOffset: true,
	Names:       elementNames,
	Read:        read,
}

// recurrenceElements are the names of the elements of a recurrence.
var recurrenceElements = []string{"frequency", "interval", "count", "endTime", "schedule"}

// elementNames returns the names and synonyms of the elements. If the object has the element
// recurrence, the elements of a recurrence belong inside it.
func elementNames(r syntax.Reader) ([]string, map[string]string) {
	if !r.Has("recurrence") {
		return elements, syntax.Synonyms
	}
	words := maps.Clone(syntax.Synonyms)
	for _, name := range recurrenceElements {
		words[strings.ToLower(name)] = "recurrence." + name
	}
	return []string{"recurrence", "startTime"}, words
}

// read parses a recurrence object, with startTime and the common elements in addition. It also
// accepts the properties of a job with the recurrence object as the element recurrence. Without any
// element of a recurrence the schedule is one run.
func read(p *syntax.Parser) engine.Schedule {
	start := readStart(p)
	p.Start = start
	recurrence := p.Reader
	if v := p.Reader.Take("recurrence"); v != nil {
		if v.Kind != '{' {
			p.Faults.Add(v.Path(), v.JSON(), "a recurrence object", "")
			return nil
		}
		recurrence = syntax.Reader{Object: v, Faults: p.Faults}
		defer recurrence.RefuseOthers(recurrenceElements, syntax.Synonyms)
	}
	frequency, interval, recurs := readFrequency(p, recurrence)
	p.ReadCount(recurrence)
	if v := recurrence.Take("endTime"); v != nil {
		p.End = p.Date(v, time.Time{})
		switch {
		case !p.Created.IsZero() && !p.End.IsZero() && p.End.Before(p.Created),
			p.Created.IsZero() && p.Start.IsZero() && !p.End.IsZero() && p.End.Before(p.Today):
			p.Faults.Add(v.Path(), v.JSON(), "an instant in the future (D-A7)", "")
		case !p.Start.IsZero() && !p.End.IsZero() && p.End.Before(p.Start):
			p.Faults.Add(v.Path(), v.JSON(), "an instant not before the start "+p.Start.Format(time.RFC3339), "")
		}
	}
	var s *scheduleParts
	if v := recurrence.Take("schedule"); v != nil {
		s = readSchedule(p, v, frequency)
	}
	if !recurs {
		if p.Count > 0 || !p.End.IsZero() || s != nil {
			p.Faults.Add("frequency", "null", "one of Minute, Hour, Day, Week, Month, Year", "")
		}
		return once(p, start)
	}
	if len(p.Faults.List) > 0 {
		return nil
	}
	atOnce := start.IsZero()
	if atOnce {
		start = p.NeedCreation("startTime").In(p.Zone)
		p.Start, p.StartCreated = start, true
	}
	inner := recurrenceSchedule(p, frequency, interval, filled(p, frequency, start, s, atOnce), s)
	if w, ok := inner.(*engine.Wall); ok {
		if _, ok := w.Pattern.Next(civil.Seconds(start)); !ok {
			v := recurrence.Take("schedule")
			p.Faults.Add(v.Path(), v.JSON(), "a schedule that matches some day; this one matches none", "")
			return nil
		}
	}
	if atOnce {
		// The bounds apply only to the recurrence: the run at once is due even if the end is
		// earlier.
		inner = engine.Union{A: engine.Single{At: start}, B: engine.Bounded{Inner: inner, First: start}}
		if p.Words != nil {
			p.Words.Also = start
		}
	}
	return inner
}

// readStart parses startTime. The result is in the zone of the recurrence (D-A2) and truncated to
// the second.
func readStart(p *syntax.Parser) time.Time {
	start := p.PlannedStart.Truncate(time.Second)
	if v := p.Reader.Take("startTime"); v != nil {
		start = p.Date(v, start)
	}
	if start.IsZero() {
		return start
	}
	if !p.ZoneGiven {
		_, offset := start.Zone()
		p.Zone = syntax.FixedZone(offset)
	}
	return start.In(p.Zone)
}

// onceAt returns the schedule of one run.
func onceAt(p *syntax.Parser, at time.Time) engine.Schedule {
	p.Words = &words.Rule{At: at}
	return engine.Single{At: at}
}

// once returns the schedule of a job without a recurrence: one run at its start, or at once if the
// start has passed or is absent.
func once(p *syntax.Parser, start time.Time) engine.Schedule {
	if start.IsZero() {
		return onceAt(p, p.NeedCreation("startTime"))
	}
	if now := p.Creation(); p.Activated.IsZero() && now.After(start) {
		return onceAt(p, now)
	}
	return onceAt(p, start)
}

func readFrequency(p *syntax.Parser, r syntax.Reader) (frequency string, interval int64, recurs bool) {
	names := make([]string, len(frequencies))
	for i, f := range frequencies {
		names[i] = f.name
	}
	most := int64(1000)
	v := r.Take("frequency")
	if v != nil {
		what := "one of " + strings.Join(names, ", ")
		text, ok := r.Text(v, what)
		for _, f := range frequencies {
			if strings.EqualFold(f.name, text) {
				frequency, most = f.name, f.most
			}
		}
		if ok && frequency == "" {
			propose := frequencyWords[strings.ToLower(text)]
			if propose == "" {
				propose = suggest.Nearest(text, names)
			}
			p.Faults.Add(v.Path(), v.JSON(), what, propose)
		}
	}
	interval = 1
	if i := r.Take("interval"); i != nil {
		if v == nil {
			p.Faults.Add(syntax.Join(r.Object.Path(), "frequency"), "null", "one of "+strings.Join(names, ", "), "")
		}
		allowed := fmt.Sprintf("a whole number from 1 to %d", most)
		if frequency != "" {
			allowed += " for the frequency " + frequency
		}
		interval, _ = r.Integer(i, 1, most, allowed)
	}
	return frequency, interval, v != nil
}

// scheduleElements are the names of the elements of schedule.
var scheduleElements = []string{"minutes", "hours", "weekDays", "monthDays", "monthlyOccurrences"}

// readSchedule parses the element schedule. It refuses parts that have no meaning with the
// frequency (D-A16).
func readSchedule(p *syntax.Parser, v *syntax.Value, frequency string) *scheduleParts {
	if v.Kind != '{' {
		p.Faults.Add(v.Path(), v.JSON(), "an object with "+strings.Join(scheduleElements, ", "), "")
		return nil
	}
	r := syntax.Reader{Object: v, Faults: p.Faults}
	s := &scheduleParts{}
	allowed := map[string]string{
		"minutes": "Hour Day Week Month", "hours": "Day Week Month", "weekDays": "Week", "monthDays": "Month", "monthlyOccurrences": "Month",
	}
	if frequency == "Year" {
		p.Faults.Add(v.Path(), v.JSON(), "no schedule with the frequency Year; the frequency Month with the interval 12 takes one (D-A1)", "")
	}
	for _, name := range scheduleElements {
		e := r.Take(name)
		if e == nil {
			continue
		}
		if frequency != "" && frequency != "Year" && !strings.Contains(allowed[name], frequency) {
			with := strings.ReplaceAll(allowed[name], " ", ", ")
			p.Faults.Add(e.Path(), e.JSON(), name+" only with the frequency "+with, "")
		}
		switch name {
		case "minutes":
			s.minutes = integers(p, e, 0, 59, "a whole number from 0 to 59, or a list of them")
		case "hours":
			s.hours = integers(p, e, 0, 23, "a whole number from 0 to 23, or a list of them")
		case "monthDays":
			s.monthDays = integers(p, e, -31, 31, "1 to 31, or -1 to -31 counted from the end of the month")
		case "weekDays":
			s.weekDays = readWeekdays(p, e)
		default:
			s.occurrences = readOccurrences(p, e)
		}
	}
	if s.monthDays != nil && s.occurrences != nil {
		p.Warn("monthDays and monthlyOccurrences are both given: a day must match both")
	}
	r.RefuseOthers(scheduleElements, syntax.Synonyms)
	return s
}

// integers parses a list of whole numbers. If negative numbers are allowed, 0 is refused (D-A17).
func integers(p *syntax.Parser, v *syntax.Value, low, high int64, allowed string) []int {
	var list []int
	seen := make([]bool, high-low+1)
	for _, item := range p.Items(v, allowed) {
		n, ok := p.Reader.Integer(item, low, high, allowed)
		switch {
		case ok && n == 0 && low < 0:
			p.Faults.Add(item.Path(), item.JSON(), allowed, "")
		case ok && !seen[n-low]:
			list, seen[n-low] = append(list, int(n)), true
		}
	}
	slices.Sort(list)
	return list
}

func readWeekdays(p *syntax.Parser, v *syntax.Value) uint8 {
	items := p.Items(v, "names of weekdays")
	if len(items) > 7 {
		p.Faults.Add(v.Path(), v.JSON(), "at most 7 weekdays", "")
	}
	var days uint8
	for _, item := range items {
		if day, ok := p.Weekday(item); ok {
			days |= 1 << day
		}
	}
	return days
}

func readOccurrences(p *syntax.Parser, v *syntax.Value) []engine.Occurrence {
	var list []engine.Occurrence
	for _, item := range p.Items(v, "objects with day and occurrence") {
		if item.Kind != '{' {
			p.Faults.Add(item.Path(), item.JSON(), `an object such as {"day": "friday", "occurrence": -1}`, "")
			continue
		}
		r := syntax.Reader{Object: item, Faults: p.Faults}
		o := engine.Occurrence{}
		if day := r.Take("day"); day == nil {
			p.Faults.Add(syntax.Join(item.Path(), "day"), "null", "the name of a weekday", "")
		} else {
			o.Day, _ = p.Weekday(day)
		}
		const allowed = "1 to 5, or -1 to -5 counted from the end of the month"
		if n := r.Take("occurrence", "Occurrence"); n != nil {
			number, ok := r.Integer(n, -5, 5, allowed)
			if ok && number == 0 {
				p.Faults.Add(n.Path(), n.JSON(), allowed, "")
			}
			o.N = int(number)
		}
		r.RefuseOthers([]string{"day", "occurrence"}, syntax.Synonyms)
		list = append(list, o)
	}
	slices.SortFunc(list, func(a, b engine.Occurrence) int { return (a.N-b.N)*8 + a.Day - b.Day })
	return slices.Compact(list)
}

// recurrenceSchedule returns the schedule of a recurrence. start is in the zone of the recurrence.
func recurrenceSchedule(p *syntax.Parser, frequency string, interval int64, start time.Time, s *scheduleParts) engine.Schedule {
	at := civil.Seconds(start)
	day, second := civil.FloorDiv(at, civil.DaySeconds), int(civil.FloorMod(at, civil.DaySeconds))
	unit := map[string]int64{"Minute": 60, "Hour": 3600}[frequency]
	if unit > 0 {
		g := &engine.Grid{Base: start.Unix(), Step: unit * interval, From: p.Start.Unix()}
		warnOfElapsed(p, g.Step)
		if s != nil && s.minutes != nil {
			g.Base -= int64(second % 3600)
			g.Offsets = offsetsOf(s.minutes, second%60)
		}
		p.Words = &words.Rule{Grid: g}
		return g
	}
	if s == nil && (frequency == "Month" || frequency == "Year") {
		months := int(interval)
		if frequency == "Year" {
			months = 12
		}
		steps := &engine.Steps{Start: civil.DateOf(day), Second: int64(second), Months: months}
		p.Words = words.Steps(steps)
		return p.Wall(steps, true)
	}
	if s == nil {
		s = &scheduleParts{}
	}
	clock := engine.Times{Hours: 1 << (second / 3600), Minutes: 1 << (second / 60 % 60), Seconds: 1 << (second % 60)}
	everyHour := s.minutes != nil && s.hours == nil
	if everyHour {
		clock.Hours = 1<<24 - 1
		p.Warn("minutes without hours: every hour of the chosen days; Logic Apps reads it as the hour of the start (D-A3)")
	}
	if s.hours != nil {
		clock.Hours = 0
		for _, h := range s.hours {
			clock.Hours |= 1 << h
		}
	}
	if s.minutes != nil {
		clock.Minutes = 0
		for _, m := range s.minutes {
			clock.Minutes |= 1 << m
		}
	}
	p.Words = &words.Rule{Times: clock, Days: recurrenceWords(frequency, int(interval), day, s)}
	return p.Wall(&engine.OnDays{Days: recurrenceDays(frequency, int(interval), day, s), Times: clock}, !everyHour)
}

// filled returns the instant that fills the missing parts of a schedule. If nobody wrote a start,
// that is the creation with second 0, and with minute 0 beside hours.
func filled(p *syntax.Parser, frequency string, start time.Time, s *scheduleParts, assumed bool) time.Time {
	if !assumed || s == nil {
		return start
	}
	var a syntax.Assumed
	at := civil.Seconds(start)
	fill := at - civil.FloorMod(at, 60)
	a.Zero("second")
	second := int(civil.FloorMod(at, civil.DaySeconds))
	if s.hours == nil && s.minutes == nil {
		a.Created("hour", second/3600)
	}
	switch {
	case s.minutes != nil:
	case s.hours != nil:
		fill -= civil.FloorMod(fill, 3600)
		a.Zero("minute")
	default:
		a.Created("minute", second/60%60)
	}
	switch {
	case frequency == "Week" && s.weekDays == 0:
		a.CreatedText("weekday " + civil.WeekdayNames[civil.Weekday(civil.FloorDiv(at, civil.DaySeconds))])
	case frequency == "Month" && s.monthDays == nil && s.occurrences == nil:
		a.Created("day", civil.DateOf(civil.FloorDiv(at, civil.DaySeconds)).Day)
	}
	p.AssumeAll(a)
	return start.Add(time.Duration(fill-at) * time.Second)
}

// warnOfElapsed warns that a change of clocks moves the clock times of a long interval (D-Z5).
func warnOfElapsed(p *syntax.Parser, step int64) {
	if step < 2*3600 || !p.ChangesClocks() {
		return
	}
	cure := ""
	switch {
	case step == civil.DaySeconds:
		cure = "; the frequency Day keeps the clock time"
	case step%civil.DaySeconds == 0:
		cure = fmt.Sprintf("; the frequency Day with the interval %d keeps the clock time", step/civil.DaySeconds)
	case civil.DaySeconds%step == 0 && step%3600 == 0:
		cure = "; the frequency Day with a list of hours keeps the clock time"
	}
	p.Warn("every " + words.Hours(step) + " of elapsed time: the clock time moves when clocks change, mostly by an hour" + cure)
}

// recurrenceWords returns the days of a recurrence for the description; see recurrenceDays.
func recurrenceWords(frequency string, interval int, start int64, s *scheduleParts) words.Days {
	d := words.Days{Every: words.Every{N: int64(interval), Unit: strings.ToLower(frequency), From: civil.DateOf(start)}}
	switch frequency {
	case "Week":
		if d.Weekdays = s.weekDays; d.Weekdays == 0 {
			d.Weekdays = 1 << civil.Weekday(start)
		}
		d.Every.From = civil.DateOf(start - int64(civil.Weekday(start)))
	case "Month":
		if s.monthDays == nil && s.occurrences == nil {
			d.MonthDays, d.OrLast = words.Values([]int{civil.DateOf(start).Day}), true
		}
		d.MonthDays = append(d.MonthDays, words.Values(s.monthDays)...)
		for _, o := range s.occurrences {
			if o.N == 0 {
				d.Weekdays |= 1 << o.Day
			} else {
				d.Nth = append(d.Nth, o)
			}
		}
	}
	return d
}

// offsetsOf returns the seconds of the hour for some minutes and one second, ascending and without
// duplicates.
func offsetsOf(minutes []int, second int) []int64 {
	var mask uint64
	for _, m := range minutes {
		mask |= 1 << m
	}
	var offsets []int64
	for m := range 60 {
		if mask>>m&1 == 1 {
			offsets = append(offsets, int64(m*60+second))
		}
	}
	return offsets
}

// recurrenceDays returns a function that gives the days of a recurrence in a month. start is the
// day number of its start.
func recurrenceDays(frequency string, interval int, start int64, s *scheduleParts) func(int, time.Month) uint32 {
	first := civil.DateOf(start)
	switch frequency {
	case "Day":
		return engine.EveryNthDay(start, int64(interval))
	case "Week":
		days := s.weekDays
		if days == 0 {
			days = 1 << civil.Weekday(start)
		}
		return engine.EveryNthWeek(start-int64(civil.Weekday(start)), int64(interval), days)
	}
	firstMonth := civil.MonthIndex(first.Year, first.Month)
	return func(year int, month time.Month) uint32 {
		m := civil.MonthIndex(year, month) - firstMonth
		if m < 0 || m%interval != 0 {
			return 0
		}
		if s.monthDays == nil && s.occurrences == nil {
			return 1 << min(first.Day, civil.MonthLength(year, month))
		}
		mask := engine.MonthDays(year, month)
		if s.monthDays != nil {
			mask &= engine.DaysOfMonth(year, month, s.monthDays)
		}
		if s.occurrences != nil {
			mask &= engine.OccurrenceDays(year, month, s.occurrences)
		}
		return mask
	}
}
