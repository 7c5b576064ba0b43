package rrule

import (
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
	"github.com/jobagent/jobagent/jobs/schedule/internal/engine"
)

// dayMask returns a function that gives the days of a rule in a month: the days of every
// interval-th year, month, week or day that match the BY parts. For rules below the day, the
// interval has no effect here.
func (r *rule) dayMask() func(int, time.Month) uint32 {
	within := r.periodDays()
	return func(year int, month time.Month) uint32 {
		if r.months != 0 && r.months>>month&1 == 0 {
			return 0
		}
		mask := within(year, month)
		if mask == 0 {
			return 0
		}
		if r.days != nil {
			mask &= engine.DaysOfMonth(year, month, r.days)
		}
		if r.yearDays != nil {
			mask &= r.daysOfYear(year, month)
		}
		if r.weeks != nil {
			mask &= r.daysOfWeeks(year, month)
		}
		if r.weekdays != 0 || r.nth != nil {
			mask &= r.weekdayMask(year, month)
		}
		return mask
	}
}

// periodDays returns a function that gives all days of every interval-th period, counted from the
// period of the start.
func (r *rule) periodDays() func(int, time.Month) uint32 {
	start := r.start.DayNumber()
	switch r.freq {
	case yearly:
		return func(year int, month time.Month) uint32 {
			if d := int64(year - r.start.Year); d < 0 || d%r.interval != 0 {
				return 0
			}
			return engine.MonthDays(year, month)
		}
	case monthly:
		first := civil.MonthIndex(r.start.Year, r.start.Month)
		return func(year int, month time.Month) uint32 {
			if d := int64(civil.MonthIndex(year, month) - first); d < 0 || d%r.interval != 0 {
				return 0
			}
			return engine.MonthDays(year, month)
		}
	case weekly:
		return everyNthWeekFrom(r.weekOf(start), r.interval)
	case daily:
		if r.interval > 1 {
			return engine.EveryNthDay(start, r.interval)
		}
	}
	return engine.MonthDays
}

// weekOf returns the first day of the week that contains a day.
func (r *rule) weekOf(day int64) int64 {
	return day - civil.FloorMod(int64(civil.Weekday(day)-r.weekStart), 7)
}

// everyNthWeekFrom returns a function that gives all days of every interval-th week, counted from
// the week that begins at first.
func everyNthWeekFrom(first, interval int64) func(int, time.Month) uint32 {
	return engine.EveryNthWeek(first, interval, 0x7f)
}

// daysOfYear returns the mask of the BYYEARDAY days of a month.
func (r *rule) daysOfYear(year int, month time.Month) uint32 {
	before := int(civil.DayNumber(year, month, 1) - civil.DayNumber(year, time.January, 1))
	length := 365
	if civil.IsLeap(year) {
		length = 366
	}
	var mask uint32
	for _, n := range r.yearDays {
		if n < 0 {
			n += length + 1
		}
		if d := n - before; d >= 1 && d <= civil.MonthLength(year, month) && n >= 1 && n <= length {
			mask |= 1 << d
		}
	}
	return mask
}

// daysOfWeeks returns the mask of the BYWEEKNO days of a month. Week 1 is the first week with four
// days in its year. A week belongs to the year that has most of its days.
func (r *rule) daysOfWeeks(year int, month time.Month) uint32 {
	first := civil.DayNumber(year, month, 1)
	var mask uint32
	for d := range civil.MonthLength(year, month) {
		week := r.weekOf(first + int64(d))
		weekYear := civil.DateOf(week + 3).Year
		one := r.weekOf(civil.DayNumber(weekYear, time.January, 4))
		next := r.weekOf(civil.DayNumber(weekYear+1, time.January, 4))
		n, count := int(week-one)/7+1, int(next-one)/7
		for _, w := range r.weeks {
			if w == n || w == n-count-1 {
				mask |= 2 << d
			}
		}
	}
	return mask
}

// weekdayMask returns the mask of the BYDAY days of a month. Numbers count within the year for
// YEARLY without BYMONTH, and otherwise within the month.
func (r *rule) weekdayMask(year int, month time.Month) uint32 {
	start := civil.DayNumber(year, month, 1)
	first, length := civil.Weekday(start), civil.MonthLength(year, month)
	mask := engine.WeekdayDays(first, r.weekdays)
	if r.freq == yearly && r.months == 0 && r.nth != nil {
		january := civil.DayNumber(year, time.January, 1)
		december := civil.DayNumber(year, time.December, 31)
		for _, o := range r.nth {
			at := january + civil.FloorMod(int64(o.Day-civil.Weekday(january)), 7) + int64(o.N-1)*7
			if o.N < 0 {
				at = december - civil.FloorMod(int64(civil.Weekday(december)-o.Day), 7) + int64(o.N+1)*7
			}
			if at >= january && at <= december && at >= start && at < start+int64(length) {
				mask |= 2 << (at - start)
			}
		}
		return mask
	}
	for _, o := range r.nth {
		mask |= engine.NthWeekday(first, length, o.Day, o.N)
	}
	return mask
}

// positioned is the pattern of a rule with BYSETPOS by the year, month or week. The positions
// number the clock times of all days in a period.
type positioned struct {
	rule  *rule
	days  func(int, time.Month) uint32
	times []int32
}

// period returns the first day of the period that contains a day.
func (p *positioned) period(day int64) int64 {
	d := civil.DateOf(day)
	switch p.rule.freq {
	case yearly:
		return civil.DayNumber(d.Year, time.January, 1)
	case monthly:
		return civil.DayNumber(d.Year, d.Month, 1)
	}
	return p.rule.weekOf(day)
}

// following returns the first day of the period that is step periods after the one that begins at
// first.
func (p *positioned) following(first, step int64) int64 {
	d := civil.DateOf(first)
	switch p.rule.freq {
	case yearly:
		return civil.DayNumber(d.Year+int(step), time.January, 1)
	case monthly:
		return civil.Date{Year: d.Year, Month: d.Month, Day: 1}.AddMonths(int(step)).DayNumber()
	}
	return first + 7*step
}

// daysIn returns the day numbers of the rule in [from, to).
func (p *positioned) daysIn(from, to int64) []int64 {
	var list []int64
	for day := from; day < to; {
		d := civil.DateOf(day)
		mask := p.days(d.Year, d.Month)
		start, length := day-int64(d.Day)+1, int64(civil.MonthLength(d.Year, d.Month))
		for ; day < min(to, start+length); day++ {
			if mask>>(day-start+1)&1 == 1 {
				list = append(list, day)
			}
		}
	}
	return list
}

// chosen returns the civil seconds of one period at the positions of the rule, ascending.
func (p *positioned) chosen(first int64) []int64 {
	days := p.daysIn(first, p.following(first, 1))
	var list []int64
	for _, i := range indexes(len(days)*len(p.times), p.rule.positions) {
		list = append(list, days[i/len(p.times)]*civil.DaySeconds+int64(p.times[i%len(p.times)]))
	}
	return list
}

// firstPeriod returns the first day of the rule's first period that ends after a day.
func (p *positioned) firstPeriod(day int64) int64 {
	start := p.period(p.rule.start.DayNumber())
	at := max(start, p.period(day))
	a, b := civil.DateOf(start), civil.DateOf(at)
	var passed int64
	switch p.rule.freq {
	case yearly:
		passed = int64(b.Year - a.Year)
	case monthly:
		passed = int64(civil.MonthIndex(b.Year, b.Month) - civil.MonthIndex(a.Year, a.Month))
	default:
		passed = (at - start) / 7
	}
	if over := passed % p.rule.interval; over != 0 {
		at = p.following(at, p.rule.interval-over)
	}
	return at
}

// Next implements engine.Pattern.
func (p *positioned) Next(from int64) (int64, bool) {
	day := civil.FloorDiv(from, civil.DaySeconds)
	for first := p.firstPeriod(day); first <= day+civil.CycleDays; first = p.following(first, p.rule.interval) {
		for _, at := range p.chosen(first) {
			if at >= from {
				return at, true
			}
		}
	}
	return 0, false
}

// Count implements engine.Pattern.
func (p *positioned) Count(from, to int64) int64 {
	var n int64
	for first := p.firstPeriod(civil.FloorDiv(from, civil.DaySeconds)); first*civil.DaySeconds < to; first = p.following(first, p.rule.interval) {
		for _, at := range p.chosen(first) {
			if at >= from && at < to {
				n++
			}
		}
	}
	return n
}
