package cron

import (
	"fmt"
	"maps"
	"regexp"
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
	// seconds reports whether the first field is the second. Such a line may also contain ? for a
	// day, and a/n.
	seconds bool
}

var (
	cron5 = unixCron{fields: []field{minuteField, hourField, dayField, monthField, weekdayField}}
	cron6 = unixCron{fields: []field{secondField, minuteField, hourField, dayField, monthField, weekdayField}, seconds: true}
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

// expand replaces a short form by its fields. It returns nil after a fault.
func (c *unixCron) expand(p *syntax.Parser, v *syntax.Value, parts []string) []string {
	if len(parts) == 0 || !strings.HasPrefix(parts[0], "@") {
		return append([]string{}, parts...)
	}
	line, known := macros[strings.ToLower(parts[0])]
	if !known || len(parts) > 1 {
		allowed := "@yearly, @annually, @monthly, @weekly, @daily, @midnight or @hourly, alone"
		if strings.EqualFold(parts[0], "@every") {
			allowed += "; for elapsed time use the kind azure-scheduler, sap or elastic"
		}
		p.Faults.Add(v.Path, v.Raw, allowed, suggest.Nearest(parts[0], slices.Sorted(maps.Keys(macros))))
		return nil
	}
	if c.seconds {
		line = "0 " + line
	}
	return strings.Fields(line)
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
		p.MergeAt(v.Path+".CRON_TZ", err)
	case p.ZoneGiven && p.Zone.String() != zone.String():
		p.Faults.Add(v.Path+".CRON_TZ", syntax.Quote(name), "the same zone as timeZone, "+p.Zone.String(), "")
	default:
		p.Zone, p.ZoneGiven = zone, true
	}
	return rest
}

// read parses the fields of a line.
func (c *unixCron) read(p *syntax.Parser, v *syntax.Value, parts []string) ([]string, *engine.OnDays) {
	parts = c.expand(p, v, parts)
	if parts == nil {
		return nil, nil
	}
	if len(parts) != len(c.fields) {
		propose := syntax.CronKinds(len(parts))
		if propose == "" && len(parts) > 0 && len(parts) < len(c.fields) {
			propose = p.FirstValid("cron", strings.Join(parts, " ")+strings.Repeat(" *", len(c.fields)-len(parts)))
		}
		p.Faults.Add(v.Path, v.Raw, fmt.Sprintf("%d fields: %s; there are %d", len(c.fields), fieldNames(c.fields), len(parts)), propose)
		return nil, nil
	}
	before := len(p.Faults.List)
	var masks []uint64
	for i, f := range c.fields {
		masks = append(masks, c.mask(p, v.Path, f, parts[i]))
	}
	if len(p.Faults.List) > before {
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
	pattern := &engine.OnDays{Days: d.of, Times: engine.Times{Hours: uint32(masks[n-4]), Minutes: masks[n-5], Seconds: seconds}}
	p.Words = &words.Rule{Times: pattern.Times, Days: words.Days{
		Months: d.months, MonthDays: words.Set(uint64(d.days)), Weekdays: d.weekdays & 0x7f, Either: d.either,
	}}
	return parts, possible(p, v, pattern, 2000, parts, n-3)
}

// possible returns the pattern, or nil and a fault if it never matches in the 400 years from year
// on. The fault names the field of parts at index day.
func possible(p *syntax.Parser, v *syntax.Value, pattern *engine.OnDays, year int, parts []string, day int) *engine.OnDays {
	if _, ok := pattern.Next(civil.DayNumber(year, time.January, 1) * civil.DaySeconds); !ok {
		p.Faults.Add(v.Path, v.Raw, "a pattern that matches some day; this one matches none within 400 years", p.FirstValid("cron", syntax.WithLastDays(parts, day)...))
		return nil
	}
	return pattern
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
	for part := range strings.SplitSeq(text, ",") {
		m, allowed, propose := c.part(f, part)
		if allowed != "" {
			if _, wrong, _ := c.part(f, propose); propose == "" || wrong != "" {
				propose = c.near(f, part)
			}
			p.Faults.Add(path+"."+f.name, syntax.Quote(part), allowed, propose)
		}
		mask |= m
	}
	return mask
}

// part parses one part of a list: *, a or a-b, each also with /step.
func (c *unixCron) part(f field, part string) (mask uint64, allowed, propose string) {
	forms := fmt.Sprintf("%d to %d, *, a-b, a-b/n, */n, or several of them with commas", f.low, f.high)
	if f.names != nil {
		forms = strings.Join(f.names, ", ") + ", or " + forms
	}
	if strings.Contains(part, "~") {
		return 0, forms + "; ~ (a random value) is not supported: give the schedule a jitter instead", ""
	}
	body, stepText, hasStep := strings.Cut(part, "/")
	step := 1
	if hasStep {
		var err error
		if step, err = strconv.Atoi(stepText); err != nil || !syntax.IsDigits(stepText) || step < 1 || step > f.high {
			return 0, fmt.Sprintf("a step from 1 to %d", f.high), ""
		}
	}
	from, to := f.low, f.high
	switch {
	case body == "*":
		if f.name == "dayOfWeek" {
			to = 6
		}
	case body == "?" && c.seconds && (f.name == "dayOfMonth" || f.name == "dayOfWeek"):
		if f.name == "dayOfWeek" {
			to = 6
		}
	default:
		a, b, isRange := strings.Cut(body, "-")
		var ok bool
		if from, ok = f.value(a); !ok {
			return 0, forms, ""
		}
		to = from
		if isRange {
			if to, ok = f.value(b); !ok {
				return 0, forms, ""
			}
			if f.name == "dayOfWeek" && to == 0 && from > 0 {
				to = 7 // fri-sun
			}
		} else if hasStep {
			if !c.seconds {
				return 0, "a step after * or a range", fmt.Sprintf("%s-%d/%d", a, f.high, step)
			}
			to = f.high
			if f.name == "dayOfWeek" {
				to = 6
			}
		}
		if from > to {
			return 0, "a range that does not run backwards", b + "-" + a
		}
	}
	for n := from; n <= to; n += step {
		mask |= 1 << n
	}
	return mask, "", ""
}

// value parses one value of a field, a number or a name.
func (f field) value(text string) (int, bool) {
	for i, name := range f.names {
		if strings.EqualFold(name, text) {
			return f.low + i, true
		}
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && syntax.IsDigits(text) && len(text) <= 2 && n >= f.low && n <= f.high
}

// near returns the valid part that is nearest to an invalid part of a field.
func (c *unixCron) near(f field, part string) string {
	days := f.name == "dayOfMonth" || f.name == "dayOfWeek"
	switch {
	case days && part == "?":
		return "*"
	case days && quartzOnly.MatchString(part):
		return "the kind quartz, where Sunday is 1"
	}
	return suggest.Repaired(part, f.low, f.high, f.names, func(try string) bool {
		_, allowed, _ := c.part(f, try)
		return allowed == ""
	})
}

// quartzOnly matches the forms of days that only Quartz accepts.
var quartzOnly = regexp.MustCompile(`(?i)^(L|LW|L-[0-9]+W?|[0-9]+W|[0-9a-z]+#[0-9]|([0-9]|[a-z]{3})L)$`)
