package sim

import (
	"slices"
	"time"
)

// The second computation of due instants, which shares no code with jobs/schedule: a walk over real time in steps of a
// quarter of an hour that asks at each step whether the wall clock of the zone matches. Dates, weekdays and offsets are those
// of package time.

// yearStep is the walk's. Every wall clock that the drawn schedules name is a multiple of it, give or take seconds, and so
// is every offset of the zones and its changes, but for changes between two steps, which do no harm.
const yearStep = 15 * time.Minute

// wallClock is what a clock on the wall shows.
type wallClock struct {
	civil   int64 // seconds of a time in UTC with these numbers
	year    int
	month   time.Month
	day     int
	length  int // of the month, in days
	weekday time.Weekday
	minute  int // of the day
}

// clockOf reads a wall clock from a time in UTC that has its numbers.
func clockOf(w time.Time) wallClock {
	return wallClock{
		civil: w.Unix(), year: w.Year(), month: w.Month(), day: w.Day(), weekday: w.Weekday(), minute: w.Hour()*60 + w.Minute(),
		length: time.Date(w.Year(), w.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day(),
	}
}

// walked is one step of the walk.
type walked struct {
	at    time.Time
	clock wallClock
	// again: clocks were moved back, and showed the same before.
	again bool
	// missing are the wall clocks that were left out just before, because clocks were moved forward, with the instants that
	// they are moved to.
	missing []missingClock
}

type missingClock struct {
	clock wallClock
	at    time.Time
}

// walk lists the steps of a zone in [from, to).
func walk(zone *time.Location, from, to time.Time) []walked {
	shown := func(t time.Time) time.Time {
		l := t.In(zone)
		y, m, d := l.Date()
		return time.Date(y, m, d, l.Hour(), l.Minute(), l.Second(), 0, time.UTC)
	}
	var list []walked
	seen := map[int64]bool{}
	at := from.Truncate(yearStep)
	last := shown(at.Add(-yearStep))
	for ; at.Before(to); at = at.Add(yearStep) {
		now := shown(at)
		w := walked{at: at, clock: clockOf(now), again: seen[now.Unix()]}
		for gone := last.Add(yearStep); gone.Before(now); gone = gone.Add(yearStep) {
			w.missing = append(w.missing, missingClock{clockOf(gone), at.Add(gone.Sub(last) - yearStep)})
		}
		list = append(list, w)
		seen[now.Unix()] = true
		last = now
	}
	return list
}

// enumeration finds by listing when a schedule is due.
type enumeration struct {
	// match is asked about wall clocks; nil: the list is all there is.
	match func(wallClock) bool
	// literal: every instant that shows a matching clock counts; else what falls into a gap is moved out of it, and of two
	// equal clocks the first counts (D-Z3, D-Z4, D-Z6).
	literal bool
	// second is added to each instant of match.
	second time.Duration
	// list are instants that do not depend on a clock.
	list func(from, to time.Time) []time.Time
	// first and last bound the instants; zero: not bounded.
	first, last time.Time
	// black says which wall clocks are blacked out; deferred: what falls into such a window is due at its end (D-P5).
	black    func(wallClock) bool
	deferred bool
}

// due lists the instants in [from, to) of a schedule whose zone's steps are given, which begin before from and end after to.
func (o enumeration) due(steps []walked, from, to time.Time) []time.Time {
	set := map[time.Time]bool{}
	add := func(at time.Time) {
		if at.Before(o.first) || !o.last.IsZero() && at.After(o.last) {
			return
		}
		if o.black != nil {
			i, found := slices.BinarySearchFunc(steps, at, func(w walked, at time.Time) int { return w.at.Compare(at) })
			if !found {
				i-- // the step that holds it
			}
			if o.black(steps[i].clock) {
				if !o.deferred {
					return
				}
				for i < len(steps) && o.black(steps[i].clock) {
					i++
				}
				if i == len(steps) {
					return
				}
				at = steps[i].at
				if !o.last.IsZero() && at.After(o.last) {
					return
				}
			}
		}
		if !at.Before(from) && at.Before(to) {
			set[at] = true
		}
	}
	if o.list != nil {
		for _, at := range o.list(from.AddDate(0, 0, -3), to) {
			add(at)
		}
	} else {
		for _, w := range steps {
			if !o.literal {
				for _, m := range w.missing {
					if o.match(m.clock) {
						add(m.at.Add(o.second))
					}
				}
			}
			if (o.literal || !w.again) && o.match(w.clock) {
				add(w.at.Add(o.second))
			}
		}
	}
	due := make([]time.Time, 0, len(set))
	for at := range set {
		due = append(due, at)
	}
	slices.SortFunc(due, time.Time.Compare)
	return due
}

// every is elapsed time: base, and each interval after it.
func every(base time.Time, interval time.Duration) func(from, to time.Time) []time.Time {
	return func(from, to time.Time) []time.Time {
		var list []time.Time
		for at := base; at.Before(to); at = at.Add(interval) {
			if !at.Before(from) {
				list = append(list, at)
			}
		}
		return list
	}
}

// everyMonths steps by months in UTC; a day that a month lacks becomes its last.
func everyMonths(base time.Time, months int) func(from, to time.Time) []time.Time {
	return func(from, to time.Time) []time.Time {
		var list []time.Time
		for k := 0; ; k += months {
			first := time.Date(base.Year(), base.Month()+time.Month(k), 1, base.Hour(), base.Minute(), base.Second(), 0, time.UTC)
			at := first.AddDate(0, 0, min(base.Day(), clockOf(first).length)-1)
			if !at.Before(to) {
				return list
			}
			if !at.Before(from) {
				list = append(list, at)
			}
		}
	}
}

// once is one instant.
func once(at time.Time) func(from, to time.Time) []time.Time {
	return func(time.Time, time.Time) []time.Time { return []time.Time{at} }
}
