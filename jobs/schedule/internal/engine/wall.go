package engine

import (
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
)

// Gap is the rule for a clock time that does not exist because clocks were moved forward.
type Gap string

// The rules for a gap (D-Z8).
const (
	// GapShift moves the clock time forward by the length of the gap (D-Z3).
	GapShift Gap = "shift"
	// GapSkip drops the clock time.
	GapSkip Gap = "skip"
	// GapAtEnd replaces all clock times in the gap by one due instant at the end of the gap.
	GapAtEnd Gap = "at_end"
)

// Overlap is the rule for a clock time that occurs twice because clocks were moved back.
type Overlap string

// The rules for an overlap (D-Z8).
const (
	// OverlapFirst uses the earlier of the two instants (D-Z4).
	OverlapFirst Overlap = "first"
	// OverlapSecond uses the later of the two instants.
	OverlapSecond Overlap = "second"
	// OverlapBoth uses both instants.
	OverlapBoth Overlap = "both"
)

// Wall is the schedule of a pattern on the wall clock of a zone.
type Wall struct {
	Pattern Pattern
	Zone    *time.Location
	Gap     Gap
	Overlap Overlap
}

// reach is an upper bound, in seconds, of the sum of two distances: a change of offset, and the
// distance of a zone from UTC.
const reach = 4 * civil.DaySeconds

// forever is the end, in Unix seconds, of a segment without an end.
const forever = int64(1) << 60

// Segment is a span of time in which a zone's offset does not change (D-Z7). time.Date is not used,
// because its result near a change depends on the zone.
type Segment struct {
	Start, End            int64 // Unix seconds, [start, end)
	Offset, before, after int64 // seconds east of UTC: in it, just before it, just after it
}

// SegmentAt returns the segment of zone that contains the instant unix.
func SegmentAt(zone *time.Location, unix int64) Segment {
	at := time.Unix(unix, 0).In(zone)
	_, offset := at.Zone()
	s := Segment{Start: -forever, End: forever, Offset: int64(offset), before: int64(offset), after: int64(offset)}
	if zone == time.UTC {
		return s
	}
	start, end := at.ZoneBounds()
	if !start.IsZero() {
		s.Start = start.Unix()
	}
	if !end.IsZero() {
		s.End = end.Unix()
	}
	if s.End <= unix {
		// Beyond the listed changes of a zone (2037), package time ends every year after 365 days.
		// On the last day of a leap year it returns bounds that have already passed. That day
		// becomes a segment of its own.
		s.Start, s.End = s.End, (civil.FloorDiv(unix, civil.DaySeconds)+1)*civil.DaySeconds
	}
	if s.Start > -forever {
		s.before = offsetAt(zone, s.Start-1)
	}
	if s.End < forever {
		s.after = offsetAt(zone, s.End)
	}
	return s
}

// Repeats reports whether the clock time of an instant of the segment occurs twice: before the
// segment begins, or after it ends.
func (s Segment) Repeats(unix int64) bool {
	return s.before > s.Offset && unix-s.Start < s.before-s.Offset || s.after < s.Offset && s.End-unix <= s.Offset-s.after
}

// OffsetAfter returns the offset after the segment, in seconds east of UTC.
func (s Segment) OffsetAfter() int64 { return s.after }

// Changes reports whether a zone changes its offset at or after an instant.
func Changes(zone *time.Location, from time.Time) bool {
	return SegmentAt(zone, from.Unix()).End < forever
}

func offsetAt(zone *time.Location, unix int64) int64 {
	_, offset := time.Unix(unix, 0).In(zone).Zone()
	return int64(offset)
}

// search caches the last match of a pattern, because a search over 400 years of segments often
// needs the same match.
type search struct {
	pattern  Pattern
	from, to int64
	found    bool
	asked    bool
}

func (s *search) next(from int64) (int64, bool) {
	if !s.asked || from < s.from || s.found && from > s.to {
		s.asked, s.from = true, from
		s.to, s.found = s.pattern.Next(from)
	}
	return s.to, s.found
}

// window is a range of civil seconds that one offset maps to instants.
type window struct{ from, to, offset int64 }

// windows returns the regular window of a segment, and the window of clock times that are shifted
// out of the gap before the segment.
func (w *Wall) windows(s Segment) (regular, shifted window) {
	regular = window{from: s.Start + s.Offset, to: s.End + s.Offset, offset: s.Offset}
	if w.Overlap == OverlapFirst && s.before > s.Offset {
		regular.from = s.Start + s.before
	}
	if w.Overlap == OverlapSecond && s.after < s.Offset {
		regular.to = s.End + s.after
	}
	if w.Gap != GapSkip && s.before < s.Offset {
		shifted = window{from: s.Start + s.before, to: s.Start + s.Offset, offset: s.before}
	}
	return regular, shifted
}

// Next implements Schedule. It walks over the segments of the zone and searches the pattern in the
// windows of each.
func (w *Wall) Next(after time.Time) (time.Time, bool) {
	from := after.Unix() + 1
	ask := search{pattern: w.Pattern}
	best := forever
	for at := from; at <= LastInstant.Unix()+reach && at < best; {
		s := SegmentAt(w.Zone, at)
		regular, shifted := w.windows(s)
		if c, ok := ask.next(max(regular.from, at+regular.offset)); ok && c < regular.to {
			best = min(best, c-regular.offset)
		}
		if shifted.to > shifted.from {
			if w.Gap == GapAtEnd {
				if c, ok := ask.next(shifted.from); ok && c < shifted.to && from <= s.Start {
					best = min(best, s.Start)
				}
			} else if c, ok := ask.next(max(shifted.from, from+shifted.offset)); ok && c < shifted.to {
				best = min(best, c-shifted.offset)
			}
		}
		if s.End == forever {
			break
		}
		at = s.End
		// From here on, no clock repeats a time that was already searched. So the segments before
		// the pattern's next match contain nothing and are skipped.
		if at > from+reach {
			if !ask.found {
				break
			}
			at = max(at, ask.to-reach)
		}
	}
	if best == forever {
		return time.Time{}, false
	}
	return InstantAt(best)
}

// Touched reports whether the pattern has a clock time that does not exist, and one that occurs
// twice, at the changes of offset between two Unix times.
func (w *Wall) Touched(from, to int64) (skipped, repeated bool) {
	ask := search{pattern: w.Pattern}
	hit := func(from, to int64) bool {
		at, ok := ask.next(from)
		return ok && at < to
	}
	for at := from; at < to && !(skipped && repeated); {
		s := SegmentAt(w.Zone, at)
		if s.End == forever {
			break
		}
		switch at = s.End; {
		case s.after > s.Offset:
			skipped = skipped || hit(at+s.Offset, at+s.after)
		case s.after < s.Offset:
			repeated = repeated || hit(at+s.after, at+s.Offset)
		}
	}
	return skipped, repeated
}

// InstantAt converts a Unix time to a due instant. It returns false after LastInstant.
func InstantAt(unix int64) (time.Time, bool) {
	if unix > LastInstant.Unix() {
		return time.Time{}, false
	}
	return time.Unix(unix, 0).UTC(), true
}

// Resolve returns the instant of one clock time in a zone by the rules of gap and overlap. It
// returns false only for a clock time in a gap with GapSkip, and after LastInstant.
func Resolve(civilSecond int64, zone *time.Location, gap Gap, overlap Overlap) (time.Time, bool) {
	if overlap == OverlapBoth {
		overlap = OverlapFirst // one instant is wanted
	}
	w := Wall{Pattern: oneSecond(civilSecond), Zone: zone, Gap: gap, Overlap: overlap}
	// Two days are enough: no zone is more than a day away from UTC.
	return w.Next(time.Unix(civilSecond-2*civil.DaySeconds, 0))
}

// oneSecond is the pattern of a single civil second.
type oneSecond int64

// Next implements Pattern.
func (p oneSecond) Next(from int64) (int64, bool) { return int64(p), from <= int64(p) }

// Count implements Pattern.
func (p oneSecond) Count(from, to int64) int64 {
	if from <= int64(p) && int64(p) < to {
		return 1
	}
	return 0
}
