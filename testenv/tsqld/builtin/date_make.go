package builtin

import (
	"github.com/jobagent/jobagent/testenv/tsqld/builtin/convert"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// dateMakeFuncs make dates from their parts.
var dateMakeFuncs = []*Func{
	fromParts("DATEFROMPARTS", 3, fixed(types.DateType)),
	fromParts("DATETIMEFROMPARTS", 7, fixed(types.DateTimeType)),
	fromParts("SMALLDATETIMEFROMPARTS", 5, fixed(types.Type{ID: types.SmallDateTime})),
	fromParts("TIMEFROMPARTS", 5, scaleResult(types.Time, 4)),
	fromParts("DATETIME2FROMPARTS", 8, scaleResult(types.DateTime2, 7)),
	fromParts("DATETIMEOFFSETFROMPARTS", 10, scaleResult(types.DateTimeOffset, 9)),
}

// scaleResult takes the precision from the literal argument i; error 10760 unless it is 0 to 7.
func scaleResult(id types.ID, i int) resultFunc {
	return func(_ []types.Type, consts []types.Value) (types.Type, error) {
		n, ok := constInt(consts, i)
		if !ok || n < 0 || n > 7 {
			return types.Type{}, mserr.Of(10760, types.Type{ID: id}.Name())
		}
		return types.Type{ID: id, Scale: uint8(n)}, nil
	}
}

// ints reads all arguments as integers.
func ints(ts []types.Type, args []types.Value) ([]int, error) {
	out := make([]int, len(args))
	for i, a := range args {
		n, err := convert.Integer(a, ts[i])
		if err != nil {
			return nil, err
		}
		out[i] = n
	}
	return out, nil
}

// clockTicks returns a time of day; ok is false for an invalid one. fraction counts 10^-scale
// seconds.
func clockTicks(hour, minute, second, fraction, scale int) (int64, bool) {
	unit := types.TicksPerSecond
	limit := 1
	for range scale {
		unit /= 10
		limit *= 10
	}
	if hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59 || fraction < 0 || fraction >= limit {
		return 0, false
	}
	return int64(hour)*types.TicksPerHour + int64(minute)*types.TicksPerMinute + int64(second)*types.TicksPerSecond + int64(fraction)*unit, true
}

// dateTicks returns midnight of a date; ok is false for an invalid one.
func dateTicks(year, month, day int) (int64, bool) {
	if !types.ValidDate(year, month, day) {
		return 0, false
	}
	return types.Days(year, month, day) * types.TicksPerDay, true
}

// fromParts makes a function of the parts of a date and time. Error 289 for invalid parts.
func fromParts(name string, count int, result resultFunc) *Func {
	return pure(name, count, count, result, func(_ Env, ts []types.Type, result types.Type, args []types.Value) (types.Value, error) {
		n, err := ints(ts, args)
		if err != nil {
			return nil, err
		}
		if result.ID == types.Time {
			n = append([]int{1, 1, 1}, n...) // the first day
		}
		n = append(n, 0, 0, 0, 0) // date and smalldatetime have no clock, or a part of it
		scale := int(result.Scale)
		if result.ID == types.DateTime {
			scale = 3
		}
		date, okDate := dateTicks(n[0], n[1], n[2])
		clock, okClock := clockTicks(n[3], n[4], n[5], n[6], scale)
		var v types.Value
		ok := false
		if result.ID == types.DateTimeOffset {
			v, ok = withOffset(date+clock, n[7], n[8])
		} else {
			v, ok = types.FitTemporal(date+clock, result)
		}
		if !okDate || !okClock || !ok {
			return nil, mserr.InvalidDateParts(result.Name())
		}
		return v, nil
	})
}

// withOffset returns a datetimeoffset of a local time. Both parts of the offset must have the same
// sign.
func withOffset(local int64, hours, minutes int) (types.Value, bool) {
	offset := 60*hours + minutes
	utc := local - int64(offset)*types.TicksPerMinute
	ok := hours*minutes >= 0 && minutes >= -59 && minutes <= 59 && offset >= -840 && offset <= 840 && utc >= 0 && utc <= types.MaxTicks
	return types.MakeOffset(utc, offset), ok
}

// dateTruncResult is the date's type; texts become datetime2(7).
func dateTruncResult(args []types.Type, consts []types.Value) (types.Type, error) {
	p, err := constPart(consts, "datetrunc")
	if err != nil {
		return types.Type{}, err
	}
	t := args[1]
	if t.IsString() || t.ID == types.Null {
		t = types.DateTime2Type
	}
	if !t.IsTemporal() {
		return types.Type{}, mserr.InvalidArgumentType(t.MessageName(), 2, "datetrunc")
	}
	if p == partWeekday || p == partOffset || p == partNanosecond {
		return types.Type{}, mserr.DatePartNotSupported(p.String(), "datetrunc", t.Name())
	}
	if p == noPart {
		return t, nil
	}
	return t, checkPart(p, t, "datetrunc")
}

// evalDateTrunc truncates everything below the part.
func evalDateTrunc(env Env, ts []types.Type, result types.Type, args []types.Value) (types.Value, error) {
	p, err := part(args[0], "datetrunc")
	if err != nil {
		return nil, err
	}
	v, err := convertIn(env, args[1], ts[1], result)
	if err != nil {
		return nil, err
	}
	ticks := types.LocalTicks(v, result)
	days := ticks / types.TicksPerDay
	year, month, _ := types.DateOf(days)
	switch p {
	case partYear:
		ticks = types.Days(year, 1, 1) * types.TicksPerDay
	case partQuarter:
		ticks = types.Days(year, (month-1)/3*3+1, 1) * types.TicksPerDay
	case partMonth:
		ticks = types.Days(year, month, 1) * types.TicksPerDay
	case partWeek:
		ticks = (days - int64(weekday(days, dateFirst(ts, args, 2))-1)) * types.TicksPerDay
	case partISOWeek:
		ticks = (days - int64(weekday(days, 1)-1)) * types.TicksPerDay
	default:
		ticks -= ticks % units[p]
	}
	switch _, ok := types.FitTemporal(max(ticks, 0), result); {
	case ticks >= 0 && ok:
		return fromLocal(ticks, v, result), nil
	case result.ID == types.DateTime:
		return nil, mserr.BelowMinimumDate(4)
	case result.ID == types.SmallDateTime:
		return nil, mserr.BelowMinimumDate(2)
	}
	return nil, mserr.BelowMinimumDate(3)
}

// fromLocal converts local ticks to a value of type result, with the offset of v, the original
// value.
func fromLocal(ticks int64, v types.Value, result types.Type) types.Value {
	switch x := v.(type) {
	case []byte:
		_, minutes := types.SplitOffset(x)
		return types.MakeOffset(ticks-int64(minutes)*types.TicksPerMinute, minutes)
	default:
		if result.ID == types.Time {
			return ticks % types.TicksPerDay
		}
		r, _ := types.FitTemporal(ticks, result)
		return r
	}
}

// dateBucketResult is the date's type.
func dateBucketResult(args []types.Type, consts []types.Value) (types.Type, error) {
	p, err := constPart(consts, "date_bucket")
	if err != nil {
		return types.Type{}, err
	}
	t := args[2]
	if t.IsString() || t.ID == types.Null {
		t = types.DateTime2Type
	}
	if !t.IsTemporal() {
		return types.Type{}, mserr.InvalidArgumentType(t.MessageName(), 3, "date_bucket")
	}
	switch p {
	case partDayOfYear, partWeekday, partMicrosecond, partNanosecond, partOffset, partISOWeek:
		return types.Type{}, mserr.DatePartNotSupported(p.String(), "date_bucket", t.Name())
	case noPart:
		return t, nil
	}
	return t, checkPart(p, t, "date_bucket")
}

// evalDateBucket returns the start of the bucket of n parts, counted from the origin (1900-01-01 by
// default).
func evalDateBucket(env Env, ts []types.Type, result types.Type, args []types.Value) (types.Value, error) {
	p, err := part(args[0], "date_bucket")
	if err != nil {
		return nil, err
	}
	n, err := convert.Bigint(args[1], ts[1])
	if err != nil {
		return nil, err
	}
	if n <= 0 || n > 1<<31-1 {
		return nil, mserr.Of(9834)
	}
	v, err := convertIn(env, args[2], ts[2], result)
	if err != nil {
		return nil, err
	}
	ticks := types.LocalTicks(v, result)
	origin := types.Days(1900, 1, 1) * types.TicksPerDay
	if len(args) > 3 {
		o, err := convertIn(env, args[3], ts[3], result)
		if err != nil {
			return nil, err
		}
		origin = types.LocalTicks(o, result)
	}
	var start int64
	if months := map[datePart]int64{partYear: 12, partQuarter: 3, partMonth: 1}[p] * n; months > 0 {
		count, _ := diffParts(partMonth, origin, ticks)
		k := floorDiv(count, months)
		var ok bool
		if start, ok = addMonths(origin, k*months, 1); ok && start > ticks {
			start, ok = addMonths(origin, (k-1)*months, 1)
		}
		if !ok {
			return nil, mserr.BucketOverflow(result.Name())
		}
	} else {
		if n > types.MaxTicks/units[p] {
			return nil, mserr.BucketOverflow(result.Name())
		}
		width := units[p] * n
		start = origin + floorDiv(ticks-origin, width)*width
	}
	if _, ok := types.FitTemporal(max(start, 0), result); start < 0 || !ok {
		return nil, mserr.BucketOverflow(result.Name())
	}
	return fromLocal(start, v, result), nil
}

// floorDiv divides, rounding down; b is positive.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
