package sap

import (
	"fmt"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
	"github.com/jobagent/jobagent/jobs/schedule/internal/engine"
	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
	"github.com/jobagent/jobagent/jobs/schedule/internal/words"
)

// modeNames are the four forms of a schedule. A schedule has exactly one of them.
var modeNames = []string{"cron", "repeatInterval", "repeatAt", "time"}

// Dialect is the dialect of SAP Job Scheduling Service.
var Dialect = syntax.Dialect{
	Elements: []string{"cron", "repeatInterval", "repeatAt", "time", "startTime", "endTime", "anchor", "job", "firstRunStartedAt",
		"active", "data", "description", "count"},
	Read:   read,
	Settle: settle,
}

// read parses a schedule of SAP's service and the bounds of its job.
func read(p *syntax.Parser) engine.Schedule {
	modes := map[string]*syntax.Value{}
	for _, name := range modeNames {
		if v := p.Reader.Take(name); v != nil {
			modes[name] = v
		}
	}
	takeIgnored(p)
	readBounds(p, modes["time"] != nil)
	p.ReadCount(p.Reader)
	started := readFirstStarted(p)
	moving := readAnchor(p)
	switch {
	case len(modes) == 0:
		p.Faults.Add("cron", "null", "exactly one of "+strings.Join(modeNames, ", "), "")
	case len(modes) > 1:
		for _, name := range modeNames {
			if v := modes[name]; v != nil {
				p.Faults.Add(v.Path(), v.JSON(), "exactly one of "+strings.Join(modeNames, ", "), "")
			}
		}
	case modes["cron"] != nil:
		return readCron(p, modes["cron"])
	case modes["repeatAt"] != nil:
		return readRepeatAt(p, modes["repeatAt"])
	case modes["time"] != nil:
		return readTime(p, modes["time"])
	default:
		return readRepeatInterval(p, modes["repeatInterval"], moving, started)
	}
	return nil
}

// takeIgnored takes the elements of SAP that do not concern time.
func takeIgnored(p *syntax.Parser) {
	p.Reader.Take("data")
	p.Reader.Take("description")
	if v := p.Reader.Take("active"); v != nil && v.Kind != 't' {
		if v.Kind == '"' && (v.Text == "true" || v.Text == "false") {
			p.Warn("active is a text and should be a boolean (D-S19)")
		} else {
			p.Faults.Add(v.Path(), v.JSON(), "true or false", "")
		}
	}
}

// readBounds parses the bounds of the schedule and of its job; both apply. A one-time
// schedule ignores the start.
func readBounds(p *syntax.Parser, oneTime bool) {
	p.Start = readInstant(p, p.Reader, "startTime", p.PlannedStart)
	p.End = readInstant(p, p.Reader, "endTime", time.Time{})
	p.CheckBounds("endTime")
	if v := p.Reader.Take("job"); v != nil {
		if v.Kind != '{' {
			p.Faults.Add(v.Path(), v.JSON(), "an object with startTime and endTime", "")
		} else {
			job := syntax.Reader{Object: v, Faults: p.Faults}
			start, end := readInstant(p, job, "startTime", time.Time{}), readInstant(p, job, "endTime", time.Time{})
			job.RefuseOthers([]string{"startTime", "endTime"}, syntax.Synonyms)
			p.CheckRange(syntax.Join(v.Path(), "endTime"), syntax.Quote(end.Format(time.RFC3339)), start, end)
			if start.After(p.Start) {
				p.Start = start
			}
			if p.End.IsZero() || !end.IsZero() && end.Before(p.End) {
				p.End = end
			}
		}
	}
	if oneTime {
		p.Start = time.Time{}
	}
}

// readInstant parses an element in one of these forms: a text, or an object with date and
// format.
func readInstant(p *syntax.Parser, r syntax.Reader, name string, absent time.Time) time.Time {
	v := r.Take(name)
	if v == nil {
		return absent
	}
	if v.Kind == '{' {
		if m, ok := dateObject(p, v); ok {
			return m.In(p.Zone)
		}
		return absent
	}
	return p.Date(v, absent)
}

// dateObject parses {date, format}.
func dateObject(p *syntax.Parser, v *syntax.Value) (syntax.DateTime, bool) {
	r := syntax.Reader{Object: v, Faults: p.Faults}
	d, f := r.Take("date"), r.Take("format")
	r.RefuseOthers([]string{"date", "format"}, nil)
	if d == nil {
		p.Faults.Add(syntax.Join(v.Path(), "date"), "null", "a date", "")
		return syntax.DateTime{}, false
	}
	text, ok := p.Reader.Text(d, syntax.DateForms)
	if !ok {
		return syntax.DateTime{}, false
	}
	if f == nil {
		m, err := syntax.ParseDate(text)
		if err != nil {
			p.Faults.Add(d.Path(), d.JSON(), syntax.DateForms, syntax.DateProposal(text))
		}
		return m, err == nil
	}
	format, ok := p.Reader.Text(f, formatTokens)
	if !ok {
		return syntax.DateTime{}, false
	}
	if len(format) > maxFormat {
		p.Faults.Add(f.Path(), f.JSON(), fmt.Sprintf("at most %d bytes", maxFormat), "")
		return syntax.DateTime{}, false
	}
	tokens, unknown := splitFormat(format)
	if unknown != "" {
		p.Faults.Add(f.Path(), f.JSON(), "other letters in brackets, and of the tokens "+formatTokens+" only; "+unknown+" is none", "")
		return syntax.DateTime{}, false
	}
	m, err := parseFormatted(text, tokens, reference(p))
	if err != nil {
		p.Faults.Add(d.Path(), d.JSON(), "a date in the format "+format+" ("+err.Error()+")", "")
		return syntax.DateTime{}, false
	}
	return m, true
}

// reference returns the time that supplies the year, month or day that a format omits.
func reference(p *syntax.Parser) time.Time {
	if !p.Created.IsZero() {
		return p.Created.In(p.Zone)
	}
	return p.Assumed.In(p.Zone)
}

// readFirstStarted parses the actual start of the first run.
func readFirstStarted(p *syntax.Parser) time.Time {
	v := p.Reader.Take("firstRunStartedAt")
	if v == nil {
		return time.Time{}
	}
	return p.Date(v, time.Time{})
}

// readAnchor parses the element anchor, which SAP does not have. With "run", each late start moves
// the grid; with "start", the grid does not move (D-S15).
func readAnchor(p *syntax.Parser) (moving bool) {
	v := p.Reader.Take("anchor")
	if v == nil {
		return true
	}
	return p.OneOf(v, "run", "start") != "start"
}

// repeat is the schedule of SAP's repeatInterval: each run is one interval after the actual start
// of the previous run (D-S15).
type repeat struct {
	grid engine.Grid
	// first is a run before the beginning of the grid; zero means none.
	first time.Time
}

// Next implements engine.Schedule.
func (r *repeat) Next(after time.Time) (time.Time, bool) {
	if !r.first.IsZero() && after.Before(r.first) {
		return r.first.UTC(), true
	}
	return r.grid.Next(after)
}

// Nth returns the n-th instant at or after from; n counts from 1. See engine.Nth.
func (r *repeat) Nth(from time.Time, n int64) (time.Time, bool) {
	if !r.first.IsZero() && !r.first.Before(from) {
		if n == 1 {
			return r.first.UTC(), true
		}
		n--
	}
	return r.grid.Nth(from, n)
}

// StartedAt implements engine.Mover. The new grid begins one interval after at.
func (r *repeat) StartedAt(due, at time.Time) engine.Mover {
	next := at.Truncate(time.Second).Unix() + r.grid.Step
	return &repeat{grid: engine.Grid{Base: next, Step: r.grid.Step, From: next}, first: due}
}

func readRepeatInterval(p *syntax.Parser, v *syntax.Value, moving bool, started time.Time) engine.Schedule {
	text, ok := p.Reader.Text(v, syntax.IntervalForms)
	if !ok {
		return nil
	}
	step, propose, ok := syntax.ParseInterval(text)
	if !ok {
		p.Faults.Add(v.Path(), v.JSON(), syntax.IntervalForms+fmt.Sprintf("; from 1 second to %d years", syntax.MaxInterval/(365*civil.DaySeconds)), propose)
		return nil
	}
	if unit := strings.ToLower(strings.Fields(text)[1]); strings.HasPrefix(unit, "month") || strings.HasPrefix(unit, "year") {
		p.Warn("a month is 30 days and a year is 365 days in repeatInterval; cron follows the calendar (D-S18)")
	}
	// A schedule that is created or enabled after its planned start runs at once, and the grid
	// begins there.
	start := p.Start
	if start.IsZero() {
		start = p.NeedCreation(v.Path())
	}
	for _, t := range []time.Time{p.Created, p.Activated} {
		if t.After(start) {
			start = t
		}
	}
	r := &repeat{grid: engine.Grid{Base: start.Unix(), Step: step, From: start.Unix()}}
	p.Words = &words.Rule{Grid: &r.grid, Moving: moving}
	if !moving {
		return &r.grid
	}
	if !started.IsZero() && started.After(start) {
		p.FirstStarted = started
		p.Words = nil // a preview with a late first run
		return r.StartedAt(start, started)
	}
	return r
}

// readTime parses a one-time schedule: a text of the closed grammar, a date, or an object.
func readTime(p *syntax.Parser, v *syntax.Value) engine.Schedule {
	var at time.Time
	if v.Kind == '{' {
		m, ok := dateObject(p, v)
		if !ok {
			return nil
		}
		at = m.In(p.Zone)
	} else {
		text, ok := p.Reader.Text(v, timeForms)
		if !ok {
			return nil
		}
		if at, ok = readableTime(p, v, text); !ok {
			return nil
		}
	}
	// A time that had passed at the creation runs at once, unless its end had passed too.
	if now := p.Creation(); p.Activated.IsZero() && now.After(at) {
		at = now
	}
	p.Words = &words.Rule{At: at.Truncate(time.Second)}
	return engine.Single{At: p.Words.At}
}

// readRepeatAt parses a time of day that repeats every day.
func readRepeatAt(p *syntax.Parser, v *syntax.Value) engine.Schedule {
	const allowed = "a time of day (4.40pm, 18.40, 17.20:30), or a date and time, of which the time of day counts"
	text, ok := p.Reader.Text(v, allowed)
	if !ok {
		return nil
	}
	second, ok := syntax.ParseClock(strings.ToLower(strings.TrimSpace(text)))
	if !ok {
		m, err := syntax.ParseDate(text)
		if err != nil {
			p.Faults.Add(v.Path(), v.JSON(), allowed, syntax.ClockProposal(text))
			return nil
		}
		second = m.Second
		if m.HasOffset {
			second = int(civil.FloorMod(civil.Seconds(m.In(p.Zone).In(p.Zone)), civil.DaySeconds))
		}
	}
	every := &engine.OnDays{Days: engine.MonthDays, Times: engine.Times{List: []int32{int32(second)}}}
	p.Words = &words.Rule{Times: every.Times}
	return p.Wall(every, true)
}
