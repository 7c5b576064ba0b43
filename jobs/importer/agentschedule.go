package importer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule"
)

// AgentSchedule is a row of msdb.dbo.sysschedules, in its encodings (dates yyyymmdd, times hhmmss):
// https://learn.microsoft.com/sql/relational-databases/system-tables/dbo-sysschedules-transact-sql
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

// Values of freq_type.
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
	// openEnd is an active_end_date that means: no end.
	openEnd = 99991231
	// maxSplit is into how many schedules one is divided at most.
	maxSplit = 64
)

// ruleDays are RFC 5545's names of weekdays, Sunday first as in SQL Server Agent's encodings.
var ruleDays = []string{"SU", "MO", "TU", "WE", "TH", "FR", "SA"}

// agentRule is one rule of RFC 5545 with its bounds, which together are due at some of a schedule's instants.
type agentRule struct {
	days       string // the rule without times of day
	times      clockTimes
	start, end string // local times; empty: no end
}

// spec is the rule as a schedule of the kind rrule.
func (a agentRule) spec() string {
	object := struct {
		Rule  string `json:"rrule"`
		Start string `json:"startTime"`
		End   string `json:"endTime,omitempty"`
	}{a.days + a.times.rule(), a.start, a.end}
	text, err := json.Marshal(object)
	if err != nil { // strings only
		return ""
	}
	return string(text)
}

// clockTimes is every hour with every minute with every second of three lists.
type clockTimes struct{ hours, minutes, seconds []int }

func (c clockTimes) rule() string {
	if c.hours == nil {
		return ""
	}
	list := func(numbers []int) string {
		texts := make([]string, len(numbers))
		for i, n := range numbers {
			texts[i] = fmt.Sprint(n)
		}
		return strings.Join(texts, ",")
	}
	return ";BYHOUR=" + list(c.hours) + ";BYMINUTE=" + list(c.minutes) + ";BYSECOND=" + list(c.seconds)
}

// agentRules says when a schedule of SQL Server Agent is due. problem says why it cannot be said; notes are what somebody should
// know. On each of its days a schedule is due at the start of its window, and each interval later until its window ends; a
// window that ends before it starts goes on to the next day, of which the date does not matter
// (https://learn.microsoft.com/archive/blogs/sqlagent/more-scheduling-tips-and-tricksstarttime-and-endtime).
func agentRules(s AgentSchedule) (rules []agentRule, notes []string, problem string) {
	switch s.FreqType {
	case freqAgentStart:
		return nil, nil, "it runs the job when SQL Server Agent starts (freq_type 64), for which there is no schedule here"
	case freqIdle:
		return nil, nil, "it runs the job when the processors are idle (freq_type 128), for which there is no schedule here"
	case freqOnce, freqDaily, freqWeekly, freqMonthly, freqMonthlyRelative:
	default:
		return nil, nil, fmt.Sprintf("freq_type %d is none of 1, 4, 8, 16, 32, 64, 128", s.FreqType)
	}
	startDay, ok := agentDate(s.ActiveStartDate)
	if !ok {
		return nil, nil, fmt.Sprintf("active_start_date %d is no date", s.ActiveStartDate)
	}
	from, ok := agentTime(s.ActiveStartTime)
	if !ok {
		return nil, nil, fmt.Sprintf("active_start_time %d is no time of day", s.ActiveStartTime)
	}
	if s.FreqType == freqOnce {
		at := startDay.Add(time.Duration(from) * time.Second).Format(localTime)
		return []agentRule{{days: "FREQ=DAILY", start: at, end: at}}, nil, ""
	}
	endDay := time.Time{}
	if s.ActiveEndDate != openEnd && s.ActiveEndDate != 0 {
		if endDay, ok = agentDate(s.ActiveEndDate); !ok || endDay.Before(startDay) {
			return nil, nil, fmt.Sprintf("active_end_date %d is no date from active_start_date %d on", s.ActiveEndDate, s.ActiveStartDate)
		}
	}
	window, problem := agentWindow(s, from)
	if problem != "" {
		return nil, nil, problem
	}
	same, next, problem := agentDays(s, startDay)
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
		if next == nil {
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

// lostNight is the note about the part of a monthly window that lies after midnight and cannot be said.
const lostNight = "its window goes on after midnight, and the day after such a day of the month is no rule: the runs after midnight are not made; " +
	"add a schedule for them (jobs.sp_add_schedule)"

// localTime is a time without an offset, which is in the schedule's zone.
const localTime = "2006-01-02T15:04:05"

func agentDate(n int) (time.Time, bool) {
	t := time.Date(n/10000, time.Month(n/100%100), n%100, 0, 0, 0, 0, time.UTC)
	return t, n > 0 && t.Year()*10000+int(t.Month())*100+t.Day() == n
}

func agentTime(n int) (second int, ok bool) {
	h, m, s := n/10000, n/100%100, n%100
	return h*3600 + m*60 + s, n >= 0 && h < 24 && m < 60 && s < 60
}

// subdayUnits are the values of freq_subday_type that mean an interval.
var subdayUnits = map[int]struct {
	name    string
	seconds int
}{2: {"seconds", 1}, 4: {"minutes", 60}, 8: {"hours", 3600}}

// agentTimes are the times of day of a window, in seconds: on its day, and on the day after it.
type agentTimes struct{ same, next []int }

// agentWindow lists the times of day of a schedule whose window starts at from.
func agentWindow(s AgentSchedule, from int) (times agentTimes, problem string) {
	if s.FreqSubdayType == 0 || s.FreqSubdayType == 1 {
		return agentTimes{same: []int{from}}, ""
	}
	unit, ok := subdayUnits[s.FreqSubdayType]
	if !ok {
		return times, fmt.Sprintf("freq_subday_type %d is none of 1, 2, 4, 8", s.FreqSubdayType)
	}
	to, ok := agentTime(s.ActiveEndTime)
	if !ok || to == from {
		return times, fmt.Sprintf("active_end_time %d is no time of day other than active_start_time", s.ActiveEndTime)
	}
	if s.FreqSubdayInterval < 1 || s.FreqSubdayInterval > daySeconds {
		return times, fmt.Sprintf("freq_subday_interval %d is no number from 1 on", s.FreqSubdayInterval)
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

// divide writes times of day, ascending, as lists of hours, minutes and seconds of which every combination is meant.
func divide(times []int) []clockTimes {
	group := func(numbers []int, key func(int) string) (keys []string, members map[string][]int) {
		members = map[string][]int{}
		for _, n := range numbers {
			k := key(n)
			if members[k] == nil {
				keys = append(keys, k)
			}
			members[k] = append(members[k], n)
		}
		return keys, members
	}
	distinct := func(of func(int) int) []int {
		var list []int
		for _, t := range times {
			if n := of(t); !slices.Contains(list, n) {
				list = append(list, n)
			}
		}
		return list
	}
	at := make(map[int]bool, len(times))
	for _, t := range times {
		at[t] = true
	}
	// The minutes of an hour, by their seconds; then the hours in which such a pair is the same.
	pairs := map[string]clockTimes{}
	var order []string
	for _, hour := range distinct(func(t int) int { return t / 3600 }) {
		seconds := map[string][]int{}
		var minutes []int
		for m := range 60 {
			var list []int
			for s := range 60 {
				if at[hour*3600+m*60+s] {
					list = append(list, s)
				}
			}
			if list != nil {
				minutes = append(minutes, m)
				seconds[fmt.Sprint(m)] = list
			}
		}
		keys, members := group(minutes, func(m int) string { return fmt.Sprint(seconds[fmt.Sprint(m)]) })
		for _, k := range keys {
			pair := fmt.Sprint(k, members[k])
			c, known := pairs[pair]
			if !known {
				order = append(order, pair)
				c = clockTimes{minutes: members[k], seconds: seconds[fmt.Sprint(members[k][0])]}
			}
			c.hours = append(c.hours, hour)
			pairs[pair] = c
		}
	}
	list := make([]clockTimes, len(order))
	for i, k := range order {
		list[i] = pairs[k]
	}
	return list
}

// dayRule is a rule for days, from a day on.
type dayRule struct {
	rule string
	from time.Time
}

// agentDays are the days of a schedule, and the days after them; next is nil where no rule says those.
func agentDays(s AgentSchedule, start time.Time) (same, next []dayRule, problem string) {
	tomorrow := start.AddDate(0, 0, 1)
	one := func(rule string, from time.Time) []dayRule { return []dayRule{{rule, from}} }
	factor := s.FreqRecurrenceFactor
	if factor < 1 && s.FreqType != freqDaily {
		return nil, nil, fmt.Sprintf("freq_recurrence_factor %d is no number from 1 on", factor)
	}
	switch s.FreqType {
	case freqDaily:
		if s.FreqInterval < 1 {
			return nil, nil, fmt.Sprintf("freq_interval %d is no number of days from 1 on", s.FreqInterval)
		}
		rule := fmt.Sprintf("FREQ=DAILY;INTERVAL=%d", s.FreqInterval)
		return one(rule, start), one(rule, tomorrow), ""
	case freqWeekly:
		if s.FreqInterval < 1 || s.FreqInterval > 127 {
			return nil, nil, fmt.Sprintf("freq_interval %d is no set of weekdays (1 to 127)", s.FreqInterval)
		}
		var days, after []string
		for i := range 7 {
			if s.FreqInterval>>i&1 == 1 {
				days, after = append(days, ruleDays[i]), append(after, ruleDays[(i+1)%7])
			}
		}
		// The days after those of a week that begins on Sunday are those of one that begins on Monday.
		rule := "FREQ=WEEKLY;INTERVAL=%d;WKST=%s;BYDAY=%s"
		return one(fmt.Sprintf(rule, factor, "SU", strings.Join(days, ",")), start),
			one(fmt.Sprintf(rule, factor, "MO", strings.Join(after, ",")), tomorrow), ""
	case freqMonthly:
		if s.FreqInterval < 1 || s.FreqInterval > 31 {
			return nil, nil, fmt.Sprintf("freq_interval %d is no day of a month", s.FreqInterval)
		}
		rule := fmt.Sprintf("FREQ=MONTHLY;INTERVAL=%d;BYMONTHDAY=", factor)
		same = one(fmt.Sprint(rule, s.FreqInterval), start)
		if s.FreqInterval <= 27 { // every month has the day after it
			next = one(fmt.Sprint(rule, s.FreqInterval+1), firstAfter(start))
		}
		return same, next, ""
	}
	return relativeDays(s, start)
}

// firstAfter is where rules begin for the days after those of a schedule: the months are counted from the schedule's, so that
// rules with an interval must begin in its month, and no day after one before the start may count.
func firstAfter(start time.Time) time.Time {
	if after := start.AddDate(0, 0, 1); after.Month() == start.Month() {
		return after
	}
	// The start is the last day of its month, and no day of it is due that has a later one in the month: the next month that
	// counts is the same whether it is counted from here.
	return start
}

// relativeDays are days such as the second Tuesday, the last day, the first weekday of a month.
func relativeDays(s AgentSchedule, start time.Time) (same, next []dayRule, problem string) {
	n, known := map[int]int{1: 1, 2: 2, 4: 3, 8: 4, 16: -1}[s.FreqRelativeInterval]
	if !known {
		return nil, nil, fmt.Sprintf("freq_relative_interval %d is none of 1, 2, 4, 8, 16", s.FreqRelativeInterval)
	}
	month := fmt.Sprintf("FREQ=MONTHLY;INTERVAL=%d", s.FreqRecurrenceFactor)
	one := func(rule string, from time.Time) []dayRule { return []dayRule{{rule, from}} }
	switch k := s.FreqInterval; {
	case k >= 1 && k <= 7:
		same = one(fmt.Sprintf("%s;BYDAY=%d%s", month, n, ruleDays[k-1]), start)
		if n >= 1 && n <= 3 {
			var days []string
			for d := 7*(n-1) + 2; d <= 7*n+1; d++ {
				days = append(days, fmt.Sprint(d))
			}
			next = one(fmt.Sprintf("%s;BYDAY=%s;BYMONTHDAY=%s", month, ruleDays[k%7], strings.Join(days, ",")), firstAfter(start))
		}
		return same, next, ""
	case k == 8:
		same = one(fmt.Sprintf("%s;BYMONTHDAY=%d", month, n), start)
		if n > 0 {
			return same, one(fmt.Sprintf("%s;BYMONTHDAY=%d", month, n+1), firstAfter(start)), ""
		}
		// The day after the last one is the first of the next month.
		first := time.Date(start.Year(), start.Month()+1, 1, 0, 0, 0, 0, time.UTC)
		return same, one(month+";BYMONTHDAY=1", first), ""
	case k == 9:
		same, next = nthOf(month, start, n, func(d time.Weekday) bool { return d != time.Sunday && d != time.Saturday })
		return same, next, ""
	case k == 10:
		same, next = nthOf(month, start, n, func(d time.Weekday) bool { return d == time.Sunday || d == time.Saturday })
		return same, next, ""
	}
	return nil, nil, fmt.Sprintf("freq_interval %d is none of 1 to 10", s.FreqInterval)
}

// nthOf are the n-th days of a month (-1: the last) among those of some weekdays. BYSETPOS does not say them: it counts times
// of day. But a month that begins on a given weekday has its n-th such day on a given date, and the two together say which.
func nthOf(month string, start time.Time, n int, counts func(time.Weekday) bool) (same, next []dayRule) {
	dates := map[time.Weekday][]int{}
	for first := range 7 { // the weekday of the first day, or of the last one
		found := 0
		for d := 1; ; d++ {
			day := time.Weekday((first + d - 1) % 7)
			if n < 0 {
				day = time.Weekday((first - d + 8) % 7)
			}
			if !counts(day) {
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
	rules := func(shift int, from time.Time) (list []dayRule) {
		byDates := map[string][]string{}
		var order []string
		for day := range 7 {
			days := dates[time.Weekday(day)]
			if days == nil {
				continue
			}
			slices.Sort(days)
			texts := make([]string, len(days))
			for i, d := range days {
				texts[i] = fmt.Sprint(d + shift)
			}
			key := strings.Join(texts, ",")
			if byDates[key] == nil {
				order = append(order, key)
			}
			byDates[key] = append(byDates[key], ruleDays[(day+shift)%7])
		}
		for _, key := range order {
			list = append(list, dayRule{fmt.Sprintf("%s;BYDAY=%s;BYMONTHDAY=%s", month, strings.Join(byDates[key], ","), key), from})
		}
		return list
	}
	same = rules(0, start)
	if n > 0 { // at most the 12th, the fourth day of a weekend
		next = rules(1, firstAfter(start))
	}
	return same, next
}

// agentSchedule turns a schedule of SQL Server Agent into those that are due when it is.
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
	if len(rules) > 1 {
		r.changed(job.Name, element, "it becomes %d schedules, which together are due when it is", len(rules))
	}
	for i, rule := range rules {
		name := s.Name
		if len(rules) > 1 {
			short, _ := cut(s.Name, maxName-24)
			name = fmt.Sprintf("%s [%d of %d]", short, i+1, len(rules))
		}
		// Missed runs are not made up by SQL Server Agent.
		r.addSchedule(job, element, element, Schedule{
			Name: r.scheduleName(job, element, name), Kind: schedule.KindRRule, Spec: rule.spec(), Zone: r.opts.Zone, CatchUp: "none",
			Enabled: jobEnabled && s.Enabled,
		})
	}
}
