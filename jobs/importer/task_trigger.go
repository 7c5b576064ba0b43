package importer

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule"
)

// taskTrigger holds a trigger of Task Scheduler whose times are known beforehand: a TimeTrigger or
// a CalendarTrigger
// (https://learn.microsoft.com/openspecs/windows_protocols/ms-tsch/4d28b0ce-aba2-436b-a81f-ef9beffbe432).
type taskTrigger struct {
	once bool // a TimeTrigger, which fires at its start only
	days taskDays
	// start is the clock time of StartBoundary. zone is the machine's, or that of the offset which
	// StartBoundary has.
	start    time.Time
	zone     string
	location *time.Location // of zone
	// end is the last instant; zero means no end.
	end time.Time
	// interval and duration are those of the repetition, in seconds. Without an interval there is
	// none; without a duration the repetition has no end.
	interval, duration int64
	jitter             string
	enabled            bool
}

// taskDays holds the days on which a CalendarTrigger fires. One of everyDays, everyWeeks and
// months is set.
type taskDays struct {
	everyDays  int
	everyWeeks int
	weekdays   []int // ascending; 0 is Sunday
	months     []int
	dates      []int // of a month; -1 is the last day
	weeks      []int // 1 to 4, and -1 for the last; with weekdays and months
}

// taskRule holds a recurrence rule of RFC 5545. All rules of a trigger together are due when it
// fires and repeats.
type taskRule struct {
	rule, start, end, zone, jitter string
}

// spec returns the specification of the rule for a schedule of the kind rrule.
func (t taskRule) spec() string {
	element := struct {
		Rule   string `json:"rrule"`
		Start  string `json:"startTime,omitempty"`
		End    string `json:"endTime,omitempty"`
		Jitter string `json:"jitter,omitempty"`
	}{t.rule, t.start, t.end, t.jitter}
	text, err := json.Marshal(element)
	if err != nil { // cannot fail: the struct has only strings
		return ""
	}
	return string(text)
}

// utcTime is the layout of an instant in UTC.
const utcTime = "2006-01-02T15:04:05Z"

// maxTimes is the largest number of times of a repetition that are looked at one by one.
const maxTimes = 20000

// Notes of triggers, where Microsoft's documentation is silent.
const (
	noteWeeks   = "every %d weeks: weeks are taken to begin on Sunday, the first one being that of StartBoundary, which Microsoft does not document"
	noteRestart = "the repetition is as long as the time to the next start or longer, and its interval does not divide a day: it is taken to begin anew at each start, which Microsoft does not document"
)

// rules returns the rules of a trigger, or the problem that prevents a translation.
func (t *taskTrigger) rules() (rules []taskRule, notes []string, problem string) {
	end := ""
	if !t.end.IsZero() {
		end = t.end.UTC().Format(utcTime)
	}
	add := func(rule, start, end string) {
		rules = append(rules, taskRule{rule, start, end, t.zone, t.jitter})
	}
	if !t.end.IsZero() && localInstant(t.start.AddDate(0, 0, t.firstDay()), t.location).After(t.end) {
		return nil, nil, "EndBoundary is before the first start"
	}
	start := t.start.Format(localTime)
	if t.once && t.interval == 0 {
		add("FREQ=DAILY", start, start)
		return rules, nil, ""
	}
	if t.once {
		if t.duration > 0 {
			last := localInstant(t.start, t.location).Add(time.Duration(t.duration) * time.Second)
			if t.end.IsZero() || last.Before(t.end) {
				end = last.UTC().Format(utcTime)
			}
		}
		add(elapsedRule(t.interval), start, end)
		return rules, nil, ""
	}
	if t.days.everyWeeks > 1 {
		notes = append(notes, fmt.Sprintf(noteWeeks, t.days.everyWeeks))
	}
	if t.days.months != nil {
		rules, problem = t.monthlyRules(end)
	} else {
		var more []string
		rules, more, problem = t.cycleRules(end)
		notes = append(notes, more...)
	}
	if len(rules) > maxSplit {
		problem = t.tooMany(len(rules))
	}
	if problem != "" {
		return nil, nil, problem
	}
	return rules, notes, ""
}

func (t *taskTrigger) tooMany(n int) string {
	return fmt.Sprintf("its times of day (every %d s) need %d schedules here or more, at most %d are made: choose an interval that divides an hour", t.interval, n, maxSplit)
}

// elapsedRule returns the rule of an interval in seconds.
func elapsedRule(seconds int64) string {
	switch {
	case seconds%3600 == 0:
		return fmt.Sprintf("FREQ=HOURLY;INTERVAL=%d", seconds/3600)
	case seconds%60 == 0:
		return fmt.Sprintf("FREQ=MINUTELY;INTERVAL=%d", seconds/60)
	}
	return fmt.Sprintf("FREQ=SECONDLY;INTERVAL=%d", seconds)
}

// localInstant returns the instant of a clock time: the first of two, and in a gap the time with
// the offset before it (D-Z3, D-Z4).
func localInstant(wall time.Time, location *time.Location) time.Time {
	_, early := wall.Add(-36 * time.Hour).In(location).Zone()
	_, late := wall.Add(36 * time.Hour).In(location).Zone()
	for _, offset := range []int{max(early, late), min(early, late)} {
		at := wall.Add(-time.Duration(offset) * time.Second)
		if _, o := at.In(location).Zone(); o == offset {
			return at
		}
	}
	return wall.Add(-time.Duration(early) * time.Second)
}

func (t *taskTrigger) clock() int64 {
	return int64(t.start.Hour()*3600 + t.start.Minute()*60 + t.start.Second())
}

// midnight returns the first second of the day that is shift days after the start.
func (t *taskTrigger) midnight(shift int) time.Time {
	y, m, d := t.start.Date()
	return time.Date(y, m, d+shift, 0, 0, 0, 0, time.UTC)
}

// firstDay returns the number of days from StartBoundary to the first day of a weekly trigger; 0
// for other triggers.
func (t *taskTrigger) firstDay() int {
	if t.days.everyWeeks == 0 {
		return 0
	}
	today := int(t.start.Weekday())
	for _, day := range t.days.weekdays {
		if day >= today {
			return day - today
		}
	}
	return t.days.weekdays[0] + 7*t.days.everyWeeks - today
}

// cycleRules returns the rules of a trigger that fires on days of a cycle of days or weeks.
func (t *taskTrigger) cycleRules(end string) (rules []taskRule, notes []string, problem string) {
	cycle, fires := t.days.everyDays, []int{0}
	if t.days.everyWeeks > 0 {
		cycle, fires = 7*t.days.everyWeeks, t.days.weekdays
	}
	gaps := make([]int64, len(fires)) // seconds to the next day on which it fires
	for i, f := range fires {
		next := fires[0] + cycle
		if i+1 < len(fires) {
			next = fires[i+1]
		}
		gaps[i] = int64(next-f) * daySeconds
	}
	if rule, ok := t.endless(slices.Max(gaps)); ok {
		start := t.start.AddDate(0, 0, t.firstDay()).Format(localTime)
		for _, r := range rule {
			rules = append(rules, taskRule{r, start, end, t.zone, t.jitter})
		}
		return rules, nil, ""
	}
	if t.interval > 0 && daySeconds%t.interval != 0 && (t.duration == 0 || t.duration >= slices.Min(gaps)) {
		notes = append(notes, noteRestart)
	}
	// For each day after a start (shift) and each time of that day: the days of the cycle that
	// fired.
	type moment struct {
		shift int
		at    int64
	}
	fired := map[moment][]int{}
	for i, f := range fires {
		for n := int64(0); n == 0 || t.interval > 0; n++ {
			offset := n * t.interval
			if offset >= gaps[i] || t.duration > 0 && offset > t.duration {
				break
			}
			if n > maxTimes {
				return nil, nil, fmt.Sprintf("it repeats more than %d times after a start: choose a longer interval or a shorter duration", maxTimes)
			}
			at := t.clock() + offset
			m := moment{int(at / daySeconds), at % daySeconds}
			fired[m] = append(fired[m], f)
		}
	}
	times := map[string][]int{}
	groups := map[string]moment{} // any moment of the group
	for m, days := range fired {
		key := fmt.Sprintf("%04d %v", m.shift, days)
		times[key] = append(times[key], int(m.at))
		groups[key] = m
	}
	if len(groups) > maxSplit { // each is one schedule or more
		return nil, nil, t.tooMany(len(groups))
	}
	for _, key := range slices.Sorted(maps.Keys(times)) {
		shift, days := groups[key].shift, fired[groups[key]]
		rule := "FREQ=DAILY" + every(cycle)
		if t.days.everyWeeks > 0 {
			rule = fmt.Sprintf("FREQ=WEEKLY%s;WKST=%s;BYDAY=%s", every(t.days.everyWeeks), ruleDays[shift%7], weekdayNames(days, shift))
		}
		list := times[key]
		slices.Sort(list)
		rules = append(rules, t.timed(rule, list, shift, end)...)
	}
	return rules, notes, ""
}

// timed returns the rules for times of day on the days of a rule, which begin shift days after the
// start. There are none if the trigger ends before that.
func (t *taskTrigger) timed(rule string, times []int, shift int, end string) (rules []taskRule) {
	first := t.midnight(shift)
	if !t.end.IsZero() && localInstant(first, t.location).After(t.end) {
		return nil
	}
	start := first.Format(localTime)
	for _, c := range divide(times) {
		rules = append(rules, taskRule{rule + c.rule(), start, end, t.zone, t.jitter})
	}
	return rules
}

// every returns the part INTERVAL of a rule; it is empty for 1.
func every(n int) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf(";INTERVAL=%d", n)
}

// endless returns the rules of a repetition that goes on until the trigger fires again, in the
// same grid: it never pauses. gap is the longest time between two days on which it fires, in
// seconds.
func (t *taskTrigger) endless(gap int64) ([]string, bool) {
	if t.interval == 0 || daySeconds%t.interval != 0 || t.duration > 0 && t.duration < gap {
		return nil, false
	}
	if 3600%t.interval == 0 {
		return []string{elapsedRule(t.interval)}, true
	}
	var times []int
	for at := t.clock() % t.interval; at < daySeconds; at += t.interval {
		times = append(times, int(at))
	}
	var rules []string
	for _, c := range divide(times) {
		rules = append(rules, "FREQ=DAILY"+c.rule())
	}
	return rules, true
}

// weekdayNames returns the names of weekdays that are shift days after the given ones.
func weekdayNames(days []int, shift int) string {
	var names []string
	for _, d := range days {
		names = append(names, ruleDays[(d+shift)%7])
	}
	return strings.Join(names, ",")
}

// monthlyRules returns the rules of a trigger that fires on days of months.
func (t *taskTrigger) monthlyRules(end string) (rules []taskRule, problem string) {
	var same, next []int
	for n := int64(0); n == 0 || t.interval > 0; n++ {
		offset := n * t.interval
		if t.duration > 0 && offset > t.duration {
			break
		}
		if offset > daySeconds {
			return nil, "it repeats for more than a day after a start on days of a month: end the repetition after a day (Duration P1D), or write schedules for it"
		}
		if at := t.clock() + offset; at < daySeconds {
			same = append(same, int(at))
		} else {
			next = append(next, int(at-daySeconds))
		}
	}
	add := func(rule string, times []int, shift int) { rules = append(rules, t.timed(rule, times, shift, end)...) }
	for _, rule := range t.days.monthly() {
		add(rule, same, 0)
	}
	// A day after the start at the same time, it may fire anew.
	if n := len(next); n > 0 && next[n-1] == int(t.clock()) {
		next = next[:n-1]
		rest, ok := t.days.monthlyAfter(true)
		if !ok {
			return nil, "it repeats a day after a start, when the next weekday may start it too: shorten Duration below a day"
		}
		for _, rule := range rest {
			add(rule, []int{int(t.clock())}, 1)
		}
	}
	if len(next) > 0 {
		after, _ := t.days.monthlyAfter(false)
		for _, rule := range after {
			add(rule, next, 1)
		}
	}
	return rules, ""
}

// byMonth returns the part BYMONTH of a rule; it is empty for all months.
func byMonth(months []int) string {
	if len(months) == 12 {
		return ""
	}
	return ";BYMONTH=" + joined(months)
}

// monthly returns the rules for the days of months.
func (d taskDays) monthly() []string {
	rule := "FREQ=MONTHLY" + byMonth(d.months)
	if d.weeks == nil {
		return []string{rule + ";BYMONTHDAY=" + joined(d.dates)}
	}
	var days []string
	for _, week := range d.weeks {
		for _, day := range d.weekdays {
			days = append(days, fmt.Sprintf("%d%s", week, ruleDays[day]))
		}
	}
	return []string{rule + ";BYDAY=" + strings.Join(days, ",")}
}

// monthlyAfter returns the rules for the days after those of monthly. With free, days that monthly
// has too are left out; ok is false if no rule can say so.
func (d taskDays) monthlyAfter(free bool) (rules []string, ok bool) {
	days, weekdays := d.dates, ""
	if d.weeks != nil {
		var names []string
		days = nil
		for _, w := range d.weekdays {
			if free && slices.Contains(d.weekdays, (w+1)%7) {
				return nil, false
			}
			names = append(names, ruleDays[(w+1)%7])
		}
		weekdays = ";BYDAY=" + strings.Join(names, ",")
		for _, week := range d.weeks {
			for i := range 7 {
				if week > 0 {
					days = append(days, 7*(week-1)+1+i)
				} else {
					days = append(days, -7+i)
				}
			}
		}
	}
	// The next date of the same month.
	var later []int
	for _, day := range days {
		if next := day + 1; day != -1 && day != 31 && (!free || d.weeks != nil || !slices.Contains(d.dates, next)) {
			later = append(later, next)
		}
	}
	if later != nil {
		rule := "FREQ=MONTHLY" + byMonth(d.months) + weekdays + ";BYMONTHDAY=" + joined(later)
		if free && d.weeks == nil && slices.Contains(d.dates, -1) && slices.Max(later) >= 28 {
			return nil, false // the next date is the last one of some months
		}
		rules = append(rules, rule)
	}
	// The first of the next month, after the last day of a month.
	var firsts []int
	for _, month := range d.months {
		next := month%12 + 1
		if free && d.weeks == nil && slices.Contains(d.dates, 1) && slices.Contains(d.months, next) {
			continue
		}
		has := func(day int) bool { return slices.Contains(days, day) }
		length := map[int]int{4: 30, 6: 30, 9: 30, 11: 30, 2: 29}[month]
		if length == 0 {
			length = 31
		}
		const march = "FREQ=YEARLY;BYMONTH=3;BYMONTHDAY=1"
		switch {
		case has(-1), month != 2 && has(length), month == 2 && has(28) && has(29):
			firsts = append(firsts, next)
		case month == 2 && has(28): // 1 March is day 60 of a year whose February has 28 days
			rules = append(rules, march+";BYYEARDAY=60"+weekdays)
		case month == 2 && has(29): // and day 61 if February has 29 days
			rules = append(rules, march+";BYYEARDAY=61"+weekdays)
		}
	}
	if firsts != nil {
		slices.Sort(firsts)
		rules = append(rules, "FREQ=MONTHLY"+byMonth(firsts)+weekdays+";BYMONTHDAY=1")
	}
	return rules, true
}

// boundary matches a date and time of a task. The digits after the seconds and the offset are
// optional.
var boundary = regexp.MustCompile(`^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)?$`)

// parseBoundary parses a StartBoundary or EndBoundary. zone is the IANA zone of its offset, "" if
// it has no offset, and "-" if no zone has that offset. fraction reports whether it has a fraction
// of a second that is not zero.
func parseBoundary(text string) (wall time.Time, offset time.Duration, zone string, fraction, ok bool) {
	m := boundary.FindStringSubmatch(text)
	if m == nil {
		return wall, 0, "", false, false
	}
	wall, err := time.Parse(localTime, m[1])
	if err != nil {
		return wall, 0, "", false, false
	}
	fraction = strings.Trim(m[2], ".0") != ""
	switch m[3] {
	case "":
		return wall, 0, "", fraction, true
	case "Z", "+00:00", "-00:00":
		return wall, 0, "UTC", fraction, true
	}
	hours, _ := strconv.Atoi(m[3][1:3]) // digits by the pattern
	minutes, _ := strconv.Atoi(m[3][4:])
	offset = time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
	// The names of these zones have the opposite sign (POSIX).
	sign := "-"
	if m[3][0] == '-' {
		offset, sign = -offset, "+"
	}
	zone = fmt.Sprintf("Etc/GMT%s%d", sign, hours)
	if _, err := schedule.LoadZone(zone); err != nil || minutes != 0 {
		zone = "-"
	}
	return wall, offset, zone, fraction, true
}
