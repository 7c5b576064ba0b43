package builtin

import (
	"fmt"
	"math"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// datePart is a part of a date or time.
type datePart uint8

// The dateparts of "DATEPART (Transact-SQL)".
const (
	noPart datePart = iota
	partYear
	partQuarter
	partMonth
	partDayOfYear
	partDay
	partWeek
	partWeekday
	partHour
	partMinute
	partSecond
	partMillisecond
	partMicrosecond
	partNanosecond
	partOffset
	partISOWeek
)

// partNames are the full names, for errors.
var partNames = [...]string{"", "year", "quarter", "month", "dayofyear", "day", "week", "weekday", "hour", "minute", "second",
	"millisecond", "microsecond", "nanosecond", "tzoffset", "iso_week"}

// dateParts are all names and abbreviations.
var dateParts = map[string]datePart{
	"year": partYear, "yy": partYear, "yyyy": partYear,
	"quarter": partQuarter, "qq": partQuarter, "q": partQuarter,
	"month": partMonth, "mm": partMonth, "m": partMonth,
	"dayofyear": partDayOfYear, "dy": partDayOfYear, "y": partDayOfYear,
	"day": partDay, "dd": partDay, "d": partDay,
	"week": partWeek, "wk": partWeek, "ww": partWeek,
	"weekday": partWeekday, "dw": partWeekday, "w": partWeekday,
	"hour": partHour, "hh": partHour,
	"minute": partMinute, "mi": partMinute, "n": partMinute,
	"second": partSecond, "ss": partSecond, "s": partSecond,
	"millisecond": partMillisecond, "ms": partMillisecond,
	"microsecond": partMicrosecond, "mcs": partMicrosecond,
	"nanosecond": partNanosecond, "ns": partNanosecond,
	"tzoffset": partOffset, "tz": partOffset,
	"iso_week": partISOWeek, "isowk": partISOWeek, "isoww": partISOWeek,
}

// String is the part's full name.
func (p datePart) String() string { return partNames[p] }

// DatePartName returns the full name of a datepart for any of its spellings. Other words are
// returned unchanged.
func DatePartName(word string) string {
	if p, ok := dateParts[strings.ToLower(word)]; ok {
		return p.String()
	}
	return word
}

// part reads the keyword argument of a date function; error 155.
func part(v types.Value, function string) (datePart, error) {
	s, _ := v.(string)
	if p, ok := dateParts[strings.ToLower(s)]; ok {
		return p, nil
	}
	return noPart, mserr.InvalidDatePart(s, function)
}

// needsClock reports whether a date lacks the part.
func (p datePart) needsClock() bool { return p >= partHour && p <= partOffset }

// checkPart rejects a part that a type does not have; error 9810.
func checkPart(p datePart, t types.Type, function string) error {
	bad := false
	switch t.ID {
	case types.Date:
		bad = p.needsClock()
	case types.Time:
		bad = !p.needsClock() || p == partOffset
	}
	if p == partOffset && t.IsLegacyTemporal() {
		bad = true
	}
	if bad {
		return mserr.DatePartNotSupported(p.String(), function, t.Name())
	}
	return nil
}

// temporalType returns the type to which a date function converts an argument: date and time types
// stay, texts become datetimeoffset(7) for DATEPART and similar functions, numbers become datetime.
func temporalType(t types.Type, n int, function string) (types.Type, error) {
	switch {
	case t.IsTemporal():
		return t, nil
	case t.IsString():
		return types.DateTimeOffsetType, nil
	case t.IsNumber(), t.ID == types.Null:
		return types.DateTimeType, nil
	}
	return types.Type{}, mserr.InvalidArgumentType(t.MessageName(), n, function)
}

// temporal converts an argument to its temporalType.
func temporal(env Env, v types.Value, t types.Type, n int, function string) (types.Value, types.Type, error) {
	to, err := temporalType(t, n, function)
	if err != nil {
		return nil, types.Type{}, err
	}
	v, err = convertIn(env, v, t, to)
	return v, to, err
}

// extract computes a part of a value. dateFirst is @@DATEFIRST.
func extract(p datePart, v types.Value, t types.Type, dateFirst int) int64 {
	ticks := types.LocalTicks(v, t)
	days := ticks / types.TicksPerDay
	clock := ticks % types.TicksPerDay
	year, month, day := types.DateOf(days)
	switch p {
	case partYear:
		return int64(year)
	case partQuarter:
		return int64((month + 2) / 3)
	case partMonth:
		return int64(month)
	case partDayOfYear:
		return days - types.Days(year, 1, 1) + 1
	case partDay:
		return int64(day)
	case partWeek:
		first := types.Days(year, 1, 1)
		lead := int64(weekday(first, dateFirst) - 1)
		return (days-first+lead)/7 + 1
	case partWeekday:
		return int64(weekday(days, dateFirst))
	case partHour:
		return clock / types.TicksPerHour
	case partMinute:
		return clock / types.TicksPerMinute % 60
	case partSecond:
		return clock / types.TicksPerSecond % 60
	case partMillisecond:
		if t.IsLegacyTemporal() { // .003, .007
			return (clock%types.TicksPerSecond + 5000) / 10_000
		}
		return clock % types.TicksPerSecond / 10_000
	case partMicrosecond:
		return clock % types.TicksPerSecond / 10
	case partNanosecond:
		return clock % types.TicksPerSecond * 100
	case partOffset:
		if b, ok := v.([]byte); ok {
			_, minutes := types.SplitOffset(b)
			return int64(minutes)
		}
		return 0
	case partISOWeek:
		_, week := types.TimeOf(ticks).ISOWeek()
		return int64(week)
	}
	return 0
}

// weekday returns 1 for the first day of the week to 7 (dateFirst: 1 Monday to 7 Sunday).
func weekday(days int64, dateFirst int) int { return (types.Weekday(days)+7-dateFirst%7)%7 + 1 }

// partName implements DATENAME: names for months and weekdays, +hh:mm for an offset, numbers for
// other parts.
func partName(p datePart, v types.Value, t types.Type, dateFirst int, names *types.Language) string {
	switch p {
	case partMonth:
		return names.Month(int(extract(partMonth, v, t, dateFirst)))
	case partWeekday:
		return names.Day(types.Weekday(types.LocalTicks(v, t) / types.TicksPerDay))
	case partOffset:
		return types.FormatOffset(int(extract(p, v, t, dateFirst)))
	}
	return fmt.Sprint(extract(p, v, t, dateFirst))
}

// addPart adds n parts to local ticks; ok is false if the result is outside the years 1 to 9999.
func addPart(p datePart, n, ticks int64) (int64, bool) {
	switch p {
	case partYear:
		return addMonths(ticks, n, 12)
	case partQuarter:
		return addMonths(ticks, n, 3)
	case partMonth:
		return addMonths(ticks, n, 1)
	}
	unit := units[p]
	if p == partNanosecond { // 100 ns is the smallest step; half a step rounds up
		q, r := n/100, n%100
		switch {
		case r >= 50:
			q++
		case r < -50:
			q--
		}
		n, unit = q, 1
	}
	if n > types.MaxTicks/unit || n < -types.MaxTicks/unit {
		return 0, false
	}
	ticks += n * unit
	return ticks, ticks >= 0 && ticks <= types.MaxTicks
}

// units are the lengths of the parts of constant length, in ticks.
var units = [partISOWeek + 1]int64{
	partDay: types.TicksPerDay, partDayOfYear: types.TicksPerDay, partWeekday: types.TicksPerDay, partWeek: 7 * types.TicksPerDay,
	partHour: types.TicksPerHour, partMinute: types.TicksPerMinute, partSecond: types.TicksPerSecond,
	partMillisecond: types.TicksPerSecond / 1000, partMicrosecond: types.TicksPerSecond / 1_000_000,
}

// addMonths adds n times size months. The day is limited to the length of the month.
func addMonths(ticks, n, size int64) (int64, bool) {
	const maxMonths = 12 * 10_000
	if n > maxMonths || n < -maxMonths {
		return 0, false
	}
	year, month, day := types.DateOf(ticks / types.TicksPerDay)
	m := int64(year)*12 + int64(month-1) + n*size
	if m < 12 || m >= 12*10_000 {
		return 0, false
	}
	year, month = int(m/12), int(m%12)+1
	day = min(day, types.MonthDays(year, month))
	return types.Days(year, month, day)*types.TicksPerDay + ticks%types.TicksPerDay, true
}

// diffParts counts the boundaries of a part between two instants in ticks. ok is false if
// nanoseconds overflow.
func diffParts(p datePart, from, to int64) (n int64, ok bool) {
	y1, m1, _ := types.DateOf(from / types.TicksPerDay)
	y2, m2, _ := types.DateOf(to / types.TicksPerDay)
	switch p {
	case partYear:
		return int64(y2 - y1), true
	case partQuarter:
		return int64(y2*4+(m2-1)/3) - int64(y1*4+(m1-1)/3), true
	case partMonth:
		return int64(y2*12+m2) - int64(y1*12+m1), true
	case partWeek: // weeks begin on Sunday, whatever DATEFIRST is
		return (to/types.TicksPerDay+1)/7 - (from/types.TicksPerDay+1)/7, true
	case partNanosecond:
		d := to - from
		if d > math.MaxInt64/100 || d < math.MinInt64/100 {
			return 0, false
		}
		return d * 100, true
	}
	unit := units[p]
	return to/unit - from/unit, true
}
