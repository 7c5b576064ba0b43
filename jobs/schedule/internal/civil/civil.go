package civil

import (
	"strings"
	"time"
)

// A civil second is a date and clock time without a zone, as the number of seconds since
// 1970-01-01T00:00:00 on the same clock. Patterns are searched in civil seconds; only engine.Wall
// converts them with a zone.

const (
	// DaySeconds is the length of a civil day in seconds.
	DaySeconds = 86400
	// CycleDays is the length in days of the Gregorian calendar's cycle of 400 years. It is a whole
	// number of weeks. A pattern without a match in one cycle never matches (D-E1).
	CycleDays = 146097
	// CycleSeconds is the length of the cycle in seconds.
	CycleSeconds = CycleDays * DaySeconds
	// CycleMonths is the length of the cycle in months.
	CycleMonths = 4800
)

// Date is a day of the calendar. Year 0 and negative years do not occur.
type Date struct {
	Year  int
	Month time.Month
	Day   int
}

// DayNumber returns the number of days from 1970-01-01 to a day. A month out of range is carried
// into the year.
func DayNumber(year int, month time.Month, day int) int64 {
	y, m := int64(year), int64(month)-1
	y += FloorDiv(m, 12)
	m = FloorMod(m, 12)
	// Years are counted from March, so that the leap day is the last of its year.
	if m < 2 {
		y--
	}
	cycle := FloorDiv(y, 400)
	yearOfCycle := y - cycle*400
	dayOfYear := (153*FloorMod(m-2, 12)+2)/5 + int64(day) - 1
	return cycle*CycleDays + yearOfCycle*365 + yearOfCycle/4 - yearOfCycle/100 + dayOfYear - 719468
}

// DayNumber returns the number of days from 1970-01-01 to d.
func (d Date) DayNumber() int64 { return DayNumber(d.Year, d.Month, d.Day) }

// DateOf returns the date of a day number. It is the inverse of DayNumber.
func DateOf(day int64) Date {
	day += 719468
	cycle := FloorDiv(day, CycleDays)
	rest := day - cycle*CycleDays
	year := (rest - rest/1460 + rest/36524 - rest/146096) / 365
	dayOfYear := rest - (365*year + year/4 - year/100)
	m := (5*dayOfYear + 2) / 153
	d := Date{Year: int(year + cycle*400), Month: time.Month(m + 3), Day: int(dayOfYear - (153*m+2)/5 + 1)}
	if m >= 10 {
		d.Month -= 12
		d.Year++
	}
	return d
}

// Weekday returns the weekday of a day number: Monday is 0, Sunday is 6.
func Weekday(day int64) int { return int(FloorMod(day+3, 7)) }

// MonthLength returns the number of days of a month; month is 1 to 12.
func MonthLength(year int, month time.Month) int {
	switch month {
	case time.February:
		if IsLeap(year) {
			return 29
		}
		return 28
	case time.April, time.June, time.September, time.November:
		return 30
	}
	return 31
}

// IsLeap reports whether year is a leap year of the Gregorian calendar.
func IsLeap(year int) bool { return year%4 == 0 && (year%100 != 0 || year%400 == 0) }

// Clamped returns d, or the last day of its month if the month has no such day.
func (d Date) Clamped() Date {
	d.Day = min(d.Day, MonthLength(d.Year, d.Month))
	return d
}

// AddMonths returns the date n months after d, with its day clamped.
func (d Date) AddMonths(n int) Date {
	months := d.Year*12 + int(d.Month) - 1 + n
	d.Year, d.Month = int(FloorDiv(int64(months), 12)), time.Month(FloorMod(int64(months), 12)+1)
	return d.Clamped()
}

// Seconds returns the civil second of at in at's own zone.
func Seconds(at time.Time) int64 {
	_, offset := at.Zone()
	return at.Unix() + int64(offset)
}

// MonthIndex returns the number of months since the beginning of year 0.
func MonthIndex(year int, month time.Month) int { return year*12 + int(month) - 1 }

// FloorDiv returns a/b, rounded towards negative infinity.
func FloorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// FloorMod returns a - b*FloorDiv(a, b). The result has the sign of b.
func FloorMod(a, b int64) int64 { return a - FloorDiv(a, b)*b }

// The names are English, as in every supported system. Weekdays begin with Monday.
var (
	WeekdayNames = []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}
	MonthNames   = []string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"}
)

// ParseWeekday returns the number of a weekday by its full name in any case; Monday is 0.
func ParseWeekday(text string) (int, bool) {
	for i, name := range WeekdayNames {
		if strings.EqualFold(name, text) {
			return i, true
		}
	}
	return 0, false
}

// ShortNames returns the first three letters of each name in lower case. The list is rotated so
// that it begins with names[from].
func ShortNames(names []string, from int) []string {
	var short []string
	for i := range names {
		short = append(short, strings.ToLower(names[(i+from)%len(names)][:3]))
	}
	return short
}
