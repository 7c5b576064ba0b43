package types

import (
	"math"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// toTemporal converts to a date or time type.
func toTemporal(v Value, from, to Type, style int, in Locale) (Value, error) {
	switch {
	case from.IsCharacter():
		s, _ := v.(string)
		return textToTemporal(s, from, to, style, in)
	case from.IsNumber():
		return numberToTemporal(v, from, to)
	case from.IsTemporal():
		return temporalToTemporal(v, from, to)
	}
	b, _ := v.([]byte)
	return binaryToTemporal(b, from, to)
}

// ParseTemporal reads a text as a date or time type, in the forms of a locale. Errors: 241 for a
// text that is not a date, 242 and 295 for datetime and smalldatetime as in SQL Server, 281 for a
// style that date, time, datetime2 and datetimeoffset do not have. datetime and smalldatetime read
// no text in styles 22, 23 and 25, nor in a style that does not exist. Source: SQL Server 2022,
// recorded.
func ParseTemporal(s string, to Type, style int, in Locale) (Value, error) {
	return textToTemporal(s, VarCharMax, to, style, in)
}

func textToTemporal(s string, from, to Type, style int, in Locale) (Value, error) {
	order := inputOrder(style, in.Order)
	isLegacy := to.IsLegacyTemporal()
	if isLegacy && (order == "" || style == 22 || style == 23 || style == 25) {
		return nil, notDate(to)
	}
	if order == "" {
		return nil, mserr.InvalidStyle(style, from.Name())
	}
	c, fault := parseClock(s, order, isLegacy, style == 130 || style == 131, LanguageOf(in))
	if fault == outOfRange {
		if isLegacy {
			return nil, mserr.DateOutOfRange(from.Name(), to.Name())
		}
		return nil, mserr.DateConversion()
	}
	if fault == badSyntax || isLegacy && (c.fraction > 3 || c.hasOffset && !c.isZulu) {
		return nil, notDate(to)
	}
	ticks := c.localTicks()
	if to.ID == DateTimeOffset {
		utc := ticks - int64(c.offset)*TicksPerMinute
		if utc < 0 || utc > MaxTicks {
			return nil, mserr.DateConversion()
		}
		return MakeOffset(fitOffset(utc, to), c.offset), nil
	}
	r, ok := FitTemporal(ticks, to)
	if !ok {
		return nil, mserr.DateOutOfRange(from.Name(), to.Name())
	}
	return r, nil
}

// notDate is the error for a text that is not a date: 295 for smalldatetime, 241 for other types.
func notDate(to Type) error {
	if to.ID == SmallDateTime {
		return mserr.SmallDateTimeConversion()
	}
	return mserr.DateConversion()
}

// fitOffset rounds UTC ticks to the scale of a datetimeoffset type.
func fitOffset(utc int64, to Type) int64 {
	r, _ := FitTemporal(utc, Type{ID: DateTime2, Scale: to.Scale})
	return r
}

// temporalToTemporal converts between date and time types. A missing date becomes 1900-01-01, a
// missing time midnight, a missing offset +00:00. Without an offset the local time remains.
func temporalToTemporal(v Value, from, to Type) (Value, error) {
	var ticks int64
	switch v := v.(type) {
	case int64:
		ticks = v
		if from.ID == Time && to.ID != Time {
			ticks += days1900 * TicksPerDay
		}
	case []byte:
		utc, minutes := SplitOffset(v)
		if to.ID == DateTimeOffset {
			return MakeOffset(fitOffset(utc, to), minutes), nil
		}
		ticks = utc + int64(minutes)*TicksPerMinute
	}
	if to.ID == DateTimeOffset {
		return MakeOffset(fitOffset(ticks, to), 0), nil
	}
	r, ok := FitTemporal(ticks, to)
	if !ok {
		return nil, mserr.DateOutOfRange(from.Name(), to.Name())
	}
	return r, nil
}

// numberToTemporal converts days since 1900-01-01 to a datetime or smalldatetime.
func numberToTemporal(v Value, from, to Type) (Value, error) {
	overflow := func() error { return mserr.ArithmeticOverflow("expression", to.Name()) }
	days := toFloat(v, from)
	if math.IsNaN(days) || days < -1e7 || days > 1e7 {
		return nil, overflow()
	}
	whole := math.Floor(days)
	ticks := (int64(whole)+days1900)*TicksPerDay + int64(math.Round((days-whole)*float64(TicksPerDay)))
	if d, ok := asDecimal(from); ok {
		// Exactly: unscaled * ticks a day / 10^scale.
		if u := DecimalUnscaled(v, d); u != nil && u.IsInt64() && d.Scale == 0 {
			ticks = (u.Int64() + days1900) * TicksPerDay
		}
	}
	r, ok := FitTemporal(ticks, to)
	if !ok {
		return nil, overflow()
	}
	return r, nil
}

// temporalToNumber returns days since 1900-01-01; integers are rounded to the nearest day.
func temporalToNumber(v Value, from, to Type) (Value, error) {
	ticks, _ := v.(int64)
	days := float64(ticks-days1900*TicksPerDay) / float64(TicksPerDay)
	switch {
	case to.ID == Bit:
		return BitOf(days != 0), nil
	case to.IsInteger():
		n := (ticks-days1900*TicksPerDay)/TicksPerDay + 0
		if rest := (ticks - days1900*TicksPerDay) % TicksPerDay; 2*rest >= TicksPerDay {
			n++
		} else if 2*rest < -TicksPerDay {
			n--
		}
		if !InRange(n, to) {
			return nil, mserr.ArithmeticOverflow(from.Name(), to.Name())
		}
		return n, nil
	}
	r, err := convertNumber(days, FloatType, to)
	if err != nil {
		return nil, mserr.ArithmeticOverflow(from.Name(), runtimeName(to))
	}
	return r, nil
}

// LocalTicks returns the local date and time of a date or time value, for the date functions: ticks
// since 0001-01-01, for a time value those of 1900-01-01.
func LocalTicks(v Value, t Type) int64 {
	switch v := v.(type) {
	case int64:
		if t.ID == Time {
			return v + days1900*TicksPerDay
		}
		return v
	case []byte:
		utc, minutes := SplitOffset(v)
		return utc + int64(minutes)*TicksPerMinute
	}
	return 0
}
