package engine

import (
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
)

// MaxEnumerated is the largest count that is found by enumeration. Arithmetic cannot find the count
// of a schedule with blackouts or with filters below the day.
const MaxEnumerated = 50_000

// counter is a schedule that finds its n-th instant without visiting the earlier ones.
type counter interface {
	// Nth returns the n-th instant at or after from; n counts from 1. It returns false if there are
	// fewer.
	Nth(from time.Time, n int64) (time.Time, bool)
}

// Nth returns the n-th instant of a schedule at or after from; n counts from 1. found is false if
// there are fewer. decided is false if the instant is too far away to be found by enumeration.
func Nth(s Schedule, from time.Time, n int64) (at time.Time, found, decided bool) {
	if c, ok := s.(counter); ok {
		at, found = c.Nth(from, n)
		return at, found, true
	}
	if b, ok := s.(Bounded); ok {
		if !b.First.IsZero() && b.First.After(from) {
			from = b.First
		}
		at, found, decided = Nth(b.Inner, from, n)
		if found && !b.Last.IsZero() && at.After(b.Last) {
			return time.Time{}, false, decided
		}
		return at, found, decided
	}
	if b, ok := s.(Union); ok {
		if one, ok := b.A.(Single); ok {
			return nthWith(one, b.B, from, n)
		}
	}
	after := from.Add(-time.Nanosecond)
	for range min(n, MaxEnumerated) {
		next, ok := s.Next(after)
		if !ok {
			return time.Time{}, false, true
		}
		after = next
	}
	return after, n <= MaxEnumerated, n <= MaxEnumerated
}

// nthWith returns the result of Nth for the union of s and one. The instant of one is not after any
// instant of s.
func nthWith(one Single, s Schedule, from time.Time, n int64) (at time.Time, found, decided bool) {
	if one.At.Before(from) {
		return Nth(s, from, n)
	}
	if first, ok := s.Next(one.At.Add(-time.Nanosecond)); !ok || !first.Equal(one.At) {
		if n--; n == 0 {
			return one.At.UTC(), true, true
		}
	}
	return Nth(s, from, n)
}

// Nth implements counter. It counts the civil seconds of whole segments, and enumerates only near a
// change of offset.
func (w *Wall) Nth(from time.Time, n int64) (time.Time, bool) {
	at := from.Unix()
	if from.Nanosecond() > 0 {
		at++
	}
	const chunk = 32 * 366 * civil.DaySeconds // what is counted at once
	for {
		s := SegmentAt(w.Zone, at)
		// A change of offset affects as many seconds next to it as the offset changes.
		low, high := at, LastInstant.Unix()+1
		if s.Start > -forever && (s.before < s.Offset && w.Gap != GapSkip || s.before > s.Offset && w.Overlap == OverlapFirst) {
			low = max(low, s.Start+abs64(s.Offset-s.before))
		}
		if s.End < forever {
			if high = min(high, s.End); s.after < s.Offset && w.Overlap == OverlapSecond {
				high = min(high, s.End-abs64(s.Offset-s.after))
			}
		}
		if low == at {
			high = min(high, low+chunk)
		}
		if low < high && low == at {
			c := w.Pattern.Count(low+s.Offset, high+s.Offset)
			if c >= n {
				return InstantAt(w.withinSegment(low+s.Offset, high+s.Offset, n) - s.Offset)
			}
			n -= c
			at = high
			continue
		}
		if at > LastInstant.Unix() {
			return time.Time{}, false
		}
		next, ok := w.Next(time.Unix(at-1, 0))
		if !ok {
			return time.Time{}, false
		}
		if unix := next.Unix(); low < high && unix >= low {
			at = low // nothing before the plain part of the segment
			continue
		}
		if n--; n == 0 {
			return next, true
		}
		at = next.Unix() + 1
	}
}

// withinSegment returns the n-th match of the pattern in [from, to). The range must contain at
// least n.
func (w *Wall) withinSegment(from, to, n int64) int64 {
	low, high := from, to-1 // the answer is in [low, high]
	for low < high {
		middle := low + (high-low)/2
		if w.Pattern.Count(from, middle+1) >= n {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low
}

func abs64(n int64) int64 { return max(n, -n) }
