package sim

import (
	"slices"
	"time"
)

// This file is the second computation of due instants. It shares no code with jobs/schedule. It
// walks over real time in steps of a quarter of an hour, and checks at each step whether the wall
// clock of the zone matches. Dates, weekdays and offsets come from package time.

// yearStep is the step of the walk. Every wall clock of the drawn schedules is a multiple of it,
// apart from seconds. So is every offset of the zones and its changes, except for changes between
// two steps, which do not matter here.
const yearStep = 15 * time.Minute

// wallClock is the date and time that a wall clock shows.
type wallClock struct {
	civil   int64 // Unix seconds of the same date and time in UTC
	year    int
	month   time.Month
	day     int
	length  int // of the month, in days
	weekday time.Weekday
	minute  int // of the day
}

// clockOf returns the wall clock with the date and time of w, which is in UTC.
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
	// again: the clocks were set back, and this wall clock has occurred before.
	again bool
	// missing are the wall clocks that were skipped just before, because the clocks were set
	// forward, with the instants to which they move.
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

// enumeration lists the due instants of a schedule.
type enumeration struct {
	// match reports whether a wall clock is due; nil: list is complete.
	match func(wallClock) bool
	// literal: every instant with a matching wall clock is due. Otherwise a wall clock in a gap
	// moves out of it, and the first of two equal wall clocks is due (D-Z3, D-Z4, D-Z6).
	literal bool
	// outOfGap: a wall clock in a gap moves out of it although literal is set, as in quartz (D-Z6).
	outOfGap bool
	// second is added to each instant of match.
	second time.Duration
	// list returns the instants that do not depend on a wall clock.
	list func(from, to time.Time) []time.Time
	// first and last bound the instants; zero: no bound.
	first, last time.Time
	// blackedOut reports whether a wall clock is blacked out. deferred: an instant in a blackout is
	// due at its end (D-P5).
	blackedOut func(wallClock) bool
	deferred   bool
}

// due lists the instants in [from, to). steps are the steps of the schedule's zone; they must start
// before from and end after to.
func (o enumeration) due(steps []walked, from, to time.Time) []time.Time {
	set := map[time.Time]bool{}
	add := func(at time.Time) {
		if at.Before(o.first) || !o.last.IsZero() && at.After(o.last) {
			return
		}
		if o.blackedOut != nil {
			i, found := slices.BinarySearchFunc(steps, at, func(w walked, at time.Time) int { return w.at.Compare(at) })
			if !found {
				i-- // the step that contains the instant
			}
			if o.blackedOut(steps[i].clock) {
				if !o.deferred {
					return
				}
				for i < len(steps) && o.blackedOut(steps[i].clock) {
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
			if !o.literal || o.outOfGap {
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

// every returns the instants base, base + interval and so on, in elapsed time.
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

// everyMonths counts months in UTC. A day that a month lacks becomes the last day of the month.
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

// once returns a single instant.
func once(at time.Time) func(from, to time.Time) []time.Time {
	return func(time.Time, time.Time) []time.Time { return []time.Time{at} }
}
