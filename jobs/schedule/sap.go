package schedule

import (
	"fmt"
	"strings"
	"time"
)

// sapModes are the four forms, of which a schedule has exactly one (b.1).
var sapModes = []string{"cron", "repeatInterval", "repeatAt", "time"}

// sapDialect is the schedule of SAP Job Scheduling Service.
var sapDialect = dialect{
	elements: []string{"cron", "repeatInterval", "repeatAt", "time", "startTime", "endTime", "anchor", "job", "firstRunStartedAt",
		"active", "data", "description", "count"},
	read:   (*parser).sap,
	settle: (*parser).sapSettle,
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
	p.readCount(p.reader)
	started := p.sapFirstStarted()
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
		return p.sapRepeatInterval(modes["repeatInterval"], moving, started)
	}
	return nil
}

// sapIgnored takes the elements of SAP that say nothing about time.
func (p *parser) sapIgnored() {
	p.reader.take("data")
	p.reader.take("description")
	if v := p.reader.take("active"); v != nil && v.kind != 't' {
		if v.kind == '"' && (v.text == "true" || v.text == "false") {
			p.warn("active is a text and should be a boolean (D-S19)")
		} else {
			p.faults.add(v.path, v.raw, "true or false", "")
		}
	}
}

// sapBounds are the bounds of the schedule and of its job; both hold (b.7). A one-time schedule looks
// at no start.
func (p *parser) sapBounds(oneTime bool) {
	p.start = p.sapInstant(p.reader, "startTime", p.plannedStart)
	p.end = p.sapInstant(p.reader, "endTime", time.Time{})
	p.checkBounds("endTime")
	if v := p.reader.take("job"); v != nil {
		if v.kind != '{' {
			p.faults.add(v.path, v.raw, "an object with startTime and endTime", "")
		} else {
			job := reader{object: v, faults: p.faults}
			start, end := p.sapInstant(job, "startTime", time.Time{}), p.sapInstant(job, "endTime", time.Time{})
			job.refuseOthers([]string{"startTime", "endTime"}, synonyms)
			p.checkRange(join(v.path, "endTime"), quote(end.Format(time.RFC3339)), start, end)
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
	return p.date(v, absent)
}

// dateObject reads {date, format}.
func (p *parser) dateObject(v *value) (moment, bool) {
	r := reader{object: v, faults: p.faults}
	d, f := r.take("date"), r.take("format")
	r.refuseOthers([]string{"date", "format"}, nil)
	if d == nil {
		p.faults.add(join(v.path, "date"), "null", "a date", "")
		return moment{}, false
	}
	text, ok := p.reader.text(d, dateForms)
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
	format, ok := p.reader.text(f, formatTokens)
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
	return p.assumed.In(p.zone)
}

// sapFirstStarted is the actual start of the first run.
func (p *parser) sapFirstStarted() time.Time {
	v := p.reader.take("firstRunStartedAt")
	if v == nil {
		return time.Time{}
	}
	return p.date(v, time.Time{})
}

// sapAnchor is our element anchor: run moves the grid with each late start, start keeps it (D-S15).
func (p *parser) sapAnchor() (moving bool) {
	v := p.reader.take("anchor")
	if v == nil {
		return true
	}
	return p.oneOf(v, "run", "start") != "start"
}

// repeat is SAP's repeatInterval: elapsed time from the actual start of the run before (D-S15).
type repeat struct {
	grid grid
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

// startedAt implements mover: the new grid begins one interval after at.
func (r *repeat) startedAt(due, at time.Time) mover {
	next := at.Truncate(time.Second).Unix() + r.grid.step
	return &repeat{grid: grid{base: next, step: r.grid.step, from: next}, first: due}
}

func (p *parser) sapRepeatInterval(v *value, moving bool, started time.Time) Schedule {
	text, ok := p.reader.text(v, intervalForms)
	if !ok {
		return nil
	}
	step, propose, ok := parseInterval(text)
	if !ok {
		p.faults.add(v.path, v.raw, intervalForms+fmt.Sprintf("; from 1 second to %d years", maxInterval/(365*daySeconds)), propose)
		return nil
	}
	if unit := strings.ToLower(strings.Fields(text)[1]); strings.HasPrefix(unit, "month") || strings.HasPrefix(unit, "year") {
		p.warn("a month is 30 days and a year 365 days here; cron follows the calendar (D-S18)")
	}
	// Made or switched on after its planned start, it runs at once and counts from there (b.3).
	start := p.start
	if start.IsZero() {
		start = p.needCreation(v.path)
	}
	for _, t := range []time.Time{p.created, p.activated} {
		if t.After(start) {
			start = t
		}
	}
	r := &repeat{grid: grid{base: start.Unix(), step: step, from: start.Unix()}}
	if !moving {
		return &r.grid
	}
	if !started.IsZero() && started.After(start) {
		p.firstStarted = started
		return r.startedAt(start, started)
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
		text, ok := p.reader.text(v, timeForms)
		if !ok {
			return nil
		}
		if at, ok = p.readableTime(v, text); !ok {
			return nil
		}
	}
	// What had passed when it was made runs at once, unless its end had passed too (b.7).
	if now := p.creation(); p.activated.IsZero() && now.After(at) {
		at = now
	}
	return single{at: at.Truncate(time.Second)}
}

// sapRepeatAt is a time of day, every day.
func (p *parser) sapRepeatAt(v *value) Schedule {
	const allowed = "a time of day (4.40pm, 18.40, 17.20:30), or a date and time whose time of day is meant"
	text, ok := p.reader.text(v, allowed)
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
