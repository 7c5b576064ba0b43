package schedule

import "time"

// maxEnumerated is how many instants are enumerated to find the one at which a count is reached, where
// arithmetic does not find it: with blackouts, and with filters below the day.
const maxEnumerated = 50_000

// counter is a schedule that finds its n-th instant without visiting those before it.
type counter interface {
	// nth is the n-th instant (from 1) not before from; false when there are fewer.
	nth(from time.Time, n int64) (time.Time, bool)
}

// nth is the n-th instant (from 1) of a schedule that is not before from. found is false when there
// are fewer; decided is false when it is too far away to be found by enumeration.
func nth(s Schedule, from time.Time, n int64) (at time.Time, found, decided bool) {
	if c, ok := s.(counter); ok {
		at, found = c.nth(from, n)
		return at, found, true
	}
	if b, ok := s.(bounded); ok {
		if !b.first.IsZero() && b.first.After(from) {
			from = b.first
		}
		at, found, decided = nth(b.inner, from, n)
		if found && !b.last.IsZero() && at.After(b.last) {
			return time.Time{}, false, decided
		}
		return at, found, decided
	}
	if b, ok := s.(union); ok {
		if one, ok := b.a.(single); ok {
			return nthWith(one, b.b, from, n)
		}
	}
	after := from.Add(-time.Nanosecond)
	for range min(n, maxEnumerated) {
		next, ok := s.Next(after)
		if !ok {
			return time.Time{}, false, true
		}
		after = next
	}
	return after, n <= maxEnumerated, n <= maxEnumerated
}

// nthWith is nth of a schedule and one instant more that is not after any of its own.
func nthWith(one single, s Schedule, from time.Time, n int64) (at time.Time, found, decided bool) {
	if one.at.Before(from) {
		return nth(s, from, n)
	}
	if first, ok := s.Next(one.at.Add(-time.Nanosecond)); !ok || !first.Equal(one.at) {
		if n--; n == 0 {
			return one.at.UTC(), true, true
		}
	}
	return nth(s, from, n)
}

// nth counts the civil seconds of whole segments, and enumerates only next to a change of offset.
func (w *wall) nth(from time.Time, n int64) (time.Time, bool) {
	at := from.Unix()
	if from.Nanosecond() > 0 {
		at++
	}
	const chunk = 32 * 366 * daySeconds // what is counted at once
	for {
		s := segmentAt(w.zone, at)
		// What a change of offset does reaches as far into the segments as it is large.
		low, high := at, LastInstant.Unix()+1
		if s.start > -forever && (s.before < s.offset && w.gap != GapSkip || s.before > s.offset && w.overlap == OverlapFirst) {
			low = max(low, s.start+abs64(s.offset-s.before))
		}
		if s.end < forever {
			if high = min(high, s.end); s.after < s.offset && w.overlap == OverlapSecond {
				high = min(high, s.end-abs64(s.offset-s.after))
			}
		}
		if low == at {
			high = min(high, low+chunk)
		}
		if low < high && low == at {
			c := w.pattern.count(low+s.offset, high+s.offset)
			if c >= n {
				return instantAt(w.withinSegment(low+s.offset, high+s.offset, n) - s.offset)
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

// withinSegment is the n-th civil second of the pattern in [from, to), which has as many.
func (w *wall) withinSegment(from, to, n int64) int64 {
	low, high := from, to-1 // the answer is in [low, high]
	for low < high {
		middle := low + (high-low)/2
		if w.pattern.count(from, middle+1) >= n {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low
}

func abs64(n int64) int64 { return max(n, -n) }
