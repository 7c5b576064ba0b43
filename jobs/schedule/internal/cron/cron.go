package cron

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
	"github.com/jobagent/jobagent/jobs/schedule/internal/engine"
	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
	"github.com/jobagent/jobagent/jobs/schedule/internal/words"
	"github.com/jobagent/jobagent/jobs/suggest"
)

// field is one field of a cron line.
type field struct {
	name      string
	low, high int
	names     []string // of values from low on, in three letters
}

var (
	secondField = field{name: "second", low: 0, high: 59}
	minuteField = field{name: "minute", low: 0, high: 59}
	hourField   = field{name: "hour", low: 0, high: 23}
	dayField    = field{name: "dayOfMonth", low: 1, high: 31}
	monthField  = field{name: "month", low: 1, high: 12, names: civil.ShortNames(civil.MonthNames, 0)}
	// In weekdayField, both 0 and 7 are Sunday.
	weekdayField = field{name: "dayOfWeek", low: 0, high: 7, names: civil.ShortNames(civil.WeekdayNames, 6)}
)

// macros are the short forms of crontab(5), as lines of five fields.
var macros = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// withSecond puts the second 0 in front of each line.
func withSecond(lines map[string]string) map[string]string {
	out := map[string]string{}
	for name, line := range lines {
		out[name] = "0 " + line
	}
	return out
}

// elements are the names of the elements of cron5, cron6 and quartz.
var elements = []string{"cron", "startTime", "endTime", "count"}

// Cron5 is the crontab of cronie; cron6Dialect has a field for the second before the others.
var (
	Cron5 = syntax.Dialect{Elements: elements, Line: "cron", Read: func(p *syntax.Parser) engine.Schedule { return readLine(p, cron5.wall, cron5.read) }}
	Cron6 = syntax.Dialect{Elements: elements, Line: "cron", Read: func(p *syntax.Parser) engine.Schedule { return readLine(p, cron6.wall, cron6.read) }}
)

// unixCron is a variant of crontab(5).
type unixCron struct {
	fields []field
	// macros are the short forms, as lines of the fields.
	macros map[string]string
	// seconds reports whether the first field is the second. Such a line may also contain ? for a
	// day, and a/n.
	seconds bool
}

var (
	cron5 = unixCron{fields: []field{minuteField, hourField, dayField, monthField, weekdayField}, macros: macros}
	cron6 = unixCron{fields: []field{secondField, minuteField, hourField, dayField, monthField, weekdayField}, macros: withSecond(macros), seconds: true}
)

// readLine parses a line and the bounds beside it. read parses the fields. It returns the fields
// without short forms, and the pattern, or nil after a fault. wall makes the schedule of them.
func readLine(p *syntax.Parser, wall func(*syntax.Parser, engine.Pattern, []string) engine.Schedule, read func(p *syntax.Parser, v *syntax.Value, fields []string) ([]string, *engine.OnDays)) engine.Schedule {
	v := p.Reader.Take("cron")
	p.ReadBounds()
	p.ReadCount(p.Reader)
	const what = "a line of cron"
	if v == nil {
		p.Faults.Add("cron", "null", what, "")
		return nil
	}
	text, ok := p.Reader.Text(v, what)
	if !ok {
		return nil
	}
	fields, pattern := read(p, v, takeZone(p, v, strings.Fields(text)))
	if pattern == nil {
		return nil
	}
	return wall(p, pattern, fields)
}

// wall returns the schedule of a line of crontab(5). As in cronie, a line runs on every matching
// wall clock if its field of the minute or of the hour begins with a star. Otherwise its times are
// fixed, lists, ranges and steps over a range too (D-Z6).
// Source: cronie, src/entry.c (MIN_STAR, HR_STAR) and src/cron.c (find_jobs).
func (c *unixCron) wall(p *syntax.Parser, pattern engine.Pattern, fields []string) engine.Schedule {
	hour := len(fields) - 4
	return p.Wall(pattern, fields[hour-1][0] != '*' && fields[hour][0] != '*')
}

// expand replaces a short form by its fields, and returns any other line as it is. It returns nil
// after a fault.
func expand(p *syntax.Parser, v *syntax.Value, parts []string, fields int, macros map[string]string) []string {
	if len(parts) == 0 || len(parts) == fields || !strings.HasPrefix(parts[0], "@") {
		return append([]string{}, parts...)
	}
	line, known := macros[strings.ToLower(parts[0])]
	if known && len(parts) == 1 {
		return strings.Fields(line)
	}
	allowed, propose := "@yearly, @annually, @monthly, @weekly, @daily, @midnight or @hourly, alone", ""
	switch {
	case strings.EqualFold(parts[0], "@every"):
		allowed += "; for elapsed time use the kind azure-scheduler, sap or elastic"
	case strings.EqualFold(parts[0], "@reboot"):
		allowed += "; the start of a machine (@reboot) is not a time"
	case len(parts) == 1:
		propose = suggest.Nearest(parts[0], slices.Sorted(maps.Keys(macros)))
	case known && !fieldLike.MatchString(parts[1]):
		allowed += "; " + commandHint
		propose = p.FirstValid("cron", parts[0])
	}
	p.Faults.Add(v.Path(), v.JSON(), allowed, propose)
	return nil
}

// takeZone removes CRON_TZ=zone from the beginning of a line and sets the zone.
func takeZone(p *syntax.Parser, v *syntax.Value, parts []string) []string {
	if len(parts) == 0 {
		return parts
	}
	name, ok := strings.CutPrefix(parts[0], "CRON_TZ=")
	if !ok {
		if name, ok = strings.CutPrefix(parts[0], "TZ="); !ok {
			return parts
		}
	}
	name, rest := syntax.TakeZone(name, parts[1:])
	zone, err := syntax.LoadZone(name)
	switch {
	case err != nil:
		p.MergeAt(v.Path()+".CRON_TZ", err)
	case p.ZoneGiven && p.Zone.String() != zone.String():
		p.Faults.Add(v.Path()+".CRON_TZ", syntax.Quote(name), "the same zone as timeZone, "+p.Zone.String(), "")
	default:
		p.Zone, p.ZoneGiven = zone, true
	}
	return rest
}

// read parses the fields of a line.
func (c *unixCron) read(p *syntax.Parser, v *syntax.Value, parts []string) ([]string, *engine.OnDays) {
	parts = expand(p, v, parts, len(c.fields), c.macros)
	if parts == nil {
		return nil, nil
	}
	if len(parts) != len(c.fields) {
		refuseCount(p, v, parts, fmt.Sprintf("%d fields: %s", len(c.fields), fieldNames(c.fields)), len(c.fields))
		return nil, nil
	}
	before := p.Faults.Count()
	var masks []uint64
	for i, f := range c.fields {
		masks = append(masks, c.mask(p, v.Path(), f, parts[i]))
	}
	if p.Faults.Count() > before {
		return nil, nil
	}
	n := len(masks)
	weekdays := masks[n-1]
	weekdays |= weekdays >> 7 & 1 // 7 is 0
	d := &unixDays{
		months: uint16(masks[n-2]), days: uint32(masks[n-3]),
		weekdays: mondayFirst(weekdays), either: !anyField(parts[n-3]) && !anyField(parts[n-1]),
	}
	seconds := uint64(1)
	if c.seconds {
		seconds = masks[0]
	}
	if d.either {
		p.Warn("day of month and day of week are both restricted: a day that matches either counts, as in Unix cron")
	}
	c.warnOthers(p, parts, d)
	pattern := &engine.OnDays{Days: d.of, Times: engine.Times{Hours: uint32(masks[n-4]), Minutes: masks[n-5], Seconds: seconds}}
	p.Words = &words.Rule{Times: pattern.Times, Days: words.Days{
		Months: d.months, MonthDays: words.Set(uint64(d.days)), Weekdays: d.weekdays & 0x7f, Either: d.either,
	}}
	if d.days>>29 != 0 {
		warnImpossible(p, parts, n-3, d.either)
	}
	if !matches(pattern, 2000) {
		p.Faults.Add(v.Path(), v.JSON(), neverMatches+"; the last day of a month is L in the kind quartz", "")
		return nil, nil
	}
	return parts, pattern
}

// neverMatches is the fault of a pattern without any match (D-E1).
const neverMatches = "a pattern that matches some day; this one matches none within 400 years"

// matches reports whether a pattern has a match in the 400 years from year on.
func matches(pattern *engine.OnDays, year int) bool {
	_, ok := pattern.Next(civil.DayNumber(year, time.January, 1) * civil.DaySeconds)
	return ok
}

// warnImpossible warns of the items of the days and months that never match beside others that do.
// day is the index of the day of month; the month and the day of week follow. either means that the
// day of week counts alone, too.
func warnImpossible(p *syntax.Parser, parts []string, day int, either bool) {
	const most = 32 // items; each is a search
	if p.Try == nil || !either && !strings.Contains(parts[day]+parts[day+1], ",") || strings.Count(parts[day]+parts[day+1], ",") > most {
		return
	}
	alone := slices.Clone(parts)
	if either {
		alone[day+2] = "*"
		if !p.Try("cron", strings.Join(alone, " ")) {
			p.Warn(fmt.Sprintf("dayOfMonth %s never matches with month %s; only the day of week counts", parts[day], parts[day+1]))
			return
		}
	}
	names := []string{dayField.name, monthField.name}
	for i, name := range names {
		items := strings.Split(parts[day+i], ",")
		for _, item := range items {
			if len(items) == 1 {
				break
			}
			alone[day+i] = item
			if p.Try("cron", strings.Join(alone, " ")) {
				continue
			}
			p.Warn(fmt.Sprintf("%s %s never matches with %s %s", name, item, names[1-i], parts[day+1-i]))
		}
		alone[day+i] = parts[day+i]
	}
}

// anyField reports whether a field is unrestricted. crontab(5) calls a field restricted unless it
// begins with a star. A leading ? has the same effect in cron6.
func anyField(text string) bool { return text[0] == '*' || text[0] == '?' }

// mondayFirst converts a mask from Sunday as bit 0 to Monday as bit 0.
func mondayFirst(mask uint64) uint8 { return uint8(mask>>1&0x3f | mask&1<<6) }

func fieldNames(fields []field) string {
	var names []string
	for _, f := range fields {
		names = append(names, f.name)
	}
	return strings.Join(names, " ")
}

// unixDays holds the days of a cron line.
type unixDays struct {
	months   uint16
	days     uint32
	weekdays uint8
	either   bool
}

func (d *unixDays) of(year int, month time.Month) uint32 {
	if d.months>>month&1 == 0 {
		return 0
	}
	byWeekday := engine.WeekdayDays(civil.Weekday(civil.DayNumber(year, month, 1)), d.weekdays)
	if d.either {
		return (d.days | byWeekday) & engine.MonthDays(year, month)
	}
	return d.days & byWeekday & engine.MonthDays(year, month)
}

// mask parses the list of one field.
func (c *unixCron) mask(p *syntax.Parser, path string, f field, text string) uint64 {
	var mask uint64
	path += "." + f.name
	before, last := p.Faults.Count(), ""
	for part := range strings.SplitSeq(text, ",") {
		if part == last {
			continue // a fault, too, is reported once
		}
		m, ok := c.part(f, part)
		last = part
		if mask |= m; ok || part == "" {
			continue
		}
		if p.Faults.Skip() {
			continue
		}
		p.Faults.Add(path, syntax.Quote(part), c.allowed(f, part), c.propose(f, part))
	}
	refuseEmpty(p, path, text, before)
	return mask
}

// part parses one part of a list: *, a or a-b, each also with /step. A range may not run backwards.
func (c *unixCron) part(f field, part string) (mask uint64, ok bool) {
	if n := len(part); n > 0 && n <= 2 && part[0] >= '0' && part[0] <= '9' { // the common form, first
		v, ok := f.value(part)
		return 1 << (v & 63), ok
	}
	body, stepText, hasStep := strings.Cut(part, "/")
	r, isRange, ok := c.span(f, body)
	if !ok {
		return 0, false
	}
	step := 1
	if hasStep {
		step, ok = f.step(stepText)
		if !isRange {
			ok = ok && c.seconds
			r.to = f.last()
		}
	}
	if !ok || r.from > r.to {
		return 0, false
	}
	for n := r.from; n <= r.to; n += step {
		mask |= 1 << n
	}
	return mask, true
}

// span is the ends of a range.
type span struct{ from, to int }

// span parses *, ? and a range; isRange is false for one value.
func (c *unixCron) span(f field, body string) (r span, isRange, ok bool) {
	if body == "*" || body == "?" && c.seconds && f.isDay() {
		return span{f.low, f.last()}, true, true
	}
	a, b, isRange := strings.Cut(body, "-")
	if r.from, ok = f.value(a); !ok {
		return r, isRange, false
	}
	if r.to = r.from; !isRange {
		return r, false, true
	}
	if r.to, ok = f.value(b); ok && f.isWeekday() && r.to == 0 && r.from > 0 {
		r.to = 7 // fri-sun
	}
	return r, true, ok
}

// isDay reports whether the field is the day of month or of week.
func (f field) isDay() bool { return f.name == "dayOfMonth" || f.isWeekday() }

func (f field) isWeekday() bool { return f.name == "dayOfWeek" }

// last returns the last value of the field from its beginning: 7, a second Sunday, does not count.
func (f field) last() int {
	if f.isWeekday() && f.low == 0 {
		return 6
	}
	return f.high
}

// step parses a step.
func (f field) step(text string) (int, bool) {
	step, ok := syntax.Digits(text)
	return step, ok && step >= 1 && step <= f.high
}

// value parses one value of a field, a number or a name.
func (f field) value(text string) (int, bool) {
	if text == "" || text[0] >= '0' && text[0] <= '9' {
		n, ok := syntax.Digits(text)
		return n, ok && len(text) <= 2 && n >= f.low && n <= f.high
	}
	for i, name := range f.names {
		if len(text) == len(name) && strings.EqualFold(name, text) {
			return f.low + i, true
		}
	}
	return 0, false
}
