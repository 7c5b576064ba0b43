package importer

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule"
)

// quartzRule holds one schedule of a trigger.
type quartzRule struct {
	kind       schedule.Kind
	rule       string // a recurrence rule, or the line of Quartz
	start, end time.Time
	zone, gap  string
}

// spec returns the specification of the rule.
func (q quartzRule) spec() string {
	element := struct {
		Cron  string `json:"cron,omitempty"`
		Rule  string `json:"rrule,omitempty"`
		Start string `json:"startTime,omitempty"`
		End   string `json:"endTime,omitempty"`
		Gap   string `json:"gap,omitempty"`
	}{Rule: q.rule, Gap: q.gap}
	if q.kind == schedule.KindQuartz {
		element.Cron, element.Rule = q.rule, ""
	}
	if !q.start.IsZero() {
		element.Start = q.start.UTC().Format(utcTime)
	}
	if !q.end.IsZero() {
		element.End = q.end.UTC().Format(utcTime)
	}
	text, err := json.Marshal(element)
	if err != nil { // cannot fail: the struct has only strings
		return ""
	}
	return string(text)
}

// finish ends a rule before an instant.
func (q *quartzRule) finish(now time.Time) {
	end := now.Add(-time.Second).Truncate(time.Second)
	if q.end.IsZero() || q.end.After(end) {
		q.end = end
	}
	if q.start.After(q.end) {
		q.start = q.end
	}
}

// quartzRules returns the rules of a trigger, or the problem that prevents a translation.
func (r *Result) quartzRules(job, at string, t *QuartzTrigger) (rules []quartzRule, problem string) {
	if t.Missing {
		return nil, fmt.Sprintf("the table of triggers of the type %s has no row for it", t.Type)
	}
	start, ticks := quartzTime(t.Start)
	if start.IsZero() {
		return nil, "it has no START_TIME"
	}
	end, _ := quartzTime(t.End)
	zone := r.opts.Zone
	if name := t.zone(); name != "" {
		var err error
		if zone, err = Zone(name); err != nil {
			return nil, fmt.Sprintf("TIME_ZONE_ID %q is not a known zone", name)
		}
	} else if t.Type != "SIMPLE" {
		r.note(job, at+".TIME_ZONE_ID", "it is empty: Quartz takes the zone of its machine, here %s is taken (--zone)", zone)
	}
	if t.Type == "SIMPLE" || t.Type == "CAL_INT" || t.Type == "RECUR" {
		if start.Nanosecond() != 0 {
			r.changed(job, at+".START_TIME", "the fraction of a second is left out: it is due up to a second earlier")
			start = start.Truncate(time.Second)
		}
	}
	switch t.Type {
	case "CRON":
		// Lines are due until END_TIME, which counts.
		rule := quartzRule{kind: schedule.KindQuartz, rule: t.Cron, zone: zone, end: end.Truncate(time.Second)}
		if start.After(r.opts.Now) {
			rule.start = start.Add(time.Second - 1).Truncate(time.Second)
		}
		return []quartzRule{rule}, ""
	case "SIMPLE":
		return t.simple(start, end)
	case "CAL_INT":
		return t.calendarInterval(start, end, zone)
	case "DAILY_I":
		rules, problem := r.dailyInterval(job, at, t, start, end, zone, ticks)
		return rules, problem
	case "RECUR":
		rule := quartzRule{kind: schedule.KindRRule, rule: t.Text1, start: start, end: before(end), zone: zone}
		rule.boundCount()
		return []quartzRule{rule}, ""
	case "BLOB":
		return nil, "it is a trigger of another class, whose data are serialised (BLOB_TRIGGERS)"
	}
	return nil, "invalid TRIGGER_TYPE: want CRON, SIMPLE, CAL_INT, DAILY_I or RECUR"
}

// zone returns the name of the zone of a trigger. Java, and Quartz.NET before 2.6, keep that of
// CAL_INT in another column.
func (t *QuartzTrigger) zone() string {
	if t.Zone == "" && t.Type == "CAL_INT" {
		return t.Text2
	}
	return t.Zone
}

// before returns the last second before an instant that does not count; zero if there is none.
func before(end time.Time) time.Time {
	if end.IsZero() {
		return end
	}
	return end.Add(-1).Truncate(time.Second)
}

// earlier returns the earlier of two ends; a zero one means no end.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// simple returns the rule of a SIMPLE trigger: elapsed time from its start. Its END_TIME does not
// count.
func (t *QuartzTrigger) simple(start, end time.Time) ([]quartzRule, string) {
	rule := quartzRule{kind: schedule.KindRRule, start: start, end: before(end), zone: "UTC"}
	switch {
	case t.RepeatCount == 0:
		rule.rule, rule.end = "FREQ=DAILY", start
		if !end.IsZero() && !start.Before(end) {
			return nil, "END_TIME is not after START_TIME"
		}
		return []quartzRule{rule}, ""
	case t.Interval <= 0 || t.Interval%1000 != 0:
		return nil, fmt.Sprintf("REPEAT_INTERVAL %d is not a number of whole seconds in milliseconds", t.Interval)
	}
	seconds := t.Interval / 1000
	rule.rule = elapsedRule(seconds)
	// Quartz ends a trigger by its grid, so that runs which it missed count too.
	if t.RepeatCount > 0 && t.RepeatCount < (1<<62)/seconds/int64(time.Second) {
		rule.end = earlier(rule.end, start.Add(time.Duration(t.RepeatCount*seconds)*time.Second))
	}
	return []quartzRule{rule}, ""
}

// calendarInterval returns the rule of a CAL_INT trigger. Without Bool1
// (PreserveHourOfDayAcrossDaylightSavings), days and longer units keep the offset of the start.
// With it, an hour that does not exist is the end of the gap, or, with Bool2, none. END_TIME does
// not count.
func (t *QuartzTrigger) calendarInterval(start, end time.Time, zone string) ([]quartzRule, string) {
	n := t.Int1
	if n < 1 || n > 1<<31 {
		return nil, fmt.Sprintf("the interval %d is not from 1 on", n)
	}
	rule := quartzRule{kind: schedule.KindRRule, start: start, end: before(end), zone: zone}
	location, err := schedule.LoadZone(zone)
	if err != nil {
		return nil, "its zone has no rules here"
	}
	unit := strings.ToUpper(t.Text1)
	if seconds, is := map[string]int64{"SECOND": 1, "MINUTE": 60, "HOUR": 3600}[unit]; is {
		rule.rule, rule.zone = elapsedRule(n*seconds), "UTC"
		return []quartzRule{rule}, ""
	}
	frequency, is := map[string]string{"DAY": "DAILY", "WEEK": "WEEKLY", "MONTH": "MONTHLY", "YEAR": "YEARLY"}[unit]
	if !is {
		return nil, "invalid unit: want Second, Minute, Hour, Day, Week, Month or Year"
	}
	local := start.In(location)
	if unit == "MONTH" || unit == "YEAR" {
		if local.Day() > 28 {
			return nil, "it starts on the 29th or later: Quartz moves it to a shorter month's last day and keeps that day, which no schedule here does"
		}
		if !t.Bool1 && start.Day() != local.Day() && (start.Day() > 28 || start.Month() != local.Month()) {
			return nil, "it keeps the offset of its start, in which its day is another month's: set PreserveHourOfDayAcrossDaylightSavings, then import it"
		}
	}
	rule.rule = "FREQ=" + frequency + every(int(n))
	switch {
	case !t.Bool1:
		rule.zone = "UTC"
	case t.Bool2:
		rule.gap = "skip"
	default:
		rule.gap = "at_end"
	}
	return []quartzRule{rule}, ""
}

// dailyInterval returns the rules of a DAILY_I trigger: on days of a week, from a time of day on,
// each interval until a time of day. ticks means the numbers of weekdays of .NET (Sunday is 0)
// instead of Java's (Sunday is 1).
func (r *Result) dailyInterval(job, at string, t *QuartzTrigger, start, end time.Time, zone string, ticks bool) (rules []quartzRule, problem string) {
	seconds := t.Int1 * map[string]int64{"SECOND": 1, "MINUTE": 60, "HOUR": 3600}[strings.ToUpper(t.Text1)]
	if t.Int1 < 1 || t.Int1 > daySeconds || seconds < 1 || seconds > daySeconds {
		return nil, "its interval is not one of seconds, minutes or hours, up to 24 hours"
	}
	var days []string
	for text := range strings.SplitSeq(t.Text2, ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if !ticks {
			n--
		}
		if err != nil || n < 0 || n > 6 {
			return nil, "its days of the week (STR_PROP_2) are not numbers of weekdays"
		}
		if !slices.Contains(days, ruleDays[n]) {
			days = append(days, ruleDays[n])
		}
	}
	from, to, ok := quartzWindow(t.Text3)
	if !ok || to < from {
		return nil, "its times of day (STR_PROP_3) are not two times in their order"
	}
	var times []int
	for at := from; at <= to; at += int(seconds) {
		times = append(times, at)
	}
	parts := divide(times)
	if len(parts) > maxSplit {
		return nil, fmt.Sprintf("its times of day (every %d s) need %d schedules here, more than %d: choose an interval that divides an hour", seconds, len(parts), maxSplit)
	}
	rule := "FREQ=DAILY"
	if len(days) > 0 && len(days) < 7 {
		rule = "FREQ=WEEKLY;BYDAY=" + strings.Join(days, ",")
	}
	for _, c := range parts {
		rules = append(rules, quartzRule{kind: schedule.KindRRule, rule: rule + c.rule(), zone: zone,
			start: start.Add(time.Second - 1).Truncate(time.Second), end: end.Truncate(time.Second)})
	}
	if zone != "UTC" && len(times) > 1 {
		r.note(job, at, "its times are clock times here; Quartz counts the interval from the first time of a day, which differs in the night when clocks are changed")
	}
	if t.Long1 >= 0 {
		return r.boundRuns(rules, min(t.Long1, math.MaxInt32)+1-t.Int2, t) // the sum must not overflow
	}
	return rules, ""
}

// quartzWindow parses the times of day of a DAILY_I trigger: six numbers. Missing ones mean the
// whole day.
func quartzWindow(text string) (from, to int, ok bool) {
	var n []int
	for part := range strings.SplitSeq(text, ",") {
		if part == "" {
			continue
		}
		value, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || value < 0 || value > 59 {
			return 0, 0, false
		}
		n = append(n, value)
	}
	to = daySeconds - 1
	if len(n) >= 3 {
		from = n[0]*3600 + n[1]*60 + n[2]
	}
	if len(n) >= 6 {
		to = n[3]*3600 + n[4]*60 + n[5]
	}
	return from, to, from < daySeconds && to < daySeconds
}

// maxCounted is the largest number of runs whose last instant is looked for one by one.
const maxCounted = 50000

// boundRuns ends rules, which are due together, after a number of runs from the next one on.
func (r *Result) boundRuns(rules []quartzRule, left int64, t *QuartzTrigger) ([]quartzRule, string) {
	at, _ := quartzTime(t.Next)
	if at.IsZero() {
		at = r.opts.Now
	}
	if left > maxCounted {
		return nil, fmt.Sprintf("%d runs are left, at most %d can be counted", left, maxCounted)
	}
	var plans []*schedule.Plan
	for _, rule := range rules {
		plan, err := schedule.Parse(rule.kind, []byte(rule.spec()), schedule.Options{Zone: rule.zone})
		if err == nil { // faults are reported later
			plans = append(plans, plan)
		}
	}
	last := at.Truncate(time.Second).Add(-time.Second)
	next := make([]time.Time, len(plans)) // the next instant of each plan; zero if there is none
	for i, plan := range plans {
		next[i], _ = plan.Next(last)
	}
	for range max(left, 0) {
		first := time.Time{}
		for _, due := range next {
			first = earlier(first, due)
		}
		if first.IsZero() {
			return rules, ""
		}
		last = first
		for i, plan := range plans {
			if next[i].Equal(last) {
				next[i], _ = plan.Next(last)
			}
		}
	}
	for i := range rules {
		rules[i].end = earlier(rules[i].end, last)
		if rules[i].start.After(rules[i].end) {
			rules[i].start = rules[i].end
		}
	}
	return rules, ""
}

// countPart matches the part COUNT of a recurrence rule.
var countPart = regexp.MustCompile(`(?i)(^|;)\s*COUNT\s*=\s*(\d+)`)

// boundCount replaces COUNT of a rule by the end at which the count is reached from the start on:
// here a count is one of the runs that jobagent starts (D-P3). A rule with faults stays as it is.
func (q *quartzRule) boundCount() {
	if !countPart.MatchString(q.rule) {
		return
	}
	whole := *q
	whole.end = time.Time{}
	last := lastOf(whole.kind, whole.spec(), whole.zone)
	if last.IsZero() {
		return
	}
	q.rule = strings.Trim(countPart.ReplaceAllString(q.rule, ""), ";")
	q.end = earlier(q.end, last)
}

// lastOf returns the last instant of a specification with a COUNT; zero if it has none or faults.
func lastOf(kind schedule.Kind, spec, zone string) time.Time {
	plan, err := schedule.Parse(kind, []byte(spec), schedule.Options{Zone: zone})
	if err != nil {
		return time.Time{}
	}
	// Search the last second after which something is due: counts may be large.
	from, to := time.Unix(-1<<36, 0), time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	last, ok := plan.Next(from)
	for ok && to.Unix()-from.Unix() > 1 {
		middle := time.Unix((from.Unix()+to.Unix())/2, 0)
		if due, ok := plan.Next(middle); ok {
			last, from = due, due.Add(-time.Second)
			if !from.After(middle) {
				from = middle
			}
		} else {
			to = middle
		}
	}
	return last
}
