package types

import (
	"fmt"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// clockValue is a date and time split into its parts, for printing.
type clockValue struct {
	year, month, day     int
	hour, minute, second int
	fraction             int64 // ticks within the second
	days                 int64
	scale                uint8 // digits of the fraction that the type has
	hasDate, hasTime     bool
	isOffset             bool
	offset               int
	utc                  int64
	legacy               bool
	names                *Language
}

// clockOf splits a value of a time type into its parts.
func clockOf(v Value, t Type, names *Language) clockValue {
	c := clockValue{names: names, hasDate: t.ID != Time, hasTime: t.ID != Date, scale: t.timeScale(), legacy: t.IsLegacyTemporal()}
	var ticks int64
	switch v := v.(type) {
	case int64:
		ticks = v
	case []byte:
		var minutes int
		c.utc, minutes = SplitOffset(v)
		c.isOffset, c.offset = true, minutes
		ticks = c.utc + int64(minutes)*TicksPerMinute
	}
	if t.ID == Time {
		c.days = days1900
	} else {
		c.days = ticks / TicksPerDay
	}
	c.year, c.month, c.day = DateOf(c.days)
	ticks %= TicksPerDay
	c.hour = int(ticks / TicksPerHour)
	c.minute = int(ticks / TicksPerMinute % 60)
	c.second = int(ticks / TicksPerSecond % 60)
	c.fraction = ticks % TicksPerSecond
	return c
}

// millis returns the fraction in milliseconds as datetime shows it (.000, .003, .007).
func (c clockValue) millis() int64 { return (c.fraction + 5000) / 10_000 }

// frac prints sep and the fraction: three digits for datetime, the type's scale for the newer types
// (nothing at scale 0).
func (c clockValue) frac(sep string) string {
	if c.legacy {
		return fmt.Sprintf("%s%03d", sep, c.millis())
	}
	if c.scale == 0 {
		return ""
	}
	return fmt.Sprintf("%s%0*d", sep, int(c.scale), c.fraction/pow10[maxTimeFrac-c.scale])
}

// zone prints sep and the offset; "" without an offset.
func (c clockValue) zone(sep string) string {
	if !c.isOffset {
		return ""
	}
	return sep + FormatOffset(c.offset)
}

// FormatOffset prints minutes east of UTC as +hh:mm.
func FormatOffset(minutes int) string {
	sign := '+'
	if minutes < 0 {
		sign, minutes = '-', -minutes
	}
	return fmt.Sprintf("%c%02d:%02d", sign, minutes/60, minutes%60)
}

// twelve returns the hour of a twelve-hour clock, and AM or PM.
func (c clockValue) twelve() (int, string) {
	half := "AM"
	if c.hour >= 12 {
		half = "PM"
	}
	if h := c.hour % 12; h != 0 {
		return h, half
	}
	return 12, half
}

// formatClock prints a value of a time type in a style of CONVERT ("Date and time styles"), without
// the parts that the type lacks. Errors: 281 for an unknown style, 8114 for a style that has only
// parts that the type lacks (281 for styles 14 and 114 of date), 9814 for a date before the Hijri
// calendar. Source: SQL Server 2022, recorded.
func formatClock(v Value, t Type, style int, names *Language) (string, error) {
	c := clockOf(v, t, names)
	if style < 0 {
		style = 121
		if c.legacy {
			style = 0
		}
	}
	if (style == 130 || style == 131) && c.hasDate && c.days < hijriEpoch {
		return "", mserr.BeforeHijri()
	}
	date, clock, ok := c.styled(style)
	if !ok {
		return "", mserr.InvalidStyle(style, t.Name())
	}
	if !c.hasDate && clock == "" || !c.hasTime && date == "" {
		if !c.hasTime && style%100 == 14 {
			return "", mserr.InvalidStyle(style, t.Name())
		}
		return "", mserr.ConversionError(t.Name(), "varchar")
	}
	switch {
	case !c.hasTime || clock == "":
		return date, nil
	case !c.hasDate || date == "":
		return clock, nil
	case style == 126 || style == 127:
		return date + "T" + clock, nil
	}
	return date + " " + clock, nil
}

// styled prints date and time in a style; one of them is "" if the style lacks it.
func (c clockValue) styled(style int) (date, clock string, ok bool) {
	if date, clock, ok = c.long(style); ok {
		return date, clock, true
	}
	short := style < 100
	if style > 100 && style <= 114 {
		style -= 100
	}
	year := fmt.Sprintf("%04d", c.year)
	if short {
		year = year[2:]
	}
	mon := c.names.ShortMonth(c.month)
	switch style {
	case 1:
		return fmt.Sprintf("%02d/%02d/%s", c.month, c.day, year), "", true
	case 2:
		return fmt.Sprintf("%s.%02d.%02d", year, c.month, c.day), "", true
	case 3:
		return fmt.Sprintf("%02d/%02d/%s", c.day, c.month, year), "", true
	case 4:
		return fmt.Sprintf("%02d.%02d.%s", c.day, c.month, year), "", true
	case 5:
		return fmt.Sprintf("%02d-%02d-%s", c.day, c.month, year), "", true
	case 6:
		return fmt.Sprintf("%02d %s %s", c.day, mon, year), "", true
	case 7:
		return fmt.Sprintf("%s %02d, %s", mon, c.day, year), "", true
	case 10:
		return fmt.Sprintf("%02d-%02d-%s", c.month, c.day, year), "", true
	case 11:
		return fmt.Sprintf("%s/%02d/%02d", year, c.month, c.day), "", true
	case 12:
		return fmt.Sprintf("%s%02d%02d", year, c.month, c.day), "", true
	}
	return "", "", false
}

// long prints the styles that have a time or always a four-digit year. The hour of a twelve-hour
// clock has the width two, except styles 0 and 9 of time.
func (c clockValue) long(style int) (date, clock string, ok bool) {
	hour, half := c.twelve()
	mon := c.names.ShortMonth(c.month)
	iso := fmt.Sprintf("%04d-%02d-%02d", c.year, c.month, c.day)
	hms := fmt.Sprintf("%02d:%02d:%02d", c.hour, c.minute, c.second)
	width, sep := 2, "."
	if !c.hasDate {
		width = 1
	}
	if c.legacy {
		sep = ":"
	}
	twelve := fmt.Sprintf("%2d:%02d:%02d%s%s", hour, c.minute, c.second, c.frac(sep), half) + c.zone(" ")
	switch style {
	case 0, 100:
		return fmt.Sprintf("%s %2d %04d", mon, c.day, c.year), fmt.Sprintf("%*d:%02d%s", width, hour, c.minute, half) + c.zone(" "), true
	case 8, 108, 24:
		return "", hms + c.zone(" "), true
	case 9, 109:
		if !c.hasDate {
			twelve = strings.TrimLeft(twelve, " ")
		}
		return fmt.Sprintf("%s %2d %04d", mon, c.day, c.year), twelve, true
	case 13, 113:
		return fmt.Sprintf("%02d %s %04d", c.day, mon, c.year), hms + c.frac(sep) + c.zone(" "), true
	case 14, 114:
		return "", hms + c.frac(sep) + c.zone(" "), true
	case 115:
		if !c.hasDate {
			return iso, "", true // error 8114
		}
		return "", strings.ReplaceAll(hms, ":", ""), true
	case 20, 120:
		return iso, hms + c.zone(" "), true
	case 21, 25, 121:
		return iso, hms + c.frac(".") + c.zone(" "), true
	case 22:
		return fmt.Sprintf("%02d/%02d/%02d", c.month, c.day, c.year%100),
			fmt.Sprintf("%2d:%02d:%02d %s", hour, c.minute, c.second, half) + c.zone(" "), true
	case 23:
		return iso, "", true
	case 126:
		return iso, hms + c.isoFrac() + c.zone(""), true
	case 127:
		if c.isOffset {
			date, clock, ok = clockOf(c.utc, Type{ID: DateTime2, Scale: c.scale}, c.names).long(127)
			return date, clock + "Z", ok
		}
		return iso, hms + c.isoFrac(), true
	case 130:
		y, m, d := hijri(max(c.days, hijriEpoch))
		return fmt.Sprintf("%2d %s %04d", d, hijriMonths[m-1], y), twelve, true
	case 131:
		y, m, d := hijri(max(c.days, hijriEpoch))
		return fmt.Sprintf("%2d/%02d/%04d", d, m, y), twelve, true
	}
	return "", "", false
}

// isoFrac prints the fraction of styles 126 and 127, which omit a fraction of zero.
func (c clockValue) isoFrac() string {
	if c.fraction == 0 || c.legacy && c.millis() == 0 {
		return ""
	}
	return c.frac(".")
}

// hijriMonths are the names of style 130.
var hijriMonths = [...]string{"محرم", "صفر", "ربيع الاول", "ربيع الثاني", "جمادى الاولى", "جمادى الثانية", "رجب", "شعبان", "رمضان",
	"شوال", "ذو القعدة", "ذو الحجة"}

// hijriEpoch is 0622-07-18, the first day of the year 1 in the Kuwaiti algorithm's calendar, by
// [Days].
var hijriEpoch = Days(622, 7, 18)

// hijri converts a day to the tabular Islamic calendar of styles 130 and 131 ("Kuwaiti algorithm"),
// whose leap years are 2, 5, 7, 10, 13, 16, 18, 21, 24, 26 and 29 of a cycle of 30. The day must
// not be before hijriEpoch.
func hijri(days int64) (year, month, day int) {
	n := days - hijriEpoch
	year = int(n/hijriCycle)*30 + 1
	for n %= hijriCycle; n >= hijriYearDays(year); year++ {
		n -= hijriYearDays(year)
	}
	month = min(int(n*2/59)+1, 12)
	if n < hijriMonthStart(month) {
		month--
	}
	return year, month, int(n-hijriMonthStart(month)) + 1
}

// fromHijri is the inverse of hijri; ok is false for a date that does not exist.
func fromHijri(year, month, day int) (days int64, ok bool) {
	if year < 1 || year > 9666 || month < 1 || month > 12 || day < 1 {
		return 0, false
	}
	length := hijriMonthStart(month+1) - hijriMonthStart(month)
	if month == 12 {
		length = hijriYearDays(year) - hijriMonthStart(12)
	}
	if int64(day) > length {
		return 0, false
	}
	days = hijriEpoch + int64((year-1)/30)*hijriCycle
	for y := (year-1)/30*30 + 1; y < year; y++ {
		days += hijriYearDays(y)
	}
	days += hijriMonthStart(month) + int64(day) - 1
	return days, days <= maxDays
}

// hijriCycle is the number of days of 30 years.
const hijriCycle = 10_631

// hijriYearDays is the length of a year: 354 days, 355 in the eleven leap years of a cycle.
func hijriYearDays(year int) int64 {
	if (11*year+14)%30 < 11 {
		return 355
	}
	return 354
}

// hijriMonthStart returns the number of days before a month; months of 30 and 29 days alternate.
func hijriMonthStart(month int) int64 { return int64((59*(month-1) + 1) / 2) }
