package builtin

import (
	"math"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin/convert"
	"github.com/jobagent/jobagent/testenv/tsqld/builtin/timezone"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// dateFuncs return the current time and compute with dates ("Date and time data types and functions
// (Transact-SQL)").
//
// For week and weekday DATEPART, DATENAME and DATETRUNC depend on @@DATEFIRST. They take it as an
// additional, hidden argument (int); without it they use 7, the default of us_english.
// [NeedsDateFirst] reports whether to pass it.
var dateFuncs = []*Func{
	clock("GETDATE", types.DateTimeType, true),
	clock("CURRENT_TIMESTAMP", types.DateTimeType, true),
	clock("GETUTCDATE", types.DateTimeType, false),
	clock("SYSDATETIME", types.DateTime2Type, true),
	clock("SYSUTCDATETIME", types.DateTime2Type, false),
	{Name: "SYSDATETIMEOFFSET", Volatility: Statement, Result: fixed(types.DateTimeOffsetType),
		Eval: given(ofClock, func(c Clock, _ []types.Type, _ types.Type, _ []types.Value) (types.Value, error) {
			return types.MakeOffset(c.Now(), c.LocalOffset()), nil
		})},
	{Name: "DATEADD", MinArgs: 3, MaxArgs: 3, DatePart: true, NullResult: true, Result: dateAddResult, Eval: evalDateAdd},
	{Name: "DATEDIFF", MinArgs: 3, MaxArgs: 3, DatePart: true, NullResult: true, Result: dateDiffResult(types.IntType, "datediff"), Eval: evalDateDiff},
	{Name: "DATEDIFF_BIG", MinArgs: 3, MaxArgs: 3, DatePart: true, NullResult: true, Result: dateDiffResult(types.BigIntType, "datediff_big"), Eval: evalDateDiff},
	{Name: "DATEPART", MinArgs: 2, MaxArgs: 2, DatePart: true, NullResult: true, Result: datePartResult(types.IntType, "datepart"), Eval: evalDatePart},
	{Name: "DATENAME", MinArgs: 2, MaxArgs: 2, DatePart: true, NullResult: true, Result: datePartResult(types.NVarCharOf(30), "datename"), Eval: evalDateName},
	{Name: "DATETRUNC", MinArgs: 2, MaxArgs: 2, DatePart: true, NullResult: true, Result: dateTruncResult, Eval: evalDateTrunc},
	{Name: "DATE_BUCKET", MinArgs: 3, MaxArgs: 4, DatePart: true, NullResult: true, Result: dateBucketResult, Eval: evalDateBucket},
	pure("DAY", 1, 1, onePartResult("day"), evalPart(partDay)),
	pure("MONTH", 1, 1, onePartResult("month"), evalPart(partMonth)),
	pure("YEAR", 1, 1, onePartResult("year"), evalPart(partYear)),
	lenient("EOMONTH", 1, 2, fixed(types.DateType), evalEOMonth),
	pure("SWITCHOFFSET", 2, 2, offsetResult("switchoffset"), evalSwitchOffset),
	pure("TODATETIMEOFFSET", 2, 2, offsetResult("todatetimeoffset"), evalToOffset),
	lenient("ISDATE", 1, 1, fixed(types.IntType), evalIsDate),
	pure("AT TIME ZONE", 2, 2, zoneResult, evalZone),
}

// NeedsDateFirst reports whether a call of f with the keyword part depends on @@DATEFIRST. The
// caller then passes it as an additional argument of type int.
func NeedsDateFirst(f *Func, keyword string) bool {
	if f.Name != "DATEPART" && f.Name != "DATENAME" && f.Name != "DATETRUNC" {
		return false
	}
	p, err := part(keyword, "")
	return err == nil && (p == partWeek || p == partWeekday)
}

// clock makes a function that returns the statement's time.
func clock(name string, result types.Type, local bool) *Func {
	return &Func{Name: name, Volatility: Statement, Result: fixed(result),
		Eval: given(ofClock, func(c Clock, _ []types.Type, result types.Type, _ []types.Value) (types.Value, error) {
			ticks := c.Now()
			if local {
				ticks += int64(c.LocalOffset()) * types.TicksPerMinute
			}
			v, _ := types.FitTemporal(ticks, result)
			return v, nil
		})}
}

// constPart checks the keyword at compile time.
func constPart(consts []types.Value, function string) (datePart, error) {
	if s, ok := constText(consts, 0); ok {
		return part(s, function)
	}
	return noPart, nil
}

// dateAddResult is the date's type; datetime for texts and numbers.
func dateAddResult(args []types.Type, consts []types.Value) (types.Type, error) {
	p, err := constPart(consts, "dateadd")
	if err != nil {
		return types.Type{}, err
	}
	if p == partISOWeek || p == partOffset {
		return types.Type{}, mserr.DatePartNotSupported(p.String(), "dateadd", args[2].Name())
	}
	if !args[1].IsNumber() && !args[1].IsString() && args[1].ID != types.Null {
		return types.Type{}, mserr.InvalidArgumentType(args[1].MessageName(), 2, "dateadd")
	}
	t, err := temporalType(args[2], 3, "dateadd")
	if err != nil {
		return types.Type{}, err
	}
	if !args[2].IsTemporal() {
		t = types.DateTimeType
	}
	if args[2].IsLegacyTemporal() && (p == partMicrosecond || p == partNanosecond) {
		return types.Type{}, mserr.DatePartNotSupported(p.String(), "dateadd", t.Name())
	}
	return t, checkPart(p, t, "dateadd")
}

func evalDateAdd(env Env, ts []types.Type, result types.Type, args []types.Value) (types.Value, error) {
	p, err := part(args[0], "dateadd")
	if err != nil {
		return nil, err
	}
	n, err := convert.Bigint(args[1], ts[1])
	if err != nil {
		return nil, err
	}
	if n < math.MinInt32 || n > math.MaxInt32 {
		return nil, mserr.ArithmeticOverflow("expression", "int")
	}
	v, err := convertIn(env, args[2], ts[2], result)
	if err != nil {
		return nil, err
	}
	if b, ok := v.([]byte); ok {
		utc, minutes := types.SplitOffset(b)
		local, ok := addPart(p, n, utc+int64(minutes)*types.TicksPerMinute)
		utc = local - int64(minutes)*types.TicksPerMinute
		if !ok || utc < 0 || utc > types.MaxTicks {
			return nil, mserr.DateOverflow(result.Name())
		}
		return types.MakeOffset(types.RoundScale(utc, result.Scale), minutes), nil
	}
	base, _ := v.(int64)
	if result.ID == types.Time { // a time wraps around at midnight
		base += types.Days(5000, 1, 1) * types.TicksPerDay
	}
	ticks, ok := addPart(p, n, base)
	if !ok {
		return nil, mserr.DateOverflow(result.Name())
	}
	if ticks, ok = types.FitTemporal(ticks, result); !ok {
		return nil, mserr.DateOverflow(result.Name())
	}
	return ticks, nil
}

// dateDiffResult checks both dates.
func dateDiffResult(t types.Type, name string) resultFunc {
	return func(args []types.Type, consts []types.Value) (types.Type, error) {
		p, err := constPart(consts, name)
		if err != nil {
			return types.Type{}, err
		}
		if p == partISOWeek || p == partOffset {
			return types.Type{}, mserr.Of(9806, p.String(), name)
		}
		for i, a := range args[1:] {
			if _, err := temporalType(a, i+2, name); err != nil {
				return types.Type{}, err
			}
		}
		return t, nil
	}
}

// evalDateDiff compares datetimeoffsets by UTC. Error 535 if the count does not fit the result.
func evalDateDiff(env Env, ts []types.Type, result types.Type, args []types.Value) (types.Value, error) {
	p, err := part(args[0], "datediff")
	if err != nil {
		return nil, err
	}
	var at [2]int64
	for i := range at {
		v, t, err := temporal(env, args[i+1], ts[i+1], i+2, "datediff")
		if err != nil {
			return nil, err
		}
		at[i] = types.LocalTicks(v, t)
		if b, ok := v.([]byte); ok && ts[i+1].ID == types.DateTimeOffset {
			at[i], _ = types.SplitOffset(b)
		}
	}
	n, ok := diffParts(p, at[0], at[1])
	if !ok || !types.InRange(n, result) {
		return nil, mserr.DateDiffOverflow()
	}
	return n, nil
}

// datePartResult checks that the date has the part.
func datePartResult(t types.Type, name string) resultFunc {
	return func(args []types.Type, consts []types.Value) (types.Type, error) {
		p, err := constPart(consts, name)
		if err != nil {
			return types.Type{}, err
		}
		own, err := temporalType(args[1], 2, name)
		if err != nil {
			return types.Type{}, err
		}
		if p != noPart && args[1].IsTemporal() {
			if err := checkPart(p, own, name); err != nil {
				return types.Type{}, err
			}
		}
		return t, nil
	}
}

// dateFirst returns the hidden last argument, 7 without it.
func dateFirst(ts []types.Type, args []types.Value, i int) int {
	if len(args) > i {
		if n, err := convert.Integer(args[i], ts[i]); err == nil && n >= 1 && n <= 7 {
			return n
		}
	}
	return 7
}

func evalDatePart(env Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	p, err := part(args[0], "datepart")
	if err != nil {
		return nil, err
	}
	v, t, err := temporal(env, args[1], ts[1], 2, "datepart")
	if err != nil {
		return nil, err
	}
	return extract(p, v, t, dateFirst(ts, args, 2)), nil
}

func evalDateName(env Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	p, err := part(args[0], "datename")
	if err != nil {
		return nil, err
	}
	v, t, err := temporal(env, args[1], ts[1], 2, "datename")
	if err != nil {
		return nil, err
	}
	return partName(p, v, t, dateFirst(ts, args, 2), types.LanguageOf(localeOf(env))), nil
}

// onePartResult is int.
func onePartResult(name string) resultFunc {
	return func(args []types.Type, _ []types.Value) (types.Type, error) {
		t, err := temporalType(args[0], 1, name)
		if err == nil && t.ID == types.Time {
			err = mserr.DatePartNotSupported(name, name, t.Name())
		}
		return types.IntType, err
	}
}

// evalPart extracts one part.
func evalPart(p datePart) evalFunc {
	return func(env Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
		v, t, err := temporal(env, args[0], ts[0], 1, p.String())
		if err != nil {
			return nil, err
		}
		return extract(p, v, t, 7), nil
	}
}

// evalEOMonth returns the last day of a month, a number of months later. A NULL number of months
// gives NULL.
func evalEOMonth(env Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	for _, a := range args {
		if a == nil {
			return nil, nil
		}
	}
	v, err := convertIn(env, args[0], ts[0], types.DateType)
	if err != nil {
		return nil, err
	}
	ticks, _ := v.(int64)
	if len(args) > 1 {
		n, err := convert.Integer(args[1], ts[1])
		if err != nil {
			return nil, err
		}
		var ok bool
		if ticks, ok = addMonths(ticks, int64(n), 1); !ok {
			return nil, mserr.DateOverflow("date")
		}
	}
	year, month, _ := types.DateOf(ticks / types.TicksPerDay)
	return types.Days(year, month, types.MonthDays(year, month)) * types.TicksPerDay, nil
}

// offsetResult keeps the scale of the argument.
func offsetResult(name string) resultFunc {
	return func(args []types.Type, _ []types.Value) (types.Type, error) {
		t := args[0]
		switch {
		case t.ID == types.DateTime2, t.ID == types.DateTimeOffset:
			return types.Type{ID: types.DateTimeOffset, Scale: t.Scale}, nil
		case t.IsTemporal() && name == "todatetimeoffset", t.IsString(), t.ID == types.Null:
			return types.DateTimeOffsetType, nil
		case t.IsLegacyTemporal(), t.ID == types.Date:
			return types.DateTimeOffsetType, nil
		}
		return types.Type{}, mserr.InvalidArgumentType(t.MessageName(), 1, name)
	}
}

// offsetMinutes reads '+hh:mm' or a number of minutes; error 9812.
func offsetMinutes(v types.Value, t types.Type, function string) (int, error) {
	if s, ok := v.(string); ok && t.IsString() {
		x, err := types.Convert("2000-01-02 00:00 "+s, types.VarCharMax, types.DateTimeOffsetType, types.NoStyle)
		b, ok := x.([]byte)
		if err != nil || !ok || (s[0] != '+' && s[0] != '-') {
			return 0, mserr.InvalidOffset(function)
		}
		_, minutes := types.SplitOffset(b)
		return minutes, nil
	}
	n, err := convert.Integer(v, t)
	if err != nil {
		return 0, err
	}
	if n < -840 || n > 840 {
		return 0, mserr.InvalidOffset(function)
	}
	return n, nil
}

// evalSwitchOffset keeps the instant.
func evalSwitchOffset(env Env, ts []types.Type, result types.Type, args []types.Value) (types.Value, error) {
	v, err := convertIn(env, args[0], ts[0], result)
	if err != nil {
		return nil, err
	}
	minutes, err := offsetMinutes(args[1], ts[1], "switchoffset")
	if err != nil {
		return nil, err
	}
	b, _ := v.([]byte)
	utc, _ := types.SplitOffset(b)
	return types.MakeOffset(utc, minutes), nil
}

// evalToOffset keeps the local time.
func evalToOffset(env Env, ts []types.Type, result types.Type, args []types.Value) (types.Value, error) {
	v, err := convertIn(env, args[0], ts[0], result)
	if err != nil {
		return nil, err
	}
	minutes, err := offsetMinutes(args[1], ts[1], "todatetimeoffset")
	if err != nil {
		return nil, err
	}
	utc := types.LocalTicks(v, result) - int64(minutes)*types.TicksPerMinute
	if utc < 0 || utc > types.MaxTicks {
		return nil, mserr.DateOverflow(result.Name())
	}
	return types.MakeOffset(utc, minutes), nil
}

// evalIsDate returns 1 for datetimes and for texts that convert to datetime. It returns 0 for
// datetime2 values.
func evalIsDate(env Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	if args[0] == nil {
		return int64(0), nil
	}
	if ts[0].IsTemporal() {
		if ts[0].IsLegacyTemporal() {
			return int64(1), nil
		}
		return nil, mserr.InvalidArgumentType(ts[0].MessageName(), 1, "isdate")
	}
	s, err := convert.Text(args[0], ts[0])
	if err != nil || types.TrimBlanks(s) == "" {
		return int64(0), nil
	}
	if _, err := types.ParseTemporal(s, types.DateTimeType, types.NoStyle, localeOf(env)); err != nil {
		return int64(0), nil
	}
	return int64(1), nil
}

func zoneResult(args []types.Type, _ []types.Value) (types.Type, error) {
	t := args[0]
	if t.IsString() { // a literal counts as datetime2(7)
		t = types.DateTime2Type
	}
	return timezone.Type(t)
}

func evalZone(env Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	name, err := convert.Text(args[1], ts[1])
	if err != nil {
		return nil, err
	}
	v, t := args[0], ts[0]
	if t.IsString() {
		if v, err = convertIn(env, v, t, types.DateTime2Type); err != nil {
			return nil, err
		}
		t = types.DateTime2Type
	}
	return timezone.At(v, t, name)
}
