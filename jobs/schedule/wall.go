package schedule

import "time"

// Gap says what becomes of a clock time that does not exist, because clocks were moved forward over it.
type Gap string

// The answers to a gap (D-Z8).
const (
	// GapShift moves it forward by the length of the gap (D-Z3).
	GapShift Gap = "shift"
	// GapSkip drops it.
	GapSkip Gap = "skip"
	// GapAtEnd makes everything that falls into the gap due once, when the gap ends.
	GapAtEnd Gap = "at_end"
)

// Overlap says which of two equal clock times counts, when clocks were moved back.
type Overlap string

// The answers to an overlap (D-Z8).
const (
	// OverlapFirst is the earlier of the two (D-Z4).
	OverlapFirst Overlap = "first"
	// OverlapSecond is the later.
	OverlapSecond Overlap = "second"
	// OverlapBoth counts both.
	OverlapBoth Overlap = "both"
)

// wall is a pattern on the wall clock of a zone.
type wall struct {
	pattern pattern
	zone    *time.Location
	gap     Gap
	overlap Overlap
}

// reach is more than a change of offset and the distance of any zone from UTC together, in seconds.
const reach = 4 * daySeconds

// forever bounds what is in effect without an end, in Unix seconds.
const forever = int64(1) << 60

// segment is a span of time in which a zone's offset does not change (D-Z7). time.Date is never asked:
// near a change its answer depends on the zone.
type segment struct {
	start, end            int64 // Unix seconds, [start, end)
	offset, before, after int64 // seconds east of UTC: in it, just before it, just after it
}

func segmentAt(zone *time.Location, unix int64) segment {
	at := time.Unix(unix, 0).In(zone)
	_, offset := at.Zone()
	s := segment{start: -forever, end: forever, offset: int64(offset), before: int64(offset), after: int64(offset)}
	if zone == time.UTC {
		return s
	}
	start, end := at.ZoneBounds()
	if !start.IsZero() {
		s.start = start.Unix()
	}
	if !end.IsZero() {
		s.end = end.Unix()
	}
	if s.end <= unix {
		// Beyond the listed changes of a zone (2037) package time lets every year end after 365 days: on
		// the last day of a leap year it answers bounds that are over. That day is a segment of its own.
		s.start, s.end = s.end, (floorDiv(unix, daySeconds)+1)*daySeconds
	}
	if s.start > -forever {
		s.before = offsetAt(zone, s.start-1)
	}
	if s.end < forever {
		s.after = offsetAt(zone, s.end)
	}
	return s
}

func offsetAt(zone *time.Location, unix int64) int64 {
	_, offset := time.Unix(unix, 0).In(zone).Zone()
	return int64(offset)
}

// search remembers the last answer of a pattern: the segments of 400 years ask for the same one.
type search struct {
	pattern  pattern
	from, to int64
	found    bool
	asked    bool
}

func (s *search) next(from int64) (int64, bool) {
	if !s.asked || from < s.from || s.found && from > s.to {
		s.asked, s.from = true, from
		s.to, s.found = s.pattern.next(from)
	}
	return s.to, s.found
}

// window is a range of civil seconds that a segment's offset maps to instants of the schedule.
type window struct{ from, to, offset int64 }

// windows are the regular part of a segment and the part that is shifted out of the gap before it.
func (w *wall) windows(s segment) (regular, shifted window) {
	regular = window{from: s.start + s.offset, to: s.end + s.offset, offset: s.offset}
	if w.overlap == OverlapFirst && s.before > s.offset {
		regular.from = s.start + s.before
	}
	if w.overlap == OverlapSecond && s.after < s.offset {
		regular.to = s.end + s.after
	}
	if w.gap != GapSkip && s.before < s.offset {
		shifted = window{from: s.start + s.before, to: s.start + s.offset, offset: s.before}
	}
	return regular, shifted
}

// Next walks over the segments of the zone and asks the pattern in each for its civil seconds.
func (w *wall) Next(after time.Time) (time.Time, bool) {
	from := after.Unix() + 1
	ask := search{pattern: w.pattern}
	best := forever
	for at := from; at < from+cycleSeconds+daySeconds && at < best; {
		s := segmentAt(w.zone, at)
		regular, shifted := w.windows(s)
		if c, ok := ask.next(max(regular.from, at+regular.offset)); ok && c < regular.to {
			best = min(best, c-regular.offset)
		}
		if shifted.to > shifted.from {
			if w.gap == GapAtEnd {
				if c, ok := ask.next(shifted.from); ok && c < shifted.to && from <= s.start {
					best = min(best, s.start)
				}
			} else if c, ok := ask.next(max(shifted.from, from+shifted.offset)); ok && c < shifted.to {
				best = min(best, c-shifted.offset)
			}
		}
		if s.end == forever {
			break
		}
		at = s.end
		// From here on no clock shows a time again that was asked for already, so that the segments
		// before the pattern's next civil second hold nothing.
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
	return instantAt(best)
}

// instantAt is a Unix time as a due instant; false when it is beyond the last one.
func instantAt(unix int64) (time.Time, bool) {
	if unix > LastInstant.Unix() {
		return time.Time{}, false
	}
	return time.Unix(unix, 0).UTC(), true
}

// resolve finds the instant of one clock time in a zone by the rules of gap and overlap; false only
// with GapSkip in a gap.
func resolve(civilSecond int64, zone *time.Location, gap Gap, overlap Overlap) (time.Time, bool) {
	if overlap == OverlapBoth {
		overlap = OverlapFirst // one instant is wanted
	}
	w := wall{pattern: oneSecond(civilSecond), zone: zone, gap: gap, overlap: overlap}
	// No zone is more than a day away from UTC.
	return w.Next(time.Unix(civilSecond-2*daySeconds, 0))
}

// oneSecond is the pattern of a single civil second.
type oneSecond int64

func (p oneSecond) next(from int64) (int64, bool) { return int64(p), from <= int64(p) }

func (p oneSecond) count(from, to int64) int64 {
	if from <= int64(p) && int64(p) < to {
		return 1
	}
	return 0
}
