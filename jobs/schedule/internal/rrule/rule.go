package rrule

import (
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
	"github.com/jobagent/jobagent/jobs/schedule/internal/engine"
	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
	"github.com/jobagent/jobagent/jobs/schedule/internal/words"
)

// Forms describes the accepted forms of a rule in messages.
const Forms = "a rule such as FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR (RFC 5545), alone or after RRULE: and with a line DTSTART"

// frequency is the frequency of a rule. The smaller the unit, the larger the value.
type frequency int

const (
	yearly frequency = iota
	monthly
	weekly
	daily
	hourly
	minutely
	secondly
)

var frequencyNames = []string{"YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY"}

// unitSeconds are the lengths of the frequencies below the day.
var unitSeconds = map[frequency]int64{hourly: 3600, minutely: 60, secondly: 1}

// rule is a recurrence rule. The start fills its missing parts. The lists are ascending and have no
// item twice.
type rule struct {
	freq      frequency
	interval  int64
	weekStart int // 0 is Monday

	months    uint16 // 0: every month
	weeks     []int
	yearDays  []int
	days      []int // of the month
	weekdays  uint8
	nth       []engine.Occurrence
	hours     uint32
	minutes   uint64
	seconds   uint64
	positions []int

	count int64
	until time.Time

	// given are the texts of the parts, by name.
	given map[string]string

	start civil.Date
}

// has reports whether a part is given.
func (r *rule) has(name string) bool {
	_, ok := r.given[name]
	return ok
}

// filtered reports whether the rule has a BY part.
func (r *rule) filtered() bool {
	return slices.ContainsFunc(partNames[5:], r.has)
}

// build fills the missing parts of a rule from its start and returns its schedule. If the start is
// the creation, which nobody wrote, seconds, and minutes beside an hour, are 0.
func (r *rule) build(p *syntax.Parser, v *syntax.Value, startIsCreation bool) engine.Schedule {
	at := civil.Seconds(p.Start.In(p.Zone))
	if startIsCreation {
		at = r.assume(p, at)
	}
	day, second := civil.FloorDiv(at, civil.DaySeconds), int(civil.FloorMod(at, civil.DaySeconds))
	r.start = civil.DateOf(day)
	r.fillDays(day)
	if r.freq >= hourly && !r.filtered() {
		return r.elapsed(p, at-civil.Seconds(p.Start.In(p.Zone)))
	}
	var pattern engine.Pattern
	fixed := true
	if r.freq >= hourly {
		pattern = r.onClock(p, at)
		fixed = unitSeconds[r.freq]*r.interval > 3600
	} else {
		clock := r.clock(second)
		pattern = &engine.OnDays{Days: r.dayMask(), Times: clock}
		switch {
		case r.positions != nil && r.freq == daily:
			pattern = &engine.OnDays{Days: r.dayMask(), Times: engine.Times{List: choose(clock.All(), r.positions)}}
		case r.positions != nil:
			pattern = newPositioned(r, clock.All())
		}
		p.Words = r.words(clock)
	}
	never := "a rule that matches some day; this one matches none within 400 years"
	g, ok := pattern.(*grid)
	if ok {
		never = "a rule that matches some day; this one matches none until the year 9999"
	}
	if ok && !g.possible() || r.beyond(pattern) || !due(pattern, day*civil.DaySeconds) {
		p.Faults.Add(v.Path(), v.JSON(), never, "")
		return nil
	}
	r.warnOfItems(p, pattern)
	return p.Wall(pattern, fixed)
}

// beyond reports whether all positions of a rule are beyond the longest period.
func (r *rule) beyond(pattern engine.Pattern) bool {
	p, ok := pattern.(*positioned)
	if !ok {
		return false
	}
	days := map[frequency]int{yearly: 366, monthly: 31, weekly: 7}[r.freq]
	if r.freq == weekly && r.weekdays != 0 {
		days = bits.OnesCount8(r.weekdays)
	}
	return !slices.ContainsFunc(r.positions, func(n int) bool { return max(n, -n) <= days*len(p.times) })
}

// due reports whether a pattern has a match at or after a civil second.
func due(pattern engine.Pattern, from int64) bool {
	_, ok := pattern.Next(from)
	return ok
}

// fillDays fills the missing days of a rule of days from the day of its start.
func (r *rule) fillDays(day int64) {
	if r.yearDays != nil || r.days != nil || r.has("BYDAY") {
		return
	}
	switch {
	case r.freq == weekly || r.weeks != nil:
		r.weekdays = 1 << civil.Weekday(day)
	case r.freq == yearly:
		if r.months == 0 {
			r.months = 1 << r.start.Month
		}
		r.days = []int{r.start.Day}
	case r.freq == monthly:
		r.days = []int{r.start.Day}
	}
}

// clock returns the clock times of a rule of days. second is that of the start.
func (r *rule) clock(second int) engine.Times {
	clock := engine.Times{Hours: r.hours, Minutes: r.minutes, Seconds: r.seconds}
	if !r.has("BYHOUR") {
		clock.Hours = 1 << (second / 3600)
	}
	if !r.has("BYMINUTE") {
		clock.Minutes = 1 << (second / 60 % 60)
	}
	if !r.has("BYSECOND") {
		clock.Seconds = 1 << (second % 60)
	}
	return clock
}

// elapsed returns the schedule of a rule below the day without BY parts: elapsed time (D-Z5). shift
// is the distance from the start to the first step.
func (r *rule) elapsed(p *syntax.Parser, shift int64) engine.Schedule {
	g := &engine.Grid{Base: p.Start.Unix() + shift, Step: unitSeconds[r.freq] * r.interval, From: p.Start.Unix()}
	p.Words = &words.Rule{Grid: g}
	if g.Step >= 2*3600 && p.ChangesClocks() {
		p.Warn(elapsedWarning(r, g))
	}
	return g
}

// elapsedWarning says that a change of clocks moves the clock time of a rule (D-Z5), and how the
// rule keeps it.
func elapsedWarning(r *rule, g *engine.Grid) string {
	cure := fmt.Sprintf("FREQ=%s;INTERVAL=%d;BYSECOND=%d", frequencyNames[r.freq], r.interval, g.Base%60)
	if g.Step%civil.DaySeconds == 0 {
		if cure = "FREQ=DAILY"; g.Step > civil.DaySeconds {
			cure += fmt.Sprintf(";INTERVAL=%d", g.Step/civil.DaySeconds)
		}
	}
	return fmt.Sprintf("every %s of elapsed time: the clock time moves when clocks change, mostly by an hour; %s keeps the clock time", words.Hours(g.Step), cure)
}

// onClock returns the pattern of a rule below the day that has BY parts. It steps on the wall clock
// from the civil second at of the start.
func (r *rule) onClock(p *syntax.Parser, at int64) engine.Pattern {
	g := &grid{
		unit: unitSeconds[r.freq], interval: r.interval, first: civil.FloorDiv(at, unitSeconds[r.freq]),
		allowed: engine.Times{Hours: 1<<24 - 1, Minutes: 1<<60 - 1, Seconds: 1<<60 - 1},
	}
	if r.months != 0 || r.yearDays != nil || r.days != nil || r.weekdays != 0 {
		g.days = &yearTable{rule: r}
	}
	if r.has("BYHOUR") {
		g.allowed.Hours = r.hours
	}
	clock := r.clock(int(civil.FloorMod(at, civil.DaySeconds)))
	within := engine.Times{Hours: 1, Minutes: 1, Seconds: 1}
	switch r.freq {
	case hourly:
		within.Minutes, within.Seconds = clock.Minutes, clock.Seconds
		g.allowed.Minutes, g.allowed.Seconds = 1, 1
	case minutely:
		within.Seconds = clock.Seconds
		g.allowed.Seconds = 1
	}
	if r.freq > hourly && r.has("BYMINUTE") {
		g.allowed.Minutes = r.minutes
	}
	if r.freq > minutely && r.has("BYSECOND") {
		g.allowed.Seconds = r.seconds
	}
	if g.offsets = within.All(); r.positions != nil {
		g.offsets = choose(g.offsets, r.positions)
	}
	if newGrid(g); g.cycle > 1 {
		p.Words = r.wordsOfGrid(g)
		return g
	}
	// Every day has the same clock times.
	pattern := &engine.OnDays{Days: r.dayMask(), Times: g.times(within)}
	if days := r.wordsOfDays(); pattern.Times.List == nil || len(pattern.Times.List) > 0 {
		p.Words = &words.Rule{Times: pattern.Times, Days: days}
	}
	return pattern
}
