package cron

import (
	"fmt"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
	"github.com/jobagent/jobagent/jobs/schedule/internal/engine"
	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
	"github.com/jobagent/jobagent/jobs/schedule/internal/words"
	"github.com/jobagent/jobagent/jobs/suggest"
)

// The fields of Quartz. Sunday is 1.
//
// Quartz.NET takes years up to 100 after the present one (CronExpression.MaxYear). The engine has
// no clock, so its bound is fixed: a year that is accepted once must be accepted whenever the
// stored text is parsed again. 2199 is enough until 2099.
var (
	quartzWeekdayField = field{name: "dayOfWeek", low: 1, high: 7, names: civil.ShortNames(civil.WeekdayNames, 6)}
	quartzYearField    = field{name: "year", low: 1970, high: 2199}
	quartzFields       = []field{secondField, minuteField, hourField, dayField, monthField, quartzWeekdayField, quartzYearField}
)

// quartzMacros are the short forms of Quartz.NET 4.
var quartzMacros = map[string]string{
	"@yearly": "0 0 0 1 1 ?", "@annually": "0 0 0 1 1 ?", "@monthly": "0 0 0 1 * ?", "@weekly": "0 0 0 ? * SUN",
	"@daily": "0 0 0 * * ?", "@midnight": "0 0 0 * * ?", "@hourly": "0 0 * * * ?",
}

// quartzDays holds the days of a Quartz line. A day field that is * or ? names no days. If both
// name days, a day that matches either counts.
// Source: Quartz.NET, docs/documentation/quartz-4.x/cron-expressions.md, "Mind ? and *".
type quartzDays struct {
	months                uint16
	years                 *yearSet // nil: every year
	byMonthDay, byWeekday bool     // the fields that name days

	days        uint32
	lastOffset  []int // L is 0, L-3 is 3
	nearWeekday []int // 15W
	lastWeekday []int // LW is 0, L-3W is 3
	// beforeLastWeekday is 2 for LW-2: two days before the last day from Monday to Friday, or the
	// first day of the month.
	beforeLastWeekday []int

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
	parts = expand(p, v, parts, 6, quartzMacros)
	if parts == nil {
		return nil, nil
	}
	if len(parts) != 6 && len(parts) != 7 {
		refuseCount(p, v, parts, "6 or 7 fields: "+fieldNames(quartzFields), 7)
		return nil, nil
	}
	before := p.Faults.Count()
	d := &quartzDays{byMonthDay: !namesNone(parts[3]), byWeekday: !namesNone(parts[5])}
	var masks [3]uint64
	for i := range masks {
		masks[i] = quartzMask(p, v.Path(), quartzFields[i], parts[i])
	}
	d.months = uint16(quartzMask(p, v.Path(), monthField, parts[4]))
	if d.byMonthDay {
		readQuartzMonthDays(p, v.Path(), d, parts[3])
	}
	if d.byWeekday {
		readQuartzWeekdays(p, v.Path(), d, parts[5])
	}
	if len(parts) == 7 && parts[6] != "*" {
		d.years = quartzYears(p, v.Path(), parts[6])
	}
	if p.Faults.Count() > before {
		return nil, nil
	}
	pattern := &engine.OnDays{Days: d.of, Times: engine.Times{Hours: uint32(masks[2]), Minutes: masks[1], Seconds: masks[0]}}
	p.Words = d.rule(pattern.Times)
	if !matches(pattern, 1970) { // the 400 years from 1970 include all named years
		p.Faults.Add(v.Path(), v.JSON(), neverMatches+lastDayHint(parts[3]), p.FirstValid("cron", withLastDay(parts, 3, "L")...))
		return nil, nil
	}
	d.warn(p, parts)
	return parts, pattern
}

// namesNone reports whether a day field restricts nothing.
func namesNone(text string) bool { return text == "*" || text == "?" }

// warn warns of meanings that other crons do not share, and of days that never come.
func (d *quartzDays) warn(p *syntax.Parser, parts []string) {
	if d.byMonthDay && d.byWeekday {
		p.Warn("day of month and day of week both name days: a day that matches either counts, as in Quartz.NET 4; other versions of Quartz refuse the line")
	}
	d.warnOthers(p, parts[5])
	if d.days>>29 != 0 || d.lastOffset != nil || d.lastWeekday != nil || d.nearWeekday != nil {
		warnImpossible(p, parts, 3, d.byMonthDay && d.byWeekday)
	}
}

// lastDayHint explains how to write the last day of a month, if the day of month may mean it.
func lastDayHint(day string) string {
	if isLateDay(day) {
		return "; the last day of a month is L"
	}
	return ""
}

// isLateDay reports whether a day of month is 29, 30 or 31, which some months lack.
func isLateDay(day string) bool { return day == "29" || day == "30" || day == "31" }

// withLastDay returns the line with the last day of the month in place of one day that no month of
// the line has. It is the only reading under which the line is due.
func withLastDay(parts []string, day int, last string) []string {
	if !isLateDay(parts[day]) {
		return nil
	}
	line := slices.Clone(parts)
	line[day] = last
	return []string{strings.Join(line, " ")}
}

// quartzRange is one part of a field: from, from+step and so on until to. If to is beyond the
// field's highest value, the range continues at the lowest.
type quartzRange struct{ from, to, step int }

// readQuartzRange parses *, a or a-b, each also with /step. A range may wrap around (22-2).
func readQuartzRange(f field, part string) (r quartzRange, ok bool) {
	body, stepText, hasStep := strings.Cut(part, "/")
	r.step = 1
	if hasStep {
		if r.step, ok = f.step(stepText); !ok {
			return r, false
		}
	}
	if body == "*" || body == "" && hasStep {
		r.from, r.to = f.low, f.high
		return r, true
	}
	a, b, isRange := strings.Cut(body, "-")
	if r.from, ok = f.quartzValue(a); !ok {
		return r, false
	}
	if r.to = r.from; isRange {
		if r.to, ok = f.quartzValue(b); !ok {
			return r, false
		}
	} else if hasStep {
		r.to = f.high
	}
	if r.from > r.to {
		r.to += f.high - f.low + 1
	}
	return r, !f.isYear() || r.to <= f.high
}

func (f field) isYear() bool { return f.name == "year" }

// quartzValue parses one value of a field. A year has four digits.
func (f field) quartzValue(text string) (int, bool) {
	if !f.isYear() {
		return f.value(text)
	}
	n, ok := syntax.Digits(text)
	return n, ok && len(text) == 4 && n >= f.low && n <= f.high
}

// takeQuartzRange parses one part of a field. ok is false after a fault.
func takeQuartzRange(p *syntax.Parser, path string, f field, part string) (r quartzRange, ok bool) {
	r, ok = readQuartzRange(f, part)
	switch {
	case ok || part == "":
	case p.Faults.Skip():
	default:
		p.Faults.Add(path+"."+f.name, syntax.Quote(part), f.quartzAllowed(part), f.quartzPropose(part))
	}
	return r, ok
}

// quartzAllowed describes the valid parts of a field, for an invalid one.
func (f field) quartzAllowed(part string) string {
	_, step, hasStep := strings.Cut(part, "/")
	if _, ok := f.step(step); hasStep && !ok {
		return fmt.Sprintf("a step from 1 to %d", f.high)
	}
	if from, to, ok := strings.Cut(part, "-"); ok && f.isYear() && syntax.IsDigits(from) && syntax.IsDigits(to) && from > to && len(from) == len(to) {
		return "a range of years that does not run backwards"
	}
	forms := fmt.Sprintf("%d to %d, *, a-b, a/n, or several of them with commas", f.low, f.high)
	if f.names != nil {
		forms = strings.ToUpper(strings.Join(f.names, ", ")) + ", or " + forms
	}
	if f.isWeekday() {
		forms += "; 1 is Sunday"
	}
	return forms + f.hint(part, false)
}

// quartzPropose returns another spelling of an invalid part, or "".
func (f field) quartzPropose(part string) string {
	if f.isWeekday() && mayBeLast(part) {
		return ""
	}
	try := strings.ToUpper(f.respell(part))
	for item := range strings.SplitSeq(try, ",") {
		if _, ok := readQuartzRange(f, item); !ok {
			return ""
		}
	}
	if try == part {
		return ""
	}
	return try
}

// mayBeLast reports whether a misspelt weekday may be the last one of the month: LTUE, TUEK.
func mayBeLast(text string) bool {
	upper := strings.ToUpper(text)
	if len(upper) != 4 {
		return false
	}
	_, isLast := quartzWeekdayField.value(strings.ReplaceAll(upper, "L", ""))
	_, isDay := quartzWeekdayField.value(upper[:3])
	near, _ := suggest.Weekday(text)
	return isLast || isDay && !strings.HasPrefix(strings.ToUpper(civil.WeekdayNames[near]), upper)
}

func quartzMask(p *syntax.Parser, path string, f field, text string) uint64 {
	defer refuseEmpty(p, path+"."+f.name, text, p.Faults.Count())
	return quartzItems(p, path, f, text)
}

// quartzItems returns the values of a list.
func quartzItems(p *syntax.Parser, path string, f field, text string) uint64 {
	var mask uint64
	last := ""
	for part := range strings.SplitSeq(text, ",") {
		if part == last {
			continue // a fault, too, is reported once
		}
		r, ok := takeQuartzRange(p, path, f, part)
		if last = part; !ok {
			continue
		}
		for n := r.from; n <= r.to; n += r.step {
			mask |= 1 << (f.low + (n-f.low)%(f.high-f.low+1))
		}
	}
	return mask
}

func quartzYears(p *syntax.Parser, path, text string) *yearSet {
	years := &yearSet{}
	defer refuseEmpty(p, path+".year", text, p.Faults.Count())
	last := ""
	for part := range strings.SplitSeq(text, ",") {
		if part == last {
			continue
		}
		r, ok := takeQuartzRange(p, path, quartzYearField, part)
		for n := r.from; ok && n <= r.to; n += r.step {
			years[n-quartzYearField.low] = true
		}
		last = part
	}
	return years
}

// yearSet is a set of the years from 1970 to 2199.
type yearSet [2199 - 1970 + 1]bool

// has reports whether a year is in the set.
func (y *yearSet) has(year int) bool {
	i := year - quartzYearField.low
	return i >= 0 && i < len(y) && y[i]
}

func (y *yearSet) list() []int {
	var years []int
	for i, in := range y {
		if in {
			years = append(years, quartzYearField.low+i)
		}
	}
	return years
}

// lastForm matches L, L-3, LW, L-3W and LW-2.
var lastForm = regexp.MustCompile(`^L(?:-([0-9]{1,2}))?(W(?:-([0-9]{1,2}))?)?$`)

// readQuartzMonthDays parses the day of month: numbers, L, L-n, LW, L-nW, LW-n, nW.
func readQuartzMonthDays(p *syntax.Parser, path string, d *quartzDays, text string) {
	const name = ".dayOfMonth"
	defer refuseEmpty(p, path+name, text, p.Faults.Count())
	last := ""
	for part := range strings.SplitSeq(text, ",") {
		if part == last {
			continue
		}
		last = part
		upper := strings.ToUpper(part)
		day, isWorkday := strings.CutSuffix(upper, "W")
		switch {
		case strings.HasPrefix(upper, "L"):
			if !p.Faults.Skip() && !d.readLast(upper) {
				p.Faults.Add(path+name, syntax.Quote(part), "L, L-n with n from 0 to 30, LW, L-nW, LW-n", lastProposal(upper))
			}
		case isWorkday:
			n, ok := dayField.value(day)
			if !ok {
				propose := suggest.Number(day, 1, 31)
				if propose != "" {
					propose += "W"
				}
				p.Faults.Add(path+name, syntax.Quote(part), "nW with n from 1 to 31, the working day nearest to it", propose)
			} else if !slices.Contains(d.nearWeekday, n) {
				d.nearWeekday = append(d.nearWeekday, n)
			}
		default:
			d.days |= uint32(quartzItems(p, path, dayField, part))
		}
	}
}

// readLast parses one of the forms that begin with L.
func (d *quartzDays) readLast(upper string) bool {
	m := lastForm.FindStringSubmatch(upper)
	if m == nil {
		return false
	}
	offset, _ := strconv.Atoi(m[1])
	less, _ := strconv.Atoi(m[3])
	list := &d.lastOffset
	switch {
	case offset > 30 || less > 30 || m[3] != "" && m[1] != "":
		return false
	case m[3] != "" && less > 0:
		list, offset = &d.beforeLastWeekday, less
	case m[2] != "":
		list = &d.lastWeekday
	}
	if !slices.Contains(*list, offset) {
		*list = append(*list, offset)
	}
	return true
}

// lastProposal returns another spelling of an invalid form with L, or "".
func lastProposal(upper string) string {
	try := strings.NewReplacer("–", "-", "—", "-", "−", "-", "LAST", "L").Replace(upper)
	if try == upper || !new(quartzDays).readLast(try) {
		return ""
	}
	return try
}

// readQuartzWeekdays parses the day of week: numbers (Sunday is 1), names, d#n, dL, L.
func readQuartzWeekdays(p *syntax.Parser, path string, d *quartzDays, text string) {
	path += "." + quartzWeekdayField.name
	defer refuseEmpty(p, path, text, p.Faults.Count())
	before := ""
	for part := range strings.SplitSeq(text, ",") {
		if part == before {
			continue
		}
		before = part
		upper := strings.ToUpper(part)
		name, n, isNth := strings.Cut(upper, "#")
		last, isLast := strings.CutSuffix(upper, "L")
		switch {
		case isNth:
			day, valid := quartzWeekdayField.value(name)
			if !valid || len(n) != 1 || n[0] < '1' || n[0] > '5' {
				refuseNth(p, path, part, "d#n: a weekday (1 is Sunday) and n from 1 to 5; the last one of the month is dL", name, n)
				continue
			}
			d.addNth(engine.Occurrence{Day: (day + 5) % 7, N: int(n[0] - '0')})
		case upper == "L":
			d.weekdays |= 1 << 5 // L alone is 7, Saturday
		case isLast:
			day, valid := quartzWeekdayField.value(last)
			if !valid {
				refuseNth(p, path, part, "dL: the last such weekday of the month (1 is Sunday)", last, "L")
				continue
			}
			d.addNth(engine.Occurrence{Day: (day + 5) % 7, N: -1})
		default:
			d.weekdays |= mondayFirst(quartzItems(p, strings.TrimSuffix(path, "."+quartzWeekdayField.name), quartzWeekdayField, part) >> 1)
		}
	}
}

// refuseNth adds the fault of the n-th weekday of a month.
func refuseNth(p *syntax.Parser, path, part, allowed, name, n string) {
	if p.Faults.Skip() {
		return
	}
	p.Faults.Add(path, syntax.Quote(part), allowed, quartzNth(name, n))
}

// addNth adds an occurrence once.
func (d *quartzDays) addNth(o engine.Occurrence) {
	if !slices.Contains(d.nth, o) {
		d.nth = append(d.nth, o)
	}
}

// quartzNth returns another spelling of a weekday and its number: FRI#2 for FRIDAY#2, and FRIL for
// FRI#-1. It returns "" if one of them is not certain.
func quartzNth(name, n string) string {
	day := strings.ToUpper(quartzWeekdayField.word(name))
	switch {
	case day == "" || mayBeLast(name):
		return ""
	case n == "-1" || n == "L" || n == "LAST":
		return day + "L"
	}
	if n = suggest.Number(n, 1, 5); n == "" {
		return ""
	}
	return day + "#" + n
}

// rule returns the rule for the description; nil if there are no words for it.
func (d *quartzDays) rule(times engine.Times) *words.Rule {
	if slices.ContainsFunc(d.beforeLastWeekday, func(less int) bool { return less > 24 }) {
		return nil // in some months it would be the first day
	}
	w := words.Days{Months: d.months, BeforeLastWorkday: d.beforeLastWeekday}
	if d.years != nil {
		w.Years = words.Runs(d.years.list())
	}
	if d.byWeekday {
		w.Weekdays, w.Nth = d.weekdays, d.nth
	}
	w.Either = d.byMonthDay && d.byWeekday
	if !d.byMonthDay {
		return &words.Rule{Times: times, Days: w}
	}
	w.MonthDays = words.Set(uint64(d.days))
	for _, offset := range d.lastOffset {
		w.MonthDays = append(w.MonthDays, words.Range{From: -offset - 1, To: -offset - 1})
	}
	w.Workdays = append(w.Workdays, d.nearWeekday...)
	for _, offset := range d.lastWeekday {
		w.Workdays = append(w.Workdays, -offset-1)
	}
	return &words.Rule{Times: times, Days: w}
}

func (d *quartzDays) of(year int, month time.Month) uint32 {
	if d.months>>month&1 == 0 || d.years != nil && !d.years.has(year) {
		return 0
	}
	first := civil.Weekday(civil.DayNumber(year, month, 1))
	length := civil.MonthLength(year, month)
	all := engine.MonthDays(year, month)
	if !d.byMonthDay && !d.byWeekday {
		return all
	}
	var mask uint32
	if d.byWeekday {
		mask = engine.WeekdayDays(first, d.weekdays)
		for _, o := range d.nth {
			mask |= engine.NthWeekday(first, length, o.Day, o.N)
		}
	}
	mask |= d.days
	for _, offset := range d.lastOffset {
		if day := length - offset; day >= 1 {
			mask |= 1 << day
		}
	}
	for _, offset := range d.lastWeekday {
		mask |= workday(first, length, length-offset)
	}
	for _, less := range d.beforeLastWeekday {
		last := bits.TrailingZeros32(workday(first, length, length))
		mask |= 1 << max(1, last-less)
	}
	for _, day := range d.nearWeekday {
		mask |= workday(first, length, day)
	}
	return mask & all
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
