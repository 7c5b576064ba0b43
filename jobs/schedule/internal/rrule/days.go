package rrule

import (
	"math/bits"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
	"github.com/jobagent/jobagent/jobs/schedule/internal/engine"
)

// dayMask returns a function that gives the days of a rule in a month: the days of every
// interval-th year, month, week or day that match the BY parts. For rules below the day, the
// interval has no effect here.
func (r *rule) dayMask() func(int, time.Month) uint32 {
	within := r.periodDays()
	table := &yearTable{rule: r}
	return func(year int, month time.Month) uint32 {
		if r.months != 0 && r.months>>month&1 == 0 {
			return 0
		}
		mask := within(year, month)
		if mask == 0 {
			return 0
		}
		return mask & table.of(year).days[month]
	}
}

// yearTable holds the days of a rule that match the BY parts, for each form of a year. A form is
// the weekday of 1 January, and whether the year and its neighbours are leap years: the weeks at
// the ends of a year belong to its neighbours. So a search over centuries computes each form once.
type yearTable struct {
	rule  *rule
	forms [7 * 8]atomic.Pointer[yearDays]
}

// yearDays are the days of the months of a year, and the months with days, both by the number of
// the month.
type yearDays struct {
	days   [13]uint32
	months uint16
}

// of returns the days of the months of a year.
func (t *yearTable) of(year int) *yearDays {
	form := civil.Weekday(civil.DayNumber(year, time.January, 1)) * 8
	for i := range 3 {
		if civil.IsLeap(year - 1 + i) {
			form += 1 << i
		}
	}
	if known := t.forms[form].Load(); known != nil {
		return known
	}
	y := &yearDays{}
	for month := time.January; month <= time.December; month++ {
		if y.days[month] = t.rule.daysByParts(year, month); y.days[month] != 0 {
			y.months |= 1 << month
		}
	}
	t.forms[form].Store(y)
	return y
}

// next returns the first matching day at or after a day. It returns a day after lastDay if there is
// none.
func (t *yearTable) next(day int64) int64 {
	d := civil.DateOf(day)
	y := t.of(d.Year)
	if mask := y.days[d.Month] >> d.Day; mask != 0 {
		return day + int64(bits.TrailingZeros32(mask))
	}
	months := y.months >> (d.Month + 1) << (d.Month + 1)
	for months == 0 && d.Year < 10_001 {
		d.Year++
		y = t.of(d.Year)
		months = y.months
	}
	if months == 0 {
		return lastDay + 1
	}
	month := time.Month(bits.TrailingZeros16(months))
	return civil.DayNumber(d.Year, month, bits.TrailingZeros32(y.days[month]))
}

// daysByParts returns the days of a month that match the BY parts.
func (r *rule) daysByParts(year int, month time.Month) uint32 {
	if r.months != 0 && r.months>>month&1 == 0 {
		return 0
	}
	mask := engine.MonthDays(year, month)
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
	first, length := civil.DayNumber(year, month, 1), int64(civil.MonthLength(year, month))
	var mask uint64 // bit 7 is the first of the month
	for week := r.weekOf(first); week < first+length; week += 7 {
		weekYear := civil.DateOf(week + 3).Year
		one := r.weekOf(civil.DayNumber(weekYear, time.January, 4))
		next := r.weekOf(civil.DayNumber(weekYear+1, time.January, 4))
		n, count := int(week-one)/7+1, int(next-one)/7
		if slices.Contains(r.weeks, n) || slices.Contains(r.weeks, n-count-1) {
			mask |= 0x7f << (week - first + 7)
		}
	}
	return uint32(mask>>6) & engine.MonthDays(year, month)
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
