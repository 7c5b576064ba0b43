package importer

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/schedule"
)

// agentDue computes the due instants of SQL Server Agent's rule day by day: on each date of the
// schedule, the start of the window and then each interval until the window ends. It shares no code
// with the translation. limit is the last date that it considers.
func agentDue(s AgentSchedule, zone *time.Location, limit time.Time) []time.Time {
	date := func(n int) time.Time { return time.Date(n/10000, time.Month(n/100%100), n%100, 0, 0, 0, 0, time.UTC) }
	clock := func(n int) int { return n/10000*3600 + n/100%100*60 + n%100 }
	first := date(s.ActiveStartDate)
	last := limit
	if end := date(s.ActiveEndDate); end.Before(last) {
		last = end
	}
	from, to := clock(s.ActiveStartTime), clock(s.ActiveEndTime)
	step := map[int]int{2: 1, 4: 60, 8: 3600}[s.FreqSubdayType] * s.FreqSubdayInterval
	if s.FreqType == freqOnce { // SQL Server ignores the interval
		step = 0
	}
	if to < from {
		to += 86400
	}
	var due []time.Time
	for day := first; !day.After(last); day = day.AddDate(0, 0, 1) {
		if !agentDueOn(s, first, day) {
			continue
		}
		for at := from; at <= to; at += step {
			due = append(due, wallInstant(day.Add(time.Duration(at)*time.Second), zone))
			if step == 0 {
				break
			}
		}
	}
	slices.SortFunc(due, time.Time.Compare)
	return slices.CompactFunc(due, time.Time.Equal)
}

// agentDueOn reports whether day is a date of the schedule. first is the schedule's start date.
func agentDueOn(s AgentSchedule, first, day time.Time) bool {
	days := int(day.Sub(first).Hours() / 24)
	months := (day.Year()-first.Year())*12 + int(day.Month()) - int(first.Month())
	counts := func(d time.Time) bool {
		weekend := d.Weekday() == time.Saturday || d.Weekday() == time.Sunday
		switch s.FreqInterval {
		case 8:
			return true
		case 9:
			return !weekend
		case 10:
			return weekend
		}
		return int(d.Weekday()) == s.FreqInterval-1
	}
	switch s.FreqType {
	case freqOnce:
		return days == 0
	case freqDaily:
		return days%s.FreqInterval == 0
	case freqWeekly:
		weeks := (days + int(first.Weekday())) / 7
		return weeks%s.FreqRecurrenceFactor == 0 && s.FreqInterval&(1<<day.Weekday()) != 0
	case freqMonthly:
		return months%s.FreqRecurrenceFactor == 0 && day.Day() == s.FreqInterval
	}
	if months%s.FreqRecurrenceFactor != 0 || !counts(day) {
		return false
	}
	before, after := 0, 0
	for d := day.AddDate(0, 0, -1); d.Month() == day.Month(); d = d.AddDate(0, 0, -1) {
		if counts(d) {
			before++
		}
	}
	for d := day.AddDate(0, 0, 1); d.Month() == day.Month(); d = d.AddDate(0, 0, 1) {
		if counts(d) {
			after++
		}
	}
	switch s.FreqRelativeInterval {
	case 1, 2:
		return before == s.FreqRelativeInterval-1
	case 4:
		return before == 2
	case 8:
		return before == 3
	}
	return after == 0
}

// wallInstant returns the instant at which the clocks of a zone show the wall time (given in UTC).
// For a wall time that occurs twice it returns the first instant. A wall time in a gap is converted
// with the offset before the gap.
func wallInstant(wall time.Time, zone *time.Location) time.Time {
	_, early := wall.Add(-36 * time.Hour).In(zone).Zone()
	_, late := wall.Add(36 * time.Hour).In(zone).Zone()
	for _, offset := range []int{max(early, late), min(early, late)} { // the larger offset gives the earlier instant
		at := wall.Add(-time.Duration(offset) * time.Second)
		if _, o := at.In(zone).Zone(); o == offset {
			return at
		}
	}
	return wall.Add(-time.Duration(early) * time.Second)
}

// ruleDue returns the due instants of all rules before until. In UTC it fails the test if two rules
// are due at the same instant.
func ruleDue(t *testing.T, s AgentSchedule, rules []agentRule, zone string, until time.Time) []time.Time {
	t.Helper()
	var due []time.Time
	for _, rule := range rules {
		plan, err := schedule.Parse(schedule.KindRRule, []byte(rule.spec()), schedule.Options{Zone: zone})
		if err != nil && strings.Contains(err.Error(), "matches none") {
			continue
		}
		require.NoError(t, err, "%+v: %s", s, rule.spec())
		n := len(due)
		for at, ok := plan.Next(time.Time{}); ok && at.Before(until); at, ok = plan.Next(at) {
			due = append(due, at)
		}
		// In the gap of a zone two rules may move to the same instant. Anywhere else two rules at
		// one instant would be two runs.
		if zone == "UTC" {
			for _, at := range due[n:] {
				require.False(t, slices.ContainsFunc(due[:n], at.Equal), "%+v: twice %s", s, at)
			}
		}
	}
	slices.SortFunc(due, time.Time.Compare)
	return slices.CompactFunc(due, time.Time.Equal)
}

// againstAgent compares the due instants of a translation with agentDue over a number of days.
func againstAgent(t *testing.T, s AgentSchedule, zone string, days int) {
	t.Helper()
	rules, notes, problem := agentRules(s)
	require.Empty(t, problem, "%+v", s)
	location, err := schedule.LoadZone(zone)
	require.NoError(t, err)
	first, _ := agentDate(s.ActiveStartDate)
	// The last two days are not compared, because their windows may end after limit.
	limit := first.AddDate(0, 0, days)
	until := limit.AddDate(0, 0, -2)
	want := agentDue(s, location, limit)
	if slices.Contains(notes, lostNight) { // reported as lost: 1 March after the last day of February
		february := s.FreqType == freqMonthly && s.FreqInterval >= 28 && s.FreqInterval <= 29 || s.FreqType == freqMonthlyRelative && s.FreqRelativeInterval == 8
		require.True(t, february && 12%s.FreqRecurrenceFactor != 0, "%+v", s)
		want = slices.DeleteFunc(want, func(at time.Time) bool {
			local := at.In(location)
			return local.Month() == time.March && local.Day() == 1 && local.Hour()*10000+local.Minute()*100+local.Second() <= s.ActiveEndTime
		})
	}
	want = slices.DeleteFunc(want, func(at time.Time) bool { return !at.Before(until) })
	got := ruleDue(t, s, rules, zone, until)
	require.Equal(t, len(want), len(got), "%+v in %s\nrules %+v", s, zone, rules)
	for i := range want {
		require.True(t, want[i].Equal(got[i]), "%+v in %s: want %s, got %s\nrules %+v", s, zone, want[i], got[i], rules)
	}
}

// The schedules have every kind of day rule. Their windows are one time, lie inside a day, or span
// midnight.
func TestAgentRulesAgainstEveryDay(t *testing.T) {
	t.Parallel()
	base := AgentSchedule{ActiveStartDate: 20240131, ActiveEndDate: openEnd, FreqSubdayType: 1, FreqRecurrenceFactor: 1, ActiveStartTime: 73015, ActiveEndTime: 235959}
	var all []AgentSchedule
	add := func(change func(*AgentSchedule)) {
		s := base
		change(&s)
		for _, window := range []func(*AgentSchedule){
			func(*AgentSchedule) {},
			func(s *AgentSchedule) { s.FreqSubdayType, s.FreqSubdayInterval = 8, 5 },
			func(s *AgentSchedule) {
				s.FreqSubdayType, s.FreqSubdayInterval, s.ActiveStartTime, s.ActiveEndTime = 4, 90, 220000, 60000
			},
		} {
			s := s
			window(&s)
			all = append(all, s)
		}
	}
	for _, n := range []int{1, 2, 3, 10} {
		add(func(s *AgentSchedule) { s.FreqType, s.FreqInterval = freqDaily, n })
	}
	for _, set := range []int{1, 2, 62, 64, 65, 127} {
		for _, factor := range []int{1, 2, 3} {
			add(func(s *AgentSchedule) { s.FreqType, s.FreqInterval, s.FreqRecurrenceFactor = freqWeekly, set, factor })
		}
	}
	for _, day := range []int{1, 15, 27, 28, 29, 30, 31} {
		for _, factor := range []int{1, 2, 5, 12} {
			add(func(s *AgentSchedule) { s.FreqType, s.FreqInterval, s.FreqRecurrenceFactor = freqMonthly, day, factor })
		}
	}
	for kind := 1; kind <= 10; kind++ {
		for _, nth := range []int{1, 2, 4, 8, 16} {
			for _, factor := range []int{1, 3, 5} {
				add(func(s *AgentSchedule) {
					s.FreqType, s.FreqInterval, s.FreqRelativeInterval, s.FreqRecurrenceFactor = freqMonthlyRelative, kind, nth, factor
				})
			}
		}
	}
	for i, s := range all {
		days := 800
		if s.FreqType == freqMonthlyRelative || s.FreqInterval >= 28 {
			days = 1200 // includes a leap year and other years
		}
		if s.FreqType == freqMonthly && s.FreqRecurrenceFactor == 12 {
			days = 1900
		}
		// The start dates cover every position in a week and a month.
		start := time.Date(2024, 1, 1+i%62, 0, 0, 0, 0, time.UTC)
		s.ActiveStartDate = start.Year()*10000 + int(start.Month())*100 + start.Day()
		againstAgent(t, s, "UTC", days)
	}
}

// The schedules are random, some with an end date, in four time zones.
func TestAgentRulesAgainstRandomSchedules(t *testing.T) {
	t.Parallel()
	for i, zone := range []string{"UTC", "Asia/Kolkata", "Europe/Berlin", "America/New_York"} {
		t.Run(zone, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(7, uint64(i)))
			clock := func() int { return r.IntN(24)*10000 + r.IntN(60)*100 + r.IntN(2)*r.IntN(60) }
			for range 60 {
				start := time.Date(2025, 1, 1+r.IntN(500), 0, 0, 0, 0, time.UTC)
				s := AgentSchedule{
					FreqType: []int{freqOnce, freqDaily, freqWeekly, freqMonthly, freqMonthlyRelative}[r.IntN(5)], FreqInterval: 1 + r.IntN(10),
					FreqRelativeInterval: 1 << r.IntN(5), FreqRecurrenceFactor: 1 + r.IntN(4), FreqSubdayType: []int{0, 1, 4, 8}[r.IntN(4)],
					FreqSubdayInterval: []int{1, 5, 7, 10, 15, 25, 30, 45, 60, 90, 100, 720}[r.IntN(12)],
					ActiveStartDate:    start.Year()*10000 + int(start.Month())*100 + start.Day(), ActiveEndDate: openEnd,
					ActiveStartTime: clock(), ActiveEndTime: clock(),
				}
				if s.FreqType == freqWeekly {
					s.FreqInterval = 1 + r.IntN(127)
				}
				if r.IntN(3) == 0 {
					end := start.AddDate(0, 0, r.IntN(90))
					s.ActiveEndDate = end.Year()*10000 + int(end.Month())*100 + end.Day()
				}
				if _, _, problem := agentRules(s); s.ActiveStartTime == s.ActiveEndTime || strings.Contains(problem, "choose an interval") {
					continue
				}
				againstAgent(t, s, zone, 150)
			}
		})
	}
}

// The schedules have intervals of seconds. The rules into which divide splits them must be due at
// the same times.
func TestAgentRulesOfSeconds(t *testing.T) {
	t.Parallel()
	for _, seconds := range []int{10, 12, 15, 20, 25, 30, 35, 40, 45, 50, 90, 3600, 7200} {
		for _, window := range [][2]int{{0, 235959}, {80005, 170000}, {235000, 1000}} {
			againstAgent(t, AgentSchedule{
				FreqType: freqDaily, FreqInterval: 1, FreqSubdayType: 2, FreqSubdayInterval: seconds,
				ActiveStartDate: 20260301, ActiveEndDate: openEnd, ActiveStartTime: window[0], ActiveEndTime: window[1],
			}, "UTC", 4)
		}
	}
}

func TestAgentRulesRefuse(t *testing.T) {
	t.Parallel()
	good := AgentSchedule{FreqType: freqDaily, FreqInterval: 1, FreqSubdayType: 1, ActiveStartDate: 20260101, ActiveEndDate: openEnd, ActiveEndTime: 235959}
	for want, change := range map[string]func(*AgentSchedule){
		"starts (freq_type 64)":              func(s *AgentSchedule) { s.FreqType = 64 },
		"idle (freq_type 128)":               func(s *AgentSchedule) { s.FreqType = 128 },
		"invalid freq_type 2: want 1, 4,":    func(s *AgentSchedule) { s.FreqType = 2 },
		"invalid active_start_date 20260230": func(s *AgentSchedule) { s.ActiveStartDate = 20260230 },
		"invalid active_end_date 20251231":   func(s *AgentSchedule) { s.ActiveEndDate = 20251231 },
		"invalid active_start_time 246060":   func(s *AgentSchedule) { s.ActiveStartTime = 246060 },
		"invalid freq_interval 0":            func(s *AgentSchedule) { s.FreqInterval = 0 },
		"invalid freq_subday_type 3":         func(s *AgentSchedule) { s.FreqSubdayType = 3 },
		"invalid freq_subday_interval 0":     func(s *AgentSchedule) { s.FreqSubdayType = 4 },
		"want a time of day other than":      func(s *AgentSchedule) { s.FreqSubdayType, s.FreqSubdayInterval, s.ActiveEndTime = 4, 1, 0 },
		"invalid freq_interval 128":          func(s *AgentSchedule) { s.FreqType, s.FreqInterval, s.FreqRecurrenceFactor = 8, 128, 1 },
		"freq_recurrence_factor 0":           func(s *AgentSchedule) { s.FreqType = 8 },
		"invalid freq_interval 32":           func(s *AgentSchedule) { s.FreqType, s.FreqInterval, s.FreqRecurrenceFactor = 16, 32, 1 },
		"invalid freq_relative_interval 3":   func(s *AgentSchedule) { s.FreqType, s.FreqRelativeInterval, s.FreqRecurrenceFactor = 32, 3, 1 },
		"(every 59 seconds) need":            func(s *AgentSchedule) { s.FreqSubdayType, s.FreqSubdayInterval = 2, 59 },
	} {
		s := good
		change(&s)
		rules, _, problem := agentRules(s)
		require.Contains(t, problem, want)
		require.Empty(t, rules)
	}
}
