package engine

import (
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
)

// Occurrence is the n-th weekday of a month; n 0 is every one.
type Occurrence struct{ Day, N int }

// EveryNthDay is each interval-th day from a first one on.
func EveryNthDay(first, interval int64) func(int, time.Month) uint32 {
	return func(year int, month time.Month) uint32 {
		start := civil.DayNumber(year, month, 1)
		length := int64(civil.MonthLength(year, month))
		day := first
		if day < start {
			day += (start - first + interval - 1) / interval * interval
		}
		var mask uint32
		for ; day < start+length; day += interval {
			mask |= 2 << (day - start)
		}
		return mask
	}
}

// EveryNthWeek is some weekdays of each interval-th week; monday is the first day of a first week.
func EveryNthWeek(monday, interval int64, weekdays uint8) func(int, time.Month) uint32 {
	return func(year int, month time.Month) uint32 {
		start := civil.DayNumber(year, month, 1)
		length := int64(civil.MonthLength(year, month))
		if interval == 1 && start >= monday {
			return WeekdayDays(civil.Weekday(start), weekdays) & MonthDays(year, month)
		}
		week := monday
		if week+6 < start {
			week += (start - 6 - monday + 7*interval - 1) / (7 * interval) * 7 * interval
		}
		var mask uint64 // bits 0 to 6 are the days before the month
		for ; week < start+length; week += 7 * interval {
			mask |= uint64(weekdays) << (week - start + 7)
		}
		return uint32(mask>>6) & MonthDays(year, month)
	}
}

// DaysOfMonth is the mask of positive and negative days that a month has.
func DaysOfMonth(year int, month time.Month, days []int) uint32 {
	length := civil.MonthLength(year, month)
	var mask uint32
	for _, d := range days {
		if d < 0 {
			d += length + 1
		}
		if d >= 1 && d <= length {
			mask |= 1 << d
		}
	}
	return mask
}

// OccurrenceDays is the mask of n-th weekdays of a month.
func OccurrenceDays(year int, month time.Month, list []Occurrence) uint32 {
	first := civil.Weekday(civil.DayNumber(year, month, 1))
	length := civil.MonthLength(year, month)
	var mask uint32
	for _, o := range list {
		if o.N == 0 {
			mask |= WeekdayDays(first, 1<<o.Day)
		} else {
			mask |= NthWeekday(first, length, o.Day, o.N)
		}
	}
	return mask & MonthDays(year, month)
}

// MonthDays is the mask of every day of a month.
func MonthDays(year int, month time.Month) uint32 {
	return uint32(1<<(civil.MonthLength(year, month)+1) - 2)
}

// WeekdayDays is the mask of the days that fall on one of the weekdays (bit 0 Monday to bit 6
// Sunday), in a month whose first day is a given weekday.
func WeekdayDays(first int, weekdays uint8) uint32 {
	// Bit n of the turned week is the weekday of day n+1.
	week := uint32(weekdays)
	turned := (week>>first | week<<(7-first)) & 0x7f
	return (turned | turned<<7 | turned<<14 | turned<<21 | turned<<28) << 1
}

// NthWeekday is the mask of the n-th weekday of a month; a negative n counts from its end.
func NthWeekday(first, length, day, n int) uint32 {
	firstDate := 1 + int(civil.FloorMod(int64(day-first), 7))
	at := firstDate + (n-1)*7
	if n < 0 {
		last := firstDate + (length-firstDate)/7*7
		at = last + (n+1)*7
	}
	if at < 1 || at > length {
		return 0
	}
	return 1 << at
}
