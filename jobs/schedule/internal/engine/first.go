package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
)

// Bounder is a pattern with an upper bound of its matches that needs no count of them.
type Bounder interface {
	// AtMost returns a number that is not less than the number of matches in as many days.
	AtMost(days int64) int64
}

// Counted is the beginning of a schedule: its first N instants. It counts only if it must. An
// instant that follows one with a known number has the next number, and by arithmetic most other
// instants are far below N. Only if both fail, the N-th instant is searched, once.
type Counted struct {
	inner Schedule
	from  time.Time
	n     int64
	last  atomic.Pointer[numbered]
	end   func() (at time.Time, found bool)
}

// numbered is an instant of a schedule and its number, which counts from 1.
type numbered struct {
	at time.Time
	n  int64
}

// First returns the first n instants of a schedule at or after from.
func First(s Schedule, from time.Time, n int64) *Counted {
	return &Counted{inner: s, from: from, n: n, end: sync.OnceValues(func() (time.Time, bool) {
		at, found, _ := Nth(s, from, n)
		return at, found
	})}
}

// Inner returns the schedule of which c is the beginning.
func (c *Counted) Inner() Schedule { return c.inner }

// Next implements Schedule.
func (c *Counted) Next(after time.Time) (time.Time, bool) {
	first := after.Before(c.from)
	if first {
		after = c.from.Add(-time.Nanosecond)
	}
	at, ok := c.inner.Next(after)
	if !ok {
		return time.Time{}, false
	}
	last := c.last.Load()
	switch {
	case first:
		c.last.CompareAndSwap(nil, &numbered{at, 1})
		return at, true
	case last != nil && after.Equal(last.at):
		if last.n == c.n {
			return time.Time{}, false
		}
		c.last.Store(&numbered{at, last.n + 1})
		return at, true
	case !c.Passed(at):
		return at, true
	}
	return time.Time{}, false
}

// Passed reports whether an instant is after the last one of the count.
func (c *Counted) Passed(at time.Time) bool {
	if last := c.last.Load(); last != nil && !at.After(last.at) {
		return false
	}
	if atMost(c.inner, c.from, at) <= c.n {
		return false
	}
	end, found := c.end()
	return found && at.After(end)
}

// Cut is the part of a schedule up to the last instant of a count of another schedule.
type Cut struct {
	Inner Schedule
	Count *Counted
}

// Next implements Schedule.
func (s Cut) Next(after time.Time) (time.Time, bool) {
	next, ok := s.Inner.Next(after)
	if !ok || s.Count.Passed(next) {
		return time.Time{}, false
	}
	return next, true
}

// atMost returns an upper bound of the number of instants from one to another, both included.
func atMost(s Schedule, from, to time.Time) int64 {
	seconds := max(0, to.Unix()-from.Unix()) + 1 // not more than one a second
	switch s := s.(type) {
	case *Grid:
		return min(seconds, (seconds/s.Step+2)*int64(max(1, len(s.Offsets))))
	case Instants:
		return min(seconds, int64(len(s)))
	case *Wall:
		b, ok := s.Pattern.(Bounder)
		if !ok {
			return seconds
		}
		// Clock times repeat in overlaps. The days are civil days, and reach more than one zone.
		days := seconds/civil.DaySeconds + 2*reach/civil.DaySeconds
		return min(seconds, 2*b.AtMost(days))
	case Bounded:
		if !s.First.IsZero() && s.First.After(from) {
			from = s.First
		}
		if !s.Last.IsZero() && s.Last.Before(to) {
			to = s.Last
		}
		return min(seconds, atMost(s.Inner, from, to))
	case Without:
		return atMost(s.Inner, from, to)
	case *Counted:
		return min(s.n, atMost(s.inner, from, to))
	case Union:
		return min(seconds, atMost(s.A, from, to)+atMost(s.B, from, to))
	case Single:
		return 1
	}
	return seconds
}

// Countable reports whether the n-th instant of a schedule is found in a reasonable time. If not,
// the schedule is enumerated, which ends at MaxEnumerated. last is the end of the schedule; zero
// means none.
func Countable(s Schedule, from, last time.Time, n int64) bool {
	if n <= MaxEnumerated {
		return true
	}
	if last.IsZero() {
		last = LastInstant
	}
	return counts(s) || atMost(s, from, last) <= n
}

// counts reports whether Nth needs no enumeration.
func counts(s Schedule) bool {
	switch s := s.(type) {
	case counter:
		return true
	case Bounded:
		return counts(s.Inner)
	case Union:
		_, single := s.A.(Single)
		return single && counts(s.B)
	}
	return false
}
