package rrule

import (
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
	"github.com/jobagent/jobagent/jobs/schedule/internal/engine"
	"github.com/jobagent/jobagent/jobs/schedule/internal/words"
)

// words returns the rule for the description. times are the clock times of a day.
func (r *rule) words(times engine.Times) *words.Rule {
	w := &words.Rule{Times: times, Days: r.wordsOfDays(), Positions: r.positions}
	w.Days.Every.N = r.interval
	w.Days.Every.From = r.start
	switch r.freq {
	case yearly:
		w.Days.Every.Unit, w.Period = "year", "year"
	case monthly:
		w.Days.Every.Unit, w.Period = "month", "month"
	case weekly:
		w.Days.Every.Unit, w.Period = "week", "week"
		w.Days.Every.From = civil.DateOf(r.weekOf(r.start.DayNumber()))
	case daily:
		w.Days.Every.Unit = "day"
		w.Times, w.Positions = chosenTimes(times, r.positions), nil
	}
	return w
}

// chosenTimes returns the clock times at some positions of a day; all of them without positions.
func chosenTimes(times engine.Times, positions []int) engine.Times {
	if positions == nil {
		return times
	}
	return engine.Times{List: choose(times.All(), positions)}
}

// wordsOfDays returns the BY parts that concern days; see dayMask.
func (r *rule) wordsOfDays() words.Days {
	return words.Days{
		Months: r.months, MonthDays: words.Values(r.days), Weekdays: r.weekdays, Nth: r.nth, NthOfYear: r.freq == yearly && r.months == 0,
		YearDays: r.yearDays, Weeks: r.weeks, WeekStart: r.weekStart,
	}
}

// words adds the instants of RDATE and EXDATE to the description.
func (t *lines) words(r *rule) {
	w := t.p.Words
	switch {
	case r == nil:
		w = &words.Rule{OnlyWith: true}
		t.p.Words = w
	case w == nil:
		return
	default:
		w.Until, w.Runs = r.until, r.count
	}
	w.With, w.Without = instants(t.added), instants(t.excluded)
}

// instants returns Unix times as instants.
func instants(list []int64) []time.Time {
	out := make([]time.Time, 0, len(list))
	for _, unix := range list {
		out = append(out, time.Unix(unix, 0))
	}
	return out
}

// wordsOfGrid returns a rule whose clock times differ from day to day.
func (r *rule) wordsOfGrid(g *grid) *words.Rule {
	w := &words.Rule{
		Grid:    &engine.Grid{Base: g.first * g.unit, Step: g.unit * g.interval},
		OnClock: true, Days: r.wordsOfDays(), Hours: g.allowed.Hours,
	}
	for _, o := range g.offsets {
		w.Grid.Offsets = append(w.Grid.Offsets, int64(o))
	}
	if r.freq > hourly {
		w.Minutes = g.allowed.Minutes
	}
	if r.freq > minutely {
		w.Seconds = g.allowed.Seconds
	}
	return w
}
