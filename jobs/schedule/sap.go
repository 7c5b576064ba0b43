package schedule

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// sapModes are the four forms, of which a schedule has exactly one (b.1).
var sapModes = []string{"cron", "repeatInterval", "repeatAt", "time"}

// sapUnits are the units of repeatInterval and of relative times, in seconds (D-S18).
var sapUnits = []struct {
	name    string
	seconds int64
}{
	{"years", 365 * daySeconds}, {"months", 30 * daySeconds}, {"weeks", 7 * daySeconds}, {"days", daySeconds},
	{"hours", 3600}, {"minutes", 60}, {"seconds", 1},
}

// sap reads a schedule of SAP's service, with the bounds of its job beside it.
func (p *parser) sap() Schedule {
	modes := map[string]*value{}
	for _, name := range sapModes {
		if v := p.reader.take(name); v != nil {
			modes[name] = v
		}
	}
	p.sapIgnored()
	p.sapBounds(modes["time"] != nil)
	p.readCount()
	first := p.firstStarted()
	moving := p.sapAnchor()
	switch {
	case len(modes) == 0:
		p.faults.add("cron", "null", "exactly one of "+strings.Join(sapModes, ", "), "")
	case len(modes) > 1:
		for _, name := range sapModes {
			if v := modes[name]; v != nil {
				p.faults.add(v.path, v.raw, "exactly one of "+strings.Join(sapModes, ", "), "")
			}
		}
	case modes["cron"] != nil:
		return p.sapCron(modes["cron"])
	case modes["repeatAt"] != nil:
		return p.sapRepeatAt(modes["repeatAt"])
	case modes["time"] != nil:
		return p.sapTime(modes["time"])
	default:
		return p.sapRepeatInterval(modes["repeatInterval"], moving, first)
	}
	return nil
}

// sapIgnored takes the elements of SAP that say nothing about time.
func (p *parser) sapIgnored() {
	p.reader.take("data")
	p.reader.take("description")
	if v := p.reader.take("active"); v != nil && v.kind != 't' {
		if v.kind == '"' && (v.text == "true" || v.text == "false") {
			p.plan.Warnings = append(p.plan.Warnings, "active is a text and should be a boolean (D-S19)")
		} else {
			p.faults.add(v.path, v.raw, "true or false", "")
		}
	}
}

// sapBounds are the bounds of the schedule and of its job; both hold (b.7). A one-time schedule looks
// at no start.
func (p *parser) sapBounds(oneTime bool) {
	p.start = p.sapInstant(p.reader, "startTime", p.opts.Start)
	p.end = p.sapInstant(p.reader, "endTime", time.Time{})
	p.checkBounds("endTime")
	if v := p.reader.take("job"); v != nil {
		if v.kind != '{' {
			p.faults.add(v.path, v.raw, "an object with startTime and endTime", "")
		} else {
			job := reader{object: v, faults: p.faults}
			start, end := p.sapInstant(job, "startTime", time.Time{}), p.sapInstant(job, "endTime", time.Time{})
			job.rest([]string{"startTime", "endTime"}, synonyms)
			if !start.IsZero() && !end.IsZero() && end.Before(start) {
				p.faults.add(join(v.path, "endTime"), quote(end.Format(time.RFC3339)), "an instant not before the start "+start.Format(time.RFC3339), start.Format(time.RFC3339))
			}
			if start.After(p.start) {
				p.start = start
			}
			if p.end.IsZero() || !end.IsZero() && end.Before(p.end) {
				p.end = end
			}
		}
	}
	if oneTime {
		p.start = time.Time{}
	}
}

// sapInstant is an element in one of the forms of b.6: text, or object with date and format.
func (p *parser) sapInstant(r reader, name string, absent time.Time) time.Time {
	v := r.take(name)
	if v == nil {
		return absent
	}
	if v.kind == '{' {
		if m, ok := p.dateObject(v); ok {
			return m.in(p.zone)
		}
		return absent
	}
	return p.dateValue(v, absent)
}

// dateObject reads {date, format}.
func (p *parser) dateObject(v *value) (moment, bool) {
	r := reader{object: v, faults: p.faults}
	d, f := r.take("date"), r.take("format")
	r.rest([]string{"date", "format"}, nil)
	if d == nil {
		p.faults.add(join(v.path, "date"), "null", "a date", "")
		return moment{}, false
	}
	text, ok := p.reader.str(d, dateForms)
	if !ok {
		return moment{}, false
	}
	if f == nil {
		m, err := parseDate(text)
		if err != nil {
			p.faults.add(d.path, d.raw, dateForms, dateProposal(text))
		}
		return m, err == nil
	}
	format, ok := p.reader.str(f, formatTokens)
	if !ok {
		return moment{}, false
	}
	if len(format) > maxFormat {
		p.faults.add(f.path, f.raw, fmt.Sprintf("at most %d bytes", maxFormat), "")
		return moment{}, false
	}
	tokens, unknown := splitFormat(format)
	if unknown != "" {
		p.faults.add(f.path, f.raw, "only these tokens (other letters in brackets): "+formatTokens+"; not "+unknown, "")
		return moment{}, false
	}
	m, err := parseFormatted(text, tokens, p.reference())
	if err != nil {
		p.faults.add(d.path, d.raw, "a date as in the format "+format+": "+err.Error(), "")
		return moment{}, false
	}
	return m, true
}

// reference is the moment from which a format without year, month or day takes them.
func (p *parser) reference() time.Time {
	if !p.created.IsZero() {
		return p.created.In(p.zone)
	}
	return p.opts.assumed.In(p.zone)
}

// firstStarted is the actual start of the first run.
func (p *parser) firstStarted() time.Time {
	v := p.reader.take("firstRunStartedAt")
	if v == nil {
		return time.Time{}
	}
	return p.dateValue(v, time.Time{})
}

// sapAnchor is our element anchor: run moves the grid with each late start, start keeps it (D-S15).
func (p *parser) sapAnchor() (moving bool) {
	v := p.reader.take("anchor")
	if v == nil {
		return true
	}
	return oneOf(p, v, "run", "start") != "start"
}

// sapUnit finds a unit in its plural or singular.
func sapUnit(text string) (seconds int64, propose string) {
	names := make([]string, len(sapUnits))
	for i, u := range sapUnits {
		names[i] = u.name
		if strings.EqualFold(u.name, text) || strings.EqualFold(u.name[:len(u.name)-1], text) {
			return u.seconds, ""
		}
	}
	switch strings.ToLower(text) {
	case "min", "mins", "m":
		return 0, "minutes"
	case "h", "hr", "hrs":
		return 0, "hours"
	case "s", "sec", "secs":
		return 0, "seconds"
	case "d":
		return 0, "days"
	}
	return 0, nearest(text, names)
}

const intervalForms = "a whole number and a unit: years, months (of 30 days), weeks, days, hours, minutes, seconds"

// numberWords are proposed, never read: SAP does not understand them either.
var numberWords = map[string]int{
	"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
	"eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60,
}

// maxInterval is the longest interval in seconds: 400 years.
const maxInterval = cycleSeconds

// parseInterval reads "<number> <unit>"; what is proposed is the nearest right text, or empty.
func parseInterval(text string) (seconds int64, propose string, ok bool) {
	fields := strings.Fields(text)
	if len(fields) == 1 && isDigits(fields[0]) {
		fields = append(fields, "minutes")
		if _, _, ok := parseInterval(strings.Join(fields, " ")); ok {
			propose = strings.Join(fields, " ")
		}
		return 0, propose, false
	}
	if len(fields) != 2 {
		return 0, "", false
	}
	unit, nearUnit := sapUnit(fields[1])
	n, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil || !isDigits(fields[0]) {
		if word, known := numberWords[strings.ToLower(fields[0])]; known {
			if unit > 0 {
				nearUnit = fields[1]
			}
			return 0, strings.TrimSpace(fmt.Sprintf("%d %s", word, nearUnit)), false
		}
		if positive := strings.TrimLeft(fields[0], "+-"); positive != fields[0] {
			if _, _, ok := parseInterval(positive + " " + fields[1]); ok {
				propose = positive + " " + fields[1]
			}
		}
		return 0, propose, false
	}
	if unit == 0 {
		if nearUnit != "" {
			propose = fmt.Sprintf("%d %s", n, nearUnit)
		}
		return 0, propose, false
	}
	if n < 1 {
		return 0, "1 " + strings.TrimSuffix(fields[1], "s"), false
	}
	if n > maxInterval/unit {
		return 0, fmt.Sprintf("%d %s", maxInterval/unit, fields[1]), false
	}
	return n * unit, "", true
}

// repeat is SAP's repeatInterval: elapsed time from the actual start of the run before (D-S15).
type repeat struct {
	grid
	// first is a run before the grid begins; zero: none.
	first time.Time
}

func (r *repeat) Next(after time.Time) (time.Time, bool) {
	if !r.first.IsZero() && after.Before(r.first) {
		return r.first.UTC(), true
	}
	return r.grid.Next(after)
}

func (r *repeat) nth(from time.Time, n int64) (time.Time, bool) {
	if !r.first.IsZero() && !r.first.Before(from) {
		if n == 1 {
			return r.first.UTC(), true
		}
		n--
	}
	return r.grid.nth(from, n)
}

// startedAt is the schedule after the run due at due started at at: due itself, then the new grid.
func (r *repeat) startedAt(due, at time.Time) *repeat {
	next := at.Truncate(time.Second).Unix() + r.step
	return &repeat{grid: grid{base: next, step: r.step, from: next}, first: due}
}

func (p *parser) sapRepeatInterval(v *value, moving bool, started time.Time) Schedule {
	text, ok := p.reader.str(v, intervalForms)
	if !ok {
		return nil
	}
	step, propose, ok := parseInterval(text)
	if !ok {
		p.faults.add(v.path, v.raw, intervalForms+fmt.Sprintf("; from 1 second to %d years", maxInterval/(365*daySeconds)), propose)
		return nil
	}
	if unit := strings.ToLower(strings.Fields(text)[1]); strings.HasPrefix(unit, "month") || strings.HasPrefix(unit, "year") {
		p.plan.Warnings = append(p.plan.Warnings, "a month is 30 days and a year 365 days here; cron follows the calendar (D-S18)")
	}
	// Made or switched on after its planned start, it runs at once and counts from there (b.3).
	start := p.start
	if start.IsZero() {
		start = p.needNow(v.path)
	}
	for _, t := range []time.Time{p.created, p.activated} {
		if t.After(start) {
			start = t
		}
	}
	r := &repeat{grid: grid{base: start.Unix(), step: step, from: start.Unix()}}
	if !moving {
		return r
	}
	p.plan.repeat = r
	if !started.IsZero() && started.After(start) {
		p.plan.firstStarted = started
		p.plan.repeat = r.startedAt(start, started)
		return p.plan.repeat
	}
	return r
}

// sapTime is a one-time schedule: a text of the closed grammar, a date, or an object.
func (p *parser) sapTime(v *value) Schedule {
	var at time.Time
	if v.kind == '{' {
		m, ok := p.dateObject(v)
		if !ok {
			return nil
		}
		at = m.in(p.zone)
	} else {
		text, ok := p.reader.str(v, timeForms)
		if !ok {
			return nil
		}
		if at, ok = p.readableTime(v, text); !ok {
			return nil
		}
	}
	// What had passed when it was made runs at once, unless its end had passed too (b.7).
	if now := p.now(); p.activated.IsZero() && now.After(at) {
		at = now
	}
	return single{at: at.Truncate(time.Second)}
}

// sapRepeatAt is a time of day, every day.
func (p *parser) sapRepeatAt(v *value) Schedule {
	const allowed = "a time of day (4.40pm, 18.40, 17.20:30), or a date and time whose time of day is meant"
	text, ok := p.reader.str(v, allowed)
	if !ok {
		return nil
	}
	second, ok := parseClock(strings.ToLower(strings.TrimSpace(text)))
	if !ok {
		m, err := parseDate(text)
		if err != nil {
			p.faults.add(v.path, v.raw, allowed, clockProposal(text))
			return nil
		}
		second = m.second
		if m.hasOffset {
			second = int(floorMod(civil(m.in(p.zone).In(p.zone)), daySeconds))
		}
	}
	every := &onDays{days: monthDays, times: times{list: []int32{int32(second)}}}
	return p.wall(every, true)
}
