package importer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule"
)

// AgentSchedule holds a row of msdb.dbo.sysschedules. Dates are encoded as yyyymmdd and times as
// hhmmss
// (https://learn.microsoft.com/sql/relational-databases/system-tables/dbo-sysschedules-transact-sql).
type AgentSchedule struct {
	Name                 string
	Enabled              bool
	FreqType             int
	FreqInterval         int
	FreqSubdayType       int
	FreqSubdayInterval   int
	FreqRelativeInterval int
	FreqRecurrenceFactor int
	ActiveStartDate      int
	ActiveEndDate        int
	ActiveStartTime      int
	ActiveEndTime        int
}

// These are the values of freq_type.
const (
	freqOnce            = 1
	freqDaily           = 4
	freqWeekly          = 8
	freqMonthly         = 16
	freqMonthlyRelative = 32
	freqAgentStart      = 64
	freqIdle            = 128
)

const (
	daySeconds = 24 * 60 * 60
	// openEnd is the active_end_date of a schedule without an end.
	openEnd = 99991231
	// maxSplit is the largest number of schedules that one schedule may become.
	maxSplit = 64
)

// ruleDays are the names of weekdays in RFC 5545. Sunday comes first, as in SQL Server Agent's
// encodings.
var ruleDays = []string{"SU", "MO", "TU", "WE", "TH", "FR", "SA"}

// agentRule holds a recurrence rule of RFC 5545 with its bounds. One rule covers some occurrences
// of a schedule; all rules of the schedule together cover all of them.
type agentRule struct {
	days       string // the rule without its times of day
	times      clockTimes
	start, end string // local times; an empty end means no end
}

// spec returns the specification of the rule for a schedule of the kind rrule.
func (a agentRule) spec() string {
	element := struct {
		Rule  string `json:"rrule"`
		Start string `json:"startTime"`
		End   string `json:"endTime,omitempty"`
	}{a.days + a.times.rule(), a.start, a.end}
	text, err := json.Marshal(element)
	if err != nil { // cannot fail: the struct has only strings
		return ""
	}
	return string(text)
}

// clockTimes holds hours, minutes and seconds. Every combination of the three is a time of day.
type clockTimes struct{ hours, minutes, seconds []int }

func (c clockTimes) rule() string {
	if c.hours == nil {
		return ""
	}
	return ";BYHOUR=" + joined(c.hours) + ";BYMINUTE=" + joined(c.minutes) + ";BYSECOND=" + joined(c.seconds)
}

// agentRules returns the rules of a schedule of SQL Server Agent, or the problem that prevents a
// translation. notes are remarks for the report.
//
// A schedule is due at the start of its window on each of its days, and then after each interval
// until the window ends. A window that ends before it starts continues on the next day, whether or
// not the schedule has occurrences on that day
// (https://learn.microsoft.com/archive/blogs/sqlagent/more-scheduling-tips-and-tricksstarttime-and-endtime).
func agentRules(s AgentSchedule) (rules []agentRule, notes []string, problem string) {
	switch s.FreqType {
	case freqAgentStart:
		return nil, nil, "it runs the job when SQL Server Agent starts (freq_type 64), which no schedule here does"
	case freqIdle:
		return nil, nil, "it runs the job when the processors are idle (freq_type 128), which no schedule here does"
	case freqOnce, freqDaily, freqWeekly, freqMonthly, freqMonthlyRelative:
	default:
		return nil, nil, fmt.Sprintf("invalid freq_type %d: want 1, 4, 8, 16, 32, 64 or 128", s.FreqType)
	}
	startDay, ok := agentDate(s.ActiveStartDate)
	if !ok {
		return nil, nil, fmt.Sprintf("invalid active_start_date %d: want a date such as 20260131", s.ActiveStartDate)
	}
	from, ok := agentTime(s.ActiveStartTime)
	if !ok {
		return nil, nil, fmt.Sprintf("invalid active_start_time %d: want a time of day such as 93000", s.ActiveStartTime)
	}
	if s.FreqType == freqOnce {
		at := startDay.Add(time.Duration(from) * time.Second).Format(localTime)
		return []agentRule{{days: "FREQ=DAILY", start: at, end: at}}, nil, ""
	}
	endDay := time.Time{}
	if s.ActiveEndDate != openEnd && s.ActiveEndDate != 0 {
		if endDay, ok = agentDate(s.ActiveEndDate); !ok || endDay.Before(startDay) {
			return nil, nil, fmt.Sprintf("invalid active_end_date %d: want a date from active_start_date %d on", s.ActiveEndDate, s.ActiveStartDate)
		}
	}
	window, problem := agentWindow(s, from)
	if problem != "" {
		return nil, nil, problem
	}
	same, next, missing, problem := agentDays(s, startDay)
	if problem != "" {
		return nil, nil, problem
	}
	if s.FreqType == freqWeekly && s.FreqRecurrenceFactor > 1 {
		notes = append(notes, fmt.Sprintf("every %d weeks: weeks are taken to begin on Sunday, which SQL Server's documentation does not say", s.FreqRecurrenceFactor))
	}
	if s.FreqType == freqMonthly && s.FreqInterval > 28 {
		notes = append(notes, fmt.Sprintf("months without a day %d are passed over", s.FreqInterval))
	}
	add := func(days []dayRule, times []int, shift int) {
		for _, d := range days {
			for _, c := range divide(times) {
				rule := agentRule{days: d.rule, times: c, start: d.from.Format(localTime)}
				if !endDay.IsZero() {
					rule.end = endDay.AddDate(0, 0, shift).Add((daySeconds - 1) * time.Second).Format(localTime)
				}
				rules = append(rules, rule)
			}
		}
	}
	add(same, window.same, 0)
	if len(window.next) > 0 {
		if missing {
			notes = append(notes, lostNight)
		}
		add(next, window.next, 1)
	}
	if len(rules) > maxSplit {
		return nil, nil, fmt.Sprintf("its times of day (every %d %s) need %d schedules here, more than %d: choose an interval that divides an hour",
			s.FreqSubdayInterval, subdayUnits[s.FreqSubdayType].name, len(rules), maxSplit)
	}
	return rules, notes, ""
}

// lostNight is the note about a monthly window that continues after midnight. No rule covers 1
// March after a due last day of February if the recurrence factor does not divide 12, because
// February is then due in some years only.
const lostNight = "its window goes on after midnight: the runs of 1 March that follow the last day of February are not made; " +
	"add a schedule for them (jobs.sp_add_schedule)"

// localTime is the layout of a time without an offset. Such a time is in the schedule's zone.
const localTime = "2006-01-02T15:04:05"

func agentDate(n int) (time.Time, bool) {
	t := time.Date(n/10000, time.Month(n/100%100), n%100, 0, 0, 0, 0, time.UTC)
	return t, n > 0 && t.Year()*10000+int(t.Month())*100+t.Day() == n
}

func agentTime(n int) (second int, ok bool) {
	h, m, s := n/10000, n/100%100, n%100
	return h*3600 + m*60 + s, n >= 0 && h < 24 && m < 60 && s < 60
}

// subdayUnits are the units of the values of freq_subday_type that mean an interval.
var subdayUnits = map[int]struct {
	name    string
	seconds int
}{2: {"seconds", 1}, 4: {"minutes", 60}, 8: {"hours", 3600}}

// agentTimes holds the times of day of a window, in seconds after midnight: those on the window's
// first day (same) and those on the day after (next).
type agentTimes struct{ same, next []int }

// agentWindow returns the times of day of a schedule whose window starts at from, in seconds after
// midnight.
func agentWindow(s AgentSchedule, from int) (times agentTimes, problem string) {
	if s.FreqSubdayType == 0 || s.FreqSubdayType == 1 {
		return agentTimes{same: []int{from}}, ""
	}
	unit, ok := subdayUnits[s.FreqSubdayType]
	if !ok {
		return times, fmt.Sprintf("invalid freq_subday_type %d: want 1, 2, 4 or 8", s.FreqSubdayType)
	}
	to, ok := agentTime(s.ActiveEndTime)
	if !ok || to == from {
		return times, fmt.Sprintf("invalid active_end_time %d: want a time of day other than active_start_time", s.ActiveEndTime)
	}
	if s.FreqSubdayInterval < 1 || s.FreqSubdayInterval > daySeconds {
		return times, fmt.Sprintf("invalid freq_subday_interval %d: want at least 1", s.FreqSubdayInterval)
	}
	if to < from {
		to += daySeconds
	}
	for at := from; at <= to; at += s.FreqSubdayInterval * unit.seconds {
		if at < daySeconds {
			times.same = append(times.same, at)
		} else {
			times.next = append(times.next, at-daySeconds)
		}
	}
	return times, ""
}

// divide returns lists of hours, minutes and seconds whose combinations are exactly the given
// times. times are seconds after midnight, ascending.
func divide(times []int) []clockTimes {
	distinct := func(of func(int) int) []int {
		var list []int
		for _, t := range times {
			if n := of(t); !slices.Contains(list, n) {
				list = append(list, n)
			}
		}
		return list
	}
	at := map[int][]int{} // seconds, by the minute of the day
	for i, t := range times {
		if i == 0 || t != times[i-1] {
			at[t/60] = append(at[t/60], t%60)
		}
	}
	// Group the minutes of each hour by their seconds. Then group the hours that have the same
	// minutes and seconds.
	var list []clockTimes
	for _, hour := range distinct(func(t int) int { return t / 3600 }) {
		for _, one := range minutesBySeconds(at, hour) {
			i := slices.IndexFunc(list, func(c clockTimes) bool {
				return slices.Equal(c.minutes, one.minutes) && slices.Equal(c.seconds, one.seconds)
			})
			if i < 0 {
				i, list = len(list), append(list, one)
			}
			list[i].hours = append(list[i].hours, hour)
		}
	}
	return list
}

// minutesBySeconds groups the minutes of an hour by their seconds; at has these by the minute of
// the day.
func minutesBySeconds(at map[int][]int, hour int) []clockTimes {
	var list []clockTimes
	for minute := range 60 {
		seconds := at[hour*60+minute]
		if seconds == nil {
			continue
		}
		i := slices.IndexFunc(list, func(c clockTimes) bool { return slices.Equal(c.seconds, seconds) })
		if i < 0 {
			i, list = len(list), append(list, clockTimes{seconds: seconds})
		}
		list[i].minutes = append(list[i].minutes, minute)
	}
	return list
}

// dayRule holds a rule for days and the first day on which it applies.
type dayRule struct {
	rule string
	from time.Time
}

// agentDays returns the rules for the days of a schedule (same) and for the days after them (next).
// missing reports whether no rule covers one of the days after.
func agentDays(s AgentSchedule, start time.Time) (same, next []dayRule, missing bool, problem string) {
	one := func(rule string, from time.Time) []dayRule { return []dayRule{{rule, from}} }
	factor := s.FreqRecurrenceFactor
	if factor < 1 && s.FreqType != freqDaily {
		return nil, nil, false, fmt.Sprintf("invalid freq_recurrence_factor %d: want at least 1", factor)
	}
	tomorrow := start.AddDate(0, 0, 1)
	switch s.FreqType {
	case freqDaily:
		if s.FreqInterval < 1 {
			return nil, nil, false, fmt.Sprintf("invalid freq_interval %d: want at least 1 day", s.FreqInterval)
		}
		rule := fmt.Sprintf("FREQ=DAILY;INTERVAL=%d", s.FreqInterval)
		return one(rule, start), one(rule, tomorrow), false, ""
	case freqWeekly:
		if s.FreqInterval < 1 || s.FreqInterval > 127 {
			return nil, nil, false, fmt.Sprintf("invalid freq_interval %d: want a set of weekdays from 1 to 127", s.FreqInterval)
		}
		var days, after []string
		for i := range 7 {
			if s.FreqInterval>>i&1 == 1 {
				days, after = append(days, ruleDays[i]), append(after, ruleDays[(i+1)%7])
			}
		}
		// Each weekday moves to the next one, and the week begins on Monday instead of Sunday. The
		// Sunday after a Saturday thus stays in the same week.
		rule := "FREQ=WEEKLY;INTERVAL=%d;WKST=%s;BYDAY=%s"
		return one(fmt.Sprintf(rule, factor, "SU", strings.Join(days, ",")), start),
			one(fmt.Sprintf(rule, factor, "MO", strings.Join(after, ",")), tomorrow), false, ""
	}
	dates, problem := agentDates(s)
	if problem != "" {
		return nil, nil, false, problem
	}
	m := months{factor: factor, start: start}
	for _, d := range dates {
		rule := m.rule(d.weekdays, d.days)
		if d.short != "" {
			rule.rule = fmt.Sprintf("FREQ=MONTHLY;INTERVAL=%d;%s", factor, d.short)
		}
		same = append(same, rule)
		after, incomplete := m.after(d)
		next, missing = append(next, after...), missing || incomplete
	}
	return same, next, missing, ""
}

// monthDates holds days of a month. Only days that fall on one of weekdays count (0 is Sunday);
// without weekdays all days count. Negative days count from the end of the month. The days are
// either all positive or all negative.
type monthDates struct {
	weekdays, days []int
	// short is a shorter form of the same rule part, or empty if there is none.
	short string
}

// agentDates returns the dates of a monthly schedule.
func agentDates(s AgentSchedule) (dates []monthDates, problem string) {
	if s.FreqType == freqMonthly {
		if s.FreqInterval < 1 || s.FreqInterval > 31 {
			return nil, fmt.Sprintf("invalid freq_interval %d: want a day of a month from 1 to 31", s.FreqInterval)
		}
		return []monthDates{{days: []int{s.FreqInterval}}}, ""
	}
	n, known := map[int]int{1: 1, 2: 2, 4: 3, 8: 4, 16: -1}[s.FreqRelativeInterval]
	if !known {
		return nil, fmt.Sprintf("invalid freq_relative_interval %d: want 1, 2, 4, 8 or 16", s.FreqRelativeInterval)
	}
	switch k := s.FreqInterval; {
	case k >= 1 && k <= 7:
		var days []int
		for i := range 7 {
			if n > 0 {
				days = append(days, 7*(n-1)+1+i)
			} else {
				days = append(days, -7+i)
			}
		}
		return []monthDates{{[]int{k - 1}, days, fmt.Sprintf("BYDAY=%d%s", n, ruleDays[k-1])}}, ""
	case k == 8:
		return []monthDates{{days: []int{n}}}, ""
	case k == 9:
		return nthOf(n, func(d time.Weekday) bool { return d != time.Sunday && d != time.Saturday }), ""
	case k == 10:
		return nthOf(n, func(d time.Weekday) bool { return d == time.Sunday || d == time.Saturday }), ""
	}
	return nil, fmt.Sprintf("invalid freq_interval %d: want 1 to 10", s.FreqInterval)
}

// months holds every factor-th month, beginning with the month of start.
type months struct {
	factor int
	start  time.Time
}

// rule returns the rule for dates of the months.
func (m months) rule(weekdays, days []int) dayRule {
	return dayRule{fmt.Sprintf("FREQ=MONTHLY;INTERVAL=%d%s", m.factor, datesRule(weekdays, days)), m.start}
}

// datesRule returns the parts BYDAY and BYMONTHDAY of a rule for dates.
func datesRule(weekdays, days []int) string {
	text := ""
	if weekdays != nil {
		var names []string
		for _, d := range weekdays {
			names = append(names, ruleDays[d%7])
		}
		text = ";BYDAY=" + strings.Join(names, ",")
	}
	return text + ";BYMONTHDAY=" + joined(days)
}

func joined(numbers []int) string {
	texts := make([]string, len(numbers))
	for i, n := range numbers {
		texts[i] = fmt.Sprint(n)
	}
	return strings.Join(texts, ",")
}

// after returns the rules for the days after the dates of d. The day after is the next date of the
// month or, after its last day, the first of the next month. missing reports whether that first may
// be a 1 March that no rule covers (see lostNight).
func (m months) after(d monthDates) (rules []dayRule, missing bool) {
	var weekdays []int
	for _, w := range d.weekdays {
		weekdays = append(weekdays, w+1)
	}
	var later []int
	for _, day := range d.days {
		if day != -1 && day != 31 {
			later = append(later, day+1)
		}
	}
	if later != nil {
		rule := m.rule(weekdays, later)
		rule.from = m.start.AddDate(0, 0, 1)
		if rule.from.Month() != m.start.Month() {
			// INTERVAL counts months from the month of rule.from, so rule.from stays in the start
			// month. The last second of that month comes after every time in the second part of a
			// window.
			rule.from = m.start.Add((daySeconds - 1) * time.Second)
		}
		rules = append(rules, rule)
	}
	// The months in BYMONTH follow a month that has exactly this number of days.
	lastDays := map[int]string{-1: "", 31: ";BYMONTH=1,2,4,6,8,9,11", 30: ";BYMONTH=5,7,10,12"}
	for _, day := range d.days {
		if byMonth, ends := lastDays[day]; ends {
			rule := m.rule(weekdays, []int{1})
			rule.rule += byMonth
			rule.from = time.Date(m.start.Year(), m.start.Month()+1, 1, 0, 0, 0, 0, time.UTC)
			rules = append(rules, rule)
		}
		if day != 28 && day != 29 {
			continue
		}
		// 1 March is day 60 of a year whose February has 28 days, and day 61 if February has 29
		// days.
		switch {
		case 12%m.factor != 0:
			missing = true
		case (14-int(m.start.Month()))%m.factor == 0: // the months include February, every year
			rules = append(rules, dayRule{fmt.Sprintf("FREQ=YEARLY;BYMONTH=3;BYYEARDAY=%d%s", day+32, datesRule(weekdays, []int{1})), m.start.AddDate(0, 0, 1)})
		}
	}
	return rules, missing
}

// nthOf returns the dates of the n-th day of a month (-1: the last) among the weekdays that counts
// selects. BYSETPOS cannot express these dates because it also counts times of day. The weekday of
// a month's first (or last) day determines both the weekday and the date of the n-th such day, so
// each entry combines weekdays with dates.
func nthOf(n int, counts func(time.Weekday) bool) (list []monthDates) {
	dates := map[int][]int{}
	for first := range 7 { // the weekday of the first day, or of the last one
		found := 0
		for d := 1; ; d++ {
			day := (first + d - 1) % 7
			if n < 0 {
				day = (first - d + 8) % 7
			}
			if !counts(time.Weekday(day)) {
				continue
			}
			if found++; found == max(n, 1) {
				if n < 0 {
					d = -d
				}
				dates[day] = append(dates[day], d)
				break
			}
		}
	}
	for day := range 7 { // combine weekdays that have the same dates
		days := dates[day]
		if days == nil {
			continue
		}
		slices.Sort(days)
		if i := slices.IndexFunc(list, func(l monthDates) bool { return slices.Equal(l.days, days) }); i >= 0 {
			list[i].weekdays = append(list[i].weekdays, day)
		} else {
			list = append(list, monthDates{weekdays: []int{day}, days: days})
		}
	}
	return list
}

// agentSchedule converts a schedule of SQL Server Agent to one or more schedules, which together
// have the same due instants.
func (r *Result) agentSchedule(job *Job, s AgentSchedule, jobEnabled bool) {
	element := fmt.Sprintf("schedule %q", s.Name)
	rules, notes, problem := agentRules(s)
	if problem != "" {
		r.lost(job.Name, element, "%s", problem)
		return
	}
	for _, n := range notes {
		if n == lostNight {
			r.lost(job.Name, element, "%s", n)
		} else {
			r.note(job.Name, element, "%s", n)
		}
	}
	var list []Schedule
	for _, rule := range rules {
		// SQL Server Agent does not catch up missed runs.
		list = append(list, Schedule{
			Kind: schedule.KindRRule, Spec: rule.spec(), Zone: r.opts.Zone, CatchUp: "none", Enabled: jobEnabled && s.Enabled,
		})
	}
	r.addSchedules(job, element, s.Name, list)
}
