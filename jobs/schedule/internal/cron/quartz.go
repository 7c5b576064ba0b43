package cron

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/internal/suggest"
	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
	"github.com/jobagent/jobagent/jobs/schedule/internal/engine"
	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
	"github.com/jobagent/jobagent/jobs/schedule/internal/words"
)

// The fields of Quartz. Sunday is 1.
var (
	quartzWeekdayField = field{name: "dayOfWeek", low: 1, high: 7, names: civil.ShortNames(civil.WeekdayNames, 6)}
	quartzYearField    = field{name: "year", low: 1970, high: 2099}
	quartzFields       = []field{secondField, minuteField, hourField, dayField, monthField, quartzWeekdayField, quartzYearField}
)

// quartzDays holds the days of a Quartz line.
type quartzDays struct {
	months uint16
	years  map[int]bool // nil: every year
	// byWeekday reports whether the day of month is ?. Then weekdays, nth and last apply; otherwise
	// the other fields apply.
	byWeekday bool

	days        uint32
	lastOffset  []int // L is 0, L-3 is 3
	nearWeekday []int // 15W
	lastWeekday []int // LW is 0, L-3W is 3

	weekdays uint8
	nth      []engine.Occurrence // 6#3, and 6L as the last
}

// Quartz is the dialect of Quartz.
var Quartz = syntax.Dialect{Elements: elements, Line: "cron", Read: func(p *syntax.Parser) engine.Schedule { return readLine(p, quartzWall, readQuartz) }}

// quartzWall returns the schedule of a line of Quartz. Every time moves out of a gap. In an
// overlap, a pattern with a wildcard, step or range in its time of day counts both times, any other
// the first time (D-Z6).
// Source: Quartz.NET 4, CronExpression.ResolveLocal and IsIntervalBased.
func quartzWall(p *syntax.Parser, pattern engine.Pattern, fields []string) engine.Schedule {
	overlap := engine.OverlapFirst
	if strings.ContainsAny(strings.Join(fields[:3], ""), "*-/") {
		overlap = engine.OverlapBoth
	}
	return p.WallBy(pattern, engine.GapShift, overlap)
}

// readQuartz parses the fields second minute hour dayOfMonth month dayOfWeek [year].
func readQuartz(p *syntax.Parser, v *syntax.Value, parts []string) ([]string, *engine.OnDays) {
	if len(parts) != 6 && len(parts) != 7 {
		p.Faults.Add(v.Path, v.Raw, fmt.Sprintf("6 or 7 fields: %s; there are %d", fieldNames(quartzFields), len(parts)), syntax.CronKinds(len(parts)))
		return nil, nil
	}
	before := len(p.Faults.List)
	d := &quartzDays{byWeekday: parts[3] == "?"}
	if d.byWeekday == (parts[5] == "?") {
		propose := ""
		try := append([]string(nil), parts...)
		switch {
		case !d.byWeekday && parts[3] == "*":
			try[3] = "?"
			propose = syntax.Quote(strings.Join(try, " "))
		case !d.byWeekday && parts[5] == "*":
			try[5] = "?"
			propose = syntax.Quote(strings.Join(try, " "))
		case d.byWeekday:
			try[3] = "*"
			propose = syntax.Quote(strings.Join(try, " "))
		}
		p.Faults.Add(v.Path, v.Raw, "? in exactly one of dayOfMonth and dayOfWeek", propose)
	}
	var masks [3]uint64
	for i := range masks {
		masks[i] = quartzMask(p, v.Path, quartzFields[i], parts[i])
	}
	d.months = uint16(quartzMask(p, v.Path, monthField, parts[4]))
	if parts[3] != "?" {
		readQuartzMonthDays(p, v.Path, d, parts[3])
	}
	if parts[5] != "?" {
		readQuartzWeekdays(p, v.Path, d, parts[5])
	}
	if len(parts) == 7 && parts[6] != "*" {
		d.years = quartzYears(p, v.Path, parts[6])
	}
	if len(p.Faults.List) > before {
		return nil, nil
	}
	pattern := &engine.OnDays{Days: d.of, Times: engine.Times{Hours: uint32(masks[2]), Minutes: masks[1], Seconds: masks[0]}}
	p.Words = &words.Rule{Times: pattern.Times, Days: d.words()}
	// Named years end in 2099, so the 400 years from 1970 include all of them.
	return parts, possible(p, v, pattern, 1970, parts, 3)
}

// quartzRange is one part of a field: from, from+step and so on until to. If to is beyond the
// field's highest value, the range continues at the lowest.
type quartzRange struct{ from, to, step int }

// readQuartzRange parses *, a or a-b, each also with /step. A range may wrap around (22-2). For an
// invalid part, allowed describes the valid parts. propose is the nearest valid part if it does not
// follow from the field's values.
func readQuartzRange(f field, part string) (r quartzRange, allowed, propose string) {
	forms := fmt.Sprintf("%d to %d, *, a-b, a/n, or several of them with commas", f.low, f.high)
	if f.names != nil {
		forms = strings.ToUpper(strings.Join(f.names, ", ")) + ", or " + forms
	}
	if strings.HasPrefix(part, "H") {
		forms += "; H (a value by the hash of a name) is not supported: give the schedule a jitter instead"
	}
	body, stepText, hasStep := strings.Cut(part, "/")
	r.step = 1
	if hasStep {
		var err error
		if r.step, err = strconv.Atoi(stepText); err != nil || !syntax.IsDigits(stepText) || r.step < 1 || r.step > f.high {
			return r, fmt.Sprintf("a step from 1 to %d", f.high), ""
		}
	}
	if body == "*" || body == "" && hasStep {
		r.from, r.to = f.low, f.high
		return r, "", ""
	}
	a, b, isRange := strings.Cut(body, "-")
	value := f.value
	if f.name == "year" {
		value = func(s string) (int, bool) {
			n, err := strconv.Atoi(s)
			return n, err == nil && syntax.IsDigits(s) && n >= f.low && n <= f.high
		}
	}
	var okFrom bool
	r.from, okFrom = value(a)
	okTo := true
	if r.to = r.from; isRange {
		r.to, okTo = value(b)
	} else if hasStep {
		r.to = f.high
	}
	if !okFrom || !okTo {
		return r, forms, ""
	}
	if r.from > r.to {
		if f.name == "year" {
			return r, "a range of years that does not run backwards", b + "-" + a
		}
		r.to += f.high - f.low + 1
	}
	return r, "", ""
}

// takeQuartzRange parses one part of a field. ok is false after a fault.
func takeQuartzRange(p *syntax.Parser, path string, f field, part string) (r quartzRange, ok bool) {
	r, allowed, propose := readQuartzRange(f, part)
	if allowed == "" {
		return r, true
	}
	if propose == "" {
		propose = f.quartzNear(part)
	}
	p.Faults.Add(path+"."+f.name, syntax.Quote(part), allowed, propose)
	return r, false
}

// quartzNear returns the valid part that is nearest to an invalid part of a field.
func (f field) quartzNear(part string) string {
	return strings.ToUpper(suggest.Repaired(part, f.low, f.high, f.names, func(try string) bool {
		_, allowed, _ := readQuartzRange(f, try)
		return allowed == ""
	}))
}

func quartzMask(p *syntax.Parser, path string, f field, text string) uint64 {
	var mask uint64
	for part := range strings.SplitSeq(text, ",") {
		r, ok := takeQuartzRange(p, path, f, part)
		if !ok {
			continue
		}
		for n := r.from; n <= r.to; n += r.step {
			mask |= 1 << (f.low + (n-f.low)%(f.high-f.low+1))
		}
	}
	return mask
}

func quartzYears(p *syntax.Parser, path, text string) map[int]bool {
	years := map[int]bool{}
	for part := range strings.SplitSeq(text, ",") {
		r, ok := takeQuartzRange(p, path, quartzYearField, part)
		for n := r.from; ok && n <= r.to; n += r.step {
			years[n] = true
		}
	}
	return years
}

// readQuartzMonthDays parses the day of month: numbers, L, L-n, LW, L-nW, nW.
func readQuartzMonthDays(p *syntax.Parser, path string, d *quartzDays, text string) {
	for part := range strings.SplitSeq(text, ",") {
		upper := strings.ToUpper(part)
		bad := func(allowed, near string) { p.Faults.Add(path+".dayOfMonth", syntax.Quote(part), allowed, near) }
		if rest, ok := strings.CutPrefix(upper, "L"); ok {
			rest, toWorkday := strings.CutSuffix(rest, "W")
			offset := 0
			if rest != "" {
				n, ok := strings.CutPrefix(rest, "-")
				var err error
				if offset, err = strconv.Atoi(n); err != nil || !ok || !syntax.IsDigits(n) || offset > 30 {
					near := "L"
					if ok && syntax.IsDigits(n) {
						near = "L-" + suggest.Clamp(n, 0, 30)
					}
					if toWorkday {
						near += "W"
					}
					bad("L, L-n with n from 0 to 30, LW, L-nW", near)
					continue
				}
			}
			if toWorkday {
				d.lastWeekday = append(d.lastWeekday, offset)
			} else {
				d.lastOffset = append(d.lastOffset, offset)
			}
			continue
		}
		if n, ok := strings.CutSuffix(upper, "W"); ok {
			day, valid := dayField.value(n)
			if !valid {
				near := suggest.Clamp(n, 1, 31)
				if near != "" {
					near += "W"
				}
				bad("nW with n from 1 to 31, the working day nearest to it", near)
				continue
			}
			d.nearWeekday = append(d.nearWeekday, day)
			continue
		}
		d.days |= uint32(quartzMask(p, path, dayField, part))
	}
}

// readQuartzWeekdays parses the day of week: numbers (Sunday is 1), names, d#n, dL, L.
func readQuartzWeekdays(p *syntax.Parser, path string, d *quartzDays, text string) {
	for part := range strings.SplitSeq(text, ",") {
		upper := strings.ToUpper(part)
		if name, n, ok := strings.Cut(upper, "#"); ok {
			day, valid := quartzWeekdayField.value(name)
			count, err := strconv.Atoi(n)
			if !valid || err != nil || !syntax.IsDigits(n) || count < 1 || count > 5 {
				p.Faults.Add(path+".dayOfWeek", syntax.Quote(part), "d#n: a weekday (1 is Sunday) and n from 1 to 5", quartzNth(name, suggest.Clamp(n, 1, 5), "#"))
				continue
			}
			d.nth = append(d.nth, engine.Occurrence{Day: (day + 5) % 7, N: count})
			continue
		}
		if name, ok := strings.CutSuffix(upper, "L"); ok {
			if name == "" {
				d.weekdays |= 1 << 5 // L alone is 7, Saturday
				continue
			}
			day, valid := quartzWeekdayField.value(name)
			if !valid {
				p.Faults.Add(path+".dayOfWeek", syntax.Quote(part), "dL: the last such weekday of the month (1 is Sunday)", quartzNth(name, "L", ""))
				continue
			}
			d.nth = append(d.nth, engine.Occurrence{Day: (day + 5) % 7, N: -1})
			continue
		}
		if part == "0" {
			p.Faults.Add(path+".dayOfWeek", syntax.Quote(part), "1 (Sunday) to 7 (Saturday), or a name", "1")
			continue
		}
		d.weekdays |= mondayFirst(quartzMask(p, path, quartzWeekdayField, part) >> 1)
	}
}

// quartzNth returns the nearest weekday followed by its sign and number. It returns "" if no
// weekday is near or there is no number.
func quartzNth(name, n, sign string) string {
	near := strings.ToUpper(suggest.Nearest(name, quartzWeekdayField.names))
	if syntax.IsDigits(name) {
		near = suggest.Clamp(name, 1, 7)
	}
	if near == "" || n == "" {
		return ""
	}
	return near + sign + n
}

// words returns the days for the description.
func (d *quartzDays) words() words.Days {
	w := words.Days{Months: d.months}
	if d.years != nil {
		for _, year := range slices.Sorted(maps.Keys(d.years)) {
			if n := len(w.Years); n > 0 && w.Years[n-1].To == year-1 {
				w.Years[n-1].To = year
			} else {
				w.Years = append(w.Years, words.Range{From: year, To: year})
			}
		}
	}
	if d.byWeekday {
		w.Weekdays, w.Nth = d.weekdays, d.nth
		return w
	}
	w.MonthDays = words.Set(uint64(d.days))
	for _, offset := range d.lastOffset {
		w.MonthDays = append(w.MonthDays, words.Range{From: -offset - 1, To: -offset - 1})
	}
	w.Workdays = append(w.Workdays, d.nearWeekday...)
	for _, offset := range d.lastWeekday {
		w.Workdays = append(w.Workdays, -offset-1)
	}
	return w
}

func (d *quartzDays) of(year int, month time.Month) uint32 {
	if d.months>>month&1 == 0 || d.years != nil && !d.years[year] {
		return 0
	}
	first := civil.Weekday(civil.DayNumber(year, month, 1))
	length := civil.MonthLength(year, month)
	var mask uint32
	if d.byWeekday {
		mask = engine.WeekdayDays(first, d.weekdays)
		for _, o := range d.nth {
			mask |= engine.NthWeekday(first, length, o.Day, o.N)
		}
		return mask & engine.MonthDays(year, month)
	}
	mask = d.days
	for _, offset := range d.lastOffset {
		if day := length - offset; day >= 1 {
			mask |= 1 << day
		}
	}
	for _, offset := range d.lastWeekday {
		mask |= workday(first, length, length-offset)
	}
	for _, day := range d.nearWeekday {
		mask |= workday(first, length, day)
	}
	return mask & engine.MonthDays(year, month)
}

// workday returns the mask of the day from Monday to Friday that is nearest to a day within its
// month. It returns 0 if the month has no such day.
func workday(first, length, day int) uint32 {
	if day < 1 || day > length {
		return 0
	}
	switch (first + day - 1) % 7 {
	case 5: // Saturday
		if day--; day < 1 {
			day = 3
		}
	case 6:
		if day++; day > length {
			day = length - 2
		}
	}
	return 1 << day
}
