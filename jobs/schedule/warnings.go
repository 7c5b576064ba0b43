package schedule

import (
	"fmt"
	"slices"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
	"github.com/jobagent/jobagent/jobs/schedule/internal/engine"
	"github.com/jobagent/jobagent/jobs/schedule/internal/words"
)

// maxWarnings is the most warnings of one schedule.
const maxWarnings = 20

// clocksAhead is how far ahead changes of clocks are searched for warnings: about 13 months, so
// that a yearly change is always included.
const clocksAhead = 396 * civil.DaySeconds

// changesAhead is the number of changes of clocks that warnings are about.
const changesAhead = 2

// listedMatches is the most clock times of an hour that are compared one by one. More are compared
// by their number in each minute.
const listedMatches = 1000

// namedTimes is the most clock times that a warning names.
const namedTimes = 4

// WarningsAt returns the warnings of the plan with those about the next two changes of clocks after
// now: a day on which nothing is due because its clock times do not exist, clock times that run
// twice, and clock times that are moved. There are none for zones without changes, and for elapsed
// time. until is when the warnings have to be renewed; zero means never.
func (p *Plan) WarningsAt(now time.Time) (warnings []string, until time.Time) {
	return p.WarningsUntil(now, time.Time{})
}

// WarningsUntil is WarningsAt for a schedule whose last run is due at last, because its runs are
// counted elsewhere: later changes of clocks do not concern it. Zero means no last run.
func (p *Plan) WarningsUntil(now, last time.Time) (warnings []string, until time.Time) {
	effects, until := p.effectsAt(now)
	var dated []string
	for _, e := range effects {
		if !last.IsZero() && e.At.After(last) {
			continue
		}
		dated = append(dated, e.Text)
	}
	dated = fewWarnings(dated, maxWarnings)
	return append(fewWarnings(p.Warnings, maxWarnings-len(dated)), dated...), until
}

// ClockEffect is what one change of clocks does to a schedule.
type ClockEffect struct {
	// At is the change of clocks. Next means that it is the next one of the zone.
	At   time.Time
	Next bool
	// Lost means that nothing is due on a day, and Doubled that runs occur twice. If both are
	// false, clock times are moved.
	Lost, Doubled bool
	// Text is the warning.
	Text string
}

// ClockEffects returns what the next two changes of clocks after now do to a specification.
// Calendars are named and not read, so that opts.Calendars is not needed. The error is a *Error.
func ClockEffects(kind Kind, spec []byte, opts Options, now time.Time) ([]ClockEffect, error) {
	opts.Uncounted, opts.anyCalendar = true, true
	plan, err := Parse(kind, spec, opts)
	if err != nil {
		return nil, err
	}
	effects, _ := plan.effectsAt(now)
	return effects, nil
}

// effectsAt returns what the next two changes of clocks do to the plan. until is the first of them,
// or when the next one will be near enough; zero means never.
func (p *Plan) effectsAt(now time.Time) (all []ClockEffect, until time.Time) {
	for _, w := range p.walls {
		changes, next := clockChanges(w.Zone, now.Unix())
		if !next.IsZero() && (until.IsZero() || next.Before(until)) {
			until = next
		}
		for i, c := range changes {
			for _, e := range p.effects(w, c) {
				all = append(all, ClockEffect{
					At: time.Unix(c.at, 0).UTC(), Next: i == 0, Lost: e.kind == dayLost, Doubled: e.kind == timesDoubled, Text: e.String(),
				})
			}
		}
	}
	return all, until
}

// fewWarnings returns the warnings without duplicates, at most limit.
func fewWarnings(all []string, limit int) []string {
	var list []string
	for _, w := range all {
		if len(list) < limit && !slices.Contains(list, w) {
			list = append(list, w)
		}
	}
	return list
}

// wallPart is a rule on a wall clock within a schedule. bound puts another schedule in its place,
// within what limits the rule there.
type wallPart struct {
	*engine.Wall
	bound func(Schedule) Schedule
}

// wallsOf returns the rules on wall clocks in a schedule, which bound limits.
func wallsOf(s Schedule, bound func(Schedule) Schedule) []wallPart {
	switch s := s.(type) {
	case *engine.Wall:
		return []wallPart{{Wall: s, bound: bound}}
	case engine.Bounded:
		return wallsOf(s.Inner, func(inner Schedule) Schedule {
			return bound(engine.Bounded{Inner: inner, First: s.First, Last: s.Last})
		})
	case *engine.Counted:
		return wallsOf(s.Inner(), func(inner Schedule) Schedule { return bound(engine.Cut{Inner: inner, Count: s}) })
	case engine.Without:
		return wallsOf(s.Inner, func(inner Schedule) Schedule {
			return bound(engine.Without{Inner: inner, Excluded: s.Excluded})
		})
	case engine.Union:
		return append(wallsOf(s.A, bound), wallsOf(s.B, bound)...)
	}
	return nil
}

// clockChange is a change of clocks: at the Unix time at, the offset before becomes after.
type clockChange struct{ at, before, after int64 }

// clockChanges returns the next changes of clocks of a zone after the Unix time now, and when there
// will be others; zero means never.
func clockChanges(zone *time.Location, now int64) (changes []clockChange, renew time.Time) {
	at := now
	// Some segments end without a change of offset; one without an end is the last one.
	for range 4 * changesAhead {
		s := engine.SegmentAt(zone, at)
		if s.End >= now+clocksAhead {
			if len(changes) == 0 && s.Offset != s.OffsetAfter() {
				renew = time.Unix(s.End-clocksAhead, 0).Add(time.Second).UTC()
			}
			break
		}
		at = s.End
		if s.Offset == s.OffsetAfter() {
			continue
		}
		changes = append(changes, clockChange{at: at, before: s.Offset, after: s.OffsetAfter()})
		if len(changes) == changesAhead {
			break
		}
	}
	if len(changes) > 0 {
		renew = time.Unix(changes[0].at, 0).UTC()
	}
	return changes, renew
}

// effectKind is what a change of clocks does to a schedule.
type effectKind int

const (
	dayLost      effectKind = iota // nothing is due on a day
	timesMoved                     // clock times that do not exist are moved
	timesGrouped                   // clock times that do not exist become one run
	timesDoubled                   // clock times run twice
)

// effect is what one change of clocks does to a schedule.
type effect struct {
	kind effectKind
	zone *time.Location
	// from and to bound the clock times that do not exist, or that exist twice, in civil seconds.
	from, to int64
	// day is the number of the day that is lost.
	day int64
	// times are the first of count clock times, in civil seconds.
	times []int64
	count int64
}

// effects returns what a change of clocks does to the rule w of the plan.
func (p *Plan) effects(w wallPart, c clockChange) []effect {
	e := effect{zone: w.Zone, from: c.at + min(c.before, c.after), to: c.at + max(c.before, c.after)}
	switch {
	case c.before < c.after && w.Gap == GapSkip:
		return p.lostDays(w, c, e)
	case c.before < c.after:
		return moved(w, c, e)
	case w.Overlap == OverlapBoth:
		return doubled(w, c, e)
	}
	return nil
}

// due reports whether the bounds, the blackouts and the excluded dates leave an instant.
func (w wallPart) due(unix int64) bool {
	at := time.Unix(unix, 0).UTC()
	found, ok := w.bound(engine.Single{At: at}).Next(at.Add(-time.Nanosecond))
	return ok && found.Equal(at)
}

// matches returns the first listedMatches+1 matches in [from, to).
func matches(pattern engine.Pattern, from, to int64) []int64 {
	var list []int64
	for at, ok := pattern.Next(from); ok && at < to && len(list) <= listedMatches; at, ok = pattern.Next(at + 1) {
		list = append(list, at)
	}
	return list
}

// sameTimes reports whether a pattern has the matches of [from, to) also shift seconds later.
func sameTimes(pattern engine.Pattern, from, to, shift int64) bool {
	a, b := matches(pattern, from, to), matches(pattern, from+shift, to+shift)
	if len(a) != len(b) {
		return false
	}
	if len(a) <= listedMatches {
		return slices.EqualFunc(a, b, func(x, y int64) bool { return x+shift == y })
	}
	for at := from; at < to; at += 60 {
		end := min(at+60, to)
		if pattern.Count(at, end) != pattern.Count(at+shift, end+shift) {
			return false
		}
	}
	return true
}

// with sets the clock times of e to those of list that keep accepts. Of very many clock times
// only the first one is checked.
func (e effect) with(pattern engine.Pattern, list []int64, keep func(civilSecond int64) bool) (effect, bool) {
	if len(list) > listedMatches {
		e.times, e.count = list[:1], pattern.Count(e.from, e.to)
		return e, keep(list[0])
	}
	for _, at := range list {
		if keep(at) {
			e.count++
			if len(e.times) < namedTimes {
				e.times = append(e.times, at)
			}
		}
	}
	return e, e.count > 0
}

// lostDays returns the days on which nothing is due because all clock times are in the gap.
func (p *Plan) lostDays(w wallPart, c clockChange, e effect) []effect {
	var list []effect
	for day := civil.FloorDiv(e.from, civil.DaySeconds); day*civil.DaySeconds < e.to; day++ {
		lost := e
		lost.kind, lost.day = dayLost, day
		start, end := day*civil.DaySeconds, (day+1)*civil.DaySeconds
		all := matches(w.Pattern, max(start, e.from), min(end, e.to))
		lost, some := lost.with(w.Pattern, all, func(at int64) bool { return w.due(at - c.before) })
		if !some {
			continue
		}
		// The instants of the day: its part before the gap, and its part after the gap.
		first, last := min(start-c.before, c.at), max(end-c.after, c.at)
		if next, ok := p.schedule.Next(time.Unix(first, 0).Add(-time.Nanosecond)); ok && next.Unix() < last {
			continue
		}
		list = append(list, lost)
	}
	return list
}

// moved returns the clock times in the gap that become instants of their own.
func moved(w wallPart, c clockChange, e effect) []effect {
	all := matches(w.Pattern, e.from, e.to)
	if len(all) == 0 {
		return nil
	}
	length := e.to - e.from
	has := func(at int64) bool {
		found, ok := w.Pattern.Next(at)
		return ok && found == at
	}
	var some bool
	if w.Gap == GapAtEnd {
		e.kind = timesGrouped
		e, some = e.with(w.Pattern, all, func(int64) bool { return !has(e.to) && w.due(c.at) })
	} else if len(all) <= listedMatches || !sameTimes(w.Pattern, e.from, e.to, length) {
		e.kind = timesMoved
		e, some = e.with(w.Pattern, all, func(at int64) bool { return !has(at+length) && w.due(at-c.before) })
	}
	if !some {
		return nil
	}
	return []effect{e}
}

// doubled returns the clock times that run twice. There are none if the rule has the same clock
// times before, during and after the overlap, as every quarter of an hour: its runs keep their
// distance.
func doubled(w wallPart, c clockChange, e effect) []effect {
	length := e.to - e.from
	all := matches(w.Pattern, e.from, e.to)
	if len(all) == 0 || sameTimes(w.Pattern, e.from-length, e.to-length, length) && sameTimes(w.Pattern, e.from, e.to, length) {
		return nil
	}
	e.kind = timesDoubled
	e, some := e.with(w.Pattern, all, func(at int64) bool { return w.due(at-c.before) && w.due(at-c.after) })
	if !some {
		return nil
	}
	return []effect{e}
}

// String returns the warning.
func (e effect) String() string {
	day := civilTime(e.times[0]).Format("Monday 2 January 2006")
	span := clockOf(e.from) + " to " + clockOf(e.to)
	several := e.count > 1
	switch e.kind {
	case dayLost:
		verb := "does"
		if several {
			verb = "do"
		}
		return fmt.Sprintf("On %s nothing is due: %s %s not exist that day in %s; set \"gap\" to \"shift\", or choose a time outside %s",
			day, e.list(0), verb, e.zone, span)
	case timesMoved:
		if e.count > namedTimes {
			return fmt.Sprintf("%d clock times from %s are moved forward by %s on %s, when clocks go forward in %s",
				e.count, span, spanOf(e.to-e.from), day, e.zone)
		}
		verb := "is"
		if several {
			verb = "are"
		}
		return fmt.Sprintf("%s %s moved to %s on %s, when clocks go forward in %s", e.list(0), verb, e.list(e.to-e.from), day, e.zone)
	case timesGrouped:
		verb := "becomes one run"
		if several {
			verb = "become one run"
		}
		return fmt.Sprintf("%s %s at %s on %s, when clocks go forward in %s", e.list(0), verb, clockOf(e.to), day, e.zone)
	default:
		what := "it runs twice at " + e.list(0)
		if e.count > namedTimes {
			what = e.list(0) + " run twice"
		}
		return fmt.Sprintf("On %s %s, because clocks go back in %s; set \"overlap\" to \"first\" for one run", day, what, e.zone)
	}
}

// list names the clock times, each moved by shift seconds, or says how many there are.
func (e effect) list(shift int64) string {
	if e.count > int64(len(e.times)) {
		return fmt.Sprintf("%d clock times from %s to %s", e.count, clockOf(e.from), clockOf(e.to))
	}
	var names []string
	for _, at := range e.times {
		names = append(names, clockOf(at+shift))
	}
	return words.Join(names, "and")
}

// spanOf returns a length of time in words: "1 hour", "30 minutes".
func spanOf(seconds int64) string {
	n, unit := seconds, "second"
	switch {
	case seconds%3600 == 0:
		n, unit = seconds/3600, "hour"
	case seconds%60 == 0:
		n, unit = seconds/60, "minute"
	}
	if n != 1 {
		unit += "s"
	}
	return fmt.Sprintf("%d %s", n, unit)
}

// civilTime returns civil seconds as a time in UTC.
func civilTime(at int64) time.Time { return time.Unix(at, 0).UTC() }

// clockOf returns the time of day of civil seconds; seconds are shown unless they are 0.
func clockOf(at int64) string {
	if at%60 == 0 {
		return civilTime(at).Format("15:04")
	}
	return civilTime(at).Format("15:04:05")
}
