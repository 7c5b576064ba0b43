package elastic

import (
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
	"github.com/jobagent/jobagent/jobs/schedule/internal/engine"
	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
	"github.com/jobagent/jobagent/jobs/schedule/internal/words"
)

// Dialect is the dialect of Azure Elastic Jobs.
var Dialect = syntax.Dialect{
	Elements:  []string{"schedule_interval_type", "schedule_interval_count", "schedule_start_time", "schedule_end_time"},
	KeepsPast: true,
	Read:      read,
}

// read parses the four elements of Elastic Jobs. Start and end are in UTC in every zone, because
// the intervals are elapsed time (D-Z5). Months also step in UTC.
func read(p *syntax.Parser) engine.Schedule {
	e := Schedule{Count: 1}
	if v := p.Reader.Take("schedule_interval_type"); v == nil {
		p.Faults.Add("schedule_interval_type", "null", allowed, "")
	} else if text, ok := p.Reader.Text(v, allowed); ok {
		var err error
		e.Interval, err = ParseInterval(text)
		p.Faults.Merge(v.Path(), err)
	}
	if v := p.Reader.Take("schedule_interval_count"); v != nil {
		n, ok := p.Reader.Integer(v, 1, 1<<31-1, "a whole number from 1 to 2147483647")
		if !ok {
			n = 1
		}
		e.Count = int(n)
		if ok && n > 1 && e.Interval == Once {
			p.Contradict(v.Path(), v.JSON(), "no count, or 1, with the interval type Once, which runs once", "the count is ignored")
		}
	}
	p.Start = readInstant(p, "schedule_start_time", p.PlannedStart)
	p.End = readInstant(p, "schedule_end_time", time.Time{})
	if p.Start.UTC().Year() <= 1 {
		p.Start = Anchor(p.Start, p.NeedCreation("schedule_start_time"))
	}
	p.CheckBounds("schedule_end_time")
	// The end is checked here, and the plan enforces it. So e itself needs no end.
	e.Start = p.Start
	p.Words = e.Words()
	return e
}

// Words returns the schedule for the description. All times are in UTC.
func (e Schedule) Words() *words.Rule {
	start := e.Start.UTC().Truncate(time.Second)
	if start.Before(e.Start) {
		start = start.Add(time.Second)
	}
	switch unit, fixed := seconds[e.Interval]; {
	case fixed && unit*int64(e.Count)%civil.DaySeconds == 0: // all days have 24 hours in UTC
		return words.DaysApart(start, int64(e.Count)*unit/civil.DaySeconds)
	case fixed:
		return &words.Rule{Grid: &engine.Grid{Base: start.Unix(), Step: unit * int64(e.Count), From: start.Unix()}}
	case e.Interval == Months:
		at := civil.Seconds(start)
		day := civil.FloorDiv(at, civil.DaySeconds)
		return words.Steps(&engine.Steps{Start: civil.DateOf(day), Second: civil.FloorMod(at, civil.DaySeconds), Months: e.Count})
	case e.Interval == Once:
		return &words.Rule{At: start}
	}
	return nil
}

// readInstant parses an instant in UTC. A fraction of a second is rounded up, as in Schedule.Start.
func readInstant(p *syntax.Parser, name string, absent time.Time) time.Time {
	v := p.Reader.Take(name)
	if v == nil {
		return absent
	}
	text, ok := p.Reader.Text(v, syntax.DateForms)
	if !ok {
		return absent
	}
	m, err := syntax.ParseDate(text)
	if err != nil {
		p.Faults.Add(v.Path(), v.JSON(), syntax.DateForms, syntax.DateProposal(text))
		return absent
	}
	at := m.In(time.UTC)
	if m.Fraction {
		at = at.Add(time.Second)
	}
	return at
}
