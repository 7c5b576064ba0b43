package schedule

import (
	"fmt"
	"maps"
	"strings"
	"time"
)

// azureFrequencies are the frequencies of a recurrence with their largest interval (a.3, D-A14).
var azureFrequencies = []struct {
	name string
	most int64
}{{"Minute", 1000}, {"Hour", 1000}, {"Day", 548}, {"Week", 78}, {"Month", 18}, {"Year", 1}}

// frequencyWords are what people write for a frequency; lower case.
var frequencyWords = map[string]string{
	"minutely": "Minute", "minutes": "Minute", "hourly": "Hour", "hours": "Hour", "daily": "Day", "days": "Day",
	"weekly": "Week", "weeks": "Week", "monthly": "Month", "months": "Month", "yearly": "Year", "annually": "Year", "years": "Year",
}

// azureSchedule is the element schedule of a recurrence; nil slices are absent elements.
type azureSchedule struct {
	minutes, hours []int
	weekDays       uint8 // bit 0 Monday
	monthDays      []int
	occurrences    []occurrence
}

// azureElements are the elements of the dialect.
var azureElements = []string{"recurrence", "frequency", "interval", "count", "endTime", "schedule", "startTime"}

// azureDialect is the recurrence object of Azure Scheduler.
var azureDialect = dialect{
	elements: azureElements,
	// An Azure job without a recurrence.
	isEmpty:     func(text string) bool { return text == "" || text == "null" || text == "(no recurrence)" },
	takesOffset: true,
	names:       azureElementNames,
	read:        (*parser).azure,
}

// recurrenceElements are the elements of a recurrence.
var recurrenceElements = []string{"frequency", "interval", "count", "endTime", "schedule"}

// azureElementNames are the names and synonyms of elements: beside the element recurrence, those of a recurrence belong into it.
func azureElementNames(r reader) (elements []string, words map[string]string) {
	if !r.has("recurrence") {
		return azureElements, synonyms
	}
	words = maps.Clone(synonyms)
	for _, name := range recurrenceElements {
		words[strings.ToLower(name)] = "recurrence." + name
	}
	return []string{"recurrence", "startTime"}, words
}

// azure reads a recurrence object, with startTime and our elements beside its own, or a job's properties
// that hold one as the element recurrence. Without any element of a recurrence it is one run.
func (p *parser) azure() Schedule {
	start := p.azureStart()
	p.start = start
	recurrence := p.reader
	if v := p.reader.take("recurrence"); v != nil {
		if v.kind != '{' {
			p.faults.add(v.path, v.raw, "a recurrence object", "")
			return nil
		}
		recurrence = reader{object: v, faults: p.faults}
		defer recurrence.refuseOthers(recurrenceElements, synonyms)
	}
	frequency, interval, recurs := p.azureFrequency(recurrence)
	p.readCount(recurrence)
	if v := recurrence.take("endTime"); v != nil {
		p.end = p.date(v, time.Time{})
		switch {
		case !p.created.IsZero() && !p.end.IsZero() && p.end.Before(p.created),
			p.created.IsZero() && p.start.IsZero() && !p.end.IsZero() && p.end.Before(p.today):
			p.faults.add(v.path, v.raw, "an instant in the future (D-A7)", "")
		case !p.start.IsZero() && !p.end.IsZero() && p.end.Before(p.start):
			p.faults.add(v.path, v.raw, "an instant not before the start "+p.start.Format(time.RFC3339), p.start.Format(time.RFC3339))
		}
	}
	var s *azureSchedule
	if v := recurrence.take("schedule"); v != nil {
		s = p.azureScheduleOf(v, frequency)
	}
	if !recurs {
		if p.count > 0 || !p.end.IsZero() || s != nil {
			p.faults.add("frequency", "null", "one of Minute, Hour, Day, Week, Month, Year", "")
		}
		return p.azureOnce(start)
	}
	if len(p.faults.list) > 0 {
		return nil
	}
	atOnce := start.IsZero()
	if atOnce {
		start = p.needCreation("startTime").In(p.zone)
		p.start = start
	}
	inner := p.azureRecurrence(frequency, interval, start, s)
	if w, ok := inner.(*wall); ok {
		if _, ok := w.pattern.next(civil(start)); !ok {
			v := recurrence.take("schedule")
			p.faults.add(v.path, v.raw, "a schedule that some day fulfils; this one never does", "")
			return nil
		}
	}
	if atOnce {
		// Bounded before the run at once is added: that one is due even where the end is earlier.
		inner = union{a: single{at: start}, b: bounded{inner: inner, first: start}}
	}
	return inner
}

// azureStart is startTime in the zone in which the recurrence is read (D-A2), cut to the second.
func (p *parser) azureStart() time.Time {
	start := p.plannedStart.Truncate(time.Second)
	if v := p.reader.take("startTime"); v != nil {
		start = p.date(v, start)
	}
	if start.IsZero() {
		return start
	}
	if !p.zoneGiven {
		_, offset := start.Zone()
		p.zone = fixedZone(offset)
	}
	return start.In(p.zone)
}

// azureOnce is a job without recurrence: one run at its start, at once when that is over or absent.
func (p *parser) azureOnce(start time.Time) Schedule {
	if start.IsZero() {
		return single{at: p.needCreation("startTime")}
	}
	if now := p.creation(); p.activated.IsZero() && now.After(start) {
		return single{at: now}
	}
	return single{at: start}
}

func (p *parser) azureFrequency(r reader) (frequency string, interval int64, recurs bool) {
	names := make([]string, len(azureFrequencies))
	for i, f := range azureFrequencies {
		names[i] = f.name
	}
	most := int64(1000)
	v := r.take("frequency")
	if v != nil {
		what := "one of " + strings.Join(names, ", ")
		text, ok := r.text(v, what)
		for _, f := range azureFrequencies {
			if strings.EqualFold(f.name, text) {
				frequency, most = f.name, f.most
			}
		}
		if ok && frequency == "" {
			propose := frequencyWords[strings.ToLower(text)]
			if propose == "" {
				propose = nearest(text, names)
			}
			p.faults.add(v.path, v.raw, what, propose)
		}
	}
	interval = 1
	if i := r.take("interval"); i != nil {
		if v == nil {
			p.faults.add(join(r.object.path, "frequency"), "null", "one of "+strings.Join(names, ", "), "")
		}
		allowed := fmt.Sprintf("a whole number from 1 to %d", most)
		if frequency != "" {
			allowed += " for the frequency " + frequency
		}
		interval, _ = r.integer(i, 1, most, allowed)
	}
	return frequency, interval, v != nil
}

// azureNames are the elements of schedule.
var azureNames = []string{"minutes", "hours", "weekDays", "monthDays", "monthlyOccurrences"}

// azureScheduleOf reads the element schedule, and refuses what its frequency has no use for (a.4, D-A16).
func (p *parser) azureScheduleOf(v *value, frequency string) *azureSchedule {
	if v.kind != '{' {
		p.faults.add(v.path, v.raw, "an object with "+strings.Join(azureNames, ", "), "")
		return nil
	}
	r := reader{object: v, faults: p.faults}
	s := &azureSchedule{}
	allowed := map[string]string{
		"minutes": "Hour Day Week Month", "hours": "Day Week Month", "weekDays": "Week", "monthDays": "Month", "monthlyOccurrences": "Month",
	}
	if frequency == "Year" {
		p.faults.add(v.path, v.raw, "no schedule with the frequency Year (D-A1)", "frequency Month with interval 12")
	}
	for _, name := range azureNames {
		e := r.take(name)
		if e == nil {
			continue
		}
		if frequency != "" && frequency != "Year" && !strings.Contains(allowed[name], frequency) {
			with := strings.ReplaceAll(allowed[name], " ", ", ")
			p.faults.add(e.path, e.raw, name+" only with the frequency "+with, "")
		}
		switch name {
		case "minutes":
			s.minutes = p.integers(e, 0, 59, "a whole number from 0 to 59, or a list of them")
		case "hours":
			s.hours = p.integers(e, 0, 23, "a whole number from 0 to 23, or a list of them")
		case "monthDays":
			s.monthDays = p.integers(e, -31, 31, "1 to 31, or -1 to -31 counted from the end of the month")
		case "weekDays":
			s.weekDays = p.azureWeekdays(e)
		default:
			s.occurrences = p.azureOccurrences(e)
		}
	}
	if s.monthDays != nil && s.occurrences != nil {
		p.warn("monthDays and monthlyOccurrences are both given: a day must fulfil both")
	}
	r.refuseOthers(azureNames, synonyms)
	return s
}

// integers is a list of whole numbers; 0 is refused where negative ones are allowed (D-A17).
func (p *parser) integers(v *value, low, high int64, allowed string) []int {
	var list []int
	for _, item := range p.items(v, allowed) {
		n, ok := p.reader.integer(item, low, high, allowed)
		switch {
		case ok && n == 0 && low < 0:
			p.faults.add(item.path, item.raw, allowed, "1")
		case ok:
			list = append(list, int(n))
		}
	}
	return list
}

func (p *parser) azureWeekdays(v *value) uint8 {
	items := p.items(v, "names of weekdays")
	if len(items) > 7 {
		p.faults.add(v.path, v.raw, "at most 7 weekdays", "")
	}
	var days uint8
	for _, item := range items {
		if day, ok := p.weekday(item); ok {
			days |= 1 << day
		}
	}
	return days
}

func (p *parser) azureOccurrences(v *value) []occurrence {
	var list []occurrence
	for _, item := range p.items(v, "objects with day and occurrence") {
		if item.kind != '{' {
			p.faults.add(item.path, item.raw, `an object such as {"day": "friday", "occurrence": -1}`, "")
			continue
		}
		r := reader{object: item, faults: p.faults}
		o := occurrence{}
		if day := r.take("day"); day == nil {
			p.faults.add(join(item.path, "day"), "null", "the name of a weekday", "")
		} else {
			o.day, _ = p.weekday(day)
		}
		const allowed = "1 to 5, or -1 to -5 counted from the end of the month"
		if n := r.take("occurrence", "Occurrence"); n != nil {
			number, ok := r.integer(n, -5, 5, allowed)
			if ok && number == 0 {
				p.faults.add(n.path, n.raw, allowed, "1")
			}
			o.n = int(number)
		}
		r.refuseOthers([]string{"day", "occurrence"}, synonyms)
		list = append(list, o)
	}
	return list
}

// azureRecurrence builds the schedule from a start in its zone.
func (p *parser) azureRecurrence(frequency string, interval int64, start time.Time, s *azureSchedule) Schedule {
	at := civil(start)
	day, second := floorDiv(at, daySeconds), int(floorMod(at, daySeconds))
	unit := map[string]int64{"Minute": 60, "Hour": 3600}[frequency]
	if unit > 0 {
		g := &grid{base: start.Unix(), step: unit * interval, from: start.Unix()}
		if s != nil && s.minutes != nil {
			g.base -= int64(second % 3600)
			g.offsets = offsetsOf(s.minutes, second%60)
		}
		return g
	}
	if s == nil && (frequency == "Month" || frequency == "Year") {
		months := int(interval)
		if frequency == "Year" {
			months = 12
		}
		return p.wall(&steps{start: dateOf(day), second: int64(second), months: months}, true)
	}
	if s == nil {
		s = &azureSchedule{}
	}
	clock := times{hours: 1 << (second / 3600), minutes: 1 << (second / 60 % 60), seconds: 1 << (second % 60)}
	everyHour := s.minutes != nil && s.hours == nil
	if everyHour {
		clock.hours = 1<<24 - 1
		p.warn("minutes without hours: every hour of the chosen days; Logic Apps reads it as the hour of the start (D-A3)")
	}
	if s.hours != nil {
		clock.hours = 0
		for _, h := range s.hours {
			clock.hours |= 1 << h
		}
	}
	if s.minutes != nil {
		clock.minutes = 0
		for _, m := range s.minutes {
			clock.minutes |= 1 << m
		}
	}
	return p.wall(&onDays{days: azureDays(frequency, int(interval), day, s), times: clock}, !everyHour)
}

// offsetsOf are the seconds of an hour of some minutes and one second, ascending and each once.
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

// azureDays are the days of a recurrence that starts on a day.
func azureDays(frequency string, interval int, start int64, s *azureSchedule) func(int, time.Month) uint32 {
	first := dateOf(start)
	switch frequency {
	case "Day":
		return everyNthDay(start, int64(interval))
	case "Week":
		days := s.weekDays
		if days == 0 {
			days = 1 << weekday(start)
		}
		return everyNthWeek(start-int64(weekday(start)), int64(interval), days)
	}
	firstMonth := monthIndex(first.year, first.month)
	return func(year int, month time.Month) uint32 {
		m := monthIndex(year, month) - firstMonth
		if m < 0 || m%interval != 0 {
			return 0
		}
		if s.monthDays == nil && s.occurrences == nil {
			return 1 << min(first.day, monthLength(year, month))
		}
		mask := monthDays(year, month)
		if s.monthDays != nil {
			mask &= daysOfMonth(year, month, s.monthDays)
		}
		if s.occurrences != nil {
			mask &= occurrenceDays(year, month, s.occurrences)
		}
		return mask
	}
}
