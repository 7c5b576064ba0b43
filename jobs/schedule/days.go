package schedule

import "time"

// occurrence is the n-th weekday of a month; n 0 is every one.
type occurrence struct{ day, n int }

// everyNthDay is each interval-th day from a first one on.
func everyNthDay(first, interval int64) func(int, time.Month) uint32 {
	return func(year int, month time.Month) uint32 {
		start := dayNumber(year, month, 1)
		length := int64(monthLength(year, month))
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

// everyNthWeek is some weekdays of each interval-th week; monday is the first day of a first week.
func everyNthWeek(monday, interval int64, weekdays uint8) func(int, time.Month) uint32 {
	return func(year int, month time.Month) uint32 {
		start := dayNumber(year, month, 1)
		length := int64(monthLength(year, month))
		if interval == 1 && start >= monday {
			return weekdayDays(weekday(start), weekdays) & monthDays(year, month)
		}
		week := monday
		if week+6 < start {
			week += (start - 6 - monday + 7*interval - 1) / (7 * interval) * 7 * interval
		}
		var mask uint64 // bits 0 to 6 are the days before the month
		for ; week < start+length; week += 7 * interval {
			mask |= uint64(weekdays) << (week - start + 7)
		}
		return uint32(mask>>6) & monthDays(year, month)
	}
}

// daysOfMonth is the mask of positive and negative days that a month has.
func daysOfMonth(year int, month time.Month, days []int) uint32 {
	length := monthLength(year, month)
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

// occurrenceDays is the mask of n-th weekdays of a month.
func occurrenceDays(year int, month time.Month, list []occurrence) uint32 {
	first := weekday(dayNumber(year, month, 1))
	length := monthLength(year, month)
	var mask uint32
	for _, o := range list {
		if o.n == 0 {
			mask |= weekdayDays(first, 1<<o.day)
		} else {
			mask |= nthWeekday(first, length, o.day, o.n)
		}
	}
	return mask & monthDays(year, month)
}

// monthDays is the mask of every day of a month.
func monthDays(year int, month time.Month) uint32 {
	return uint32(1<<(monthLength(year, month)+1) - 2)
}

// weekdayDays is the mask of the days that fall on one of the weekdays (bit 0 Monday to bit 6 Sunday),
// in a month whose first day is a given weekday.
func weekdayDays(first int, weekdays uint8) uint32 {
	// Bit n of the turned week is the weekday of day n+1.
	week := uint32(weekdays)
	turned := (week>>first | week<<(7-first)) & 0x7f
	return (turned | turned<<7 | turned<<14 | turned<<21 | turned<<28) << 1
}

// nthWeekday is the mask of the n-th weekday of a month; a negative n counts from its end.
func nthWeekday(first, length, day, n int) uint32 {
	firstDate := 1 + int(floorMod(int64(day-first), 7))
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
