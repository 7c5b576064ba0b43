package schedule

import "time"

// A civil second is a date and clock time without a zone, as the number of seconds since
// 1970-01-01T00:00:00 on the same clock. Patterns are searched in civil seconds; only wall knows zones.

const (
	daySeconds = 86400
	// cycleDays is the length of the Gregorian calendar's cycle of 400 years, a whole number of weeks:
	// what a pattern did not match within it, it never matches (D-E1).
	cycleDays    = 146097
	cycleSeconds = cycleDays * daySeconds
	cycleMonths  = 4800
)

// date is a day of the calendar. Year 0 and negative years do not occur.
type date struct {
	year  int
	month time.Month
	day   int
}

// dayNumber counts the days from 1970-01-01 to a day. A month out of range is carried into the year.
func dayNumber(year int, month time.Month, day int) int64 {
	y, m := int64(year), int64(month)-1
	y += floorDiv(m, 12)
	m = floorMod(m, 12)
	// Years are counted from March, so that the leap day is the last of its year.
	if m < 2 {
		y--
	}
	cycle := floorDiv(y, 400)
	yearOfCycle := y - cycle*400
	dayOfYear := (153*floorMod(m-2, 12)+2)/5 + int64(day) - 1
	return cycle*cycleDays + yearOfCycle*365 + yearOfCycle/4 - yearOfCycle/100 + dayOfYear - 719468
}

// dayNumber counts the days from 1970-01-01 to d.
func (d date) dayNumber() int64 { return dayNumber(d.year, d.month, d.day) }

// dateOf is the inverse of dayNumber.
func dateOf(day int64) date {
	day += 719468
	cycle := floorDiv(day, cycleDays)
	rest := day - cycle*cycleDays
	year := (rest - rest/1460 + rest/36524 - rest/146096) / 365
	dayOfYear := rest - (365*year + year/4 - year/100)
	m := (5*dayOfYear + 2) / 153
	d := date{year: int(year + cycle*400), month: time.Month(m + 3), day: int(dayOfYear - (153*m+2)/5 + 1)}
	if m >= 10 {
		d.month -= 12
		d.year++
	}
	return d
}

// weekday of a day number: Monday is 0, Sunday 6.
func weekday(day int64) int { return int(floorMod(day+3, 7)) }

// monthLength in days; the month is in 1 to 12.
func monthLength(year int, month time.Month) int {
	switch month {
	case time.February:
		if isLeap(year) {
			return 29
		}
		return 28
	case time.April, time.June, time.September, time.November:
		return 30
	}
	return 31
}

func isLeap(year int) bool { return year%4 == 0 && (year%100 != 0 || year%400 == 0) }

// clamped is the date with its day lowered to the last day of the month.
func (d date) clamped() date {
	d.day = min(d.day, monthLength(d.year, d.month))
	return d
}

// addMonths steps by n months and clamps the day.
func (d date) addMonths(n int) date {
	months := d.year*12 + int(d.month) - 1 + n
	d.year, d.month = int(floorDiv(int64(months), 12)), time.Month(floorMod(int64(months), 12)+1)
	return d.clamped()
}

// civil is what the clock of the zone that at carries shows.
func civil(at time.Time) int64 {
	_, offset := at.Zone()
	return at.Unix() + int64(offset)
}

// monthIndex counts months since year 0.
func monthIndex(year int, month time.Month) int { return year*12 + int(month) - 1 }

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

func floorMod(a, b int64) int64 { return a - floorDiv(a, b)*b }
