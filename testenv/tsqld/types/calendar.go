package types

import (
	"encoding/binary"
	"time"
)

// Units of the time types. A tick is 100 ns.
const (
	TicksPerSecond int64 = 10_000_000
	TicksPerMinute       = 60 * TicksPerSecond
	TicksPerHour         = 60 * TicksPerMinute
	TicksPerDay          = 24 * TicksPerHour

	// maxDays is the number of 9999-12-31, counted from 0001-01-01 as 0.
	maxDays = 3_652_058
	// MaxTicks is the last tick of the date types, 9999-12-31 23:59:59.9999999.
	MaxTicks = (maxDays+1)*TicksPerDay - 1
	// days1900 is 1900-01-01, day 0 of datetime.
	days1900 = 693_595
	// minDateTime is 1753-01-01, the first datetime.
	minDateTime = 639_905 * TicksPerDay
	// maxSmall is 2079-06-06, the last day of smalldatetime.
	maxSmall = 759_130

	// maxOffset is the largest distance from UTC in minutes, 14:00.
	maxOffset = 840
)

// Days returns the number of a date of the proleptic Gregorian calendar; 0001-01-01 is 0. The date
// must be valid.
func Days(year, month, day int) int64 {
	y := int64(year) - 1
	n := y*365 + y/4 - y/100 + y/400
	n += int64(monthStart[month-1])
	if month > 2 && IsLeap(year) {
		n++
	}
	return n + int64(day) - 1
}

// monthStart is the number of days before each month of a common year.
var monthStart = [...]int{0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365}

// IsLeap reports whether a year of the Gregorian calendar is a leap year.
func IsLeap(year int) bool { return year%4 == 0 && (year%100 != 0 || year%400 == 0) }

// MonthDays returns the number of days of a month (1 to 12).
func MonthDays(year, month int) int {
	n := monthStart[month] - monthStart[month-1]
	if month == 2 && IsLeap(year) {
		n++
	}
	return n
}

// DateOf is the inverse of Days.
func DateOf(days int64) (year, month, day int) {
	n400 := days / 146_097
	days %= 146_097
	n100 := min(days/36_524, 3)
	days -= n100 * 36_524
	n4 := days / 1461
	days %= 1461
	n1 := min(days/365, 3)
	days -= n1 * 365
	year = int(n400*400+n100*100+n4*4+n1) + 1
	d := int(days)
	leap := 0
	if IsLeap(year) {
		leap = 1
	}
	for month = 1; ; month++ {
		end := monthStart[month]
		if month >= 2 {
			end += leap
		}
		if d < end {
			start := monthStart[month-1]
			if month > 2 {
				start += leap
			}
			return year, month, d - start + 1
		}
	}
}

// ValidDate reports whether the numbers are a date in the years 1 to 9999.
func ValidDate(year, month, day int) bool {
	return year >= 1 && year <= 9999 && month >= 1 && month <= 12 && day >= 1 && day <= MonthDays(year, month)
}

// Weekday returns 0 for Sunday to 6 for Saturday.
func Weekday(days int64) int { return int((days + 1) % 7) }

// TicksOf returns the ticks of an instant since 0001-01-01, by the clock of its own location.
func TicksOf(t time.Time) int64 {
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	return Days(year, int(month), day)*TicksPerDay +
		int64(hour)*TicksPerHour + int64(minute)*TicksPerMinute + int64(second)*TicksPerSecond + int64(t.Nanosecond()/100)
}

// TimeOf is the inverse of TicksOf, in UTC.
func TimeOf(ticks int64) time.Time {
	year, month, day := DateOf(ticks / TicksPerDay)
	return time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Add(time.Duration(ticks%TicksPerDay) * 100)
}

// MakeOffset builds a datetimeoffset from UTC ticks and the minutes east of UTC.
func MakeOffset(utcTicks int64, minutes int) []byte {
	b := make([]byte, 10)
	binary.BigEndian.PutUint64(b, uint64(utcTicks))
	binary.BigEndian.PutUint16(b[8:], uint16(minutes+maxOffset))
	return b
}

// SplitOffset is the inverse of MakeOffset; zeros for a value of the wrong length.
func SplitOffset(v []byte) (utcTicks int64, minutes int) {
	if len(v) != 10 {
		return 0, 0
	}
	return int64(binary.BigEndian.Uint64(v)), int(binary.BigEndian.Uint16(v[8:])) - maxOffset
}

// RoundScale rounds ticks to scale digits of a second, half up.
func RoundScale(ticks int64, scale uint8) int64 {
	if scale >= maxTimeFrac {
		return ticks
	}
	unit := pow10[maxTimeFrac-scale]
	r := ticks % unit
	if ticks -= r; 2*r >= unit {
		ticks += unit
	}
	return ticks
}

// RoundDateTime rounds ticks to 1/300 s, the grid of datetime.
func RoundDateTime(ticks int64) int64 {
	day := ticks / TicksPerDay
	return day*TicksPerDay + fromThreeHundredths(ThreeHundredths(ticks))
}

// ThreeHundredths returns the time of day in 1/300 s, rounded; 25,920,000 is the next midnight.
func ThreeHundredths(ticks int64) int64 { return (ticks%TicksPerDay*3 + 50_000) / 100_000 }

// fromThreeHundredths returns the time of day in ticks for n units of 1/300 s.
func fromThreeHundredths(n int64) int64 { return (n*100_000 + 1) / 3 }

// DateTimeParts splits a datetime into days since 1900-01-01 (negative before) and 1/300 s since
// midnight, the form of the wire and of CAST AS binary.
func DateTimeParts(ticks int64) (days int32, threeHundredths uint32) {
	return int32(ticks/TicksPerDay - days1900), uint32(ThreeHundredths(ticks))
}

// DateTimeFromParts is the inverse of DateTimeParts; ok is false outside datetime's range.
func DateTimeFromParts(days int32, threeHundredths uint32) (ticks int64, ok bool) {
	if threeHundredths >= 25_920_000 {
		return 0, false
	}
	ticks = (int64(days)+days1900)*TicksPerDay + fromThreeHundredths(int64(threeHundredths))
	return ticks, ticks >= minDateTime && ticks <= MaxTicks
}

// FitTemporal rounds ticks to the precision of type t (date, datetime, smalldatetime, datetime2,
// time; for datetimeoffset the UTC ticks) and reports whether the result is in its range. A time
// that rounds up to midnight becomes 00:00. A datetime2 that would round to the year 10000 is
// truncated.
func FitTemporal(ticks int64, t Type) (int64, bool) {
	if ticks < 0 || ticks > MaxTicks {
		return 0, false
	}
	switch t.ID {
	case Date:
		return ticks - ticks%TicksPerDay, true
	case Time:
		return RoundScale(ticks%TicksPerDay, t.Scale) % TicksPerDay, true
	case DateTime:
		ticks = RoundDateTime(ticks)
		return ticks, ticks >= minDateTime && ticks <= MaxTicks
	case SmallDateTime:
		r := ticks % TicksPerMinute
		// 29.998 s rounds down, 29.999 s rounds up ("smalldatetime (Transact-SQL)").
		if ticks -= r; r >= 29_998*TicksPerSecond/1000+TicksPerSecond/2000 {
			ticks += TicksPerMinute
		}
		return ticks, ticks >= days1900*TicksPerDay && ticks < (maxSmall+1)*TicksPerDay
	}
	r := RoundScale(ticks, t.Scale)
	if r > MaxTicks {
		r = ticks - ticks%pow10[maxTimeFrac-t.Scale]
	}
	return r, true
}
