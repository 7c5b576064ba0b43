package engine

import (
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
)

// Occurrence is the N-th weekday of a month. N 0 means every one.
type Occurrence struct{ Day, N int }

// EveryNthDay returns a function that gives the days of a month: every interval-th day, counted
// from the day number first.
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

// EveryNthWeek returns a function that gives the days of a month: the weekdays (bit 0 is Monday) of
// every interval-th week, counted from the week that begins at the day number monday.
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

// DaysOfMonth returns the mask of the given days that exist in a month. Negative days count from
// the end of the month.
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

// OccurrenceDays returns the mask of the given occurrences in a month.
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

// MonthDays returns the mask of all days of a month.
func MonthDays(year int, month time.Month) uint32 {
	return uint32(1<<(civil.MonthLength(year, month)+1) - 2)
}

// WeekdayDays returns the mask of the days that fall on one of the weekdays (bit 0 Monday to bit 6
// Sunday) in a month whose first day is the weekday first.
func WeekdayDays(first int, weekdays uint8) uint32 {
	// Bit n of the rotated week is the weekday of day n+1.
	week := uint32(weekdays)
	turned := (week>>first | week<<(7-first)) & 0x7f
	return (turned | turned<<7 | turned<<14 | turned<<21 | turned<<28) << 1
}

// NthWeekday returns the mask of the n-th weekday day of a month. A negative n counts from the end
// of the month. first is the weekday of the first day of the month, and length is the number of its
// days.
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
